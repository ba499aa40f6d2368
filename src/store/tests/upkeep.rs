use serde_json::json;

use super::Place;
use super::given::*;
use crate::domain::facts::{PullRequest, PullState};
use crate::domain::memory::Change;
use crate::domain::model::Timestamp;
use crate::store::{Absorbed, Accepted, Begun, Ended, Figures, InboxCounts, Keep, Store};

fn keep(rest: i64, ids: i64) -> Keep {
    Keep {
        rest: at(rest),
        ids: at(ids),
    }
}

async fn prune(store: &dyn Store, keep: Keep) {
    while store.prune(keep, 2).await.unwrap() > 0 {}
}

fn closed(n: u64, digit: char, at: Timestamp) -> PullRequest {
    PullRequest {
        state: PullState::Closed,
        updated_at: at,
        ..open_pull(n, digit)
    }
}

async fn check(store: &dyn Store, digit: char) {
    let id = format!("check-{digit}");
    let change = Change::Run(repo_id(SHOP), green(1, digit));
    say(store, &id, vec![change], Vec::new()).await;
}

async fn remembered(store: &dyn Store, digit: char) -> bool {
    let head = store.head(repo_id(SHOP), &head(digit)).await.unwrap();
    head.version > 0
}

/// Publishes the check run of pull request `n`.
async fn publish(store: &dyn Store, n: u64, done: bool) -> String {
    let key = format!("check:{SHOP}:{n}:1");
    wake(store, pull_key(n), at(0)).await;
    let lease = take(store, at(0)).await;
    store
        .begin(&lease, &key, json!("publish"), None, at(0))
        .await
        .unwrap();
    if done {
        let ended = Ended::Done(json!("done"));
        store.end(&key, ended, None, at(0)).await.unwrap();
    }
    let done = crate::store::Finish::Done { again: None };
    store.finish(lease, done, at(0)).await.unwrap();
    key
}

pub async fn what_belongs_to_pulls_closed_long_ago_goes_and_nothing_else_does(place: &dyn Place) {
    let store = place.open().await;
    for digit in ['a', 'b', 'c', 'd', 'e'] {
        check(&*store, digit).await;
    }
    know_pull(&*store, open_pull(1, 'a')).await;
    know_pull(&*store, closed(2, 'b', at(50))).await;
    know_pull(&*store, closed(3, 'c', at(150))).await;
    // The same head is an open one's as well.
    know_pull(&*store, closed(4, 'a', at(50))).await;
    // Of `d` GitHub knew no pull request, of `e` it was not asked.
    let mut nobodys = store.head(repo_id(SHOP), &head('d')).await.unwrap();
    nobodys.value.no_pulls_at = Some(at(50));
    let d = head('d');
    let written = store.remember_head(repo_id(SHOP), &d, &nobodys);
    assert!(written.await.unwrap());
    let mut effects = Vec::new();
    for n in [1, 2, 3, 22] {
        effects.push(publish(&*store, n, true).await);
    }
    know_pull(&*store, closed(5, 'f', at(50))).await;
    let unfinished = publish(&*store, 5, false).await;

    prune(&*store, keep(100, -1_000)).await;
    let mut left = Vec::new();
    for digit in ['a', 'b', 'c', 'd', 'e'] {
        if remembered(&*store, digit).await {
            left.push(digit);
        }
    }
    assert_eq!(left, ['a', 'c', 'e']);
    let mut known = Vec::new();
    for key in &effects {
        known.push(store.effect(key).await.unwrap() != Begun::First);
    }
    assert_eq!(known, [true, false, true, true]);
    let begun = store.effect(&unfinished).await.unwrap();
    assert!(matches!(begun, Begun::Unfinished(..)), "{begun:?}");
    let pull = store.pull(repo_id(SHOP), number(2)).await.unwrap();
    assert!(pull.value.pull.is_some(), "its page still shows it");
}

