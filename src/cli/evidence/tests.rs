//! What is said of evidence, and the corpus, case by case.

use super::*;
use crate::domain::evidence::{EvidenceBase, Mutant, MutantStatus, Outcome, Statement};
use crate::domain::import::{Found, Given, conclude, stryker};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/evidence")
}

#[test]
fn every_case_of_the_corpus_is_answered_as_expected() {
    let (told, good) = corpus(&folder()).unwrap();
    assert!(good, "{told}");
    assert!(told.lines().count() > 50, "{told}");
}

#[test]
fn a_case_that_is_answered_otherwise_or_lacks_its_answer_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(scratch.path().join(name), text).unwrap();
    write("corpus.json", "{}");
    assert!(!corpus(scratch.path()).unwrap().1, "no case is no proof");
    write("prose.md", "Looks good.");
    let (told, good) = corpus(scratch.path()).unwrap();
    assert!(
        !good && told.contains("prose: a case is a file and its `.expected`"),
        "{told}"
    );
    write("prose.expected", "counts: for the head\n");
    let (told, good) = corpus(scratch.path()).unwrap();
    assert!(!good && told.contains("prose: NOT as expected"), "{told}");
    write("prose.json", "{}");
    assert!(corpus(scratch.path()).is_err(), "two cases of one name");
}

#[test]
fn sound_evidence_is_told_in_short_and_faulty_evidence_fault_by_fault() {
    let sound = include_str!("../../../tests/evidence/sound.json");
    let all = |text: &str| {
        let binding = Binding::default();
        let appraisal = appraise(text, &binding);
        (said::told("file", &appraisal, &binding), appraisal.proves())
    };
    let (text, proves) = all(sound);
    assert!(proves);
    insta::assert_snapshot!("sound", text);
    let faulty = sound
        .replace("\"killed\"", "\"dead\"")
        .replace("\"executed\": 412", "\"executed\": -1");
    let (text, proves) = all(&faulty);
    assert!(!proves);
    insta::assert_snapshot!("faulty", text);
    let (text, proves) = all("Looks good to me.");
    assert!(!proves);
    insta::assert_snapshot!("no_document", text);
}

#[test]
fn a_sound_rejection_is_believed_and_counts_against_the_head() {
    let rejected = include_str!("../../../tests/evidence/survivor.json");
    let binding = Binding {
        head: Some(HeadStart::parse("BBBBBBB").unwrap()),
        ..Binding::default()
    };
    let appraisal = appraise(rejected, &binding);
    insta::assert_snapshot!("rejected", said::told("file", &appraisal, &binding));
    insta::assert_snapshot!(
        "rejected_as_json",
        format!("{:#}", said::as_json("file", &appraisal))
    );
}

#[test]
fn a_head_may_be_given_by_its_first_digits_and_by_seven_at_least() {
    let sound = include_str!("../../../tests/evidence/sound.json");
    let proves = |head: &str| {
        let binding = Binding {
            head: Some(HeadStart::parse(head).unwrap()),
            ..Binding::default()
        };
        appraise(sound, &binding).proves()
    };
    assert!(proves("bbbbbbb") && proves(&"b".repeat(40)));
    let whole = Binding {
        head: Some(HeadStart::parse(&"b".repeat(40)).unwrap()),
        ..Binding::default()
    };
    let told = said::told("file", &appraise(sound, &whole), &whole);
    assert!(!told.contains("digits of the head"), "{told}");
    assert!(!proves("bbbbbbc") && !proves(&"b".repeat(41)));
    for wrong in ["bbbbbb", "", "HEAD~", "bbbbbbg", &"b".repeat(65)] {
        let told = HeadStart::parse(wrong).unwrap_err();
        assert!(told.contains("first 7 hex digits"), "{wrong}: {told}");
    }
}

#[test]
fn an_import_is_told_with_what_it_cannot_tell() {
    // Names depend on what the test log knows of this runner; the table does not.
    let (found, statement) = of_stryker(|mutant| mutant.killed_by.truncate(0));
    insta::assert_snapshot!("import", import::told(&found, &statement));
}

