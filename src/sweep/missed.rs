//! Deliveries that GitHub could not hand over are asked for again.
//!
//! What only a delivery tells is won back so (the head that a review was written for, a label's moment), and
//! what a list of pull requests does not show (a check, a push) is heard of sooner; the rest of the sweep finds
//! what can be read from GitHub anyway. Which and when, `domain::redelivery` says.
//!
//! Nothing is asked for in shadow mode: `COUNTERSIGN_SHADOW` promises that nothing is posted to GitHub at
//! all, and a server in shadow often stands beside the real one, which would get those deliveries.
//!
//! Known race: two replicas that sweep at once may both ask for a delivery. It comes twice under one id,
//! and is taken once.

use std::sync::atomic::Ordering;

use super::{Sweep, SweepError};
use crate::domain::model::{DeliveryId, Timestamp};
use crate::domain::redelivery::{Book, Gap};
use crate::github::Refused;

/// The note that the book is kept under.
pub const NOTE: &str = "deliveries";
/// So many pages of a hundred attempts are read at one look.
const MOST_PAGES: usize = 30;

impl Sweep {
    /// Reads the App's deliveries since the last look and has those sent again that never arrived; how
    /// many it asked for. A server without such a list (404) is told of once in the log, and is no failure.
    ///
    /// # Errors
    /// The store's and GitHub's. What was read and asked for before is kept.
    pub async fn missed(&self) -> Result<usize, SweepError> {
        let now = self.clock.now();
        let note = self.store.note(NOTE).await?;
        let mut book = Book::deserialized(&note.value);
        match self.look(&mut book, now).await {
            Ok(()) => {}
            Err(refused @ (Refused::NotFound(_) | Refused::Invalid { .. })) => {
                if !self.told_no_list.swap(true, Ordering::Relaxed) {
                    tracing::info!(
                        %refused,
                        "this GitHub keeps no list of deliveries: what gets lost is found by the sweep alone"
                    );
                }
                return Ok(0);
            }
            Err(refused) => return Err(refused.into()),
        }
        let missing: Vec<DeliveryId> = book.missing.keys().cloned().collect();
        let came = self.store.known_deliveries(&missing).await?;
        let given_up = book.settle(&came, now);
        if given_up > 0 {
            tracing::warn!(
                given_up,
                "deliveries never arrived, and are too old to be sent again"
            );
        }
        let asked = match self.shadow {
            true => Ok(0),
            false => self.ask(&mut book, now).await,
        };
        self.keep(NOTE, note, book.serialized()).await?;
        Ok(asked?)
    }

    /// Reads the list: what is new, then what an earlier look left.
    async fn look(&self, book: &mut Book, now: Timestamp) -> Result<(), Refused> {
        let mut pages = MOST_PAGES;
        let floor = book.floor(now);
        let stopped = self.pages(book, None, floor, &mut pages).await?;
        book.looked(now, stopped);
        let left = book.gap.clone().filter(|_| pages > 0);
        if let Some(Gap { cursor, until }) = left {
            let stopped = self.pages(book, Some(cursor), until, &mut pages).await?;
            book.gap = stopped.map(|cursor| Gap { cursor, until });
        }
        Ok(())
    }

    /// Reads pages down to a time; where it had to stop before.
    async fn pages(
        &self,
        book: &mut Book,
        mut cursor: Option<String>,
        until: Timestamp,
        pages: &mut usize,
    ) -> Result<Option<String>, Refused> {
        let mut attempts = Vec::new();
        let stopped = loop {
            if *pages == 0 {
                break cursor;
            }
            *pages -= 1;
            let page = self.reads.attempts(cursor.as_deref()).await?;
            let reached = page.items.iter().any(|one| one.at < until);
            attempts.extend(page.items.into_iter().filter(|one| one.at >= until));
            match page.next {
                Some(next) if !reached => cursor = Some(next),
                _ => break None,
            }
        };
        book.read(&attempts);
        Ok(stopped)
    }

    async fn ask(&self, book: &mut Book, now: Timestamp) -> Result<usize, Refused> {
        let mut asked = 0;
        for (id, attempt) in book.due(now) {
            match self.reads.redeliver(attempt).await {
                Ok(()) => {
                    book.asked(&id, now);
                    asked += 1;
                }
                // One that GitHub does not send again must not hold up the others.
                Err(refused @ (Refused::NotFound(_) | Refused::Invalid { .. })) => {
                    tracing::warn!(delivery = %id, %refused, "a failed delivery cannot be sent again");
                    book.missing.remove(&id);
                }
                Err(refused) => return Err(refused),
            }
        }
        if asked > 0 {
            tracing::info!(
                asked,
                missing = book.missing.len(),
                "failed deliveries were asked for again"
            );
        }
        Ok(asked)
    }
}
