//! Lets go of what nobody will ask for again, so that the database does not grow for ever.
//!
//! What goes, by age: the bytes of deliveries that could not be understood (those of understood ones went at
//! once); what was remembered of commits that are no open pull request's head, once the pull request that
//! had them was closed that long or GitHub said that there is none; the journal of check runs of such pull
//! requests; and, after [`IDS`] times that age, ids of deliveries. What stays: the ledger, whole; the verdict
//! and the memory of every pull request, which pages show; the journal of merges.
//!
//! **Why ids may go at all.** Within their time a signed delivery that somebody replays is known and does
//! nothing. GitHub itself sends one again for some days at most. One that is replayed later is taken for new:
//! it may refresh what is remembered where that is not newer, and wake a key, whose pass reads GitHub. That
//! costs calls; it decides nothing. Who wants old signatures void changes the webhook's secret.
//!
//! In small batches, each a transaction of its own, with the others let through between them. Free pages of
//! the file are used again; it does not get smaller, and stops growing.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::store::{Keep, Store, Stored};

/// So many times longer than everything else are ids kept.
pub const IDS: i32 = 3;
/// And never shorter than this, in days: GitHub lists deliveries of a month, and the sweep asks for those
/// again that are not known here.
const LEAST_IDS: i64 = 90;
/// Rows of one kind in one transaction: some milliseconds.
const BATCH: u32 = 200;
/// Batches in one go; the next sweep goes on.
const BATCHES: u32 = 500;

/// Lets go of what is old.
#[derive(Clone)]
pub struct Retention {
    store: Arc<dyn Store>,
    clock: Clock,
    age: chrono::Duration,
}

impl Retention {
    /// Keeps what is younger than `age`.
    pub fn new(store: Arc<dyn Store>, clock: Clock, age: Duration) -> Self {
        // A span that no calendar holds keeps everything.
        let age = chrono::Duration::from_std(age).unwrap_or(chrono::Duration::MAX);
        Self { store, clock, age }
    }

    /// Lets go of what is older; tells how many rows that were.
    ///
    /// # Errors
    /// The store's. What went before stays gone.
    pub async fn prune(&self) -> Stored<u64> {
        let now = self.clock.now();
        let ids = self.age.checked_mul(IDS);
        let ids = ids.map(|age| age.max(chrono::Duration::days(LEAST_IDS)));
        let (Some(rest), Some(ids)) = (
            now.checked_sub_signed(self.age),
            ids.and_then(|age| now.checked_sub_signed(age)),
        ) else {
            return Ok(0);
        };
        let mut gone = 0;
        for _ in 0..BATCHES {
            let batch = self.store.prune(Keep { rest, ids }, BATCH).await?;
            gone += batch;
            if batch == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(gone)
    }
}
