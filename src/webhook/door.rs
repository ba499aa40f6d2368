//! The way into the store: many requests bring deliveries, one writer commits them in groups.
//!
//! A durable write costs about the same for one row as for thirty-two, and GitHub's bursts are real.
//! So requests put their delivery into a bounded queue and wait; the writer takes what is there, at
//! most [`GROUP`], commits it in one transaction, and only then are the requests answered. There is no
//! timer: alone in the queue, a delivery is committed at once, and the group grows exactly when the
//! database is slower than the arrivals.
//!
//! What a request learns is what is true. *Accepted* means committed. Everything else means that the
//! delivery may be lost, and is said aloud (503): GitHub records the failure, a person or a program
//! can deliver again, and the sweep finds what nobody does. A request that stops waiting
//! ([`ANSWER_WITHIN`]) may find its delivery stored all the same; delivered again it is then known.
//!
//! Two copies of one delivery may stand in one group: the store's insert decides which is first, and
//! both are accepted.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::store::{Accepted, NewDelivery, Store, Stored};

/// At most so many deliveries in one transaction: beyond it, SQLite's checkpoints stall the writer.
pub const GROUP: usize = 32;

/// So many deliveries may wait for the writer.
pub const QUEUE: usize = 512;

/// A request waits so long for its commit. GitHub waits ten seconds in all.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(8);

/// The one thing of a [`Store`] that this room needs.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// As [`Store::accept`].
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>>;
}

#[async_trait]
impl<S: Store + ?Sized> Inbox for S {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        Store::accept(self, deliveries).await
    }
}

/// Why a delivery could not be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Shut {
    /// Too many wait already.
    #[error("too many deliveries wait to be stored")]
    Full,
    /// The store failed; its log line says how.
    #[error("the store failed")]
    Failed,
    /// It takes too long.
    #[error("the store does not answer in time")]
    Slow,
    /// The server is going down.
    #[error("the server is shutting down")]
    Closed,
}

struct Letter {
    delivery: NewDelivery,
    answer: oneshot::Sender<Result<Accepted, Shut>>,
}

/// Where requests bring deliveries.
#[derive(Clone)]
pub struct Door {
    letters: mpsc::Sender<Letter>,
}

/// Commits what is brought. Ends when the last [`Door`] is gone and everything brought is committed.
pub struct Writer<I: ?Sized> {
    letters: mpsc::Receiver<Letter>,
    arrived: Arc<Notify>,
    inbox: Arc<I>,
}

/// Opens a door into `inbox`; its writer must be run. After each commit `arrived` is notified.
pub fn open<I: Inbox + ?Sized>(inbox: Arc<I>, arrived: Arc<Notify>) -> (Door, Writer<I>) {
    let (sender, letters) = mpsc::channel(QUEUE);
    let door = Door { letters: sender };
    let writer = Writer {
        letters,
        arrived,
        inbox,
    };
    (door, writer)
}

impl Door {
    /// Brings a delivery and waits until it is committed.
    ///
    /// # Errors
    /// [`Shut`] when it is not known to be stored.
    pub async fn bring(&self, delivery: NewDelivery) -> Result<Accepted, Shut> {
        let (answer, answered) = oneshot::channel();
        self.letters
            .try_send(Letter { delivery, answer })
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Shut::Full,
                mpsc::error::TrySendError::Closed(_) => Shut::Closed,
            })?;
        match tokio::time::timeout(ANSWER_WITHIN, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Shut::Closed),
            Err(_) => Err(Shut::Slow),
        }
    }
}

impl<I: Inbox + ?Sized> Writer<I> {
    /// Commits group after group.
    pub async fn run(mut self) {
        let mut group = Vec::with_capacity(GROUP);
        while self.letters.recv_many(&mut group, GROUP).await > 0 {
            let (deliveries, answers): (Vec<_>, Vec<_>) = group
                .drain(..)
                .map(|letter| (letter.delivery, letter.answer))
                .unzip();
            let outcomes = self.commit(deliveries).await;
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                // Whoever stopped waiting has answered 503 already.
                let _ = answer.send(outcome);
            }
        }
    }

    /// Commits a group; tells of each delivery, in order, what came of it.
    async fn commit(&self, deliveries: Vec<NewDelivery>) -> Vec<Result<Accepted, Shut>> {
        let brought = deliveries.len();
        match self.inbox.accept(deliveries).await {
            Ok(accepted) if accepted.len() == brought => {
                self.arrived.notify_one();
                return accepted.into_iter().map(Ok).collect();
            }
            Ok(accepted) => tracing::error!(
                brought,
                accepted = accepted.len(),
                "the store answered for another number of deliveries than it was given"
            ),
            Err(error) => tracing::error!(brought, %error, "deliveries could not be stored"),
        }
        vec![Err(Shut::Failed); brought]
    }
}
