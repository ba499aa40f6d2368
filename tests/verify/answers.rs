//! What the program says, and how it ends.

use countersign::domain::evidence::{InconclusiveReason, MutantStatus, Outcome, Severity};

use crate::project::Project;
use crate::{half_tested, tested};

#[test]
fn a_command_that_passes_and_shows_no_test_never_approves() {
    for command in ["true", "echo ok"] {
        let answer = tested().verify(&["--test", command, "--counted-only"]);
        assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
        let said = answer.said();
        assert_eq!(said.result, Outcome::Inconclusive);
        assert_eq!(said.tests[0].executed, 0);
        assert!(said.mutation.is_none());
        for advice in ["--junit FILE", "--by-exit-code", "of no known runner"] {
            assert!(answer.out.contains(advice), "{}", answer.out);
        }
    }
}

#[test]
fn an_output_folder_that_is_not_there_is_told_before_anything_runs() {
    let project = tested();
    let out = project.beside("gone/evidence.json");
    let mark = project.beside("mark");
    let test = format!("touch {}", mark.display());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["verify", "--base", "main", "--sandbox", "off"]);
    command.args(["--test", &test, "--out"]).arg(&out);
    let output = command.current_dir(project.repo()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("there is no folder"), "{told}");
    assert!(!mark.exists() && !project.beside("gone").exists());
}

#[test]
fn the_untested_change_is_found_and_only_that() {
    let project = half_tested();
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert_eq!(
        answer.mutants(),
        [
            ("src/sum.sh".to_owned(), 1, MutantStatus::Killed),
            ("src/sum.sh".to_owned(), 5, MutantStatus::Survived),
        ]
    );
    let said = answer.said();
    assert_eq!((said.result, said.reason), (Outcome::Rejected, None));
    let found = said.findings.iter();
    let finding: Vec<_> = found
        .filter(|one| one.severity == Severity::Blocking)
        .collect();
    assert_eq!(finding.len(), 1);
    assert_eq!(finding[0].severity, Severity::Blocking);
    assert_eq!(
        (finding[0].path.as_deref(), finding[0].line),
        (Some("src/sum.sh"), Some(5))
    );
    assert!(
        answer.out.contains("- product() { echo $(($1 * $2)); }"),
        "{}",
        answer.out
    );
    assert!(
        answer.out.contains("+ product() { echo 0; }"),
        "{}",
        answer.out
    );
}

#[test]
fn a_tested_change_is_approved_with_everything_the_gate_asks_for() {
    let project = tested();
    let words = [
        "--test",
        "sh check.sh",
        "--against",
        "sh",
        "--vendor",
        "acme",
        "--context",
        "run 1",
    ];
    let answer = project.verify(&words);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Approved);
    assert_eq!(said.subject_name, "acme/shop");
    assert_eq!(said.head.as_str(), project.git(&["rev-parse", "agent"]));
    let base = said.base.as_ref().unwrap();
    assert_eq!(base.name.as_str(), "main");
    assert_eq!(base.sha.as_str(), project.git(&["rev-parse", "main"]));
    assert_eq!(
        (said.context.as_str(), said.vendor.as_deref()),
        ("run 1", Some("acme"))
    );
    assert!(said.tests[0].passed());
    assert_eq!(said.tests[0].against, ["sh"]);
    let mutation = said.mutation.as_ref().unwrap();
    assert_eq!(
        mutation.restored_tree.as_str(),
        project.git(&["rev-parse", "agent^{tree}"])
    );
    let killer = &mutation.mutants[0].killed_by;
    assert!(killer[0].starts_with("exit code 1, output "), "{killer:?}");
}

/// B172.
#[test]
fn a_baseline_that_runs_out_of_time_shows_nothing_and_mutates_nothing() {
    let project = tested();
    let answer = project.verify(&["--test", "sleep 600", "--timeout", "1s"]);
    assert_eq!(answer.code, 1);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Inconclusive);
    assert_eq!(said.reason, Some(InconclusiveReason::Timeout));
    assert_eq!(said.mutation, None);
}

#[test]
fn failing_tests_reject_the_head_before_anything_is_mutated() {
    let project = tested();
    let answer = project.verify(&["--test", "echo broken; exit 3"]);
    assert_eq!(answer.code, 1);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Rejected);
    assert_eq!(said.mutation, None);
    assert!(
        said.findings[0].message.contains("exit code 3"),
        "{:?}",
        said.findings
    );
}

