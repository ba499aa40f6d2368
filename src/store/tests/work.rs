use chrono::Duration;

use super::Place;
use super::given::*;
use crate::domain::memory::Confirm;
use crate::domain::model::{Key, Timestamp};
use crate::store::{Finish, Lease, Store, StoreError};

const DONE: Finish = Finish::Done { again: None };

fn retry(seconds: i64) -> Finish {
    Finish::Retry {
        after: Duration::seconds(seconds),
    }
}

fn again(seconds: i64, confirm: Confirm) -> Finish {
    Finish::Done {
        again: Some((Duration::seconds(seconds), confirm)),
    }
}

async fn finish(store: &dyn Store, lease: Lease, how: Finish, now: Timestamp) {
    store.finish(lease, how, now).await.unwrap();
}

async fn insist(store: &dyn Store, n: u64, not_before: Timestamp) {
    store
        .wake(&[(pull_key(n), Confirm::Always)], not_before)
        .await
        .unwrap();
}

pub async fn nothing_is_due_in_an_empty_store(place: &dyn Place) {
    let store = place.open().await;
    assert!(nothing_due(&*store, at(0)).await);
    assert_eq!(store.next_due().await.unwrap(), None);
}

pub async fn wakes_of_a_waiting_key_are_one_pass(place: &dyn Place) {
    let store = place.open().await;
    for _ in 0..100 {
        wake(&*store, pull_key(1), at(0)).await;
    }
    assert_eq!(drain(&*store, at(0)).await, [pull_key(1)]);
}

pub async fn the_earlier_time_and_the_stronger_confirmation_win(place: &dyn Place) {
    let store = place.open().await;
    insist(&*store, 1, at(50)).await;
    wake(&*store, pull_key(1), at(10)).await;
    wake(&*store, pull_key(1), at(90)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(10)));
    assert_eq!(take(&*store, at(10)).await.confirm(), Confirm::Always);
}

pub async fn a_key_is_not_taken_before_its_time(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(10)).await;
    assert!(nothing_due(&*store, at(9)).await);
    assert_eq!(*take(&*store, at(10)).await.key(), pull_key(1));
}

pub async fn the_key_that_waited_longest_is_taken_first(place: &dyn Place) {
    let store = place.open().await;
    for (n, seconds) in [(1, 30), (2, 10), (3, 20)] {
        wake(&*store, pull_key(n), at(seconds)).await;
    }
    let order = [pull_key(2), pull_key(3), pull_key(1)];
    assert_eq!(drain(&*store, at(40)).await, order);
}

pub async fn a_key_that_just_had_its_pass_lets_others_go_first(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    wake(&*store, pull_key(2), at(0)).await;
    finish(&*store, lease, again(0, Confirm::IfNeeded), at(0)).await;
    assert_eq!(*take(&*store, at(0)).await.key(), pull_key(2));
}

pub async fn a_leased_key_is_not_taken_again(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let _lease = take(&*store, at(0)).await;
    wake(&*store, pull_key(1), at(0)).await;
    assert!(nothing_due(&*store, at(59)).await);
}

pub async fn wakes_during_a_pass_are_exactly_one_more(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    for _ in 0..5 {
        wake(&*store, pull_key(1), at(1)).await;
    }
    finish(&*store, lease, DONE, at(2)).await;
    assert_eq!(drain(&*store, at(2)).await, [pull_key(1)]);
}

pub async fn the_earliest_of_several_wakes_during_a_pass_counts(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    wake(&*store, pull_key(1), at(5)).await;
    wake(&*store, pull_key(1), at(3_600)).await;
    finish(&*store, lease, DONE, at(1)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(5)));
}

pub async fn a_lease_that_ran_out_is_taken_over_as_a_failed_attempt(place: &dyn Place) {
    let store = place.open().await;
    insist(&*store, 1, at(0)).await;
    let abandoned = take(&*store, at(0)).await;
    assert_eq!(abandoned.attempt(), 0);
    assert!(nothing_due(&*store, at(59)).await);
    let lease = take(&*store, at(60)).await;
    assert_eq!(lease.attempt(), 1);
    assert_eq!(lease.confirm(), Confirm::Always);
}

pub async fn a_wake_for_later_does_not_put_off_a_takeover_nor_get_lost_in_it(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let _abandoned = take(&*store, at(0)).await;
    insist(&*store, 1, at(3_600)).await;
    let lease = take(&*store, at(60)).await;
    finish(&*store, lease, DONE, at(61)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(3_600)));
    assert_eq!(take(&*store, at(3_600)).await.confirm(), Confirm::Always);
}

pub async fn whoever_was_overtaken_changes_nothing(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let overtaken = take(&*store, at(0)).await;
    let current = take(&*store, at(60)).await;
    let refused = store.finish(overtaken, retry(1), at(61)).await;
    assert!(matches!(refused, Err(StoreError::Overtaken(key)) if key == pull_key(1)));
    assert!(nothing_due(&*store, at(61)).await);
    finish(&*store, current, DONE, at(62)).await;
    assert_eq!(store.next_due().await.unwrap(), None);
}

pub async fn a_lease_that_ran_out_may_be_given_back_while_nobody_took_it(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    finish(&*store, lease, DONE, at(3_600)).await;
    assert!(nothing_due(&*store, at(7_200)).await);
}

