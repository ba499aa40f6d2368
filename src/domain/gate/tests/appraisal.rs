//! `evidence check` and the gates say the same of every case of the corpus.

use crate::domain::gate::appraise::{Binding, appraise};
use crate::domain::testing::*;

macro_rules! cases {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../tests/evidence/", $name)))),*]
    };
}

/// Every file of the corpus; a test there holds that each has its answer.
const CASES: &[(&str, &str)] = cases![
    "all-skipped.json",
    "all-time-outs.json",
    "all-unviable.json",
    "approved-with-a-blocking-finding.json",
    "baseline-failed.json",
    "baseline-missing.json",
    "baseline-ran-nothing.json",
    "baseline-timed-out.json",
    "byte-order-mark.json",
    "crlf.json",
    "duplicate-ids.json",
    "empty.json",
    "huge-counts.json",
    "inconclusive-by-its-budget.json",
    "inconclusive-for-another-reason.json",
    "inconclusive-without-reason.json",
    "inconclusive.json",
    "json-block.md",
    "killed-by-blank.json",
    "killed-by-nobody.json",
    "lines-from-zero.json",
    "lines-reversed.json",
    "listed-block.md",
    "markdown-crlf.md",
    "markdown.md",
    "more-passed-than-executed.json",
    "negative-count.json",
    "no-base.json",
    "no-mutants.json",
    "no-mutation-check.json",
    "no-tests-listed.json",
    "prose.md",
    "quoted-block.md",
    "read-only-sandbox.json",
    "rejected-with-a-finding.json",
    "short-head.json",
    "some-skipped.json",
    "sound.json",
    "survivor-against-another-base.json",
    "survivor.json",
    "tests-failed.json",
    "tests-passed-and-exit-code-not-zero.json",
    "time-out-named-a-test.json",
    "truncated.json",
    "two-blocks.md",
    "two-subjects.json",
    "unknown-fields.json",
    "unknown-result.json",
    "unknown-status.json",
    "wrong-base.json",
    "wrong-head.json",
    "wrong-predicate-type.json",
    "wrong-repository.json",
    "wrong-tree.json",
    "wrong-type.json",
    "zero-tests.json",
];

const ABOUT: &str = include_str!("../../../../tests/evidence/corpus.json");

const GATES: &str = r#"{
  second_verifier: { count: 1, independence: vendor, tests_executed: true },
  mutation_check: { critical: ["src/**"] } }"#;

/// The state of both gates when codex reports this file on the head; JSON stands in a fenced block.
fn gates(name: &str, text: &str) -> [&'static str; 2] {
    let mut report = report(20, CODEX, &approval("exec-1"));
    report.output_text = Some(match name.ends_with(".json") {
        true => format!("```countersign\n{text}\n```\n"),
        false => text.to_owned(),
    });
    let snapshot = under(&only(GATES), with_reports(vec![report]));
    ["mutation_check", "second_verifier"].map(|gate| state(&snapshot, gate))
}

#[test]
fn the_appraisal_and_the_gates_say_the_same_of_every_case() {
    let binding: Binding = serde_json::from_str(ABOUT).unwrap();
    for (name, text) in CASES {
        let appraisal = appraise(text, &binding);
        let [mutants, tests] = gates(name, text);
        if let Some(objection) = &appraisal.objection {
            assert!(
                mutants == "failed" || tests == "failed",
                "{name}: {objection}"
            );
            continue;
        }
        let told = (appraisal.mutants.is_ok(), appraisal.tests.is_ok());
        let says = (mutants == "satisfied", tests == "satisfied");
        assert_eq!(says, told, "{name}: {}", appraisal.counts());
    }
    assert!(CASES.len() > 25);
}

#[test]
fn the_first_reason_why_it_does_not_count_is_about_belief_then_about_what_it_says_then_about_its_parts()
 {
    let binding: Binding = serde_json::from_str(ABOUT).unwrap();
    for (case, expected) in [
        ("sound.json", None),
        ("no-mutation-check.json", None),
        ("truncated.json", Some("it has a fault")),
        ("wrong-head.json", Some("it is about 9999999")),
        ("wrong-tree.json", Some("the tree it restored is 9999999")),
        ("survivor.json", Some("`m2` (revert_hunk) survived")),
        ("inconclusive.json", Some("its quota is used up")),
        ("all-skipped.json", Some("none was killed by a named test")),
        ("tests-failed.json", Some("its tests did not pass")),
    ] {
        let (_, text) = CASES.iter().find(|(name, _)| *name == case).unwrap();
        let appraisal = appraise(text, &binding);
        let why = appraisal.why_not();
        assert_eq!(why.is_some(), expected.is_some(), "{case}: {why:?}");
        let begins = why
            .unwrap_or_default()
            .starts_with(expected.unwrap_or_default());
        assert!(begins, "{case}: {why:?}");
    }
}
