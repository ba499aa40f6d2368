//! How much agent work may be started, on which issues, in which order.
//!
//! A label on an issue asks for a dispatch. It is granted while the open agent pull requests and the
//! grants that have opened none yet are not more than the policy's limit; else the label is taken off,
//! the issue waits in line, and one comment says why, who holds the slots, and what its place is.
//!
//! # Properties
//!
//! - **One allocator.** Everything about one repository is decided by [`step`], in one pass under one
//!   lease: counting, reserving and what to write. Two labels in one second meet in one state.
//! - **Level, not edge.** What is to be written follows from the state (this issue waits, so this label
//!   is not on it), not from what happened. A write that was lost is made by the next pass.
//! - **What is not known is not granted.** Without a whole list of open pull requests, nothing is.
//! - **Nobody is forgotten.** An ask leaves the line only by a grant, or because the issue closed, was
//!   moved or deleted, or somebody took the queued label off; each is in the ledger.
//!
//! # Known races
//!
//! A platform that listens for the same label may start before the label is taken off: GitHub tells
//! both at once. The pull request it opens is then over the limit, and is shown as such
//! ([`Record::over`]); `grant: granted` has no such race. One that puts its label on again each time is
//! not fought for ever: after ten times within an hour the label stays on until the hour is over, and
//! the comment says so. A label that was put on and taken off before
//! anybody looked has asked for nothing.
//!
//! Labels on pull requests are not looked at: a fix run shortens the queue.

mod answering;
mod asking;
mod naming;
mod share;
mod step;
mod words;

#[cfg(test)]
mod tests;

pub use answering::{Answer, Queued, answer};
pub use asking::{Heard, Hearing, hear, takes_writer};
pub use naming::names;
pub use step::{Facts, Step, count, step};
pub use words::{comment_text, marker, reason};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command::Priority;
use super::facts::PullState;
use super::model::{CommentId, PullNumber, Timestamp};
use super::request::{ANSWERS_AN_HOUR, Reply};

/// For how long answers, and labels that were taken off, are counted.
const HOUR: chrono::Duration = chrono::Duration::hours(1);
/// How often in an hour asking labels are taken off one issue.
const MOST_TAKEN_OFF: usize = 10;
/// How many comments on issues are remembered as heard.
const MOST_HEARD: usize = 1_000;

/// An agent's open pull request: it holds a slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its number.
    pub number: PullNumber,
    /// Its title (untrusted text).
    pub title: String,
    /// Since when it is open.
    pub since: Timestamp,
}

/// An issue that waits in line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The issue.
    pub issue: PullNumber,
    /// Its title (untrusted text).
    pub title: String,
    /// The labels that asked.
    pub labels: Vec<String>,
    /// Its place in the order of asking.
    pub order: u64,
    /// Since when.
    pub since: Timestamp,
    /// It counts towards the share that is kept for certain labels.
    pub shared: bool,
    /// Its priority.
    pub priority: Priority,
    /// What keeps it back, besides the limit: one sentence.
    pub lacks: Option<String>,
    /// Its labels are as they should be, so that a missing one was taken off by somebody.
    pub settled: bool,
    /// The label under which it settled: the policy may name another one by now.
    #[serde(default)]
    pub under: String,
    /// When asking labels were taken off, of the last hour.
    #[serde(default)]
    pub taken_off: Vec<Timestamp>,
    /// The comment that says why it waits.
    pub comment: Option<CommentId>,
    /// A digest of what that comment says.
    pub told: String,
}

impl Waiting {
    /// Whether its labels were as they should be under this name of the queued label.
    fn settled_under(&self, queued: &str) -> bool {
        self.settled && (self.under.is_empty() || self.under == queued)
    }

    /// How often an asking label may still be taken off: a platform that puts it on again each time
    /// would do so for ever.
    fn tries_left(&self, now: Timestamp) -> usize {
        let taken = self.taken_off.iter().filter(|at| now - **at < HOUR);
        MOST_TAKEN_OFF.saturating_sub(taken.count())
    }

    /// Notes that asking labels are taken off.
    fn took_off(&mut self, labels: usize, now: Timestamp) {
        self.taken_off.retain(|at| now - *at < HOUR);
        self.taken_off.extend(std::iter::repeat_n(now, labels));
    }
}

/// A dispatch that was granted and has not opened a pull request yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The issue.
    pub issue: PullNumber,
    /// Its title (untrusted text).
    pub title: String,
    /// The labels that asked.
    pub labels: Vec<String>,
    /// Since when.
    pub at: Timestamp,
    /// It counts towards the share.
    pub shared: bool,
    /// Its labels are as they should be.
    pub settled: bool,
    /// The labels that tell of it, as the policy had them when it was granted. Another one put on later
    /// would start the same work again.
    #[serde(default)]
    pub under: Vec<String>,
    /// The comment that said why it waited, if it did.
    pub comment: Option<CommentId>,
    /// A digest of what that comment says.
    pub told: String,
}

