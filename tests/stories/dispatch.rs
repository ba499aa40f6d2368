//! The dispatch limit: labels on issues, slots, the line, and who is told what.

use std::cell::Cell;

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, PullHandle};

use crate::http::Http;
use crate::stage::{POLICY, Stage};

const ISSUE: &str = "## Trap\nStarts were lost.\n\n## Proof\n`cargo test starts`\n";

fn limited(more: &str) -> String {
    format!("{POLICY}dispatch:\n  labels: [dispatch]\n  sections: [Trap, Proof]\n{more}")
}

/// An agent's pull request of its own branch and file.
fn open(stage: &Stage, nth: u64, title: &str) -> PullHandle {
    let branch = format!("agent/work-{nth}");
    let edits = Edits::write(&format!("docs/{nth}.md"), "text\n");
    let pushed = stage.agent.push(&stage.shop, &branch, title, edits);
    pushed.unwrap();
    let opened = stage.agent.open_pull(&stage.shop, &branch, "main", title);
    opened.unwrap()
}

/// Delivers a few of what waits.
async fn some(stage: &Stage, most: usize) -> usize {
    let left = Cell::new(most);
    let among = |_: &_| {
        left.set(left.get().saturating_sub(1));
        left.get() > 0
    };
    stage.github.deliver_where(among).await
}

fn ask(stage: &Stage, title: &str) -> u64 {
    let issue = stage.alice.open_issue(&stage.shop, title, ISSUE).unwrap();
    stage.alice.label(&stage.shop, issue, "dispatch").unwrap();
    issue
}

fn labels(stage: &Stage, issue: u64) -> Vec<String> {
    let look = |repo: &countersign::simulator::world::Repo| repo.issues[&issue].labels.clone();
    stage.shop.look(look).unwrap()
}

async fn record(stage: &Stage) -> countersign::domain::dispatch::Record {
    stage.store.dispatch(stage.repo_id()).await.unwrap()
}

async fn granted(stage: &Stage) -> Vec<u64> {
    let record = record(stage).await;
    record
        .grants
        .iter()
        .map(|grant| grant.issue.get())
        .collect()
}

async fn queued(stage: &Stage) -> Vec<u64> {
    let record = record(stage).await;
    record
        .line()
        .iter()
        .map(|waiting| waiting.issue.get())
        .collect()
}

#[tokio::test]
async fn while_more_than_eight_agent_pull_requests_are_open_a_dispatch_waits_in_line() {
    let stage = Stage::with_policy(&limited("")).await;
    let pulls: Vec<_> = (1..=9).map(|nth| open(&stage, nth, "Work")).collect();
    let first = ask(&stage, "Count starts");
    let second = ask(&stage, "Count stops");
    stage.settle().await;
    assert_eq!(labels(&stage, first), ["dispatch:queued"]);
    assert_eq!(labels(&stage, second), ["dispatch:queued"]);
    let said = stage.answers(second);
    assert_eq!(said.len(), 1);
    insta::assert_snapshot!(said[0]);
    stage.agent.close(&pulls[3]).unwrap();
    stage.settle().await;
    assert_eq!(labels(&stage, first), ["dispatch"]);
    assert_eq!(labels(&stage, second), ["dispatch:queued"]);
    assert_eq!(granted(&stage).await, [first]);
    // The agent begins: its pull request takes the slot of the grant.
    open(&stage, 10, &format!("Count starts (#{first})"));
    stage.settle().await;
    assert_eq!(
        (granted(&stage).await, queued(&stage).await),
        (vec![], vec![second])
    );
    assert_eq!(
        stage.answers(first).len(),
        1,
        "the one comment is brought up to date"
    );
    assert!(stage.answers(first)[0].contains("Granted"));
}

