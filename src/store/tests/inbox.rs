use super::Place;
use super::given::*;
use crate::domain::memory::{Change, Wake};
use crate::store::{Absorbed, Accepted, InboxCounts, Store};

fn dead(why: &str) -> Absorbed {
    Absorbed::Dead { why: why.into() }
}

async fn ids(store: &dyn Store) -> Vec<String> {
    let waiting = store.waiting(100).await.unwrap();
    waiting
        .iter()
        .map(|waiting| waiting.delivery.id.to_string())
        .collect()
}

pub async fn a_delivery_is_stored_once_and_known_from_then_on(place: &dyn Place) {
    let store = place.open().await;
    let first = store.accept(vec![delivery("one")]).await.unwrap();
    let again = store
        .accept(vec![delivery("two"), delivery("one")])
        .await
        .unwrap();
    assert_eq!(first, [Accepted::Stored]);
    assert_eq!(again, [Accepted::Stored, Accepted::Known]);
    assert_eq!(ids(&*store).await, ["one", "two"]);
}

pub async fn the_same_id_twice_in_one_group_is_stored_once(place: &dyn Place) {
    let store = place.open().await;
    let group = vec![delivery("one"), delivery("one"), delivery("two")];
    let accepted = store.accept(group).await.unwrap();
    assert_eq!(
        accepted,
        [Accepted::Stored, Accepted::Known, Accepted::Stored]
    );
    assert_eq!(ids(&*store).await, ["one", "two"]);
}

pub async fn what_waits_is_told_in_the_order_of_arrival(place: &dyn Place) {
    let store = place.open().await;
    for id in ["c", "a", "b"] {
        store.accept(vec![delivery(id)]).await.unwrap();
    }
    assert_eq!(ids(&*store).await, ["c", "a", "b"]);
    assert_eq!(store.waiting(2).await.unwrap().len(), 2);
}

pub async fn an_empty_group_is_accepted(place: &dyn Place) {
    let store = place.open().await;
    assert_eq!(store.accept(Vec::new()).await.unwrap(), []);
    assert_eq!(store.inbox().await.unwrap(), InboxCounts::default());
}

pub async fn an_understood_delivery_waits_no_more_and_stays_known(place: &dyn Place) {
    let store = place.open().await;
    say(&*store, "one", Vec::new(), Vec::new()).await;
    assert!(ids(&*store).await.is_empty());
    let again = store.accept(vec![delivery("one")]).await.unwrap();
    assert_eq!(again, [Accepted::Known]);
    assert!(ids(&*store).await.is_empty());
}

