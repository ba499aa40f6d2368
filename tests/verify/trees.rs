//! Changes of every shape: what a mutant puts in place, and what stands there afterwards.

use countersign::domain::evidence::{MutantStatus, Outcome};

use crate::project::{Project, git};
use crate::tested;

const KILLED: [MutantStatus; 1] = [MutantStatus::Killed];

/// The base's and the head's version of one file; the test compares with the head's, and leaves what it
/// met beside the repository.
fn of_one_file(old: &[u8], new: &[u8]) -> (Project, Vec<u8>) {
    let project = Project::new(&[("check.sh", "true\n")]);
    project.git(&["checkout", "-q", "main"]);
    project.write("src/file", old);
    project.commit(&[]);
    project.git(&["checkout", "-q", "-B", "agent"]);
    project.write("src/file", new);
    project.commit(&[]);
    std::fs::write(project.beside("wanted"), new).unwrap();
    let (wanted, met) = (project.beside("wanted"), project.beside("met"));
    let (wanted, met) = (wanted.display(), met.display());
    let test = format!("cmp src/file {wanted} || {{ cp src/file {met}; exit 1; }}");
    let answer = project.verify(&["--test", &test]);
    assert_eq!(answer.statuses(), KILLED, "{}{}", answer.out, answer.err);
    assert_eq!(answer.said().result, Outcome::Approved);
    let met = std::fs::read(project.beside("met")).unwrap();
    (project, met)
}

#[test]
fn line_endings_of_the_other_kind_are_kept() {
    let (old, new) = (b"a\r\nold\r\nz\r\n", b"a\r\nnew\r\nz\r\n");
    assert_eq!(of_one_file(old, new).1, old);
}

#[test]
fn a_file_without_a_last_line_break_is_undone_as_it_was() {
    let (old, new) = (b"a\nold", b"a\nnew\n");
    let (_, met) = of_one_file(old, new);
    assert!(met.starts_with(b"a\nold"), "{met:?}");
}

#[test]
fn a_deleted_file_must_be_missed_by_a_test() {
    let project = Project::new(&[("src/guard.sh", "exit 1\n"), ("check.sh", "true\n")]);
    project.remove("src/guard.sh");
    project.commit(&[]);
    let noticed = project.verify(&["--test", "[ ! -e src/guard.sh ]"]);
    assert_eq!(noticed.statuses(), KILLED);
    let unnoticed = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(unnoticed.statuses(), [MutantStatus::Survived]);
    assert_eq!(unnoticed.code, 1);
}

#[test]
fn a_file_that_may_be_executed_is_brought_back_so() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new(&[("check.sh", "true\n")]);
    project.git(&["checkout", "-q", "main"]);
    project.write("src/run", "#!/bin/sh\nexit 1\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.repo().join("src/run"), mode).unwrap();
    project.commit(&[]);
    project.git(&["checkout", "-q", "-B", "agent"]);
    project.remove("src/run");
    project.commit(&[]);
    let answer = project.verify(&["--test", "[ ! -x src/run ]"]);
    assert_eq!(answer.statuses(), KILLED);
}

#[test]
fn a_renamed_file_is_checked_where_it_went() {
    let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\nvalue=0\n";
    let project = Project::new(&[("src/old.sh", text), ("check.sh", "true\n")]);
    project.git(&["mv", "src/old.sh", "src/new.sh"]);
    project.commit(&[("src/new.sh", &text.replace("value=0", "value=1"))]);
    let answer = project.verify(&["--test", "grep -q value=1 src/*.sh"]);
    assert_eq!(
        answer.mutants(),
        [("src/new.sh".to_owned(), 8, MutantStatus::Killed)]
    );
}

#[test]
fn code_that_is_moved_to_where_it_is_critical_is_verified_like_new_code() {
    let text = "one=1\ntwo=2\nthree=3\nfour=4\nfive=5\n";
    let project = Project::new(&[("tests/help.sh", text), ("check.sh", "true\n")]);
    std::fs::create_dir(project.repo().join("src")).unwrap();
    project.git(&["mv", "tests/help.sh", "src/help.sh"]);
    project.commit(&[]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 1, "{}", answer.out);
    let survived = ("src/help.sh".to_owned(), 1, MutantStatus::Survived);
    assert_eq!(answer.mutants(), [survived]);
    project.commit(&[("check.sh", "[ -e src/help.sh ]\n")]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!((answer.code, answer.statuses()), (0, KILLED.to_vec()));
}

#[test]
fn what_stands_for_another_commit_in_one_checkout_alone_hides_no_change() {
    let project = tested();
    let first = project.git(&["rev-parse", "HEAD"]);
    project.commit(&[("notes", "a\n")]);
    let base = project.git(&["rev-parse", "main"]);
    // As if the base came after the first of both commits.
    let grafts = project.repo().join(".git/info/grafts");
    std::fs::create_dir_all(grafts.parent().unwrap()).unwrap();
    std::fs::write(&grafts, format!("{base} {first}\n{first}\n")).unwrap();
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.statuses(), KILLED, "{}{}", answer.out, answer.err);
    std::fs::remove_file(&grafts).unwrap();
    project.git(&["replace", "--graft", &first]);
    project.git(&["replace", "--graft", &base, &first]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.statuses(), KILLED, "{}{}", answer.out, answer.err);
}

