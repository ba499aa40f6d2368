//! What goes wrong inside the product's own process: a store that is full, a process that dies at any step
//! between two looks at the world, and one that stands still at it.
//!
//! A step is one call of the store or one request to GitHub: between two of them a pass touches nothing, so
//! that dying at every step is dying everywhere. Steps are counted, not timed, and the same world dies at the
//! same step in every run. A process dies *before* a step or *after* it was done and before its answer was
//! heard; its futures are dropped and its memory with them, and only the store is left.

use std::future::{Future, pending};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use countersign::domain::dispatch;
use countersign::domain::evidence::Posted;
use countersign::domain::facts::Freeze;
use countersign::domain::ledger::{Broken, Draft, Entry, Verifier};
use countersign::domain::memory::{
    Confirm, HeadMemory, IssuesMemory, PullMemory, PullRecord, RepoMemory,
};
use countersign::domain::model::{
    BaseRef, DeliveryId, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName,
};
use countersign::github::carrier::Carrier;
use countersign::simulator::Simulator;
use countersign::simulator::http::Outcome;
use countersign::store::{
    Absorbed, Accepted, Begun, DeadLetter, Ended, Figures, Finish, InboxCounts, Keep, Lease,
    NewDelivery, NewEvidence, Placed, PullRow, Store, StoreError, Stored, Versioned, Waiting,
};
use futures::future::BoxFuture;
use http::{Method, Request, Response, Uri};
use http_body_util::BodyExt as _;
use tokio::sync::Notify;

use super::process;

type Timestamp = DateTime<Utc>;

/// What is to happen to a process, at which of its steps from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// It dies before a step is done.
    DiesBefore(u64),
    /// It dies when a step is done, before it hears so.
    DiesAfter(u64),
    /// It dies when so many writes to GitHub are done, before it hears so of the last: what it did then is
    /// known to GitHub alone.
    DiesSaying(u64),
    /// It stands still before a step, until it is let go on.
    Stands(u64),
    /// From a step on, so many writes of the store fail.
    Full(u64, u64),
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It looks, into the store or at GitHub.
    Look,
    /// It writes to the store.
    Keep,
    /// It writes to GitHub.
    Say,
}

/// One process's trouble.
#[derive(Default)]
pub struct Trouble {
    now: Mutex<Now>,
    /// How many calls of the store go on.
    keeping: AtomicUsize,
    /// Held by the one request whose patience ends.
    patience: tokio::sync::Mutex<()>,
    /// What happens before the next success is published.
    interlude: Mutex<Option<BoxFuture<'static, ()>>>,
    /// Rings when the process has died.
    pub died: Notify,
    /// Rings when it stands still.
    pub stands: Notify,
    /// Rings when it goes on.
    goes_on: Notify,
}

/// How far a plan has come.
#[derive(Default)]
struct Now {
    steps: u64,
    said: u64,
    plan: Option<Plan>,
    /// None of its steps is begun.
    stands: bool,
}

impl Trouble {
    /// From now on this is to happen, once.
    pub fn plan(&self, plan: Option<Plan>) {
        *self.now.lock().unwrap() = Now {
            plan,
            ..Now::default()
        };
    }

    /// This is to happen when a success is about to be published.
    pub fn before_a_success(&self, interlude: BoxFuture<'static, ()>) {
        *self.interlude.lock().unwrap() = Some(interlude);
    }

