//! `/metrics`: what Prometheus scrapes.
//!
//! Counters of what happened in this process stand in [`Meters`]. Everything that the store holds is read
//! when somebody scrapes: a gauge kept by hand beside the store would drift from it.
//!
//! **Who may.** The same as the API, and on loopback too: behind a proxy everybody comes from loopback, and
//! names of private repositories stand here. A scraper sends the API token as its bearer token.
//!
//! **What it costs.** A few rows of counts at every scrape; the open pull requests and the dispatches at
//! most every half minute; of the ledger what is new. The first scrape after a start reads the whole
//! ledger once, a page at a time: its counters are those of the ledger, so they go on over restarts, and
//! replicas on one database show the same numbers. Sum the others over replicas, these not.
//!
//! While the database does not answer, what this process knows by itself is shown all the same, the alarm
//! that says so among it; what the store holds is not.
//!
//! A combination of labels that was shown once is shown as 0 afterwards, so that no old number stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::Duration;
use serde_json::Value;
use tokio::sync::Mutex;

use super::WebState;
use crate::domain::ledger::{Entry, Kind};
use crate::domain::model::Timestamp;
use crate::store::{Store, Stored};
use crate::telemetry::Meters;

/// How old counts of open pull requests may be.
const FRESH: Duration = Duration::seconds(30);
/// How many ledger entries are read at a time.
const PAGE: u32 = 1_000;

const KIND: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the ledger calls GitHub's refusals to merge.
const REFUSALS: [&str; 6] = [
    "head_moved",
    "base_moved",
    "not_allowed",
    "forbidden",
    "gone",
    "invalid",
];

/// What was counted, and how far reading has come. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Scrape {
    meters: Meters,
    /// Gauges of what the store holds: old ones would look like new ones while it does not answer.
    held: Meters,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    /// The last entry of the ledger that was counted.
    ledger: u64,
    /// When open pull requests were counted.
    pulls_at: Option<Timestamp>,
    /// What gauges stand.
    gauges: BTreeSet<Series>,
}

/// A gauge and its labels.
type Series = (&'static str, Vec<(&'static str, String)>);

impl Scrape {
    /// What is shown of these meters.
    pub fn new(meters: Meters) -> Self {
        Self {
            meters,
            ..Self::default()
        }
    }
}

pub(super) async fn metrics(State(state): State<WebState>) -> Response {
    let mut seen = state.scrape.seen.lock().await;
    let read = gather(&state, &mut seen).await;
    let mut text = state.scrape.meters.text();
    match read {
        Ok(()) => text += &state.scrape.held.text(),
        Err(error) => tracing::error!(%error, "metrics could not be read from the store"),
    }
    ([(header::CONTENT_TYPE, KIND)], text).into_response()
}

async fn gather(state: &WebState, seen: &mut Seen) -> Stored<()> {
    let store = &*state.store;
    let Scrape { meters, held, .. } = &state.scrape;
    let now = state.clock.now();
    let ready = f64::from(u8::from(state.ready.load(Ordering::Relaxed)));
    meters.set("countersign_ready", ready, &[]);
    inbox(store, held, now).await?;
    figures(store, held).await?;
    ledger(store, meters, seen).await?;
    let fresh = |at: Timestamp| now - at < FRESH && now >= at;
    if !seen.pulls_at.is_some_and(fresh) {
        let mut counts = BTreeMap::new();
        pulls(store, &mut counts).await?;
        dispatches(store, &mut counts).await?;
        show(held, seen, counts);
        seen.pulls_at = Some(now);
    }
    Ok(())
}

async fn inbox(store: &dyn Store, held: &Meters, now: Timestamp) -> Stored<()> {
    let inbox = store.inbox().await?;
    for (state, count) in [
        ("waiting", inbox.waiting),
        ("done", inbox.done),
        ("dead", inbox.dead),
    ] {
        let name = "countersign_inbox_deliveries";
        held.set(name, count as f64, &[("state", state)]);
    }
    let oldest = store.waiting(1).await?;
    let age = oldest.first().map_or(0, |oldest| {
        (now - oldest.delivery.at).num_milliseconds().max(0)
    });
    let name = "countersign_inbox_oldest_age_seconds";
    held.set(name, age as f64 / 1_000.0, &[]);
    Ok(())
}

