//! Passes, one per key at a time, several keys at once.
//!
//! The worker knows nothing of pull requests: it leases a key, has a pass made over it, and gives the
//! lease back. What makes a pass safe to repeat is the pass's; what keeps two passes over one key
//! apart is the store's.
//!
//! # Properties
//!
//! - **A failure is one key's.** A pass that fails, panics or hangs is tried again after a pause that
//!   doubles with every failure in a row, up to five minutes; other keys go on meanwhile. A wake ends
//!   the pause, since something has changed.
//! - **A lease outlives its pass.** A pass is cut off after half its lease, so within one process a
//!   lease is never overtaken, and what the pass was about to write is not written late.
//! - **Nothing hangs on a bell.** A wake that rings is served at once; one that does not (of another
//!   process, or of one that died before it rang) is found within seconds.
//! - **One installation's trouble is its own.** No installation has all the places at once, whatever its
//!   passes wait for ([`places`]): those of others go on beside.
//! - **A stop gives back what it cuts off.** The next process needs not wait for leases to run out.
//!
//! By hand ([`Worker::step`], [`Worker::settle`]) and by itself ([`Worker::run`]) it takes the same
//! path. Among those who may, the key that waited longest is next. Left out: priorities, and fairness
//! between the repositories of one installation, whose calls draw on one budget anyway.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::{Instrument, Span, field::Empty};

use crate::clock::Clock;
use crate::domain::model::{InstallationId, Key};
use crate::store::{Finish, Lease, Store, StoreError, Stored};
use crate::telemetry::{Meters, calls};

mod places;
#[cfg(test)]
mod tests;

use places::Places;

/// The pause after a first failure; every further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How the worker spaces its work. The default suits a server; tests and stories cut it short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long a lease lasts, by the worker's clock. A pass is cut off after half of that, by the
    /// machine's.
    pub lease: Duration,
    /// How often to look for due keys unasked.
    pub look_every: Duration,
    /// How long to leave the database alone after it failed.
    pub store_pause: Duration,
    /// How long running passes may go on after a stop was asked for.
    pub drain: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            look_every: Duration::from_secs(5),
            store_pause: Duration::from_secs(1),
            drain: Duration::from_secs(20),
        }
    }
}

/// Makes passes.
#[async_trait]
pub trait Passes: Send + Sync {
    /// Makes one pass over the lease's key and says how the lease is to be given back; a failure is a
    /// sentence for the operator. May be dropped at any `await`: what was begun then has no recorded
    /// outcome, and the next pass reads back.
    async fn pass(&self, lease: &Lease) -> Result<Finish, String>;
}

/// Leases keys and has passes made over them. Clones share everything.
#[derive(Clone)]
pub struct Worker {
    store: Arc<dyn Store>,
    passes: Arc<dyn Passes>,
    clock: Clock,
    bell: Arc<Notify>,
    pace: Pace,
    meters: Meters,
}

impl Worker {
    /// A worker that looks for due keys whenever `bell` rings. Who wakes keys, or turns a manual
    /// clock, rings it with `notify_one`.
    pub fn new(
        store: Arc<dyn Store>,
        passes: Arc<dyn Passes>,
        clock: Clock,
        bell: Arc<Notify>,
    ) -> Self {
        Self {
            store,
            passes,
            clock,
            bell,
            pace: Pace::default(),
            meters: Meters::default(),
        }
    }

    /// The same worker at another pace.
    #[must_use]
    pub fn at_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// The same worker, counting its passes there.
    #[must_use]
    pub fn metered(self, meters: Meters) -> Self {
        Self { meters, ..self }
    }

    /// Makes one pass over the key that has waited longest, to its end; `None` when none is due now.
    ///
    /// # Errors
    /// The store's. That a pass failed is no error here: its key is to be tried again.
    pub async fn step(&self) -> Stored<Option<Key>> {
        let Some(lease) = self.lease(&[]).await? else {
            return Ok(None);
        };
        let key = lease.key().clone();
        self.work(lease, std::future::pending()).await?;
        Ok(Some(key))
    }

    /// Makes passes until no key is due now, at most `most`; tells how many it made.
    ///
    /// # Errors
    /// The store's.
    pub async fn settle(&self, most: usize) -> Stored<usize> {
        for made in 0..most {
            if self.step().await?.is_none() {
                return Ok(made);
            }
        }
        Ok(most)
    }