#[test]
fn a_test_command_that_is_not_there_says_nothing_of_the_head() {
    let answer = tested().verify(&["--test", "no-such-program-here"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.said().result, Outcome::Inconclusive);
}

#[test]
fn a_head_that_does_not_build_is_rejected() {
    let answer = tested().verify(&["--test", "sh check.sh", "--build", "echo no good; exit 1"]);
    assert_eq!(answer.code, 1);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Rejected);
    assert!(
        said.findings[0].message.contains("no good"),
        "{:?}",
        said.findings
    );
}

#[test]
fn tests_that_pass_once_and_fail_once_show_nothing() {
    let project = tested();
    let test = "[ -e seen ] && exit 1; touch seen";
    let answer = project.verify(&["--test", test, "--baseline-runs", "2"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.said().result, Outcome::Inconclusive);
    assert!(answer.out.contains("not reliable"), "{}", answer.out);
}

/// B165.
#[test]
fn a_mutant_that_runs_out_of_time_is_no_kill() {
    let project = Project::new(&[("src/done.sh", "done=no\n")]);
    project.commit(&[("src/done.sh", "done=yes\n")]);
    let test = ". ./src/done.sh; while [ $done = no ]; do sleep 1; done";
    let answer = project.verify(&["--test", test, "--timeout", "2s"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.statuses(), [MutantStatus::Timeout]);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Inconclusive);
    assert_eq!(said.reason, Some(InconclusiveReason::Timeout));
}

/// B170.
#[test]
fn mutants_none_of_which_builds_show_nothing() {
    let project = tested();
    let build = "grep -q '[+]' src/sum.sh";
    let answer = project.verify(&["--test", "sh check.sh", "--build", build]);
    assert_eq!(answer.code, 1);
    let statuses = answer.statuses();
    assert!(
        statuses.iter().all(|one| *one == MutantStatus::Unviable),
        "{statuses:?}"
    );
    assert_eq!(answer.said().result, Outcome::Inconclusive);
    assert!(
        answer.out.contains("is the build command right?"),
        "{}",
        answer.out
    );
}

/// B181.
#[test]
fn an_empty_change_is_wrong_use() {
    let project = tested();
    let answer = project.verify(&["--test", "true", "--head", "main"]);
    assert_eq!(answer.code, 2);
    assert!(
        answer.err.contains("nothing changed between main and"),
        "{}",
        answer.err
    );
    assert!(answer.statement.is_none());
}

/// B175: there is a way through for a change without a critical line.
#[test]
fn a_change_without_critical_lines_is_approved_by_its_tests_alone_and_says_so() {
    let project = tested();
    project.git(&["checkout", "-q", "-b", "text", "main"]);
    project.commit(&[
        ("README.md", "Words.\n"),
        ("src/sum.sh", "sum() { echo 0; }\n\n"),
    ]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.statuses().is_empty());
    assert!(
        answer.out.contains("approved by the tests alone"),
        "{}",
        answer.out
    );
}

#[test]
fn what_the_budget_leaves_out_is_skipped_and_never_approved() {
    let project = half_tested();
    let answer = project.verify(&["--test", "sh check.sh", "--budget", "1"]);
    assert_eq!(answer.code, 1);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Skipped]
    );
    let said = answer.said();
    assert_eq!(said.result, Outcome::Inconclusive);
    assert_eq!(said.reason, Some(InconclusiveReason::Timeout));
    let left = "whether src/sum.sh:5 is tested is not shown: it was left out (the budget of one mutant was spent)";
    let mut messages = said.findings.iter().map(|finding| finding.message.as_str());
    assert!(
        messages.any(|message| message == left),
        "{:?}",
        said.findings
    );
}

#[test]
fn a_resumed_verification_runs_only_what_is_not_known_and_a_fresh_one_runs_all() {
    let project = half_tested();
    let count = project.beside("count");
    let test = format!("echo run >> {}; sh check.sh", count.display());
    let runs = || std::fs::read_to_string(&count).unwrap().lines().count();
    project.verify(&["--test", &test, "--budget", "1"]);
    assert_eq!(
        runs(),
        4,
        "the head, the control, one mutant, and the head after its kill"
    );
    let answer = project.verify(&["--test", &test, "--resume"]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Survived]
    );
    assert_eq!(runs(), 7, "the head, the control and the other mutant");
    let answer = project.verify(&["--test", &test, "--resume"]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Survived]
    );
    assert_eq!(runs(), 12, "what came to its end is begun anew");
    project.verify(&["--test", &test, "--budget", "1"]);
    project.verify(&["--test", &test]);
    assert_eq!(runs(), 21, "nothing is remembered unless asked");
}

