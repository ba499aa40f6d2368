//! What was learnt so far, on disk, so that a verification that was cut off can go on.
//!
//! JSON lines. The first says of what: a digest of head tree, merge base, commands and version; with any
//! other, the file is no journal of this verification and is begun anew. Each further line is one mutant
//! that was decided. A time-out is not kept: it says something of the machine, not of the change. A line
//! that was cut off when the power went is passed over.
//!
//! A journal is read only when that is asked for (`--resume`): a verification that is run again because
//! somebody doubts it must not answer from memory. It is left where it is when a verification could not
//! be finished, and goes with one that was.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::reading::Fate;
use crate::domain::evidence::MutantStatus;
use crate::domain::mutants::Mutant;

#[derive(Serialize, Deserialize)]
struct First {
    verification: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    mutant: String,
    status: MutantStatus,
    killed_by: Vec<String>,
    note: Option<String>,
    seconds: f64,
}

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    file: std::fs::File,
    path: PathBuf,
    known: BTreeMap<String, (Fate, f64)>,
}

impl Journal {
    /// Opens it for a verification; with what it knows when it is to be resumed.
    pub fn open(path: &Path, verification: &str, resume: bool) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("the journal {}: {error}", path.display());
        let text = match resume {
            true => std::fs::read_to_string(path).unwrap_or_default(),
            false => String::new(),
        };
        let mut lines = text.lines();
        let first = lines
            .next()
            .and_then(|line| serde_json::from_str::<First>(line).ok());
        let same = first.is_some_and(|first| first.verification == verification);
        let read = lines
            .filter(|_| same)
            .flat_map(serde_json::from_str::<Line>);
        let known: BTreeMap<_, _> = read
            .map(|line| {
                let fate = Fate {
                    status: line.status,
                    killed_by: line.killed_by,
                    note: line.note,
                };
                (line.mutant, (fate, line.seconds))
            })
            .collect();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(wrong)?;
        }
        let mut journal = Self {
            file: std::fs::File::create(path).map_err(wrong)?,
            path: path.to_owned(),
            known: BTreeMap::new(),
        };
        journal.append(&First {
            verification: verification.to_owned(),
        })?;
        for (mutant, (fate, seconds)) in &known {
            journal.keep(mutant, fate, *seconds)?;
        }
        journal.known = known;
        Ok(journal)
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), String> {
        let mut text = serde_json::to_string(line).map_err(|error| error.to_string())?;
        text.push('\n');
        let written = self
            .file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| format!("the journal {}: {error}", self.path.display()))
    }

    fn keep(&mut self, mutant: &str, fate: &Fate, seconds: f64) -> Result<(), String> {
        self.append(&Line {
            mutant: mutant.to_owned(),
            status: fate.status,
            killed_by: fate.killed_by.clone(),
            note: fate.note.clone(),
            seconds,
        })
    }

    /// Writes down what became of a mutant, where that says something of the change.
    pub fn note(&mut self, mutant: &str, fate: &Fate, seconds: f64) -> Result<(), String> {
        match fate.status {
            MutantStatus::Killed | MutantStatus::Survived | MutantStatus::Unviable => {
                self.keep(mutant, fate, seconds)
            }
            MutantStatus::Timeout | MutantStatus::Skipped => Ok(()),
        }
    }

    /// What is known of a mutant, and how long it took.
    pub fn recall(&self, mutant: &str) -> Option<(Fate, f64)> {
        self.known.get(mutant).cloned()
    }

    /// How many are known.
    pub fn knows(&self) -> usize {
        self.known.len()
    }

    /// Takes it away: the verification came to its end.
    pub fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A digest of texts, in hex; no two lists give the same.
pub(super) fn digest<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    hex::encode(digest.finalize())
}

/// What a mutant is, whatever it is called in a report.
pub(super) fn name(mutant: &Mutant) -> String {
    let mut parts: Vec<&[u8]> = vec![mutant.path.as_bytes(), mutant.kind.word().as_bytes()];
    for (path, content) in &mutant.files {
        parts.push(path.as_bytes());
        parts.push(if content.is_some() {
            b"content"
        } else {
            b"gone"
        });
        parts.push(content.as_deref().unwrap_or_default());
    }
    digest(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(status: MutantStatus) -> Fate {
        Fate {
            status,
            killed_by: vec!["a_test".to_owned()],
            note: None,
        }
    }

    #[test]
    fn a_line_that_was_cut_off_is_passed_over_and_the_rest_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/journal");
        let mut journal = Journal::open(&path, "one", true).unwrap();
        journal.note("m", &fate(MutantStatus::Killed), 1.5).unwrap();
        drop(journal);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"mutant\":\"n\",\"sta");
        std::fs::write(&path, text).unwrap();
        let journal = Journal::open(&path, "one", true).unwrap();
        assert_eq!(journal.recall("m"), Some((fate(MutantStatus::Killed), 1.5)));
        assert_eq!(journal.knows(), 1);
        drop(journal);
        // What it knew is on disk again.
        assert_eq!(Journal::open(&path, "one", true).unwrap().knows(), 1);
        assert_eq!(Journal::open(&path, "another", true).unwrap().knows(), 0);
    }

    /// What a slow machine did is not remembered.
    #[test]
    fn time_outs_are_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let mut journal = Journal::open(&path, "one", false).unwrap();
        for (name, status) in [("a", MutantStatus::Timeout), ("b", MutantStatus::Skipped)] {
            journal.note(name, &fate(status), 1.0).unwrap();
        }
        drop(journal);
        assert_eq!(Journal::open(&path, "one", true).unwrap().knows(), 0);
    }

    #[test]
    fn lists_that_read_alike_have_different_digests() {
        assert_ne!(digest([&b"ab"[..], b"c"]), digest([&b"a"[..], b"bc"]));
        assert_ne!(digest([&b""[..]]), digest([]));
    }
}
