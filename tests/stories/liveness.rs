//! Nothing stays behind: what could not be written is written later, what is stuck says so and stops no other.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, PullHandle, ReviewState};
use serde_json::json;

use crate::stage::{AFTER, POLICY, Stage};

/// How many check runs of ours a head has.
fn ours(stage: &Stage, head: &str) -> usize {
    let world = stage.github.lock();
    let app = world.our_app;
    let repo = world.repo(stage.shop.id).unwrap();
    let runs = repo.check_runs.values();
    runs.filter(|run| run.app == app && run.head == head)
        .count()
}

async fn wait_for(stage: &Stage, pull: &PullHandle, title: &str) {
    let head = pull.head().unwrap();
    for _ in 0..30 {
        let check = stage.our_check(&head);
        if check.is_some_and(|check| check.title.contains(title)) {
            return;
        }
        stage.after(60).await;
    }
    panic!("{title}: {}", stage.told(pull).await);
}

#[tokio::test]
async fn a_page_that_could_not_be_written_is_written_once_it_can_be_and_once() {
    let faults = [
        Fault::status(502),
        Fault::status(403),
        Fault::SecondaryLimit(60),
        Fault::Reset,
        Fault::DoneThen502,
    ];
    for fault in faults {
        let stage = Stage::new().await;
        let plan = FaultPlan::none().with("POST", "/check-runs", 2, fault.clone());
        stage.github.set_faults(plan);
        let pull = stage.open_pull().await;
        let head = pull.head().unwrap();
        wait_for(&stage, &pull, "Waiting for checks").await;
        assert_eq!(ours(&stage, &head), 1, "{fault:?}");

        // The same for the page that changes on the way out: nothing else happens any more.
        let plan = FaultPlan::none().with("PATCH", "/check-runs/", 2, fault.clone());
        stage.github.set_faults(plan);
        let failed = stage.github.actions().fail(&stage.shop, &head, "unit");
        failed.unwrap();
        stage.settle().await;
        assert_eq!(stage.outcome(&pull).await, "blocked");
        wait_for(&stage, &pull, "unit").await;
        let check = stage.our_check(&head).unwrap();
        assert_eq!(check.conclusion.as_deref(), Some("failure"), "{fault:?}");
        assert_eq!(ours(&stage, &head), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn what_was_tried_and_refused_is_tried_again_when_a_hold_on_it_ends() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.github.base_is_modified(1);
    stage.unit_passes(&pull).await;
    assert_eq!(stage.merge_calls(), 1);
    stage
        .says(&stage.alice, &pull, "/countersign hold let me look")
        .await;
    assert_eq!(stage.outcome(&pull).await, "held");
    // For three days nothing else happens.
    for _ in 0..72 {
        stage.after(3_600).await;
    }
    assert_eq!(stage.merge_calls(), 1);
    stage.says(&stage.alice, &pull, "/countersign unhold").await;
    stage.after(60).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.merge_calls(), 2);
}

#[tokio::test]
async fn a_pull_request_whose_base_cannot_be_found_says_so_and_stops_no_other() {
    let policy = POLICY.replace("[main]", "[main, release]");
    let stage = Stage::with_policy(&policy).await;
    let (shop, alice, agent) = (&stage.shop, &stage.alice, &stage.agent);
    alice.branch(shop, "release", "main").unwrap();
    let edits = Edits::write("docs/late.md", "# Late\n");
    agent.push(shop, "agent/late", "Late", edits).unwrap();
    let gone = Fault::Refuse(404, "Branch not found");
    let plan = FaultPlan::none().with("GET", "/branches/release", u32::MAX, gone);
    stage.github.set_faults(plan);
    let opened = agent.open_pull(shop, "agent/late", "release", "Late");
    let stuck = opened.unwrap();
    stage.settle().await;
    let other = stage.open_pull().await;
    stage.unit_passes(&stuck).await;
    stage.sweep().await;
    let verdict = stage.verdict(&stuck).await.to_string();
    assert_eq!(stage.outcome(&stuck).await, "undetermined", "{verdict}");
    assert!(verdict.contains("Branch not found"), "{verdict}");
    let check = stage.our_check(&stuck.head().unwrap()).unwrap();
    assert_eq!(check.conclusion, None, "{check:?}");
    stage.clear(&other).await;
    assert!(stage.merged(&other), "{}", stage.told(&other).await);
    // It goes on by itself once the branch is there.
    stage.github.set_faults(FaultPlan::none());
    let base = json!({ "ref": "release", "sha": shop.tip("release").unwrap() });
    let evidence = stage.evidence(&stuck).without("mutation");
    let evidence = evidence.with("/base", base);
    stage.reports(&stage.codex, &stuck, &evidence).await;
    stage.after(600).await;
    stage.sweep().await;
    assert!(stage.merged(&stuck), "{}", stage.told(&stuck).await);
    assert_eq!(stage.ledger(Kind::Landed).await.len(), 2);
}

#[tokio::test]
async fn another_name_of_the_default_branch_keeps_nothing_from_merging_heard_or_unheard() {
    for heard in [true, false] {
        let policy = POLICY.replace("[main]", "[main, trunk]");
        let stage = Stage::with_policy(&policy).await;
        let pull = stage.open_pull().await;
        let evidence = stage.evidence(&pull);
        let (shop, alice) = (&stage.shop, &stage.alice);
        alice.branch(shop, "trunk", "main").unwrap();
        let named = {
            let mut world = stage.github.lock();
            world.set_default_branch(shop.id, "trunk", alice.principal())
        };
        named.unwrap();
        // GitHub takes what is open along to the new name.
        alice.retarget(&pull, "trunk").unwrap();
        alice.delete_branch(shop, "main").unwrap();
        if !heard {
            stage.github.lose_pending();
        }
        stage.settle().await;
        stage.sweep().await;
        stage.unit_passes(&pull).await;
        let base = json!({ "ref": "trunk", "sha": shop.tip("trunk").unwrap() });
        let evidence = evidence.with("/base", base);
        stage.reports(&stage.codex, &pull, &evidence).await;
        assert!(stage.merged(&pull), "{heard} {}", stage.told(&pull).await);
        let memory = stage.store.repo(stage.repo_id()).await.unwrap().value;
        let default = memory.repo.unwrap().default_branch.unwrap();
        assert_eq!(default.as_str(), "trunk", "{heard}");
    }
}

#[tokio::test]
async fn a_burst_of_deliveries_about_one_pull_request_says_nothing_twice() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    stage.github.clear_calls();
    // One review with notes, a comment and three checks, all within the second.
    let (shop, alice) = (&stage.shop, &stage.alice);
    alice
        .review(&pull, ReviewState::Commented, "Some notes.")
        .unwrap();
    for line in 1..=3 {
        alice
            .ask_about(&pull, "src/start.rs", line, "Why?")
            .unwrap();
    }
    stage.agent.comment(&pull, "I see.").unwrap();
    for name in ["lint", "docs", "unit"] {
        stage.github.actions().pass(shop, &head, name).unwrap();
    }
    stage.settle().await;
    let calls = stage.github.calls();
    let writes: Vec<_> = calls.iter().filter(|call| call.method != "GET").collect();
    assert_eq!(writes.len(), 1, "{writes:#?}");
    assert!(writes[0].path.contains("/check-runs/"), "{writes:#?}");
    assert_eq!(ours(&stage, &head), 1);
    let number = pull.look(|pull| pull.number).unwrap();
    assert!(stage.answers(number).is_empty());
}

#[tokio::test]
async fn a_check_on_a_forks_head_finds_its_pull_request_though_it_names_neither_it_nor_a_branch() {
    let stage = Stage::new().await;
    stage.shop.publish().unwrap();
    let mallory = stage.github.user("mallory");
    let fork = mallory.fork(&stage.shop).unwrap();
    let edits = Edits::write("src/start.rs", AFTER);
    mallory.push(&fork, "gift", "A gift", edits).unwrap();
    let opened = mallory.open_pull(&stage.shop, "mallory:gift", "main", "A gift");
    let pull = opened.unwrap();
    // Nobody heard that it was opened.
    stage.github.lose_pending();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let sent = stage.github.sent();
    let told = sent.iter().rev().find(|sent| {
        let run = &sent.delivery.payload["check_run"];
        run["name"] == "unit" && run["status"] == "completed"
    });
    let told = &told.unwrap().delivery.payload["check_run"];
    assert_eq!(told["pull_requests"], json!([]));
    assert_eq!(told["check_suite"]["head_branch"], json!(null));
    assert_eq!(stage.state(&pull, "checks").await, "satisfied");
    assert!(stage.our_check(&pull.head().unwrap()).is_some());
}
