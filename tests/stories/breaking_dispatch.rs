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

#[tokio::test]
async fn a_policy_that_observes_answers_on_issues_and_keeps_no_answers_for_later() {
    let stage = full("mode: observe\n").await;
    let issue = stage.alice.open_issue(&stage.shop, "Count", "x").unwrap();
    let comment = says(&stage, issue, "/status").await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    assert_eq!(stage.answers(issue).len(), 1);
    let record = stage.store.dispatch(stage.repo_id()).await.unwrap();
    assert_eq!(record.replies.len(), 0);
}

#[tokio::test]
async fn answers_on_an_issue_have_a_bound_an_hour() {
    let stage = full("").await;
    let issue = stage.alice.open_issue(&stage.shop, "Count", "x").unwrap();
    for _ in 0..20 {
        says(&stage, issue, "/status").await;
    }
    assert_eq!(stage.answers(issue).len(), 12);
    let other = stage.alice.open_issue(&stage.shop, "Stop", "x").unwrap();
    says(&stage, other, "/status").await;
    assert_eq!(stage.answers(other).len(), 1);
    stage.after(3_700).await;
    says(&stage, issue, "/status").await;
    assert_eq!(stage.answers(issue).len(), 13);
}

#[tokio::test]
async fn an_answer_that_can_never_be_looked_for_keeps_no_other_from_its_place() {
    let stage = full("").await;
    let gone = stage.alice.open_issue(&stage.shop, "Count", "x").unwrap();
    let other = stage.alice.open_issue(&stage.shop, "Stop", "x").unwrap();
    stage.settle().await;
    let lost = FaultPlan::none()
        .with("POST", "/comments", 1, Fault::status(502))
        .with(
            "GET",
            &format!("/issues/{gone}/comments"),
            1_000,
            Fault::status(404),
        );
    stage.github.set_faults(lost);
    says(&stage, gone, "/status").await;
    says(&stage, other, "/status").await;
    stage.after(600).await;
    assert_eq!(stage.answers(other).len(), 1);
    let record = stage.store.dispatch(stage.repo_id()).await.unwrap();
    assert_eq!(record.replies.len(), 0);
}

#[tokio::test]
async fn a_label_on_an_issue_that_could_not_be_read_is_looked_at_again() {
    let stage = full("").await;
    let hidden = FaultPlan::none().with("GET", "/issues/{number}", 1_000, Fault::status(503));
    stage.github.set_faults(hidden);
    let issue = ask(&stage);
    stage.settle().await;
    assert_eq!(labels(&stage, issue), ["dispatch"]);
    stage.github.set_faults(FaultPlan::none());
    stage.after(120).await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
}

#[tokio::test]
async fn a_platform_that_puts_its_label_on_again_and_again_is_not_fought_for_ever() {
    let stage = full("").await;
    let issue = ask(&stage);
    stage.settle().await;
    for _ in 0..40 {
        stage.alice.label(&stage.shop, issue, "dispatch").unwrap();
        stage.settle().await;
    }
    let calls = stage.github.calls();
    let taken = calls.iter().filter(|call| call.method == "DELETE").count();
    assert!(taken <= 12, "taken off {taken} times");
    assert_eq!(queued(&stage).await, [issue], "it keeps its place");
    stage.after(3_700).await;
    stage.sweep().await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
}

#[tokio::test]
async fn a_comment_that_was_found_again_says_what_is_so_now() {
    let stage = full("").await;
    let first = ask(&stage);
    stage.settle().await;
    // The second one's comment is written, but its answer is lost; then the first leaves the line.
    let lost = FaultPlan::none().with("POST", "/comments", 1, Fault::DoneThen502);
    stage.github.set_faults(lost);
    let second = ask(&stage);
    stage.github.deliver_all().await;
    stage.app.settle(1).await.unwrap();
    stage.alice.close_issue(&stage.shop, first).unwrap();
    stage.settle().await;
    stage.after(120).await;
    let said = stage.answers(second);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("number 1 in line"), "{}", said[0]);
}
