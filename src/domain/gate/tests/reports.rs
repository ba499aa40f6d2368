//! Which reports speak for this head, and what a countersignature must show.

use serde_json::{Value, json};

use crate::domain::facts::*;
use crate::domain::model::BaseRef;
use crate::domain::testing::*;
use crate::domain::verdict::{Move, decide};

const GATE: &str = "second_verifier";

fn alone(demand: &str) -> String {
    only(&format!("{{ second_verifier: {{ {demand} }} }}"))
}

/// What codex says, as one report under a policy that asks for it only.
fn says(document: &Value) -> Snapshot {
    let demand = alone("independence: vendor, tests_executed: true");
    under(&demand, with_reports(vec![report(20, CODEX, document)]))
}

/// An approval with one field of its predicate replaced.
fn approval_with(field: &str, value: Value) -> Value {
    let mut document = approval("exec-1");
    document["predicate"][field] = value;
    document
}

fn blocking() -> Value {
    json!([{ "severity": "blocking", "path": "src/start.rs", "line": 40, "message": "it races" }])
}

fn does_not_count(snapshot: &Snapshot, why: &str) {
    let told = told(snapshot, GATE);
    assert_eq!(state(snapshot, GATE), "waiting", "{told}");
    assert!(told.contains(why), "{told}");
}

#[test]
fn a_report_about_another_head_is_void() {
    let mut old = approval("exec-1");
    old["subject"][0]["digest"]["gitCommit"] = json!(oid('e').as_str());
    does_not_count(&says(&old), "it is about eeeeeee, which is not the head");
}

#[test]
fn a_push_voids_every_report() {
    let mut snapshot = snapshot();
    known(&mut snapshot.pull).head = head('e');
    let mut moved = comparison();
    moved.head = head('e');
    snapshot.comparison = Fetched::Known(moved);
    for gate in ["checks", "certification", GATE, "mutation_check"] {
        assert_eq!(state(&snapshot, gate), "waiting", "{gate}");
    }
}

#[test]
fn a_report_about_another_repository_is_void() {
    let mut other = approval("exec-1");
    other["subject"][0]["name"] = json!("evil/shop");
    does_not_count(&says(&other), "another repository");
    let mut spelled = approval("exec-1");
    spelled["subject"][0]["name"] = json!("Acme/Shop");
    assert_eq!(state(&says(&spelled), GATE), "satisfied");
}

#[test]
fn a_retargeted_pull_request_needs_new_reports_for_the_same_head() {
    let mut snapshot = says(&approval("exec-1"));
    known(&mut snapshot.pull).base = BaseRef::parse("release").unwrap();
    does_not_count(
        &snapshot,
        "it was made against `main`, and the base is `release` now",
    );
}

#[test]
fn a_rejection_outlives_a_retarget_until_its_verifier_reports_again() {
    let retargeted = |document: &Value| {
        let mut snapshot = says(document);
        known(&mut snapshot.pull).base = BaseRef::parse("release").unwrap();
        snapshot
    };
    let mut rejected = approval_with("result", json!("rejected"));
    let snapshot = retargeted(&rejected);
    assert_eq!(
        state(&snapshot, GATE),
        "failed",
        "{}",
        told(&snapshot, GATE)
    );
    let mut finding = approval_with("findings", blocking());
    assert_eq!(state(&retargeted(&finding), GATE), "failed");
    // A rejection of another head, or one that names no base at all, is as void as it was.
    rejected["subject"][0]["digest"]["gitCommit"] = json!(oid('e').as_str());
    assert_eq!(state(&retargeted(&rejected), GATE), "waiting");
    finding["predicate"]["base"] = Value::Null;
    assert_eq!(state(&retargeted(&finding), GATE), "waiting");
    let mut anew = approval("exec-2");
    anew["predicate"]["base"]["ref"] = json!("release");
    let mut snapshot = snapshot;
    items(&mut snapshot.runs).push(report(30, CODEX, &anew));
    assert_eq!(
        state(&snapshot, GATE),
        "satisfied",
        "{}",
        told(&snapshot, GATE)
    );
}

