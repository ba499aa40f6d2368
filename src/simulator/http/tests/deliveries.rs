//! Deliveries: sent once, signed, recorded; and what the fault plan does to them.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::*;

#[tokio::test]
async fn a_delivery_is_signed_over_its_raw_bytes_and_bears_githubs_headers() {
    let shop = shop().await;
    let received = shop.listen(202).await;
    shop.change("agent/two", "two", "2");
    let sent = shop.github.deliver_all().await;
    assert!(sent > 1);
    assert_eq!(received.count(), sent);
    let all = received.0.lock().unwrap();
    for (headers, body) in all.iter() {
        let secret = shop.github.app().webhook_secret.as_bytes();
        let mut code = Hmac::<Sha256>::new_from_slice(secret).unwrap();
        code.update(body);
        let signature = format!("sha256={}", hex::encode(code.finalize().into_bytes()));
        assert_eq!(headers["x-hub-signature-256"], signature.as_str());
        assert_eq!(headers["content-type"], "application/json");
        assert!(
            headers["user-agent"]
                .to_str()
                .unwrap()
                .starts_with("GitHub-Hookshot/")
        );
        assert_eq!(headers["x-github-hook-id"], "1");
        assert_eq!(
            headers["x-github-hook-installation-target-type"],
            "integration"
        );
        let app = shop.github.app().app_id.to_string();
        assert_eq!(
            headers["x-github-hook-installation-target-id"],
            app.as_str()
        );
        let body: Value = serde_json::from_slice(body).unwrap();
        assert!(body["installation"]["id"].is_u64());
    }
    let opened = all
        .iter()
        .find(|(headers, _)| headers["x-github-event"] == "pull_request");
    let body: Value = serde_json::from_slice(&opened.unwrap().1).unwrap();
    assert_eq!(body["action"], "opened");
}

#[tokio::test]
async fn what_fails_is_recorded_and_never_sent_again() {
    let shop = shop().await;
    let received = shop.listen(503).await;
    shop.github.lock().ping();
    assert_eq!(shop.github.deliver_all().await, 1);
    assert_eq!(shop.github.deliver_all().await, 0);
    assert_eq!(received.count(), 1);
    let listed = shop.as_app("GET", "/app/hook/deliveries").await.body;
    assert_eq!(listed[0]["status_code"], 503);
    assert_eq!(listed[0]["status"], "Invalid HTTP Response: 503");
    assert_eq!(listed[0]["event"], "ping");
}

#[tokio::test]
async fn a_dropped_delivery_is_never_sent_again_but_listed_as_failed() {
    let shop = shop().await;
    let received = shop.listen(202).await;
    let plan = FaultPlan::none().with_delivery("ping", When::Nth(1), Fate::Lost);
    shop.github.set_faults(plan);
    shop.github.lock().ping();
    shop.github.lock().ping();
    assert_eq!(shop.github.deliver_all().await, 1);
    assert_eq!(shop.github.deliver_all().await, 0);
    assert_eq!(received.count(), 1);
    let listed = shop.as_app("GET", "/app/hook/deliveries").await.body;
    assert_eq!(listed[0]["status"], "OK");
    assert_eq!(
        (&listed[1]["status"], &listed[1]["status_code"]),
        (&json!("timed out"), &json!(0))
    );
    assert_eq!(shop.github.faults_fired(), ["delivery 1 (ping): Lost"]);
}

