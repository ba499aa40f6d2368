//! Carrying out a plan: the only room that holds [`Writes`].
//!
//! Every effect is recorded before it is tried (intent) and after (outcome), under a key of its own,
//! so that a process killed between any two steps knows on its return what it may have done:
//!
//! - *No record*: it was never tried.
//! - *An intent without an outcome*: it may have happened. A check run is looked for by its external
//!   id, a merge by reading the pull request, before anything is tried again.
//! - *An outcome*: what came of it is taken from the record, nothing is called.
//!
//! The merge is guarded three times: a [`Clearance`] from this very pass, the hold and the freeze read
//! once more from the store, and the head sent along as `sha`, so that GitHub refuses a head that
//! moved meanwhile. GitHub offers no guard for the base; the landed commit is compared afterwards.
//!
//! Known race: a hold that is recorded after the last look and before GitHub's answer comes too late;
//! the answer to it then says that the pull request is merged.

mod asking;
mod leaving;
mod telling;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::clock::Clock;
use crate::domain::attest;
use crate::domain::facts::{Freeze, PullState, Refusal, Snapshot};
use crate::domain::landing::{self, Expected, Landed};
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Concluded, Published, PullRecord};
use crate::domain::model::{AppId, CheckRunId, HeadSha, Oid, PullNumber, RepoId};
use crate::domain::plan::{CheckOrder, Effect, MergeOrder};
use crate::domain::request::Ask;
use crate::domain::verdict::Clearance;
use crate::gather::Kept;
use crate::github::{MergeAnswer, Reads, Refused, Writes};
use crate::store::{Begun, Ended, Lease, Store, StoreError, Stored};

/// Why an effect was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The store failed, or the lease was overtaken.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// GitHub refused a write that may be tried again.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// What carrying out a plan led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// GitHub agrees with the verdict.
    Settled,
    /// Something changed under way (the head moved, the base moved, an earlier try was found to have
    /// happened): look again at once.
    LookAgain,
    /// A verifier was told: what is published says so soon, from what is remembered.
    Told,
    /// It is merged; GitHub may take a moment to show it.
    Landed,
}

/// Carries out effects.
pub struct Execute {
    store: Arc<dyn Store>,
    reads: Arc<dyn Reads>,
    writes: Arc<dyn Writes>,
    clock: Clock,
    own_app: AppId,
}

/// The key under which the journal knows the merge of one head.
pub fn merge_key(repo: RepoId, number: PullNumber, head: &HeadSha) -> String {
    format!("merge:{repo}:{number}:{head}")
}

/// What our check runs are called among themselves.
fn external_id(number: PullNumber) -> String {
    format!("pull-{number}")
}

impl Execute {
    /// An executor over a store and both ways to GitHub.
    pub fn new(
        store: Arc<dyn Store>,
        reads: Arc<dyn Reads>,
        writes: Arc<dyn Writes>,
        clock: Clock,
        own_app: AppId,
    ) -> Self {
        Self {
            store,
            reads,
            writes,
            clock,
            own_app,
        }
    }

    /// Carries out one effect. `record` is brought up to date and saved under the lease.
    ///
    /// # Errors
    /// The store's, and GitHub's refusals of publications. What GitHub says to a merge is an outcome,
    /// not an error.
    pub async fn effect(
        &self,
        lease: &Lease,
        kept: &Kept,
        snapshot: &Snapshot,
        record: &mut PullRecord,
        effect: Effect,
    ) -> Result<Executed, ExecuteError> {
        match effect {
            Effect::PublishCheck(order) => self.publish(lease, kept, record, order).await,
            Effect::Merge(order) => self.merge(lease, kept, snapshot, record, order).await,
            Effect::DisarmAutoMerge => self.disarm(kept).await,
            Effect::DeleteBranch(order) => self.delete_branch(lease, kept, record, order).await,
            Effect::Hint(body) => self.hint(lease, kept, record, &body).await,
            Effect::Reply(order) => self.reply(lease, kept, record, order).await,
            Effect::AskVerifier(order) => {
                self.ask_verifier(lease, kept, snapshot, record, order)
                    .await
            }
        }
    }

