//! From whom a check must come: statuses, pinned Apps and workflows, patterns, and lists with gaps.

use super::{by, in_suite, requiring};
use crate::domain::facts::*;
use crate::domain::gate::checks::tests::checks;
use crate::domain::model::AppId;
use crate::domain::testing::*;
use crate::domain::verdict::Move;

const CI: &str = ".github/workflows/ci.yml";

/// `unit` must come from [`CI`]; the workflow runs are known.
fn pinned(runs: Vec<CheckRun>, workflows: Vec<WorkflowRun>) -> Snapshot {
    let required = format!("required: [{{ name: unit, app: github-actions, workflow: {CI} }}]");
    let mut snapshot = requiring(&required, runs);
    snapshot.workflows = Fetched::Known(Listing::whole(workflows));
    snapshot
}

fn with_statuses(statuses: Vec<CommitStatus>) -> Snapshot {
    let mut snapshot = with_runs(Vec::new());
    snapshot.statuses = Fetched::Known(Listing::whole(statuses));
    snapshot
}

#[test]
fn every_status_state_but_success_stands_in_the_way() {
    use StatusState::*;
    for (state_given, word) in [
        (Success, "satisfied"),
        (Failure, "failed"),
        (Error, "failed"),
        (Pending, "waiting"),
        (Unknown("expected".into()), "failed"),
    ] {
        let snapshot = with_statuses(vec![status(1, "unit", state_given.clone())]);
        assert_eq!(state(&snapshot, "checks"), word, "{state_given:?}");
    }
}

#[test]
fn the_newest_status_of_each_context_counts_not_the_newest_of_all() {
    let statuses = vec![
        status(9, "lint", StatusState::Success),
        status(8, "unit", StatusState::Pending),
        status(7, "unit", StatusState::Success),
    ];
    let both = policy_with("required: [unit]", "required: [unit, lint]");
    let mut reversed = statuses.clone();
    reversed.reverse();
    for statuses in [statuses, reversed] {
        let snapshot = under(&both, with_statuses(statuses));
        assert_eq!(state(&snapshot, "checks"), "waiting");
    }
}

#[test]
fn of_statuses_that_cannot_be_ordered_the_one_that_does_not_pass_counts() {
    let mut passed = status(1, "unit", StatusState::Success);
    let mut failed = status(1, "unit", StatusState::Failure);
    (passed.id, failed.id) = (None, None);
    let snapshot = with_statuses(vec![passed.clone(), failed.clone()]);
    assert_eq!(state(&snapshot, "checks"), "failed");
    let snapshot = with_statuses(vec![failed.clone(), passed.clone()]);
    assert_eq!(state(&snapshot, "checks"), "failed");
    passed.updated_at = Some(time("03-04 10:01"));
    let snapshot = with_statuses(vec![passed, failed]);
    assert_eq!(state(&snapshot, "checks"), "satisfied");
}

#[test]
fn a_status_and_a_check_run_of_one_name_must_both_pass() {
    let mut snapshot = with_statuses(vec![status(1, "unit", StatusState::Failure)]);
    items(&mut snapshot.runs).push(run(20, "unit", Conclusion::Success));
    assert_eq!(state(&snapshot, "checks"), "failed");
}

#[test]
fn a_pinned_app_is_not_met_by_another_app_or_by_a_persons_status() {
    let other = by((8, "other-ci"), run(20, "unit", Conclusion::Success));
    let pinned = "required: [{ name: unit, app: github-actions }]";
    let mut snapshot = requiring(pinned, vec![other]);
    items(&mut snapshot.statuses).push(status(1, "unit", StatusState::Success));
    assert_eq!(state(&snapshot, "checks"), "waiting");
    items(&mut snapshot.runs).push(run(21, "unit", Conclusion::Success));
    assert_eq!(state(&snapshot, "checks"), "satisfied");
}