#[tokio::test]
async fn a_redelivery_bears_the_same_guid() {
    let shop = shop().await;
    let received = shop.listen(202).await;
    shop.github.lock().ping();
    assert_eq!(shop.github.lose_pending(), 1);
    assert_eq!(shop.github.deliver_all().await, 0);
    let listed = shop.as_app("GET", "/app/hook/deliveries").await.body;
    let path = format!("/app/hook/deliveries/{}", listed[0]["id"]);
    let asked = shop.as_app("POST", &format!("{path}/attempts")).await;
    assert_eq!(asked.status, 202);
    assert_eq!(shop.github.deliver_all().await, 1);
    assert_eq!(received.guids(), [listed[0]["guid"].as_str().unwrap()]);
    let after = shop.as_app("GET", "/app/hook/deliveries").await.body;
    assert_eq!(
        (&after[0]["redelivery"], &after[1]["redelivery"]),
        (&json!(true), &json!(false))
    );
    assert_ne!(after[0]["id"], after[1]["id"]);
    let whole = shop.as_app("GET", &path).await.body;
    assert_eq!(
        whole["request"]["payload"]["zen"],
        "Keep it logically awesome."
    );
    assert_eq!(
        shop.as_app("POST", "/app/hook/deliveries/7/attempts")
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn older_deliveries_are_reached_by_the_cursor_alone() {
    let shop = shop().await;
    shop.listen(202).await;
    for _ in 0..5 {
        shop.github.lock().ping();
    }
    shop.github.deliver_all().await;
    let first = shop.as_app("GET", "/app/hook/deliveries?per_page=2").await;
    let next = first.link("next").unwrap();
    assert!(next.contains("cursor=v1_"), "{next}");
    // What is sent meanwhile does not shift the pages.
    shop.github.lock().ping();
    shop.github.deliver_all().await;
    let second = shop.as_app("GET", &next).await;
    let third = shop.as_app("GET", &second.link("next").unwrap()).await;
    let ids = [&first, &second, &third].map(|page| page.body.as_array().unwrap().clone());
    let ids: Vec<u64> = ids
        .concat()
        .iter()
        .map(|one| one["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), 5);
    assert!(ids.is_sorted_by(|newer, older| newer > older), "{ids:?}");
    assert!(third.link("next").is_none());
}

#[tokio::test]
async fn deliveries_are_doubled_kept_back_and_overtaken_as_planned() {
    let shop = shop().await;
    let received = shop.listen(202).await;
    let pings = |count| {
        let mut world = shop.github.lock();
        for _ in 0..count {
            world.ping();
        }
        let guid = |delivery: &Delivery| delivery.guid.clone();
        world.outbox.iter().map(guid).collect::<Vec<_>>()
    };
    let plan = FaultPlan::none()
        .with_delivery("*", When::Nth(1), Fate::Doubled)
        .with_delivery("*", When::Nth(2), Fate::Late)
        .with_delivery("*", When::Nth(3), Fate::Overtaken);
    shop.github.set_faults(plan);
    let guids = pings(4);
    assert_eq!(shop.github.deliver_all().await, 4);
    let order = |places: &[usize]| {
        places
            .iter()
            .map(|at| guids[*at].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(received.guids(), order(&[0, 0, 3, 2]));
    assert_eq!(shop.github.deliver_all().await, 1, "the late one");
    assert_eq!(received.guids(), order(&[0, 0, 3, 2, 1]));
    assert_eq!(shop.github.sent().len(), 5);
}

#[tokio::test]
async fn some_deliveries_may_be_sent_before_others() {
    let shop = shop().await;
    let received = shop.listen(202).await;
    shop.change("agent/two", "two", "2");
    let waiting = shop.github.lock().outbox.len();
    let pulls = shop
        .github
        .deliver_where(|one| one.event == "pull_request")
        .await;
    assert_eq!((pulls, received.count()), (1, 1));
    assert_eq!(shop.github.deliver_all().await, waiting - 1);
}

#[tokio::test]
async fn without_an_address_deliveries_wait() {
    let shop = shop().await;
    shop.github.lock().ping();
    assert_eq!(shop.github.deliver_all().await, 0);
    assert_eq!(shop.github.deliver_where(|_| true).await, 0);
    let received = shop.listen(202).await;
    assert_eq!(shop.github.deliver_all().await, 1);
    assert_eq!(received.count(), 1);
    let config = shop.as_app("GET", "/app/hook/config").await.body;
    assert!(config["url"].as_str().unwrap().ends_with("/webhook"));
    assert_eq!(config["secret"], "********");
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_a_failed_delivery() {
    let shop = shop().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = listener.local_addr().unwrap();
    drop(listener);
    shop.github.set_webhook(format!("http://{gone}/webhook"));
    shop.github.lock().ping();
    assert_eq!(shop.github.deliver_all().await, 1);
    assert_eq!(shop.github.sent()[0].outcome, "failed to connect to host");
}

#[tokio::test]
async fn the_pump_sends_what_comes_and_the_server_ends_with_its_simulator() {
    let mut shop = shop().await;
    let received = shop.listen(202).await;
    let pump = shop.github.pump();
    shop.github.lock().ping();
    while received.count() == 0 {
        tokio::task::yield_now().await;
    }
    drop(pump);
    let options = Options {
        clock: shop.clock.clone(),
        seed: 6,
    };
    // The last handles but those of the actors.
    let other = Simulator::new(options).unwrap();
    let stranger = other.user("alice");
    let repo = other.repo("acme/shop", &[("a", "b")]).unwrap();
    let url = std::mem::take(&mut shop.url);
    shop.github = other;
    (shop.alice, shop.agent, shop.repo) = (stranger.clone(), stranger, repo);
    let address = url.trim_start_matches("http://").to_owned();
    while tokio::net::TcpStream::connect(&address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