    /// Makes passes, at most `at_once` at the same time, until `shutdown` says so (or is dropped).
    /// Running passes may then end within a bound; what is cut off is given back, and made again by
    /// the next process.
    pub async fn run(self, at_once: usize, shutdown: watch::Receiver<bool>) {
        // Dropped, or told `true`, it cuts off what still runs.
        let (cut, cutting) = watch::channel(false);
        let mut running = Running::new(at_once);
        loop {
            let none_free = running.places.none_free();
            let next = if none_free {
                Ok(Next::After(self.pace.look_every))
            } else {
                self.next(&mut running.places).await
            };
            let rest = match next {
                Ok(Next::Pass(lease)) => {
                    let whose = lease.installation();
                    let (worker, cutting) = (self.clone(), cutting.clone());
                    let pass = async move { worker.work(lease, told(cutting)).await };
                    running.begin(whose, pass);
                    continue;
                }
                Ok(Next::After(rest)) => rest,
                Err(error) => {
                    tracing::error!(%error, "passes wait: the store failed");
                    self.pace.store_pause
                }
            };
            tokio::select! {
                biased;
                () = told(shutdown.clone()) => break,
                () = running.ended(), if !running.passes.is_empty() => {}
                () = self.bell.notified(), if !none_free => {}
                () = tokio::time::sleep(rest), if !none_free => {}
            }
        }
        let drained = tokio::time::timeout(self.pace.drain, running.all_ended()).await;
        if drained.is_err() {
            tracing::warn!(passes = running.passes.len(), "the stop cuts passes off");
            drop(cut);
            running.all_ended().await;
        }
    }

    /// What to do next, with a place that is free. Where those who have enough are passed over and nobody
    /// else was found, whoever ends a pass, and the end of the rest, make that be asked again.
    async fn next(&self, places: &mut Places) -> Stored<Next> {
        let full = places.full();
        if !full.is_empty()
            && let Some(rest) = places.rest()
        {
            return Ok(Next::After(rest.min(self.pace.look_every)));
        }
        let begun = Instant::now();
        if let Some(lease) = self.lease(&full).await? {
            return Ok(Next::Pass(lease));
        }
        let due = self.until_due(&full).await;
        if !full.is_empty() {
            places.looked_in_vain(begun);
        }
        Ok(Next::After(due))
    }

    async fn lease(&self, full: &[InstallationId]) -> Stored<Option<Lease>> {
        let ttl = span(self.pace.lease);
        let now = self.clock.now();
        self.store.lease_beside(now, ttl, full).await
    }

    /// Makes the pass and gives the lease back, come what may.
    async fn work(&self, lease: Lease, cut: impl Future<Output = ()>) -> Stored<()> {
        let key = lease.key().clone();
        let span = span_of(&lease);
        let finish = calls::counting(self.make(&lease, cut))
            .instrument(span)
            .await;
        match self.store.finish(lease, finish, self.clock.now()).await {
            // Who overtook it makes a pass of its own: nothing is lost.
            Err(StoreError::Overtaken(_)) => {
                tracing::warn!(%key, "a pass was overtaken");
                Ok(())
            }
            given_back => given_back,
        }
    }

    async fn make(&self, lease: &Lease, cut: impl Future<Output = ()>) -> Finish {
        let begun = Instant::now();
        let limit = self.pace.lease / 2;
        let pass = AssertUnwindSafe(self.passes.pass(lease)).catch_unwind();
        let failed = tokio::select! {
            biased;
            ended = pass => match ended {
                Ok(Ok(finish)) => {
                    let outcome = match finish {
                        Finish::Done { .. } => "done",
                        Finish::Retry { .. } => "put_off",
                    };
                    self.tell(lease.key(), outcome, begun);
                    return finish;
                }
                Ok(Err(why)) => ("failed", why),
                Err(panic) => (
                    "panicked",
                    format!("a fault of this program: {}", last_words(panic.as_ref())),
                ),
            },
            () = cut => {
                self.tell(lease.key(), "cut_off", begun);
                tracing::info!("a pass was cut off by the stop");
                return Finish::Retry { after: chrono::Duration::zero() };
            }
            () = tokio::time::sleep(limit) => ("timed_out", format!("it was cut off after {limit:?}")),
        };
        let (outcome, why) = failed;
        self.tell(lease.key(), outcome, begun);
        let after = pause(lease.attempt());
        let attempt = lease.attempt().saturating_add(1);
        tracing::warn!(key = %lease.key(), attempt, ?after, why, "a pass failed");
        Finish::Retry { after: span(after) }
    }

