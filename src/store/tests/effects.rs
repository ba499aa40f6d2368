use serde_json::json;

use super::Place;
use super::given::*;
use crate::domain::ledger::{Entry, Verifier};
use crate::domain::memory::PullRecord;
use crate::domain::model::Key;
use crate::store::{Begun, Ended, Finish, Lease, Store, StoreError};

const EFFECT: &str = "merge:7:1:aaaa";

/// A pass over pull request `n` of the shop.
async fn pass(store: &dyn Store, n: u64) -> Lease {
    wake(store, pull_key(n), at(0)).await;
    take(store, at(0)).await
}

async fn begin(store: &dyn Store, lease: &Lease, intent: &str) -> Begun {
    store
        .begin(lease, EFFECT, json!(intent), None, at(1))
        .await
        .unwrap()
}

async fn end(store: &dyn Store, ended: Ended) {
    store.end(EFFECT, ended, None, at(2)).await.unwrap();
}

async fn whole_ledger(store: &dyn Store) -> Vec<Entry> {
    store.ledger(None, 0, 1_000).await.unwrap()
}

/// Holds the chain, and tells how long it is.
fn verified(entries: &[Entry]) -> u64 {
    let mut verifier = Verifier::default();
    for entry in entries {
        verifier.take(entry).unwrap();
    }
    verifier.followed()
}

pub async fn an_effect_goes_from_intent_to_outcome(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    assert_eq!(store.effect(EFFECT).await.unwrap(), Begun::First);
    assert_eq!(store.effect_intent(EFFECT).await.unwrap(), None);
    assert_eq!(begin(&*store, &lease, "merge").await, Begun::First);
    end(&*store, Ended::Done(json!({ "sha": "abc" }))).await;
    let done = Begun::Done(json!({ "sha": "abc" }));
    assert_eq!(begin(&*store, &lease, "again").await, done);
    assert_eq!(store.effect(EFFECT).await.unwrap(), done);
    let intent = store.effect_intent(EFFECT).await.unwrap();
    assert_eq!(intent, Some(json!("merge")));
}

pub async fn a_crash_between_intent_and_outcome_is_told(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    begin(&*store, &lease, "first").await;
    drop((lease, store));

    let store = place.open().await;
    let lease = take(&*store, at(60)).await;
    let known = |attempts, intent: &str| Begun::Unfinished(attempts, json!(intent));
    assert_eq!(store.effect(EFFECT).await.unwrap(), known(1, "first"));
    let begun = store
        .begin(&lease, EFFECT, json!("second"), None, at(61))
        .await
        .unwrap();
    assert_eq!(begun, known(1, "first"));
    assert_eq!(store.effect(EFFECT).await.unwrap(), known(2, "second"));
}

pub async fn a_failed_effect_counts_its_tries(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    begin(&*store, &lease, "merge").await;
    end(&*store, Ended::Failed(json!("405"))).await;
    assert_eq!(begin(&*store, &lease, "merge").await, Begun::Failed(1));
    end(&*store, Ended::Failed(json!("405"))).await;
    assert_eq!(store.effect(EFFECT).await.unwrap(), Begun::Failed(2));
}

pub async fn what_is_done_stays_done(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    begin(&*store, &lease, "merge").await;
    end(&*store, Ended::Done(json!("merged"))).await;
    end(&*store, Ended::Failed(json!("a late time-out"))).await;
    let known = store.effect(EFFECT).await.unwrap();
    assert_eq!(known, Begun::Done(json!("merged")));
}

pub async fn an_overtaken_pass_begins_nothing(place: &dyn Place) {
    let store = place.open().await;
    let overtaken = pass(&*store, 1).await;
    let _current = take(&*store, at(60)).await;
    let refused = store
        .begin(&overtaken, EFFECT, json!("merge"), None, at(61))
        .await;
    assert!(matches!(refused, Err(StoreError::Overtaken(_))));
    assert_eq!(store.effect(EFFECT).await.unwrap(), Begun::First);
    // What happened before it was overtaken is recorded all the same.
    end(&*store, Ended::Done(json!("merged"))).await;
    let known = store.effect(EFFECT).await.unwrap();
    assert_eq!(known, Begun::Done(json!("merged")));
}

pub async fn a_pass_whose_lease_ran_out_begins_nothing(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    let refused = store
        .begin(&lease, EFFECT, json!("merge"), None, at(60))
        .await;
    assert!(matches!(refused, Err(StoreError::Overtaken(_))));
    assert_eq!(store.effect(EFFECT).await.unwrap(), Begun::First);
}

pub async fn a_record_is_written_only_under_a_current_lease(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    let current = PullRecord {
        disagreements: 1,
        ..PullRecord::default()
    };
    store
        .save_record(&lease, &current, vec![], at(1))
        .await
        .unwrap();
    let _overtaking = take(&*store, at(60)).await;
    let refused = store
        .save_record(&lease, &PullRecord::default(), vec![], at(61))
        .await;
    assert!(matches!(refused, Err(StoreError::Overtaken(_))));
    let kept = store.record(repo_id(SHOP), number(1)).await.unwrap();
    assert_eq!(kept, current);
}