pub async fn a_dead_letter_is_kept_with_its_reason_and_not_tried_again_by_itself(
    place: &dyn Place,
) {
    let store = place.open().await;
    let group = vec![delivery("one"), delivery("two")];
    store.accept(group).await.unwrap();
    for waiting in store.waiting(10).await.unwrap() {
        let why = format!("cannot read {}", waiting.delivery.id);
        store.absorb(waiting.seq, dead(&why), at(0)).await.unwrap();
    }
    assert!(ids(&*store).await.is_empty());
    let letters = store.dead_letters(10).await.unwrap();
    let told: Vec<_> = letters
        .iter()
        .map(|letter| {
            (
                letter.id.as_str(),
                letter.event.as_str(),
                letter.why.as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("two", "check_run", "cannot read two"),
            ("one", "check_run", "cannot read one"),
        ]
    );
    assert_eq!(store.dead_letters(1).await.unwrap().len(), 1);
}

pub async fn a_dead_letter_that_is_delivered_again_waits_again_in_its_old_place(place: &dyn Place) {
    let store = place.open().await;
    store.accept(vec![delivery("one")]).await.unwrap();
    let seq = store.waiting(1).await.unwrap()[0].seq;
    store.absorb(seq, dead("no"), at(0)).await.unwrap();
    store.accept(vec![delivery("two")]).await.unwrap();

    let again = store.accept(vec![delivery("one")]).await.unwrap();

    assert_eq!(again, [Accepted::Known]);
    let waiting = store.waiting(10).await.unwrap();
    assert_eq!(waiting[0].delivery.id.as_str(), "one");
    assert_eq!(waiting[0].attempts, 1);
    assert_eq!(waiting[0].delivery.body, delivery("one").body);
    assert_eq!(waiting[1].attempts, 0);
    assert!(store.dead_letters(10).await.unwrap().is_empty());
}

pub async fn absorbing_a_delivery_twice_changes_nothing(place: &dyn Place) {
    let store = place.open().await;
    store.accept(vec![delivery("one")]).await.unwrap();
    let seq = store.waiting(1).await.unwrap()[0].seq;
    store
        .absorb(seq, understood(Vec::new(), Vec::new()), at(0))
        .await
        .unwrap();
    let wake = Wake::Key(pull_key(1));
    store
        .absorb(seq, understood(Vec::new(), vec![wake]), at(0))
        .await
        .unwrap();
    store.absorb(seq, dead("late"), at(0)).await.unwrap();
    assert!(nothing_due(&*store, at(100)).await);
    assert_eq!(store.inbox().await.unwrap().done, 1);
    assert_eq!(store.inbox().await.unwrap().dead, 0);
}

pub async fn a_group_is_absorbed_whole_or_not_at_all(place: &dyn Place) {
    let store = place.open().await;
    store
        .accept(vec![delivery("one"), delivery("two")])
        .await
        .unwrap();
    let seqs: Vec<i64> = store
        .waiting(2)
        .await
        .unwrap()
        .iter()
        .map(|waiting| waiting.seq)
        .collect();
    let good = understood(Vec::new(), vec![Wake::Key(pull_key(1))]);
    // A number that no database's integers hold: the last of the group fails.
    let far = repository(u64::MAX, "acme/far", 1);
    let bad = understood(vec![Change::RepoSeen(far)], Vec::new());
    let group = vec![(seqs[0], good.clone()), (seqs[1], bad)];
    assert!(store.absorb_all(group, at(0)).await.is_err());
    assert_eq!(store.inbox().await.unwrap().waiting, 2);
    assert!(nothing_due(&*store, at(100)).await);
    let group = vec![(seqs[0], good), (seqs[1], dead("no"))];
    store.absorb_all(group, at(0)).await.unwrap();
    assert_eq!(store.inbox().await.unwrap().waiting, 0);
    assert!(!nothing_due(&*store, at(100)).await);
}

pub async fn deliveries_are_counted_however_often_they_come(place: &dyn Place) {
    let store = place.open().await;
    for id in ["a", "a", "a", "b", "b", "c", "d"] {
        store.accept(vec![delivery(id)]).await.unwrap();
    }
    let waiting = store.waiting(10).await.unwrap();
    store
        .absorb(waiting[0].seq, understood(vec![], vec![]), at(0))
        .await
        .unwrap();
    for waiting in &waiting[1..3] {
        store.absorb(waiting.seq, dead("no"), at(0)).await.unwrap();
    }
    store.accept(vec![delivery("b")]).await.unwrap();
    let counts = InboxCounts {
        waiting: 2,
        done: 1,
        dead: 1,
    };
    assert_eq!(store.inbox().await.unwrap(), counts);
}

pub async fn bytes_come_back_as_they_came(place: &dyn Place) {
    let store = place.open().await;
    let mut odd = delivery("one");
    odd.body = bytes::Bytes::from_static(b"\x00\xff{\"\\u0000\":1}\r\n");
    odd.at = chrono::DateTime::from_timestamp_micros(1_700_000_000_123_456).unwrap();
    store.accept(vec![odd.clone()]).await.unwrap();
    let back = store.waiting(1).await.unwrap().remove(0).delivery;
    assert_eq!(back.body, odd.body);
    assert_eq!(back.at, odd.at);
    assert_eq!(back.event, odd.event);
}

pub async fn what_was_accepted_is_there_after_a_restart(place: &dyn Place) {
    let store = place.open().await;
    let group = (0..32).map(|n| delivery(&format!("d{n}"))).collect();
    store.accept(group).await.unwrap();
    drop(store);
    let store = place.open().await;
    assert_eq!(ids(&*store).await.len(), 32);
    let again = store.accept(vec![delivery("d7")]).await.unwrap();
    assert_eq!(again, [Accepted::Known]);
}
