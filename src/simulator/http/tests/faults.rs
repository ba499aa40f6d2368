//! Faults as callers meet them.

use super::*;

#[tokio::test]
async fn a_refused_call_does_nothing_and_the_next_one_does() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let plan = FaultPlan::none().with("PUT", "/merge", 1, Fault::status(503));
    shop.github.set_faults(plan);
    let path = format!("/pulls/{}/merge", pull.number);
    let refused = shop.ask("PUT", &path, json!({})).await;
    assert_eq!(
        (refused.status, refused.message()),
        (503, "Service Unavailable")
    );
    assert!(!pull.look(|pull| pull.merged()).unwrap());
    assert_eq!(shop.ask("PUT", &path, json!({})).await.status, 200);
    let fired = shop.github.faults_fired();
    assert_eq!(fired.len(), 1);
    assert!(
        fired[0].starts_with("PUT /repos/acme/shop/pulls/1/merge: Refuse(503"),
        "{fired:?}"
    );
}

#[tokio::test]
async fn a_merge_that_is_answered_502_may_have_happened() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let plan = FaultPlan::none().with("PUT", "/pulls/{number}/merge", 1, Fault::DoneThen502);
    shop.github.set_faults(plan);
    let answer = shop
        .ask("PUT", &format!("/pulls/{}/merge", pull.number), json!({}))
        .await;
    assert_eq!(answer.status, 502);
    assert!(pull.look(|pull| pull.merged()).unwrap());
    assert_eq!(shop.github.calls_to("PUT", "/merge")[0].status, 502);
}

#[tokio::test]
async fn a_broken_connection_is_no_answer_whether_it_was_done_or_not() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let path = format!("/repos/acme/shop/issues/{}/comments", pull.number);
    let plan = FaultPlan::none()
        .at("POST", "/comments", 1, Fault::Reset)
        .at("POST", "/comments", 2, Fault::DoneThenReset);
    shop.github.set_faults(plan);
    let words = json!({ "body": "hello" });
    for written in [0, 1] {
        let answer = shop.try_as(&shop.token, "POST", &path, words.clone()).await;
        assert!(answer.is_none());
        let comments = shop.repo.look(|repo| repo.comments.len()).unwrap();
        assert_eq!(comments, written);
    }
    let calls = shop.github.calls_to("POST", "/comments");
    assert!(calls.iter().all(|call| call.status == 0));
}

#[tokio::test]
async fn silence_lasts_until_the_caller_gives_up() {
    let shop = shop().await;
    let plan = FaultPlan::none().with("GET", "/pulls", 1, Fault::Silence);
    shop.github.set_faults(plan);
    let mut asking = Box::pin(shop.get("/pulls"));
    // Polled until the call has arrived, and so been met with silence.
    while shop.github.faults_fired().is_empty() {
        let waited = futures::future::poll_immediate(&mut asking).await;
        assert!(waited.is_none(), "it was answered");
        tokio::task::yield_now().await;
    }
    drop(asking);
    assert_eq!(shop.get("/pulls").await.status, 200, "others are answered");
}

#[tokio::test]
async fn limits_tell_how_long_to_wait() {
    let shop = shop().await;
    let plan = FaultPlan::none()
        .at("GET", "/pulls", 1, Fault::SecondaryLimit(60))
        .at("GET", "/pulls", 2, Fault::PrimaryLimit(600));
    shop.github.set_faults(plan);
    let secondary = shop.get("/pulls").await;
    assert_eq!(
        (secondary.status, secondary.header("retry-after")),
        (403, "60")
    );
    let primary = shop.get("/pulls").await;
    assert_eq!(primary.header("x-ratelimit-remaining"), "0");
    assert_eq!(primary.header("x-ratelimit-reset"), "1750000600");
}

#[tokio::test]
async fn a_list_is_emptied_or_loses_its_next_page_or_its_second_half() {
    let shop = shop().await;
    let sha = shop.repo.tip("main").unwrap();
    for number in 0..4 {
        let name = format!("check {number}");
        shop.github.actions().pass(&shop.repo, &sha, &name).unwrap();
    }
    let plan = FaultPlan::none()
        .at("GET", "/check-runs", 1, Fault::EmptyList)
        .at("GET", "/check-runs", 2, Fault::TruncatedList)
        .at("GET", "/check-runs", 3, Fault::TruncatedList);
    shop.github.set_faults(plan);
    let path = format!("/commits/{sha}/check-runs");
    let empty = shop.get(&path).await.body;
    assert_eq!(
        (&empty["total_count"], &empty["check_runs"]),
        (&json!(0), &json!([]))
    );
    let cut = shop.get(&format!("{path}?per_page=3")).await;
    assert_eq!(cut.body["check_runs"].as_array().unwrap().len(), 3);
    assert_eq!(
        (cut.link("next"), &cut.body["total_count"]),
        (None, &json!(4))
    );
    let half = shop.get(&path).await.body;
    assert_eq!(half["check_runs"].as_array().unwrap().len(), 2);
    assert_eq!(half["total_count"], 4);
    assert_eq!(shop.github.faults_fired().len(), 3);
}

#[tokio::test]
async fn a_stale_answer_is_what_the_address_said_first() {
    let shop = shop().await;
    let before = shop.get("/branches/main").await;
    let edits = Edits::write("poem.txt", "eight\n");
    shop.alice.push(&shop.repo, "main", "eight", edits).unwrap();
    let plan = FaultPlan::none().with("GET", "/branches/main", 1, Fault::Stale);
    shop.github.set_faults(plan);
    let stale = shop.get("/branches/main").await;
    assert_eq!(stale.body, before.body);
    assert_ne!(shop.get("/branches/main").await.body, before.body);
    let plan = FaultPlan::none().with("GET", "/git/ref/heads/main", 1, Fault::Stale);
    shop.github.set_faults(plan);
    shop.get("/git/ref/heads/main").await;
    assert!(
        shop.github.faults_fired().is_empty(),
        "nothing earlier, nothing fired"
    );
}

#[tokio::test]
async fn fields_are_null_where_the_plan_says_so() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let plan = FaultPlan::none().with("GET", "/pulls", 1, Fault::NullField("user"));
    shop.github.set_faults(plan);
    let listed = shop.get("/pulls").await.body;
    assert_eq!(listed[0]["user"], Value::Null);
    assert_eq!(listed[0]["head"]["user"], Value::Null);
    assert_eq!(listed[0]["number"], pull.number);
    let plan = FaultPlan::seeded(9).with("GET", "/pulls", 1, Fault::Nulls);
    shop.github.set_faults(plan.clone());
    let nulls = shop.get("/pulls").await.body;
    shop.github.set_faults(plan);
    assert_eq!(shop.get("/pulls").await.body, nulls, "the seed chooses");
    assert_ne!(nulls, listed);
}

#[tokio::test]
async fn the_same_seed_meets_the_same_calls_with_the_same_faults() {
    let run = async |seed| {
        let shop = shop().await;
        shop.github.set_faults(FaultPlan::random(seed, 500, 0));
        for _ in 0..20 {
            for path in ["/pulls", "/branches/main", "/rules/branches/main"] {
                let path = format!("/repos/acme/shop{path}");
                shop.try_as(&shop.token, "GET", &path, Value::Null).await;
            }
        }
        shop.github.faults_fired()
    };
    let first = run(11).await;
    assert!(first.len() > 10, "{first:?}");
    assert_eq!(first, run(11).await);
    assert_ne!(first, run(12).await);
}
