use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::mpsc;

use super::*;
use crate::domain::memory::{Confirm, RepoMemory};
use crate::domain::model::{PullNumber, RepoId, RepoName, Repository, Timestamp};
use crate::store::Versioned;
use crate::store::sqlite::Sqlite;

/// What a pass is to do.
#[derive(Clone, Copy)]
enum Play {
    Done,
    Again(i64),
    Fail,
    Panic,
    Hang,
    /// Ends when it is let go.
    Held,
    /// Goes on only after another process took the key over and made the pass.
    Stall,
}

/// Plays what it was told, in order, then only `Done`; tells of each pass as it begins.
struct Player {
    store: Arc<dyn Store>,
    plays: Mutex<VecDeque<Play>>,
    began: mpsc::UnboundedSender<(Key, u32)>,
    let_go: Arc<Notify>,
}

#[async_trait]
impl Passes for Player {
    async fn pass(&self, lease: &Lease) -> Result<Finish, String> {
        let play = self.plays.lock().unwrap().pop_front();
        let _ = self.began.send((lease.key().clone(), lease.attempt()));
        match play.unwrap_or(Play::Done) {
            Play::Done => Ok(Finish::Done { again: None }),
            Play::Again(seconds) => Ok(Finish::Done {
                again: Some((chrono::Duration::seconds(seconds), Confirm::IfNeeded)),
            }),
            Play::Fail => Err("GitHub answered 502".into()),
            Play::Panic => panic!("an index was out of bounds"),
            Play::Hang => std::future::pending().await,
            Play::Held => {
                self.let_go.notified().await;
                Ok(Finish::Done { again: None })
            }
            Play::Stall => {
                let late = start() + chrono::Duration::hours(1);
                let ttl = chrono::Duration::seconds(60);
                let done = Finish::Done { again: None };
                let other = self.store.lease(late, ttl).await.unwrap().unwrap();
                self.store.finish(other, done, late).await.unwrap();
                Ok(done)
            }
        }
    }
}

struct Workshop {
    store: Arc<dyn Store>,
    clock: Clock,
    bell: Arc<Notify>,
    worker: Worker,
    began: mpsc::UnboundedReceiver<(Key, u32)>,
    let_go: Arc<Notify>,
}

impl Workshop {
    async fn open(plays: &[Play]) -> Self {
        let store: Arc<dyn Store> = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
        let clock = Clock::manual(start());
        let bell = Arc::new(Notify::new());
        let (began, beginnings) = mpsc::unbounded_channel();
        let player = Player {
            store: store.clone(),
            plays: Mutex::new(plays.iter().copied().collect()),
            began,
            let_go: Arc::new(Notify::new()),
        };
        let let_go = player.let_go.clone();
        let worker = Worker::new(store.clone(), Arc::new(player), clock.clone(), bell.clone());
        Self {
            store,
            clock,
            bell,
            worker,
            began: beginnings,
            let_go,
        }
    }

    async fn wake(&self, n: u64) {
        self.wake_key(key(n)).await;
    }

    async fn wake_key(&self, key: Key) {
        self.store
            .wake(&[(key, Confirm::IfNeeded)], self.clock.now())
            .await
            .unwrap();
        self.bell.notify_one();
    }

    /// A repository whose number is its installation's.
    async fn install(&self, id: u64) {
        let mut memory = Versioned::<RepoMemory>::default();
        memory.value.repo = Some(Repository {
            id: RepoId::new(id).unwrap(),
            name: RepoName::parse(&format!("acme/r{id}")).unwrap(),
            installation: InstallationId::new(id).unwrap(),
            default_branch: None,
        });
        let repo = RepoId::new(id).unwrap();
        assert!(self.store.remember_repo(repo, &memory).await.unwrap());
    }

    /// Seconds until the next key is due.
    async fn due_in(&self) -> Option<i64> {
        let due = self.store.next_due().await.unwrap();
        due.map(|due| (due - self.clock.now()).num_seconds())
    }

    async fn next_pass(&mut self) -> (Key, u32) {
        self.began.recv().await.unwrap()
    }