#[test]
fn what_a_rejection_tried_against_another_base_proves_nothing_of_this_one() {
    let gates = "{ mutation_check: { critical: ['src/**'] } }";
    let killed = mutated(
        approval_with("result", json!("rejected")),
        &[mutant("m1", 40, "killed")],
    );
    let mut snapshot = under(&only(gates), with_reports(vec![report(20, CODEX, &killed)]));
    assert_eq!(state(&snapshot, "mutation_check"), "satisfied");
    known(&mut snapshot.pull).base = BaseRef::parse("release").unwrap();
    assert_eq!(state(&snapshot, "mutation_check"), "waiting");
}

#[test]
fn an_approval_with_nothing_but_survivors_is_as_void_after_a_retarget_as_any_other() {
    let mut document = mutated(approval("exec-1"), &[mutant("m1", 40, "survived")]);
    document["predicate"]["tests"] = json!([]);
    let demand = alone("independence: vendor, tests_executed: false");
    let mut snapshot = under(&demand, with_reports(vec![report(20, CODEX, &document)]));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    known(&mut snapshot.pull).base = BaseRef::parse("release").unwrap();
    does_not_count(&snapshot, "the base is `release` now");
}

#[test]
fn a_report_that_names_no_base_is_void() {
    does_not_count(
        &says(&approval_with("base", Value::Null)),
        "does not name the base",
    );
}

#[test]
fn an_edited_comment_or_review_says_nothing_any_more() {
    let mut snapshot = under(&alone("independence: human"), with_reports(Vec::new()));
    let mut edited = comment(30, user(50, "alice"), &approval("desk"));
    edited.edited = true;
    items(&mut snapshot.comments).push(edited);
    does_not_count(&snapshot, "the comment was edited");
    let mut edited = review(31, user(50, "alice"), ReviewState::Approved);
    edited.body = fenced(&approval("desk"));
    edited.edited = true;
    items(&mut snapshot.reviews).push(edited);
    does_not_count(&snapshot, "the review was edited");
}

#[test]
fn a_dismissed_rejection_still_blocks_until_its_verifier_reports_again() {
    let mut snapshot = under(&alone("independence: human"), with_reports(Vec::new()));
    let mut given = review(31, user(50, "alice"), ReviewState::Approved);
    given.body = fenced(&approval("desk"));
    items(&mut snapshot.reviews).push(given.clone());
    assert_eq!(state(&snapshot, GATE), "satisfied");
    let mut later = given;
    later.id = crate::domain::model::ReviewId::new(32).unwrap();
    later.submitted_at = Some(time("03-04 11:30"));
    later.body = fenced(&approval_with("result", json!("rejected")));
    items(&mut snapshot.reviews).push(later);
    assert_eq!(state(&snapshot, GATE), "failed");
    items(&mut snapshot.reviews)[1].state = ReviewState::Dismissed;
    assert_eq!(state(&snapshot, GATE), "failed");
}

