//! Everything known about one pull request at one moment.
//!
//! A [`Snapshot`] is data: whoever judges it asks nobody anything. What could not be read is in it
//! as [`Fetched::Unavailable`] with the reason, and a list says whether it is whole: a gate that
//! meets a gap answers "undetermined", never "fine".

mod asked;
mod policy;
mod pushed;

use serde::{Deserialize, Serialize};

pub use asked::{Asked, Why};
pub use policy::{PolicyFact, PolicyOrigin};
pub use pushed::Pushed;

use super::model::{
    Actor, AppRef, BaseRef, CheckRunId, CommentId, HeadSha, Oid, PullNumber, RepoId, Repository,
    ReviewId, StatusId, SuiteId, Timestamp, WorkflowRunId,
};

/// A fact, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fetched<T> {
    /// It was read.
    Known(T),
    /// It could not be read; the text says why, for people ("GitHub answered 403: ...").
    Unavailable(String),
    /// Nobody has asked for it yet in this pass, and no delivery told it.
    NotAsked,
}

impl<T> Fetched<T> {
    /// The value, where there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unavailable(_) | Self::NotAsked => None,
        }
    }

    /// The value, or the sentence that says why there is none.
    ///
    /// # Errors
    /// The reason the fact is missing.
    pub fn require(&self) -> Result<&T, &str> {
        match self {
            Self::Known(value) => Ok(value),
            Self::Unavailable(why) => Err(why),
            Self::NotAsked => Err("it has not been read yet"),
        }
    }
}

/// A list, and whether it is whole. An incomplete list can only block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing<T> {
    /// What was read.
    pub items: Vec<T>,
    /// Whether that is all there is (the last page was reached and the counts agree).
    pub complete: bool,
}

impl<T> Listing<T> {
    /// A list known to be whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self {
            items,
            complete: true,
        }
    }
}

impl<T> Default for Listing<T> {
    /// Nothing known, and not known to be whole.
    fn default() -> Self {
        Self {
            items: Vec::new(),
            complete: false,
        }
    }
}

/// Whether a pull request is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    /// Open.
    Open,
    /// Closed without a merge.
    Closed,
    /// Merged.
    Merged {
        /// When, if GitHub said.
        at: Option<Timestamp>,
        /// By whom, if the account still exists.
        by: Option<Actor>,
        /// The commit that entered the base branch.
        commit: Option<Oid>,
    },
}

/// A pull request's own fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullRequest {
    /// Its number.
    pub number: PullNumber,
    /// Its title (untrusted text).
    pub title: String,
    /// Its description (untrusted text); empty when there is none.
    pub body: String,
    /// Open, closed or merged.
    pub state: PullState,
    /// A draft is never merged.
    pub draft: bool,
    /// The head commit.
    pub head: HeadSha,
    /// The head's branch name, for display and for `agents.branches`.
    pub head_ref: String,
    /// The repository the head lives in; `None` when the fork was deleted.
    pub head_repo: Option<RepoId>,
    /// The branch it wants to enter.
    pub base: BaseRef,
    /// Who opened it; `None` for a deleted account.
    pub author: Option<Actor>,
    /// Its labels' names.
    pub labels: Vec<String>,
    /// Whether GitHub can merge it without conflict; `None` while GitHub computes, and when a
    /// delivery did not carry it.
    pub mergeable: Option<bool>,
    /// GitHub's trial merge (`merge_commit_sha` of an open pull request), where it made one.
    pub test_merge: Option<Oid>,
    /// How many files it changes, by GitHub's count.
    pub changed_files: Option<u64>,
    /// Native auto-merge is armed: GitHub may merge past us.
    pub auto_merge: bool,
    /// When it was opened.
    pub created_at: Timestamp,
    /// GitHub's time of the last change; orders deliveries of one pull request, to the second.
    pub updated_at: Timestamp,
}

/// Where a check run stands. GitHub's word for anything but `completed` matters only to people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Not finished: the raw status (`queued`, `in_progress`, `waiting`, `requested`, `pending`, ...).
    Unfinished(String),
    /// Finished, with what came of it.
    Completed(Conclusion),
}

