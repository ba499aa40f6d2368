//! One pass over one pull request: the product's whole flow, on one screen.
//!
//! A pass carries no input but its key. Whatever woke it (a delivery, the sweep, a person, a clock),
//! it asks the same questions in the same order, so the happy path and the recovery path are one. It
//! holds a fenced lease, never a database lock: a pass that was overtaken can write nothing more.
//!
//! Facts that were remembered may say "not yet". Before anything is published as a success, or merged,
//! they are read again in the same pass; a promise that the reading does not keep is looked at again
//! soon, since one of the two was old.

mod asking;
mod waiting;

use std::sync::Arc;

use chrono::Duration;
use serde::Deserialize;
use serde_json::json;

use crate::clock::Clock;
use crate::dispatch::Dispatching;
use crate::domain::command::{self, Said};
use crate::domain::facts::{Freshness, PolicyFact, PullState, Snapshot};
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Confirm, PullRecord};
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId};
use crate::domain::plan::{self, Effect, Plan, Standing};
use crate::domain::preview::Preview;
use crate::domain::render::json;
use crate::domain::verdict::{self, Landing, Outcome, Verdict};
use crate::execute::{Execute, ExecuteError, Executed};
use crate::gather::{Gather, Gathered, Kept};
use crate::github::Refused;
use crate::github::class::{self, Class};
use crate::hear::{self, Hear};
use crate::store::{Finish, Lease, Store, StoreError, Stored};
use crate::sweep::{Sweep, SweepError};

/// After a success or a merge that GitHub must still show everywhere.
const SOON: Duration = Duration::seconds(2);
/// How old a pull request may be when the first pass looks at it, to count as a new one.
const NEWLY: Duration = Duration::hours(1);
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

/// The steps of a pass.
pub struct Steps {
    /// Reads the facts.
    pub gather: Gather,
    /// Hears what people ask.
    pub hear: Hear,
    /// Writes.
    pub execute: Execute,
    /// Heals what deliveries missed.
    pub sweep: Sweep,
    /// Gives slots for agents' work away.
    pub dispatching: Dispatching,
}

/// Makes passes.
pub struct Reconcile {
    store: Arc<dyn Store>,
    clock: Clock,
    gather: Gather,
    execute: Execute,
    hear: Hear,
    dispatching: Dispatching,
    sweep: Sweep,
    shadow: bool,
}

