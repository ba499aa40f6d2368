//! Policies as people write them, rightly and wrongly.

use chrono::{Duration, NaiveTime, Weekday};
use proptest::prelude::*;

use super::super::{
    Identity, Independence, Method, Mode, MutationDemand, Notify, Party, Policy, Request, Timeouts,
    When,
};
use super::read;
use crate::domain::facts::Conclusion;
use crate::domain::model::{AppId, BaseRef, Login, VerifierName};

const COMPLETE: &str = include_str!("../../../../tests/policies/complete.yml");
const SMALL: &str = include_str!("../../../../tests/policies/small.yml");

/// The problems of a text as a person sees them.
fn told(text: &str) -> String {
    let problems = read(text).expect_err("this policy is wrong");
    let mut told = String::new();
    for problem in problems {
        told.push_str(&format!(
            "{}:{} {}\n",
            problem.line, problem.column, problem.message
        ));
        if let Some(hint) = problem.hint {
            told.push_str(&format!("     {hint}\n"));
        }
    }
    told
}

/// The same for several texts, each under the text itself.
fn told_each(texts: &[&str]) -> String {
    texts
        .iter()
        .map(|text| format!("{}\n  ==>\n{}\n", text.trim_end(), told(text)))
        .collect()
}

fn good(text: &str) -> Policy {
    read(text).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"))
}

/// A policy with these lines besides a required check.
fn with(lines: &str) -> String {
    format!("{SMALL}{lines}")
}

/// A policy with these gates, and two verifiers.
fn with_gates(gates: &str) -> String {
    let gates: String = gates.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "version: 1\nverifiers:\n  codex: {{ app: codex-verify }}\n  gemini: {{ app: gemini }}\ngates:\n{gates}"
    )
}

#[test]
fn every_key_there_is_means_what_it_says() {
    let policy = good(COMPLETE);
    assert_eq!(policy.mode, Mode::Observe);
    assert_eq!(policy.agents.authors[0], Login::new("Lamp-Agent[bot]"));
    assert!(policy.agents.branches.matches("agent/7/fix"));
    let name = |text| VerifierName::parse(text).unwrap();
    let of = |text| &policy.verifiers[&name(text)];
    assert_eq!(
        of("codex").identity,
        Identity::AppSlug("codex-verify".into())
    );
    assert_eq!(
        of("gemini").identity,
        Identity::AppId(AppId::new(4711).unwrap())
    );
    assert_eq!(of("carol").identity, Identity::User(Login::new("carol")));
    assert_eq!(of("bench").identity, Identity::Key("07".repeat(32)));
    assert_eq!(
        of("bench").request,
        Some(Request::Comment("@bench run".into()))
    );
    assert!(
        matches!(&of("nightly").identity, Identity::Workflow(path) if path.ends_with("verify.yml"))
    );

    let checks = policy.gates.checks.as_ref().unwrap();
    assert_eq!(checks.required.len(), 4);
    assert_eq!(checks.required[3].app.as_deref(), Some("15368"));
    assert_eq!(checks.also_passing, [Conclusion::Neutral]);
    assert_eq!(policy.gates.certification, Some(vec![name("codex")]));
    let second = policy.gates.second_verifier.as_ref().unwrap();
    assert_eq!(
        (second.count, second.max_age),
        (2, Some(Duration::hours(72)))
    );
    let fallback = second.fallback.as_ref().unwrap();
    assert_eq!(fallback.independence, Independence::Context);
    let mutation = policy.gates.mutation_check.as_ref().unwrap();
    assert_eq!(mutation.require, MutationDemand::KilledAtLeast(3));
    assert_eq!(mutation.timeouts, Timeouts::Killed);
    assert!(mutation.critical.matches("db/deep/tables.sql"));
    assert_eq!(mutation.by.len(), 3);
    assert_eq!(policy.gates.exercised[0].against, ["postgres"]);
    let approvals = policy.gates.approvals.as_ref().unwrap();
    assert_eq!(approvals.from.len(), 3);
    assert!(approvals.conversations_resolved);
    assert!(policy.gates.description.as_ref().unwrap().closes_issue);
    assert_eq!(policy.gates.max_changed_lines, Some(2000));
}

