//! What a test leaves in its folder: links that lead out, files that break the next run.

use countersign::domain::evidence::{MutantStatus, Outcome};

use crate::isolation::walled;
use crate::project::Project;
use crate::{half_tested, tested};

/// Without walls, and within them where there are any.
fn sandboxes() -> Vec<&'static str> {
    let mut all = vec!["off"];
    all.extend(walled().then_some("require"));
    all
}

#[test]
fn a_folder_that_a_test_swaps_for_a_link_is_not_written_through_when_the_head_is_put_back() {
    for sandbox in sandboxes() {
        let project = Project::new(&[
            ("hooks/changed", "a\n"),
            ("hooks/removed", "a\n"),
            ("hooks/kept", "a\n"),
            ("check.sh", "true\n"),
        ]);
        let outside = project.beside("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("removed"), "the caller's").unwrap();
        project.remove("hooks/removed");
        project.commit(&[("hooks/changed", "b\n")]);
        let test = format!("rm -rf hooks; ln -s {} hooks", outside.display());
        let words = [
            "--test",
            &test,
            "--critical",
            "hooks/**",
            "--sandbox",
            sandbox,
        ];
        let answer = project.verify(&words);
        assert_eq!(
            answer.statuses(),
            [MutantStatus::Survived; 2],
            "{}",
            answer.err
        );
        let tree = project.git(&["rev-parse", "agent^{tree}"]);
        let mutation = answer.said().mutation.as_ref().unwrap();
        assert_eq!(mutation.restored_tree.as_str(), tree);
        let left: Vec<_> = std::fs::read_dir(&outside).unwrap().flatten().collect();
        assert_eq!(left.len(), 1, "with sandbox {sandbox}: {left:?}");
        let content = std::fs::read_to_string(outside.join("removed")).unwrap();
        assert_eq!(content, "the caller's", "with sandbox {sandbox}");
    }
}

const REPORT: &str = "<testsuite><testcase classname='a' name='b'/></testsuite>";

#[test]
fn junit_paths_that_lead_out_of_the_tree_are_refused_and_nothing_is_removed_there() {
    let project = tested();
    let own = project.beside("own.xml");
    std::fs::write(&own, REPORT).unwrap();
    let absolute = own.display().to_string();
    let stars = absolute.replace("own.xml", "*.xml");
    let ups = format!("{}{}", "../".repeat(40), absolute.trim_start_matches('/'));
    for wrong in [
        absolute.as_str(),
        &stars,
        &ups,
        "../*.xml",
        "src/../../own.xml",
        ".//etc/a",
    ] {
        let answer = project.verify(&["--test", "sh check.sh", "--junit", wrong]);
        assert_eq!(answer.code, 2, "{wrong}: {}", answer.err);
        assert!(
            answer.err.contains("reports lie in the tree"),
            "{}",
            answer.err
        );
    }
    assert!(own.exists());
}

#[test]
fn a_report_that_a_link_leads_to_is_neither_read_nor_removed() {
    let project = tested();
    let outside = project.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    let own = outside.join("r.xml");
    std::fs::write(&own, REPORT).unwrap();
    let shown = outside.display();
    let test =
        format!("rm -rf reports; ln -s {shown} reports; ln -sf {shown}/r.xml r.xml; sh check.sh");
    for junit in ["reports/r.xml", "reports/*.xml", "r.xml", "*.xml"] {
        let words = ["--test", &test, "--junit", junit, "--baseline-runs", "2"];
        let answer = project.verify(&words);
        assert_eq!(
            answer.said().result,
            Outcome::Inconclusive,
            "{junit}: {}",
            answer.out
        );
        assert!(
            answer.out.contains("wrote no JUnit report"),
            "{junit}: {}",
            answer.out
        );
        assert!(own.exists(), "{junit}");
    }
}

#[test]
fn what_a_run_leaves_untracked_is_cleared_away_before_the_next() {
    let project = tested();
    let test = "mkdir out && mkdir \"$TMPDIR/out\"";
    let answer = project.verify(&["--test", test]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Survived],
        "{}",
        answer.out
    );
    assert_eq!(answer.said().result, Outcome::Rejected);
}