/// What a finished check run concluded. Total: an unknown word is kept and never passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Conclusion {
    Success,
    Failure,
    Neutral,
    Cancelled,
    Skipped,
    TimedOut,
    ActionRequired,
    Stale,
    StartupFailure,
    /// A word not known here, or none at all (empty).
    Unknown(String),
}

/// How much of a check run's title is kept, in characters: enough to tell what it is about.
pub const LONGEST_TITLE: usize = 200;

/// One check run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRun {
    /// Identity; higher is later within one producer.
    pub id: CheckRunId,
    /// `check_run.name`: a job's name, not its workflow's.
    pub name: String,
    /// The App that made it; some servers leave it out, and then the producer is unknown.
    pub app: Option<AppRef>,
    /// The commit it is about.
    pub head: HeadSha,
    /// Where it stands.
    pub status: RunStatus,
    /// The suite it belongs to: leads to the workflow run, and so to the workflow's path.
    pub suite: Option<SuiteId>,
    /// What its maker calls it; our own runs carry the pull request and head.
    pub external_id: Option<String>,
    /// When it finished.
    pub completed_at: Option<Timestamp>,
    /// A page about it.
    pub url: Option<String>,
    /// `output.text`, where an evidence document may stand. Empty unless it holds a fenced
    /// `countersign` block.
    pub output_text: Option<String>,
    /// `output.title`, in at most [`LONGEST_TITLE`] characters.
    #[serde(default)]
    pub output_title: Option<String>,
}

/// The state of a commit status. An unknown word is kept and never passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum StatusState {
    Success,
    Failure,
    Error,
    Pending,
    Unknown(String),
}

/// The newest status of one context on a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitStatus {
    /// Identity; higher is later. Combined-status answers of some servers leave it out.
    pub id: Option<StatusId>,
    /// The context: the name a policy may require.
    pub context: String,
    /// The state.
    pub state: StatusState,
    /// Who set it; anybody with write access can.
    pub creator: Option<Actor>,
    /// When it was set.
    pub updated_at: Option<Timestamp>,
    /// A page about it.
    pub url: Option<String>,
}

/// One run of a workflow, to learn which file a check came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowRun {
    /// Identity; a re-run keeps it and raises `attempt`.
    pub id: WorkflowRunId,
    /// The suite its jobs' check runs belong to.
    pub suite: SuiteId,
    /// The workflow file, such as `.github/workflows/ci.yml` (any `@ref` removed).
    pub path: String,
    /// What started it (`pull_request`, `push`, ...).
    pub event: String,
    /// 1 for the first.
    pub attempt: u64,
    /// The commit.
    pub head: HeadSha,
}

/// What a review says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ReviewState {
    Approved,
    ChangesRequested,
    Commented,
    Dismissed,
    Pending,
    Unknown(String),
}

/// One review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Review {
    /// Identity; higher is later.
    pub id: ReviewId,
    /// Who gave it.
    pub author: Option<Actor>,
    /// What it says now.
    pub state: ReviewState,
    /// The head that stood when the review was first seen. GitHub's own `commit_id` can move to a
    /// newer head after an update-branch merge, so only the first sight counts.
    pub head: Option<HeadSha>,
    /// The delivery of its submission told that head; else a list did, later.
    #[serde(default)]
    pub head_told: bool,
    /// The base that it was given for; `None` where no delivery told.
    #[serde(default)]
    pub base: Option<BaseRef>,
    /// When it was submitted.
    pub submitted_at: Option<Timestamp>,
    /// Its text; kept only where it holds an evidence block.
    pub body: String,
    /// The text was changed after it was first seen: nothing it says counts any more.
    pub edited: bool,
    /// A page about it.
    pub url: Option<String>,
}

/// One comment that holds (or held) an evidence block, or commands. Other comments are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Identity.
    pub id: CommentId,
    /// Who wrote it.
    pub author: Option<Actor>,
    /// The App through which it was written, where GitHub says.
    pub app: Option<AppRef>,
    /// Its text.
    pub body: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// It was changed after it was written (by anybody with write access): nothing it says counts.
    pub edited: bool,
    /// A page about it.
    pub url: Option<String>,
}

