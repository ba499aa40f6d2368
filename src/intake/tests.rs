//! Waiting deliveries are understood in order, and a bad one stops nobody.

use std::collections::BTreeMap;
use std::sync::Mutex;

use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::domain::memory::{Change, Confirm, Wake};
use crate::domain::model::{DeliveryId, Key};

/// A backlog in memory. Fails on the deliveries it is told to, so often as it is told to.
#[derive(Default)]
struct FakeBacklog {
    waiting: Mutex<Vec<Waiting>>,
    absorbed: Mutex<Vec<(i64, Absorbed)>>,
    failing: Mutex<BTreeMap<i64, (u32, Fails)>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fails {
    /// The database fails on what the delivery changes, and works otherwise.
    Changes,
    /// The database fails on everything.
    Everything,
    /// What is stored cannot be read.
    Corrupt,
}

impl FakeBacklog {
    fn with(bodies: &[(&str, Value)]) -> Arc<Self> {
        let waiting = bodies
            .iter()
            .zip(1..)
            .map(|((event, body), seq)| Waiting {
                seq,
                delivery: NewDelivery {
                    id: DeliveryId::parse(&format!("d-{seq}")).unwrap(),
                    event: (*event).to_owned(),
                    body: Bytes::from(body.to_string()),
                    at: "2026-01-01T00:00:00Z".parse().unwrap(),
                },
                attempts: 0,
            })
            .collect();
        Arc::new(Self {
            waiting: Mutex::new(waiting),
            ..Self::default()
        })
    }

    fn fail(&self, seq: i64, times: u32, how: Fails) {
        self.failing.lock().unwrap().insert(seq, (times, how));
    }

    /// What became of each delivery: `done`, or why it is a dead letter.
    fn outcomes(&self) -> Vec<(i64, String)> {
        let absorbed = self.absorbed.lock().unwrap();
        absorbed
            .iter()
            .map(|(seq, absorbed)| match absorbed {
                Absorbed::Done { .. } => (*seq, "done".to_owned()),
                Absorbed::Dead { why } => (*seq, why.clone()),
            })
            .collect()
    }
}

#[async_trait]
impl Backlog for FakeBacklog {
    async fn waiting(&self, limit: u32) -> Stored<Vec<Waiting>> {
        let waiting = self.waiting.lock().unwrap();
        if let Some(first) = waiting.first()
            && let Some((left, Fails::Everything)) =
                self.failing.lock().unwrap().get_mut(&first.seq)
            && *left > 0
        {
            *left -= 1;
            return Err(StoreError::Database(sqlx::Error::PoolTimedOut));
        }
        Ok(waiting.iter().take(limit as usize).cloned().collect())
    }

