//! The dispatch limit under bad answers, changed policies and people who do not stop.

use countersign::simulator::Edits;
use countersign::simulator::faults::{Fault, FaultPlan};

use crate::stage::{POLICY, Stage};

/// One agent pull request is open, and the policy blocks above none.
async fn full(more: &str) -> Stage {
    let stage = Stage::with_policy(&limited(more)).await;
    let edits = Edits::write("docs/1.md", "text\n");
    let pushed = stage.agent.push(&stage.shop, "agent/one", "Work", edits);
    pushed.unwrap();
    let opened = stage
        .agent
        .open_pull(&stage.shop, "agent/one", "main", "Work");
    opened.unwrap();
    stage.settle().await;
    stage
}

fn limited(more: &str) -> String {
    format!("{POLICY}dispatch:\n  labels: [dispatch]\n  max_open_prs: 0\n{more}")
}

async fn policy(stage: &Stage, text: &str) {
    let edits = Edits::write(".github/countersign.yml", text);
    let pushed = stage.alice.push(&stage.shop, "main", "Policy", edits);
    pushed.unwrap();
    stage.settle().await;
}

fn ask(stage: &Stage) -> u64 {
    let issue = stage.alice.open_issue(&stage.shop, "Count starts", "x");
    let issue = issue.unwrap();
    stage.alice.label(&stage.shop, issue, "dispatch").unwrap();
    issue
}

async fn says(stage: &Stage, issue: u64, text: &str) -> u64 {
    let comment = stage.alice.comment_on(&stage.shop, issue, text).unwrap();
    stage.settle().await;
    comment
}

fn labels(stage: &Stage, issue: u64) -> Vec<String> {
    let look = |repo: &countersign::simulator::world::Repo| repo.issues[&issue].labels.clone();
    stage.shop.look(look).unwrap()
}

async fn queued(stage: &Stage) -> Vec<u64> {
    let record = stage.store.dispatch(stage.repo_id()).await.unwrap();
    let line = record.line();
    line.iter().map(|waiting| waiting.issue.get()).collect()
}

#[tokio::test]
async fn another_name_of_the_queued_label_sends_nobody_out_of_the_line() {
    let stage = full("").await;
    let issue = ask(&stage);
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
    policy(&stage, &limited("  queued_label: waiting\n")).await;
    stage.sweep().await;
    assert_eq!(queued(&stage).await, [issue]);
    assert_eq!(labels(&stage, issue), ["waiting"]);
}

#[tokio::test]
async fn another_name_of_the_grants_label_ends_no_grant() {
    let stage = Stage::with_policy(&limited("  grant: granted\n  grant_label: go\n")).await;
    let issue = ask(&stage);
    stage.settle().await;
    stage.sweep().await;
    assert!(labels(&stage, issue).contains(&"go".to_owned()));
    policy(&stage, &limited("  grant: granted\n")).await;
    stage.sweep().await;
    let record = stage.store.dispatch(stage.repo_id()).await.unwrap();
    assert_eq!(record.grants.len(), 1, "its work is still under way");
}
