//! The outcome figures of a repository, from its ledger.
//!
//! Everything is counted from entries of one span of time, so anybody with the ledger can count again.
//! What the ledger does not hold is not guessed: a figure without its records is absent, and the list of
//! such figures is part of the answer ([`LEFT_OUT`]).
//!
//! Two modes can be compared, since a policy that only observes leaves the same records: what it would
//! have merged, what it would have queued, and what people merged although it said no.

mod vendors;
mod words;

#[cfg(test)]
mod tests;

pub use vendors::Vendor;
pub use words::markdown;

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use serde::Serialize;
use serde_json::Value;

use super::ledger::{Entry, Kind};
use super::model::{HeadSha, PullNumber, Timestamp};

/// Figures that this ledger has no records for yet.
pub const LEFT_OUT: &str = "mutants killed and survived, and cost: of evidence the ledger keeps the result \
     alone";

/// The figures. Field names are stable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scorecard {
    /// From when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// Merges by Countersign, compared with what was judged.
    pub merged: u64,
    /// Merges by somebody or something else.
    pub merged_past_gate: u64,
    /// Of those, merges although the gate said that it is not ready.
    pub merged_against_verdict: u64,
    /// Defects that were said to have escaped.
    pub escaped: u64,
    /// The same for each merged pull request; absent where none was merged.
    pub escaped_per_merge: Option<f64>,
    /// Pull requests that were certified.
    pub certified: u64,
    /// Of those, where the second verifier found something that blocks.
    pub certified_and_refuted: u64,
    /// Waivers by owners.
    pub overrides: u64,
    /// Merges of heads with a waiver.
    pub merges_with_override: u64,
    /// Waivers, freezes and thaws by people, for each merge; absent where there was none.
    pub interventions_per_merge: Option<f64>,
    /// From the first verdict to the merge, in seconds: half of the merges took less.
    pub median_seconds_to_merge: Option<i64>,
    /// How long gates were open in total, in seconds, by gate.
    pub seconds_open_by_gate: BTreeMap<String, i64>,
    /// What became of verifications, by vendor.
    pub verifications_by_vendor: BTreeMap<String, Vendor>,
    /// Dispatches that were asked for.
    pub dispatches_asked: u64,
    /// Dispatches that were granted.
    pub dispatches_granted: u64,
    /// Heads that were found ready where nothing is merged: the policy observes, or the server shadows.
    pub would_have_merged: u64,
    /// Dispatches that would have been queued.
    pub would_have_queued: u64,
    /// Dispatches that would have been granted.
    pub would_have_granted: u64,
}

/// Counts the figures over a ledger's entries, oldest first. Entries before `since` only tell how things
/// stood then.
pub fn count<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    since: Timestamp,
    until: Timestamp,
) -> Scorecard {
    let mut counter = Counter::new(since, until);
    for entry in entries {
        counter.take(entry);
    }
    counter.finish()
}

/// What is known of one pull request while counting.
#[derive(Debug, Default)]
struct Pull {
    first_verdict: Option<Timestamp>,
    open: BTreeMap<String, Timestamp>,
}

struct Counter {
    card: Scorecard,
    pulls: BTreeMap<PullNumber, Pull>,
    certified: BTreeSet<PullNumber>,
    refuted: BTreeSet<PullNumber>,
    waived: BTreeSet<HeadSha>,
    interventions: u64,
    to_merge: Vec<Duration>,
    vendors: vendors::Vendors,
}

impl Counter {
    fn new(since: Timestamp, until: Timestamp) -> Self {
        Self {
            card: Scorecard {
                since,
                until,
                merged: 0,
                merged_past_gate: 0,
                merged_against_verdict: 0,
                escaped: 0,
                escaped_per_merge: None,
                certified: 0,
                certified_and_refuted: 0,
                overrides: 0,
                merges_with_override: 0,
                interventions_per_merge: None,
                median_seconds_to_merge: None,
                seconds_open_by_gate: BTreeMap::new(),
                verifications_by_vendor: BTreeMap::new(),
                dispatches_asked: 0,
                dispatches_granted: 0,
                would_have_merged: 0,
                would_have_queued: 0,
                would_have_granted: 0,
            },
            pulls: BTreeMap::new(),
            certified: BTreeSet::new(),
            refuted: BTreeSet::new(),
            waived: BTreeSet::new(),
            interventions: 0,
            to_merge: Vec::new(),
            vendors: vendors::Vendors::default(),
        }
    }

