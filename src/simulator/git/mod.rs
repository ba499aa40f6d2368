//! Real git under every simulated repository.
//!
//! **Purpose.** Heads, merge commits, parents, trees, three-dot diffs and conflicts must be true, or
//! stories about them prove nothing. So objects are git's, refs are git's, and the git program itself
//! answers the two questions that are hard: how three trees merge, and how two trees differ.
//!
//! **Properties.**
//! - All repositories of a process share one object store, the [`Pool`], through
//!   `objects/info/alternates`; a repository itself is a few files ([`Bare`]). Making one starts no
//!   process, and any git program can read and clone it.
//! - Blobs, trees and commits are made here, byte for byte as git would (a test has `git fsck` say
//!   so): a push costs no process. They reach the disk when a program needs them.
//! - What git answered is remembered under the ids it was asked about. Ids name content, so such an
//!   answer never goes stale; worlds made of the same files share it. Random worlds by the thousand
//!   become affordable.
//! - Ancestry (merge bases, what is ahead) is computed on the commits in memory. With several merge
//!   bases git is asked with the commits themselves, so that it merges the bases first.
//!
//! **Known limits.** SHA-1 only. A commit that some other program put into the store is unknown here.
//! Objects are zlib streams of stored blocks (not compressed), since nothing is kept for long.

mod bare;
mod diff;
mod graph;
mod object;
mod program;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

pub use bare::Bare;
pub use diff::{FileDiff, FileStatus};
pub use object::{Commit, Signature};

/// Why git (or the disk under it) failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file could not be read or written, or the program not started.
    #[error("git's files: {0}")]
    Files(#[from] std::io::Error),
    /// The program ended with an error.
    #[error("git {arguments}: {stderr}")]
    Program {
        /// What it was asked.
        arguments: String,
        /// What it said.
        stderr: String,
    },
    /// Two refs cannot both be: one is a folder of the other's name.
    #[error("the ref {name} cannot be beside {other}")]
    Ref {
        /// The one that was to be made.
        name: String,
        /// The one that is there.
        other: String,
    },
    /// There is no such object.
    #[error("there is no {kind} {sha}")]
    Unknown {
        /// `commit`, `tree` or `blob`.
        kind: &'static str,
        /// Which.
        sha: String,
    },
    /// It answered something that cannot be read.
    #[error("git answered something unexpected: {0}")]
    Unreadable(String),
}

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `100644`, `100755`, `120000` or `160000`.
    pub mode: String,
    /// The blob (or a submodule's commit).
    pub id: String,
}

/// A whole tree, flat: path to file.
pub type Files = BTreeMap<String, Entry>;

/// How three trees merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// To this tree.
    Clean(String),
    /// They conflict.
    Conflict,
}

#[derive(Debug, Default)]
struct Memory {
    /// Every object made here.
    known: HashSet<String>,
    /// Those of them that are not on disk yet: whole, with git's header.
    unwritten: HashMap<String, Vec<u8>>,
    blobs: HashMap<String, Arc<[u8]>>,
    trees: HashMap<String, Arc<Files>>,
    commits: HashMap<String, Arc<Commit>>,
    merges: HashMap<[String; 3], Merged>,
    diffs: HashMap<[String; 2], Arc<[FileDiff]>>,
}

/// The object store all repositories of the process share, and what git answered about it.
#[derive(Debug)]
pub struct Pool {
    root: tempfile::TempDir,
    memory: Mutex<Memory>,
    made: AtomicU64,
}

impl Pool {
    /// The process's pool. It lives as long as somebody holds it, and its folder goes with it.
    ///
    /// # Errors
    /// [`Failure::Files`] when the temporary folder cannot be made.
    pub fn shared() -> Result<Arc<Self>, Failure> {
        static SHARED: Mutex<Weak<Pool>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = shared.upgrade() {
            return Ok(pool);
        }
        let pool = Arc::new(Self::new()?);
        *shared = Arc::downgrade(&pool);
        Ok(pool)
    }

    fn new() -> Result<Self, Failure> {
        let root = tempfile::Builder::new()
            .prefix("simulated-github-")
            .tempdir()?;
        let pool = Self {
            root,
            memory: Mutex::default(),
            made: AtomicU64::new(0),
        };
        bare::lay_out(&pool.git_dir(), None)?;
        Ok(pool)
    }

    fn git_dir(&self) -> PathBuf {
        self.root.path().join("pool.git")
    }

