//! Which failed deliveries are asked for again.
//!
//! GitHub sends nothing again by itself; it keeps a list of its attempts for three days, and sends one
//! again when asked, under the id it had. The book remembers, between two looks at that list, how far it
//! was read and what is still missing. Pure: what was listed in, what to ask for out.
//!
//! # Properties
//!
//! - **By id, not by attempt.** A delivery of which any attempt arrived is not missing, whichever attempt
//!   failed; what is in the inbox is not missing, whatever GitHub thinks.
//! - **Oldest first, and not for ever.** Each further time a delivery is asked for comes after twice the
//!   pause: a server that cannot be reached, or refuses a delivery each time, is not asked to take it every
//!   few minutes for three days.
//! - **A list that is longer than is read at once is read on** at the next look, where the first one
//!   stopped.
//!
//! # What is left out, on purpose
//!
//! - What tells of the App's own reach (`installation`, `installation_repositories`, `repository`): the
//!   same sweep has just read what stands now, and such a delivery bears no date. Said late, "suspended"
//!   would undo the "goes on" that came after it.
//! - Pressed buttons (`requested_action`): a press bears no date either, and "let go" said hours late would
//!   lift a hold that somebody has put since. Who pressed sees that nothing happened.
//! - New comments (`issue_comment`, `created`): who wrote one may have taken it back since, by an edit or
//!   by deleting it, and the lost delivery would still say it. The list of a pull request's comments tells
//!   what stands, and the sweep's passes read it. What was commanded on an issue is lost with its delivery:
//!   its author gets no reaction, and says it again.
//! - `ping`, which says nothing.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use serde::{Deserialize, Serialize};

use super::model::{DeliveryId, Timestamp};

/// So many are asked for at one look.
pub const MOST_AT_ONCE: usize = 50;
/// So many are remembered as missing; beyond that the oldest are left to the sweep.
const MOST_MISSING: usize = 5_000;
/// GitHub sends nothing again that is older.
pub const KEPT: Duration = Duration::days(3);
/// How far the first look reads back: deliveries from before are the sweep's.
const FIRST_LOOK: Duration = Duration::days(1);
/// A list is read again so far back: an attempt is listed only once it ended.
const OVERLAP: Duration = Duration::minutes(2);
/// Before a delivery is asked for a second time; every further time doubles it.
const FIRST_PAUSE: Duration = Duration::minutes(10);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::hours(6);

/// One attempt to deliver, as GitHub lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// GitHub's number of the attempt: what is asked for again is named by it.
    pub id: u64,
    /// The delivery's id, the same in every attempt.
    pub delivery: DeliveryId,
    /// When.
    pub at: Timestamp,
    /// Which event.
    pub event: String,
    /// Its action, where it has one.
    pub action: Option<String>,
    /// The status that was answered; 0 where there was no answer.
    pub code: u16,
}

/// A delivery that has not arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// The attempt that is named when it is asked for.
    pub attempt: u64,
    /// Which event.
    pub event: String,
    /// When it was first seen to have failed.
    pub since: Timestamp,
    /// How often it was asked for.
    pub asked: u32,
    /// When it was last asked for.
    pub asked_at: Option<Timestamp>,
}

/// A part of the list that was not read yet: from a cursor down to a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Where to read on.
    pub cursor: String,
    /// Down to what was read before.
    pub until: Timestamp,
}

/// What is remembered between two looks at the list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Book {
    /// Everything up to here was read, but for the gap.
    pub read_until: Option<Timestamp>,
    /// What was not read, since the list was too long.
    pub gap: Option<Gap>,
    /// What has not arrived.
    pub missing: BTreeMap<DeliveryId, Missing>,
}

impl Book {
    /// Reads back what [`Book::serialized`] wrote; anything else is an empty book, whose first look reads
    /// the last day again.
    pub fn deserialized(value: &serde_json::Value) -> Self {
        Self::deserialize(value).unwrap_or_default()
    }

    /// The book as it is kept.
    pub fn serialized(&self) -> serde_json::Value {
        serde_json::json!(self)
    }