#[tokio::test]
async fn a_burst_of_pull_requests_and_labels_never_grants_more_than_the_slots() {
    let mut stage = Stage::with_policy(&limited("")).await;
    let pulls: Vec<_> = (1..=9).map(|nth| open(&stage, nth, "Work")).collect();
    let issues: Vec<_> = (0..20)
        .map(|nth| ask(&stage, &format!("Task {nth}")))
        .collect();
    for pull in &pulls[..3] {
        stage.agent.close(pull).unwrap();
    }
    // Deliveries come while passes are made, and the process dies in between.
    for nth in 0.. {
        let sent = some(&stage, 7).await;
        let made = stage.app.settle(2).await.unwrap();
        if nth % 3 == 0 {
            stage.restart().await;
        }
        let under_way = granted(&stage).await.len();
        assert!(under_way <= 3, "six are open, so three may be under way");
        if sent + made == 0 {
            break;
        }
    }
    stage.settle().await;
    assert_eq!(granted(&stage).await.len(), 3);
    let mut all = granted(&stage).await;
    all.extend(queued(&stage).await);
    all.sort_unstable();
    assert_eq!(all, issues, "nobody is forgotten");
    for issue in queued(&stage).await {
        assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
        assert_eq!(stage.answers(issue).len(), 1, "one comment each");
    }
}

#[tokio::test]
async fn a_write_that_was_lost_is_made_by_the_next_pass_and_nothing_is_said_twice() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    open(&stage, 1, "Work");
    stage.settle().await;
    let lost = FaultPlan::none()
        .with("POST", "/comments", 1, Fault::DoneThen502)
        .with("DELETE", "/labels/", 1, Fault::status(502));
    stage.github.set_faults(lost);
    let issue = ask(&stage, "Count starts");
    stage.settle().await;
    stage.after(60).await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
    assert_eq!(stage.answers(issue).len(), 1);
}

#[tokio::test]
async fn a_label_whose_delivery_was_lost_is_found_by_the_sweep() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    open(&stage, 1, "Work");
    stage.settle().await;
    let issue = ask(&stage, "Count starts");
    stage.github.lose_pending();
    stage.settle().await;
    assert_eq!(labels(&stage, issue), ["dispatch"]);
    stage.sweep().await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
}

#[tokio::test]
async fn while_the_limit_cannot_be_known_nothing_is_granted() {
    let stage = Stage::with_policy(&limited("")).await;
    let cut = FaultPlan::none().with("GET", "/pulls", 100, Fault::status(503));
    stage.github.set_faults(cut);
    let issue = ask(&stage, "Count starts");
    stage.settle().await;
    assert_eq!(labels(&stage, issue), ["dispatch:queued"]);
    assert!(stage.answers(issue)[0].contains("cannot be known"));
    stage.github.set_faults(FaultPlan::none());
    stage.after(120).await;
    assert_eq!(labels(&stage, issue), ["dispatch"]);
}

#[tokio::test]
async fn an_issue_that_is_deleted_gives_up_its_place_and_a_404_alone_does_not() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    open(&stage, 1, "Work");
    let first = ask(&stage, "Count starts");
    let second = ask(&stage, "Count stops");
    stage.settle().await;
    let hidden = FaultPlan::none()
        .with("GET", "/issues/", 100, Fault::status(404))
        .with("GET", "/issues", 100, Fault::status(404));
    stage.github.set_faults(hidden);
    stage
        .alice
        .comment_on(&stage.shop, first, "/status")
        .unwrap();
    stage.settle().await;
    assert_eq!(queued(&stage).await, [first, second]);
    stage.github.set_faults(FaultPlan::none());
    stage.alice.delete_issue(&stage.shop, first).unwrap();
    stage.settle().await;
    assert_eq!(queued(&stage).await, [second]);
}

