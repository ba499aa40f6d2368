//! What GitHub still lets the installations ask, for people and programs.
//!
//! It comes from the answers so far; looking costs no call. A pull request that does not move while a
//! budget is low looks like a fault of the gate, so the dashboard says who waits, until when, and what goes
//! on meanwhile.

use axum::extract::State;
use serde_json::{Value, json};

use super::WebState;
use crate::domain::model::Timestamp;
use crate::github::Left;

/// Every installation of which anything is known.
pub(super) async fn limits(State(state): State<WebState>) -> axum::Json<Value> {
    let left: Vec<_> = (state.budgets)().iter().map(told).collect();
    axum::Json(json!({ "installations": left }))
}

/// What the dashboard says: a sentence for each installation that waits for anything.
pub(super) fn notices(state: &WebState) -> Vec<String> {
    (state.budgets)().iter().filter_map(notice).collect()
}

fn told(left: &Left) -> Value {
    let hour = left
        .hour
        .map(|(remaining, limit, resets)| json!({ "remaining": remaining, "limit": limit, "resets": resets }));
    json!({
        "installation": left.installation,
        "hour": hour,
        "passes_wait_until": left.passes_wait,
        "sweeps_wait_until": left.sweeps_wait,
        "limited_until": left.held,
        "resting_until": left.resting,
        "notice": notice(left),
    })
}

fn notice(left: &Left) -> Option<String> {
    let who = format!("Installation {}", left.installation);
    if let Some(until) = left.held {
        return Some(format!(
            "{who}: GitHub takes no more calls until {}. Everything waits until then.",
            clock(until)
        ));
    }
    if let Some(until) = left.resting {
        return Some(format!(
            "{who}: GitHub failed several times in a row. It is asked again at {}.",
            clock(until)
        ));
    }
    let (remaining, limit, resets) = left.hour?;
    let budget = format!(
        "{who}: {remaining} of {limit} calls are left until {}.",
        clock(resets)
    );
    match (left.passes_wait, left.sweeps_wait) {
        (Some(until), _) => Some(format!(
            "{budget} Merges have what is left; other pull requests wait until {}.",
            clock(until)
        )),
        (None, Some(until)) => Some(format!(
            "{budget} Pull requests go on; the look for lost deliveries waits until {}.",
            clock(until)
        )),
        (None, None) => None,
    }
}

fn clock(at: Timestamp) -> String {
    at.format("%H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::model::InstallationId;

    fn at(minute: i64) -> Timestamp {
        let noon = chrono::DateTime::from_timestamp(1_772_452_800, 0).expect("a time");
        noon + chrono::Duration::minutes(minute)
    }

    fn left() -> Left {
        Left {
            installation: InstallationId::new(7).expect("an id"),
            hour: Some((600, 5_000, at(50))),
            passes_wait: None,
            sweeps_wait: None,
            held: None,
            resting: None,
        }
    }

    #[test]
    fn who_waits_for_what_and_until_when_is_said_in_one_sentence() {
        let sweeps = Left {
            sweeps_wait: Some(at(30)),
            ..left()
        };
        let passes = Left {
            passes_wait: Some(at(10)),
            ..sweeps.clone()
        };
        let resting = Left {
            resting: Some(at(1)),
            ..passes.clone()
        };
        let held = Left {
            held: Some(at(2)),
            ..resting.clone()
        };
        assert_eq!(notice(&left()), None);
        let said: Vec<_> = [sweeps, passes, resting, held]
            .iter()
            .filter_map(notice)
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        Installation 7: 600 of 5000 calls are left until 12:50:00 UTC. Pull requests go on; the look for lost deliveries waits until 12:30:00 UTC.
        Installation 7: 600 of 5000 calls are left until 12:50:00 UTC. Merges have what is left; other pull requests wait until 12:10:00 UTC.
        Installation 7: GitHub failed several times in a row. It is asked again at 12:01:00 UTC.
        Installation 7: GitHub takes no more calls until 12:02:00 UTC. Everything waits until then.
        ");
    }
}