    /// Down to when a look that starts now must read the list.
    pub fn floor(&self, now: Timestamp) -> Timestamp {
        match self.read_until {
            Some(until) => (until - OVERLAP).max(now - KEPT),
            None => now - FIRST_LOOK,
        }
    }

    /// Takes in attempts of one look, in any order.
    pub fn read(&mut self, attempts: &[Attempt]) {
        let arrived: BTreeSet<&DeliveryId> = attempts
            .iter()
            .filter(|one| (200..300).contains(&one.code))
            .map(|one| &one.delivery)
            .collect();
        self.missing.retain(|id, _| !arrived.contains(id));
        for one in attempts {
            if arrived.contains(&one.delivery) || !worth_asking(one) {
                continue;
            }
            let known = self.missing.entry(one.delivery.clone());
            let known = known.or_insert_with(|| Missing {
                attempt: one.id,
                event: one.event.clone(),
                since: one.at,
                asked: 0,
                asked_at: None,
            });
            known.attempt = known.attempt.max(one.id);
            known.since = known.since.min(one.at);
        }
    }

    /// Says that a look which started at `now` read down to its floor, or stopped at a cursor.
    pub fn looked(&mut self, now: Timestamp, stopped: Option<String>) {
        let floor = self.floor(now);
        if let Some(cursor) = stopped {
            // Of two gaps one is kept that spans both: what lies between is read twice.
            let until = self.gap.as_ref().map_or(floor, |gap| gap.until.min(floor));
            self.gap = Some(Gap { cursor, until });
        }
        self.read_until = Some(now);
    }

    /// Forgets what came after all, and what GitHub would not send any more. How many were given up.
    pub fn settle(&mut self, came: &[DeliveryId], now: Timestamp) -> usize {
        for id in came {
            self.missing.remove(id);
        }
        let before = self.missing.len();
        self.missing.retain(|_, missing| missing.since > now - KEPT);
        while self.missing.len() > MOST_MISSING {
            let oldest = self.missing.iter().min_by_key(|(_, one)| one.since);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                break;
            };
            self.missing.remove(&oldest);
        }
        before - self.missing.len()
    }

    /// What to ask for now, oldest first: the delivery and its attempt.
    pub fn due(&self, now: Timestamp) -> Vec<(DeliveryId, u64)> {
        let mut due: Vec<_> = self
            .missing
            .iter()
            .filter(|(_, one)| one.due(now))
            .collect();
        due.sort_by_key(|(_, one)| (one.since, one.attempt));
        due.into_iter()
            .take(MOST_AT_ONCE)
            .map(|(id, one)| (id.clone(), one.attempt))
            .collect()
    }

    /// How many were asked for and have not come, and since when the first of them is missing.
    pub fn overdue(&self) -> Option<(usize, Timestamp)> {
        let asked = || self.missing.values().filter(|one| one.asked > 0);
        let since = asked().map(|one| one.since).min()?;
        Some((asked().count(), since))
    }

    /// Notes that a delivery was asked for.
    pub fn asked(&mut self, id: &DeliveryId, now: Timestamp) {
        if let Some(missing) = self.missing.get_mut(id) {
            missing.asked = missing.asked.saturating_add(1);
            missing.asked_at = Some(now);
        }
    }
}

impl Missing {
    fn due(&self, now: Timestamp) -> bool {
        let doubled = 2_i32.saturating_pow(self.asked.saturating_sub(1).min(16));
        let pause = (FIRST_PAUSE * doubled).min(LONGEST_PAUSE);
        self.asked_at.is_none_or(|asked| asked + pause <= now)
    }
}

/// Whether a late delivery of this kind helps, and cannot undo what was said since.
fn worth_asking(attempt: &Attempt) -> bool {
    let undated = matches!(
        attempt.event.as_str(),
        "ping" | "installation" | "installation_repositories" | "repository"
    );
    let action = attempt.action.as_deref().unwrap_or_default();
    let new_comment = attempt.event == "issue_comment" && action == "created";
    !undated && !new_comment && action != "requested_action"
}

#[cfg(test)]
mod tests;