#[test]
fn editing_a_rejection_does_not_revive_the_approval_before_it() {
    let mut snapshot = under(&alone("independence: human"), with_reports(Vec::new()));
    let approved = comment(30, user(50, "alice"), &approval("desk"));
    let mut rejected = comment(
        31,
        user(50, "alice"),
        &approval_with("result", json!("rejected")),
    );
    rejected.created_at = time("03-04 11:30");
    items(&mut snapshot.comments).extend([approved, rejected]);
    assert_eq!(state(&snapshot, GATE), "failed");
    items(&mut snapshot.comments)[1].edited = true;
    assert_eq!(
        state(&snapshot, GATE),
        "failed",
        "who edits a rejection away does not take it back"
    );
    let mut again = comment(32, user(50, "alice"), &approval("desk-2"));
    again.created_at = time("03-04 11:40");
    items(&mut snapshot.comments).push(again);
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn a_later_report_that_cannot_be_read_voids_the_approval_before_it() {
    let mut snapshot = says(&approval("exec-1"));
    let unreadable = report(21, CODEX, &approval_with("result", json!("refused")));
    items(&mut snapshot.runs).push(unreadable);
    assert_eq!(state(&snapshot, GATE), "undetermined");
    assert!(told(&snapshot, GATE).contains("`refused`"));
    items(&mut snapshot.runs).push(report(22, CODEX, &approval("exec-2")));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn what_somebody_writes_who_is_no_verifier_voids_nothing() {
    let mut snapshot = says(&approval("exec-1"));
    let mut stray = comment(30, user(40, "mallory"), &json!({ "nonsense": true }));
    stray.edited = true;
    items(&mut snapshot.comments).push(stray);
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn another_verifiers_report_that_cannot_be_read_is_an_open_question() {
    let mut snapshot = says(&approval("exec-1"));
    items(&mut snapshot.runs).push(report(40, GEMINI, &json!({})));
    assert_eq!(state(&snapshot, GATE), "undetermined");
}

#[test]
fn the_order_in_which_reports_are_listed_does_not_matter() {
    let rejected = report(20, CODEX, &approval_with("result", json!("rejected")));
    let approved = report(21, CODEX, &approval("exec-2"));
    let demand = alone("independence: vendor");
    for (runs, word) in [
        (vec![rejected.clone(), approved.clone()], "satisfied"),
        (vec![approved, rejected], "satisfied"),
    ] {
        assert_eq!(state(&under(&demand, with_reports(runs)), GATE), word);
    }
}

#[test]
fn a_read_only_review_is_no_verification() {
    let sandbox = json!({ "executes": false, "writes": false });
    does_not_count(
        &says(&approval_with("sandbox", sandbox)),
        "could not execute anything",
    );
}

#[test]
fn a_run_in_which_no_test_ran_is_no_verification() {
    does_not_count(&says(&approval_with("tests", json!([]))), "no tests ran");
    let none = json!([tests("cargo test", 0, 0)]);
    does_not_count(&says(&approval_with("tests", none)), "no tests ran");
    let mut neither = tests("cargo test", 0, 0);
    neither["executed"] = json!(5);
    does_not_count(
        &says(&approval_with("tests", json!([neither]))),
        "no tests ran",
    );
}

#[test]
fn one_command_whose_tests_failed_spoils_the_others() {
    let mixed = json!([tests("cargo test", 12, 0), tests("pytest", 3, 1)]);
    does_not_count(&says(&approval_with("tests", mixed)), "`pytest`: 1 failed");
    let mut crashed = tests("cargo test", 12, 0);
    crashed["exit_code"] = json!(-11);
    does_not_count(
        &says(&approval_with("tests", json!([crashed]))),
        "exit code -11",
    );
}

#[test]
fn a_blocking_finding_makes_an_approval_a_rejection() {
    let snapshot = says(&approval_with("findings", blocking()));
    let result = gate(&snapshot, GATE);
    assert_eq!(result.state.word(), "failed");
    assert_eq!(result.state.whose_move(), Move::Author);
    assert!(result.reason.contains("src/start.rs:40: it races"));
    let noted = json!([{ "severity": "warning", "message": "long" }]);
    assert_eq!(
        state(&says(&approval_with("findings", noted)), GATE),
        "satisfied"
    );
}

#[test]
fn a_rejection_blocks_even_from_a_verifier_that_is_not_independent() {
    let mut snapshot = says(&approval("exec-1"));
    items(&mut snapshot.runs).push(report(
        19,
        OPUS,
        &approval_with("result", json!("rejected")),
    ));
    assert_eq!(state(&snapshot, GATE), "failed");
}

#[test]
fn an_inconclusive_report_neither_passes_nor_blocks_nor_replaces_an_approval() {
    let mut inconclusive = approval_with("result", json!("inconclusive"));
    inconclusive["predicate"]["reason"] = json!("quota");
    does_not_count(&says(&inconclusive), "its quota is used up");
    let mut snapshot = says(&approval("exec-1"));
    inconclusive["predicate"]["context"] = json!("exec-2");
    items(&mut snapshot.runs).push(report(30, CODEX, &inconclusive));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn evidence_that_is_too_old_or_of_no_known_age_does_not_count() {
    let demand = alone("independence: vendor, max_age: 3h");
    let mut snapshot = under(&demand, says(&approval("exec-1")));
    let last = items(&mut snapshot.runs).last_mut().unwrap();
    last.completed_at = Some(time("03-04 09:00"));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    snapshot.now = time("03-04 12:01");
    does_not_count(&snapshot, "it is 3 h old, and 3 h are allowed");
    items(&mut snapshot.runs).last_mut().unwrap().completed_at = None;
    does_not_count(&snapshot, "nobody says when it was made");
}

#[test]
fn a_fallback_counts_only_after_its_time_and_is_told() {
    let demand = alone("independence: vendor, fallback: { after: 4h, independence: context }");
    let mut snapshot = under(
        &demand,
        with_reports(vec![report(20, OPUS, &approval("x"))]),
    );
    assert_eq!(state(&snapshot, GATE), "waiting");
    snapshot.now = time("03-04 13:00");
    assert_eq!(state(&snapshot, GATE), "satisfied");
    assert!(told(&snapshot, GATE).contains("The policy's fallback is in use"));
    snapshot.head_seen_at = None;
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn a_run_under_way_is_no_report() {
    let mut snapshot = says(&approval("exec-1"));
    items(&mut snapshot.runs).last_mut().unwrap().status = RunStatus::Unfinished("queued".into());
    assert_eq!(state(&snapshot, GATE), "waiting");
}

/// A job that is cancelled may have written its document before; and a run that failed does not approve.
#[test]
fn what_a_run_approves_that_did_not_end_well_counts_for_nothing() {
    use Conclusion::*;
    let gates =
        "{ second_verifier: { independence: vendor }, mutation_check: { critical: ['src/**'] } }";
    let ended = |conclusion, document: &Value| {
        let mut run = report(20, CODEX, document);
        run.status = RunStatus::Completed(conclusion);
        under(&only(gates), with_reports(vec![run]))
    };
    let good = mutated(approval("exec-1"), &[mutant("m1", 40, "killed")]);
    for conclusion in [Success, Neutral] {
        let snapshot = ended(conclusion, &good);
        assert_eq!(state(&snapshot, GATE), "satisfied");
        assert_eq!(state(&snapshot, "mutation_check"), "satisfied");
    }
    for conclusion in [
        Cancelled,
        TimedOut,
        Stale,
        Skipped,
        ActionRequired,
        StartupFailure,
        Failure,
        Unknown("blessed".into()),
    ] {
        let snapshot = ended(conclusion, &good);
        does_not_count(&snapshot, "the check run that bears it did not end well");
        assert_eq!(state(&snapshot, "mutation_check"), "waiting");
    }
    // What it found it found, and one that fails because it rejects has tried its mutants all the same.
    let mut rejected = good.clone();
    rejected["predicate"]["result"] = json!("rejected");
    for conclusion in [Failure, Cancelled] {
        assert_eq!(state(&ended(conclusion, &rejected), GATE), "failed");
    }
    assert_eq!(
        state(&ended(Failure, &rejected), "mutation_check"),
        "satisfied"
    );
    assert_eq!(
        state(&ended(Cancelled, &rejected), "mutation_check"),
        "waiting"
    );
    let survivor = mutated(approval("exec-1"), &[mutant("m1", 40, "survived")]);
    assert_eq!(
        state(&ended(Cancelled, &survivor), "mutation_check"),
        "failed"
    );
}

#[test]
fn any_named_certifier_that_rejects_keeps_the_head_uncertified() {
    let policy = only("{ certification: { by: [gemini, codex] } }");
    let rejected = |id, who| report(id, who, &approval_with("result", json!("rejected")));
    let approved = |id, who| report(id, who, &approval("fresh"));
    for reports in [
        vec![rejected(20, CODEX), approved(21, GEMINI)],
        vec![approved(20, GEMINI), rejected(21, CODEX)],
    ] {
        let snapshot = under(&policy, with_reports(reports));
        assert_eq!(state(&snapshot, "certification"), "failed");
    }
    let better = vec![rejected(20, CODEX), approved(21, CODEX)];
    let snapshot = under(&policy, with_reports(better));
    assert_eq!(state(&snapshot, "certification"), "satisfied");
}

/// A rejection and an approval of one verifier that nobody can order, listed both ways round.
fn undecided(rejection: &CheckRun, approval: &CheckRun) {
    for backwards in [false, true] {
        let mut runs = vec![rejection.clone(), approval.clone()];
        if backwards {
            runs.reverse();
        }
        let demand = alone("independence: vendor, tests_executed: true");
        let snapshot = under(&demand, with_reports(runs));
        assert_eq!(state(&snapshot, GATE), "failed", "{backwards}");
    }
}

#[test]
fn a_rejection_without_a_time_is_not_replaced_by_an_approval_with_one() {
    let mut rejection = report(20, CODEX, &approval_with("result", json!("rejected")));
    rejection.completed_at = None;
    undecided(&rejection, &report(21, CODEX, &approval("exec-2")));
}

#[test]
fn an_approval_without_a_time_replaces_no_rejection() {
    let rejection = report(20, CODEX, &approval_with("result", json!("rejected")));
    let mut approval = report(21, CODEX, &approval("exec-2"));
    approval.completed_at = None;
    undecided(&rejection, &approval);
}

#[test]
fn a_rejection_in_a_review_and_an_approval_in_a_check_of_the_same_second_block() {
    let approved = report(20, CODEX, &approval("exec-2"));
    let second = approved.completed_at;
    let demand = alone("independence: vendor, tests_executed: true");
    let mut snapshot = under(&demand, with_reports(vec![approved]));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    let mut bot = user(60, "codex-verify[bot]");
    bot.kind = crate::domain::model::ActorKind::Bot;
    for (id, before) in [(1, true), (9_000_000, false)] {
        let mut rejected = review(id, bot.clone(), ReviewState::Commented);
        rejected.body = fenced(&approval_with("result", json!("rejected")));
        rejected.submitted_at = second;
        let mut both = snapshot.clone();
        items(&mut both.reviews).push(rejected);
        assert_eq!(state(&both, GATE), "failed", "lower id: {before}");
    }
    items(&mut snapshot.reviews).clear();
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn two_reports_that_nobody_can_order_are_one_verifiers() {
    let mut undated = report(20, CODEX, &approval("exec-1"));
    undated.completed_at = None;
    let runs = vec![undated, report(21, CODEX, &approval("exec-2"))];
    let snapshot = under(&alone("count: 2, independence: vendor"), with_reports(runs));
    assert_eq!(state(&snapshot, GATE), "waiting");
}

#[test]
fn lists_that_may_hide_an_objection_leave_what_reports_satisfy_undetermined() {
    let gates = ["certification", "second_verifier", "mutation_check"];
    let spoil: [fn(&mut Snapshot); 6] = [
        |s| s.runs = Fetched::Unavailable("GitHub failed (502)".into()),
        |s| s.reviews = Fetched::Unavailable("GitHub failed (502)".into()),
        |s| s.comments = Fetched::Unavailable("GitHub failed (502)".into()),
        |s| known(&mut s.runs).complete = false,
        |s| known(&mut s.reviews).complete = false,
        |s| known(&mut s.comments).complete = false,
    ];
    for spoil in spoil {
        let mut spoilt = snapshot();
        spoil(&mut spoilt);
        for name in gates {
            assert_ne!(state(&spoilt, name), "satisfied", "{name} in {spoilt:#?}");
        }
        assert_eq!(decide(&spoilt).clearance(), None);
    }
    for name in gates {
        assert_eq!(state(&snapshot(), name), "satisfied");
    }
}