pub async fn a_retry_keeps_its_confirmation_and_counts_attempts(place: &dyn Place) {
    let store = place.open().await;
    insist(&*store, 1, at(0)).await;
    let mut now = at(0);
    for attempt in 0..3 {
        let lease = take(&*store, now).await;
        assert_eq!(lease.attempt(), attempt);
        assert_eq!(lease.confirm(), Confirm::Always);
        finish(&*store, lease, retry(10), now).await;
        assert!(nothing_due(&*store, now + Duration::seconds(9)).await);
        now += Duration::seconds(10);
    }
    let lease = take(&*store, now).await;
    finish(&*store, lease, again(1, Confirm::IfNeeded), now).await;
    let lease = take(&*store, now + Duration::seconds(1)).await;
    assert_eq!(lease.attempt(), 0, "a success ends the row of failures");
    assert_eq!(lease.confirm(), Confirm::IfNeeded);
}

pub async fn a_wake_ends_a_back_off(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    finish(&*store, lease, retry(300), at(0)).await;
    wake(&*store, pull_key(1), at(5)).await;
    let lease = take(&*store, at(5)).await;
    assert_eq!(
        lease.attempt(),
        1,
        "it is still the next of a row of failures"
    );
}

pub async fn a_confirmation_is_used_up_by_its_pass(place: &dyn Place) {
    let store = place.open().await;
    insist(&*store, 1, at(0)).await;
    let lease = take(&*store, at(0)).await;
    wake(&*store, pull_key(1), at(1)).await;
    finish(&*store, lease, DONE, at(2)).await;
    assert_eq!(take(&*store, at(2)).await.confirm(), Confirm::IfNeeded);
}

pub async fn a_confirmation_asked_for_during_a_pass_is_the_next_ones(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    insist(&*store, 1, at(1)).await;
    wake(&*store, pull_key(1), at(1)).await;
    assert_eq!(lease.confirm(), Confirm::IfNeeded);
    finish(&*store, lease, DONE, at(2)).await;
    assert_eq!(take(&*store, at(2)).await.confirm(), Confirm::Always);
}

pub async fn looking_again_later_does_not_lose_an_earlier_wake(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    wake(&*store, pull_key(1), at(1)).await;
    finish(&*store, lease, again(3_600, Confirm::Always), at(2)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(1)));
    assert_eq!(take(&*store, at(2)).await.confirm(), Confirm::Always);
}

pub async fn looking_again_may_ask_for_confirmation(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    finish(&*store, lease, again(30, Confirm::Always), at(0)).await;
    assert!(nothing_due(&*store, at(29)).await);
    assert_eq!(take(&*store, at(30)).await.confirm(), Confirm::Always);
}

pub async fn a_key_is_forgotten_when_nothing_is_wanted_and_its_old_lease_stays_dead(
    place: &dyn Place,
) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let overtaken = take(&*store, at(0)).await;
    let lease = take(&*store, at(60)).await;
    finish(&*store, lease, DONE, at(60)).await;
    wake(&*store, pull_key(1), at(61)).await;
    let _current = take(&*store, at(61)).await;
    let refused = store.finish(overtaken, DONE, at(62)).await;
    assert!(matches!(refused, Err(StoreError::Overtaken(_))));
}

pub async fn the_next_due_time_counts_leases_by_their_end(place: &dyn Place) {
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    wake(&*store, pull_key(2), at(500)).await;
    let _lease = take(&*store, at(10)).await;
    assert_eq!(store.next_due().await.unwrap(), Some(at(70)));
}

pub async fn back_off_confirmation_and_attempts_outlive_a_restart(place: &dyn Place) {
    let store = place.open().await;
    insist(&*store, 1, at(0)).await;
    let lease = take(&*store, at(0)).await;
    finish(&*store, lease, retry(100), at(0)).await;
    wake(&*store, pull_key(2), at(0)).await;
    let _running = take(&*store, at(0)).await;
    drop(store);

    let store = place.open().await;
    assert_eq!(*take(&*store, at(60)).await.key(), pull_key(2));
    assert!(nothing_due(&*store, at(99)).await);
    let lease = take(&*store, at(100)).await;
    assert_eq!((lease.attempt(), lease.confirm()), (1, Confirm::Always));
}

pub async fn keys_of_installations_that_have_enough_are_passed_over_and_stay(place: &dyn Place) {
    let store = place.open().await;
    let (one, two) = (installation(1), installation(2));
    for (id, whose) in [(11, 1), (12, 1), (21, 2)] {
        know_repo(&*store, id, &format!("acme/r{id}"), whose).await;
    }
    let keys = [
        Key::Pull(repo_id(11), number(1)),
        Key::Head(repo_id(12), head('a')),
        Key::Dispatch(repo_id(21)),
        Key::Repo(repo_id(99)),
    ];
    for (key, due) in keys.iter().zip(0..) {
        wake(&*store, key.clone(), at(due)).await;
    }
    let beside = |full: &'static [u64]| {
        let store = store.clone();
        async move {
            let full: Vec<_> = full.iter().map(|id| installation(*id)).collect();
            let due = store.next_due_beside(&full).await.unwrap();
            let lease = store
                .lease_beside(at(9), Duration::seconds(60), &full)
                .await;
            let lease = lease.unwrap();
            let taken = lease.map(|lease| (lease.key().clone(), lease.installation()));
            (due, taken)
        }
    };
    let [pull, other, dispatch, unknown] = keys;
    assert_eq!(
        beside(&[1]).await,
        (Some(at(2)), Some((dispatch, Some(two))))
    );
    // Nobody's key is never passed over.
    assert_eq!(beside(&[1, 2]).await, (Some(at(3)), Some((unknown, None))));
    // What is leased counts with its end, unless it is passed over too.
    assert_eq!(beside(&[1, 2]).await, (Some(at(69)), None));
    assert_eq!(beside(&[1]).await, (Some(at(69)), None));
    // What was passed over is as it was.
    assert_eq!(beside(&[2]).await, (Some(at(0)), Some((pull, Some(one)))));
    assert_eq!(beside(&[]).await, (Some(at(1)), Some((other, Some(one)))));
}
