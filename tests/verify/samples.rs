//! Small projects as people have them, in five languages: each head has one change that is tested and
//! one that looks so and is not. The runner says exactly that.

use std::path::Path;

use countersign::domain::evidence::{MutantStatus, Outcome};

use crate::project::Project;

/// A repository of the folders `base` and `head` of a sample.
fn sample(name: &str) -> Project {
    project_of(&format!("tests/samples/{name}"))
}

fn project_of(folder: &str) -> Project {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = |side: &str| {
        let root = folder.join(side);
        let mut found = Vec::new();
        collect(&root, &root, &mut found);
        found
    };
    let (base, head) = (files("base"), files("head"));
    let project = Project::new(&borrowed(&base));
    project.commit(&borrowed(&head));
    project
}

fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    let files = files.iter();
    files
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect()
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path.strip_prefix(root).unwrap().display().to_string(), text));
        }
    }
}

/// The tested line's killer, and that the other line is the one survivor.
fn assert_told_apart(
    name: &str,
    path: &str,
    lines: [u64; 2],
    executed: u64,
    killer: &str,
    words: &[&str],
) {
    let project = sample(name);
    let words = [words, &["--sandbox", "auto", "--critical", path]].concat();
    let answer = project.verify(&words);
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    let said = answer.said();
    assert_eq!(said.result, Outcome::Rejected);
    assert_eq!(said.tests[0].executed, executed, "{}", answer.out);
    let mutants = &said.mutation.as_ref().unwrap().mutants;
    let with = |status| {
        let those = mutants.iter().filter(move |mutant| mutant.status == status);
        those.map(|mutant| mutant.start_line).collect::<Vec<_>>()
    };
    assert_eq!(with(MutantStatus::Killed), [lines[0]], "{}", answer.out);
    assert_eq!(with(MutantStatus::Survived), [lines[1]], "{}", answer.out);
    let killers: Vec<_> = mutants
        .iter()
        .flat_map(|mutant| &mutant.killed_by)
        .collect();
    assert_eq!(killers.len(), 1, "{killers:?}");
    assert!(killers[0].contains(killer), "{killers:?}");
}

#[test]
fn rust_with_cargo_test() {
    let words = [
        "--build",
        "cargo build --offline --quiet",
        "--test",
        "cargo test --offline",
    ];
    assert_told_apart("rust", "src/**", [5, 10], 2, "a_tenth_is_taken_off", &words);
}

#[test]
fn python_with_unittest() {
    let words = ["--test", "python3 -m unittest"];
    assert_told_apart(
        "python",
        "orders/**",
        [3, 8],
        2,
        "test_a_tenth_is_taken_off",
        &words,
    );
}

#[test]
fn javascript_with_node_test() {
    let words = ["--test", "node --test"];
    assert_told_apart(
        "javascript",
        "src/**",
        [3, 8],
        2,
        "a tenth is taken off",
        &words,
    );
}

/// Whether a program that a sample needs is there. `tests/all` installs it.
fn is_there(what: &str, program: &str, words: &[&str]) -> bool {
    let ran = std::process::Command::new(program).args(words).output();
    let there = ran.is_ok_and(|output| output.status.success());
    assert!(
        there || std::env::var_os("COUNTERSIGN_TEST_ALL").is_none(),
        "{what} is missing: `tests/all` installs it"
    );
    if !there {
        eprintln!("left out: {what} is missing (`tests/all` installs it)");
    }
    there
}

#[test]
fn typescript_with_tsc_and_node_test() {
    let tsc =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/npm/node_modules/typescript/bin/tsc");
    let tsc = tsc.display().to_string();
    if !is_there("typescript", "node", &[&tsc, "--version"]) {
        return;
    }
    let build = format!("node {tsc}");
    let words = ["--build", &build, "--test", "node --test"];
    let killer = "many pieces are a tenth cheaper";
    assert_told_apart("typescript", "src/**", [6, 14], 3, killer, &words);
}

#[test]
fn go_with_go_test() {
    if !is_there("go", "go", &["version"]) {
        return;
    }
    let words = ["--build", "go build ./...", "--test", "go test ./..."];
    let killer = "TestManyPiecesAreATenthCheaper";
    assert_told_apart("go", "prices.go", [10, 18], 1, killer, &words);
}

/// The column of `benches/mutation/README.md` that is ours: two of the seven parts are tested, and no other.
fn assert_as_measured(language: &str, path: &str, words: &[&str]) {
    let answer = project_of(&format!("benches/mutation/{language}"))
        .verify(&[words, &["--sandbox", "off", "--critical", path]].concat());
    let told = |status| answer.statuses().iter().filter(|it| **it == status).count();
    assert_eq!(answer.code, 1, "{}{}", answer.out, answer.err);
    // The swapped statements are two hunks to git.
    assert_eq!(answer.mutants().len(), 8, "{}", answer.out);
    assert_eq!(told(MutantStatus::Killed), 2, "{}", answer.out);
    assert_eq!(told(MutantStatus::Survived), 6, "{}", answer.out);
}

#[test]
fn what_the_comparison_says_of_rust_holds() {
    let words = [
        "--build",
        "cargo build --offline --quiet --tests",
        "--test",
        "cargo test --offline",
    ];
    assert_as_measured("rust", "src/lib.rs", &words);
}

#[test]
fn what_the_comparison_says_of_javascript_holds() {
    assert_as_measured("javascript", "shop.js", &["--test", "node --test"]);
}