#[test]
fn every_key_outside_the_gates_means_what_it_says() {
    let policy = good(COMPLETE);
    let merge = &policy.merge;
    assert_eq!((merge.when, merge.others), (When::Requested, When::Never));
    assert_eq!(merge.method, Method::Squash);
    assert!(merge.allows(&BaseRef::parse("release/2").unwrap()));
    assert!(!merge.allows(&BaseRef::parse("develop").unwrap()));
    assert!(merge.up_to_date_required && merge.update_auto && merge.delete_branch);
    let four = NaiveTime::from_hms_opt(16, 0, 0).unwrap();
    assert_eq!(merge.freeze[0].from, (Weekday::Fri, four));
    assert_eq!(merge.freeze[0].timezone, chrono_tz::Europe::Berlin);
    assert_eq!(merge.freeze[1].timezone, chrono_tz::UTC);

    let dispatch = policy.dispatch.as_ref().unwrap();
    assert_eq!((dispatch.max_open_prs, dispatch.max_in_flight), (5, 2));
    assert_eq!(dispatch.in_flight_expires, Duration::minutes(90));
    assert!(dispatch.grant_by_label);
    let share = dispatch.share.as_ref().unwrap();
    assert_eq!((share.at_least_percent, share.window), (20, 10));
    assert!(!policy.short_commands);
    let team = Party::Team {
        org: "lamps".into(),
        slug: "owners".into(),
    };
    assert_eq!(policy.owners, [team, Party::User(Login::new("alice"))]);
    let news = Notify {
        url: "https://hooks.lamps.example/countersign".into(),
        kinds: vec!["merged".into(), "question".into()],
    };
    assert_eq!(policy.notify[1], news);
}

#[test]
fn what_is_left_out_has_the_strict_default() {
    let policy = good(&with_gates(
        "second_verifier: {}\nmutation_check: { critical: [src] }\n",
    ));
    assert_eq!(policy.mode, Mode::Enforce);
    let second = policy.gates.second_verifier.unwrap();
    assert_eq!(
        (second.count, second.independence),
        (1, Independence::Vendor)
    );
    assert!(second.tests_executed);
    assert_eq!((second.max_age, second.fallback), (None, None));
    let mutation = policy.gates.mutation_check.unwrap();
    assert_eq!(mutation.require, MutationDemand::EveryHunk);
    assert_eq!(mutation.timeouts, Timeouts::Inconclusive);
    assert!(mutation.by.is_empty());
    assert_eq!(
        (policy.merge.when, policy.merge.others),
        (When::Ready, When::Requested)
    );
    assert_eq!(policy.merge.method, Method::Merge);
    assert_eq!(policy.merge.base_branches.patterns(), ["main"]);
    assert!(!policy.merge.up_to_date_required && !policy.merge.update_auto);
    assert!(policy.short_commands);
    assert_eq!(policy.dispatch, None);
    assert_eq!(good(SMALL).gates.checks.unwrap().also_passing, []);
}

#[test]
fn an_empty_dispatch_section_limits_by_the_defaults() {
    let dispatch = good(&with("dispatch: {}\n")).dispatch.unwrap();
    assert_eq!((dispatch.max_open_prs, dispatch.max_in_flight), (8, 4));
    assert_eq!(dispatch.in_flight_expires, Duration::hours(6));
    assert!(!dispatch.grant_by_label);
    assert_eq!(dispatch.grant_label, "dispatch:granted");
    assert_eq!(dispatch.queued_label, "dispatch:queued");
    assert!(dispatch.labels.matches("agent:codex") && dispatch.labels.matches("Dispatch"));
    assert!(dispatch.share.is_none() && dispatch.sections.is_empty());
}

#[test]
fn gates_that_ask_for_nothing_are_no_gates() {
    let gates = "checks: { required: [unit] }\nexercised: []\napprovals: { count: 0, from: ['@a/b'], conversations_resolved: false, code_owners: false }\ndescription: { closes_issue: false, sections: [] }\n";
    let policy = good(&with_gates(gates));
    assert_eq!(policy.gates.approvals, None);
    assert_eq!(policy.gates.description, None);
    assert!(policy.gates.exercised.is_empty());
}

#[test]
fn a_misspelled_key_is_an_error_with_the_name_that_was_meant() {
    insta::assert_snapshot!(told(&with_gates(
        "mutaton_check: { critical: [src/**] }\nsecond_verifier: { cuont: 1 }\nteapot: 1\n"
    )));
}

