//! One pass over one pull request: the product's whole flow, on one screen.
//!
//! A pass carries no input but its key. Whatever woke it (a delivery, the sweep, a person, a clock),
//! it asks the same questions in the same order, so the happy path and the recovery path are one. It
//! holds a fenced lease, never a database lock: a pass that was overtaken can write nothing more.
//!
//! Facts that were remembered may say "not yet". Before anything is published as a success, or merged,
//! they are read again in the same pass; a promise that the reading does not keep is looked at again
//! soon, since one of the two was old.

use std::sync::Arc;

use chrono::Duration;
use serde::Deserialize;
use serde_json::json;

use crate::clock::Clock;
use crate::domain::facts::PullState;
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Confirm, PullRecord};
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId};
use crate::domain::plan::{self, Plan, Standing};
use crate::domain::preview::Preview;
use crate::domain::render::json;
use crate::domain::verdict::{self, Outcome, Verdict};
use crate::execute::{Execute, ExecuteError, Executed};
use crate::gather::{Gather, Gathered, Kept};
use crate::github::Refused;
use crate::store::{Finish, Lease, Store, StoreError, Stored};
use crate::sweep::{Sweep, SweepError};

/// After a success or a merge that GitHub must still show everywhere.
const SOON: Duration = Duration::seconds(2);
/// How often a promise that the reading did not keep is looked at again, at growing distances.
const DISAGREEMENTS: u32 = 6;

/// Why a pass could not finish.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The store failed, or the lease was overtaken.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// GitHub refused something that must be tried again.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<ExecuteError> for PassError {
    fn from(error: ExecuteError) -> Self {
        match error {
            ExecuteError::Store(error) => Self::Store(error),
            ExecuteError::Refused(refused) => Self::Refused(refused),
        }
    }
}

impl From<SweepError> for PassError {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Store(error) => Self::Store(error),
            SweepError::Refused(refused) => Self::Refused(refused),
        }
    }
}

/// Makes passes.
pub struct Reconcile {
    store: Arc<dyn Store>,
    clock: Clock,
    gather: Gather,
    execute: Execute,
    sweep: Sweep,
    shadow: bool,
}

