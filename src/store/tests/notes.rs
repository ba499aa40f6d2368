use serde_json::{Value, json};

use super::Place;
use super::given::*;
use crate::domain::model::DeliveryId;
use crate::store::Versioned;

pub async fn a_note_is_kept_under_its_name_and_outlives_a_restart(place: &dyn Place) {
    let store = place.open().await;
    assert_eq!(store.note("sweep").await.unwrap(), Versioned::default());
    let value = json!({ "until": "2026-03-01T12:00:00Z" });
    let note = Versioned { value, version: 0 };
    assert!(store.write_note("sweep", &note).await.unwrap());
    drop(store);
    let kept = place.open().await.note("sweep").await.unwrap();
    assert_eq!((kept.value, kept.version), (note.value, 1));
    let other = place.open().await.note("other").await.unwrap();
    assert_eq!(other.value, Value::Null);
}

pub async fn of_two_who_read_the_same_note_one_writes_it(place: &dyn Place) {
    let store = place.open().await;
    let mine = Versioned {
        value: json!(1),
        version: 0,
    };
    let theirs = Versioned {
        value: json!(2),
        version: 0,
    };
    assert!(store.write_note("sweep", &mine).await.unwrap());
    assert!(!store.write_note("sweep", &theirs).await.unwrap());
    let kept = store.note("sweep").await.unwrap();
    assert_eq!(kept.value, json!(1));
    let next = Versioned {
        value: json!(3),
        ..kept
    };
    assert!(store.write_note("sweep", &next).await.unwrap());
    assert_eq!(store.note("sweep").await.unwrap().value, json!(3));
}

pub async fn deliveries_that_came_are_known_whatever_became_of_them(place: &dyn Place) {
    let store = place.open().await;
    say(&*store, "done", Vec::new(), Vec::new()).await;
    store.accept(vec![delivery("waits")]).await.unwrap();
    let asked = ["done", "never", "waits"].map(|id| DeliveryId::parse(id).unwrap());
    let mut known = store.known_deliveries(&asked).await.unwrap();
    known.sort();
    assert_eq!(known, [asked[0].clone(), asked[2].clone()]);
    assert!(store.known_deliveries(&[]).await.unwrap().is_empty());
}