#[test]
fn a_pinned_app_is_met_by_a_status_of_its_own_bot() {
    let mut own = status(1, "unit", StatusState::Success);
    own.creator = Some(bot(41, "Other-CI[bot]"));
    let mut snapshot = requiring("required: [{ name: unit, app: other-ci }]", Vec::new());
    snapshot.statuses = Fetched::Known(Listing::whole(vec![own]));
    assert_eq!(state(&snapshot, "checks"), "satisfied");
}

#[test]
fn an_app_pinned_by_its_number_is_not_met_by_an_app_that_is_called_like_the_number() {
    let imposter = by((8, "15368"), run(20, "unit", Conclusion::Success));
    let mut snapshot = requiring("required: [{ name: unit, app: 15368 }]", vec![imposter]);
    let mut imposters = status(1, "unit", StatusState::Success);
    imposters.creator = Some(bot(41, "15368[bot]"));
    items(&mut snapshot.statuses).push(imposters);
    assert_eq!(state(&snapshot, "checks"), "waiting");
    items(&mut snapshot.runs).push(run(21, "unit", Conclusion::Success));
    assert_eq!(state(&snapshot, "checks"), "satisfied");
}

#[test]
fn a_run_whose_app_is_not_known_does_not_meet_a_pinned_requirement() {
    let mut nameless = run(20, "unit", Conclusion::Success);
    nameless.app = None;
    let snapshot = requiring(
        "required: [{ name: unit, app: github-actions }]",
        vec![nameless.clone()],
    );
    assert_eq!(state(&snapshot, "checks"), "undetermined");
    assert_eq!(checks(vec![nameless]), "satisfied");
}

#[test]
fn a_pinned_workflow_is_met_by_its_own_run_and_by_no_other() {
    let ours = in_suite(1, run(20, "unit", Conclusion::Success));
    let theirs = in_suite(2, run(21, "unit", Conclusion::Success));
    let workflows = vec![
        workflow(1, CI, "pull_request"),
        workflow(2, ".github/workflows/fake.yml", "pull_request"),
    ];
    let snapshot = pinned(vec![ours], workflows.clone());
    assert_eq!(state(&snapshot, "checks"), "satisfied");
    let snapshot = pinned(vec![theirs], workflows);
    assert_eq!(state(&snapshot, "checks"), "waiting");
}

#[test]
fn a_run_whose_workflow_is_not_known_does_not_meet_a_pinned_workflow() {
    let passed = in_suite(1, run(20, "unit", Conclusion::Success));
    let snapshot = pinned(vec![passed.clone()], Vec::new());
    assert_eq!(state(&snapshot, "checks"), "undetermined");
    let mut snapshot = pinned(vec![passed.clone()], Vec::new());
    snapshot.workflows = Fetched::Unavailable("GitHub answered 502".into());
    assert_eq!(state(&snapshot, "checks"), "undetermined");
    let mut of_another_head = workflow(1, CI, "pull_request");
    of_another_head.head = head('e');
    let snapshot = pinned(vec![passed], vec![of_another_head]);
    assert_eq!(state(&snapshot, "checks"), "undetermined");
}

#[test]
fn a_pinned_workflow_that_the_pull_request_changes_is_an_owners_matter() {
    let runs = vec![in_suite(1, run(20, "unit", Conclusion::Success))];
    let good = pinned(runs, vec![workflow(1, CI, "pull_request")]);
    let mut edited = good.clone();
    items_of(&mut edited).push(file(CI, vec![hunk(1, &["x"], &[])]));
    let mut moved = good.clone();
    let mut away = file("old.yml", Vec::new());
    (away.old_path, away.kind) = (Some(CI.into()), ChangeKind::Renamed);
    items_of(&mut moved).push(away);
    for snapshot in [edited, moved] {
        let result = gate(&snapshot, "checks");
        assert_eq!(result.state.word(), "failed");
        assert_eq!(result.state.whose_move(), Move::Owner);
    }
    let mut unread = good;
    unread.comparison = Fetched::Unavailable("GitHub answered 500".into());
    assert_eq!(state(&unread, "checks"), "undetermined");
}

