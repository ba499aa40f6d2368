//! The table of keyed work, as servers use it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use countersign::clock::Clock;
use countersign::domain::memory::Confirm;
use countersign::domain::model::{Key, PullNumber, RepoId};
use countersign::store::postgres::Postgres;
use countersign::store::{Finish, Lease, Store};
use countersign::worker::{Pace, Passes, Worker};
use tokio::sync::{Notify, watch};

use crate::seen::Seen;
use crate::{Queue, Server};

pub struct Ours {
    url: String,
    store: Postgres,
    /// How long leases last; the server's own by default.
    lease: Duration,
}

impl Ours {
    pub async fn open(url: &str) -> Self {
        Self {
            url: url.into(),
            store: Postgres::open(url).await.unwrap(),
            lease: Pace::default().lease,
        }
    }

    pub fn leasing_for(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }
}

struct Making(Arc<Seen>);

#[async_trait]
impl Passes for Making {
    async fn pass(&self, lease: &Lease) -> Result<Finish, String> {
        if let Key::Pull(_, number) = lease.key() {
            self.0.pass(number.get()).await;
        }
        Ok(Finish::Done { again: None })
    }
}

#[async_trait]
impl Queue for Ours {
    async fn wake(&self, numbers: &[u64]) {
        let repo = RepoId::new(1).unwrap();
        let key = |number: &u64| Key::Pull(repo, PullNumber::new(*number).unwrap());
        let keys: Vec<_> = numbers
            .iter()
            .map(|number| (key(number), Confirm::IfNeeded))
            .collect();
        self.store.wake(&keys, Clock::System.now()).await.unwrap();
    }

    async fn server(&self, seen: Arc<Seen>) -> Server {
        let store: Arc<dyn Store> = Arc::new(Postgres::open(&self.url).await.unwrap());
        let bell = Arc::new(Notify::new());
        let pace = Pace {
            lease: self.lease,
            ..Pace::default()
        };
        let passes = Arc::new(Making(seen));
        let worker = Worker::new(store.clone(), passes, Clock::System, bell.clone()).at_pace(pace);
        // Sent to never: it ends with its task.
        let (sender, stopped) = watch::channel(false);
        let working = tokio::spawn(async move {
            worker.run(8, stopped).await;
            drop(sender);
        });
        let hearing = tokio::spawn(async move {
            while store.woken_elsewhere().await.is_ok() {
                bell.notify_one();
            }
        });
        Server(vec![working, hearing])
    }
}
