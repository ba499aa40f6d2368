//! Policies that cannot come to an end, beside those that can.

use super::*;
use crate::domain::policy::read;
use crate::domain::render::diagnosis;

const AGENTS: &str = "agents: { branches: ['agent/**'], vendor: anthropic, model: claude-opus }\n";

/// What is foretold, as `policy check` prints it.
fn told(rest: &str) -> String {
    let text = format!("version: 1\n{rest}");
    let policy = read::read(&text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let findings = judge(&text, &policy);
    diagnosis::findings("policy.yml", &findings, false)
}

fn with(agents: &str, verifiers: &str, gates: &str) -> String {
    told(&format!(
        "{agents}verifiers:\n{verifiers}gates:\n  second_verifier: {gates}\n"
    ))
}

const FINE: &str = "Nothing is wrong.\n";

#[test]
fn a_verifier_of_the_agents_own_vendor_alone_can_never_countersign_an_agent() {
    let told = with(
        AGENTS,
        "  sonnet: { app: sonnet-verify, vendor: Anthropic, model: claude-sonnet }\n",
        "{ count: 1 }",
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:6:20: error: no pull request by an agent (anthropic claude-opus) can ever be countersigned: it takes a verifier of another vendor, and none of `verifiers` is one: `sonnet` is of the vendor Anthropic, and so is the author side
      6 |   second_verifier: { count: 1 }
                             ^
      mend: name verifiers of another vendor under `verifiers`, or ask for less (`count`, `independence`)
    1 error.
    "#);
}

#[test]
fn the_same_verifier_is_enough_where_another_model_is_enough() {
    let told = with(
        AGENTS,
        "  sonnet: { app: sonnet-verify, vendor: Anthropic, model: claude-sonnet }\n",
        "{ count: 1, independence: model }",
    );
    assert_eq!(told, FINE);
}

#[test]
fn two_are_never_there_where_one_of_two_is_the_only_one_who_may_certify() {
    let verifiers = "  codex: { app: codex-verify, vendor: openai }\n  gemini: { app: gemini-verify, vendor: google }\n";
    let told = with(
        AGENTS,
        verifiers,
        "{ count: 2 }\n  certification: { by: [codex] }",
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:7:20: error: no pull request can ever be countersigned: it takes 2 verifiers of another vendor, and 1 could be (`gemini`): `codex` certifies
      7 |   second_verifier: { count: 2 }
                             ^
      mend: name verifiers of another vendor under `verifiers`, or ask for less (`count`, `independence`)
    1 error.
    "#);
    assert_eq!(with(AGENTS, verifiers, "{ count: 2 }"), FINE);
    let one = "{ count: 1 }\n  certification: { by: [codex, gemini] }";
    assert_eq!(with(AGENTS, verifiers, one), FINE);
}

#[test]
fn whoever_must_differ_from_the_certifier_as_well_is_measured_by_each_of_the_certifiers() {
    let verifiers = "  codex: { app: codex-verify, vendor: openai }\n  spare: { app: spare-verify, vendor: openai }\n  gemini: { app: gemini-verify, vendor: google }\n";
    let by = |by: &str| format!("{{ count: 2 }}\n  certification: {{ by: [{by}] }}");
    insta::assert_snapshot!(with(AGENTS, verifiers, &by("codex")), @r#"
    policy.yml:8:20: error: no pull request can ever be countersigned: it takes 2 verifiers of another vendor, and 1 could be (`gemini`): `codex` certifies; `spare` is of the vendor openai, and so is the certifier `codex`
      8 |   second_verifier: { count: 2 }
                             ^
      mend: name verifiers of another vendor under `verifiers`, or ask for less (`count`, `independence`)
    1 error.
    "#);
    // After gemini's certification both others count.
    assert_eq!(with(AGENTS, verifiers, &by("codex, gemini")), FINE);
}

#[test]
fn a_key_without_a_vendor_is_nobody_in_particular() {
    let key = "  bench: { key: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=' }\n";
    insta::assert_snapshot!(with(AGENTS, key, "{ count: 1 }"), @r#"
    policy.yml:4:10: warning: `bench` can never be a second verifier: without a `vendor` nobody can say that it is another vendor
      4 |   bench: { key: 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=' }
                   ^
      mend: say its `vendor`
    policy.yml:6:20: error: no pull request can ever be countersigned: it takes a verifier of another vendor, and none of `verifiers` is one: `bench` has no `vendor`
      6 |   second_verifier: { count: 1 }
                             ^
      mend: say each verifier's `vendor`, name verifiers of another vendor under `verifiers`, or ask for less (`count`, `independence`)
    1 error, 1 warning.
    "#);
    assert_eq!(
        with(AGENTS, key, "{ count: 1, independence: context }"),
        FINE
    );
}

#[test]
fn a_verifier_without_a_vendor_beside_one_that_is_enough_is_a_warning() {
    let told = with(
        AGENTS,
        "  codex: { app: codex-verify, vendor: openai }\n  bench: { app: bench }\n",
        "{ count: 1 }",
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:5:10: warning: `bench` can never be a second verifier: without a `vendor` nobody can say that it is another vendor
      5 |   bench: { app: bench }
                   ^
      mend: say its `vendor`
    1 warning.
    "#);
}

#[test]
fn agents_without_a_vendor_differ_from_nobody() {
    let told = with(
        "agents: { labels: [agent] }\n",
        "  codex: { app: codex-verify, vendor: openai }\n",
        "{ count: 1 }",
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:6:20: error: no pull request by an agent can ever be countersigned: it takes a verifier of another vendor, and none of `verifiers` is one: `codex` cannot be told from the author side (`agents` has no `vendor`)
      6 |   second_verifier: { count: 1 }
                             ^
      mend: say under `agents.vendor` who makes the agents' model, or ask for less (`count`, `independence`)
    1 error.
    "#);
}

#[test]
fn a_person_is_demanded_and_nobody_named_is_one() {
    let human = "{ count: 1, independence: human }";
    let told = with(
        AGENTS,
        "  codex: { app: codex-verify, vendor: openai }\n",
        human,
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:6:20: error: no pull request can ever be countersigned: it takes a person, and none of `verifiers` is one: `codex` is no person
      6 |   second_verifier: { count: 1, independence: human }
                             ^
      mend: name people (`user: LOGIN`) under `verifiers`, or ask for less (`count`, `independence`)
    1 error.
    "#);
    let carol = "  codex: { app: codex-verify, vendor: openai }\n  carol: { user: carol }\n";
    assert_eq!(with(AGENTS, carol, human), FINE);
}

#[test]
fn a_fallback_that_alone_makes_it_possible_is_a_warning() {
    let sonnet = "  sonnet: { app: sonnet-verify, vendor: anthropic, model: claude-sonnet }\n";
    let told = with(
        AGENTS,
        sonnet,
        "{ count: 1, fallback: { after: 4h, independence: model } }",
    );
    insta::assert_snapshot!(told, @r#"
    policy.yml:6:20: warning: a pull request by an agent (anthropic claude-opus) is countersigned by the fallback alone: it takes a verifier of another vendor, and none of `verifiers` is one: `sonnet` is of the vendor anthropic, and so is the author side
      6 |   second_verifier: { count: 1, fallback: { after: 4h, independence: model } }
                             ^
      mend: name verifiers of another vendor under `verifiers`, or ask for less (`count`, `independence`)
    1 warning.
    "#);
    let never = with(
        AGENTS,
        sonnet,
        "{ count: 1, independence: human, fallback: { after: 4h, independence: vendor } }",
    );
    assert!(
        never.contains("no pull request by an agent (anthropic claude-opus) can ever"),
        "{never}"
    );
    assert!(
        never.contains("by a person is countersigned by the fallback alone"),
        "{never}"
    );
}

#[test]
fn people_alone_need_no_agents_section() {
    let told = with(
        "",
        "  codex: { app: codex-verify, vendor: openai }\n",
        "{ count: 1 }",
    );
    assert_eq!(told, FINE);
}

#[test]
fn more_approvals_than_people_who_may_give_them_never_come() {
    let gates = |from: &str| {
        told(&format!(
            "gates:\n  checks: {{ required: [unit] }}\n  approvals: {{ count: 2, from: [{from}] }}\n"
        ))
    };
    insta::assert_snapshot!(gates("alice, '@Alice'"), @r#"
    policy.yml:4:23: error: no pull request can ever have its approvals: 2 people must approve, and `from` names 1
      4 |   approvals: { count: 2, from: [alice, '@Alice'] }
                                ^
      mend: name more people (or a team) under `from`, or ask for fewer
    1 error.
    "#);
    assert_eq!(gates("alice, bob"), FINE);
    assert_eq!(gates("alice, '@acme/reviewers'"), FINE);
}

#[test]
fn news_that_are_posted_nowhere_are_told() {
    let told = told("gates:\n  checks: { required: [unit] }\nnotify:\n  - https://ntfy.sh/lamps\n");
    insta::assert_snapshot!(told, @r#"
    policy.yml:5:3: warning: this version posts no news anywhere: `notify` has no effect yet
      5 |   - https://ntfy.sh/lamps
            ^
      mend: watch the dashboard or `/metrics` instead; the entry may stay
    1 warning.
    "#);
}

#[test]
fn the_policies_that_are_shown_as_examples_can_come_to_an_end() {
    for text in [
        include_str!("../../../tests/policies/complete.yml"),
        include_str!("../../../tests/policies/small.yml"),
    ] {
        let policy = read::read(text).unwrap();
        let findings = judge(text, &policy);
        let errors: Vec<_> = findings
            .iter()
            .filter(|one| one.severity == Severity::Error)
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn an_update_of_branches_that_nothing_makes_is_told() {
    let gates = "gates:\n  checks: { required: [unit] }\nmerge: { update: auto }\n";
    let told = told(gates);
    assert!(told.contains("`merge.update` has no effect yet"), "{told}");
}