    /// Counts a pass that ended, and completes its span. One that asked nobody anything is told only to
    /// who wants to know everything: there are many.
    fn tell(&self, key: &Key, outcome: &'static str, begun: Instant) {
        let took = begun.elapsed();
        let calls = calls::calls();
        self.meters.pass(about(key), outcome, took);
        Span::current()
            .record("outcome", outcome)
            .record("seconds", took.as_secs_f64())
            .record("calls", calls);
        if calls > 0 {
            tracing::info!("a pass was made");
        } else {
            tracing::debug!("a pass was made");
        }
    }

    /// How long until a key is due, within the time after which to look again anyway.
    async fn until_due(&self, full: &[InstallationId]) -> Duration {
        let look_every = self.pace.look_every;
        match self.store.next_due_beside(full).await {
            Ok(None) => look_every,
            Ok(Some(due)) => {
                let wait = (due - self.clock.now()).to_std().unwrap_or_default();
                // Not less than a moment: a database whose clock disagrees must not be asked without
                // a break.
                wait.clamp(Duration::from_millis(10).min(look_every), look_every)
            }
            Err(error) => {
                tracing::error!(%error, "passes wait: the store failed");
                self.pace.store_pause
            }
        }
    }
}

/// What to do with a free place.
enum Next {
    /// Make this pass.
    Pass(Lease),
    /// Look again after this, or when something happens.
    After(Duration),
}

/// The passes that are being made, and who has which place.
struct Running {
    places: Places,
    passes: JoinSet<Stored<()>>,
    whose: HashMap<Id, Option<InstallationId>>,
}

impl Running {
    fn new(at_once: usize) -> Self {
        Self {
            places: Places::new(at_once),
            passes: JoinSet::new(),
            whose: HashMap::new(),
        }
    }

    fn begin(
        &mut self,
        whose: Option<InstallationId>,
        pass: impl Future<Output = Stored<()>> + Send + 'static,
    ) {
        self.places.take(whose);
        let begun = self.passes.spawn(pass);
        self.whose.insert(begun.id(), whose);
    }

    /// Ends when a pass did; at once when there is none. Nothing is lost when it is dropped half-way.
    async fn ended(&mut self) {
        let Some(ended) = self.passes.join_next_with_id().await else {
            return;
        };
        let id = match &ended {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        if let Some(whose) = self.whose.remove(&id) {
            self.places.give_back(whose);
        }
        report(ended.map(|(_, given_back)| given_back));
    }

    async fn all_ended(&mut self) {
        while !self.passes.is_empty() {
            self.ended().await;
        }
    }
}

/// What everything that is logged in a pass is marked with. The pass itself fills in the head and the
/// installation once it knows them.
fn span_of(lease: &Lease) -> Span {
    let span = tracing::info_span!(
        "pass",
        key = %lease.key(),
        repo = %lease.key().repo(),
        number = Empty,
        head = Empty,
        installation = Empty,
        attempt = lease.attempt(),
        outcome = Empty,
        seconds = Empty,
        calls = Empty,
    );
    match lease.key() {
        Key::Pull(_, number) => span.record("number", number.get()),
        Key::Head(_, head) => span.record("head", head.as_str()),
        Key::Repo(_) | Key::Dispatch(_) => &span,
    };
    span
}

fn about(key: &Key) -> &'static str {
    match key {
        Key::Pull(..) => "pull",
        Key::Head(..) => "head",
        Key::Repo(_) => "repository",
        Key::Dispatch(_) => "dispatch",
    }
}

/// Ends when the channel says `true` or its sender is gone.
async fn told(mut channel: watch::Receiver<bool>) {
    // The error says that the sender is gone, which means the same.
    let _ = channel.wait_for(|said| *said).await;
}

/// The pause after a failure that came after `failures` others in a row. No jitter: what is due at the
/// same time is leased one after another anyway.
fn pause(failures: u32) -> Duration {
    FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LONGEST_PAUSE)
}

/// A time span as the domain counts it.
fn span(duration: Duration) -> chrono::Duration {
    chrono::Duration::from_std(duration).unwrap_or(chrono::Duration::MAX)
}

/// What a panic said.
fn last_words(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panicked")
}

fn report(ended: Result<Stored<()>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        // It runs out, and the key is taken again.
        Ok(Err(error)) => tracing::error!(%error, "a lease could not be given back"),
        Err(error) => tracing::error!(%error, "a pass ended abruptly"),
    }
}

#[async_trait]
impl Passes for crate::reconcile::Reconcile {
    async fn pass(&self, lease: &Lease) -> Result<Finish, String> {
        Self::pass(self, lease)
            .await
            .map_err(|error| error.to_string())
    }
}