/// An issue, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its number.
    pub number: PullNumber,
    /// Its title (untrusted text).
    pub title: String,
    /// Its text (untrusted text).
    pub body: String,
    /// Whether it is open.
    pub open: bool,
    /// Its labels' names.
    pub labels: Vec<String>,
    /// It is a pull request: GitHub counts both with one set of numbers.
    pub is_pull: bool,
    /// A page about it.
    pub url: Option<String>,
}

impl Issue {
    /// Whether a label is on it. Labels compare without case.
    pub fn has(&self, label: &str) -> bool {
        self.labels.iter().any(|on| on.eq_ignore_ascii_case(label))
    }
}

/// How a file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ChangeKind {
    Added,
    Modified,
    Removed,
    Renamed,
    Copied,
    /// Mode or type changed, or a word not known here.
    Other(String),
}

/// A run of changed lines, without the context lines that diffs print around it.
///
/// Lines count from 1, in the head's version of the file. Where only lines were removed, `new_lines`
/// is 0 and `new_start` is the line before the gap (0 at the top of the file).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedHunk {
    /// First added line in the head's version.
    pub new_start: u64,
    /// How many lines were added.
    pub new_lines: u64,
    /// How many lines were removed.
    pub old_lines: u64,
    /// The added lines' text.
    pub added: Vec<String>,
    /// The removed lines' text.
    pub removed: Vec<String>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Its path in the head.
    pub path: String,
    /// Its path before, when renamed or copied.
    pub old_path: Option<String>,
    /// How it changed.
    pub kind: ChangeKind,
    /// Lines added.
    pub additions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// The changed hunks; `None` when GitHub gave no patch (binary, or too large).
    pub hunks: Option<Vec<ChangedHunk>>,
}

/// One commit of the pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullCommit {
    /// The commit.
    pub sha: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// Its author's account, where GitHub knows one.
    pub author: Option<Actor>,
    /// Its committer's account, where GitHub knows one.
    pub committer: Option<Actor>,
}

/// What lies between a base tip and a head: bound to both, so it never changes once read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// The base branch's tip it was made against.
    pub base_tip: Oid,
    /// The head it was made for.
    pub head: HeadSha,
    /// Their merge base.
    pub merge_base: Oid,
    /// The changed files, against the merge base.
    pub files: Listing<FileChange>,
    /// The commits that are only in the head.
    pub commits: Listing<PullCommit>,
}

impl Comparison {
    /// The tree of the head commit, if its commit was listed.
    pub fn head_tree(&self) -> Option<&Oid> {
        let head = self.head.oid();
        self.commits
            .items
            .iter()
            .find(|commit| commit.sha == head)
            .map(|commit| &commit.tree)
    }

    /// Whether the head already contains the base's tip.
    pub fn up_to_date(&self) -> bool {
        self.merge_base == self.base_tip
    }
}

/// A rule of the platform on the base branch, from rulesets or classic protection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlatformRule {
    /// A status or check that GitHub itself requires.
    RequiredCheck {
        /// Its name.
        context: String,
        /// The App it must come from, if pinned.
        app: Option<super::model::AppId>,
        /// The branch must be up to date with the base.
        strict: bool,
    },
    /// Reviews that GitHub itself requires.
    Reviews {
        /// How many approvals.
        approvals: u64,
        /// Code owners must approve.
        code_owners: bool,
        /// Conversations must be resolved.
        conversations: bool,
        /// The merge methods allowed; empty for all.
        methods: Vec<String>,
    },
    /// Merges go through GitHub's merge queue only.
    MergeQueue,
    /// No merge commits.
    LinearHistory,
    /// Every commit must be signed.
    SignedCommits,
    /// Nobody may update the branch.
    UpdatesRestricted,
    /// A rule that cannot hinder a merge, or one not known here; its type.
    Other(String),
}

/// The base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// Its name.
    pub name: BaseRef,
    /// Its tip, read from the branch itself (a pull request's own `base.sha` is stale).
    pub tip: Oid,
}

