//! What becomes of the head branch once it is merged.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::BranchProtection;
use countersign::simulator::{Edits, PullHandle};

use crate::stage::{POLICY, Stage};

async fn deleting() -> Stage {
    let policy = POLICY.replace("merge:\n", "merge:\n  delete_branch: true\n");
    Stage::with_policy(&policy).await
}

async fn merged(stage: &Stage) -> PullHandle {
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    stage.after(10).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    pull
}

fn is_there(stage: &Stage) -> bool {
    stage
        .shop
        .look(|repo| repo.branches.contains_key("agent/start"))
        .unwrap()
}

fn deletions(stage: &Stage) -> usize {
    stage
        .github
        .calls_to("DELETE", "/git/refs/heads/agent/start")
        .len()
}

async fn why_left(stage: &Stage) -> Vec<String> {
    let outcomes = stage.ledger(Kind::Outcome).await;
    let left = outcomes
        .iter()
        .filter_map(|one| one.body["branch_left"].as_str());
    left.map(str::to_owned).collect()
}

#[tokio::test]
async fn a_merged_branch_is_deleted_once_where_the_policy_says_so() {
    let stage = deleting().await;
    merged(&stage).await;
    assert!(!is_there(&stage));
    stage.sweep().await;
    stage.after(600).await;
    assert_eq!(deletions(&stage), 1);
}

#[tokio::test]
async fn a_merged_branch_stays_where_the_policy_does_not_say_so() {
    let stage = Stage::new().await;
    merged(&stage).await;
    assert!(is_there(&stage));
    assert_eq!(deletions(&stage), 0);
}

#[tokio::test]
async fn a_branch_that_another_pull_request_is_stacked_on_stays_and_that_is_told_once() {
    let stage = deleting().await;
    let pull = stage.open_pull().await;
    let edits = Edits::write("README.md", "# More\n");
    stage
        .agent
        .push(&stage.shop, "agent/next", "More", edits)
        .unwrap();
    stage
        .agent
        .open_pull(&stage.shop, "agent/next", "agent/start", "More")
        .unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    stage.after(10).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert!(is_there(&stage));
    assert_eq!(deletions(&stage), 0);
    assert_eq!(why_left(&stage).await, ["#2 still needs it"]);
    stage.sweep().await;
    stage.after(600).await;
    assert_eq!(why_left(&stage).await.len(), 1);
}

#[tokio::test]
async fn a_deletion_whose_answer_was_lost_is_read_back_and_not_tried_again() {
    let stage = deleting().await;
    let plan = FaultPlan::none().with(
        "DELETE",
        "/git/refs/heads/agent/start",
        1,
        Fault::DoneThen502,
    );
    stage.github.set_faults(plan);
    merged(&stage).await;
    stage.after(600).await;
    assert!(!is_there(&stage));
    assert_eq!(deletions(&stage), 1);
    assert_eq!(why_left(&stage).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_branch_that_moved_on_after_the_merge_stays() {
    let stage = deleting().await;
    // GitHub is not to be read where the branch would be, until somebody has pushed.
    let gateway = Fault::Refuse(502, "Bad Gateway");
    let plan = FaultPlan::none().with("GET", "/branches/agent%2Fstart", 1_000, gateway);
    stage.github.set_faults(plan);
    merged(&stage).await;
    assert!(is_there(&stage));
    let edits = Edits::write("README.md", "# One more thought\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "One more thought", edits)
        .unwrap();
    stage.github.set_faults(FaultPlan::none());
    stage.after(600).await;
    stage.sweep().await;
    let tip = stage.shop.tip("agent/start").unwrap();
    let moved = format!("it moved on to {} after the merge", &tip[..7]);
    assert_eq!(why_left(&stage).await, [moved]);
    assert_eq!(deletions(&stage), 0);
}

#[tokio::test]
async fn a_protected_branch_stays() {
    let stage = deleting().await;
    let pull = stage.open_pull().await;
    stage
        .shop
        .protect("agent/start", BranchProtection::default())
        .unwrap();
    stage.clear(&pull).await;
    stage.after(10).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert!(is_there(&stage));
    assert_eq!(why_left(&stage).await, ["it is protected"]);
    assert_eq!(deletions(&stage), 0);
}

#[tokio::test]
async fn a_refused_deletion_is_told_once_and_not_tried_again() {
    let stage = deleting().await;
    let plan = FaultPlan::none().with(
        "DELETE",
        "/git/refs/heads/agent/start",
        1_000,
        Fault::status(422),
    );
    stage.github.set_faults(plan);
    merged(&stage).await;
    assert!(is_there(&stage));
    let why = why_left(&stage).await;
    assert_eq!(why.len(), 1, "{why:?}");
    assert!(why[0].contains("Validation Failed"), "{why:?}");
    stage.sweep().await;
    stage.after(3_600).await;
    assert_eq!(why_left(&stage).await.len(), 1);
    assert_eq!(deletions(&stage), 1);
}