impl Reconcile {
    /// Passes over these rooms. With `shadow`, nothing is written to GitHub at all.
    pub fn new(store: Arc<dyn Store>, clock: Clock, steps: Steps, shadow: bool) -> Self {
        Self {
            store,
            clock,
            gather: steps.gather,
            execute: steps.execute,
            hear: steps.hear,
            dispatching: steps.dispatching,
            sweep: steps.sweep,
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
            Key::Repo(repo) => {
                let swept = self.sweep.repo(repo, lease.confirm());
                let swept = class::within(Class::Sweep, swept);
                swept.await.map_err(PassError::from)
            }
            Key::Dispatch(repo) => {
                let pass = self
                    .dispatching
                    .pass(lease, &self.gather, &self.execute, repo);
                pass.await.map_err(PassError::from)
            }
        };
        match made {
            // A limit is nobody's fault: the key comes back when GitHub listens again.
            Err(PassError::Refused(refused)) => match refused.wait() {
                Some(after) => Ok(Finish::Retry { after }),
                None => Err(refused.into()),
            },
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
        let span = tracing::Span::current();
        span.record("installation", kept.repo.installation.get());
        let mut record = kept.record.clone();

        // gather, evaluate; and again on confirmed facts when that may change what is done
        record.first_pass_at.get_or_insert(self.clock.now());
        let asked = hear::admit(&kept, &mut record, self.clock.now());
        let (mut gathered, mut verdict) = self.judge(lease, &kept, &mut record, asked).await?;
        if let Some(after) = gathered.limited {
            self.say_it_waits(lease, &kept, after).await?;
            return Ok(Finish::Retry { after });
        }
        if gathered.inactive {
            self.sweep.deactivate(repo).await?;
            return Ok(Finish::Done { again: None });
        }

        record.read_whole |= gathered.snapshot.freshness == Freshness::Confirmed;
        if let Some(pull) = gathered.snapshot.pull.known() {
            span.record("head", pull.head.as_str());
            record.requests.void(pull, &gathered.snapshot.policy);
        }

        // hear: what people asked for becomes facts
        let mut heard = self
            .listen(lease, &kept, &mut gathered, &mut verdict, &mut record)
            .await?;
        self.pressed(
            lease,
            &kept,
            &mut gathered,
            &mut verdict,
            &mut record,
            &mut heard,
        )
        .await?;

        // step: what can no longer change is written down once
        let snapshot = &gathered.snapshot;
        if verdict.outcome == Outcome::Merged {
            let concluded = self.execute.conclude(lease, &kept, snapshot, &mut record);
            class::within(Class::Merge, concluded).await?;
        }

        // plan
        let plan = self
            .plan(&kept, &gathered, &verdict, &mut record, heard)
            .await?;

        // record, then execute
        self.record(lease, &kept, &mut record, &verdict, &gathered)
            .await?;
        self.carry_out(lease, &kept, &mut record, &gathered, plan)
            .await
    }

    /// Hears what was asked in comments, and judges again where that changes anything. Only over facts
    /// that were read in this pass: whoever asks means what stands now.
    async fn listen(
        &self,
        lease: &Lease,
        kept: &Kept,
        gathered: &mut Gathered,
        verdict: &mut Verdict,
        record: &mut PullRecord,
    ) -> Stored<hear::Outcome> {
        let confirmed = gathered.snapshot.freshness == Freshness::Confirmed;
        if !confirmed || gathered.asks.is_empty() {
            return Ok(hear::Outcome::default());
        }
        let heard = self.hear.asks(lease, kept, gathered, verdict, record);
        let heard = heard.await?;
        if heard.changed {
            *verdict = verdict::decide(&gathered.snapshot);
        }
        Ok(heard)
    }

    async fn plan(
        &self,
        kept: &Kept,
        gathered: &Gathered,
        verdict: &Verdict,
        record: &mut PullRecord,
        heard: hear::Outcome,
    ) -> Stored<Plan> {
        let snapshot = &gathered.snapshot;
        let siblings = match &verdict.head {
            Some(head) => {
                self.unready_siblings(kept.repo.id, kept.number, head)
                    .await?
            }
            None => Vec::new(),
        };
        record.previewed = self.gather.preview(kept, gathered, verdict).await?;
        let preview = record.previewed.as_ref();
        let preview = preview.and_then(|known| Preview::deserialize(&known.found).ok());
        let asked_for = crate::domain::asking::decide(snapshot, verdict);
        if let Some(due) = verdict
            .clearance()
            .map(|_| plan::branch_due(verdict, snapshot))
        {
            record.branch_due = due;
        }
        let leaving = plan::leaving(record, snapshot, kept.repo.id);
        let standing = Standing {
            record,
            siblings: &siblings,
            preview: preview.as_ref(),
            shadow: self.shadow,
            auto_merge: snapshot.pull.known().is_some_and(|pull| pull.auto_merge),
            hint: hint(record, snapshot),
            leaving: leaving.as_ref(),
            wishes: &asking::orders(record, snapshot, &asked_for),
        };
        let mut plan = plan::plan(verdict, standing);
        if self.shadow {
            record.replies.clear();
        }
        if let Some(rest) = asking::again(&asked_for, snapshot) {
            plan.again = plan::sooner(plan.again, (rest, Confirm::IfNeeded));
        }
        if let Some(rest) = heard.again {
            plan.again = plan::sooner(plan.again, (rest, Confirm::Always));
        }
        Ok(plan)
    }

    async fn judge(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        asked: bool,
    ) -> Result<(Gathered, Verdict), PassError> {
        let (mut promised, mut wanted) = (false, false);
        if lease.confirm() < Confirm::Always && !asked {
            let look = lease.confirm() == Confirm::Pull;
            let gathered = self.gather.remembered(kept, look).await?;
            let verdict = verdict::decide(&gathered.snapshot);
            let merged = verdict.outcome == Outcome::Merged && record.concluded.is_none();
            promised = plan::promising(&verdict);
            wanted = !self.shadow && asking::wants(&gathered.snapshot, &verdict);
            let enough = !promised && !merged && !wanted;
            if enough || gathered.limited.is_some() || gathered.inactive {
                return Ok((gathered, verdict));
            }
        }
        let gathered = match (promised, wanted) {
            (true, _) => class::within(Class::Merge, self.gather.promised(kept)).await?,
            (false, true) => self.gather.promised(kept).await?,
            (false, false) => self.gather.confirmed(kept).await?,
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
        let mut value = json::value(verdict, &kept.repo.name);
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
        // What it was merged on is what its last verdict found; merged, nothing is looked at any more.
        if verdict.outcome == Outcome::Merged
            && let Some(before) = before
            && before.get("head") == value.get("head")
            && let Some(gates) = before.get("gates")
        {
            value["gates"] = gates.clone();
        }
        let told = |field: &str| before.and_then(|before| before.get(field).cloned());
        let news = ["outcome", "head", "base", "policy"]
            .iter()
            .any(|field| told(field).as_ref() != value.get(field));
        if news {
            entries.push(draft(Kind::Verdict, verdict_entry(verdict)));
        }
        if self.would_have(verdict) && record.would != verdict.head {
            record.would.clone_from(&verdict.head);
            entries.push(draft(Kind::WouldHave, json!({ "would": "merged" })));
        }
        let hold = gathered.snapshot.hold.as_ref();
        if hold.is_some() != record.held {
            record.held = hold.is_some();
            entries.push(draft(Kind::Hold, json!({ "hold": hold })));
        }
        for body in asking::reported(record, &gathered.snapshot) {
            entries.push(draft(Kind::Reported, body));
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

    /// Whether a head is ready where nothing is merged: the policy only observes, or the server writes
    /// nothing.
    fn would_have(&self, verdict: &Verdict) -> bool {
        verdict.outcome == Outcome::Ready
            && verdict.freshness == Freshness::Confirmed
            && (self.shadow || verdict.landing == Landing::Observed)
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
        let mut told = false;
        for effect in plan.effects {
            let class = match &effect {
                Effect::Merge(_) => Class::Merge,
                Effect::PublishCheck(_) => Class::Check,
                _ => Class::Answer,
            };
            let done = self.execute.effect(lease, kept, snapshot, record, effect);
            match class::within(class, done).await {
                Ok(Executed::Settled) => {}
                Ok(Executed::Told) => told = true,
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
        let again = match told {
            true => plan::sooner(plan.again, (SOON, Confirm::IfNeeded)),
            false => plan.again,
        };
        let disagreed = (1..=DISAGREEMENTS)
            .contains(&record.disagreements)
            .then(|| SOON * 2_i32.pow(record.disagreements - 1));
        let again = match (again, disagreed) {
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

/// Whether somebody is to be told that descriptions hold no commands: not about those written long
/// before the App came.
fn hint(record: &PullRecord, snapshot: &Snapshot) -> bool {
    let (PolicyFact::Valid { policy, .. }, Some(pull)) = (&snapshot.policy, snapshot.pull.known())
    else {
        return false;
    };
    let came = record.first_pass_at.unwrap_or(snapshot.now);
    let counts = |said: &Said| policy.short_commands || !said.short;
    !record.hinted
        && pull.state == PullState::Open
        && pull.created_at + NEWLY > came
        && command::parse(&pull.body).iter().any(counts)
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
