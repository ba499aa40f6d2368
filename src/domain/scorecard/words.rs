//! The figures as Markdown, for a page or a terminal.

use std::fmt::Write;

use super::{LEFT_OUT, Scorecard};
use crate::domain::model::RepoName;

/// A table of figures, and what is not among them.
pub fn markdown(name: &RepoName, card: &Scorecard) -> String {
    let mut out = String::new();
    let day = |at: crate::domain::model::Timestamp| at.format("%Y-%m-%d %H:%M").to_string();
    let _ = writeln!(
        out,
        "## {name}, {} to {} UTC\n",
        day(card.since),
        day(card.until)
    );
    let _ = writeln!(out, "| Figure | Value |\n|---|---|");
    let mut row = |figure: &str, value: String| {
        let _ = writeln!(out, "| {figure} | {value} |");
    };
    row("Merged by Countersign", card.merged.to_string());
    row(
        "Merged by others",
        format!(
            "{} ({} although the gate said no)",
            card.merged_past_gate, card.merged_against_verdict
        ),
    );
    row(
        "Escaped defects",
        with_share(card.escaped, card.escaped_per_merge, "a merge"),
    );
    row(
        "Certified, and refuted by the second verifier",
        format!("{} of {}", card.certified_and_refuted, card.certified),
    );
    row(
        "Overrides",
        format!(
            "{} ({} merges with one)",
            card.overrides, card.merges_with_override
        ),
    );
    row(
        "Owner interventions a merge",
        card.interventions_per_merge
            .map_or_else(|| "no merges".into(), |each| format!("{each:.2}")),
    );
    row(
        "From first verdict to merge, median",
        card.median_seconds_to_merge
            .map_or_else(|| "no merges".into(), length),
    );
    row(
        "Dispatches",
        format!(
            "{} asked for, {} granted",
            card.dispatches_asked, card.dispatches_granted
        ),
    );
    row(
        "Only observed",
        format!(
            "{} heads found ready, {} dispatches let through, {} queued",
            card.would_have_merged, card.would_have_granted, card.would_have_queued
        ),
    );
    out += &by_gate(card);
    out += &by_vendor(card);
    let _ = writeln!(out, "\nNot among the figures: {LEFT_OUT}.");
    out
}

/// How long each gate was open.
fn by_gate(card: &Scorecard) -> String {
    let mut out = String::new();
    if !card.seconds_open_by_gate.is_empty() {
        let _ = writeln!(out, "\n| Gate | Open in total |\n|---|---|");
        for (gate, seconds) in &card.seconds_open_by_gate {
            let _ = writeln!(out, "| {} | {} |", gate.replace('_', " "), length(*seconds));
        }
    }
    out
}

/// Verifications by vendor, outages and silence apart from what was said about the code.
fn by_vendor(card: &Scorecard) -> String {
    let mut out = String::new();
    if card.verifications_by_vendor.is_empty() {
        return out;
    }
    let _ = writeln!(
        out,
        "\n| Verifications by | Asked | Approved | Rejected | Could not say | Unavailable | Silent |\n\
         |---|---|---|---|---|---|---|"
    );
    for (vendor, of) in &card.verifications_by_vendor {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            vendor.replace('|', "/"),
            of.asked,
            of.approved,
            of.rejected,
            of.undecided,
            of.unavailable,
            of.silent
        );
    }
    out
}

fn with_share(count: u64, each: Option<f64>, of: &str) -> String {
    match each {
        Some(each) => format!("{count} ({each:.2} {of})"),
        None => count.to_string(),
    }
}

fn length(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