/// The report of a real run, with each mutant changed, and the statement made of it.
fn of_stryker(change: impl FnMut(&mut Mutant)) -> (Found, Statement) {
    let oid = |digit: &str| Oid::parse(&digit.repeat(40)).unwrap();
    let report = include_str!("../../../tests/reports/stryker.json");
    let mut found = stryker::read(report, "").unwrap();
    found.mutants.iter_mut().for_each(change);
    let given = Given {
        repo: RepoName::parse("acme/shop").unwrap(),
        head: oid("b").into(),
        base: EvidenceBase {
            name: BaseRef::parse("main").unwrap(),
            sha: oid("a"),
        },
        tree: oid("c"),
        context: "import-1".into(),
        vendor: None,
        model: None,
        baseline: (Some(1), Some(0)),
        test_command: None,
        files: None,
    };
    let statement = conclude(&found, &given).unwrap();
    (found, statement)
}

/// The statement of a report in which everything was killed, by these names.
fn imported(killed_by: &str) -> (Found, Statement) {
    of_stryker(|mutant| {
        mutant.status = MutantStatus::Killed;
        mutant.killed_by = vec![killed_by.to_owned()];
    })
}

#[test]
fn an_import_calls_nothing_approved_that_a_check_says_proves_nothing() {
    let judged = |statement: &Statement| {
        let text = crate::domain::evidence::write::document(statement, None).to_string();
        import::counts_for_what_it_says(statement, &appraise(&text, &Binding::default()))
    };
    let (_, sound) = imported("adds up");
    assert_eq!(sound.result, Outcome::Approved);
    assert!(judged(&sound).is_ok());
    let mut nameless = sound.clone();
    for mutant in &mut nameless.mutation.as_mut().unwrap().mutants {
        mutant.killed_by.clear();
    }
    let told = judged(&nameless).unwrap_err().text;
    assert!(told.contains("would not count"), "{told}");
    let mut far = sound.clone();
    far.mutation.as_mut().unwrap().mutants[0].end_line = u64::MAX;
    let told = judged(&far).unwrap_err().text;
    assert!(told.contains("no file has so many lines"), "{told}");
    let mut rejected = nameless;
    rejected.result = Outcome::Rejected;
    assert!(judged(&rejected).is_ok(), "a no needs no proof");
}

#[test]
fn no_name_in_a_report_or_a_document_moves_the_cursor_or_begins_a_line() {
    let evil = "a\u{1b}[2Jb\u{7}\ncounts: for the head\u{202e}";
    let (mut found, mut statement) = imported(evil);
    found.tool = evil.to_owned();
    found.mutants[0].kind = evil.to_owned();
    let mutation = statement.mutation.as_mut().unwrap();
    mutation.tool = evil.to_owned();
    mutation.mutants[0].status = MutantStatus::Survived;
    mutation.mutants[0].id = evil.to_owned();
    let text = crate::domain::evidence::write::document(&statement, None).to_string();
    let binding = Binding::default();
    let checked = said::told("file", &appraise(&text, &binding), &binding);
    for told in [import::told(&found, &statement), checked] {
        let moving = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!told.contains(moving), "{told:?}");
        assert!(
            !told
                .lines()
                .any(|line| line.trim() == "counts: for the head"),
            "{told:?}"
        );
    }
}

mod git {
    use std::process::Command;

    use super::super::checkout::Checkout;
    use super::*;

    struct Repo(tempfile::TempDir);

    impl Repo {
        fn new() -> Self {
            let repo = Self(tempfile::tempdir().unwrap());
            repo.git(&["init", "--quiet", "--initial-branch=main"]);
            repo.write("src/a.rs", "one\n");
            repo.git(&["add", "."]);
            repo.commit("one");
            repo
        }

        fn git(&self, words: &[&str]) -> String {
            let mut git = Command::new("git");
            git.current_dir(self.0.path()).args(words);
            for (name, value) in [
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_AUTHOR_NAME", "a"),
                ("GIT_AUTHOR_EMAIL", "a@example.com"),
                ("GIT_COMMITTER_NAME", "a"),
                ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ] {
                git.env(name, value);
            }
            let done = git.output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        }

