//! Our table of keyed work on PostgreSQL against `graphile_worker`, a queue of jobs on the same engine.
//!
//! `cargo bench --bench queue` measures everything, `cargo bench --bench queue -- draining` one part of it.
//! The server is started by the bench and waits for the disk. Both sides work in this process over
//! connections of their own, do nothing in a pass, and take turns on one machine, three times: medians are
//! told, and what counts is their ratio. On both sides a wake's commit does not wait for the disk, and the
//! taking of work does.
//!
//! A queue of jobs has to be told to keep passes over one key apart: it does that by a named queue per
//! key (`theirs`). Without (`theirs, unordered`) two passes over one pull request run at the same time, which
//! the gate may not have; it is measured to show what the order costs. `theirs, batched` has its local queue
//! and its batched completions on. Without PostgreSQL there is nothing to measure.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "../../tests/replicas/cluster.rs"]
#[allow(dead_code, reason = "the test of replicas uses the rest")]
mod cluster;
mod measures;
mod ours;
mod seen;
mod theirs;
mod trials;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use cluster::Cluster;
use seen::Seen;
use theirs::Theirs;

/// Something that keeps which pull requests want a pass, and has passes made.
#[async_trait]
pub trait Queue: Send + Sync {
    /// Wakes pull requests, all in one transaction.
    async fn wake(&self, numbers: &[u64]);
    /// Starts one more server that makes passes, eight at once, until it is dropped.
    async fn server(&self, seen: Arc<Seen>) -> Server;
}

/// A server that works; its value ends it.
pub struct Server(pub Vec<tokio::task::JoinHandle<()>>);

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.0 {
            task.abort();
        }
    }
}

/// What is measured against what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Theirs,
    Unordered,
    Batched,
}

impl Side {
    pub const ALL: [Self; 4] = [Self::Ours, Self::Theirs, Self::Unordered, Self::Batched];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Theirs => "theirs",
            Self::Unordered => "theirs, unordered",
            Self::Batched => "theirs, batched",
        }
    }

    /// Opens it on a database that has nothing yet.
    pub async fn open(self, url: &str) -> Box<dyn Queue> {
        self.open_polling(url, Duration::from_secs(1)).await
    }

    /// The same, and theirs looks so often for work that nothing announced; a second by default.
    pub async fn open_polling(self, url: &str, poll: Duration) -> Box<dyn Queue> {
        let theirs = async |ordered, batched| {
            let theirs = Theirs::open(url, ordered, batched).await;
            Box::new(theirs.polling(poll))
        };
        match self {
            Self::Ours => Box::new(ours::Ours::open(url).await),
            Self::Theirs => theirs(true, false).await,
            Self::Unordered => theirs(false, false).await,
            Self::Batched => theirs(true, true).await,
        }
    }
}

#[tokio::main]
async fn main() {
    // Cargo says `--bench`; the rest names parts, or is what a child is told.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    if let [hang, side, url] = &words[..]
        && hang == "hang"
    {
        return measures::hang(side, url).await;
    }
    let Some(cluster) = Cluster::start_that_waits(true) else {
        return println!("left out: PostgreSQL is not installed");
    };
    let wanted = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    if wanted("adding") {
        measures::adding(&cluster).await;
    }
    if wanted("draining") {
        measures::draining(&cluster).await;
    }
    if wanted("latency") {
        measures::latency(&cluster).await;
    }
    if wanted("trials") {
        trials::tell(&cluster).await;
    }
    if wanted("recovery") {
        measures::recovery(&cluster).await;
    }
}