async fn figures(store: &dyn Store, held: &Meters) -> Stored<()> {
    let figures = store.figures().await?;
    for (state, count) in [("waiting", figures.waiting), ("leased", figures.leased)] {
        let name = "countersign_work_keys";
        held.set(name, count as f64, &[("state", state)]);
    }
    held.set("countersign_database_bytes", figures.bytes as f64, &[]);
    let name = "countersign_database_free_bytes";
    held.set(name, figures.free_bytes as f64, &[]);
    Ok(())
}

/// Counts the entries that came since the last time.
async fn ledger(store: &dyn Store, meters: &Meters, seen: &mut Seen) -> Stored<()> {
    loop {
        let entries = store.ledger(None, seen.ledger, PAGE).await?;
        let Some(last) = entries.last() else {
            return Ok(());
        };
        for entry in &entries {
            count(meters, entry);
        }
        seen.ledger = last.seq;
    }
}

fn count(meters: &Meters, entry: &Entry) {
    let kind = serde_json::to_value(entry.kind).unwrap_or_default();
    let kind = kind.as_str().unwrap_or_default();
    meters.count("countersign_ledger_entries_total", 1, &[("kind", kind)]);
    match entry.kind {
        Kind::Verdict => {
            let outcome = entry.body["outcome"].as_str().unwrap_or("unknown");
            let pairs = [("outcome", outcome)];
            meters.count("countersign_verdicts_total", 1, &pairs);
        }
        Kind::Landed => meters.count("countersign_merges_total", 1, &[("by", "countersign")]),
        Kind::Outcome => {
            if let Some(reason) = REFUSALS
                .iter()
                .find(|word| entry.body.get(**word).is_some())
            {
                let pairs = [("reason", *reason)];
                meters.count("countersign_merge_refusals_total", 1, &pairs);
            }
        }
        Kind::MergedPastGate => meters.count("countersign_merges_total", 1, &[("by", "others")]),
        _ => {}
    }
}

type Counts = BTreeMap<Series, u64>;

fn add(counts: &mut Counts, name: &'static str, labels: &[(&'static str, &str)], by: u64) {
    let labels = labels
        .iter()
        .map(|(label, value)| (*label, (*value).to_owned()))
        .collect();
    *counts.entry((name, labels)).or_default() += by;
}

/// Open pull requests by what the last pass recorded of them.
async fn pulls(store: &dyn Store, counts: &mut Counts) -> Stored<()> {
    for row in store.open_pulls(None).await? {
        let repository = row.name.to_string();
        let verdict = row.record.verdict.unwrap_or_default();
        let outcome = verdict["outcome"].as_str().unwrap_or("not_judged");
        let labels = [("repository", repository.as_str()), ("outcome", outcome)];
        add(counts, "countersign_pull_requests", &labels, 1);
        if verdict["by_agent"] == Value::Bool(true) {
            let labels = [("repository", repository.as_str())];
            add(counts, "countersign_agent_pull_requests", &labels, 1);
        }
        for gate in verdict["gates"].as_array().into_iter().flatten() {
            let word = |name: &str| gate[name].as_str().unwrap_or("unknown");
            let labels = [("gate", word("name")), ("state", word("state"))];
            add(counts, "countersign_gates", &labels, 1);
        }
    }
    Ok(())
}

async fn dispatches(store: &dyn Store, counts: &mut Counts) -> Stored<()> {
    for memory in store.active_repos().await? {
        let Some(repo) = memory.repo else { continue };
        let record = store.dispatch(repo.id).await?;
        let name = repo.name.to_string();
        let labels = [("repository", name.as_str())];
        let (granted, queued) = (record.grants.len() as u64, record.queue.len() as u64);
        add(counts, "countersign_dispatches_in_flight", &labels, granted);
        add(counts, "countersign_dispatches_queued", &labels, queued);
    }
    Ok(())
}

fn show(held: &Meters, seen: &mut Seen, mut counts: Counts) {
    for series in &seen.gauges {
        counts.entry(series.clone()).or_default();
    }
    for ((name, labels), value) in &counts {
        let pairs: Vec<_> = labels
            .iter()
            .map(|(label, value)| (*label, value.as_str()))
            .collect();
        held.set(name, *value as f64, &pairs);
    }
    seen.gauges = counts.into_keys().collect();
}
