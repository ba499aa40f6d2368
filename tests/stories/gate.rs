//! The gate, from a delivery to a head-matched merge.

use countersign::domain::ledger::Kind;
use serde_json::json;

use crate::stage::Stage;

#[tokio::test]
async fn a_pull_request_waits_for_a_second_verifier_and_is_merged_when_it_has_one() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let main = stage.shop.tip("main").unwrap();
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let check = stage.our_check(&head).expect("published");
    assert_eq!(check.conclusion, None);

    stage.unit_passes(&pull).await;
    assert_eq!(stage.gate(&pull, "checks").await["state"], "satisfied");
    assert_eq!(
        stage.gate(&pull, "second_verifier").await["state"],
        "waiting"
    );
    assert!(!stage.merged(&pull));

    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.outcome(&pull).await, "merged");
    assert_eq!(
        stage.our_check(&head).unwrap().conclusion.as_deref(),
        Some("success")
    );

    let tip = stage.shop.tip("main").unwrap();
    let landed = stage.github.lock().pool.commit(&tip).unwrap();
    assert_eq!(landed.parents, [main, head.clone()]);
    let merges = stage.github.calls_to("PUT", "/merge");
    assert_eq!(merges.len(), 1);
    assert_eq!(merges[0].body["sha"], json!(head));
    let landings = stage.ledger(Kind::Landed).await;
    assert_eq!(landings.len(), 1);
    assert_eq!(landings[0].body["judged"], "as_judged");
}