/// A grant that has ended, whose label may still be on its issue: that label asks for nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// The labels.
    pub labels: Vec<String>,
    /// Since when.
    pub at: Timestamp,
}

/// A grant of the past, for the share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The issue.
    pub issue: PullNumber,
    /// When.
    pub at: Timestamp,
    /// It counted towards the share.
    pub shared: bool,
}

/// An agent's pull request for an issue that was not granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Over {
    /// The pull request.
    pub pull: PullNumber,
    /// The issue that it names.
    pub issue: PullNumber,
    /// When that was found.
    pub at: Timestamp,
}

/// What is known of the limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// The agents' open pull requests, every one, oldest first.
    Known(Vec<Holder>),
    /// They could not be listed whole; why.
    Unknown(String),
}

/// What passes keep about the dispatches of one repository. Only the holder of its lease writes it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Who waits.
    pub queue: Vec<Waiting>,
    /// Who was granted and is under way.
    pub grants: Vec<Grant>,
    /// Labels that have been answered.
    pub spent: BTreeMap<PullNumber, Spent>,
    /// The last grants, oldest first.
    pub past: Vec<Past>,
    /// Agents' pull requests over the limit.
    pub over: Vec<Over>,
    /// Priorities that people gave to issues.
    pub priorities: BTreeMap<PullNumber, Priority>,
    /// The next place in the order of asking.
    pub next_order: u64,
    /// The last comments on issues that were heard.
    pub heard: std::collections::BTreeSet<CommentId>,
    /// Every comment up to this one counts as heard.
    pub heard_up_to: Option<CommentId>,
    /// Comments whose commands wait, and since when they were tried.
    pub tried: BTreeMap<CommentId, Timestamp>,
    /// What their authors are still to be told, and on which issue.
    pub replies: Vec<(PullNumber, Reply)>,
    /// When answers were written, of the last hour, and on which issue.
    pub answered_at: Vec<(PullNumber, Timestamp)>,
    /// The limit as it was last counted, and when.
    pub counted: Option<(Count, Timestamp)>,
}

impl Record {
    /// Whether there is nothing that a pass would have to look after.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.grants.is_empty() && self.replies.is_empty()
    }

    /// Whether a comment was heard, for good.
    pub fn has_heard(&self, comment: CommentId) -> bool {
        Some(comment) <= self.heard_up_to || self.heard.contains(&comment)
    }

    /// Notes that a comment was heard. Of very many only the last are kept one by one.
    pub fn note_heard(&mut self, comment: CommentId) {
        self.heard.insert(comment);
        while self.heard.len() > MOST_HEARD {
            self.heard_up_to = self.heard.pop_first().max(self.heard_up_to);
        }
    }

    /// Whether an issue may get another answer now.
    pub fn may_answer(&self, issue: PullNumber, now: Timestamp) -> bool {
        let on_it = |(on, at): &&(PullNumber, Timestamp)| *on == issue && now - *at < HOUR;
        self.answered_at.iter().filter(on_it).count() < ANSWERS_AN_HOUR
    }

    /// Notes that an issue was answered.
    pub fn note_answered(&mut self, issue: PullNumber, now: Timestamp) {
        self.answered_at.retain(|(_, at)| now - *at < HOUR);
        self.answered_at.push((issue, now));
    }

    /// Notes that something was said on an issue, and in which comment.
    pub fn said(&mut self, issue: PullNumber, comment: CommentId, text: &str) {
        let digest = words::digest(text);
        let of_a_grant = self.grants.iter().any(|g| g.comment == Some(comment));
        let waiting = self.queue.iter_mut().filter(|w| w.issue == issue);
        for waiting in waiting.filter(|_| !of_a_grant) {
            waiting.comment = Some(comment);
            waiting.told.clone_from(&digest);
        }
        for grant in self
            .grants
            .iter_mut()
            .filter(|g| g.comment == Some(comment))
        {
            grant.told.clone_from(&digest);
        }
    }

    /// Who waits, in the order in which they get the next slots.
    pub fn line(&self) -> Vec<&Waiting> {
        let mut line: Vec<&Waiting> = self.queue.iter().collect();
        line.sort_by_key(|waiting| (waiting.priority, !waiting.shared, waiting.order));
        line
    }
}

/// One write that makes an issue agree with the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Take a label off.
    Unlabel(PullNumber, String),
    /// Put a label on.
    Label(PullNumber, String),
    /// Say this on the issue: in the comment that is there, or in a new one.
    Say {
        /// On which issue.
        issue: PullNumber,
        /// In this comment, if it was written before.
        comment: Option<CommentId>,
        /// By which it is found again.
        order: u64,
        /// What.
        text: String,
    },
}

/// Whether a pull request is open.
fn is_open(state: &PullState) -> bool {
    matches!(state, PullState::Open)
}