    /// What comes before a request, if it publishes a success.
    fn interlude(&self, body: &[u8]) -> Option<BoxFuture<'static, ()>> {
        let mut interlude = self.interlude.lock().unwrap();
        interlude.as_ref()?;
        let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let success = body["conclusion"] == "success";
        success.then(|| interlude.take())?
    }

    /// What there still is to come.
    pub fn planned(&self) -> Option<Plan> {
        self.now.lock().unwrap().plan
    }

    /// Counts a step; the plan, if it is about this one.
    fn step(&self, step: Step) -> Option<Plan> {
        let mut now = self.now.lock().unwrap();
        now.steps += 1;
        now.said += u64::from(step == Step::Say);
        let at = now.steps;
        let hit = match now.plan? {
            Plan::DiesSaying(nth) => step == Step::Say && now.said == nth,
            Plan::DiesBefore(nth) | Plan::DiesAfter(nth) | Plan::Stands(nth) => at == nth,
            Plan::Full(nth, times) => {
                if at >= nth + times {
                    now.plan = None;
                    return None;
                }
                return now.plan.filter(|_| step == Step::Keep && at >= nth);
            }
        };
        if hit { now.plan.take() } else { None }
    }

    /// A call of the store, counted while it goes on.
    async fn counted<T>(&self, call: impl Future<Output = T>) -> T {
        struct Ends<'a>(&'a AtomicUsize);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        self.keeping.fetch_add(1, Ordering::Relaxed);
        let _ends = Ends(&self.keeping);
        call.await
    }

    /// When no call of the store goes on.
    pub async fn nothing_kept(&self) {
        while self.keeping.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Waits while the process stands still.
    async fn stand(&self) {
        loop {
            let goes_on = self.goes_on.notified();
            if !self.now.lock().unwrap().stands {
                return;
            }
            goes_on.await;
        }
    }

    /// Lets a process go on that stood still.
    pub fn go_on(&self) {
        self.now.lock().unwrap().stands = false;
        self.goes_on.notify_waiters();
    }

    /// Lets a request's patience end at once: nobody waits for the machine's own clock. The store's patience
    /// is of that clock too and would end with it, though its thread is only about to answer: it answers first.
    async fn lose_patience(&self) {
        /// Time goes on also where the process dies right here.
        struct GoesOn;
        impl Drop for GoesOn {
            fn drop(&mut self) {
                tokio::time::resume();
            }
        }
        let _alone = self.patience.lock().await;
        self.nothing_kept().await;
        tokio::time::pause();
        let _goes_on = GoesOn;
        tokio::time::advance(Duration::from_secs(13)).await;
    }

    async fn die(&self) {
        self.died.notify_one();
        pending().await
    }

    async fn through<T>(
        &self,
        kind: Step,
        step: impl Future<Output = T> + Send,
    ) -> Result<T, Plan> {
        self.stand().await;
        let plan = self.step(kind);
        match plan {
            Some(Plan::DiesBefore(_)) => self.die().await,
            Some(Plan::Stands(_)) => {
                self.now.lock().unwrap().stands = true;
                self.stands.notify_one();
                self.stand().await;
            }
            Some(full @ Plan::Full(..)) => return Err(full),
            Some(Plan::DiesAfter(_) | Plan::DiesSaying(_)) | None => {}
        }
        let done = step.await;
        if matches!(plan, Some(Plan::DiesAfter(_) | Plan::DiesSaying(_))) {
            self.die().await;
        }
        Ok(done)
    }
}

/// A store as one process in trouble sees it.
pub struct Troubled {
    pub inner: Arc<dyn Store>,
    pub trouble: Arc<Trouble>,
}

impl Troubled {
    async fn read<T>(&self, call: impl Future<Output = Stored<T>> + Send) -> Stored<T> {
        let call = self.trouble.counted(call);
        let done = self.trouble.through(Step::Look, call).await;
        done.unwrap_or_else(|_| unreachable!("reads need no room"))
    }

    async fn write<T>(&self, call: impl Future<Output = Stored<T>> + Send) -> Stored<T> {
        let full = || StoreError::Database(sqlx::Error::Io(std::io::Error::other("no space left")));
        let call = self.trouble.counted(call);
        let done = self.trouble.through(Step::Keep, call).await;
        done.unwrap_or_else(|_| Err(full()))
    }
}

/// The way to the simulated GitHub, in one process.
pub struct Wire {
    pub github: Simulator,
    pub trouble: Arc<Trouble>,
}

