//! What is remembered between passes, and how a delivery changes it.
//!
//! Deliveries carry facts; remembering them makes most passes free of API calls. Memory may be
//! wrong (late, doubled, lost and reordered deliveries) and that is safe: it can only say "not yet".
//! Whatever is acted on is read again in the acting pass, and what was read replaces what was
//! remembered, unless a delivery changed it meanwhile (versions tell).
//!
//! # What is promised
//!
//! Any order and any repetition of the same deliveries leaves the same memory, as far as GitHub says
//! itself which is later:
//!
//! - a pull request by `updated_at`; a merged one stays merged;
//! - a check run by what finished when: an older delivery undoes neither a conclusion nor a re-run;
//! - a status by its id, a workflow run by its attempt;
//! - a review's state and whether its evidence was edited; a dismissal stays;
//! - a comment: edited stays edited, and a deleted one does not come back;
//! - a branch's tip, where its pushes form one line (see `repo`), and with it the policy's text.
//!
//! # What is not
//!
//! Deliveries that GitHub dates alike (`updated_at` counts seconds) are taken in order of arrival, as
//! are re-runs of whole suites, holds, and what an installation may see: their deliveries bear no
//! date that could order them. The text of a review or comment that was edited is the one seen
//! first; nothing it says counts. Since when a head stands is a bound that lost and late deliveries make
//! too late, never too early for a head that was not there before. All of this is mended by the next pass that reads.
//!
//! One file a document: `pull`, `head`, `repo`; `meaning` tells what an event asks for.

mod head;
mod issues;
mod meaning;
mod pull;
mod repo;

#[cfg(test)]
mod tests;

pub use issues::{IssuesMemory, Labelled, Touch};
pub use meaning::meaning;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::facts::{
    CheckRun, Comment, CommitStatus, Comparison, Hold, PlatformRule, PullRequest, Pushed, Refusal,
    Review, WorkflowRun,
};
use super::model::{
    BaseRef, CheckRunId, CommentId, HeadSha, InstallationId, Key, Oid, PolicyDigest, PullNumber,
    RepoId, Repository, ReviewId, Timestamp,
};
use super::request::{Ask, Pressed, PressedVerify, Reply, Requests};

/// What is remembered of a pull request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PullMemory {
    /// Its own fields.
    pub pull: Option<PullRequest>,
    /// When it was last changed when its head was first seen: the head is not younger than this.
    pub head_since: Option<Timestamp>,
    /// When it was last changed when it was seen to have another base than before.
    pub base_since: Option<Timestamp>,
    /// Who pushed its heads while it was open.
    pub pushes: Vec<Pushed>,
    /// Its reviews, with the head that stood when each was first seen.
    pub reviews: BTreeMap<ReviewId, Review>,
    /// SHA-256 of each review's evidence text when it was first seen (see [`PullMemory::see_review`]).
    pub review_texts: BTreeMap<ReviewId, String>,
    /// Comments that hold, or once held, evidence.
    pub comments: BTreeMap<CommentId, Comment>,
    /// Comments that were deleted: a late delivery must not bring one back.
    pub gone_comments: BTreeSet<CommentId>,
    /// The last comparison with the base.
    pub comparison: Option<Comparison>,
    /// What was asked by the buttons of the check run.
    pub pressed: Pressed,
    /// Comments with commands that no pass has heard yet.
    pub asks: BTreeMap<CommentId, Ask>,
}

/// What is remembered of a commit: it may be the head of several pull requests, or of none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadMemory {
    /// Check runs.
    pub runs: BTreeMap<CheckRunId, CheckRun>,
    /// Newest status per context.
    pub statuses: BTreeMap<String, CommitStatus>,
    /// Workflow runs.
    pub workflows: Vec<WorkflowRun>,
    /// When GitHub was last asked which pull requests have this head, and knew none.
    pub no_pulls_at: Option<Timestamp>,
}

/// The policy's text at one tip of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// At this tip.
    pub tip: Oid,
    /// The blob and its text; `None` when it is confirmed that there is none.
    pub file: Option<(PolicyDigest, String)>,
}

/// One push to a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// The tip before; `None` when the branch was created.
    pub before: Option<Oid>,
    /// The tip after; `None` when the branch was deleted.
    pub after: Option<Oid>,
    /// Whether the policy's text is surely the same at both.
    pub policy_untouched: bool,
}

/// What is remembered of a base branch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BaseMemory {
    /// Its tip; `None` when it is not known or the branch is gone.
    pub tip: Option<Oid>,
    /// The last pushes that were heard of, to tell late ones from new ones.
    pub moves: Vec<Move>,
    /// The policy there.
    pub policy: Option<PolicyText>,
    /// The platform's rules there.
    pub rules: Option<Vec<PlatformRule>>,
}

/// What is remembered of a repository.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RepoMemory {
    /// Its identity and name.
    pub repo: Option<Repository>,
    /// The App may act in it (installed, not suspended, not archived).
    pub active: bool,
    /// Since when passes are made here. Comments on older pull requests may be from before.
    pub watched_since: Option<Timestamp>,
    /// Its base branches.
    pub bases: BTreeMap<BaseRef, BaseMemory>,
}

/// What the App last published about a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// On which head.
    pub head: HeadSha,
    /// The check run.
    pub run: CheckRunId,
    /// The digest of what it says.
    pub digest: String,
    /// The digest of the gates' states alone.
    pub shape: String,
    /// What it concluded; `None` while it is open. A completed run is never reopened: a new one is made.
    pub conclusion: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// How a pull request ended, once the ledger has been told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concluded {
    /// The App merged it, and the landed commit was compared with what was judged; the sentence says
    /// how they compare.
    Landed(String),
    /// Somebody or something else merged it.
    PastTheGate(String),
}