    async fn absorb(&self, absorbed: Vec<(i64, Absorbed)>, _now: Timestamp) -> Stored<()> {
        let alone = absorbed.len() == 1;
        for (seq, absorbed) in &absorbed {
            if let Some((left, how)) = self.failing.lock().unwrap().get_mut(seq)
                && *left > 0
                && (*how == Fails::Everything || matches!(absorbed, Absorbed::Done { .. }))
            {
                // A group that fails says nothing of its members.
                *left -= u32::from(alone);
                return Err(match how {
                    Fails::Corrupt => StoreError::Corrupt {
                        what: "a pull request".to_owned(),
                        why: "it is not JSON".to_owned(),
                    },
                    Fails::Changes | Fails::Everything => {
                        StoreError::Database(sqlx::Error::PoolTimedOut)
                    }
                });
            }
        }
        for (seq, absorbed) in absorbed {
            self.waiting
                .lock()
                .unwrap()
                .retain(|waiting| waiting.seq != seq);
            self.absorbed.lock().unwrap().push((seq, absorbed));
        }
        Ok(())
    }
}

fn intake(backlog: &Arc<FakeBacklog>) -> (Intake<FakeBacklog>, Arc<Notify>) {
    let woken = Arc::new(Notify::new());
    let intake = Intake::new(
        Arc::clone(backlog),
        AppId::new(1000).unwrap(),
        Clock::manual("2026-01-01T00:00:00Z".parse().unwrap()),
        Arc::new(Notify::new()),
        Arc::clone(&woken),
    );
    (intake, woken)
}

fn thread() -> (&'static str, Value) {
    let body = json!({
        "action": "resolved",
        "installation": { "id": 7 },
        "repository": { "id": 42, "full_name": "acme/shop" },
        "pull_request": { "number": 3 },
    });
    ("pull_request_review_thread", body)
}

fn unreadable() -> (&'static str, Value) {
    let (event, mut body) = thread();
    body["pull_request"] = Value::Null;
    (event, body)
}

#[tokio::test]
async fn what_a_delivery_means_is_absorbed_and_the_worker_is_told() {
    let backlog = FakeBacklog::with(&[thread()]);
    let (mut intake, woken) = intake(&backlog);
    assert_eq!(intake.step().await.unwrap(), 1);
    woken.notified().await;
    assert_eq!(intake.step().await.unwrap(), 0);
    let absorbed = backlog.absorbed.lock().unwrap();
    let Absorbed::Done { changes, wakes, .. } = &absorbed[0].1 else {
        panic!("{absorbed:?}");
    };
    assert!(matches!(changes[..], [Change::RepoSeen(_)]));
    assert!(matches!(
        wakes[..],
        [(Wake::Key(Key::Pull(..)), Confirm::IfNeeded)]
    ));
}

#[tokio::test]
async fn a_delivery_that_cannot_be_understood_becomes_a_dead_letter_and_stops_nobody() {
    let backlog =
        FakeBacklog::with(&[thread(), unreadable(), ("sponsorship", json!({})), thread()]);
    let (mut intake, _) = intake(&backlog);
    assert_eq!(intake.step().await.unwrap(), 4);
    insta::assert_debug_snapshot!(backlog.outcomes(), @r#"
    [
        (
            1,
            "done",
        ),
        (
            2,
            "a `pull_request_review_thread` delivery without a usable `pull_request`: it is missing or null",
        ),
        (
            3,
            "done",
        ),
        (
            4,
            "done",
        ),
    ]
    "#);
}

#[tokio::test]
async fn a_failing_database_stops_everything_and_the_order_is_kept() {
    let backlog = FakeBacklog::with(&[thread(), thread(), thread()]);
    backlog.fail(2, 2, Fails::Everything);
    let (mut intake, _) = intake(&backlog);
    assert!(intake.step().await.is_err());
    assert!(intake.step().await.is_err());
    assert_eq!(intake.step().await.unwrap(), 2);
    let order: Vec<i64> = backlog.outcomes().into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(order, [1, 2, 3]);
}

#[tokio::test]
async fn a_delivery_on_which_the_database_fails_alone_is_set_aside_after_some_patience() {
    let backlog = FakeBacklog::with(&[thread(), thread()]);
    backlog.fail(1, u32::MAX, Fails::Changes);
    let (mut intake, _) = intake(&backlog);
    for _ in 1..PATIENCE {
        assert!(intake.step().await.is_err());
    }
    assert_eq!(intake.step().await.unwrap(), 2);
    let outcomes = backlog.outcomes();
    assert!(
        outcomes[0].1.starts_with("it could not be stored 5 times"),
        "{outcomes:?}"
    );
    assert_eq!(outcomes[1].1, "done");
}

#[tokio::test]
async fn a_database_that_is_gone_for_long_costs_no_delivery() {
    for calls in 0..60 {
        let backlog = FakeBacklog::with(&[thread(), thread()]);
        backlog.fail(2, calls, Fails::Everything);
        let (mut intake, _) = intake(&backlog);
        while intake.step().await.map_or(true, |taken| taken > 0) {}
        assert!(
            backlog
                .outcomes()
                .iter()
                .all(|(_, outcome)| outcome == "done"),
            "{calls}"
        );
    }
}

#[tokio::test]
async fn a_database_that_comes_back_before_a_delivery_is_set_aside_takes_it_after_all() {
    let backlog = FakeBacklog::with(&[thread()]);
    backlog.fail(1, PATIENCE, Fails::Changes);
    let (mut intake, _) = intake(&backlog);
    while intake.step().await.is_err() {}
    assert_eq!(backlog.outcomes(), [(1, "done".to_owned())]);
}

#[tokio::test]
async fn what_meets_a_memory_that_cannot_be_read_is_set_aside_at_once() {
    let backlog = FakeBacklog::with(&[thread(), thread()]);
    backlog.fail(1, u32::MAX, Fails::Corrupt);
    let (mut intake, _) = intake(&backlog);
    assert_eq!(intake.step().await.unwrap(), 2);
    insta::assert_snapshot!(backlog.outcomes()[0].1,
        @"what it changes cannot be read: what is stored as a pull request cannot be read: it is not JSON");
}

#[tokio::test(start_paused = true)]
async fn the_loop_goes_on_after_failures_and_ends_when_told() {
    let backlog = FakeBacklog::with(&[thread(), unreadable(), thread()]);
    backlog.fail(1, 2, Fails::Everything);
    let (intake, woken) = intake(&backlog);
    let (stop, told) = watch::channel(false);
    let running = tokio::spawn(intake.run(told));
    for _ in 0..3 {
        woken.notified().await;
        if backlog.outcomes().len() == 3 {
            break;
        }
    }
    stop.send(true).unwrap();
    running.await.unwrap();
    assert_eq!(backlog.outcomes().len(), 3);
}