/// A stop on one pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Why.
    pub reason: String,
    /// By whom.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
}

/// A stop on one base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeze {
    /// Why.
    pub reason: String,
    /// By whom; `countersign` when a landed commit was not what was judged.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
}

/// A merge that this head was refused by GitHub, until something changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The head that was refused.
    pub head: HeadSha,
    /// GitHub's own words.
    pub reason: String,
    /// How often in a row.
    pub times: u32,
    /// The last time.
    pub at: Timestamp,
}

impl Refusal {
    /// Until when the merge is not tried again: seconds after the first refusal (a base that moved is
    /// GitHub's most usual cause), an hour at most after many equal ones.
    pub fn until(&self) -> Timestamp {
        let doubled = 2_i64.saturating_pow(self.times.min(16));
        self.at + chrono::Duration::seconds(doubled.min(3_600))
    }
}

/// Where the facts of a snapshot come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// Some were remembered from deliveries or earlier passes: good enough for "not yet".
    Remembered,
    /// Everything that can change was read from GitHub in this very pass: good enough to act on.
    Confirmed,
}

/// Everything known about one pull request at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The time of the pass.
    pub now: Timestamp,
    /// The repository.
    pub repo: Repository,
    /// Which pull request.
    pub number: PullNumber,
    /// Whether this may be acted on.
    pub freshness: Freshness,
    /// Our own App, so that its own outputs are never inputs.
    pub own_app: super::model::AppId,
    /// The pull request.
    pub pull: Fetched<PullRequest>,
    /// The base branch and its tip.
    pub base: Fetched<Base>,
    /// The policy that applies.
    pub policy: PolicyFact,
    /// Check runs on the head.
    pub runs: Fetched<Listing<CheckRun>>,
    /// Statuses on the head, newest per context.
    pub statuses: Fetched<Listing<CommitStatus>>,
    /// Workflow runs on the head; asked for only where a policy pins a workflow.
    pub workflows: Fetched<Listing<WorkflowRun>>,
    /// Reviews.
    pub reviews: Fetched<Listing<Review>>,
    /// Comments that hold evidence.
    pub comments: Fetched<Listing<Comment>>,
    /// Evidence about this head that was posted to the server: known here, so always fresh.
    pub posted: Vec<super::evidence::Posted>,
    /// Whether review conversations are open: their number; asked for only where needed.
    pub open_conversations: Fetched<u64>,
    /// Users of the teams the policy names (`org/team`, lower case), asked for only where needed.
    pub teams: std::collections::BTreeMap<String, Fetched<Vec<Actor>>>,
    /// Diff and commits between the base's tip and the head.
    pub comparison: Fetched<Comparison>,
    /// The platform's rules on the base branch.
    pub rules: Fetched<Vec<PlatformRule>>,
    /// A hold on this pull request.
    pub hold: Option<Hold>,
    /// A freeze on the base branch.
    pub freeze: Option<Freeze>,
    /// The head for which `/merge` was asked, if it was.
    pub merge_requested: Option<HeadSha>,
    /// Somebody asked for a stop, or may have, and what is known does not tell: a sentence.
    pub stop_asked: Option<String>,
    /// Which verifiers were asked about this head, oldest first.
    pub asked: Vec<Asked>,
    /// Waivers of gates; each says for what it counts.
    pub overrides: Vec<super::request::Override>,
    /// The last refusal of a merge, if the head is still the same.
    pub refusal: Option<Refusal>,
    /// Who is known to have pushed its heads while it was open, also those that are none of its commits any more.
    pub pushes: Vec<Pushed>,
    /// The head is not younger than this; `None` where no delivery and no read told.
    pub head_since: Option<Timestamp>,
    /// When it was last seen to have another base; `None` where it never was.
    pub base_since: Option<Timestamp>,
    /// When a pass first saw this head; `None` in that very pass.
    pub head_seen_at: Option<Timestamp>,
    /// Since when each gate has been in the state it was last seen in, for this head.
    pub since: std::collections::BTreeMap<String, (String, Timestamp)>,
}
