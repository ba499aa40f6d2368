//! What is counted while the server runs, for Prometheus.
//!
//! One [`Meters`] belongs to one server and is handed to the rooms that count; nothing is registered for
//! the whole process, so two servers in one process (as in tests) do not mix, and no listener of its own is
//! opened: the web room shows them behind the door it has.
//!
//! # Properties
//!
//! - **Every series is bounded.** Labels are fixed words, installations, or names of repositories. A pull
//!   request's number, a commit, or what a stranger wrote is never one: of event names, which come in an
//!   unsigned header, only so many are told apart ([`MOST_EVENTS`]).
//! - **Counting cannot fail and does not wait.** Where nobody scrapes, what was observed is folded
//!   together now and then, so it does not pile up.
//!
//! Counters begin at nothing with each start of the server, as Prometheus expects. What is kept in the
//! store (the ledger, the inbox, verdicts) is not counted here but read when somebody scrapes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use metrics::{
    Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
    with_local_recorder,
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

/// So many names of events are told apart; GitHub has about seventy.
const MOST_EVENTS: usize = 100;
/// After so many observations they are folded together.
const FOLD_EVERY: u64 = 1_024;
/// How long passes and calls take, in seconds: from one that asks nobody to one that is cut off.
const BUCKETS: [f64; 11] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0,
];

/// What only goes up.
const COUNTERS: [(&str, &str); 6] = [
    (
        "countersign_deliveries_total",
        "Deliveries by event and how they were answered.",
    ),
    (
        "countersign_passes_total",
        "Passes by what they were about and how they ended.",
    ),
    (
        "countersign_github_requests_total",
        "Requests to GitHub by method and status; status none is no answer.",
    ),
    (
        "countersign_ledger_entries_total",
        "Entries in the ledger by kind.",
    ),
    (
        "countersign_verdicts_total",
        "Changes of a pull request's outcome, from the ledger.",
    ),
    (
        "countersign_merges_total",
        "Merges by who made them, from the ledger.",
    ),
];

/// What goes up and down.
const GAUGES: [(&str, &str); 14] = [
    (
        "countersign_alarm",
        "1 while an alarm is raised, by its name.",
    ),
    (
        "countersign_github_budget_limit",
        "What GitHub allows in an hour, by installation and resource.",
    ),
    (
        "countersign_github_budget_remaining",
        "What is left of it, as GitHub told last.",
    ),
    (
        "countersign_ready",
        "1 once GitHub has accepted the App's credentials.",
    ),
    (
        "countersign_inbox_deliveries",
        "Deliveries that are kept, by state.",
    ),
    (
        "countersign_inbox_oldest_age_seconds",
        "How long the oldest delivery waits to be understood.",
    ),
    (
        "countersign_pull_requests",
        "Open pull requests by repository and outcome.",
    ),
    (
        "countersign_gates",
        "Gates of open pull requests by gate and state.",
    ),
    (
        "countersign_agent_pull_requests",
        "Open pull requests of agents, by repository.",
    ),
    (
        "countersign_dispatches_in_flight",
        "Dispatches that were granted and are under way, by repository.",
    ),
    (
        "countersign_dispatches_queued",
        "Issues that wait for a dispatch, by repository.",
    ),
    (
        "countersign_work_keys",
        "Keys that want a pass or are in one, by state.",
    ),
    ("countersign_database_bytes", "The size of the database."),
    (
        "countersign_database_free_bytes",
        "The part of it that is free to be used again.",
    ),
];

/// What is observed.
const HISTOGRAMS: [(&str, &str); 2] = [
    (
        "countersign_pass_duration_seconds",
        "How long passes took, by what they were about.",
    ),
    (
        "countersign_github_request_duration_seconds",
        "How long GitHub took to answer, by method.",
    ),
];

/// The counters and gauges of one server. Clones share them.
#[derive(Clone)]
pub struct Meters(Arc<Inner>);

struct Inner {
    recorder: PrometheusRecorder,
    events: Mutex<BTreeSet<String>>,
    observed: AtomicU64,
}

impl std::fmt::Debug for Meters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meters")
    }
}

impl Default for Meters {
    fn default() -> Self {
        let builder = PrometheusBuilder::new();
        // It only refuses an empty list.
        let builder = builder
            .set_buckets(&BUCKETS)
            .unwrap_or_else(|_| PrometheusBuilder::new());
        let recorder = builder.build_recorder();
        with_local_recorder(&recorder, || {
            for (name, help) in COUNTERS {
                describe_counter!(name, help);
            }
            for (name, help) in GAUGES {
                describe_gauge!(name, help);
            }
            for (name, help) in HISTOGRAMS {
                describe_histogram!(name, help);
            }
        });
        Self(Arc::new(Inner {
            recorder,
            events: Mutex::default(),
            observed: AtomicU64::new(0),
        }))
    }
}

