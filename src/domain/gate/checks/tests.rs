//! What a required check's reports come to.

use crate::domain::facts::*;
use crate::domain::testing::*;
use crate::domain::verdict::{Move, Outcome, decide};

mod sources;

fn checks(runs: Vec<CheckRun>) -> &'static str {
    state(&with_runs(runs), "checks")
}

fn requiring(required: &str, runs: Vec<CheckRun>) -> Snapshot {
    under(&policy_with("required: [unit]", required), with_runs(runs))
}

fn in_suite(suite: u64, run: CheckRun) -> CheckRun {
    CheckRun {
        suite: crate::domain::model::SuiteId::new(suite),
        ..run
    }
}

fn by(maker: (u64, &str), run: CheckRun) -> CheckRun {
    CheckRun {
        app: Some(app(maker)),
        ..run
    }
}

#[test]
fn the_good_pull_request_is_ready() {
    let verdict = decide(&snapshot());
    assert_eq!(verdict.outcome, Outcome::Ready, "{:#?}", verdict.gates);
}

#[test]
fn every_conclusion_but_success_stands_in_the_way_unless_the_policy_says_otherwise() {
    use Conclusion::*;
    let table = [
        (Success, "satisfied", Move::Nobody),
        (Failure, "failed", Move::Author),
        (Neutral, "failed", Move::Author),
        (Cancelled, "failed", Move::Ci),
        (Skipped, "failed", Move::Author),
        (TimedOut, "failed", Move::Author),
        (ActionRequired, "waiting", Move::Maintainer),
        (Stale, "failed", Move::Ci),
        (StartupFailure, "failed", Move::Author),
        (Unknown("passed".into()), "failed", Move::Author),
        (Unknown(String::new()), "failed", Move::Author),
    ];
    for (conclusion, word, on) in table {
        let result = gate(
            &with_runs(vec![run(20, "unit", conclusion.clone())]),
            "checks",
        );
        assert_eq!(result.state.word(), word, "{conclusion:?}");
        assert_eq!(result.state.whose_move(), on, "{conclusion:?}");
        let passing = "required: [unit], passing: [success, neutral, skipped]";
        let lax = state(
            &requiring(passing, vec![run(20, "unit", conclusion.clone())]),
            "checks",
        );
        let passes = matches!(conclusion, Success | Neutral | Skipped);
        assert_eq!(lax == "satisfied", passes, "{conclusion:?}");
    }
}

#[test]
fn an_unknown_conclusion_is_told_by_its_own_word() {
    let odd = run(20, "unit", Conclusion::Unknown("exploded".into()));
    assert!(told(&with_runs(vec![odd]), "checks").contains("`exploded`"));
}

#[test]
fn a_run_that_somebody_must_let_run_waits_for_a_maintainer_with_a_step() {
    let snapshot = with_runs(vec![run(20, "unit", Conclusion::ActionRequired)]);
    assert!(told(&snapshot, "checks").contains("-> approve the run of `unit`"));
}

#[test]
fn every_word_for_an_unfinished_run_waits() {
    for word in [
        "queued",
        "in_progress",
        "waiting",
        "requested",
        "pending",
        "new_word",
        "",
    ] {
        let mut open = underway(20, "unit");
        open.status = RunStatus::Unfinished(word.into());
        assert_eq!(checks(vec![open]), "waiting", "{word}");
    }
}

#[test]
fn the_newest_run_of_one_producer_counts_in_whatever_order_they_are_listed() {
    use Conclusion::*;
    for (old, new, word) in [
        (Failure, Success, "satisfied"),
        (Cancelled, Success, "satisfied"),
        (Success, Failure, "failed"),
        (Success, Cancelled, "failed"),
        (Success, Skipped, "failed"),
    ] {
        let old = run(20, "unit", old);
        let new = run(21, "unit", new);
        assert_eq!(checks(vec![old.clone(), new.clone()]), word);
        assert_eq!(checks(vec![new, old]), word);
    }
}

#[test]
fn times_do_not_decide_which_run_is_the_newest() {
    let mut old = run(20, "unit", Conclusion::Failure);
    old.completed_at = Some(time("03-04 11:30"));
    let mut new = run(21, "unit", Conclusion::Success);
    new.completed_at = Some(time("03-04 10:30"));
    assert_eq!(checks(vec![new, old]), "satisfied");
}