#[test]
fn what_is_known_of_another_head_or_by_another_command_is_not_believed() {
    let project = half_tested();
    project.verify(&["--test", "sh check.sh", "--budget", "1"]);
    let journal = project.beside("evidence.json.journal");
    let known = std::fs::read_to_string(&journal).unwrap();
    assert_eq!(known.lines().count(), 2, "{known}");
    // The same mutants, by tests that notice nothing.
    let answer = project.verify(&["--test", "true", "--resume"]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Survived, MutantStatus::Survived]
    );
}

/// B179: the answer is the mutant's, not the order's or the neighbour's.
#[test]
fn two_jobs_say_what_one_says() {
    let project = half_tested();
    let more: Vec<_> = (0..6).map(|n| format!("src/{n}.sh")).collect();
    for path in &more {
        project.write(path, "value=1\n");
    }
    let test = format!("{}. ./src/4.sh; [ $value = 1 ]\n", crate::TEST);
    project.commit(&[("check.sh", &test)]);
    let one = project.verify(&["--test", "sh check.sh"]);
    let two = project.verify(&["--test", "sh check.sh", "--jobs", "2"]);
    assert_eq!(one.mutants().len(), 8);
    assert_eq!(one.mutants(), two.mutants());
    assert_eq!(one.said().findings, two.said().findings);
}

