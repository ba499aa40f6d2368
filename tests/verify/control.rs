//! What a change that changes nothing shows of the tests, and which lines were not tried one by one.

use countersign::domain::evidence::{MutantStatus, Outcome};

use crate::project::Project;
use crate::tested;

/// A digest of the sources, a clean tree: such a test kills every mutant, and tests nothing.
#[test]
fn tests_that_fail_on_any_change_of_a_file_kill_nothing_and_approve_nothing() {
    let project = tested();
    let digest = "cksum src/sum.sh > now; [ -e /dev/null ] && cmp -s now sums";
    project.write("sums", "");
    project.git(&["checkout", "-q", "agent"]);
    let sums = std::process::Command::new("cksum")
        .arg("src/sum.sh")
        .current_dir(project.repo())
        .output()
        .unwrap();
    project.write("sums", sums.stdout);
    project.commit(&[]);
    let clean = "git status --porcelain > list; ! grep -q '^M' list";
    for look in [digest, clean] {
        let test = format!("{look} && sh check.sh");
        let answer = project.verify(&["--test", &test]);
        assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
        assert_eq!(answer.said().result, Outcome::Inconclusive, "{look}");
        assert_eq!(answer.statuses(), [MutantStatus::Skipped], "{look}");
        let told = "a blank line more at the end of src/sum.sh (exit code 1";
        assert!(answer.out.contains(told), "{}", answer.out);
        let findings = &answer.said().findings;
        assert!(findings[0].message.contains(told), "{findings:?}");
        assert_eq!(answer.out.matches(told).count(), 1, "{}", answer.out);
    }
    let answer = project.verify(&["--test", "git diff --exit-code && sh check.sh"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
}

#[test]
fn where_a_line_end_may_mean_something_it_is_said_that_there_is_no_control() {
    let project = Project::new(&[("src/rows.csv", "a\n"), ("check.sh", "true\n")]);
    project.commit(&[
        ("src/rows.csv", "b\n"),
        ("check.sh", "[ \"$(cat src/rows.csv)\" = b ]\n"),
    ]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    assert_eq!(answer.statuses(), [MutantStatus::Killed]);
    let told = "tests that fail on any change would not be noticed";
    assert!(answer.err.contains(told), "{}", answer.err);
}

#[test]
fn lines_that_were_not_tried_one_by_one_are_named_in_the_evidence_and_on_the_screen() {
    let project = Project::new(&[
        ("src/sum.sh", "sum() { echo 0; }\n"),
        ("check.sh", "true\n"),
    ]);
    let sum = "sum() {\n  a=$1\n  b=$2\n  echo $((a + b))\n}\n";
    project.commit(&[("src/sum.sh", sum), ("check.sh", crate::TEST)]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let finding = "src/sum.sh:1-4: 4 changed lines were not tried alone";
    let mut found = answer.said().findings.iter();
    assert!(
        found.any(|one| one.message.starts_with(finding)),
        "{}",
        answer.out
    );
    let summary = "4 changed lines were not tried alone (src/sum.sh:1-4)";
    assert!(answer.out.contains(summary), "{}", answer.out);
}