#[test]
fn a_binary_file_is_told_as_skipped_and_never_approved() {
    let project = tested();
    project.write("src/picture", [0_u8, 159, 146, 150, 0, 1]);
    project.commit(&[]);
    let answer = project.verify(&["--test", "sh check.sh"]);
    assert_eq!(answer.code, 1);
    assert_eq!(
        answer.mutants(),
        [
            ("src/picture".to_owned(), 1, MutantStatus::Skipped),
            ("src/sum.sh".to_owned(), 1, MutantStatus::Killed),
        ]
    );
    assert_eq!(answer.said().result, Outcome::Inconclusive);
    assert!(answer.out.contains("it is binary"), "{}", answer.out);
}

#[test]
fn tests_that_change_tracked_files_do_not_change_what_is_verified() {
    let project = tested();
    let test = "sh check.sh || exit 1; echo more >> src/sum.sh; rm -rf check.sh; mkdir check.sh";
    let answer = project.verify(&["--test", test]);
    assert_eq!(
        answer.said().result,
        Outcome::Approved,
        "{}{}",
        answer.out,
        answer.err
    );
    let tree = &answer.said().mutation.as_ref().unwrap().restored_tree;
    assert_eq!(tree.as_str(), project.git(&["rev-parse", "agent^{tree}"]));
}

/// The change is what the head adds to where it left the base, though the base went on.
#[test]
fn a_base_that_went_on_is_no_part_of_the_change() {
    let project = tested();
    project.git(&["checkout", "-q", "main"]);
    project.commit(&[("src/other.sh", "other=1\n")]);
    let answer = project.verify(&["--test", "sh check.sh", "--head", "agent"]);
    assert_eq!(
        answer.mutants(),
        [("src/sum.sh".to_owned(), 1, MutantStatus::Killed)]
    );
    let base = answer.said().base.clone().unwrap();
    assert_eq!(base.sha.as_str(), project.git(&["rev-parse", "main"]));
}

/// Python keeps what it compiled by a file's size and whole second.
#[test]
fn a_mutant_of_the_same_size_in_the_same_second_is_not_hidden_by_a_cache() {
    let project = Project::new(&[
        ("src/__init__.py", ""),
        ("src/low.py", "def low(a): return a < 1\n"),
    ]);
    project.commit(&[("src/low.py", "def low(a): return a > 1\n")]);
    let test = "PYTHONDONTWRITEBYTECODE= python3 -c 'from src.low import low; assert low(2)'";
    let answer = project.verify(&["--test", test]);
    assert_eq!(answer.statuses(), KILLED, "{}{}", answer.out, answer.err);
}

#[test]
fn builds_and_tests_find_a_git_that_knows_the_head_and_its_tags() {
    let project = tested();
    project.git(&["tag", "v1.2.3", "main"]);
    let head = project.git(&["rev-parse", "agent"]);
    let test = format!(
        "[ $(git rev-parse HEAD) = {head} ] && [ -z \"$(git status --porcelain)\" ] && git describe --tags | grep -q v1.2.3-1 || exit 9; sh check.sh"
    );
    let answer = project.verify(&["--test", &test]);
    assert_eq!(answer.said().tests[0].exit_code, 0, "{}", answer.out);
}

fn with_submodule() -> Project {
    let project = tested();
    let library = project.beside("library");
    std::fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q", "-b", "main"]);
    std::fs::write(library.join("value"), "7\n").unwrap();
    git(&library, &["add", "-A"]);
    git(&library, &["commit", "-q", "-m", "library"]);
    project.git(&[
        "submodule",
        "add",
        "-q",
        library.to_str().unwrap(),
        "vendor/lib",
    ]);
    project.commit(&[]);
    project
}

const WITH_LIBRARY: &str = "[ \"$(cat vendor/lib/value)\" = 7 ] || exit 9; sh check.sh";

#[test]
fn submodules_are_laid_out_from_the_callers_own_copy() {
    let project = with_submodule();
    let before = project.fingerprint();
    let answer = project.verify(&["--test", WITH_LIBRARY]);
    assert_eq!(
        answer.said().result,
        Outcome::Approved,
        "{}{}",
        answer.out,
        answer.err
    );
    project.assert_untouched(&before);
}

#[test]
fn a_submodule_that_cannot_be_had_is_named_and_git_decides_which_addresses_are_trusted() {
    let project = with_submodule();
    std::fs::remove_dir_all(project.repo().join(".git/modules")).unwrap();
    let answer = project.verify(&["--test", WITH_LIBRARY]);
    assert_eq!(answer.code, 2, "{}", answer.out);
    assert!(
        answer.err.contains("the submodule vendor/lib"),
        "{}",
        answer.err
    );
    assert!(
        answer.err.contains("git submodule update --init"),
        "{}",
        answer.err
    );
}
