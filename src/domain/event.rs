//! What a delivery means: bytes and an event's name in, an [`Event`] out.
//!
//! Only the fields the product uses are read, leniently: a null sender, a new action or an event
//! nobody has heard of is never an error. An event is a hint; nothing is decided on it.

use super::facts::{CheckRun, Comment, CommitStatus, PullRequest, Review, WorkflowRun};
use super::model::{Actor, BaseRef, HeadSha, InstallationId, Oid, PullNumber, RepoId, Repository};

/// What a delivery means.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// GitHub says hello.
    Ping,
    /// Something happened to a pull request.
    Pull {
        /// Where.
        repo: Repository,
        /// GitHub's word (`opened`, `synchronize`, `edited`, ...).
        action: String,
        /// Its state afterwards.
        pull: Box<PullRequest>,
        /// `edited` changed the base branch: everything bound to the old one is void.
        base_changed: bool,
        /// Who did it.
        sender: Option<Actor>,
    },
    /// A review was submitted, edited or dismissed.
    Review {
        /// Where.
        repo: Repository,
        /// GitHub's word.
        action: String,
        /// On which pull request.
        number: PullNumber,
        /// The review; `head` is the pull request's head in this very delivery.
        review: Review,
    },
    /// A review conversation was resolved or reopened.
    Thread {
        /// Where.
        repo: Repository,
        /// On which pull request.
        number: PullNumber,
    },
    /// A check run changed, or one of its buttons was pressed.
    CheckRun {
        /// Where.
        repo: Repository,
        /// GitHub's word (`created`, `completed`, `rerequested`, `requested_action`).
        action: String,
        /// The run.
        run: CheckRun,
        /// The identifier of the button, for `requested_action`.
        button: Option<String>,
        /// Who did it.
        sender: Option<Actor>,
    },
    /// A check suite changed; `rerequested` voids what its runs concluded.
    CheckSuite {
        /// Where.
        repo: Repository,
        /// GitHub's word.
        action: String,
        /// The commit.
        head: HeadSha,
        /// The suite.
        suite: super::model::SuiteId,
    },
    /// A commit status was set.
    Status {
        /// Where.
        repo: Repository,
        /// The commit.
        head: HeadSha,
        /// The status.
        status: CommitStatus,
    },
    /// A comment was written, edited or deleted on a pull request.
    Comment {
        /// Where.
        repo: Repository,
        /// GitHub's word (`created`, `edited`, `deleted`).
        action: String,
        /// On which pull request.
        number: PullNumber,
        /// The comment as it is (or was).
        comment: Comment,
    },
    /// A branch moved.
    Push {
        /// Where.
        repo: Repository,
        /// Which branch.
        branch: BaseRef,
        /// Its tip before; `None` when it was created.
        before: Option<Oid>,
        /// Its tip after; `None` when it was deleted.
        after: Option<Oid>,
        /// Whether the policy file is surely untouched: every commit is listed, none is forced, none
        /// names the file.
        policy_untouched: bool,
    },
    /// A workflow run changed.
    Workflow {
        /// Where.
        repo: Repository,
        /// The run.
        run: WorkflowRun,
    },
    /// GitHub's merge queue asks for checks on a group's head.
    MergeGroup {
        /// Where.
        repo: Repository,
        /// The group's head.
        head: HeadSha,
    },
    /// The App was installed, suspended, changed or removed.
    Installation {
        /// Which.
        installation: InstallationId,
        /// GitHub's word (`created`, `deleted`, `suspend`, `unsuspend`, `new_permissions_accepted`).
        action: String,
        /// The repositories it names.
        repos: Vec<Repository>,
    },
    /// Repositories were added to or removed from an installation.
    Repositories {
        /// Those that are visible now.
        added: Vec<Repository>,
        /// Those that are not any more.
        removed: Vec<RepoId>,
    },
    /// A repository was renamed, transferred, archived, edited or deleted.
    Repository {
        /// As it is now.
        repo: Repository,
        /// GitHub's word.
        action: String,
    },
    /// An event that is subscribed to and carries nothing this version uses, or one not known here.
    Other {
        /// Why nothing follows, as a sentence for the operator.
        why: String,
    },
}

/// Why a delivery cannot be understood at all: a field without which it means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a `{event}` delivery without a usable `{field}`: {why}")]
pub struct Unreadable {
    /// The event's name.
    pub event: String,
    /// The field.
    pub field: String,
    /// What was wrong with it.
    pub why: String,
}

/// Reads a delivery.
///
/// # Errors
/// [`Unreadable`] when the body is not JSON or lacks a field the event is about. Unknown events and
/// actions are not errors.
pub fn read(event: &str, body: &[u8]) -> Result<Event, Unreadable> {
    let _ = (event, body);
    unimplemented!("the intake room")
}