    async fn publish(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        order: CheckOrder,
    ) -> Result<Executed, ExecuteError> {
        let now = self.clock.now();
        let key = format!(
            "check:{}:{}:{}",
            kept.repo.id,
            kept.number,
            record.publications + 1
        );
        let intent = json!({
            "effect": "publish_check",
            "head": order.head,
            "update": order.update,
            "digest": order.digest,
            "conclusion": order.page.conclusion,
        });
        let begun = self.store.begin(lease, &key, intent, None, now).await?;
        // Whether an earlier try made a run is not told by what becomes of this one.
        let unsure = matches!(begun, Begun::Unfinished(..));
        let found = match begun {
            Begun::First | Begun::Failed(_) => None,
            Begun::Done(value) => {
                // It happened, and the process ended before the record was written.
                return self.adopt(lease, record, &value).await;
            }
            // It may have made one also where this one only writes over what stands: facts change.
            Begun::Unfinished(..) => self.find_own_run(kept, record, &order.head).await?,
        };
        let written = self.write_check(kept, &order, found).await;
        match written {
            Ok(run) => {
                let published = Published {
                    head: order.head,
                    run,
                    digest: order.digest,
                    shape: order.shape,
                    conclusion: order.page.conclusion.map(str::to_owned),
                    at: now,
                };
                let done = json!(published);
                self.store.end(&key, Ended::Done(done), None, now).await?;
                self.keep_published(lease, record, published).await?;
                Ok(Executed::Settled)
            }
            Err(refused) => {
                if !unsure && !refused.outcome_unknown() {
                    let why = json!({ "refused": refused.to_string() });
                    self.store.end(&key, Ended::Failed(why), None, now).await?;
                }
                Err(refused.into())
            }
        }
    }

    /// Updates the run that is there, or makes one; a run that is gone is made anew.
    async fn write_check(
        &self,
        kept: &Kept,
        order: &CheckOrder,
        found: Option<CheckRunId>,
    ) -> Result<CheckRunId, Refused> {
        if let Some(run) = found.or(order.update) {
            let updated = self.writes.update_check(&kept.repo, run, &order.page).await;
            match updated {
                Ok(()) => return Ok(run),
                Err(Refused::NotFound(_)) => {}
                Err(refused) => return Err(refused),
            }
        }
        let external_id = external_id(kept.number);
        self.writes
            .create_check(&kept.repo, &order.head, &external_id, &order.page)
            .await
    }

    /// Takes over what an earlier try published, then lets the verdict be compared with it again.
    async fn adopt(
        &self,
        lease: &Lease,
        record: &mut PullRecord,
        value: &Value,
    ) -> Result<Executed, ExecuteError> {
        let published: Published =
            serde_json::from_value(value.clone()).map_err(|error| StoreError::Corrupt {
                what: "the outcome of a publication".into(),
                why: error.to_string(),
            })?;
        self.keep_published(lease, record, published).await?;
        Ok(Executed::LookAgain)
    }

    async fn keep_published(
        &self,
        lease: &Lease,
        record: &mut PullRecord,
        published: Published,
    ) -> Stored<()> {
        record.publications += 1;
        record.published = Some(published);
        let now = self.clock.now();
        self.store.save_record(lease, record, Vec::new(), now).await
    }

    /// The run that a try without an outcome made, if it made one: ours, for this pull request, on
    /// this head, newer than the one we know of.
    async fn find_own_run(
        &self,
        kept: &Kept,
        record: &PullRecord,
        head: &HeadSha,
    ) -> Result<Option<CheckRunId>, Refused> {
        let known = record.published.as_ref().map(|published| published.run);
        let wanted = external_id(kept.number);
        let runs = self.reads.check_runs(&kept.repo, head).await?;
        let ours = runs.items.into_iter().filter(|run| {
            run.app.as_ref().is_some_and(|app| app.id == self.own_app)
                && run.external_id.as_deref() == Some(wanted.as_str())
                && Some(run.id) > known
        });
        Ok(ours.map(|run| run.id).max())
    }

    async fn merge(
        &self,
        lease: &Lease,
        kept: &Kept,
        snapshot: &Snapshot,
        record: &mut PullRecord,
        order: MergeOrder,
    ) -> Result<Executed, ExecuteError> {
        let clearance = order.clearance();
        if self.stopped_meanwhile(kept, record, clearance).await? {
            return Ok(Executed::LookAgain);
        }
        let expected_tree = match self.expected_tree(kept, snapshot).await {
            Ok(tree) => tree,
            Err(Refused::NotFound(_)) => None,
            Err(refused) => return Err(refused.into()),
        };
        let expected = Expected {
            head: clearance.head().clone(),
            base_tip: clearance.base_tip().clone(),
            tree: expected_tree,
            method: clearance.method(),
        };
        let key = merge_key(kept.repo.id, kept.number, clearance.head());
        let now = self.clock.now();
        let intent = json!({
            "effect": "merge",
            "clearance": clearance,
            "expected_tree": expected.tree,
            "evidence": attest::relied_on(snapshot, clearance.head()),
            "policy_from": snapshot.policy.origin(),
        });
        let draft = self.draft(kept, Kind::Intent, clearance, intent.clone());
        let begun = self.store.begin(lease, &key, intent, Some(draft), now);
        match begun.await? {
            Begun::First | Begun::Failed(_) => {}
            // The pull request was read as open in this very pass, after that try: it did not happen.
            Begun::Unfinished(..) => {}
            Begun::Done(_) => return Ok(Executed::Landed),
        }
        let head = clearance.head();
        let answer = self
            .writes
            .merge(&kept.repo, kept.number, head, clearance.method())
            .await;
        self.after_merge(lease, kept, record, clearance, &expected, answer)
            .await
    }

