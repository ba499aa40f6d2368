//! What a git checkout says of itself, asked of the git program.
//!
//! Evidence is about one commit. A tree with changes, or the merge that CI makes of a pull request and
//! its base, is another tree than the head's: lines move, and what was mutated is not what is merged.
//! Files that git does not know are left aside: the tools write their reports there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Complaint, Exit};
use crate::domain::facts::{ChangeKind, FileChange};
use crate::domain::model::{BaseRef, HeadSha, Oid};
use crate::domain::patch;
use crate::verify::Git;

/// A clean checkout of one commit.
#[derive(Debug)]
pub struct Checkout {
    /// Its top folder.
    pub top: PathBuf,
    /// Where the working directory lies below it; empty, or with a slash at the end.
    pub prefix: String,
    /// The commit.
    pub head: HeadSha,
    /// Its tree.
    pub tree: Oid,
    /// Every file in it.
    pub files: BTreeSet<String>,
}

impl Checkout {
    /// The checkout that a folder lies in; `None` where there is none.
    ///
    /// # Errors
    /// Why it is not exactly one commit.
    pub fn at(folder: &Path) -> Result<Option<Self>, Complaint> {
        let Some(top) = git(folder, &["rev-parse", "--show-toplevel"]) else {
            return Ok(None);
        };
        let no_commit = || refuse("the checkout in the working directory has no commit");
        let commit = git(folder, &["rev-parse", "--verify", "HEAD"]).ok_or_else(no_commit)?;
        let head = HeadSha::parse(&commit).map_err(|error| refuse(error.to_string()))?;
        let changed = git(folder, &["status", "--porcelain", "--untracked-files=no"])
            .ok_or_else(|| refuse("git status failed in the working directory"))?;
        if let Some(first) = changed.lines().next() {
            return Err(refuse(format!(
                "the checkout is not clean (`{}`): the tool mutated another tree than the head's; stash the changes, run it and import again",
                first.trim()
            )));
        }
        if merge_ref(folder) {
            return Err(refuse(format!(
                "the checkout stands at {}, the merge of a pull request and its base, and not at the head: check out the head (actions/checkout with `ref: ${{{{ github.event.pull_request.head.sha }}}}`), run the tool and import again",
                head.short()
            )));
        }
        let tree = git(folder, &["rev-parse", "--verify", "HEAD^{tree}"]).ok_or_else(no_commit)?;
        let tree = Oid::parse(&tree).map_err(|error| refuse(error.to_string()))?;
        let listed = git(
            folder,
            &["ls-tree", "-r", "-z", "--full-tree", "--name-only", "HEAD"],
        );
        let files = listed.unwrap_or_default();
        Ok(Some(Self {
            top: PathBuf::from(top),
            prefix: git(folder, &["rev-parse", "--show-prefix"]).unwrap_or_default(),
            head,
            tree,
            files: files
                .split('\0')
                .filter(|f| !f.is_empty())
                .map(str::to_owned)
                .collect(),
        }))
    }

    /// The commit of a branch: as the remote has it, else the local one.
    pub fn tip(&self, branch: &BaseRef) -> Option<Oid> {
        ["refs/remotes/origin/", "refs/heads/"]
            .iter()
            .find_map(|place| {
                let name = format!("{place}{branch}^{{commit}}");
                Oid::parse(&git(
                    &self.top,
                    &["rev-parse", "--verify", "--quiet", &name],
                )?)
                .ok()
            })
    }
}

impl Checkout {
    /// What changed from where a base and the head part to the head; `None` where this checkout does not
    /// know. Removed files are left aside: no tool mutates them.
    pub fn changed(&self, base: &Oid) -> Option<Vec<FileChange>> {
        let range = format!("{base}...{}", self.head);
        let diff = |words: &[&str]| {
            let usual = [
                "-c",
                "core.quotePath=false",
                "diff",
                "--no-color",
                "--no-ext-diff",
            ];
            let usual = [&usual[..], &["--no-textconv", "-M", &range]].concat();
            git(&self.top, &[&usual[..], words].concat())
        };
        let names = diff(&["--name-only", "-z", "--diff-filter=d"])?;
        let names = names.split('\0').filter(|name| !name.is_empty());
        let files = names.map(|name| {
            // A pattern's signs in a name are meant as they stand.
            let alone = format!(":(top,literal){name}");
            let patch = diff(&["--unified=3", "--", &alone])?;
            let hunks = match patch.find("\n@@ ") {
                Some(at) => Some(patch::hunks(patch.get(at + 1..)?)?),
                None => None,
            };
            Some(FileChange {
                path: name.to_owned(),
                old_path: None,
                kind: ChangeKind::Modified,
                additions: 0,
                deletions: 0,
                hunks,
            })
        });
        files.collect()
    }
}

/// Whether HEAD is the commit that GitHub makes to try a merge: `actions/checkout` keeps its name.
fn merge_ref(folder: &Path) -> bool {
    let names = git(
        folder,
        &["for-each-ref", "--points-at", "HEAD", "--format=%(refname)"],
    );
    names.unwrap_or_default().lines().any(|name| {
        let name = name
            .trim_start_matches("refs/")
            .trim_start_matches("remotes/");
        name.starts_with("pull/") && name.ends_with("/merge")
    })
}

/// What git answers, without the line's end; `None` where it fails.
fn git(folder: &Path, words: &[&str]) -> Option<String> {
    Git::reading(folder).now(words)
}

fn refuse(why: impl Into<String>) -> Complaint {
    Complaint::new(Exit::No, why)
}