pub async fn a_record_needs_a_pull_request(place: &dyn Place) {
    let store = place.open().await;
    let key = Key::Repo(repo_id(SHOP));
    wake(&*store, key.clone(), at(0)).await;
    let lease = take(&*store, at(0)).await;
    let refused = store
        .save_record(&lease, &PullRecord::default(), vec![], at(1))
        .await;
    assert!(matches!(refused, Err(StoreError::NoRecord(refused)) if refused == key));
}

pub async fn the_ledger_is_one_sound_chain_without_gaps(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    let two = vec![draft(SHOP, 1, "one"), draft(SHOP, 1, "two")];
    store
        .save_record(&lease, &PullRecord::default(), two, at(1))
        .await
        .unwrap();
    let entry = Some(draft(SHOP, 1, "three"));
    store
        .begin(&lease, EFFECT, json!("merge"), entry, at(1))
        .await
        .unwrap();
    let entry = Some(draft(SHOP, 1, "four"));
    store
        .end(EFFECT, Ended::Done(json!("merged")), entry, at(2))
        .await
        .unwrap();
    let entries = whole_ledger(&*store).await;
    assert_eq!(verified(&entries), 4);
    let said: Vec<_> = entries.iter().map(|entry| &entry.body["said"]).collect();
    assert_eq!(said, ["one", "two", "three", "four"]);
}

pub async fn the_ledger_is_read_by_page_repository_and_pull_request(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    let entries = vec![
        draft(SHOP, 1, "a"),
        draft(8, 1, "b"),
        draft(SHOP, 2, "c"),
        draft(SHOP, 1, "d"),
    ];
    store
        .save_record(&lease, &PullRecord::default(), entries, at(1))
        .await
        .unwrap();
    let places = |entries: Vec<Entry>| entries.iter().map(|e| e.seq).collect::<Vec<_>>();
    let shop = repo_id(SHOP);
    assert_eq!(places(store.ledger(None, 0, 2).await.unwrap()), [1, 2]);
    assert_eq!(places(store.ledger(None, 2, 9).await.unwrap()), [3, 4]);
    assert_eq!(
        places(store.ledger(Some(shop), 1, 9).await.unwrap()),
        [3, 4]
    );
    assert_eq!(
        places(store.ledger_of(shop, number(1)).await.unwrap()),
        [1, 4]
    );
    assert!(store.ledger(None, 4, 9).await.unwrap().is_empty());
}

pub async fn a_refused_write_leaves_no_ledger_entry(place: &dyn Place) {
    let store = place.open().await;
    let overtaken = pass(&*store, 1).await;
    let _current = take(&*store, at(60)).await;
    let entries = vec![draft(SHOP, 1, "no")];
    let refused = store
        .save_record(&overtaken, &PullRecord::default(), entries, at(61))
        .await;
    assert!(refused.is_err());
    let entry = Some(draft(SHOP, 1, "no"));
    let refused = store
        .begin(&overtaken, EFFECT, json!("merge"), entry, at(61))
        .await;
    assert!(refused.is_err());
    assert!(whole_ledger(&*store).await.is_empty());
}

pub async fn done_effects_leave_no_second_intent_in_the_ledger(place: &dyn Place) {
    let store = place.open().await;
    let lease = pass(&*store, 1).await;
    begin(&*store, &lease, "merge").await;
    end(&*store, Ended::Done(json!("merged"))).await;
    let entry = Some(draft(SHOP, 1, "a second intent"));
    store
        .begin(&lease, EFFECT, json!("merge"), entry, at(3))
        .await
        .unwrap();
    assert!(whole_ledger(&*store).await.is_empty());
}

pub async fn a_freeze_stands_until_it_thaws_and_wakes_the_pulls_it_concerns(place: &dyn Place) {
    let store = place.open().await;
    let (shop, main) = (repo_id(SHOP), base("main"));
    know_pull(&*store, open_pull(1, 'a')).await;
    let mut elsewhere = open_pull(2, 'b');
    elsewhere.base = base("next");
    know_pull(&*store, elsewhere).await;

    for (set, said) in [
        (Some(freeze("release")), "frozen"),
        (Some(freeze("release, still")), "frozen anew"),
        (None, "thawed"),
    ] {
        store
            .set_freeze(shop, &main, set.clone(), draft(SHOP, 1, said), at(5))
            .await
            .unwrap();
        assert_eq!(store.freeze(shop, &main).await.unwrap(), set);
        assert_eq!(store.freeze(shop, &base("next")).await.unwrap(), None);
        assert_eq!(drain(&*store, at(5)).await, [pull_key(1)]);
    }
    assert_eq!(verified(&whole_ledger(&*store).await), 3);
}

pub async fn the_chain_goes_on_after_a_restart(place: &dyn Place) {
    for said in ["before", "after"] {
        let store = place.open().await;
        let lease = pass(&*store, 1).await;
        let entries = vec![draft(SHOP, 1, said)];
        store
            .save_record(&lease, &PullRecord::default(), entries, at(1))
            .await
            .unwrap();
        store
            .finish(lease, Finish::Done { again: None }, at(1))
            .await
            .unwrap();
    }
    let store = place.open().await;
    assert_eq!(verified(&whole_ledger(&*store).await), 2);
}
