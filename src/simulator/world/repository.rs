//! A repository and everything that is kept under it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AccountId, BranchProtection, CheckRun, Issue, IssueComment, Label, Number, Permission, Pull,
    RepoId, Review, ReviewThread, Ruleset, Sha, Status, Suite, Time, WorkflowRun,
};
use crate::simulator::git::Bare;

/// How a pull request enters its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MergeMethod {
    /// A merge commit.
    Merge,
    /// One commit with everything.
    Squash,
    /// The commits again, on the base's tip.
    Rebase,
}

impl MergeMethod {
    /// GitHub's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    /// Reads GitHub's word.
    pub fn read(word: &str) -> Option<Self> {
        match word {
            "merge" => Some(Self::Merge),
            "squash" => Some(Self::Squash),
            "rebase" => Some(Self::Rebase),
            _ => None,
        }
    }
}

/// What the repository's settings page says about merging.
#[derive(Debug, Clone)]
pub struct MergeSettings {
    /// The methods that are allowed.
    pub allowed: BTreeSet<MergeMethod>,
    /// Auto-merge may be armed.
    pub auto_merge: bool,
    /// GitHub deletes a head branch after its merge.
    pub delete_branch: bool,
    /// The "update branch" button is always offered.
    pub update_branch: bool,
}

impl Default for MergeSettings {
    fn default() -> Self {
        Self {
            allowed: BTreeSet::from([MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase]),
            auto_merge: true,
            delete_branch: false,
            update_branch: true,
        }
    }
}

/// A repository.
#[derive(Debug)]
pub struct Repo {
    /// Identity.
    pub id: RepoId,
    /// Who owns it.
    pub owner: AccountId,
    /// Its own name; see [`World::full_name`](super::World::full_name).
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Private.
    pub private: bool,
    /// Read-only.
    pub archived: bool,
    /// What it was forked from.
    pub fork_of: Option<RepoId>,
    /// The default branch.
    pub default_branch: String,
    /// When it was made.
    pub created_at: Time,
    /// When its settings last changed.
    pub updated_at: Time,
    /// The last push.
    pub pushed_at: Time,
    /// What is allowed in merging.
    pub merging: MergeSettings,
    /// The bare git repository on disk. Its refs follow [`Repo::branches`].
    pub git: Bare,
    /// Branches and their tips.
    pub branches: BTreeMap<String, Sha>,
    /// Pull requests.
    pub pulls: BTreeMap<Number, Pull>,
    /// Issues that are not pull requests.
    pub issues: BTreeMap<Number, Issue>,
    /// Comments on issues and pull requests, by id.
    pub comments: BTreeMap<u64, IssueComment>,
    /// Labels, by name in lower case.
    pub labels: BTreeMap<String, Label>,
    /// Check suites, by id.
    pub suites: BTreeMap<u64, Suite>,
    /// Check runs, by id.
    pub check_runs: BTreeMap<u64, CheckRun>,
    /// Commit statuses, oldest first.
    pub statuses: Vec<Status>,
    /// Workflow runs, by id.
    pub workflow_runs: BTreeMap<u64, WorkflowRun>,
    /// Reviews, by id.
    pub reviews: BTreeMap<u64, Review>,
    /// Review conversations, by id.
    pub threads: BTreeMap<u64, ReviewThread>,
    /// Classic branch protection, by branch name or pattern.
    pub protections: BTreeMap<String, BranchProtection>,
    /// Rulesets, by id.
    pub rulesets: BTreeMap<u64, Ruleset>,
    /// Who may do what, beside the owner.
    pub collaborators: BTreeMap<AccountId, Permission>,
    /// What teams may do, by team id.
    pub team_access: BTreeMap<u64, Permission>,
    /// Commits that count as signed and verified; GitHub's own merge commits are among them.
    pub verified: BTreeSet<Sha>,
    /// The number of the next issue or pull request.
    pub next_number: Number,
}