#[test]
fn a_policy_says_what_is_critical_and_whether_some_kills_are_enough() {
    let project = half_tested();
    project.write("policy.yml", "version: 1\nverifiers:\n  codex: { app: codex, vendor: openai }\ngates:\n  second_verifier: {}\n  mutation_check: { critical: [\"src/**\"] }\n");
    let answer = project.verify(&["--test", "sh check.sh", "--policy", "policy.yml"]);
    assert_eq!(answer.statuses().len(), 2, "{}", answer.err);
    let answer = project.verify(&["--test", "true", "--policy", "nothing.yml"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("nothing.yml"), "{}", answer.err);
}

#[test]
fn without_a_word_everything_but_texts_and_tests_is_critical_and_that_is_said() {
    let project = Project::new(&[
        ("a.sh", "a=0\n"),
        ("test.sh", "a=0\n"),
        ("test_a.sh", "a=0\n"),
        ("a.md", "0\n"),
    ]);
    project.commit(&[
        ("a.sh", "a=1\n"),
        ("test.sh", "a=1\n"),
        ("test_a.sh", "a=1\n"),
        ("a.md", "1\n"),
    ]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args([
        "verify",
        "--base",
        "main",
        "--test",
        "true",
        "--by-exit-code",
        "--json",
        "--sandbox",
        "off",
    ]);
    let output = command.current_dir(project.repo()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("critical is everything but **/*.md"),
        "{told}"
    );
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mutants = document["predicate"]["mutation"]["mutants"]
        .as_array()
        .unwrap();
    assert_eq!(mutants.len(), 1);
    assert_eq!(mutants[0]["path"], "a.sh");
}

#[test]
fn the_block_for_a_review_is_what_the_gate_reads() {
    let project = tested();
    let answer = project.verify(&["--test", "sh check.sh", "--review"]);
    let blocks = countersign::domain::evidence::collect::blocks(&answer.out);
    assert_eq!(blocks.len(), 1, "{}", answer.out);
    let said = countersign::domain::evidence::parse::document(&blocks[0]).unwrap();
    assert_eq!(&said, answer.said());
}

#[test]
fn wrong_use_says_what_to_do() {
    let project = tested();
    let told = |words: &[&str]| {
        let answer = project.verify(words);
        assert_eq!(answer.code, 2, "{}", answer.err);
        answer.err
    };
    assert!(told(&["--test", "true", "--head", "gone"]).contains("git fetch origin gone"));
    assert!(told(&["--test", " "]).contains("--test is empty"));
    for slip in ["srcc/**", "SRC/**", "../x/src/**"] {
        let told = told(&["--test", "true", "--critical", slip]);
        assert!(told.contains(&format!("--critical {slip:?}")), "{told}");
    }
    project.git(&["remote", "remove", "origin"]);
    assert!(told(&["--test", "true"]).contains("--repo OWNER/NAME"));
    project.git(&["branch", "-m", "main", "trunk"]);
    let words = ["--test", "true", "--repo", "acme/shop"];
    assert!(told(&words).contains("the base `main` is not in this checkout"));
}

/// B175: a change that no test can see has its way through.
#[test]
fn a_change_of_comments_alone_asks_for_no_test() {
    let code = "def one():\n    return 1\n";
    let project = Project::new(&[("src/one.py", &format!("# One.\n{code}"))]);
    project.commit(&[("src/one.py", &format!("# The number one.\n{code}"))]);
    let answer = project.verify(&["--test", "python3 -c 'import src.one'"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    assert_eq!(answer.statuses(), [MutantStatus::Skipped]);
    assert!(
        answer.out.contains("only comments changed"),
        "{}",
        answer.out
    );
}

#[test]
fn a_hunk_that_cannot_be_undone_in_one_piece_is_tried_in_finer_ones() {
    let project = Project::new(&[("src/grade.py", "def grade(n):\n    return 0\n")]);
    let head = "def grade(n):\n    if n > 5:\n        return 1\n    return 0\n";
    let test = "import unittest\nfrom src.grade import grade\n\nclass Grades(unittest.TestCase):\n    def test_high(self):\n        self.assertEqual(grade(6), 1)\n        self.assertEqual(grade(5), 0)\n";
    project.commit(&[("src/grade.py", head), ("test_grade.py", test)]);
    let answer = project.verify(&["--test", "python3 -m unittest"]);
    let mutation = answer.said().mutation.as_ref().unwrap();
    let killers: Vec<_> = mutation
        .mutants
        .iter()
        .flat_map(|one| &one.killed_by)
        .collect();
    assert_eq!(answer.said().result, Outcome::Approved, "{}", answer.out);
    assert!(
        killers.iter().all(|name| name.contains("test_high")),
        "{killers:?}"
    );
}

/// B163, B178: tests that are gone, or were never found, are no tests that passed.
#[test]
fn a_run_that_finds_no_test_shows_nothing() {
    let project = Project::new(&[("src/one.py", "ONE = 0\n"), ("README", "")]);
    project.commit(&[("src/one.py", "ONE = 1\n")]);
    let answer = project.verify(&["--test", "python3 -m unittest; true"]);
    assert_eq!(answer.code, 1);
    assert_eq!(
        answer.said().result,
        Outcome::Inconclusive,
        "{}",
        answer.out
    );
    assert!(answer.out.contains("executed no test"), "{}", answer.out);
}

#[test]
fn a_junit_report_names_the_killer_and_an_old_one_is_not_read() {
    let report = |failed: bool| {
        let failure = if failed {
            "<failure message=\"no\"/>"
        } else {
            ""
        };
        format!(
            "<testsuite tests=\"1\" failures=\"{}\"><testcase classname=\"Sums\" name=\"adds\">{failure}</testcase></testsuite>",
            u8::from(failed)
        )
    };
    let project = tested();
    project.commit(&[("good.xml", &report(false)), ("bad.xml", &report(true))]);
    let test =
        "if sh check.sh; then cp good.xml report.xml; else cp bad.xml report.xml; exit 1; fi";
    let answer = project.verify(&["--test", test, "--junit", "report.xml"]);
    assert_eq!(
        answer.said().result,
        Outcome::Approved,
        "{}{}",
        answer.out,
        answer.err
    );
    let mutants = &answer.said().mutation.as_ref().unwrap().mutants;
    assert_eq!(mutants.len(), 1);
    assert!(mutants[0].killed_by[0].contains("adds"), "{mutants:?}");
    // Written once, by the head; the mutant's tests write none.
    let once = "if sh check.sh; then cp good.xml report.xml; else exit 1; fi";
    let answer = project.verify(&["--test", once, "--junit", "report.xml"]);
    let killed = answer.statuses().contains(&MutantStatus::Killed);
    assert!(!killed, "{}", answer.out);
}

/// B176: the gate takes evidence only for the base that it names.
#[test]
fn a_base_given_as_a_commit_is_named_by_the_branch_whose_tip_it_is_or_that_is_said() {
    let project = tested();
    let base = project.git(&["rev-parse", "main"]);
    let verify = || {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
        command.args(["verify", "--base", &base, "--test", "sh check.sh", "--json"]);
        command.args(["--critical", "src/**", "--sandbox", "off"]);
        let output = command.current_dir(project.repo()).output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (document["predicate"]["base"]["ref"].clone(), told)
    };
    let (named, told) = verify();
    assert_eq!(named, serde_json::Value::Null);
    assert!(told.contains("give --base as a branch"), "{told}");
    project.git(&["update-ref", "refs/remotes/origin/main", &base]);
    let (named, told) = verify();
    assert_eq!(named, "main");
    assert!(!told.contains("give --base"), "{told}");
}