    /// A hold or a freeze that was recorded while the facts were being confirmed, or a comment that asks
    /// for a stop and was not heard yet.
    async fn stopped_meanwhile(
        &self,
        kept: &Kept,
        record: &PullRecord,
        clearance: &Clearance,
    ) -> Stored<bool> {
        let repo = kept.repo.id;
        let memory = self.store.pull(repo, kept.number).await?.value;
        let frozen = self.store.freeze(repo, clearance.base()).await?;
        let held = record.requests.standing_hold(&memory.pressed).is_some();
        let unheard = |ask: &Ask| !record.heard.contains(&ask.comment);
        let asked = memory
            .asks
            .values()
            .any(|ask| unheard(ask) && ask.may_stop());
        Ok(held || asked || frozen.is_some())
    }

    /// The tree that the merge must give, where it can be foretold.
    async fn expected_tree(
        &self,
        kept: &Kept,
        snapshot: &Snapshot,
    ) -> Result<Option<Oid>, Refused> {
        let Some(comparison) = snapshot.comparison.known() else {
            return Ok(None);
        };
        if comparison.up_to_date() {
            return Ok(comparison.head_tree().cloned());
        }
        let trial = snapshot
            .pull
            .known()
            .and_then(|pull| pull.test_merge.clone());
        let Some(trial) = trial else {
            return Ok(None);
        };
        let commit = self.reads.commit(&kept.repo, &trial).await?;
        let of_these = commit.parents == [comparison.base_tip.clone(), comparison.head.oid()];
        Ok(of_these.then_some(commit.tree))
    }

    async fn after_merge(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        clearance: &Clearance,
        expected: &Expected,
        answer: MergeAnswer,
    ) -> Result<Executed, ExecuteError> {
        let key = merge_key(kept.repo.id, kept.number, clearance.head());
        let now = self.clock.now();
        let (ended, refusal) = match answer {
            MergeAnswer::Merged(commit) => {
                let body = json!({ "merged": commit });
                let draft = self.draft(kept, Kind::Outcome, clearance, body.clone());
                let ended = Ended::Done(body);
                self.store.end(&key, ended, Some(draft), now).await?;
                self.verify_landing(lease, kept, record, expected, &commit, clearance.base())
                    .await?;
                return Ok(Executed::Landed);
            }
            // It may have happened: the intent stays open and the next pass reads it back.
            MergeAnswer::Unknown(why) => return Err(Refused::NoAnswer(why).into()),
            MergeAnswer::Limited(after) => return Err(Refused::Limited { after }.into()),
            MergeAnswer::Unauthorized(why) => return Err(Refused::Unauthorized(why).into()),
            MergeAnswer::HeadMoved(why) => (json!({ "head_moved": why }), why),
            MergeAnswer::BaseMoved(why) => (json!({ "base_moved": why }), why),
            MergeAnswer::NotAllowed(why) => (json!({ "not_allowed": why }), why),
            MergeAnswer::Forbidden(why) => (json!({ "forbidden": why }), why),
            MergeAnswer::Gone(why) => (json!({ "gone": why }), why),
            MergeAnswer::Invalid(why) => (json!({ "invalid": why }), why),
        };
        let draft = self.draft(kept, Kind::Outcome, clearance, ended.clone());
        let ended = Ended::Failed(ended);
        self.store.end(&key, ended, Some(draft), now).await?;
        let before = record.refusal.take();
        let before = before.filter(|refusal| refusal.head == *clearance.head());
        record.refusal = Some(Refusal {
            head: clearance.head().clone(),
            times: before.map_or(1, |refusal| refusal.times.saturating_add(1)),
            reason: refusal,
            at: now,
        });
        self.store
            .save_record(lease, record, Vec::new(), now)
            .await?;
        Ok(Executed::LookAgain)
    }

