//! Finds out what waiting deliveries mean, and remembers it.
//!
//! In the order of arrival, each absorbed whole: what it says is remembered, the keys it concerns are
//! woken and it is marked done, or none of that. A crash in between repeats it, which changes nothing.
//! Deliveries that wait together share a transaction, since most of a small one's cost is the disk's;
//! where that fails, each is taken by itself, and shows whose fault it was.
//!
//! A delivery that cannot be understood becomes a dead letter, with the reason, and the next one is
//! taken: a bad delivery never stops the others. A database that fails stops everything, since
//! skipping would reorder: the same delivery is tried again after a pause. If one delivery fails in
//! the database again and again while setting it aside works, the fault is in it and it is set aside.

#[cfg(test)]
mod tests;

use std::panic::catch_unwind;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, watch};

use crate::clock::Clock;
use crate::domain::event;
use crate::domain::memory::meaning;
use crate::domain::model::{AppId, Timestamp};
use crate::store::{Absorbed, NewDelivery, Store, StoreError, Stored, Waiting};

/// So many deliveries are taken at a time. More would keep the writer from acknowledging new ones.
const AT_A_TIME: u32 = 16;

/// A delivery that fails so often in the database is set aside.
const PATIENCE: u32 = 5;

/// After a failure of the database.
const PAUSE: Duration = Duration::from_secs(1);

/// Looks for deliveries so often also unasked: another process on the same database may have stored
/// some.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What of a [`Store`] this room needs.
#[async_trait]
pub trait Backlog: Send + Sync {
    /// As [`Store::waiting`].
    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>>;
    /// As [`Store::absorb_all`].
    async fn absorb(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()>;
}

#[async_trait]
impl<S: Store + ?Sized> Backlog for S {
    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        Store::waiting(self, limit).await
    }

    async fn absorb(&self, absorbed: Vec<(i64, Absorbed)>, now: Timestamp) -> Stored<()> {
        Store::absorb_all(self, absorbed, now).await
    }
}

/// Understands deliveries, one after the other.
pub struct Intake<B: ?Sized> {
    own_app: AppId,
    clock: Clock,
    arrived: Arc<Notify>,
    woken: Arc<Notify>,
    /// The delivery that failed last in the database, and how often in a row.
    stumble: Option<(i64, u32)>,
    backlog: Arc<B>,
}

impl<B: Backlog + ?Sized> Intake<B> {
    /// An intake that is told by `arrived` of new deliveries, and tells `woken` of keys that may be
    /// worked on. `own_app` is whose check runs and comments are our own.
    pub fn new(
        backlog: Arc<B>,
        own_app: AppId,
        clock: Clock,
        arrived: Arc<Notify>,
        woken: Arc<Notify>,
    ) -> Self {
        Self {
            own_app,
            clock,
            arrived,
            woken,
            stumble: None,
            backlog,
        }
    }

    /// Understands what waits, up to a limit; tells how many deliveries that were.
    ///
    /// # Errors
    /// The store's, if it cannot go on. What was understood before stays so; the rest waits.
    pub async fn step(&mut self) -> Stored<usize> {
        let waiting = self.backlog.waiting(AT_A_TIME).await?;
        let taken = waiting.len();
        if self.together(&waiting).await {
            self.stumble = None;
            self.woken.notify_one();
            return Ok(taken);
        }
        for waiting in waiting {
            self.take(waiting).await?;
        }
        Ok(taken)
    }

    /// Absorbs several at once; tells whether it could.
    async fn together(&self, waiting: &[Waiting]) -> bool {
        if waiting.len() < 2 {
            return false;
        }
        let now = self.clock.now();
        let understood = waiting
            .iter()
            .map(|one| (one.seq, understand(&one.delivery, self.own_app, now)))
            .collect::<Vec<_>>();
        for (one, (_, absorbed)) in waiting.iter().zip(&understood) {
            tell_of_understood(&one.delivery, absorbed);
        }
        let dead: Vec<_> = waiting
            .iter()
            .zip(&understood)
            .filter_map(|(one, (_, absorbed))| match absorbed {
                Absorbed::Dead { why } => Some((&one.delivery, why.clone())),
                Absorbed::Done { .. } => None,
            })
            .collect();
        if self.backlog.absorb(understood, now).await.is_err() {
            return false;
        }
        for (delivery, why) in dead {
            tell_of_dead(delivery, &why);
        }
        true
    }

