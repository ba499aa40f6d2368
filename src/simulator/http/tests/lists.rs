//! Pages, conditional requests, limits.

use super::*;

/// So many commit statuses on the tip of `main`, each of a context of its own.
fn report(shop: &Shop, count: usize) -> String {
    let sha = shop.repo.tip("main").unwrap();
    let id = shop.repo.look(|repo| repo.id).unwrap();
    for number in 0..count {
        let draft = StatusDraft {
            sha: sha.clone(),
            state: "success".to_owned(),
            context: format!("context {number:03}"),
            ..StatusDraft::default()
        };
        let by = shop.agent.principal();
        shop.github.lock().set_status(id, by, draft).unwrap();
    }
    sha
}

#[tokio::test]
async fn page_two_is_reached_by_link() {
    let shop = shop().await;
    let sha = report(&shop, 70);
    let first = shop.get(&format!("/commits/{sha}/statuses")).await;
    assert_eq!(first.length(), 30, "the default page");
    let next = first.link("next").unwrap();
    assert!(
        next.starts_with(&format!("{}/repositories/", shop.url)),
        "{next}"
    );
    assert!(first.link("prev").is_none());
    let second = shop.get(&next).await;
    assert_eq!(second.length(), 30);
    assert_ne!(first.body[0]["id"], second.body[0]["id"]);
    assert!(second.link("prev").is_some());
    let third = shop.get(&second.link("next").unwrap()).await;
    assert_eq!(third.length(), 10);
    assert!(third.link("next").is_none());
    assert!(third.link("first").unwrap().ends_with("page=1"));
    assert_eq!(shop.get(&first.link("last").unwrap()).await.length(), 10);
}

#[tokio::test]
async fn a_page_holds_a_hundred_at_most_and_the_count_stays_whole() {
    let shop = shop().await;
    let sha = report(&shop, 120);
    let status = shop
        .get(&format!("/commits/{sha}/status?per_page=500"))
        .await;
    assert_eq!(status.body["statuses"].as_array().unwrap().len(), 100);
    assert_eq!(status.body["total_count"], 120);
    let next = status.link("next").unwrap();
    assert!(
        next.contains("per_page=500") && next.contains("page=2"),
        "{next}"
    );
    let rest = shop.get(&next).await;
    assert_eq!(rest.body["statuses"].as_array().unwrap().len(), 20);
    let beyond = shop.get(&format!("/commits/{sha}/statuses?page=9")).await;
    assert_eq!((beyond.status, beyond.length()), (200, 0));
}

async fn conditional(shop: &Shop, rest: &str, etag: &str) -> Answer {
    let request = Request::get(format!("{}/repos/acme/shop{rest}", shop.url))
        .header("authorization", format!("token {}", shop.token))
        .header("if-none-match", etag);
    shop.send(request, Value::Null).await.unwrap()
}

#[tokio::test]
async fn a_304_costs_no_rate_limit() {
    let shop = shop().await;
    let first = shop.get("/branches/main").await;
    let used = first.header("x-ratelimit-used").to_owned();
    let etag = first.header("etag").to_owned();
    let again = conditional(&shop, "/branches/main", &etag).await;
    assert_eq!((again.status, &again.body), (304, &Value::Null));
    assert_eq!(again.header("x-ratelimit-used"), used);
    let edits = Edits::write("poem.txt", "eight\n");
    shop.alice.push(&shop.repo, "main", "eight", edits).unwrap();
    let changed = conditional(&shop, "/branches/main", &etag).await;
    assert_eq!(changed.status, 200);
    assert_ne!(changed.header("etag"), etag);
    assert_ne!(changed.header("x-ratelimit-used"), used);
}

#[tokio::test]
async fn every_answer_tells_what_is_left_and_what_time_it_is() {
    let shop = shop().await;
    let answer = shop.get("").await;
    assert_eq!(answer.header("x-ratelimit-limit"), "5000");
    assert_eq!(answer.header("x-ratelimit-used"), "1");
    assert_eq!(answer.header("x-ratelimit-remaining"), "4999");
    assert_eq!(answer.header("x-ratelimit-reset"), "1750003600");
    assert_eq!(answer.header("x-ratelimit-resource"), "core");
    assert_eq!(answer.header("date"), "Sun, 15 Jun 2025 15:06:40 GMT");
    let asked = shop
        .ask_as(&shop.token, "GET", "/rate_limit", Value::Null)
        .await;
    assert_eq!(asked.body["resources"]["core"]["used"], 1, "asking is free");
}

#[tokio::test]
async fn a_used_up_limit_refuses_until_the_hour_is_over() {
    let shop = shop().await;
    shop.github.set_limits(crate::simulator::http::Limits {
        hourly: 2,
        ..crate::simulator::http::Limits::default()
    });
    assert_eq!(shop.get("").await.status, 200);
    assert_eq!(shop.get("").await.status, 200);
    let refused = shop.get("").await;
    assert_eq!(refused.status, 403);
    assert!(
        refused
            .message()
            .starts_with("API rate limit exceeded for installation ID")
    );
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    assert_eq!(
        shop.as_app("GET", "/app").await.status,
        200,
        "the App has its own"
    );
    shop.clock.advance(chrono::Duration::hours(1));
    let fresh = shop.mint().await.body["token"].take();
    let fresh = shop
        .ask_as(
            fresh.as_str().unwrap(),
            "GET",
            "/repos/acme/shop",
            Value::Null,
        )
        .await;
    assert_eq!(fresh.status, 200);
}

#[tokio::test]
async fn too_many_writes_a_minute_meet_the_secondary_limit() {
    let shop = shop().await;
    shop.github.set_limits(crate::simulator::http::Limits {
        writes_a_minute: Some(1),
        ..crate::simulator::http::Limits::default()
    });
    let pull = shop.change("agent/two", "two", "2");
    let path = format!("/issues/{}/comments", pull.number);
    let words = json!({ "body": "hello" });
    assert_eq!(shop.ask("POST", &path, words.clone()).await.status, 201);
    let refused = shop.ask("POST", &path, words.clone()).await;
    assert_eq!((refused.status, refused.header("retry-after")), (403, "60"));
    assert!(refused.message().contains("secondary rate limit"));
    assert_eq!(shop.get(&path).await.length(), 1, "and nothing was written");
    shop.clock.advance(chrono::Duration::minutes(1));
    assert_eq!(shop.ask("POST", &path, words).await.status, 201);
}

#[tokio::test]
async fn a_caller_without_a_user_agent_is_turned_away() {
    let shop = shop().await;
    let request = Request::get(format!("{}/meta", shop.url));
    let request = request.body(Full::new(Bytes::new())).unwrap();
    let response = shop.client.request(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 403);
}
