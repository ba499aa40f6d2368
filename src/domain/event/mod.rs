//! What a delivery means: bytes and an event's name in, an [`Event`] out.
//!
//! Only the fields the product uses are read, and each is one of two sorts. Without an *essential*
//! field the event means nothing (a pull request's head, a check run's id): the delivery is
//! [`Unreadable`] and becomes a dead letter. Any other field may be missing, null or of a type nobody
//! expected, and is then simply not known: a null sender, a deleted fork or a word GitHub invented
//! yesterday is never an error. An event is a hint; nothing is decided on it.
//!
//! Events and actions appear without notice. An action not known here makes an [`Event::Other`],
//! except where the delivery carries the whole present state of its object (a pull request, a check
//! run, a workflow run): a state is a state, whatever the word for how it came about. What an unknown
//! action's delivery lacks is no fault of it.
//!
//! A delivery about a repository names the installation through which the App may act there. One
//! without it (a webhook of the repository itself that points here) cannot be acted on and is
//! [`Event::Other`].
//!
//! One file a noun: `pull` (pull requests, reviews, conversations, comments), `check` (check runs
//! and suites, statuses, workflow runs, the merge queue), `issue`, `push`, `installation`. `wire` holds what
//! they share.

mod check;
mod installation;
mod issue;
mod pull;
mod push;
mod wire;

#[cfg(test)]
mod tests;

use super::facts::{CheckRun, Comment, CommitStatus, PullRequest, Review, WorkflowRun};
use super::model::{
    Actor, BaseRef, HeadSha, InstallationId, Oid, PullNumber, RepoId, Repository, Timestamp,
};

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
        /// The review. `head` is the commit that was reviewed, as this delivery tells it, and known
        /// only from a `submitted` delivery. `edited` is set by an edit that touched an evidence
        /// block.
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
    /// A comment was written, edited or deleted.
    Comment {
        /// Where.
        repo: Repository,
        /// GitHub's word (`created`, `edited`, `deleted`).
        action: String,
        /// On which pull request or issue.
        number: PullNumber,
        /// Whether it is a pull request.
        on_pull: bool,
        /// The comment as it is (or was). `edited` is set where an edit may have touched an evidence
        /// block; other edits void nothing.
        comment: Comment,
    },
    /// Something happened to an issue that is no pull request.
    Issue {
        /// Where.
        repo: Repository,
        /// GitHub's word (`labeled`, `closed`, `edited`, `transferred`, ...).
        action: String,
        /// Which issue.
        number: PullNumber,
        /// The label that was put on it, for `labeled`.
        label: Option<String>,
        /// When, by GitHub's clock, to the second.
        at: Option<Timestamp>,
        /// Who did it.
        sender: Option<Actor>,
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
/// [`Unreadable`] when the event and its action are known and the body lacks a field the event is
/// about, or is not the JSON of a delivery at all. Unknown events and actions are not errors.
pub fn read(event: &str, body: &[u8]) -> Result<Event, Unreadable> {
    let Some(kind) = Kind::of(event) else {
        return Ok(Event::Other {
            why: format!("`{event}` is not an event this version knows"),
        });
    };
    kind.read(event, body).map_err(|fault| Unreadable {
        event: event.to_owned(),
        field: fault.field.to_owned(),
        why: fault.why,
    })
}

/// Whether a text holds a fenced block that may be an evidence document.
///
/// Errs on the side of yes: whether it really is one, the evidence room tells. A text without such a
/// fence is not kept anywhere.
pub fn holds_evidence(text: &str) -> bool {
    text.match_indices(super::evidence::FENCE).any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        before.ends_with("```") || before.ends_with("~~~")
    })
}

/// The events this version knows, by what it takes to read them.
#[derive(Clone, Copy)]
enum Kind {
    Ping,
    /// Subscribed to, and nothing in it is used by this version.
    Unused,
    /// About the App's own reach; the installation is the subject, not the scene.
    Installation,
    Repositories,
    /// About a repository: needs a scene, and only these actions are understood.
    Deed(Reader, &'static [&'static str]),
    /// About a repository: needs a scene, and any action's state is taken.
    State(Reader, &'static [&'static str]),
    /// About a repository: needs a scene, has no actions.
    Plain(Reader),
}

