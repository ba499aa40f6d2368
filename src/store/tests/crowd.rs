//! Many at once. Nothing here waits for a time: whoever finds nothing to do looks whether all is done.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::Place;
use super::given::*;
use crate::domain::ledger::Verifier;
use crate::domain::memory::PullRecord;
use crate::domain::model::Key;
use crate::store::{Accepted, Finish, Store};

const KEYS: u64 = 50;
const WORKERS: usize = 8;

/// What keys say about their passes.
#[derive(Default)]
struct Watch {
    /// Who is being worked on.
    busy: Mutex<BTreeMap<Key, u64>>,
    /// Of each key, the number of the last wake before its last pass began.
    served: Mutex<BTreeMap<Key, u64>>,
    overlapped: AtomicBool,
}

impl Watch {
    fn enter(&self, key: &Key, wakes: u64) {
        let mut busy = self.busy.lock().unwrap();
        let inside = busy.entry(key.clone()).or_default();
        *inside += 1;
        if *inside > 1 {
            self.overlapped.store(true, Ordering::SeqCst);
        }
        self.served.lock().unwrap().insert(key.clone(), wakes);
    }

    fn leave(&self, key: &Key) {
        *self.busy.lock().unwrap().get_mut(key).unwrap() -= 1;
    }
}

/// Makes passes until the wakers have ended and nothing is due.
async fn work(
    store: Arc<dyn Store>,
    watch: Arc<Watch>,
    wakes: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
) {
    loop {
        let was_over = over.load(Ordering::SeqCst);
        match store.lease(at(0), TTL).await.unwrap() {
            Some(lease) => {
                let key = lease.key().clone();
                watch.enter(&key, wakes.load(Ordering::SeqCst));
                tokio::task::yield_now().await;
                watch.leave(&key);
                let done = Finish::Done { again: None };
                store.finish(lease, done, at(0)).await.unwrap();
            }
            None if was_over => return,
            None => tokio::task::yield_now().await,
        }
    }
}

pub async fn many_workers_never_share_a_key_and_lose_no_wake(place: &dyn Place) {
    let store = place.open().await;
    let watch = Arc::new(Watch::default());
    let (wakes, over) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (store, watch) = (store.clone(), watch.clone());
            tokio::spawn(work(store, watch, wakes.clone(), over.clone()))
        })
        .collect();
    // Of each key, the number of its last wake.
    let mut woken = BTreeMap::new();
    for round in 0..4 {
        for n in 1..=KEYS {
            wake(&*store, pull_key((n * 7 + round) % KEYS + 1), at(0)).await;
            let number = wakes.fetch_add(1, Ordering::SeqCst) + 1;
            woken.insert(pull_key((n * 7 + round) % KEYS + 1), number);
        }
    }
    over.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    assert!(!watch.overlapped.load(Ordering::SeqCst));
    assert_eq!(store.next_due().await.unwrap(), None, "all is given back");
    let served = watch.served.lock().unwrap();
    assert_eq!(served.len() as u64, KEYS);
    for (key, number) in woken {
        // The wake was stored before it was counted: a pass that began in between has served it.
        assert!(
            served[&key] + 1 >= number,
            "the last wake of {key} was lost"
        );
    }
}

pub async fn many_writers_keep_the_ledger_one_chain(place: &dyn Place) {
    let store = place.open().await;
    let writers: Vec<_> = (1..=WORKERS as u64)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                wake(&*store, pull_key(n), at(0)).await;
                let lease = take(&*store, at(0)).await;
                for _ in 0..10 {
                    let entries = vec![draft(SHOP, n, "one"), draft(SHOP, n, "two")];
                    let record = PullRecord::default();
                    store
                        .save_record(&lease, &record, entries, at(1))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut verifier = Verifier::default();
    for entry in store.ledger(None, 0, 1_000).await.unwrap() {
        verifier.take(&entry).unwrap();
    }
    assert_eq!(verifier.followed(), WORKERS as u64 * 20);
}

pub async fn of_many_who_deliver_the_same_exactly_one_stores_it(place: &dyn Place) {
    let store = place.open().await;
    let senders: Vec<_> = (0..WORKERS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut stored = 0;
                for n in 0..20 {
                    let group = vec![delivery(&format!("d{n}"))];
                    if store.accept(group).await.unwrap() == [Accepted::Stored] {
                        stored += 1;
                    }
                }
                stored
            })
        })
        .collect();
    let mut stored = 0;
    for sender in senders {
        stored += sender.await.unwrap();
    }
    assert_eq!(stored, 20);
    assert_eq!(store.inbox().await.unwrap().waiting, 20);
}
