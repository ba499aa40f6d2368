//! What lies between two commits: files and commits.

use serde::Deserialize;
use serde_json::Value;

use super::{Account, actor, need, oid};
use crate::domain::facts::{ChangeKind, ChangedHunk, FileChange, PullCommit};
use crate::domain::model::Oid;
use crate::domain::patch;
use crate::github::Answer;

/// The id of the file without content, in git's two hashes.
const EMPTY_BLOBS: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// The head of a comparison's first page: everything but its lists.
#[derive(Debug, Deserialize)]
pub(in crate::github) struct WireComparison {
    #[serde(default)]
    base_commit: Option<WireRef>,
    #[serde(default)]
    merge_base_commit: Option<WireRef>,
    /// How many commits there are, over all pages.
    #[serde(default)]
    pub total_commits: Option<u64>,
    /// This page's commits.
    #[serde(default)]
    pub commits: Vec<Value>,
    /// The changed files, on the first page alone; at most 300.
    #[serde(default)]
    pub files: Option<Vec<Value>>,
}

impl WireComparison {
    pub fn read(value: Value) -> Answer<Self> {
        super::read("a comparison", value)
    }

    /// The merge base, if this is the comparison that was asked for.
    pub fn merge_base(&self, base_tip: &Oid) -> Answer<Oid> {
        const WHAT: &str = "a comparison";
        let sha = |side: &Option<WireRef>| side.as_ref().and_then(|side| side.sha.clone());
        if let Some(told) = sha(&self.base_commit)
            && told != base_tip.as_str()
        {
            return Err(super::unreadable(WHAT, "it is made against another base"));
        }
        oid(WHAT, sha(&self.merge_base_commit).as_deref())
    }
}

#[derive(Debug, Deserialize)]
struct WireRef {
    #[serde(default)]
    sha: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireFile {
    #[serde(default)]
    filename: Option<String>,
    #[serde(default)]
    previous_filename: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    additions: Option<u64>,
    #[serde(default)]
    deletions: Option<u64>,
    #[serde(default)]
    patch: Option<String>,
}

/// A changed file, of a comparison or of a pull request's list.
pub(in crate::github) fn file(value: Value) -> Answer<FileChange> {
    const WHAT: &str = "a changed file";
    let wire: WireFile = super::read(WHAT, value)?;
    let path = need(WHAT, "filename", wire.filename)?;
    let additions = need(WHAT, "additions", wire.additions)?;
    let deletions = need(WHAT, "deletions", wire.deletions)?;
    let status = wire.status.unwrap_or_default();
    let kind = match status.as_str() {
        "added" => ChangeKind::Added,
        "modified" => ChangeKind::Modified,
        "removed" => ChangeKind::Removed,
        "renamed" => ChangeKind::Renamed,
        "copied" => ChangeKind::Copied,
        _ => ChangeKind::Other(status),
    };
    let counts = (additions, deletions);
    let hunks = match wire.patch.as_deref() {
        Some(text) if !text.is_empty() => counted(text, counts),
        _ => without_patch(&kind, counts, wire.sha.as_deref()),
    };
    Ok(FileChange {
        path,
        old_path: wire.previous_filename,
        kind,
        additions,
        deletions,
        hunks,
    })
}

/// A patch's hunks, if they hold exactly the lines that GitHub counted: a patch may be cut.
fn counted(text: &str, (additions, deletions): (u64, u64)) -> Option<Vec<ChangedHunk>> {
    let hunks = patch::hunks(text)?;
    let sum = |of: fn(&ChangedHunk) -> u64| hunks.iter().map(of).sum::<u64>();
    let agree = sum(|hunk| hunk.new_lines) == additions && sum(|hunk| hunk.old_lines) == deletions;
    agree.then_some(hunks)
}

/// No patch and no counted lines is what GitHub says of a binary file, whatever happened to it, and
/// also of a pure renaming and of an empty file. Only the latter two are surely without changed lines.
fn without_patch(
    kind: &ChangeKind,
    counts: (u64, u64),
    blob: Option<&str>,
) -> Option<Vec<ChangedHunk>> {
    let nothing_changed = match kind {
        ChangeKind::Renamed => true,
        ChangeKind::Added => blob.is_some_and(|blob| EMPTY_BLOBS.contains(&blob)),
        ChangeKind::Other(word) => word == "unchanged",
        ChangeKind::Modified | ChangeKind::Removed | ChangeKind::Copied => false,
    };
    (counts == (0, 0) && nothing_changed).then(Vec::new)
}

#[derive(Debug, Deserialize)]
struct WireListedCommit {
    #[serde(default)]
    sha: Option<String>,
    commit: WireInner,
    #[serde(default)]
    parents: Vec<WireRef>,
    #[serde(default)]
    author: Option<Account>,
    #[serde(default)]
    committer: Option<Account>,
}

#[derive(Debug, Deserialize)]
struct WireInner {
    tree: WireRef,
}

/// A commit as a comparison lists it, with the accounts GitHub knows for its author and committer.
pub(in crate::github) fn listed_commit(value: Value) -> Answer<PullCommit> {
    const WHAT: &str = "a listed commit";
    let wire: WireListedCommit = super::read(WHAT, value)?;
    Ok(PullCommit {
        sha: oid(WHAT, wire.sha.as_deref())?,
        tree: oid(WHAT, wire.commit.tree.sha.as_deref())?,
        parents: parents(WHAT, &wire.parents)?,
        author: actor(wire.author),
        committer: actor(wire.committer),
    })
}

#[derive(Debug, Deserialize)]
struct WireGitCommit {
    #[serde(default)]
    sha: Option<String>,
    tree: WireRef,
    parents: Vec<WireRef>,
}

/// A commit as git has it. Its author and committer are names and addresses that anybody can write,
/// not accounts: they are left out.
pub(in crate::github) fn git_commit(value: Value) -> Answer<PullCommit> {
    const WHAT: &str = "a commit";
    let wire: WireGitCommit = super::read(WHAT, value)?;
    Ok(PullCommit {
        sha: oid(WHAT, wire.sha.as_deref())?,
        tree: oid(WHAT, wire.tree.sha.as_deref())?,
        parents: parents(WHAT, &wire.parents)?,
        author: None,
        committer: None,
    })
}

fn parents(what: &str, wire: &[WireRef]) -> Answer<Vec<Oid>> {
    wire.iter()
        .map(|parent| oid(what, parent.sha.as_deref()))
        .collect()
}