#[tokio::test]
async fn a_priority_given_on_an_issue_changes_the_line() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    open(&stage, 1, "Work");
    let first = ask(&stage, "Count starts");
    let second = ask(&stage, "Count stops");
    stage.settle().await;
    assert_eq!(queued(&stage).await, [first, second]);
    stage
        .alice
        .comment_on(&stage.shop, second, "/priority high")
        .unwrap();
    stage.settle().await;
    assert_eq!(queued(&stage).await, [second, first]);
    let stranger = stage.github.user("mallory");
    stage.shop.publish().unwrap();
    let asked = stranger.comment_on(&stage.shop, first, "/priority high");
    stage.settle().await;
    assert_eq!(stage.reactions(asked.unwrap()), ["-1"]);
    let told = stage
        .alice
        .comment_on(&stage.shop, first, "/status\n/merge");
    stage.settle().await;
    assert_eq!(stage.reactions(told.unwrap()), ["-1"]);
    insta::assert_snapshot!(stage.answers(first).pop().unwrap());
}

#[tokio::test]
async fn a_defect_is_reported_from_the_issue_that_tells_of_it() {
    let stage = Stage::with_policy(&limited("")).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull));
    let number = pull.look(|pull| pull.number).unwrap();
    let issue = stage
        .alice
        .open_issue(&stage.shop, "Lost again", "x")
        .unwrap();
    let text = format!("/escaped from #{number}");
    stage.alice.comment_on(&stage.shop, issue, &text).unwrap();
    stage.settle().await;
    let escaped = stage.ledger(Kind::Escaped).await;
    assert_eq!(escaped.len(), 1);
    assert_eq!(escaped[0].body["through"], number);
    assert_eq!(escaped[0].body["issue"], issue);
}

#[tokio::test]
async fn a_policy_that_observes_records_what_would_have_been_blocked_and_touches_no_label() {
    let policy = limited("  max_open_prs: 0\n") + "mode: observe\n";
    let stage = Stage::with_policy(&policy).await;
    open(&stage, 1, "Work");
    let issue = ask(&stage, "Count starts");
    stage.settle().await;
    assert_eq!(labels(&stage, issue), ["dispatch"]);
    assert_eq!(stage.answers(issue), [""; 0]);
    let would = stage.ledger(Kind::WouldHave).await;
    assert_eq!(would.len(), 1);
    let told = would[0].body["would"].as_str().unwrap();
    assert!(
        told.contains("queued: 1 agent pull request is open"),
        "{told}"
    );
}

#[tokio::test]
async fn a_label_on_a_pull_request_is_a_fix_run_and_is_never_blocked() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    let pull = open(&stage, 1, "Work");
    let number = pull.look(|pull| pull.number).unwrap();
    stage.alice.label(&stage.shop, number, "dispatch").unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(pull.look(|pull| pull.labels.clone()).unwrap(), ["dispatch"]);
    assert_eq!(queued(&stage).await, [0; 0]);
}

#[tokio::test]
async fn programs_and_people_are_told_whether_more_may_be_started_and_what_to_do_first() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 0\n")).await;
    let http = Http::new();
    let address = stage.serve_pages("token").await;
    let get = async |path: &str| {
        let request = ::http::Request::builder()
            .uri(format!("{address}{path}"))
            .header("authorization", "Bearer token")
            .body(axum::body::Body::empty());
        let (status, _, body) = http.send(request.unwrap()).await.unwrap();
        assert_eq!(status, 200, "{path}");
        String::from_utf8(body).unwrap()
    };
    let free: serde_json::Value =
        serde_json::from_str(&get("/api/v1/repos/acme/shop/dispatch").await).unwrap();
    assert_eq!(free["allowed"], true);
    assert_eq!(
        (&free["limit"], &free["open_agent_prs"]),
        (&0.into(), &0.into())
    );
    let pull = open(&stage, 1, "Work");
    let issue = ask(&stage, "Count starts");
    stage.settle().await;
    let full: serde_json::Value =
        serde_json::from_str(&get("/api/v1/repos/acme/shop/dispatch").await).unwrap();
    assert_eq!(full["allowed"], false);
    assert_eq!(full["open_agent_prs"], 1);
    assert_eq!(full["in_flight"], 0);
    assert_eq!(full["queued"][0]["issue"], issue);
    assert_eq!(
        full["reason"],
        "Blocked: 1 agent pull request is open, and the policy blocks above 0."
    );
    stage
        .alice
        .comment(&pull, "/ask Keep the name? | yes")
        .unwrap();
    stage.settle().await;
    let next: serde_json::Value =
        serde_json::from_str(&get("/api/v1/repos/acme/shop/next").await).unwrap();
    let items = next["items"].as_array().unwrap().iter();
    let kinds: Vec<_> = items.map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["decide", "dispatch"]);
    let page = get("/repos/acme/shop").await;
    assert!(page.contains("What to do next"), "{page}");
    assert!(page.contains("… blocked"), "{page}");
    assert!(get("/").await.contains("Keep the name?"));
}