    fn passes(&mut self) -> Vec<u32> {
        std::iter::from_fn(|| self.began.try_recv().ok())
            .map(|(_, attempt)| attempt)
            .collect()
    }
}

fn start() -> Timestamp {
    Timestamp::from_timestamp(1_700_000_000, 0).unwrap()
}

fn key(n: u64) -> Key {
    key_of(7, n)
}

fn key_of(repo: u64, n: u64) -> Key {
    Key::Pull(RepoId::new(repo).unwrap(), PullNumber::new(n).unwrap())
}

#[tokio::test]
async fn a_step_makes_one_pass_to_its_end() {
    let shop = Workshop::open(&[]).await;
    shop.wake(1).await;
    shop.wake(2).await;
    assert!(shop.worker.step().await.unwrap().is_some());
    assert!(shop.worker.step().await.unwrap().is_some());
    assert_eq!(shop.worker.step().await.unwrap(), None);
    assert_eq!(shop.due_in().await, None);
}

#[tokio::test]
async fn settling_ends_when_nothing_is_due_or_enough_was_done() {
    let shop = Workshop::open(&[Play::Again(0), Play::Again(0), Play::Again(30)]).await;
    shop.wake(1).await;
    assert_eq!(shop.worker.settle(2).await.unwrap(), 2);
    assert_eq!(shop.worker.settle(10).await.unwrap(), 1);
    assert_eq!(shop.due_in().await, Some(30));
    shop.clock.advance(chrono::Duration::seconds(30));
    assert_eq!(shop.worker.settle(10).await.unwrap(), 1);
}

#[tokio::test]
async fn failures_are_tried_again_after_doubling_pauses() {
    let mut shop = Workshop::open(&[Play::Fail; 10]).await;
    shop.wake(1).await;
    let mut pauses = Vec::new();
    for _ in 0..10 {
        shop.worker.step().await.unwrap();
        let pause = shop.due_in().await.unwrap();
        pauses.push(pause);
        shop.clock.advance(chrono::Duration::seconds(pause - 1));
        assert_eq!(shop.worker.step().await.unwrap(), None);
        shop.clock.advance(chrono::Duration::seconds(1));
    }
    assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(shop.passes(), (0..10).collect::<Vec<_>>());
    assert_eq!(shop.worker.settle(10).await.unwrap(), 1);
    assert_eq!(shop.due_in().await, None, "it went well at last");
}

#[tokio::test]
async fn a_pass_that_panics_harms_only_its_own_key() {
    let shop = Workshop::open(&[Play::Panic]).await;
    shop.wake(1).await;
    shop.wake(2).await;
    assert_eq!(shop.worker.settle(10).await.unwrap(), 2);
    assert_eq!(shop.due_in().await, Some(2));
}

#[tokio::test]
async fn a_pass_that_hangs_is_cut_off_while_its_lease_still_holds() {
    let shop = Workshop::open(&[Play::Hang]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        lease: Duration::from_millis(4),
        ..Pace::default()
    });
    shop.wake(1).await;
    // The clock of leases stands still, so the lease cannot have run out.
    assert_eq!(worker.step().await.unwrap(), Some(key(1)));
    assert_eq!(shop.due_in().await, Some(2));
}

#[tokio::test]
async fn a_pass_that_was_overtaken_is_no_error_of_the_worker() {
    let shop = Workshop::open(&[Play::Stall]).await;
    shop.wake(1).await;
    assert_eq!(shop.worker.step().await.unwrap(), Some(key(1)));
    assert_eq!(shop.due_in().await, None, "who overtook it made the pass");
}

#[tokio::test]
async fn a_running_worker_serves_a_wake_that_rings() {
    let mut shop = Workshop::open(&[]).await;
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(shop.worker.clone().run(4, stopping));
    for n in 1..=3 {
        shop.wake(n).await;
        assert_eq!(shop.next_pass().await, (key(n), 0));
    }
    stop.send(true).unwrap();
    running.await.unwrap();
    assert_eq!(shop.due_in().await, None);
}

