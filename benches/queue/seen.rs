//! What passes leave behind: how many there were, which began when, and whether two were over one key.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Seen by all servers of one measure.
#[derive(Debug, Default)]
pub struct Seen {
    inner: Mutex<Inner>,
    /// How long a pass takes.
    pub takes: Duration,
    /// Rings at every begin.
    pub begun: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    passes: usize,
    overlaps: usize,
    last: Option<Instant>,
    running: HashMap<u64, u32>,
}

impl Seen {
    /// Passes that take so long.
    pub fn taking(takes: Duration) -> Self {
        Self {
            takes,
            ..Self::default()
        }
    }

    /// One pass over a pull request.
    pub async fn pass(&self, number: u64) {
        self.note(|inner| {
            inner.passes += 1;
            inner.last = Some(Instant::now());
            let running = inner.running.entry(number).or_default();
            *running += 1;
            if *running > 1 {
                inner.overlaps += 1;
            }
        });
        self.begun.notify_one();
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        self.note(|inner| *inner.running.entry(number).or_default() -= 1);
    }

    /// How many passes began.
    pub fn passes(&self) -> usize {
        self.note(|inner| inner.passes)
    }

    /// How many began while another was over the same pull request.
    pub fn overlaps(&self) -> usize {
        self.note(|inner| inner.overlaps)
    }

    /// When the last one began.
    pub fn last(&self) -> Option<Instant> {
        self.note(|inner| inner.last)
    }

    fn note<T>(&self, what: impl FnOnce(&mut Inner) -> T) -> T {
        what(&mut self.inner.lock().unwrap())
    }
}