/// What a change of the policy would do, as it was found out last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Previewed {
    /// Of which head.
    pub head: HeadSha,
    /// Into which base.
    pub base: BaseRef,
    /// In place of which policy.
    pub instead_of: PolicyDigest,
    /// When.
    pub at: Timestamp,
    /// What was found, as the room `preview` writes it.
    pub found: serde_json::Value,
}

/// What passes keep about a pull request. Only the holder of its lease writes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PullRecord {
    /// The check run as published.
    pub published: Option<Published>,
    /// How many times something was published: names the next publication in the journal of effects.
    pub publications: u64,
    /// What became of it in the end, once that was recorded.
    pub concluded: Option<Concluded>,
    /// Whether the ledger was told that it is held.
    pub held: bool,
    /// The head that was seen last, and when it was seen first.
    pub head_seen: Option<(HeadSha, Timestamp)>,
    /// Since when each gate has been in its state, for that head.
    pub since: BTreeMap<String, (String, Timestamp)>,
    /// The last refusal of a merge.
    pub refusal: Option<Refusal>,
    /// The last verdict as JSON, as every face shows it.
    pub verdict: Option<serde_json::Value>,
    /// When the first pass looked at it. What was written before is no command: the App was not there.
    pub first_pass_at: Option<Timestamp>,
    /// Whether a pass has read everything about it from GitHub; not while its deliveries alone told of it.
    pub read_whole: bool,
    /// What was asked for and stands.
    pub requests: Requests,
    /// Comments whose commands were heard, for good.
    pub heard: BTreeSet<CommentId>,
    /// Comments whose commands wait, and since when they were tried.
    pub tried: BTreeMap<CommentId, Timestamp>,
    /// How often.
    pub tries: BTreeMap<CommentId, u32>,
    /// What their authors are still to be told.
    pub replies: Vec<Reply>,
    /// When answers were written, of the last hour.
    pub answered_at: Vec<Timestamp>,
    /// When comments that anybody may write were heard, of the last hour.
    pub open_asks_at: Vec<Timestamp>,
    /// When the press of the button was heard that asked last for a verification.
    pub pressed_at: Option<Timestamp>,
    /// Reports of verifiers that the ledger was told of.
    pub reported: BTreeSet<String>,
    /// The head of which it was written down that it would have been merged.
    pub would: Option<HeadSha>,
    /// Somebody was told that descriptions hold no commands.
    pub hinted: bool,
    /// What this pull request's change of the policy would do; `None` where it changes none.
    pub previewed: Option<Previewed>,
    /// How many passes in a row read from GitHub what remembered facts had promised otherwise.
    pub disagreements: u32,
    /// The head that was cleared to merge under a policy that then deletes its branch, until that is done.
    pub branch_due: Option<HeadSha>,
}

/// One change to what is remembered. `BTreeMap`s are written by id, so a repetition changes nothing.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Change {
    /// The App may act in this repository, and this is its name now.
    Repo(Repository),
    /// A delivery named this repository: it is learned if it was not known, and not touched if it was
    /// (a late delivery may bear an old name, or come after a suspension).
    RepoSeen(Repository),
    /// The App may act in what is known of this installation. That it may not is never a delivery's to
    /// say: GitHub is asked.
    InstallationActive(InstallationId),
    Pull(RepoId, Box<PullRequest>),
    Review(RepoId, PullNumber, Review),
    Comment(RepoId, PullNumber, Comment),
    CommentGone(RepoId, PullNumber, CommentId),
    Run(RepoId, CheckRun),
    /// Runs of this suite are being run again: what they concluded no longer counts.
    SuiteRerun(RepoId, HeadSha, super::model::SuiteId),
    Status(RepoId, HeadSha, CommitStatus),
    Workflow(RepoId, WorkflowRun),
    Pushed(RepoId, PullNumber, Pushed),
    Tip {
        repo: RepoId,
        base: BaseRef,
        before: Option<Oid>,
        after: Option<Oid>,
        policy_untouched: bool,
    },
    Hold(RepoId, PullNumber, Hold),
    /// Let go by a button, and when.
    Unhold(RepoId, PullNumber, Timestamp),
    /// A verification was asked for by a button.
    Verify(RepoId, PullNumber, PressedVerify),
    /// A comment with commands was written.
    Asked(RepoId, PullNumber, Ask),
    /// Something happened to an issue.
    IssueTouched(RepoId, PullNumber, Touch),
    /// A comment with commands was written on an issue that is no pull request.
    AskedOnIssue(RepoId, PullNumber, Ask),
}

/// Whom to wake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wake {
    /// One key.
    Key(Key),
    /// Every open pull request with this head; when none is known, the head itself is looked up.
    Head(RepoId, HeadSha),
    /// Every open pull request into this base.
    Base(RepoId, BaseRef),
    /// Every repository of an installation.
    Installation(InstallationId),
}

/// What follows from one event.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Meaning {
    /// What to remember.
    pub changes: Vec<Change>,
    /// Whom to wake, confirmed reads wanted where the flag says so.
    pub wakes: Vec<(Wake, Confirm)>,
    /// For the operator: what was understood, or why nothing follows.
    pub note: String,
}

/// What a pass must read again, whatever is remembered. The stronger is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confirm {
    /// Remembered facts will do unless they promise a success.
    IfNeeded,
    /// The pull request itself: what GitHub computes about it without telling anybody.
    Pull,
    /// Read everything (a person asked, or the sweep).
    Always,
}