pub async fn the_ledger_and_records_stay_however_old_they_are(place: &dyn Place) {
    let store = place.open().await;
    know_pull(&*store, closed(1, 'a', at(0))).await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    let record = crate::domain::memory::PullRecord {
        disagreements: 3,
        ..Default::default()
    };
    let entries = vec![draft(SHOP, 1, "decided")];
    let saved = store.save_record(&lease, &record, entries, at(0));
    saved.await.unwrap();
    prune(&*store, keep(1_000_000, 1_000_000)).await;
    assert_eq!(store.ledger(None, 0, 10).await.unwrap().len(), 1);
    assert_eq!(
        store.record(repo_id(SHOP), number(1)).await.unwrap(),
        record
    );
}

pub async fn the_bytes_of_an_old_dead_letter_go_and_its_reason_stays(place: &dyn Place) {
    let store = place.open().await;
    store.accept(vec![delivery("one")]).await.unwrap();
    let seq = store.waiting(1).await.unwrap()[0].seq;
    let dead = Absorbed::Dead { why: "why".into() };
    store.absorb(seq, dead, at(0)).await.unwrap();
    assert_eq!(store.prune(keep(-10, -10), 9).await.unwrap(), 0, "young");
    assert_eq!(store.prune(keep(10, -10), 9).await.unwrap(), 1);
    assert_eq!(store.prune(keep(10, -10), 9).await.unwrap(), 0, "once");
    assert_eq!(store.dead_letters(9).await.unwrap()[0].why, "why");
    // Delivered again it brings its bytes along.
    store.accept(vec![delivery("one")]).await.unwrap();
    let waiting = store.waiting(1).await.unwrap();
    assert_eq!(waiting[0].delivery.body, delivery("one").body);
}

pub async fn an_id_is_forgotten_after_its_own_time_and_never_while_it_waits(place: &dyn Place) {
    let store = place.open().await;
    store.accept(vec![delivery("waits")]).await.unwrap();
    let late = crate::store::NewDelivery {
        at: at(500),
        ..delivery("late")
    };
    for done in [delivery("old"), late] {
        store.accept(vec![done]).await.unwrap();
        let seq = store.waiting(9).await.unwrap().pop().unwrap().seq;
        let understood = understood(Vec::new(), Vec::new());
        store.absorb(seq, understood, at(0)).await.unwrap();
    }
    prune(&*store, keep(1_000, -10)).await;
    let known = store.accept(vec![delivery("old")]).await.unwrap();
    assert_eq!(known, [Accepted::Known], "everything else is long over");
    prune(&*store, keep(1_000, 100)).await;
    let counts = InboxCounts {
        waiting: 1,
        done: 1,
        dead: 0,
    };
    assert_eq!(store.inbox().await.unwrap(), counts);
    let again = ["waits", "old", "late"].map(delivery).to_vec();
    let known = store.accept(again).await.unwrap();
    let (stored, known_) = (Accepted::Stored, Accepted::Known);
    assert_eq!(known, [known_, stored, known_]);
}

pub async fn a_batch_is_not_larger_than_was_asked_for(place: &dyn Place) {
    let store = place.open().await;
    for id in 0..5 {
        say(&*store, &format!("d-{id}"), Vec::new(), Vec::new()).await;
    }
    let mut gone = Vec::new();
    for _ in 0..4 {
        gone.push(store.prune(keep(10, 10), 2).await.unwrap());
    }
    assert_eq!(gone, [2, 2, 1, 0]);
}

pub async fn figures_tell_what_waits_and_what_is_worked_on(place: &dyn Place) {
    let store = place.open().await;
    for n in 1..=3 {
        wake(&*store, pull_key(n), at(0)).await;
    }
    let lease = take(&*store, at(0)).await;
    let Figures {
        waiting,
        leased,
        bytes,
        ..
    } = store.figures().await.unwrap();
    assert_eq!((waiting, leased), (2, 1));
    assert!(bytes > 0);
    drop(lease);
}