    /// Reads the landed commit and compares it with what was judged; a mismatch freezes the base.
    ///
    /// # Errors
    /// The store's, and GitHub's when the commit cannot be read: the next pass tries again, since the
    /// record does not say "landed" before this has been done.
    pub async fn verify_landing(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        expected: &Expected,
        commit: &Oid,
        base: &crate::domain::model::BaseRef,
    ) -> Result<(), ExecuteError> {
        let landed = self.reads.commit(&kept.repo, commit).await?;
        let now = self.clock.now();
        let (word, sentence) = match landing::judge(expected, &landed) {
            Landed::AsJudged => ("as_judged", "exactly what was judged".to_owned()),
            Landed::Consistent(how) => ("consistent", how),
            Landed::Mismatch(what) => ("mismatch", what),
        };
        let body = json!({
            "commit": commit,
            "tree": landed.tree,
            "parents": landed.parents,
            "expected_tree": expected.tree,
            "expected_base": expected.base_tip,
            "judged": word,
            "how": sentence,
        });
        let draft = |kind, body| Draft {
            at: now,
            kind,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: Some(expected.head.clone()),
            body,
        };
        if word == "mismatch" {
            record.branch_due = None;
            let reason = format!(
                "#{} landed as {} and is not what was judged: {sentence}",
                kept.number,
                commit.short()
            );
            let freeze = Freeze {
                reason: reason.clone(),
                by: "countersign".into(),
                since: now,
            };
            let entry = draft(Kind::Freeze, json!({ "base": base, "frozen": reason }));
            self.store
                .set_freeze(kept.repo.id, base, Some(freeze), entry, now)
                .await?;
        }
        record.refusal = None;
        record.concluded = Some(Concluded::Landed(sentence));
        let entries = vec![draft(Kind::Landed, body)];
        self.store.save_record(lease, record, entries, now).await?;
        Ok(())
    }

    /// Writes down how a pull request that is found merged came to be so: by a merge of ours whose
    /// outcome was never recorded, or past the gate.
    ///
    /// # Errors
    /// The store's, and GitHub's when the landed commit cannot be read.
    pub async fn conclude(
        &self,
        lease: &Lease,
        kept: &Kept,
        snapshot: &Snapshot,
        record: &mut PullRecord,
    ) -> Result<(), ExecuteError> {
        let Some(pull) = snapshot.pull.known() else {
            return Ok(());
        };
        let PullState::Merged { by, commit, at } = &pull.state else {
            return Ok(());
        };
        if record.concluded.is_some() {
            return Ok(());
        }
        let now = self.clock.now();
        let key = merge_key(kept.repo.id, kept.number, &pull.head);
        let ours = match self.store.effect(&key).await? {
            Begun::Unfinished(_, intent) => Some(intent),
            Begun::Done(_) => self.store.effect_intent(&key).await?,
            Begun::First | Begun::Failed(_) => None,
        };
        if let (Some(intent), Some(commit)) = (&ours, commit)
            && let Some(expected) = expected_of(intent)
        {
            let body = json!({ "merged": commit, "found_by": "reading back" });
            let draft = Draft {
                at: now,
                kind: Kind::Outcome,
                repo: kept.repo.id,
                number: Some(kept.number),
                head: Some(pull.head.clone()),
                body: body.clone(),
            };
            self.store
                .end(&key, Ended::Done(body), Some(draft), now)
                .await?;
            return self
                .verify_landing(lease, kept, record, &expected, commit, &pull.base)
                .await;
        }
        let who = by.as_ref().map_or("somebody", |actor| actor.login.as_str());
        let sentence = format!("merged by {who}, not by Countersign");
        let body = json!({
            "by": by, "at": at, "commit": commit, "base": pull.base,
            "auto_merge": pull.auto_merge,
            "verdict_before": record.verdict.as_ref().and_then(|v| v.get("outcome")),
        });
        record.concluded = Some(Concluded::PastTheGate(sentence));
        let entry = Draft {
            at: now,
            kind: Kind::MergedPastGate,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: Some(pull.head.clone()),
            body,
        };
        self.store
            .save_record(lease, record, vec![entry], now)
            .await?;
        Ok(())
    }

    fn draft(&self, kept: &Kept, kind: Kind, clearance: &Clearance, body: Value) -> Draft {
        Draft {
            at: self.clock.now(),
            kind,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: Some(clearance.head().clone()),
            body,
        }
    }
}

/// What was cleared, from the recorded intent of its merge.
fn expected_of(intent: &Value) -> Option<Expected> {
    let clearance = intent.get("clearance")?;
    let field = |name: &str| clearance.get(name).cloned();
    Some(Expected {
        head: serde_json::from_value(field("head")?).ok()?,
        base_tip: serde_json::from_value(field("base_tip")?).ok()?,
        method: serde_json::from_value(field("method")?).ok()?,
        tree: serde_json::from_value(intent.get("expected_tree")?.clone()).ok()?,
    })
}