#[tokio::test]
async fn a_wake_that_does_not_ring_is_found_by_looking() {
    let mut shop = Workshop::open(&[]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        look_every: Duration::from_millis(1),
        ..Pace::default()
    });
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(1, stopping));
    let keys = [(key(1), Confirm::IfNeeded)];
    shop.store.wake(&keys, shop.clock.now()).await.unwrap();
    assert_eq!(shop.next_pass().await, (key(1), 0));
    drop(stop);
    running.await.unwrap();
}

#[tokio::test]
async fn a_hanging_pass_does_not_keep_other_keys_waiting() {
    let mut shop = Workshop::open(&[Play::Hang]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        drain: Duration::ZERO,
        ..Pace::default()
    });
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(2, stopping));
    shop.wake(1).await;
    assert_eq!(shop.next_pass().await, (key(1), 0));
    for n in 2..=4 {
        shop.wake(n).await;
        assert_eq!(shop.next_pass().await, (key(n), 0));
    }
    stop.send(true).unwrap();
    running.await.unwrap();
}

#[tokio::test]
async fn an_installation_whose_passes_hang_leaves_places_to_others() {
    let mut shop = Workshop::open(&[Play::Hang; 2]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        drain: Duration::ZERO,
        ..Pace::default()
    });
    shop.install(1).await;
    shop.install(2).await;
    for n in 1..=6 {
        shop.wake_key(key_of(1, n)).await;
    }
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(4, stopping));
    for _ in 0..2 {
        assert_eq!(shop.next_pass().await.0.repo(), RepoId::new(1).unwrap());
    }
    for n in 1..=4 {
        shop.wake_key(key_of(2, n)).await;
        assert_eq!(shop.next_pass().await.0, key_of(2, n));
    }
    stop.send(true).unwrap();
    running.await.unwrap();
    assert!(
        shop.passes().is_empty(),
        "the first had what it may have, and no more"
    );
}

#[tokio::test]
async fn what_was_left_out_is_taken_up_when_a_pass_ends_without_a_bell() {
    let mut shop = Workshop::open(&[Play::Held; 3]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        look_every: Duration::from_secs(3_600),
        ..Pace::default()
    });
    shop.install(1).await;
    for n in 1..=3 {
        shop.wake_key(key_of(1, n)).await;
    }
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(2, stopping));
    for n in 1..=3 {
        assert_eq!(shop.next_pass().await.0, key_of(1, n));
        assert!(shop.passes().is_empty(), "one of two places is not its own");
        shop.let_go.notify_one();
    }
    stop.send(true).unwrap();
    running.await.unwrap();
    assert_eq!(shop.due_in().await, None);
}

#[tokio::test]
async fn no_more_passes_run_at_once_than_were_asked_for() {
    let mut shop = Workshop::open(&[Play::Hang, Play::Hang]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        drain: Duration::ZERO,
        ..Pace::default()
    });
    for n in 1..=3 {
        shop.wake(n).await;
    }
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(2, stopping));
    shop.next_pass().await;
    shop.next_pass().await;
    stop.send(true).unwrap();
    running.await.unwrap();
    assert!(shop.passes().is_empty());
}

#[tokio::test]
async fn a_stop_gives_back_what_it_cuts_off() {
    let mut shop = Workshop::open(&[Play::Hang]).await;
    let worker = shop.worker.clone().at_pace(Pace {
        drain: Duration::ZERO,
        ..Pace::default()
    });
    let (stop, stopping) = watch::channel(false);
    let running = tokio::spawn(worker.run(1, stopping));
    shop.wake(1).await;
    shop.next_pass().await;
    stop.send(true).unwrap();
    running.await.unwrap();
    assert_eq!(
        shop.due_in().await,
        Some(0),
        "nobody needs to wait for a lease"
    );
    assert_eq!(shop.worker.step().await.unwrap(), Some(key(1)));
    assert_eq!(shop.due_in().await, None);
}

#[test]
fn no_number_of_failures_is_too_large_for_a_pause() {
    assert_eq!(pause(0), FIRST_PAUSE);
    assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
}
