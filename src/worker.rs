//! Passes, one per key at a time, several keys at once.
//!
//! The worker knows nothing of pull requests: it leases a key, has a pass made over it, and gives the
//! lease back. What makes passes safe to repeat is theirs; what keeps two of them apart is the store's.
//!
//! A pass that fails or panics is tried again after a pause that doubles with every failure in a row,
//! up to five minutes; a wake ends the pause, since something has changed. A pass is cut off before
//! its lease runs out, so that in one process a lease never does.
//!
//! Stepping by hand ([`Worker::step`], [`Worker::settle`]) and running by itself ([`Worker::run`]) take
//! the same path.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::domain::model::Key;
use crate::store::{Finish, Lease, Store, Stored};

/// How long a lease lasts.
const LEASE: Duration = Duration::from_secs(60);
/// How long a pass may take: well below the lease.
const PASS: Duration = Duration::from_secs(45);
/// The pause after the first failure; doubled with every further one.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// Looks for due keys so often also unasked: another process on the same database may have woken some.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// After a failure of the database.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// How long running passes may go on after a shutdown was asked for.
const DRAIN: Duration = Duration::from_secs(20);

/// Makes passes.
#[async_trait]
pub trait Passes: Send + Sync {
    /// Makes one pass over the lease's key and says how it is to be given back; a failure is a
    /// sentence for the operator.
    async fn pass(&self, lease: &Lease) -> Result<Finish, String>;
}

/// Leases keys and has passes made over them.
#[derive(Clone)]
pub struct Worker {
    store: Arc<dyn Store>,
    passes: Arc<dyn Passes>,
    clock: Clock,
    woken: Arc<Notify>,
}

/// The pause after so many failures in a row.
fn pause(attempt: u32) -> Duration {
    FIRST_PAUSE
        .saturating_mul(2_u32.saturating_pow(attempt))
        .min(LONGEST_PAUSE)
}

/// A time span as the domain counts it.
fn span(duration: Duration) -> chrono::Duration {
    chrono::Duration::from_std(duration).unwrap_or(chrono::Duration::MAX)
}

impl Worker {
    /// A worker that is told by `woken` that keys may be due.
    pub fn new(
        store: Arc<dyn Store>,
        passes: Arc<dyn Passes>,
        clock: Clock,
        woken: Arc<Notify>,
    ) -> Self {
        Self {
            store,
            passes,
            clock,
            woken,
        }
    }

    /// Makes one pass over the key that has waited longest, to its end; `None` when none is due.
    ///
    /// # Errors
    /// The store's.
    pub async fn step(&self) -> Stored<Option<Key>> {
        match self.lease().await? {
            None => Ok(None),
            Some(lease) => {
                let key = lease.key().clone();
                self.work(lease).await?;
                Ok(Some(key))
            }
        }
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

    async fn lease(&self) -> Stored<Option<Lease>> {
        self.store.lease(self.clock.now(), span(LEASE)).await
    }

    async fn work(&self, lease: Lease) -> Stored<()> {
        let key = lease.key().clone();
        let pass = AssertUnwindSafe(self.passes.pass(&lease)).catch_unwind();
        let finish = match tokio::time::timeout(PASS, pass).await {
            Ok(Ok(Ok(finish))) => finish,
            Ok(Ok(Err(why))) => failed(&lease, &why),
            Ok(Err(_)) => failed(&lease, "a fault in this program: the pass panicked"),
            Err(_) => failed(&lease, "the pass took too long and was cut off"),
        };
        match self.store.finish(lease, finish, self.clock.now()).await {
            // Whoever overtook it makes its own pass; nothing is lost.
            Err(crate::store::StoreError::Overtaken(_)) => {
                tracing::warn!(%key, "a pass was overtaken");
                Ok(())
            }
            other => other,
        }
    }

    /// Makes passes, at most `at_once` at the same time, until `shutdown` says so (or is dropped).
    /// Running passes are then waited for, within a bound; what is cut off is done again later.
    pub async fn run(self, at_once: usize, mut shutdown: watch::Receiver<bool>) {
        let mut running = JoinSet::new();
        loop {
            let full = running.len() >= at_once;
            let leased = if full { Ok(None) } else { self.lease().await };
            let rest = match leased {
                Ok(Some(lease)) => {
                    let worker = self.clone();
                    running.spawn(async move { worker.work(lease).await });
                    continue;
                }
                Ok(None) => self.until_due().await,
                Err(error) => {
                    tracing::error!(%error, "passes wait: the store failed");
                    STORE_PAUSE
                }
            };
            tokio::select! {
                biased;
                _ = shutdown.wait_for(|stop| *stop) => break,
                Some(done) = running.join_next() => report(done),
                () = self.woken.notified(), if !full => {}
                () = tokio::time::sleep(rest), if !full => {}
            }
        }
        let drained = async {
            while let Some(done) = running.join_next().await {
                report(done)
            }
        };
        if tokio::time::timeout(DRAIN, drained).await.is_err() {
            tracing::warn!("passes were cut off by the shutdown; they will be made again");
        }
    }

    async fn until_due(&self) -> Duration {
        let due = self.store.next_due().await.ok().flatten();
        let wait = due.and_then(|due| (due - self.clock.now()).to_std().ok());
        // A key that is due already, but leased by another process, is asked for again soon.
        let shortest = Duration::from_millis(50);
        wait.unwrap_or(LOOK_EVERY).clamp(shortest, LOOK_EVERY)
    }
}

fn failed(lease: &Lease, why: &str) -> Finish {
    let after = pause(lease.attempt());
    tracing::warn!(key = %lease.key(), attempt = lease.attempt(), why, "a pass failed");
    Finish::Retry { after: span(after) }
}

fn report(done: Result<Stored<()>, tokio::task::JoinError>) {
    match done {
        Ok(Ok(())) => {}
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