impl Reconcile {
    /// Passes over these rooms. With `shadow`, nothing is written to GitHub at all.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Clock,
        gather: Gather,
        execute: Execute,
        sweep: Sweep,
        shadow: bool,
    ) -> Self {
        Self {
            store,
            clock,
            gather,
            execute,
            sweep,
            shadow,
        }
    }

    /// Makes one pass over the key of the lease and says how it is to be given back.
    ///
    /// # Errors
    /// [`PassError`]; the worker gives the lease back for another try.
    pub async fn pass(&self, lease: &Lease) -> Result<Finish, PassError> {
        let made = match lease.key().clone() {
            Key::Pull(repo, number) => self.pull(lease, repo, number).await,
            Key::Head(repo, head) => self.sweep.head(repo, &head).await.map_err(PassError::from),
            Key::Repo(repo) => self.sweep.repo(repo).await.map_err(PassError::from),
        };
        match made {
            // A limit is nobody's fault: the key comes back when GitHub listens again.
            Err(PassError::Refused(Refused::Limited { after })) => Ok(Finish::Retry { after }),
            made => made,
        }
    }

    async fn pull(
        &self,
        lease: &Lease,
        repo: RepoId,
        number: PullNumber,
    ) -> Result<Finish, PassError> {
        let Some(kept) = self.gather.kept(repo, number).await? else {
            return Ok(Finish::Done { again: None });
        };
        let mut record = kept.record.clone();

        // gather, evaluate; and again on confirmed facts when that may change what is done
        let (gathered, verdict) = self.judge(lease, &kept, &mut record).await?;
        if let Some(after) = gathered.limited {
            return Ok(Finish::Retry { after });
        }
        if gathered.inactive {
            self.sweep.deactivate(repo).await?;
            return Ok(Finish::Done { again: None });
        }

        // step: what can no longer change is written down once
        let snapshot = &gathered.snapshot;
        if verdict.outcome == Outcome::Merged {
            self.execute
                .conclude(lease, &kept, snapshot, &mut record)
                .await?;
        }

        // plan
        let siblings = match &verdict.head {
            Some(head) => self.unready_siblings(repo, number, head).await?,
            None => Vec::new(),
        };
        record.previewed = self.gather.preview(&kept, &gathered, &verdict).await?;
        let preview = record.previewed.as_ref();
        let preview = preview.and_then(|known| Preview::deserialize(&known.found).ok());
        let standing = Standing {
            record: &record,
            siblings: &siblings,
            preview: preview.as_ref(),
            shadow: self.shadow,
        };
        let plan = plan::plan(&verdict, standing);

        // record, then execute
        self.record(lease, &kept, &mut record, &verdict, &gathered)
            .await?;
        self.carry_out(lease, &kept, &mut record, &gathered, plan)
            .await
    }

    async fn judge(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
    ) -> Result<(Gathered, Verdict), PassError> {
        let mut promised = false;
        if lease.confirm() < Confirm::Always {
            let look = lease.confirm() == Confirm::Pull;
            let gathered = self.gather.remembered(kept, look).await?;
            let verdict = verdict::decide(&gathered.snapshot);
            let merged = verdict.outcome == Outcome::Merged && record.concluded.is_none();
            promised = plan::promising(&verdict);
            let enough = !promised && !merged;
            if enough || gathered.limited.is_some() || gathered.inactive {
                return Ok((gathered, verdict));
            }
        }
        let gathered = match promised {
            true => self.gather.promised(kept).await?,
            false => self.gather.confirmed(kept).await?,
        };
        let verdict = verdict::decide(&gathered.snapshot);
        let kept_its_promise = !promised || plan::promising(&verdict);
        record.disagreements = if kept_its_promise {
            0
        } else {
            record.disagreements.saturating_add(1)
        };
        Ok((gathered, verdict))
    }

    /// Other open pull requests with the same head that are not ready: the head's one check speaks
    /// for all of them.
    async fn unready_siblings(
        &self,
        repo: RepoId,
        number: PullNumber,
        head: &HeadSha,
    ) -> Stored<Vec<PullNumber>> {
        let mut unready = Vec::new();
        for sibling in self.store.pulls_with_head(repo, head).await? {
            if sibling == number {
                continue;
            }
            let record = self.store.record(repo, sibling).await?;
            let outcome = record.verdict.as_ref().and_then(|v| v.get("outcome"));
            let outcome = outcome.and_then(|outcome| outcome.as_str());
            if !matches!(outcome, Some("ready" | "merged" | "ignored")) {
                unready.push(sibling);
            }
        }
        Ok(unready)
    }

    async fn record(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        verdict: &Verdict,
        gathered: &Gathered,
    ) -> Stored<()> {
        let now = self.clock.now();
        let value = json::value(verdict, &kept.repo.name);
        let draft = |kind, body| Draft {
            at: now,
            kind,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: verdict.head.clone(),
            body,
        };
        let mut entries = Vec::new();
        let before = record.verdict.as_ref();
        let told = |field: &str| before.and_then(|before| before.get(field).cloned());
        let news = ["outcome", "head", "base", "policy"]
            .iter()
            .any(|field| told(field).as_ref() != value.get(field));
        if news {
            entries.push(draft(Kind::Verdict, verdict_entry(verdict)));
        }
        let hold = gathered.snapshot.hold.as_ref();
        if hold.is_some() != record.held {
            record.held = hold.is_some();
            entries.push(draft(Kind::Hold, json!({ "hold": hold })));
        }
        record.since = verdict
            .gates
            .iter()
            .filter_map(|gate| {
                let since = gate.since?;
                Some((gate.gate.clone(), (gate.state.word().to_owned(), since)))
            })
            .collect();
        if let Some(head) = &verdict.head
            && record
                .head_seen
                .as_ref()
                .is_none_or(|(seen, _)| seen != head)
        {
            record.head_seen = Some((head.clone(), now));
        }
        record.refusal = record
            .refusal
            .take()
            .filter(|refusal| Some(&refusal.head) == verdict.head.as_ref());
        record.verdict = Some(value);
        self.store.save_record(lease, record, entries, now).await
    }

    async fn carry_out(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        gathered: &Gathered,
        plan: Plan,
    ) -> Result<Finish, PassError> {
        let snapshot = &gathered.snapshot;
        for effect in plan.effects {
            let done = self.execute.effect(lease, kept, snapshot, record, effect);
            match done.await {
                Ok(Executed::Settled) => {}
                Ok(Executed::LookAgain) => {
                    let again = Some((Duration::zero(), Confirm::Always));
                    return Ok(Finish::Done { again });
                }
                Ok(Executed::Landed) => {
                    let again = Some((SOON, Confirm::Pull));
                    return Ok(Finish::Done { again });
                }
                Err(error) => return Err(error.into()),
            }
        }
        let closed = snapshot
            .pull
            .known()
            .is_some_and(|pull| pull.state != PullState::Open);
        let disagreed = (1..=DISAGREEMENTS)
            .contains(&record.disagreements)
            .then(|| SOON * 2_i32.pow(record.disagreements - 1));
        let again = match (plan.again, disagreed) {
            _ if closed => None,
            (Some((rest, confirm)), Some(soon)) => {
                Some((rest.min(soon), confirm.max(Confirm::Always)))
            }
            (None, Some(soon)) => Some((soon, Confirm::Always)),
            (again, None) => again,
        };
        Ok(Finish::Done { again })
    }
}

/// What the ledger keeps of a verdict: enough to see on what each gate rested.
fn verdict_entry(verdict: &Verdict) -> serde_json::Value {
    let gates: Vec<_> = verdict
        .gates
        .iter()
        .map(|gate| json!({ "gate": gate.gate, "state": gate.state.word(), "reason": gate.reason }))
        .collect();
    json!({
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "base": verdict.base,
        "base_tip": verdict.base_tip,
        "policy": verdict.policy,
        "freshness": verdict.freshness,
        "snapshot": verdict.snapshot,
        "gates": gates,
    })
}
