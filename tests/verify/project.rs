//! A small project in a repository of its own, and the program run on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use countersign::domain::evidence::{MutantStatus, Statement, parse};
use sha2::{Digest, Sha256};

/// A repository with a branch `main` and, once [`Project::head`] was called, a branch `agent` before it.
pub struct Project {
    folder: tempfile::TempDir,
}

/// What the program answered.
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
    /// The document it wrote, read as the gate reads it.
    pub statement: Option<Statement>,
}

impl Project {
    /// With these files at the base.
    pub fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder };
        std::fs::create_dir(project.repo()).unwrap();
        project.git(&["init", "-q", "-b", "main"]);
        project.git(&[
            "remote",
            "add",
            "origin",
            "https://github.com/acme/shop.git",
        ]);
        project.commit(files);
        project.git(&["checkout", "-q", "-b", "agent"]);
        project
    }

    pub fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    /// A place beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let place = self.repo().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.repo().join(path)).unwrap();
    }

    /// Writes files and commits everything; answers the commit.
    pub fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            self.write(path, content);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "a change"]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub fn git(&self, words: &[&str]) -> String {
        git(&self.repo(), words)
    }

    /// Runs the program here, without a sandbox unless the words say otherwise.
    pub fn verify(&self, words: &[&str]) -> Answer {
        let mut command = self.command(words);
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let statement = std::fs::read_to_string(self.out()).ok();
        Answer {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            err: text(output.stderr),
            statement: statement.map(|text| parse::document(&text).unwrap()),
        }
    }

    /// Where the document goes.
    pub fn out(&self) -> PathBuf {
        self.beside("evidence.json")
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let _ = std::fs::remove_file(self.out());
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        command
            .args(["verify", "--base", "main", "--out"])
            .arg(self.out())
            .args(words.iter().filter(|word| **word != "--counted-only"))
            .current_dir(self.repo())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !words.contains(&"--sandbox") {
            command.args(["--sandbox", "off"]);
        }
        if !words.contains(&"--critical") && !words.contains(&"--policy") {
            command.args(["--critical", "src/**"]);
        }
        // Most of these projects test by a script that names no test.
        let own = ["--by-exit-code", "--counted-only"];
        if !words.iter().any(|word| own.contains(word)) {
            command.arg("--by-exit-code");
        }
        command
    }

    /// Holds the checkout, its `.git` with it, against how it was.
    #[track_caller]
    pub fn assert_untouched(&self, before: &BTreeMap<PathBuf, String>) {
        let now = self.fingerprint();
        let differs = |(path, about): &(&PathBuf, &String)| before.get(*path) != Some(*about);
        let changed: Vec<_> = now.iter().filter(differs).collect();
        assert!(changed.is_empty(), "{changed:#?}");
        assert_eq!(now.len(), before.len(), "something is gone");
    }

    /// A digest of every file of the checkout, its `.git` with it, and the times and modes of all.
    pub fn fingerprint(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        fingerprint(&self.repo(), &mut found);
        assert!(found.len() > 20, "there is more in a repository");
        found
    }
}

pub fn git(folder: &Path, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "core.autocrlf=false",
        ])
        .args(words)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {words:?}: {told}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn fingerprint(folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let mode = about.permissions().mode();
        let content = if about.is_dir() {
            fingerprint(&path, found);
            String::new()
        } else if about.is_symlink() {
            std::fs::read_link(&path).unwrap().display().to_string()
        } else {
            hex::encode(Sha256::digest(std::fs::read(&path).unwrap()))
        };
        let time = about.modified().unwrap();
        found.insert(path, format!("{mode:o} {time:?} {content}"));
    }
}

impl Answer {
    /// The document.
    pub fn said(&self) -> &Statement {
        self.statement
            .as_ref()
            .unwrap_or_else(|| panic!("no document: {}", self.err))
    }

    /// The mutants in order: path, first line, status.
    pub fn mutants(&self) -> Vec<(String, u64, MutantStatus)> {
        let mutation = self.said().mutation.as_ref();
        let mutants = mutation
            .map_or(&[][..], |mutation| &mutation.mutants)
            .iter();
        mutants
            .map(|one| (one.path.clone(), one.start_line, one.status))
            .collect()
    }

    /// The statuses of all mutants.
    pub fn statuses(&self) -> Vec<MutantStatus> {
        self.mutants()
            .into_iter()
            .map(|(_, _, status)| status)
            .collect()
    }
}