#[test]
fn a_replaced_run_is_disclosed() {
    let runs = vec![
        run(20, "unit", Conclusion::Cancelled),
        run(21, "unit", Conclusion::Success),
    ];
    assert!(told(&with_runs(runs), "checks").contains("An earlier run is superseded."));
}

#[test]
fn a_run_started_again_voids_the_success_before_it() {
    let runs = vec![run(20, "unit", Conclusion::Success), underway(21, "unit")];
    assert_eq!(checks(runs.clone()), "waiting");
    assert_eq!(checks(runs.into_iter().rev().collect()), "waiting");
    let late = vec![run(22, "unit", Conclusion::Success), underway(21, "unit")];
    assert_eq!(checks(late), "satisfied");
}

#[test]
fn one_run_listed_twice_counts_as_the_less_finished_of_both() {
    let twice = vec![run(20, "unit", Conclusion::Success), underway(20, "unit")];
    assert_eq!(checks(twice.clone()), "waiting");
    assert_eq!(checks(twice.into_iter().rev().collect()), "waiting");
    let twice = vec![
        run(20, "unit", Conclusion::Success),
        run(20, "unit", Conclusion::Failure),
    ];
    assert_eq!(checks(twice.clone()), "failed");
    assert_eq!(checks(twice.into_iter().rev().collect()), "failed");
}

#[test]
fn two_workflows_that_report_one_name_must_both_pass() {
    let ours = in_suite(1, run(20, "unit", Conclusion::Success));
    let theirs = in_suite(2, run(21, "unit", Conclusion::Skipped));
    assert_eq!(checks(vec![ours.clone(), theirs.clone()]), "failed");
    let mut snapshot = with_runs(vec![theirs, ours]);
    snapshot.workflows = Fetched::Known(Listing::whole(vec![
        workflow(1, ".github/workflows/ci.yml", "pull_request"),
        workflow(2, ".github/workflows/queue.yml", "merge_group"),
    ]));
    assert_eq!(state(&snapshot, "checks"), "failed");
    assert!(told(&snapshot, "checks").contains("queue.yml on merge_group"));
}

#[test]
fn one_workflow_in_two_suites_is_one_producer_once_its_file_is_known() {
    let cancelled = in_suite(1, run(20, "unit", Conclusion::Cancelled));
    let passed = in_suite(2, run(21, "unit", Conclusion::Success));
    let mut snapshot = with_runs(vec![passed, cancelled]);
    assert_eq!(state(&snapshot, "checks"), "failed");
    snapshot.workflows = Fetched::Known(Listing::whole(vec![
        workflow(1, ".github/workflows/ci.yml", "pull_request"),
        workflow(2, ".github/workflows/ci.yml", "pull_request"),
    ]));
    assert_eq!(state(&snapshot, "checks"), "satisfied");
}

#[test]
fn two_apps_that_report_one_name_must_both_pass() {
    let other = by((8, "other-ci"), run(21, "unit", Conclusion::Failure));
    assert_eq!(
        checks(vec![run(20, "unit", Conclusion::Success), other]),
        "failed"
    );
}

#[test]
fn an_aggregate_that_was_skipped_since_a_job_failed_does_not_pass() {
    let runs = vec![
        run(20, "unit", Conclusion::Failure),
        run(21, "all-green", Conclusion::Skipped),
    ];
    assert_eq!(
        state(&requiring("required: [all-green]", runs), "checks"),
        "failed"
    );
}

#[test]
fn a_run_of_another_head_is_no_report_on_this_one() {
    let mut other = run(20, "unit", Conclusion::Success);
    other.head = head('e');
    assert_eq!(checks(vec![other]), "waiting");
}

#[test]
fn an_empty_list_waits_for_the_check() {
    assert_eq!(checks(Vec::new()), "waiting");
}

#[test]
fn our_own_check_is_never_an_input() {
    let ours = by(OWN, run(20, "unit", Conclusion::Success));
    assert_eq!(checks(vec![ours.clone()]), "waiting");
    let failed = by(OWN, run(30, "unit", Conclusion::Failure));
    assert_eq!(
        checks(vec![run(20, "unit", Conclusion::Success), failed]),
        "satisfied"
    );
    assert!(
        !told(
            &with_runs(vec![by(OWN, run(20, "unit (own)", Conclusion::Success))]),
            "checks"
        )
        .contains("(own)")
    );
}