#[tokio::test]
async fn every_open_pull_request_of_an_agent_counts_and_nothing_else_does() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 1\n")).await;
    let lab = stage.agent.branch(&stage.shop, "lab", "main");
    lab.unwrap();
    // Not counted: a branch without a pull request, a person's, one that is closed.
    for nth in 0..3 {
        let edits = Edits::write("docs/a.md", format!("{nth}\n"));
        let branch = format!("agent/idle-{nth}");
        let pushed = stage.agent.push(&stage.shop, &branch, "Work", edits);
        pushed.unwrap();
    }
    let edits = Edits::write("docs/b.md", "text\n");
    stage
        .alice
        .push(&stage.shop, "alice/b", "Mine", edits)
        .unwrap();
    let hers = stage
        .alice
        .open_pull(&stage.shop, "alice/b", "main", "Mine");
    hers.unwrap();
    let closed = open(&stage, 1, "Work");
    stage.agent.close(&closed).unwrap();
    let draft = open(&stage, 2, "Work");
    stage.agent.convert_to_draft(&draft).unwrap();
    stage.settle().await;
    let first = ask(&stage, "Count starts");
    stage.settle().await;
    assert_eq!(granted(&stage).await, [first], "one of one is open");
    stage.alice.close_issue(&stage.shop, first).unwrap();
    stage.settle().await;
    assert_eq!(granted(&stage).await, [0; 0]);
    // Counted: the draft, and one into another branch.
    let other = open(&stage, 3, "Work");
    stage.agent.retarget(&other, "lab").unwrap();
    stage.settle().await;
    let second = ask(&stage, "Count stops");
    stage.settle().await;
    assert_eq!(queued(&stage).await, [second]);
    let said = stage.answers(second).pop().unwrap();
    let held = |pull: &PullHandle| {
        let number = pull.look(|pull| pull.number).unwrap();
        said.contains(&format!("- #{number}, open since "))
    };
    assert!(held(&draft) && held(&other) && !held(&closed), "{said}");
    assert_eq!(said.matches("open since").count(), 2, "{said}");
}

#[tokio::test]
async fn two_servers_over_one_store_grant_no_more_than_one_would() {
    let stage = Stage::with_policy(&limited("  max_open_prs: 3\n")).await;
    let client = crate::stage::product(
        &stage.github,
        &stage.api_url,
        stage.store.clone(),
        stage.clock.clone(),
    );
    let second = client.await;
    let issues: Vec<_> = (0..9)
        .map(|nth| ask(&stage, &format!("Task {nth}")))
        .collect();
    for _ in 0..40 {
        some(&stage, 2).await;
        let (one, two) = tokio::join!(stage.app.settle(1), second.settle(1));
        one.unwrap();
        two.unwrap();
        assert!(granted(&stage).await.len() <= 4);
    }
    stage.settle().await;
    let (one, two) = tokio::join!(stage.app.sweep(), second.sweep());
    one.unwrap();
    two.unwrap();
    let (one, two) = tokio::join!(stage.app.settle(200), second.settle(200));
    one.unwrap();
    two.unwrap();
    assert_eq!(granted(&stage).await.len(), 4, "blocked above three");
    let mut all = granted(&stage).await;
    all.extend(queued(&stage).await);
    all.sort_unstable();
    assert_eq!(all, issues, "nobody is forgotten");
    for issue in queued(&stage).await {
        assert_eq!(stage.answers(issue).len(), 1, "one comment each");
    }
}
