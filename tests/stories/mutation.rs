//! Mutation evidence: a changed critical line is tested when a test is shown to fail without it.

use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, PullHandle};
use serde_json::{Value, json};

use crate::stage::{AFTER, Evidence, Stage};

/// A pull request that lacks nothing but its mutants.
async fn untested() -> (Stage, PullHandle, Evidence) {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let evidence = stage.evidence(&pull);
    (stage, pull, evidence)
}

fn mutant(status: &str) -> Value {
    json!({ "id": "m1", "path": "src/start.rs", "start_line": 2, "end_line": 2,
            "kind": "revert_hunk", "status": status })
}

async fn proves_nothing(evidence: impl FnOnce(Evidence) -> Evidence, words: &str) {
    let (stage, pull, good) = untested().await;
    stage.reports(&stage.codex, &pull, &evidence(good)).await;
    let said = stage.reasons(&pull, "mutation_check").await;
    assert!(said.contains(words), "{said}");
    assert_eq!(stage.state(&pull, "mutation_check").await, "waiting");
    assert_eq!(stage.outcome(&pull).await, "waiting", "{said}");
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(
        check.title,
        "Waiting for mutation evidence (1 of 11 gates open)"
    );
    assert_eq!(check.conclusion, None);
}

#[tokio::test]
async fn a_report_in_which_no_mutant_was_tried_shows_nothing() {
    let none = |good: Evidence| good.with("/mutation/mutants", json!([]));
    proves_nothing(none, "no mutant was tried there").await;
}

#[tokio::test]
async fn a_report_without_mutation_evidence_shows_nothing() {
    proves_nothing(|good| good.without("mutation"), "no mutant was tried there").await;
}

#[tokio::test]
async fn mutants_that_all_ran_out_of_time_show_nothing() {
    let late = |good: Evidence| good.with("/mutation/mutants", json!([mutant("timeout")]));
    proves_nothing(late, "ran out of time").await;
}

#[tokio::test]
async fn mutants_that_did_not_build_or_were_left_out_show_nothing() {
    let unbuilt = |good: Evidence| good.with("/mutation/mutants", json!([mutant("unviable")]));
    proves_nothing(unbuilt, "did not build").await;
    let skipped = |good: Evidence| good.with("/mutation/mutants", json!([mutant("skipped")]));
    proves_nothing(skipped, "were skipped").await;
}

#[tokio::test]
async fn a_mutant_that_no_named_test_killed_shows_nothing() {
    let killed = |good: Evidence| good.with("/mutation/mutants", json!([mutant("killed")]));
    proves_nothing(killed, "were killed by no named test").await;
}

#[tokio::test]
async fn a_mutant_in_another_line_shows_nothing_of_this_one() {
    let mut other = mutant("killed");
    other["killed_by"] = json!(["starts_are_recorded"]);
    other["start_line"] = json!(3);
    other["end_line"] = json!(3);
    let elsewhere = |good: Evidence| good.with("/mutation/mutants", json!([other]));
    proves_nothing(elsewhere, "no mutant was tried there").await;
}

#[tokio::test]
async fn a_tree_that_was_not_restored_to_the_heads_makes_the_mutants_worthless() {
    let wrong = json!("0123456789012345678901234567890123456789");
    let elsewhere = |good: Evidence| good.with("/mutation/restored_tree", wrong);
    proves_nothing(elsewhere, "the tree it restored is 0123456").await;
}

#[tokio::test]
async fn a_run_that_fails_without_any_mutant_kills_none() {
    let failed = |good: Evidence| good.with("/mutation/baseline/exit_code", json!(101));
    proves_nothing(failed, "the unmutated run failed (exit code 101)").await;
    let empty = |good: Evidence| good.with("/mutation/baseline/executed", json!(0));
    proves_nothing(empty, "the unmutated run executed no test").await;
}

#[tokio::test]
async fn a_survivor_blocks_and_names_the_line() {
    let (stage, pull, good) = untested().await;
    let survivor = good.with("/mutation/mutants", json!([mutant("survived")]));
    stage.reports(&stage.codex, &pull, &survivor).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let gate = stage.gate(&pull, "mutation_check").await;
    let next = gate["details"][0]["next"].as_str().unwrap();
    assert!(next.contains("src/start.rs:2"), "{gate:#}");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(
        check.title.contains("survived at src/start.rs:2"),
        "{check:?}"
    );
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_survivor_is_not_outvoted_by_a_kill_beside_it() {
    let (stage, pull, good) = untested().await;
    let mut killed = mutant("killed");
    killed["id"] = json!("m2");
    killed["killed_by"] = json!(["starts_are_recorded"]);
    let both = json!([killed, mutant("survived")]);
    let evidence = good.with("/mutation/mutants", both);
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn mutants_of_any_verifier_count_but_countersign_nothing() {
    let (stage, pull, good) = untested().await;
    stage.reports(&stage.twin, &pull, &good).await;
    assert_eq!(stage.state(&pull, "mutation_check").await, "satisfied");
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    let plain = good.without("mutation");
    stage.reports(&stage.codex, &pull, &plain).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_change_of_nothing_critical_asks_for_no_mutants() {
    let stage = Stage::new().await;
    let edits = Edits::write("README.md", "# The shop\n");
    stage
        .agent
        .push(&stage.shop, "agent/readme", "Words", edits)
        .unwrap();
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/readme", "main", "Words")
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "mutation_check").await, "skipped");
    stage.unit_passes(&pull).await;
    let plain = stage.evidence(&pull).without("mutation");
    stage.reports(&stage.codex, &pull, &plain).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_critical_file_that_is_moved_out_of_sight_stays_critical() {
    let stage = Stage::new().await;
    let edits = Edits::rename("src/start.rs", "lib/start.rs").and_write("lib/start.rs", AFTER);
    stage
        .agent
        .push(&stage.shop, "agent/start", "Move it", edits)
        .unwrap();
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "main", "Move it")
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let plain = stage.evidence(&pull).without("mutation");
    stage.reports(&stage.codex, &pull, &plain).await;
    assert_eq!(stage.state(&pull, "mutation_check").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_list_of_files_that_hides_some_leaves_open_whether_critical_lines_changed() {
    let stage = Stage::new().await;
    let mut edits = Edits::none();
    for file in 0..301 {
        edits = edits.and_write(&format!("docs/{file}.md"), format!("# {file}\n"));
    }
    // The critical file comes last in the list, behind the cut.
    edits = edits.and_write("src/start.rs", AFTER);
    stage
        .agent
        .push(&stage.shop, "agent/start", "Much", edits)
        .unwrap();
    let cut = FaultPlan::none().with("GET", "/files", 500, Fault::TruncatedList);
    stage.github.set_faults(cut);
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "main", "Much")
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let plain = stage.evidence(&pull).without("mutation");
    stage.reports(&stage.codex, &pull, &plain).await;
    assert!(!stage.merged(&pull));
    let said = stage.reasons(&pull, "mutation_check").await;
    assert_eq!(
        stage.state(&pull, "mutation_check").await,
        "undetermined",
        "{said}"
    );
    assert!(
        said.contains("Which critical lines changed is not known"),
        "{said}"
    );
    assert_eq!(stage.merge_calls(), 0);

    stage.github.set_faults(FaultPlan::none());
    stage.after(600).await;
    assert_eq!(stage.state(&pull, "mutation_check").await, "waiting");
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}
