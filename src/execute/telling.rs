//! Effects that tell somebody something: reactions, answers, requests to verifiers.
//!
//! None of them changes what merges. One that GitHub refuses for good (the comment is gone, the
//! conversation is locked) is given up and written down, so that it is not tried for ever; one whose
//! outcome is unknown is looked for before it is tried again, and where it cannot be found (a started
//! workflow has no mark of ours), it is not repeated.

use serde_json::{Value, json};

use super::{Execute, ExecuteError, Executed};
use crate::domain::dispatch::{self, Act};
use crate::domain::memory::PullRecord;
use crate::domain::model::{CommentId, PullNumber, Repository};
use crate::domain::plan::ReplyOrder;
use crate::domain::render::answer;
use crate::gather::Kept;
use crate::github::{Answer, Refused};
use crate::store::{Begun, Ended, Lease};

/// Whether trying again can help.
pub(super) fn for_good(refused: &Refused) -> bool {
    match refused {
        Refused::NotFound(_)
        | Refused::Forbidden(_)
        | Refused::Conflict(_)
        | Refused::Invalid { .. } => true,
        Refused::Unauthorized(_)
        | Refused::Inactive(_)
        | Refused::Limited { .. }
        | Refused::Resting { .. }
        | Refused::Server(_)
        | Refused::NoAnswer(_)
        | Refused::Unreadable(_) => false,
    }
}

/// The comment that a finished try wrote.
fn written(done: &Value) -> Option<CommentId> {
    CommentId::new(done.get("comment")?.as_u64()?)
}

impl Execute {
    /// GitHub's own auto-merge, which knows nothing of a hold. Doing it twice changes nothing.
    pub(super) async fn disarm(&self, kept: &Kept) -> Result<Executed, ExecuteError> {
        match self.writes.disarm_auto_merge(&kept.repo, kept.number).await {
            Ok(()) => Ok(Executed::Settled),
            // The gate says that it is still armed.
            Err(refused) if for_good(&refused) => {
                tracing::warn!(pull = %kept.number, %refused, "auto-merge could not be disarmed");
                Ok(Executed::Settled)
            }
            Err(refused) => Err(refused.into()),
        }
    }

    pub(super) async fn reply(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        order: ReplyOrder,
    ) -> Result<Executed, ExecuteError> {
        let now = self.clock.now();
        if self
            .reply_on(lease, &kept.repo, kept.number, &order)
            .await?
        {
            record.answered_at.push(now);
        }
        record
            .answered_at
            .retain(|at| now - *at < chrono::Duration::hours(1));
        record
            .replies
            .retain(|reply| reply.comment != order.comment);
        self.store
            .save_record(lease, record, Vec::new(), now)
            .await?;
        Ok(Executed::Settled)
    }

    pub(super) async fn hint(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        body: &str,
    ) -> Result<Executed, ExecuteError> {
        let key = format!("hint:{}:{}", kept.repo.id, kept.number);
        let marker = answer::hint_marker(kept.number);
        self.say_once(lease, &kept.repo, kept.number, &key, &marker, body)
            .await?;
        record.hinted = true;
        let now = self.clock.now();
        self.store
            .save_record(lease, record, Vec::new(), now)
            .await?;
        Ok(Executed::Settled)
    }

    /// Reacts to a comment on an issue or pull request and answers it; tells whether there was an answer
    /// to write.
    ///
    /// # Errors
    /// The store's, and GitHub's refusals that may pass.
    pub async fn reply_on(
        &self,
        lease: &Lease,
        repo: &Repository,
        number: PullNumber,
        order: &ReplyOrder,
    ) -> Result<bool, ExecuteError> {
        let content = order.receipt.content();
        match self.writes.react(repo, order.comment, content).await {
            Ok(()) => {}
            Err(refused) if for_good(&refused) => {
                tracing::info!(comment = %order.comment, %refused, "no reaction");
            }
            Err(refused) => return Err(refused.into()),
        }
        let Some(body) = &order.body else {
            return Ok(false);
        };
        let key = format!("answer:{}:{}", repo.id, order.comment);
        let marker = answer::marker(order.comment);
        self.say_once(lease, repo, number, &key, &marker, body)
            .await?;
        Ok(true)
    }