    async fn take(&mut self, waiting: Waiting) -> Stored<()> {
        let Waiting { seq, delivery, .. } = waiting;
        let now = self.clock.now();
        let absorbed = understand(&delivery, self.own_app, now);
        tell_of_understood(&delivery, &absorbed);
        if let Absorbed::Dead { why } = &absorbed {
            tell_of_dead(&delivery, why);
        }
        if let Err(error) = self.backlog.absorb(vec![(seq, absorbed)], now).await {
            let why = self.blame(seq, &error).ok_or(error)?;
            self.set_aside(seq, &delivery, why, now).await?;
        }
        self.stumble = None;
        self.woken.notify_one();
        Ok(())
    }

    /// Sets a delivery aside on which the store failed, after one more try: the database may have
    /// come back just now.
    async fn set_aside(
        &self,
        seq: i64,
        delivery: &NewDelivery,
        why: String,
        now: Timestamp,
    ) -> Stored<()> {
        let again = understand(delivery, self.own_app, now);
        if self.backlog.absorb(vec![(seq, again)], now).await.is_ok() {
            return Ok(());
        }
        tracing::error!(delivery = %delivery.id, event = delivery.event, why, "dead letter");
        let dead = Absorbed::Dead { why };
        self.backlog.absorb(vec![(seq, dead)], now).await
    }

    /// Whether a failure is the delivery's own fault: the reason to set it aside, or `None` to try
    /// again.
    fn blame(&mut self, seq: i64, error: &StoreError) -> Option<String> {
        if let StoreError::Corrupt { .. } = error {
            return Some(format!("what it changes cannot be read: {error}"));
        }
        let times = match self.stumble {
            Some((last, times)) if last == seq => times.saturating_add(1),
            _ => 1,
        };
        self.stumble = Some((seq, times));
        (times >= PATIENCE).then(|| format!("it could not be stored {times} times: {error}"))
    }

    /// Understands deliveries until `shutdown` says so (or is dropped).
    pub async fn run(mut self, mut shutdown: watch::Receiver<bool>) {
        loop {
            let step = self.step().await;
            let rest = async {
                match step {
                    Ok(0) => {
                        let _ = tokio::time::timeout(LOOK_EVERY, self.arrived.notified()).await;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::error!(%error, "deliveries wait: the store failed");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            };
            let told = async {
                let _ = shutdown.wait_for(|stop| *stop).await;
            };
            tokio::select! {
                biased;
                () = told => return,
                () = rest => {}
            }
        }
    }
}

/// What a delivery led to, for who looks for the reason of a pass: whom it woke, by the keys that passes
/// are marked with.
fn tell_of_understood(delivery: &NewDelivery, absorbed: &Absorbed) {
    if let Absorbed::Done { note, wakes, .. } = absorbed {
        tracing::debug!(
            delivery = %delivery.id,
            event = delivery.event,
            note,
            wakes = ?wakes.iter().map(|(wake, _)| wake).collect::<Vec<_>>(),
            "delivery understood"
        );
    }
}

fn tell_of_dead(delivery: &NewDelivery, why: &str) {
    tracing::warn!(delivery = %delivery.id, event = delivery.event, why, "dead letter");
}

/// What becomes of a delivery. Total: whatever is wrong with it is a reason, and so is a fault in our
/// own reading of it, which would break the loop again after every restart.
fn understand(delivery: &NewDelivery, own_app: AppId, now: Timestamp) -> Absorbed {
    let understood = catch_unwind(|| {
        let event = event::read(&delivery.event, &delivery.body)?;
        Ok::<_, event::Unreadable>(meaning(&event, own_app, now))
    });
    match understood {
        Ok(Ok(meaning)) => Absorbed::Done {
            changes: meaning.changes,
            wakes: meaning.wakes,
            note: meaning.note,
        },
        Ok(Err(unreadable)) => Absorbed::Dead {
            why: unreadable.to_string(),
        },
        Err(_) => Absorbed::Dead {
            why: "a fault in this program: reading it panicked".to_owned(),
        },
    }
}