#[test]
fn what_a_build_made_stays_for_the_tests_of_every_mutant() {
    let project = tested();
    let (build, test) = (
        "[ -e built ] || mkdir built; touch \"$TMPDIR/built\"",
        "sh check.sh",
    );
    let noted = project.beside("noted");
    let test = format!(
        "ls -d built \"$TMPDIR/built\" || exit 1; echo >> {}; {test}",
        noted.display()
    );
    let answer = project.verify(&["--test", &test, "--build", build]);
    assert_eq!(answer.said().result, Outcome::Approved, "{}", answer.out);
    // The head, the control, the mutant, and the head again where the mutant was killed.
    assert_eq!(std::fs::read_to_string(noted).unwrap().lines().count(), 4);
}

#[test]
fn tests_that_fail_whenever_they_ran_before_kill_nothing() {
    let project = tested();
    project.commit(&[(".gitignore", "out\n")]);
    let beside = project.beside("state");
    let elsewhere = format!("mkdir {}", beside.display());
    for test in ["mkdir out", &elsewhere] {
        let answer = project.verify(&["--test", test]);
        assert_eq!(answer.code, 1);
        assert_eq!(answer.statuses(), [MutantStatus::Skipped], "{}", answer.out);
        assert_eq!(answer.said().result, Outcome::Inconclusive);
        assert!(answer.out.contains("begin from nothing"), "{}", answer.out);
    }
}

/// The first kill was shown to be one before the tests broke.
#[test]
fn kills_from_before_a_control_that_passed_stay_and_only_they_are_remembered() {
    let project = half_tested();
    let runs = project.beside("runs");
    // The head, the control, a mutant, the head: sound. From then on they fail.
    let test = format!(
        "echo >> {0}; [ $(wc -l < {0}) -le 4 ] || exit 1; sh check.sh",
        runs.display()
    );
    let answer = project.verify(&["--test", &test]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Unviable]
    );
    assert_eq!(
        answer.said().result,
        Outcome::Inconclusive,
        "{}",
        answer.out
    );
    std::fs::remove_file(&runs).unwrap();
    let answer = project.verify(&["--test", &test, "--resume"]);
    assert!(
        answer.err.contains("1 mutants are known from before"),
        "{}",
        answer.err
    );
    // With room for one more run the second is tried, and nothing notices it.
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Killed, MutantStatus::Survived]
    );
}

#[test]
fn a_file_that_cannot_be_loaded_is_no_kill_without_a_build_either() {
    let project = Project::new(&[("src/pay.sh", "pay() { echo 0\n"), ("check.sh", "true\n")]);
    project.commit(&[
        ("src/pay.sh", "pay() { echo 0; }\n"),
        ("check.sh", ". ./src/pay.sh\necho ok\n"),
    ]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 1, "{}", answer.out);
    assert!(
        !answer.statuses().contains(&MutantStatus::Killed),
        "{}",
        answer.out
    );
}

#[test]
fn a_kill_that_only_the_exit_code_tells_of_is_said_to_be_one() {
    let answer = tested().verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.said().result, Outcome::Approved);
    let findings = &answer.said().findings;
    assert!(
        findings.iter().any(|one| one
            .message
            .contains("the whole command stands for one test")),
        "{findings:?}"
    );
    assert!(
        answer.out.contains("the whole command stands for one test"),
        "{}",
        answer.out
    );
}

#[test]
fn a_critical_change_without_lines_is_named_in_the_answer() {
    let project = Project::new(&[("src/a", "one\ntwo\nthree\n"), ("src/b", "b\n")]);
    project.git(&["mv", "src/a", "src/moved"]);
    project.git(&["update-index", "--chmod=+x", "src/b"]);
    project.write("src/empty", "");
    project.git(&["add", "src/empty"]);
    project.git(&["commit", "-q", "-m", "no line"]);
    let answer = project.verify(&["--test", "true"]);
    assert_eq!(answer.code, 0, "{}{}", answer.out, answer.err);
    for path in ["src/moved", "src/b", "src/empty"] {
        let told = format!("{path} changed without a line of it");
        assert!(answer.out.contains(&told), "{}", answer.out);
    }
}

#[test]
fn a_check_for_changes_that_are_not_committed_kills_nothing() {
    let project = tested();
    project.commit(&[("src/new.sh", "new=1\n")]);
    let answer = project.verify(&["--test", "git diff --exit-code"]);
    assert_eq!(
        answer.statuses(),
        [MutantStatus::Survived; 2],
        "{}",
        answer.out
    );
    // Afterwards the head is what that git knows, with other tests as without.
    let answer = project.verify(&[
        "--test",
        "git diff --exit-code && sh check.sh && [ -e src/new.sh ]",
    ]);
    assert_eq!(answer.said().result, Outcome::Approved, "{}", answer.out);
}