    /// Writes one comment, once, whatever happens in between. `body` must hold the marker.
    pub(super) async fn say_once(
        &self,
        lease: &Lease,
        repo: &Repository,
        number: PullNumber,
        key: &str,
        marker: &str,
        body: &str,
    ) -> Result<Option<CommentId>, ExecuteError> {
        let now = self.clock.now();
        let intent = json!({ "effect": "comment", "on": number });
        let found = match self.store.begin(lease, key, intent, None, now).await? {
            Begun::Done(done) => return Ok(written(&done)),
            Begun::First | Begun::Failed(_) => None,
            Begun::Unfinished(..) => {
                let found = self.reads.own_comment(repo, number, self.own_app, marker);
                match found.await {
                    // It cannot be looked for any more, so it is not tried any more either.
                    Err(refused) if for_good(&refused) => {
                        self.ended(key, Err(refused)).await?;
                        return Ok(None);
                    }
                    found => found?,
                }
            }
        };
        let written = match found {
            Some(comment) => Ok(comment),
            None => self.writes.comment(repo, number, body).await,
        };
        let done = written.clone().map(|comment| json!({ "comment": comment }));
        self.ended(key, done).await?;
        Ok(written.ok())
    }

    /// Makes an issue agree with what was decided about its dispatch. Labels are as they are afterwards,
    /// however often that is done. Tells the comment that was written.
    ///
    /// # Errors
    /// The store's, and GitHub's refusals that may pass.
    pub async fn act(
        &self,
        lease: &Lease,
        repo: &Repository,
        act: &Act,
    ) -> Result<Option<CommentId>, ExecuteError> {
        let (done, said) = match act {
            Act::Unlabel(issue, label) => {
                (self.writes.remove_label(repo, *issue, label).await, None)
            }
            Act::Label(issue, label) => (self.writes.add_label(repo, *issue, label).await, None),
            Act::Say {
                comment: Some(comment),
                text,
                ..
            } => (
                self.writes.edit_comment(repo, *comment, text).await,
                Some(*comment),
            ),
            Act::Say {
                issue,
                comment: None,
                order,
                text,
            } => {
                let key = format!("dispatch:{}:{order}", repo.id);
                let marker = dispatch::marker(*order);
                let before = self.store.effect(&key).await?;
                let comment = self
                    .say_once(lease, repo, *issue, &key, &marker, text)
                    .await?;
                match (before, comment) {
                    // An earlier try may have written it, with what was so then.
                    (Begun::Unfinished(..) | Begun::Done(_), Some(comment)) => (
                        self.writes.edit_comment(repo, comment, text).await,
                        Some(comment),
                    ),
                    (_, comment) => return Ok(comment),
                }
            }
        };
        match done {
            Ok(()) => Ok(said),
            Err(refused) if for_good(&refused) => {
                tracing::warn!(repo = %repo.name, ?act, %refused, "an issue was left as it is");
                Ok(said)
            }
            Err(refused) => Err(refused.into()),
        }
    }

    /// Records what came of a try. A refusal for good counts as an end.
    pub(super) async fn ended(
        &self,
        key: &str,
        answer: Answer<Value>,
    ) -> Result<bool, ExecuteError> {
        let now = self.clock.now();
        match answer {
            Ok(done) => {
                self.store.end(key, Ended::Done(done), None, now).await?;
                Ok(true)
            }
            Err(refused) if for_good(&refused) => {
                tracing::info!(key, %refused, "given up");
                let why = json!({ "refused": refused.to_string() });
                self.store.end(key, Ended::Done(why), None, now).await?;
                Ok(false)
            }
            Err(refused) => {
                if !refused.outcome_unknown() {
                    let why = json!({ "refused": refused.to_string() });
                    self.store.end(key, Ended::Failed(why), None, now).await?;
                }
                Err(refused.into())
            }
        }
    }
}
