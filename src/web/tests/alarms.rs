//! What stands still, as each face tells it.

use super::*;
use crate::telemetry::Meters;
use crate::watch::Watch;
use std::sync::atomic::Ordering;

fn watched(shelf: Shelf) -> (WebState, Meters) {
    let meters = Meters::default();
    let state = state(shelf);
    let (store, clock) = (state.store.clone(), state.clock.clone());
    let watch = Watch::new(store, clock, about(), meters.clone());
    (WebState { watch, ..state }, meters)
}

fn stalled() -> Shelf {
    Shelf {
        due: Some(now() - Duration::hours(1)),
        ..Shelf::default()
    }
}

#[tokio::test]
async fn what_stands_still_is_told_by_the_api_the_dashboard_and_a_gauge() {
    let (state, meters) = watched(stalled());
    let told = get(&state, "/api/v1/alarms").await.json();
    assert_eq!(told["alarms"][0]["kind"], "stalled");
    assert_eq!(told["alarms"][0]["since"], "2026-03-02T09:00:00Z");
    let page = get(&state, "/").await.body;
    assert!(page.contains("No pass has taken up the work"), "{page}");
    let text = meters.text();
    assert!(
        text.contains("countersign_alarm{kind=\"stalled\"} 1"),
        "{text}"
    );
    assert!(
        text.contains("countersign_alarm{kind=\"advisory\"} 0"),
        "{text}"
    );
}

#[tokio::test]
async fn where_all_is_well_there_is_no_alarm_and_no_line() {
    let (state, meters) = watched(Shelf::default());
    assert_eq!(
        get(&state, "/api/v1/alarms").await.json(),
        json!({ "alarms": [] })
    );
    assert!(!get(&state, "/").await.body.contains("Alarms"));
    assert!(
        meters
            .text()
            .contains("countersign_alarm{kind=\"stalled\"} 0")
    );
}

#[tokio::test]
async fn a_database_that_fails_is_an_alarm_that_tells_nothing_of_it() {
    let (state, _) = watched(Shelf {
        broken: true.into(),
        ..Shelf::default()
    });
    let told = get(&state, "/api/v1/alarms").await;
    assert_eq!(told.json()["alarms"][0]["kind"], "database");
    assert!(!told.body.contains("acme"), "{}", told.body);
}

#[tokio::test]
async fn alarms_are_for_those_who_have_the_token() {
    assert_eq!(get(&locked(stalled()), "/api/v1/alarms").await.status, 401);
}

#[tokio::test]
async fn while_the_database_is_away_no_alarm_is_told_to_be_over_and_scrapers_are_answered() {
    let shelf = Arc::new(full());
    let (mut state, meters) = watched(Shelf::default());
    state.store = shelf.clone();
    state.watch = Watch::new(shelf.clone(), state.clock.clone(), about(), meters.clone());
    state.scrape = Scrape::new(meters);
    let kinds = async || {
        let found = state.watch.look().await;
        let kinds = found.iter().map(|alarm| alarm.kind.word());
        kinds.collect::<Vec<_>>()
    };
    let scraped = async || get(&state, "/metrics").await;
    let away = |is: bool| shelf.broken.store(is, Ordering::Relaxed);
    let stood = kinds().await;
    assert!(stood.contains(&"dead_letters"), "{stood:?}");
    assert!(
        scraped()
            .await
            .body
            .contains("countersign_inbox_deliveries{")
    );
    away(true);
    let told = [&["database"], stood.as_slice()].concat();
    assert_eq!(kinds().await, told);
    assert_eq!(kinds().await, told);
    let answer = scraped().await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        answer
            .body
            .contains("countersign_alarm{kind=\"database\"} 1")
    );
    assert!(answer.body.contains("countersign_ready 1"));
    assert!(
        !answer.body.contains("countersign_inbox"),
        "{}",
        answer.body
    );
    away(false);
    assert_eq!(kinds().await, stood);
    assert!(
        scraped()
            .await
            .body
            .contains("countersign_inbox_deliveries{")
    );
}

#[tokio::test]
async fn a_dead_letter_is_an_alarm_as_long_as_github_can_send_it_again() {
    for (hours, stands) in [(71, true), (73, false)] {
        let mut shelf = full();
        for letter in &mut shelf.letters {
            letter.at = now() - Duration::hours(hours);
        }
        let (state, _) = watched(shelf);
        let found = state.watch.look().await;
        let alarm = found
            .iter()
            .any(|alarm| alarm.kind.word() == "dead_letters");
        assert_eq!(alarm, stands, "after {hours} hours");
    }
}