        fn commit(&self, message: &str) {
            self.git(&["commit", "--quiet", "--no-gpg-sign", "-m", message]);
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn checkout(&self) -> Result<Checkout, String> {
            match Checkout::at(self.0.path()) {
                Ok(found) => Ok(found.unwrap()),
                Err(complaint) => Err(complaint.text),
            }
        }
    }

    #[test]
    fn a_clean_checkout_says_its_commit_its_tree_and_its_files() {
        let repo = Repo::new();
        repo.write("mutants.out/outcomes.json", "{}");
        let checkout = repo.checkout().unwrap();
        assert_eq!(checkout.head.as_str(), repo.git(&["rev-parse", "HEAD"]));
        assert_eq!(
            checkout.tree.as_str(),
            repo.git(&["rev-parse", "HEAD^{tree}"])
        );
        assert_eq!(checkout.files, ["src/a.rs".to_owned()].into());
        let main = checkout.tip(&BaseRef::parse("main").unwrap()).unwrap();
        assert_eq!(main, checkout.head.oid());
        assert_eq!(checkout.tip(&BaseRef::parse("release").unwrap()), None);
        let below = Checkout::at(&repo.0.path().join("src")).unwrap().unwrap();
        assert_eq!(below.prefix, "src/");
        assert!(below.files.contains("src/a.rs"));
    }

    #[test]
    fn a_checkout_says_which_lines_changed_since_it_left_the_base() {
        let repo = Repo::new();
        repo.git(&["checkout", "--quiet", "-b", "agent"]);
        repo.write("src/a.rs", "one\ntwo\n");
        repo.write("src/[b]é.rs", "new\n");
        repo.write("src/blob", "\0\0");
        repo.git(&["add", "."]);
        repo.commit("two");
        let checkout = repo.checkout().unwrap();
        let base = checkout.tip(&BaseRef::parse("main").unwrap()).unwrap();
        // What came to the base since is no part of the change.
        repo.git(&["checkout", "--quiet", "main"]);
        repo.write("src/c.rs", "three\n");
        repo.git(&["add", "."]);
        repo.commit("three");
        let since = Oid::parse(&repo.git(&["rev-parse", "main"])).unwrap();
        for base in [&base, &since] {
            let changed = checkout.changed(base).unwrap();
            let lines = |file: &crate::domain::facts::FileChange| {
                let hunks = file.hunks.as_ref()?;
                Some(
                    hunks
                        .iter()
                        .map(|hunk| (hunk.new_start, hunk.new_lines))
                        .collect::<Vec<_>>(),
                )
            };
            let told: Vec<_> = changed
                .iter()
                .map(|file| (file.path.as_str(), lines(file)))
                .collect();
            let expected = [
                ("src/[b]é.rs", Some(vec![(1, 1)])),
                ("src/a.rs", Some(vec![(2, 1)])),
                ("src/blob", None),
            ];
            assert_eq!(told, expected);
        }
        let nowhere = Oid::parse(&"e".repeat(40)).unwrap();
        assert_eq!(checkout.changed(&nowhere), None);
    }

    /// B176: the diff's new side is the head, the tree that was mutated another.
    #[test]
    fn a_tree_with_changes_and_the_merge_that_ci_makes_are_not_the_head() {
        let repo = Repo::new();
        repo.write("src/a.rs", "two\n");
        let told = repo.checkout().unwrap_err();
        assert!(told.contains("is not clean (`M src/a.rs`)"), "{told}");
        repo.git(&["checkout", "--quiet", "--", "."]);
        assert!(repo.checkout().is_ok());
        repo.git(&["update-ref", "refs/remotes/pull/7/merge", "HEAD"]);
        let told = repo.checkout().unwrap_err();
        assert!(
            told.contains("the merge of a pull request and its base"),
            "{told}"
        );
    }

    #[test]
    fn a_folder_that_is_no_checkout_says_nothing() {
        let nowhere = tempfile::tempdir().unwrap();
        assert!(Checkout::at(nowhere.path()).unwrap().is_none());
    }
}