#[test]
fn a_verifier_with_a_fault_is_told_once_and_not_at_each_gate_that_names_it() {
    let policy = |verifier: &str| {
        told(&format!(
            "version: 1\nagents: {{ branches: [\"agent/**\"] }}\nverifiers:\n  sealed: {{ {verifier}, vendor: google }}\ngates:\n  certification: {{ by: [sealed] }}\n  second_verifier: {{ count: 1 }}\n  mutation_check: {{ critical: [\"src/**\"], by: [sealed] }}\nmerge: {{ base_branches: [main] }}\n"
        ))
    };
    insta::assert_snapshot!(policy("key: abc123"));
    insta::assert_snapshot!(policy("kee: abc123"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once_in_the_order_of_the_file() {
    insta::assert_snapshot!(told(
        r#"version: 2
mode: enfore
agents:
  authors: alice
  branches: ["agent/[x"]
  vendor: 5
verifiers:
  codex: { app: codex-verify, user: bob }
  gemini: { vendor: google }
  "bad name": { app: x }
gates:
  checks:
    required: [unit, unit, countersign]
    passing: [sucess]
  second_verifier:
    count: 0
    max_age: 3 days
    fallback: { after: 4h }
  mutation_check:
    critical: []
    by: [codx]
  approvals: { count: many, code_owners: true }
merge:
  method: fast-forward
  base_branches: []
  freeze: [{ from: "Fri 25:00", to: "Mon 07:00", timezone: Mars }]
dispatch:
  max_open_prs: -1
  share: { labels: [debt], at_least: 20 }
owners: [org/owners]
notify: [ntfy.sh/topic]
commands:
"#
    ));
}

#[test]
fn a_policy_that_asks_for_nothing_is_invalid() {
    let nothing = [
        "version: 1\n",
        "version: 1\ngates: {}\n",
        "version: 1\ngates: { checks: { required: [] } }\n",
        "version: 1\ngates: { exercised: [] }\n",
        "version: 1\ngates: { size: { max_changed_lines: 10 }, approvals: { count: 2 } }\n",
        "version: 1\nverifiers: { codex: { app: codex } }\ngates: {}\n",
    ];
    for text in nothing {
        let told = told(text);
        assert!(
            told.contains("asks for nothing") || told.contains("needs `gates`"),
            "{text}{told}"
        );
    }
    insta::assert_snapshot!(told_each(&[nothing[1], nothing[0],]));
}

#[test]
fn a_gate_that_wants_evidence_needs_somebody_to_bring_it() {
    insta::assert_snapshot!(told(
        "version: 1\ngates:\n  second_verifier: { count: 1 }\n  certification: { by: [codex] }\n"
    ));
}

#[test]
fn parts_that_contradict_one_another_are_told() {
    insta::assert_snapshot!(told_each(&[
        &with_gates(
            "second_verifier:\n  count: 3\n  independence: model\n  fallback: { after: 4h, independence: vendor }\nchecks:\n  required: [unit]\n  passing: [neutral]\nmutation_check: { critical: [src], by: [gemni] }\n"
        ),
        &with("verifiers: { a: { app: Codex }, b: { app: codex } }\n"),
        &with("dispatch: { labels: ['dispatch:*'], grant_label: x }\n"),
        &with("dispatch: { grant_label: x, queued_label: X }\n"),
        &with("merge: { freeze: [{ from: 'Mon 07:00', to: 'Mon 07:00' }] }\n"),
    ]));
}

#[test]
fn a_key_written_twice_is_an_error_even_when_both_say_the_same() {
    insta::assert_snapshot!(told(&with(
        "merge: { when: ready, when: ready }\nversion: 1\n"
    )));
}

#[test]
fn code_owners_are_not_believed_to_be_judged() {
    insta::assert_snapshot!(told(&with_gates(
        "checks: { required: [unit] }\napprovals: { count: 1, code_owners: true }\n"
    )));
}

#[test]
fn texts_that_are_no_policy_at_all_are_told_in_a_sentence() {
    insta::assert_snapshot!(told_each(&[
        "",
        "# only a comment\n",
        "just words\n",
        "- version: 1\n",
        "version: 1\n---\nversion: 1\n",
        "version: 1\ngates: [unclosed\n",
        "version: 1\n\tgates: {}\n",
    ]));
}

#[test]
fn the_line_itself_stands_beside_each_problem() {
    let problems = read("version: 1\r\nmode: enfore # always\r\ngates: {}\r\n").unwrap_err();
    assert_eq!(
        problems[0].excerpt.as_deref(),
        Some("mode: enfore # always")
    );
    assert_eq!((problems[0].line, problems[0].column), (2, 7));
}

#[test]
fn a_file_full_of_errors_is_told_in_part() {
    let keys: String = (0..5000).map(|n| format!("key{n}: 1\n")).collect();
    let problems = read(&keys).unwrap_err();
    assert_eq!(problems.len(), 51);
    assert!(problems[50].message.contains("more problems"));
}

#[test]
fn a_problem_with_one_key_never_loosens_another() {
    for line in [
        "mode: enfore\n",
        "unknown: 1\n",
        "notify: [x]\n",
        "commands: { shrt: true }\n",
    ] {
        assert!(read(&format!("{COMPLETE}{line}")).is_err(), "{line}");
    }
}

#[test]
fn shared_parts_may_be_written_once_and_referred_to() {
    let policy = good(&with_gates(
        "mutation_check: { critical: &src [src/**] }\nexercised: [{ paths: *src, against: [postgres] }]\n",
    ));
    assert!(policy.gates.exercised[0].paths.matches("src/a.rs"));
}

#[test]
fn every_word_that_is_known_means_something_of_its_own() {
    let places: [(&str, &[&str]); 8] = [
        ("mode: WORD\n", &["enforce", "observe"]),
        ("merge: { when: WORD }\n", &["ready", "requested", "never"]),
        (
            "merge: { others: WORD }\n",
            &["ready", "requested", "never"],
        ),
        ("merge: { method: WORD }\n", &["merge", "squash", "rebase"]),
        ("merge: { up_to_date: WORD }\n", &["ignored", "required"]),
        ("merge: { update: WORD }\n", &["never", "auto"]),
        ("dispatch: { grant: WORD }\n", &["label", "granted"]),
        (
            "notify: [{ url: 'https://x.example', kinds: [WORD] }]\n",
            &[
                "merged", "blocked", "ready", "question", "override", "frozen",
            ],
        ),
    ];
    let gates: [(&str, &[&str]); 4] = [
        (
            "second_verifier: { independence: WORD }",
            &["context", "model", "vendor", "human"],
        ),
        (
            "second_verifier: { independence: human, fallback: { after: 1h, independence: WORD } }",
            &["context", "model", "vendor"],
        ),
        (
            "mutation_check: { critical: [src], timeouts: WORD }",
            &["inconclusive", "killed"],
        ),
        (
            "checks: { required: [unit], passing: [success, WORD] }",
            &["success", "neutral", "skipped"],
        ),
    ];
    let outside = places.map(|(text, words)| (with(text), words));
    let inside = gates.map(|(text, words)| (with_gates(text), words));
    for (text, words) in outside.iter().chain(&inside) {
        let meanings: Vec<Policy> = words
            .iter()
            .map(|word| good(&text.replace("WORD", word)))
            .collect();
        for (index, meaning) in meanings.iter().enumerate() {
            assert!(
                !meanings[..index].contains(meaning),
                "{text} {}",
                words[index]
            );
        }
    }
}

/// A line that could stand in a policy, often wrongly.
fn line() -> impl Strategy<Value = String> {
    let lines: Vec<String> = COMPLETE.lines().map(str::to_owned).collect();
    prop_oneof![
        4 => prop::sample::select(lines),
        1 => "[ ]{0,6}[a-z_]{1,12}: [\\[\\]{}a-z0-9*&!|>'\", %:-]{0,16}",
        1 => "\\PC{0,30}",
    ]
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in "\\PC{0,400}") {
        let _ = read(&text);
    }

    #[test]
    fn no_mixture_of_lines_makes_reading_panic(lines in prop::collection::vec(line(), 0..60)) {
        if let Err(problems) = read(&lines.join("\n")) {
            prop_assert!(!problems.is_empty());
        }
    }

    #[test]
    fn reading_the_same_text_twice_says_the_same(lines in prop::collection::vec(line(), 0..60)) {
        let text = lines.join("\n");
        prop_assert_eq!(read(&text), read(&text));
    }
}

#[test]
fn the_largest_files_of_nonsense_are_told_without_looking_at_all_of_it() {
    let all_of = |line: &str| line.repeat(262_000 / line.len());
    for text in [
        all_of("k: 1\n"),
        (0..20_000).map(|n| format!("key{n}: x\n")).collect(),
        format!(
            "gates: {{ mutation_check: {{ by: [{}] }} }}\n",
            all_of("mod,")
        ),
        format!("owners: [{}]\n", all_of("'?',")),
        format!("agents: {{ branches: [{}] }}\n", all_of("'{a,b}*',")),
        format!(
            "verifiers:\n{}",
            (0..9_000)
                .map(|n| format!("  v{n}: {{ app: a{n} }}\n"))
                .collect::<String>()
        ),
    ] {
        let text: String = text.chars().take(262_144).collect();
        assert!(read(&text).is_err_and(|problems| (1..=51).contains(&problems.len())));
    }
}
