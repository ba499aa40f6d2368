//! The state of the simulated GitHub: who there is, what they own, and what they did.
//!
//! **How to use it.** One [`World`] stands behind one `Arc<Mutex<World>>` (the
//! [`Simulator`](super::Simulator) holds it). Lock, do one thing, let go:
//!
//! ```ignore
//! let mut world = simulator.lock();
//! let repo = world.repo_named("acme/shop")?;                    // by name, follows renames
//! let answer = world.merge(repo, 7, Principal::App(app), &request);
//! let page = payload::pull(&world, world.repo(repo)?, world.pull(repo, 7)?);
//! ```
//!
//! Everything is synchronous; never hold the guard across an `.await`. The fields are open for
//! reading, and for bending the world into shapes the acts cannot make. Whoever wants the webhooks
//! GitHub would send uses the acts (`impl World` in the files named by verb): each appends its
//! deliveries to [`World::outbox`] *after* the change, in the order GitHub would queue them. The
//! HTTP room drains the outbox, signs and sends; it keeps the record of attempts itself.
//!
//! **Properties.** The same seed, clock and acts give the same ids, commits and payloads. Commits,
//! merges, diffs and conflicts are git's own (see [`git`](super::git)). Refusals carry GitHub's
//! status and words, as [`Refusal`].
//!
//! **What is left out.** Wikis, projects, releases, secrets, forks of forks, and whatever no gate
//! of the product looks at.

mod account;
mod check;
mod checking;
mod comparing;
mod delivery;
mod gating;
mod issue;
mod lookup;
mod merging;
mod owning;
mod pull;
mod pulling;
mod pushing;
mod repository;
mod reviewing;
mod rules;
mod talking;
mod telling;
#[cfg(test)]
mod tests;
mod workflows;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

pub use account::{
    Account, AccountKind, App, Installation, Permission, Principal, RepoSelection, Team,
};
pub use check::{Button, CheckRun, Output, Status, Suite, WorkflowRun};
pub use checking::{CheckDraft, CheckEdit, StatusDraft};
pub use delivery::Delivery;
pub use gating::Unmet;
pub use issue::{Issue, IssueComment, Label};
pub use lookup::WEB_FLOW;
pub use merging::MergeRequest;
pub use pull::{
    AutoMerge, BaseSide, HeadSide, Mergeability, Pull, Review, ReviewState, ReviewThread,
};
pub use pulling::{PullDraft, PullEdit};
pub use pushing::Change;
pub use repository::{MergeMethod, MergeSettings, Repo};
pub use rules::{
    BranchProtection, Bypass, Enforcement, RequiredCheck, RequiredReviews, Rule, Ruleset,
};

pub use talking::IssueEdit;
pub use workflows::{MergeGroup, WorkflowDraft};

use super::git::Pool;
use crate::clock::Clock;

/// A full git object id: 40 lower-case hex digits.
pub type Sha = String;
/// The numeric id of a user, bot user or organisation.
pub type AccountId = u64;
/// The numeric id of an App.
pub type AppId = u64;
/// The numeric id of an installation.
pub type InstallationId = u64;
/// The numeric id of a repository.
pub type RepoId = u64;
/// The number of a pull request or issue within its repository.
pub type Number = u64;
/// A point in time.
pub type Time = DateTime<Utc>;

/// GitHub Actions' App id, the same on github.com for everybody.
pub const ACTIONS_APP: AppId = 15368;

/// A "no" as GitHub says it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{status}: {message}")]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// GitHub's words.
    pub message: String,
    /// The `errors` array of a 422; empty otherwise.
    pub errors: Vec<Value>,
}

impl Refusal {
    /// A refusal with GitHub's words.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Vec::new(),
        }
    }

    /// 404, which GitHub also says instead of 403 for what must not be known.
    pub fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    /// 422 with one entry in `errors`.
    pub fn invalid(resource: &str, field: &str, message: &str) -> Self {
        Self {
            status: 422,
            message: "Validation Failed".to_owned(),
            errors: vec![serde_json::json!({
                "resource": resource, "field": field, "code": "custom", "message": message,
            })],
        }
    }
}

