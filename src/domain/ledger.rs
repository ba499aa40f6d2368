//! The append-only, hash-chained record: what was decided, on what it rested, what came of it.
//!
//! Each entry's hash covers its canonical bytes and the hash before it, so a changed, removed or
//! reordered entry breaks the chain at that place.

use serde::{Deserialize, Serialize};

use super::model::{HeadSha, PullNumber, RepoId, Timestamp};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The outcome of a pull request changed.
    Verdict,
    /// An effect is about to be tried.
    Intent,
    /// What came of an effect.
    Outcome,
    /// A merge by the App was verified against what was judged.
    Landed,
    /// A pull request was merged by somebody or something else.
    MergedPastGate,
    /// A base branch was frozen or thawed.
    Freeze,
    /// A pull request was held or let go.
    Hold,
}

/// An entry before it has its place in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// When.
    pub at: Timestamp,
    /// What about.
    pub kind: Kind,
    /// Where.
    pub repo: RepoId,
    /// On which pull request, if on one.
    pub number: Option<PullNumber>,
    /// For which head, if for one.
    pub head: Option<HeadSha>,
    /// What it rested on; objects only.
    pub body: serde_json::Value,
}

/// An entry in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place, from 1, without gaps.
    pub seq: u64,
    /// When, to the microsecond.
    pub at: Timestamp,
    /// What about.
    pub kind: Kind,
    /// Where.
    pub repo: RepoId,
    /// On which pull request, if on one.
    pub number: Option<PullNumber>,
    /// For which head, if for one.
    pub head: Option<HeadSha>,
    /// What it rested on.
    pub body: serde_json::Value,
    /// The hash of the entry before; 64 zeros for the first.
    pub prev: String,
    /// SHA-256 over the canonical bytes of everything above, in hex.
    pub hash: String,
}

/// Gives a draft its place after `last` (sequence and hash), or the first place.
pub fn seal(draft: Draft, last: Option<(u64, &str)>) -> Entry {
    let _ = (draft, last);
    unimplemented!("the ledger room")
}

/// Where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the chain breaks at entry {seq}: {why}")]
pub struct Broken {
    /// The first entry that does not fit.
    pub seq: u64,
    /// Why.
    pub why: String,
}

/// Follows a chain, entry by entry.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    last: Option<(u64, String)>,
}

impl Verifier {
    /// Takes the next entry.
    ///
    /// # Errors
    /// [`Broken`] when its place, its link or its hash is wrong.
    pub fn take(&mut self, entry: &Entry) -> Result<(), Broken> {
        let _ = (entry, &self.last);
        unimplemented!("the ledger room")
    }

    /// How many entries were followed.
    pub fn followed(&self) -> u64 {
        self.last.as_ref().map_or(0, |(seq, _)| *seq)
    }
}