    fn objects(&self) -> PathBuf {
        self.git_dir().join("objects")
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> u64 {
        self.made.fetch_add(1, Ordering::Relaxed)
    }

    /// The folder everything stands in.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Puts a file's content into the store.
    pub fn write_blob(&self, content: &[u8]) -> String {
        let id = self.take_object("blob", content);
        self.memory()
            .blobs
            .entry(id.clone())
            .or_insert_with(|| content.into());
        id
    }

    /// Puts a tree, with all its folders, into the store.
    ///
    /// # Errors
    /// [`Failure::Unreadable`] for an entry whose id is not one.
    pub fn write_tree(&self, files: &Files) -> Result<String, Failure> {
        let flat: Vec<(&str, &Entry)> = files.iter().map(|(p, e)| (p.as_str(), e)).collect();
        let id = self.write_folder(&flat)?;
        self.memory()
            .trees
            .entry(id.clone())
            .or_insert_with(|| Arc::new(files.clone()));
        Ok(id)
    }

    /// Puts a commit into the store; its `sha` is filled in.
    pub fn write_commit(&self, mut commit: Commit) -> Arc<Commit> {
        commit.sha = self.take_object("commit", commit.text().as_bytes());
        let commit = Arc::new(commit);
        self.memory()
            .commits
            .insert(commit.sha.clone(), Arc::clone(&commit));
        commit
    }

    /// A commit.
    ///
    /// # Errors
    /// [`Failure::Unknown`].
    pub fn commit(&self, sha: &str) -> Result<Arc<Commit>, Failure> {
        self.memory()
            .commits
            .get(sha)
            .cloned()
            .ok_or_else(|| Failure::Unknown {
                kind: "commit",
                sha: sha.to_owned(),
            })
    }

    /// The files of a tree.
    ///
    /// # Errors
    /// As git says.
    pub fn files(&self, tree: &str) -> Result<Arc<Files>, Failure> {
        if let Some(files) = self.memory().trees.get(tree) {
            return Ok(Arc::clone(files));
        }
        let files = Arc::new(self.list_tree(tree)?);
        self.memory()
            .trees
            .insert(tree.to_owned(), Arc::clone(&files));
        Ok(files)
    }

    /// A file's content.
    ///
    /// # Errors
    /// As git says.
    pub fn blob(&self, id: &str) -> Result<Arc<[u8]>, Failure> {
        if let Some(content) = self.memory().blobs.get(id) {
            return Ok(Arc::clone(content));
        }
        let content: Arc<[u8]> = self.git(&["cat-file", "blob", id])?.into();
        self.memory()
            .blobs
            .insert(id.to_owned(), Arc::clone(&content));
        Ok(content)
    }

    /// How `theirs` merges into `ours` (two commits), by `git merge-tree`.
    ///
    /// # Errors
    /// As git says; a conflict is not an error.
    pub fn merge(&self, ours: &str, theirs: &str) -> Result<Merged, Failure> {
        let bases = self.merge_bases(ours, theirs)?;
        let (left, right) = (self.commit(ours)?, self.commit(theirs)?);
        let [base] = bases.as_slice() else {
            let key = [bases.join(" "), ours.to_owned(), theirs.to_owned()];
            return self.remembered_merge(key, [ours, theirs], &[ours, theirs]);
        };
        let base = self.commit(base)?;
        self.merge_trees(&base.tree, &left.tree, &right.tree)
    }

    /// How two trees merge over a third: also how a commit is replayed on another (its parent's tree
    /// is the base then).
    ///
    /// # Errors
    /// As git says; a conflict is not an error.
    pub fn merge_trees(&self, base: &str, ours: &str, theirs: &str) -> Result<Merged, Failure> {
        if ours == theirs || theirs == base {
            return Ok(Merged::Clean(ours.to_owned()));
        }
        if ours == base {
            return Ok(Merged::Clean(theirs.to_owned()));
        }
        let key = [base.to_owned(), ours.to_owned(), theirs.to_owned()];
        let option = format!("--merge-base={base}");
        self.remembered_merge(key, [base, ours, theirs], &[&option, ours, theirs])
    }

    fn remembered_merge<const N: usize>(
        &self,
        key: [String; 3],
        objects: [&str; N],
        arguments: &[&str],
    ) -> Result<Merged, Failure> {
        if let Some(merged) = self.memory().merges.get(&key) {
            return Ok(merged.clone());
        }
        self.put_on_disk(&objects)?;
        let merged = self.ask_merge(arguments)?;
        self.memory().merges.insert(key, merged.clone());
        Ok(merged)
    }

    /// How `to` differs from `from` (two trees), renames found, as `git diff-tree` prints it.
    ///
    /// # Errors
    /// As git says.
    pub fn diff(&self, from: &str, to: &str) -> Result<Arc<[FileDiff]>, Failure> {
        if from == to {
            return Ok(Arc::new([]));
        }
        let key = [from.to_owned(), to.to_owned()];
        if let Some(diff) = self.memory().diffs.get(&key) {
            return Ok(Arc::clone(diff));
        }
        self.put_on_disk(&[from, to])?;
        let diff: Arc<[FileDiff]> = self.ask_diff(from, to)?.into();
        self.memory().diffs.insert(key, Arc::clone(&diff));
        Ok(diff)
    }
}