/// What an act answers.
pub type Done<T> = Result<T, Refusal>;

/// How this GitHub behaves where GitHub's own behaviour varies; all may be changed at any time.
#[derive(Debug, Clone)]
pub struct Behaviour {
    /// How many single reads of a pull request answer `mergeable: null` after its head or base
    /// changed, before the value is known. GitHub starts computing at the first read: 1.
    pub mergeable_null_reads: u32,
    /// Whether `check_run` and `check_suite` deliveries list their pull requests (never for forks).
    pub list_pulls_in_checks: bool,
    /// `update-branch` moves `commit_id` of the reviews to the new head, as GitHub does.
    pub update_branch_moves_reviews: bool,
    /// Accounts and repositories are printed with the dozens of addresses GitHub hangs on them. They
    /// are most of the cost of a delivery: random worlds by the thousand leave them out.
    pub addresses: bool,
    /// The time that people's commits say they were made at; the clock's where this is `None`. Whoever commits
    /// chooses it, so it may be any.
    pub commits_say: Option<Time>,
    /// How our App's webhook is set up, but for its address.
    pub hook: HookSettings,
}

/// The settings of our App's webhook beside its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSettings {
    /// `json` or `form`.
    pub content_type: String,
    /// `0`, or `1` where certificates are not verified.
    pub insecure_ssl: String,
    /// Whether deliveries are signed.
    pub secret: bool,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self {
            content_type: "json".to_owned(),
            insecure_ssl: "0".to_owned(),
            secret: true,
        }
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            mergeable_null_reads: 1,
            list_pulls_in_checks: true,
            update_branch_moves_reviews: true,
            addresses: true,
            commits_say: None,
            hook: HookSettings::default(),
        }
    }
}

/// A wrong landing, for stories about a platform that merges something else than was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mislanding {
    /// The commit has the right parents and the base's old tree: the change is lost.
    WrongTree,
    /// The commit has the right tree and only the base's tip as parent.
    WrongParents,
}

/// Something that happens inside the next merge call, before the head is compared.
pub type MergeHook = Box<dyn FnOnce(&mut World) + Send>;

/// Faults of merging that stand in the world because they need its insides.
#[derive(Default)]
pub struct MergeFaults {
    /// Runs inside the next merge call, before anything is compared. Taken when run.
    pub before_next: Option<MergeHook>,
    /// The next merge lands like this. Taken when a merge lands.
    pub mislanding: Option<Mislanding>,
    /// So many merge calls answer 405 "Base branch was modified" first.
    pub base_modified: u32,
}

impl std::fmt::Debug for MergeFaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeFaults")
            .field("before_next", &self.before_next.is_some())
            .field("mislanding", &self.mislanding)
            .field("base_modified", &self.base_modified)
            .finish()
    }
}

/// The whole state.
#[derive(Debug)]
pub struct World {
    /// Who tells the time.
    pub clock: Clock,
    /// Where git objects are kept and git's answers remembered.
    pub pool: Arc<Pool>,
    /// The App under test: the one that receives deliveries.
    pub our_app: AppId,
    /// Users, bot users and organisations, by id.
    pub accounts: BTreeMap<AccountId, Account>,
    /// Apps, by id.
    pub apps: BTreeMap<AppId, App>,
    /// Installations, by id.
    pub installations: BTreeMap<InstallationId, Installation>,
    /// Repositories, by id.
    pub repos: BTreeMap<RepoId, Repo>,
    /// Names that repositories had before, lower case: GitHub redirects them.
    pub old_names: BTreeMap<String, RepoId>,
    /// Teams of organisations.
    pub teams: Vec<Team>,
    /// Deliveries for our App that nobody has taken yet, oldest first.
    pub outbox: VecDeque<Delivery>,
    /// Where GitHub's behaviour varies.
    pub behaviour: Behaviour,
    /// Faults of merging.
    pub merge_faults: MergeFaults,
    /// Where the web pages and API of this GitHub stand; the HTTP room sets it when it listens.
    pub origin: String,
    ids: BTreeMap<&'static str, u64>,
    seed: u64,
}
