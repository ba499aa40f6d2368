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

/// The gate while nobody, or not enough of them, can countersign; `demand` is the gate's.
fn while_short(demand: &str, verifiers: &[&str], reports: Vec<CheckRun>) -> String {
    let mut policy = only(&format!("{{ second_verifier: {{ {demand} }} }}"));
    let others = ["codex", "gemini", "opus", "haiku", "alice"];
    for name in others.iter().filter(|name| !verifiers.contains(name)) {
        let line = policy
            .lines()
            .find(|line| line.starts_with(&format!("  {name}: ")));
        let line = format!("{}\n", line.unwrap());
        policy = policy.replace(&line, "");
    }
    let snapshot = under(&policy, with_reports(reports));
    let gate = gate(&snapshot, "second_verifier");
    format!(
        "{:?}: {} -> {}",
        gate.state.whose_move(),
        gate.reason,
        gate.next.unwrap_or_default()
    )
}

#[test]
fn where_no_verifier_of_the_policy_would_do_the_owner_is_told_and_nobody_waits() {
    let told = while_short("independence: vendor", &["opus", "haiku"], Vec::new());
    insta::assert_snapshot!(told, @r#"Owner: No independent verifier has countersigned bbbbbbb yet. It takes another vendor than the author side's, and the policy names no verifier that would do: it cannot come under this policy. -> name more verifiers of another vendor in the policy or ask for less there (`countersign policy check` says who would not do, and why); for this head alone: `/override second_verifier REASON`"#);
    let told = while_short("independence: human", &["codex"], Vec::new());
    insta::assert_snapshot!(told, @r#"Owner: No independent verifier has countersigned bbbbbbb yet. It takes a person, and the policy names no verifier that would do: it cannot come under this policy. -> name people (`user: LOGIN`) under `verifiers` or ask for less there (`countersign policy check` says who would not do, and why); for this head alone: `/override second_verifier REASON`"#);
}

#[test]
fn where_the_second_of_two_cannot_come_the_first_ones_word_does_not_hide_it() {
    let one = || vec![report(20, CODEX, &approval("exec-1"))];
    let demand = "count: 2, independence: vendor";
    let told = while_short(demand, &["codex", "opus"], Vec::new());
    insta::assert_snapshot!(told, @r#"Owner: 0 of 2 independent verifiers countersigned bbbbbbb. It takes another vendor than the author side's, and of the policy's verifiers only codex would do: it cannot come under this policy. -> name more verifiers of another vendor in the policy or ask for less there (`countersign policy check` says who would not do, and why); for this head alone: `/override second_verifier REASON`"#);
    let told = while_short(demand, &["codex", "opus"], one());
    insta::assert_snapshot!(told, @r#"Owner: 1 of 2 independent verifiers countersigned bbbbbbb. It takes another vendor than the author side's, and the policy names no other verifier that would do: it cannot come under this policy. -> name more verifiers of another vendor in the policy or ask for less there (`countersign policy check` says who would not do, and why); for this head alone: `/override second_verifier REASON`"#);
    let told = while_short(demand, &["codex", "gemini"], one());
    insta::assert_snapshot!(told, @r#"Verifier(["gemini"]): 1 of 2 independent verifiers countersigned bbbbbbb. It takes another vendor than the author side's. -> ask gemini yourself: the policy names no `request` by which Countersign could"#);
}

#[test]
fn where_only_the_fallback_makes_it_possible_its_hour_is_told() {
    let demand = "independence: vendor, fallback: { after: 4h, independence: context }";
    let told = while_short(demand, &["opus"], Vec::new());
    insta::assert_snapshot!(told, @r#"Verifier(["opus"]): No independent verifier has countersigned bbbbbbb yet. It takes another vendor than the author side's, and the policy names no verifier that would do. From 2026-03-04 13:00 UTC on the policy's fallback takes another context, which opus can give. -> ask opus yourself: the policy names no `request` by which Countersign could"#);
}