    fn take(&mut self, entry: &Entry) {
        let within = (self.card.since..self.card.until).contains(&entry.at);
        if entry.at >= self.card.until {
            return;
        }
        let one = u64::from(within);
        match entry.kind {
            Kind::Verdict => self.verdict(entry, within),
            Kind::Landed | Kind::MergedPastGate => self.merge(entry, within),
            Kind::Override => {
                self.waived.extend(entry.head.clone());
                self.card.overrides += one;
                self.interventions += one;
            }
            Kind::Freeze if entry.body.get("by").is_some() => self.interventions += one,
            Kind::Escaped => self.card.escaped += one,
            Kind::Dispatch => {
                let what = entry.body["what"].as_str().unwrap_or_default();
                self.card.dispatches_asked +=
                    one * u64::from(what.ends_with("asks for a dispatch"));
                self.card.dispatches_granted += one * u64::from(what.ends_with("was granted"));
            }
            Kind::WouldHave => self.would(&entry.body, one),
            Kind::Freeze | Kind::Intent | Kind::Outcome | Kind::Hold | Kind::Request => {}
            Kind::Asked => self.vendors.asked(entry, within),
            Kind::Reported => self.vendors.reported(entry, within),
        }
    }

    fn would(&mut self, body: &Value, one: u64) {
        let would = body["would"].as_str().unwrap_or_default();
        if would.contains(" queued: ") {
            self.card.would_have_queued += one;
        } else if would.ends_with(" granted") {
            self.card.would_have_granted += one;
        } else {
            self.card.would_have_merged += one;
        }
    }

    fn verdict(&mut self, entry: &Entry, within: bool) {
        let Some(number) = entry.number else {
            return;
        };
        let over = entry.body["outcome"] == "ignored";
        let stands = entry.head.as_ref().filter(|_| !over);
        self.vendors.over(number, stands, entry.at);
        let pull = self.pulls.entry(number).or_default();
        pull.first_verdict.get_or_insert(entry.at);
        let mut open = BTreeMap::new();
        let state_of = |gate: &Value| gate["state"].as_str().unwrap_or_default().to_owned();
        for gate in entry.body["gates"].as_array().into_iter().flatten() {
            let name = gate["gate"].as_str().unwrap_or_default();
            let state = state_of(gate);
            // Nobody waits for the gates of a closed pull request.
            let idle = entry.body["outcome"] == "ignored";
            if !idle && !matches!(state.as_str(), "satisfied" | "skipped" | "overridden") {
                let since = pull.open.remove(name).unwrap_or(entry.at);
                open.insert(name.to_owned(), since);
            }
            match (name, state.as_str()) {
                ("certification", "satisfied") if within => {
                    self.certified.insert(number);
                }
                ("second_verifier", "failed") if within => {
                    self.refuted.insert(number);
                }
                _ => {}
            }
        }
        let closed = std::mem::replace(&mut pull.open, open);
        self.add_open(closed, entry.at);
    }

    /// Gates that were open until now.
    fn add_open(&mut self, gates: BTreeMap<String, Timestamp>, until: Timestamp) {
        for (gate, since) in gates {
            let since = since.max(self.card.since);
            let lasted = (until - since).num_seconds().max(0);
            *self.card.seconds_open_by_gate.entry(gate).or_default() += lasted;
        }
    }

    fn merge(&mut self, entry: &Entry, within: bool) {
        if let Some(number) = entry.number {
            self.vendors.over(number, None, entry.at);
        }
        let known = entry.number.and_then(|number| self.pulls.remove(&number));
        let pull = known.unwrap_or_default();
        let began = pull.first_verdict;
        self.add_open(pull.open, entry.at);
        if !within {
            return;
        }
        if entry.kind == Kind::MergedPastGate {
            self.card.merged_past_gate += 1;
            let before = entry.body["verdict_before"].as_str();
            let against =
                before.is_some_and(|word| !matches!(word, "ready" | "merged" | "ignored"));
            self.card.merged_against_verdict += u64::from(against);
            return;
        }
        self.card.merged += 1;
        self.to_merge.extend(began.map(|began| entry.at - began));
        let waived = entry
            .head
            .as_ref()
            .is_some_and(|head| self.waived.contains(head));
        self.card.merges_with_override += u64::from(waived);
    }

    fn finish(mut self) -> Scorecard {
        let until = self.card.until;
        self.card.verifications_by_vendor = std::mem::take(&mut self.vendors).finish(until);
        for pull in std::mem::take(&mut self.pulls).into_values() {
            self.add_open(pull.open, until);
        }
        self.card
            .seconds_open_by_gate
            .retain(|_, seconds| *seconds > 0);
        self.card.certified = self.certified.len() as u64;
        let refuted = self.certified.intersection(&self.refuted).count();
        self.card.certified_and_refuted = refuted as u64;
        self.to_merge.sort();
        let middle = self.to_merge.get(self.to_merge.len() / 2);
        self.card.median_seconds_to_merge = middle.map(Duration::num_seconds);
        let all = self.card.merged + self.card.merged_past_gate;
        let each = |count: u64| (all > 0).then(|| count as f64 / all as f64);
        self.card.escaped_per_merge = each(self.card.escaped);
        self.card.interventions_per_merge = each(self.interventions);
        self.card
    }
}
