//! The work table against a model of it: random wakes, leases, ends and lapses of time.
//!
//! The model keeps every wish by itself and says what it wants of a pass: not before its time, as
//! closely as it asked, and served by exactly those passes that begin after it was uttered.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::Duration;
use proptest::prelude::*;

use super::given::*;
use crate::domain::memory::Confirm;
use crate::domain::model::{Key, Timestamp};
use crate::store::sqlite::Sqlite;
use crate::store::{Finish, Lease, Store, StoreError};

#[derive(Debug, Clone)]
enum Move {
    Wake(u64, i64, Confirm),
    Lease,
    /// Gives back one of the leases that are held, current or not.
    Finish(usize, Ending),
    Pass(i64),
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Done,
    Again(i64, Confirm),
    Retry(i64),
}

/// One wish for a pass.
#[derive(Debug, Clone, Copy)]
struct Wish {
    not_before: Timestamp,
    confirm: Confirm,
}

#[derive(Debug, Default)]
struct Modelled {
    wishes: Vec<Wish>,
    /// The current lease: its number among all leases, its end, and how closely it looks.
    lease: Option<(usize, Timestamp, Confirm)>,
    failures: u32,
    /// The number of the last lease.
    last: usize,
}

impl Modelled {
    fn wanted_at(&self) -> Option<Timestamp> {
        self.wishes.iter().map(|wish| wish.not_before).min()
    }

    /// When it may be taken.
    fn ready_at(&self) -> Option<Timestamp> {
        match &self.lease {
            Some((_, until, _)) => Some(*until),
            None => self.wanted_at(),
        }
    }

    /// What a pass that begins now must look like; the wishes it serves are gone.
    fn begin(&mut self, number: usize, now: Timestamp) -> (Confirm, u32) {
        let abandoned = self.lease.take().map(|(_, _, confirm)| confirm);
        self.failures += u32::from(abandoned.is_some());
        let mut confirm = abandoned.unwrap_or(Confirm::IfNeeded);
        // Wishes coalesce: they are all served once the earliest is due.
        if self.wanted_at().is_some_and(|at| at <= now) {
            let strongest = self.wishes.iter().map(|wish| wish.confirm).max();
            confirm = confirm.max(strongest.unwrap_or(Confirm::IfNeeded));
            self.wishes.clear();
        }
        self.lease = Some((number, now + TTL, confirm));
        self.last = number;
        (confirm, self.failures)
    }

    fn end(&mut self, ending: Ending, now: Timestamp) {
        let (_, _, confirm) = self.lease.take().unwrap();
        let mut wish = |seconds, confirm| {
            self.wishes.push(Wish {
                not_before: now + Duration::seconds(seconds),
                confirm,
            });
        };
        match ending {
            Ending::Done => {}
            Ending::Again(seconds, confirm) => wish(seconds, confirm),
            Ending::Retry(seconds) => wish(seconds, confirm),
        }
        self.failures = match ending {
            Ending::Retry(_) => self.failures + 1,
            Ending::Done | Ending::Again(..) => 0,
        };
    }
}

struct Run {
    store: Arc<dyn Store>,
    now: Timestamp,
    keys: BTreeMap<Key, Modelled>,
    /// Leases that were not given back, with their numbers.
    held: Vec<(usize, Lease)>,
    leases: usize,
}

impl Run {
    async fn play(&mut self, made: Move) {
        match made {
            Move::Wake(n, seconds, confirm) => {
                let not_before = self.now + Duration::seconds(seconds);
                let key = pull_key(n);
                let keys = [(key.clone(), confirm)];
                self.store.wake(&keys, not_before).await.unwrap();
                let wish = Wish {
                    not_before,
                    confirm,
                };
                self.keys.entry(key).or_default().wishes.push(wish);
            }
            Move::Lease => {
                self.lease().await;
            }
            Move::Finish(at, ending) if !self.held.is_empty() => {
                let (number, lease) = self.held.remove(at % self.held.len());
                self.finish(number, lease, ending).await;
            }
            Move::Finish(..) => {}
            Move::Pass(seconds) => self.now += Duration::seconds(seconds),
        }
        let due = self.keys.values().filter_map(Modelled::ready_at).min();
        assert_eq!(self.store.next_due().await.unwrap(), due);
    }

    async fn lease(&mut self) -> bool {
        let ready = |model: &Modelled| model.ready_at().filter(|at| *at <= self.now);
        let longest = self.keys.values().filter_map(ready).min();
        let lease = self.store.lease(self.now, TTL).await.unwrap();
        assert_eq!(lease.is_some(), longest.is_some());
        let Some(lease) = lease else { return false };
        self.leases += 1;
        let number = self.leases;
        let model = self.keys.get_mut(lease.key()).unwrap();
        assert_eq!(model.ready_at(), longest, "another key waited longer");
        let expected = model.begin(number, self.now);
        assert_eq!((lease.confirm(), lease.attempt()), expected);
        self.held.push((number, lease));
        true
    }

    async fn finish(&mut self, number: usize, lease: Lease, ending: Ending) {
        let model = self.keys.get_mut(lease.key()).unwrap();
        let after = Duration::seconds;
        let finish = match ending {
            Ending::Done => Finish::Done { again: None },
            Ending::Again(seconds, confirm) => Finish::Done {
                again: Some((after(seconds), confirm)),
            },
            Ending::Retry(seconds) => Finish::Retry {
                after: after(seconds),
            },
        };
        let answer = self.store.finish(lease, finish, self.now).await;
        if model.last == number {
            answer.unwrap();
            model.end(ending, self.now);
        } else {
            assert!(matches!(answer, Err(StoreError::Overtaken(_))));
        }
    }

    /// Serves whatever is still wanted: nothing may be left over, and nothing may be missing.
    async fn settle(&mut self) {
        self.now += Duration::days(1);
        while self.lease().await {
            let (number, lease) = self.held.pop().unwrap();
            self.finish(number, lease, Ending::Done).await;
        }
        for (key, model) in &self.keys {
            assert!(model.wishes.is_empty(), "a wish for {key} was not served");
        }
        assert_eq!(self.store.next_due().await.unwrap(), None);
    }
}

fn confirms() -> impl Strategy<Value = Confirm> {
    prop_oneof![Just(Confirm::IfNeeded), Just(Confirm::Always)]
}

fn endings() -> impl Strategy<Value = Ending> {
    prop_oneof![
        2 => Just(Ending::Done),
        1 => (0_i64..100, confirms()).prop_map(|(after, confirm)| Ending::Again(after, confirm)),
        1 => (0_i64..100).prop_map(Ending::Retry),
    ]
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        4 => (1_u64..4, prop_oneof![3 => Just(0_i64), 1 => 0_i64..150], confirms())
            .prop_map(|(n, after, confirm)| Move::Wake(n, after, confirm)),
        4 => Just(Move::Lease),
        3 => (0_usize..8, endings()).prop_map(|(at, ending)| Move::Finish(at, ending)),
        2 => (1_i64..70).prop_map(Move::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_order_of_wakes_leases_ends_and_lapses_loses_or_doubles_a_pass(
        moves in proptest::collection::vec(moves(), 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut run = Run {
                store: Arc::new(Sqlite::open("sqlite::memory:").await.unwrap()),
                now: at(0),
                keys: BTreeMap::new(),
                held: Vec::new(),
                leases: 0,
            };
            for made in moves {
                run.play(made).await;
            }
            run.settle().await;
        });
    }
}
