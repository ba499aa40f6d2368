//! Trying it out: a policy that observes, a server that shadows. Both decide, and write down what they
//! would have done.

use countersign::domain::ledger::Kind;
use countersign::simulator::Edits;

use crate::stage::{POLICY, Stage};

#[tokio::test]
async fn a_policy_that_observes_publishes_neutrally_merges_nothing_and_writes_down_what_it_would_have()
 {
    let stage = Stage::with_policy(&format!("mode: observe\n{POLICY}")).await;
    let pull = stage.open_pull().await;
    assert_eq!(stage.ledger(Kind::WouldHave).await, []);
    stage.clear(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.merge_calls(), 0);
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
    let would = stage.ledger(Kind::WouldHave).await;
    assert_eq!(would.len(), 1, "once a head");
    assert_eq!(would[0].body["would"], "merged");
    assert_eq!(
        would[0].head.as_ref().unwrap().as_str(),
        pull.head().unwrap()
    );
}

#[tokio::test]
async fn a_shadowing_server_writes_nothing_to_github_and_writes_down_what_it_would_have() {
    let mut stage = Stage::with_policy(&format!("{POLICY}owners: [alice]\n")).await;
    stage.shadow().await;
    let before = stage.github.calls().len();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    stage.says(&stage.alice, &pull, "/status").await;
    stage.alice.describe(&pull, "/merge").unwrap();
    stage.settle().await;
    let calls = stage.github.calls();
    let written: Vec<_> = calls[before..]
        .iter()
        .filter(|call| call.method != "GET" && !call.path.contains("access_tokens"))
        .map(|call| format!("{} {}", call.method, call.path))
        .collect();
    assert_eq!(written, [""; 0]);
    assert_eq!(stage.ledger(Kind::WouldHave).await.len(), 1);
    // What people do all the same is compared with it.
    let other = stage.open_other("agent/other").await;
    stage
        .alice
        .merge(&other, countersign::simulator::MergeMethod::Merge)
        .unwrap();
    stage.settle().await;
    let past = stage.ledger(Kind::MergedPastGate).await;
    assert_eq!(past[0].body["verdict_before"], "waiting");
}

#[tokio::test]
async fn what_was_observed_is_counted() {
    let stage = Stage::with_policy(&format!("mode: observe\n{POLICY}")).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    let edits = Edits::write("README.md", "# Another shop\n");
    let pushed = stage.agent.push(&stage.shop, "agent/start", "More", edits);
    pushed.unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    let until = stage.clock.now() + chrono::Duration::seconds(1);
    let since = until - chrono::Duration::days(1);
    let figures = countersign::outlook::scorecard(&*stage.store, stage.repo_id(), since, until);
    let figures = figures.await.unwrap();
    assert_eq!((figures.would_have_merged, figures.merged), (2, 0));
}
