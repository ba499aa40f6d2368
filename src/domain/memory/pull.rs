//! How deliveries change what is remembered of a pull request.

use sha2::{Digest, Sha256};

use super::{Change, PullMemory};
use crate::domain::event::holds_evidence;
use crate::domain::facts::{Comment, PullRequest, PullState, Pushed, Review, ReviewState};
use crate::domain::model::CommentId;
use crate::domain::request::Ask;

/// How many pushes to one pull request are kept. Who pushes more often is among the last ones.
const PUSHES_KEPT: usize = 1_000;

impl PullMemory {
    /// Applies a change that is about this pull request; any other changes nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Pull(_, pull) => self.see_pull(pull),
            Change::Review(_, _, review) => self.see_review(review.clone()),
            Change::Comment(_, _, comment) => self.see_comment(comment),
            Change::CommentGone(_, _, id) => self.lose_comment(*id),
            Change::Hold(_, _, hold) => self.pressed.hold = Some(hold.clone()),
            Change::Unhold(_, _, at) => {
                self.pressed.hold = None;
                self.pressed.let_go_at = Some(*at);
            }
            Change::Verify(_, _, pressed) => self.pressed.verify = Some(pressed.clone()),
            Change::Asked(_, _, ask) => self.hear_of(ask.clone()),
            Change::Pushed(_, _, push) => self.see_push(push),
            Change::Repo(_)
            | Change::RepoSeen(_)
            | Change::InstallationActive(..)
            | Change::Run(..)
            | Change::SuiteRerun(..)
            | Change::Status(..)
            | Change::Workflow(..)
            | Change::IssueTouched(..)
            | Change::AskedOnIssue(..)
            | Change::Tip { .. } => {}
        }
    }

    /// Remembers a comment with commands, with the head that is known to have stood when it was
    /// written: a push may be heard of before the comment that was written before it. A repeated
    /// delivery keeps the head of the first.
    pub fn hear_of(&mut self, ask: Ask) {
        let stood = self.head_since.is_none_or(|since| since <= ask.at);
        let pull = self.pull.as_ref().filter(|_| stood);
        let head = pull.map(|pull| pull.head.clone());
        self.asks.entry(ask.comment).or_insert(Ask { head, ..ask });
    }

    /// Remembers a pull request's fields, unless what is remembered is newer.
    ///
    /// A merged pull request stays merged: GitHub has no way back, so whatever says otherwise is
    /// older, also within one second.
    fn see_pull(&mut self, seen: &PullRequest) {
        if let Some(known) = &self.pull {
            let merged = |pull: &PullRequest| matches!(pull.state, PullState::Merged { .. });
            if seen.updated_at < known.updated_at || (merged(known) && !merged(seen)) {
                return;
            }
            if known.base != seen.base {
                self.comparison = None;
            }
        }
        self.comparison.take_if(|made| made.head != seen.head);
        self.know_pull(seen.clone());
    }

    /// Keeps each account once a head, and no more than the last [`PUSHES_KEPT`].
    fn see_push(&mut self, seen: &Pushed) {
        let same = |push: &Pushed| push.head == seen.head && push.by.id == seen.by.id;
        if !self.pushes.iter().any(same) {
            self.pushes.push(seen.clone());
            let over = self.pushes.len().saturating_sub(PUSHES_KEPT);
            self.pushes.drain(..over);
        }
    }

    /// Takes a pull request's fields for the ones that stand.
    pub fn know_pull(&mut self, seen: PullRequest) {
        if self
            .pull
            .as_ref()
            .is_none_or(|known| known.head != seen.head)
        {
            self.head_since = Some(seen.updated_at);
        }
        let known = self.pull.as_ref();
        if known.is_some_and(|known| known.base != seen.base) {
            self.base_since = Some(seen.updated_at);
        }
        self.pull = Some(seen);
    }

    /// Remembers a review, from a delivery or from a list that was read.
    ///
    /// What was seen first stays: the head it is bound to and its text. A text that differs later
    /// marks the review as edited. Only evidence is compared (a text without a fenced block counts as
    /// empty), so a mended typo voids nothing, and texts compare equal whether or not they were
    /// trimmed to their evidence. A dismissal stays: GitHub has no way back from it.
    pub fn see_review(&mut self, seen: Review) {
        let digest = evidence_digest(&seen.body);
        let Some(known) = self.reviews.get_mut(&seen.id) else {
            self.review_texts.insert(seen.id, digest);
            let body = if holds_evidence(&seen.body) {
                seen.body
            } else {
                String::new()
            };
            self.reviews.insert(seen.id, Review { body, ..seen });
            return;
        };
        let first = self.review_texts.entry(seen.id).or_insert_with(|| {
            // A memory written before digests were kept: what stands there was seen first.
            evidence_digest(&known.body)
        });
        known.edited |= seen.edited || *first != digest;
        if known.state != ReviewState::Dismissed {
            known.state = seen.state;
        }
        known.author = known.author.take().or(seen.author);
        if seen.head_told && !known.head_told {
            // What a list said may have been a later head.
            (known.head, known.head_told) = (seen.head, true);
            known.base = seen.base;
        } else {
            known.head = known.head.take().or(seen.head);
            known.base = known.base.take().or(seen.base);
        }
        known.submitted_at = known.submitted_at.or(seen.submitted_at);
        known.url = seen.url.or(known.url.take());
    }

    /// Remembers the comments of a list that was read whole: what is not in it any more was deleted.
    pub fn see_comments(&mut self, list: &[Comment]) {
        for comment in list {
            self.see_comment(comment);
        }
        for (id, known) in &mut self.comments {
            known.edited |= !list.iter().any(|comment| comment.id == *id);
        }
    }

    /// Remembers a comment if it holds evidence, or once did. Its text is the one seen first: a report
    /// that somebody changes loses what it gave, and keeps what it took.
    pub fn see_comment(&mut self, seen: &Comment) {
        let gone = self.gone_comments.contains(&seen.id);
        match self.comments.get_mut(&seen.id) {
            Some(known) => known.edited |= gone || seen.edited || known.body != seen.body,
            None if seen.edited || holds_evidence(&seen.body) => {
                let mut seen = seen.clone();
                seen.edited |= gone;
                self.comments.insert(seen.id, seen);
            }
            None => {}
        }
    }

    /// Marks a comment as taken back, for good: a `created` that comes late, or again, must not bring
    /// back what somebody took back.
    fn lose_comment(&mut self, id: CommentId) {
        if let Some(known) = self.comments.get_mut(&id) {
            known.edited = true;
        }
        self.gone_comments.insert(id);
    }
}

/// SHA-256 of a text as far as it is evidence: a text without a fenced block counts as empty.
fn evidence_digest(text: &str) -> String {
    let evidence = if holds_evidence(text) { text } else { "" };
    hex::encode(Sha256::digest(evidence.as_bytes()))
}