/// Reads the body of an event about a repository.
type Reader = fn(wire::Scene, &[u8]) -> Result<Event, wire::Fault>;

/// GitHub's present actions of `pull_request`.
const PULL_ACTIONS: &[&str] = &[
    "assigned",
    "auto_merge_disabled",
    "auto_merge_enabled",
    "closed",
    "converted_to_draft",
    "demilestoned",
    "dequeued",
    "edited",
    "enqueued",
    "labeled",
    "locked",
    "milestoned",
    "opened",
    "ready_for_review",
    "reopened",
    "review_request_removed",
    "review_requested",
    "synchronize",
    "unassigned",
    "unlabeled",
    "unlocked",
];

/// The actions of `issues` that can change what becomes of a dispatch.
const ISSUE_ACTIONS: &[&str] = &[
    "closed",
    "deleted",
    "edited",
    "labeled",
    "opened",
    "reopened",
    "transferred",
    "unlabeled",
];

/// GitHub's present actions of `repository`.
const REPOSITORY_ACTIONS: &[&str] = &[
    "archived",
    "created",
    "deleted",
    "edited",
    "privatized",
    "publicized",
    "renamed",
    "transferred",
    "unarchived",
];

impl Kind {
    fn of(event: &str) -> Option<Self> {
        Some(match event {
            "ping" => Self::Ping,
            "label" | "deployment_status" => Self::Unused,
            "issues" => Self::Deed(issue::issue, ISSUE_ACTIONS),
            "installation" => Self::Installation,
            "installation_repositories" => Self::Repositories,
            "pull_request" => Self::State(pull::pull, PULL_ACTIONS),
            "pull_request_review" => {
                Self::Deed(pull::review, &["submitted", "edited", "dismissed"])
            }
            "pull_request_review_thread" => Self::Deed(pull::thread, &["resolved", "unresolved"]),
            "issue_comment" => Self::Deed(pull::comment, &["created", "edited", "deleted"]),
            "check_run" => Self::State(
                check::run,
                &["created", "completed", "rerequested", "requested_action"],
            ),
            "check_suite" => Self::Deed(check::suite, &["completed", "requested", "rerequested"]),
            "workflow_run" => {
                Self::State(check::workflow, &["requested", "in_progress", "completed"])
            }
            "merge_group" => Self::Deed(check::merge_group, &["checks_requested", "destroyed"]),
            "repository" => Self::Deed(installation::repository, REPOSITORY_ACTIONS),
            "status" => Self::Plain(check::status),
            "push" => Self::Plain(push::push),
            _ => return None,
        })
    }

    fn read(self, event: &str, body: &[u8]) -> Result<Event, wire::Fault> {
        match self {
            Self::Ping => Ok(Event::Ping),
            Self::Unused => Ok(Event::Other {
                why: format!("a `{event}` delivery carries nothing this version uses"),
            }),
            Self::Installation => installation::installation(body),
            Self::Repositories => installation::repositories(body),
            Self::Plain(reader) => match wire::Envelope::of(body)?.scene(event)? {
                Ok(scene) => reader(scene, body),
                Err(why) => Ok(Event::Other { why }),
            },
            Self::Deed(reader, actions) => Self::act(event, body, reader, actions, false),
            Self::State(reader, actions) => Self::act(event, body, reader, actions, true),
        }
    }

    /// Reads an event that has actions. Where any action's state is taken (`lenient`), an unknown
    /// one is read as far as it goes.
    fn act(
        event: &str,
        body: &[u8],
        reader: Reader,
        actions: &[&str],
        lenient: bool,
    ) -> Result<Event, wire::Fault> {
        let envelope = wire::Envelope::of(body)?;
        let action = envelope.action.get("action")?.clone();
        let known = actions.contains(&action.as_str());
        let unknown = Event::Other {
            why: format!(
                "a `{event}` delivery with the action `{action}`, which is not known here"
            ),
        };
        if !known && !lenient {
            return Ok(unknown);
        }
        let read = match envelope.scene(event) {
            Ok(Ok(scene)) => reader(scene, body),
            Ok(Err(why)) => return Ok(Event::Other { why }),
            Err(fault) => Err(fault),
        };
        if known {
            read
        } else {
            Ok(read.unwrap_or(unknown))
        }
    }
}
