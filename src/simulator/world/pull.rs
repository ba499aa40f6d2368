//! Pull requests, their reviews and review conversations.

use std::collections::BTreeSet;

use super::{AccountId, MergeMethod, Number, RepoId, Sha, Time};

/// Where a pull request comes from.
#[derive(Debug, Clone)]
pub struct HeadSide {
    /// The repository; `None` once a fork was deleted.
    pub repo: Option<RepoId>,
    /// Whose repository it is (outlives the fork).
    pub owner: AccountId,
    /// The branch.
    pub branch: String,
    /// Its tip as the pull request knows it; frozen when the pull request closes.
    pub sha: Sha,
}

/// Where a pull request wants to go.
#[derive(Debug, Clone)]
pub struct BaseSide {
    /// The branch.
    pub branch: String,
    /// The base's tip when the pull request was opened, retargeted or last synchronised: stale on
    /// purpose, as on GitHub.
    pub sha: Sha,
}

/// Whether it merges cleanly, as far as this GitHub has computed it. Says nothing of checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mergeability {
    /// Not computed: so many single reads still answer null.
    Unknown {
        /// Reads that still answer null.
        null_reads_left: u32,
    },
    /// Merges; the trial merge commit.
    Clean(Sha),
    /// Conflicts.
    Conflicting,
}

/// GitHub's own auto-merge, armed.
#[derive(Debug, Clone)]
pub struct AutoMerge {
    /// By whom.
    pub by: AccountId,
    /// How.
    pub method: MergeMethod,
}

/// A pull request.
#[derive(Debug, Clone)]
pub struct Pull {
    /// Identity (not the number).
    pub id: u64,
    /// Its number.
    pub number: Number,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: Option<String>,
    /// Open (or closed, or merged).
    pub open: bool,
    /// A draft.
    pub draft: bool,
    /// Who opened it.
    pub author: AccountId,
    /// Where it comes from.
    pub head: HeadSide,
    /// Where it wants to go.
    pub base: BaseSide,
    /// Names of its labels, in the order given.
    pub labels: Vec<String>,
    /// Reviewers asked.
    pub requested_reviewers: BTreeSet<AccountId>,
    /// Clean or conflicting.
    pub mergeability: Mergeability,
    /// The commit that entered the base, once merged.
    pub merge_commit: Option<Sha>,
    /// Who merged it.
    pub merged_by: Option<AccountId>,
    /// Auto-merge, if armed.
    pub auto_merge: Option<AutoMerge>,
    /// When it was opened.
    pub created_at: Time,
    /// When anything about it last changed.
    pub updated_at: Time,
    /// When it was closed (or merged).
    pub closed_at: Option<Time>,
    /// When it was merged.
    pub merged_at: Option<Time>,
}

impl Pull {
    /// Whether it was merged.
    pub fn merged(&self) -> bool {
        self.merged_at.is_some()
    }
}

/// What a review says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// Approved.
    Approved,
    /// Changes requested.
    ChangesRequested,
    /// A comment.
    Commented,
    /// It was dismissed.
    Dismissed,
}

impl ReviewState {
    /// GitHub's word: upper case in REST, lower case in deliveries.
    pub fn word(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
        }
    }
}

/// A review.
#[derive(Debug, Clone)]
pub struct Review {
    /// Identity; higher is later.
    pub id: u64,
    /// On which pull request.
    pub pull: Number,
    /// By whom.
    pub author: AccountId,
    /// What it says now.
    pub state: ReviewState,
    /// Its text.
    pub body: String,
    /// The commit it is about; moves with `update-branch`.
    pub commit_id: Sha,
    /// When it was submitted.
    pub submitted_at: Time,
    /// When its text last changed.
    pub updated_at: Time,
}

/// A review conversation.
#[derive(Debug, Clone)]
pub struct ReviewThread {
    /// Identity.
    pub id: u64,
    /// On which pull request.
    pub pull: Number,
    /// The review its first comment belongs to.
    pub review: u64,
    /// Who started it.
    pub author: AccountId,
    /// The file.
    pub path: String,
    /// The line in the head's version.
    pub line: u64,
    /// The first comment.
    pub body: String,
    /// The commit it was made on.
    pub commit_id: Sha,
    /// Whether it is resolved.
    pub resolved: bool,
    /// When it was started.
    pub created_at: Time,
}