#[async_trait]
impl Carrier for Wire {
    async fn carry(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String> {
        let (mut parts, body) = request.into_parts();
        // As it comes over a connection: without the host.
        if let Some(path) = parts.uri.path_and_query() {
            parts.uri = Uri::from(path.clone());
        }
        let asked = async { self.github.answer(&parts, &body) };
        if let Some(interlude) = self.trouble.interlude(&body) {
            interlude.await;
        }
        // A token is asked for by a POST too, and says nothing to anybody.
        let says = parts.method != Method::GET && !parts.uri.path().ends_with("/access_tokens");
        let kind = if says { Step::Say } else { Step::Look };
        let outcome = self.trouble.through(kind, asked).await;
        process::tell(|| {
            let said = match &outcome {
                Ok(Outcome::Answered(answer)) => answer.status().as_u16().to_string(),
                Ok(_) => "no answer".to_owned(),
                Err(_) => "not sent".to_owned(),
            };
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
            let ends = body.get("conclusion").map(|ends| format!(" {ends}"));
            format!(
                "  -> {said} {} {}{}",
                parts.method,
                parts.uri,
                ends.unwrap_or_default()
            )
        });
        match outcome {
            Ok(Outcome::Answered(answer)) => {
                let (parts, body) = answer.into_parts();
                let body = body.collect().await.map_err(|error| error.to_string())?;
                Ok(Response::from_parts(parts, body.to_bytes()))
            }
            Ok(Outcome::Reset | Outcome::Cut(_)) => Err("the connection ended".into()),
            Ok(Outcome::Silence) | Err(_) => {
                self.trouble.lose_patience().await;
                pending().await
            }
        }
    }
}

#[async_trait]
impl Store for Troubled {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        self.write(self.inner.accept(deliveries)).await
    }

    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        self.read(self.inner.waiting(limit)).await
    }

    async fn absorb_all(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()> {
        self.write(self.inner.absorb_all(absorbed, now)).await
    }

    async fn dead_letters(&self, limit: u32) -> Stored<Vec<DeadLetter>> {
        self.read(self.inner.dead_letters(limit)).await
    }

    async fn inbox(&self) -> Stored<InboxCounts> {
        self.read(self.inner.inbox()).await
    }

    async fn wake(&self, keys: &[(Key, Confirm)], not_before: Timestamp) -> Stored<()> {
        self.write(self.inner.wake(keys, not_before)).await
    }

    async fn lease_beside(
        &self,
        now: Timestamp,
        ttl: chrono::Duration,
        full: &[InstallationId],
    ) -> Stored<Option<Lease>> {
        self.write(self.inner.lease_beside(now, ttl, full)).await
    }

    async fn finish(&self, lease: Lease, finish: Finish, now: Timestamp) -> Stored<()> {
        self.write(self.inner.finish(lease, finish, now)).await
    }

    async fn next_due_beside(&self, full: &[InstallationId]) -> Stored<Option<Timestamp>> {
        self.read(self.inner.next_due_beside(full)).await
    }

    async fn repo(&self, repo: RepoId) -> Stored<Versioned<RepoMemory>> {
        self.read(self.inner.repo(repo)).await
    }

    async fn repo_named(&self, name: &RepoName) -> Stored<Option<RepoId>> {
        self.read(self.inner.repo_named(name)).await
    }

    async fn active_repos(&self) -> Stored<Vec<RepoMemory>> {
        self.read(self.inner.active_repos()).await
    }

    async fn pull(&self, repo: RepoId, number: PullNumber) -> Stored<Versioned<PullMemory>> {
        self.read(self.inner.pull(repo, number)).await
    }

    async fn head(&self, repo: RepoId, head: &HeadSha) -> Stored<Versioned<HeadMemory>> {
        self.read(self.inner.head(repo, head)).await
    }

    async fn remember_repo(&self, repo: RepoId, memory: &Versioned<RepoMemory>) -> Stored<bool> {
        self.write(self.inner.remember_repo(repo, memory)).await
    }

    async fn remember_pull(
        &self,
        repo: RepoId,
        number: PullNumber,
        memory: &Versioned<PullMemory>,
    ) -> Stored<bool> {
        self.write(self.inner.remember_pull(repo, number, memory))
            .await
    }

    async fn remember_head(
        &self,
        repo: RepoId,
        head: &HeadSha,
        memory: &Versioned<HeadMemory>,
    ) -> Stored<bool> {
        self.write(self.inner.remember_head(repo, head, memory))
            .await
    }

    async fn pulls_with_head(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>> {
        self.read(self.inner.pulls_with_head(repo, head)).await
    }

    async fn open_pulls(&self, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
        self.read(self.inner.open_pulls(repo)).await
    }

    async fn record(&self, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
        self.read(self.inner.record(repo, number)).await
    }

    async fn save_record(
        &self,
        lease: &Lease,
        record: &PullRecord,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        self.write(self.inner.save_record(lease, record, entries, now))
            .await
    }

    async fn issues(&self, repo: RepoId) -> Stored<Versioned<IssuesMemory>> {
        self.read(self.inner.issues(repo)).await
    }

    async fn remember_issues(
        &self,
        repo: RepoId,
        memory: &Versioned<IssuesMemory>,
    ) -> Stored<bool> {
        self.write(self.inner.remember_issues(repo, memory)).await
    }

    async fn dispatch(&self, repo: RepoId) -> Stored<dispatch::Record> {
        self.read(self.inner.dispatch(repo)).await
    }

    async fn save_dispatch(
        &self,
        lease: &Lease,
        record: &dispatch::Record,
        entries: Vec<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        self.write(self.inner.save_dispatch(lease, record, entries, now))
            .await
    }

    async fn post_evidence(&self, evidence: &NewEvidence) -> Stored<Placed> {
        self.write(self.inner.post_evidence(evidence)).await
    }

    async fn posted_evidence(&self, repo: RepoId, head: &HeadSha) -> Stored<Vec<Posted>> {
        self.read(self.inner.posted_evidence(repo, head)).await
    }

    async fn effect(&self, effect: &str) -> Stored<Begun> {
        self.read(self.inner.effect(effect)).await
    }

    async fn effect_intent(&self, effect: &str) -> Stored<Option<serde_json::Value>> {
        self.read(self.inner.effect_intent(effect)).await
    }

    async fn begin(
        &self,
        lease: &Lease,
        effect: &str,
        intent: serde_json::Value,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<Begun> {
        self.write(self.inner.begin(lease, effect, intent, entry, now))
            .await
    }

    async fn end(
        &self,
        effect: &str,
        ended: Ended,
        entry: Option<Draft>,
        now: Timestamp,
    ) -> Stored<()> {
        self.write(self.inner.end(effect, ended, entry, now)).await
    }

    async fn freeze(&self, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
        self.read(self.inner.freeze(repo, base)).await
    }

    async fn set_freeze(
        &self,
        repo: RepoId,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
        now: Timestamp,
    ) -> Stored<()> {
        self.write(self.inner.set_freeze(repo, base, freeze, entry, now))
            .await
    }

    async fn ledger(&self, repo: Option<RepoId>, after: u64, limit: u32) -> Stored<Vec<Entry>> {
        self.read(self.inner.ledger(repo, after, limit)).await
    }

    async fn prove_ledger(&self, verifier: Verifier) -> Stored<Result<Verifier, Broken>> {
        self.read(self.inner.prove_ledger(verifier)).await
    }

    async fn ledger_of(&self, repo: RepoId, number: PullNumber) -> Stored<Vec<Entry>> {
        self.read(self.inner.ledger_of(repo, number)).await
    }

    async fn known_deliveries(&self, ids: &[DeliveryId]) -> Stored<Vec<DeliveryId>> {
        self.read(self.inner.known_deliveries(ids)).await
    }

    async fn note(&self, name: &str) -> Stored<Versioned<serde_json::Value>> {
        self.read(self.inner.note(name)).await
    }

    async fn write_note(&self, name: &str, note: &Versioned<serde_json::Value>) -> Stored<bool> {
        self.write(self.inner.write_note(name, note)).await
    }

    async fn prune(&self, keep: Keep, limit: u32) -> Stored<u64> {
        self.write(self.inner.prune(keep, limit)).await
    }

    async fn figures(&self) -> Stored<Figures> {
        self.read(self.inner.figures()).await
    }

    async fn woken_elsewhere(&self) -> Stored<()> {
        self.inner.woken_elsewhere().await
    }

    async fn ping(&self) -> Stored<()> {
        self.read(self.inner.ping()).await
    }
}