/// Labels of a series.
type Labels<'a> = &'a [(&'static str, &'a str)];

fn labels(pairs: Labels<'_>) -> Vec<Label> {
    let label = |(name, value): &(&'static str, &str)| Label::new(*name, (*value).to_owned());
    pairs.iter().map(label).collect()
}

impl Meters {
    /// Raises a counter.
    pub fn count(&self, name: &'static str, by: u64, pairs: Labels<'_>) {
        with_local_recorder(&self.0.recorder, || {
            counter!(name, labels(pairs)).increment(by);
        });
    }

    /// Sets a gauge.
    pub fn set(&self, name: &'static str, value: f64, pairs: Labels<'_>) {
        with_local_recorder(&self.0.recorder, || gauge!(name, labels(pairs)).set(value));
    }

    fn observe(&self, name: &'static str, took: Duration, pairs: Labels<'_>) {
        with_local_recorder(&self.0.recorder, || {
            histogram!(name, labels(pairs)).record(took.as_secs_f64());
        });
        if self.0.observed.fetch_add(1, Ordering::Relaxed) % FOLD_EVERY == FOLD_EVERY - 1 {
            self.0.recorder.handle().run_upkeep();
        }
    }

    /// A delivery was answered. The event's name is what the sender says.
    pub fn delivery(&self, event: &str, answer: &str) {
        let mut events = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        let known = events.contains(event);
        if !known && events.len() < MOST_EVENTS {
            events.insert(event.to_owned());
        }
        let event = if known || events.contains(event) {
            event
        } else {
            "other"
        };
        let pairs = [("event", event), ("answer", answer)];
        self.count("countersign_deliveries_total", 1, &pairs);
    }

    /// A pass ended.
    pub fn pass(&self, about: &str, outcome: &str, took: Duration) {
        let pairs = [("about", about), ("outcome", outcome)];
        self.count("countersign_passes_total", 1, &pairs);
        let name = "countersign_pass_duration_seconds";
        self.observe(name, took, &[("about", about)]);
    }

    /// GitHub answered a request, or did not.
    pub fn request(&self, method: &str, status: Option<u16>, took: Duration) {
        let status = status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        let pairs = [("method", method), ("status", status.as_str())];
        self.count("countersign_github_requests_total", 1, &pairs);
        let name = "countersign_github_request_duration_seconds";
        self.observe(name, took, &[("method", method)]);
    }

    /// What GitHub told of a budget. `whose` is an installation's id, or `app`.
    pub fn budget(&self, whose: &str, resource: &str, limit: u64, remaining: u64) {
        let pairs = [("installation", whose), ("resource", resource)];
        self.set("countersign_github_budget_limit", limit as f64, &pairs);
        let name = "countersign_github_budget_remaining";
        self.set(name, remaining as f64, &pairs);
    }

    /// An alarm is raised or over.
    pub fn alarm(&self, name: &str, raised: bool) {
        let value = f64::from(u8::from(raised));
        self.set("countersign_alarm", value, &[("alarm", name)]);
    }

    /// Everything in Prometheus's text format.
    pub fn text(&self) -> String {
        self.0.recorder.handle().render()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_cannot_make_series_without_end() {
        let meters = Meters::default();
        for number in 0..10 * MOST_EVENTS {
            meters.delivery(&format!("event_{number}"), "stored");
        }
        let text = meters.text();
        let series = text
            .lines()
            .filter(|line| line.starts_with("countersign_deliveries_total{"));
        assert_eq!(series.count(), MOST_EVENTS + 1);
        let rest = r#"countersign_deliveries_total{event="other",answer="stored"} 900"#;
        assert!(text.contains(rest), "{text}");
    }

    #[test]
    fn two_servers_in_one_process_do_not_mix() {
        let (one, other) = (Meters::default(), Meters::default());
        one.delivery("push", "stored");
        assert!(one.text().contains("push"));
        assert!(!other.text().contains("push"));
    }

    #[test]
    fn what_a_label_holds_cannot_end_its_line() {
        let meters = Meters::default();
        meters.delivery("a\"} 1\nfake_metric 7", "stored");
        let text = meters.text();
        assert!(!text.lines().any(|line| line.starts_with("fake_metric")));
    }
}