#[test]
fn a_cut_list_of_files_may_hide_a_change_to_a_pinned_workflow() {
    let runs = vec![in_suite(1, run(20, "unit", Conclusion::Success))];
    let good = pinned(runs, vec![workflow(1, CI, "pull_request")]);
    let mut cut = good.clone();
    known(&mut cut.comparison).files.complete = false;
    assert_ne!(state(&cut, "checks"), "satisfied");
    let mut more = good;
    known(&mut more.pull).changed_files = Some(3_200);
    assert_ne!(state(&more, "checks"), "satisfied");
}

fn items_of(snapshot: &mut Snapshot) -> &mut Vec<FileChange> {
    known(&mut snapshot.pull).changed_files = Some(2);
    &mut known(&mut snapshot.comparison).files.items
}

#[test]
fn a_pattern_needs_a_match_and_every_match_to_pass() {
    let required = r#"required: ["build (*)"]"#;
    let passed = |id, name| run(id, name, Conclusion::Success);
    let none = requiring(required, vec![passed(20, "build")]);
    assert_eq!(state(&none, "checks"), "waiting");
    let both = vec![passed(20, "build (linux)"), passed(21, "build (mac, 14)")];
    assert_eq!(
        state(&requiring(required, both.clone()), "checks"),
        "satisfied"
    );
    let mut one_open = both.clone();
    one_open.push(underway(22, "build (windows)"));
    assert_eq!(state(&requiring(required, one_open), "checks"), "waiting");
    let mut one_red = both;
    one_red.insert(0, run(22, "build (windows)", Conclusion::Failure));
    assert_eq!(state(&requiring(required, one_red), "checks"), "failed");
}

#[test]
fn a_missing_check_is_told_with_the_names_that_may_have_been_meant() {
    let runs = vec![
        run(20, "unit tests / unit", Conclusion::Success),
        run(21, "lint", Conclusion::Success),
    ];
    let told = told(&with_runs(runs), "checks");
    assert!(told.contains("`unit` has not reported"), "{told}");
    assert!(told.contains("`unit tests / unit`"), "{told}");
    assert!(!told.contains("lint"), "{told}");
}

#[test]
fn names_match_to_the_letter() {
    for name in ["Unit", "unit ", "ci / unit", "unit (1)"] {
        assert_eq!(
            checks(vec![run(20, name, Conclusion::Success)]),
            "waiting",
            "{name}"
        );
    }
}

#[test]
fn a_list_that_is_not_whole_can_only_block() {
    let mut runs = snapshot();
    known(&mut runs.runs).complete = false;
    let mut statuses = snapshot();
    known(&mut statuses.statuses).complete = false;
    let mut unread = snapshot();
    unread.statuses = Fetched::Unavailable("GitHub answered 502".into());
    for mut snapshot in [runs, statuses, unread] {
        assert_eq!(state(&snapshot, "checks"), "undetermined");
        items(&mut snapshot.runs).push(run(99, "unit", Conclusion::Failure));
        assert_eq!(state(&snapshot, "checks"), "failed");
    }
}

#[test]
fn no_required_check_is_no_pass() {
    let mut snapshot = snapshot();
    let PolicyFact::Valid { policy, .. } = &mut snapshot.policy else {
        panic!("the policy is valid");
    };
    policy.gates.checks.as_mut().unwrap().required.clear();
    assert_eq!(state(&snapshot, "checks"), "failed");
}

#[test]
fn one_open_check_of_several_keeps_the_gate_open_and_is_named() {
    let runs = vec![run(20, "unit", Conclusion::Success)];
    let snapshot = requiring("required: [unit, lint, docs]", runs);
    let told = told(&snapshot, "checks");
    assert!(
        told.starts_with("checks waiting: `lint` has not reported."),
        "{told}"
    );
    assert!(told.contains("2 of 3 required checks are open"), "{told}");
}

#[test]
fn a_namesake_of_our_own_app_is_told_by_its_number() {
    let mut snapshot = with_runs(vec![by((901, OWN.1), run(20, "unit", Conclusion::Success))]);
    assert_eq!(state(&snapshot, "checks"), "satisfied");
    snapshot.own_app = AppId::new(901).unwrap();
    assert_eq!(state(&snapshot, "checks"), "waiting");
}
