//! Whose countersignature is asked for, and how many more.

use crate::domain::evidence::collect;
use crate::domain::facts::*;
use crate::domain::gate::{Case, second_verifier};
use crate::domain::testing::*;

/// The verifiers that are wanted, in order, and how many of them.
fn wanted(policy: &str, reports: Vec<CheckRun>) -> (Vec<String>, usize) {
    let snapshot = under(policy, with_reports(reports));
    let PolicyFact::Valid { policy, .. } = &snapshot.policy else {
        panic!("no policy");
    };
    let found = collect::reports(policy, &snapshot);
    let pull = snapshot.pull.known().unwrap();
    let case = Case::new(policy, &snapshot, pull, &found);
    let gate = policy.gates.second_verifier.as_ref().unwrap();
    let (verifiers, still) = second_verifier::wanted(&case, gate);
    let names = verifiers.iter().map(|one| one.name.to_string());
    (names.collect(), still)
}

fn names(names: &[&str], still: usize) -> (Vec<String>, usize) {
    let names = names.iter().map(|&name| name.to_owned());
    (names.collect(), still)
}

#[test]
fn who_countersigned_is_not_asked_again_where_two_are_needed() {
    let policy = only("{ second_verifier: { count: 2, independence: vendor } }");
    let all = names(&["codex", "gemini", "alice"], 2);
    assert_eq!(wanted(&policy, Vec::new()), all);
    let one = vec![report(20, CODEX, &approval("exec-1"))];
    assert_eq!(wanted(&policy, one), names(&["gemini", "alice"], 1));
}

#[test]
fn the_only_certifier_is_not_asked_for_a_second_word_before_or_after_its_first() {
    let policy = policy_with("independence: vendor", "independence: context");
    let others = names(&["codex", "opus", "haiku", "alice"], 1);
    assert_eq!(wanted(&policy, Vec::new()), others);
    let certified = vec![report(20, GEMINI, &approval("cert-1"))];
    assert_eq!(wanted(&policy, certified), others);
}

#[test]
fn of_several_certifiers_the_one_that_certified_is_not_asked_for_a_second_word() {
    let policy = policy_with("independence: vendor", "independence: context");
    let policy = policy.replace("by: [gemini]", "by: [gemini, codex]");
    let all = names(&["codex", "gemini", "opus", "haiku", "alice"], 1);
    assert_eq!(wanted(&policy, Vec::new()), all);
    let certified = vec![report(20, CODEX, &approval("cert-1"))];
    let others = names(&["gemini", "opus", "haiku", "alice"], 1);
    assert_eq!(wanted(&policy, certified), others);
}
