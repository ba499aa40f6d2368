//! GitHub's word about conflicts: it comes late, it grows old when the base moves, and it is never the last.

use countersign::simulator::faults::{Fault, FaultPlan, When};
use countersign::simulator::world::Mergeability;
use countersign::simulator::{Edits, PullHandle};

use crate::stage::{BEFORE, Stage};

/// The same line, otherwise.
const OTHERWISE: &str = "pub fn start(runs: &mut Vec<u32>) {\n    runs.pop();\n}\n";

fn base_gets(stage: &Stage, text: &str) {
    let edits = Edits::write("src/start.rs", text);
    let pushed = stage.alice.push(&stage.shop, "main", "Otherwise", edits);
    pushed.unwrap();
}

/// A pull request that has everything, and a conflict with its base.
async fn in_conflict() -> (Stage, PullHandle) {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    base_gets(&stage, OTHERWISE);
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{check:?}");
    assert_eq!(stage.merge_calls(), 0);
    (stage, pull)
}

#[tokio::test]
async fn a_conflict_that_the_base_gives_up_ends_by_itself_heard_or_unheard() {
    for heard in [true, false] {
        let (stage, pull) = in_conflict().await;
        stage.github.lock().behaviour.mergeable_null_reads = 2;
        base_gets(&stage, BEFORE);
        if !heard {
            stage.github.lose_pending();
            stage.sweep().await;
        }
        stage.settle().await;
        for _ in 0..5 {
            stage.after(30).await;
        }
        assert!(stage.merged(&pull), "{heard} {}", stage.told(&pull).await);
    }
}

/// GitHub keeps a conclusion for good, so a check that waits again is another one.
#[tokio::test]
async fn a_failure_that_is_over_is_followed_by_a_new_check_that_waits() {
    let (stage, pull) = in_conflict().await;
    let head = pull.head().unwrap();
    let failed = stage.our_check(&head).unwrap();
    stage.alice.convert_to_draft(&pull).unwrap();
    base_gets(&stage, BEFORE);
    stage.settle().await;
    stage.sweep().await;
    let waits = stage.our_check(&head).unwrap();
    assert!(waits.id > failed.id, "{waits:?}");
    assert_eq!(waits.conclusion, None);
    assert!(waits.title.contains("draft"), "{waits:?}");
    stage.alice.ready_for_review(&pull).unwrap();
    stage.settle().await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    let passed = stage.our_check(&head).unwrap();
    assert_eq!(passed.id, waits.id);
    assert_eq!(passed.conclusion.as_deref(), Some("success"));
}

#[tokio::test]
async fn a_base_that_moves_on_without_ending_a_conflict_is_one_look_and_says_nothing_anew() {
    let (stage, pull) = in_conflict().await;
    let before = stage.our_check(&pull.head().unwrap()).unwrap();
    stage.github.clear_calls();
    let edits = Edits::write("README.md", "# The shop\n");
    let pushed = stage.alice.push(&stage.shop, "main", "Say which", edits);
    pushed.unwrap();
    stage.settle().await;
    let calls = stage.github.calls();
    let calls: Vec<_> = calls
        .iter()
        .map(|call| (call.method.as_str(), call.route.as_str()))
        .collect();
    let pull_then_changes = [
        ("GET", "/repos/{owner}/{repo}/pulls/{number}"),
        ("GET", "/repos/{owner}/{repo}/compare/{+range}"),
    ];
    assert_eq!(calls, pull_then_changes);
    let after = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!((after.id, after.title), (before.id, before.title));
    let number = pull.look(|pull| pull.number).unwrap();
    assert!(stage.answers(number).is_empty());
}

/// What GitHub makes of a pull request's conflicts from now on.
fn github_says(stage: &Stage, pull: &PullHandle, word: Mergeability) {
    let number = pull.look(|pull| pull.number).unwrap();
    let mut world = stage.github.lock();
    let repo = world.repos.get_mut(&stage.shop.id).unwrap();
    repo.pulls.get_mut(&number).unwrap().mergeability = word;
}

#[tokio::test]
async fn an_old_no_of_githubs_is_asked_about_again() {
    let (stage, pull) = in_conflict().await;
    base_gets(&stage, BEFORE);
    // As it was before the base moved.
    github_says(&stage, &pull, Mergeability::Conflicting);
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let again = Mergeability::Unknown { null_reads_left: 1 };
    github_says(&stage, &pull, again);
    stage.after(600).await;
    stage.sweep().await;
    stage.after(60).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn an_old_yes_of_githubs_merges_nothing_and_is_not_asked_for_over_and_over() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let stale = FaultPlan::none().when("GET", "/pulls/{number}", When::Always, Fault::Stale);
    stage.github.set_faults(stale);
    stage.sweep().await;
    base_gets(&stage, OTHERWISE);
    stage.settle().await;
    stage.clear(&pull).await;
    for _ in 0..60 {
        stage.after(60).await;
    }
    assert!(!stage.merged(&pull));
    let calls = stage.merge_calls();
    assert!((1..=30).contains(&calls), "{calls} calls in an hour");
    let said = stage.reasons(&pull, "landing").await;
    assert!(said.contains("not mergeable"), "{said}");
    stage.github.set_faults(FaultPlan::none());
    stage.after(3_600).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    assert_eq!(stage.state(&pull, "conflicts").await, "failed");
}

#[tokio::test]
async fn while_github_computes_anew_for_many_none_is_merged_or_refused_and_all_are_in_the_end() {
    let stage = Stage::new().await;
    let (shop, agent) = (&stage.shop, &stage.agent);
    let mut pulls = Vec::new();
    for n in 0..6 {
        let (branch, file) = (format!("agent/{n}"), format!("docs/{n}.md"));
        let edits = Edits::write(&file, "text\n");
        agent.push(shop, &branch, "Text", edits).unwrap();
        let opened = agent.open_pull(shop, &branch, "main", "Text");
        pulls.push(opened.unwrap());
        stage.settle().await;
    }
    stage.github.lock().behaviour.mergeable_null_reads = 3;
    let edits = Edits::write("README.md", "# The shop\n");
    stage.alice.push(shop, "main", "Say which", edits).unwrap();
    stage.settle().await;
    for pull in &pulls {
        let evidence = stage.evidence(pull).without("mutation");
        stage.reports(&stage.codex, pull, &evidence).await;
        stage.unit_passes(pull).await;
        if !stage.merged(pull) {
            assert_eq!(stage.state(pull, "conflicts").await, "waiting");
        }
    }
    for _ in 0..60 {
        stage.after(60).await;
    }
    let refused = stage.github.calls_to("PUT", "/merge");
    assert!(refused.iter().all(|call| call.status == 200), "{refused:?}");
    for pull in &pulls {
        assert!(stage.merged(pull), "{}", stage.told(pull).await);
    }
}
