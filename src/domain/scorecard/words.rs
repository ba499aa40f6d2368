//! The figures as Markdown, for a page or a terminal.

use std::fmt::Write;

use comfy_table::{Table, presets};

use super::{LEFT_OUT, Scorecard};
use crate::domain::model::{RepoName, Timestamp};

/// A table of figures, and what is not among them. Columns are aligned: a terminal shows it as it stands.
pub fn markdown(name: &RepoName, card: &Scorecard) -> String {
    let day = |at: Timestamp| at.format("%Y-%m-%d %H:%M").to_string();
    let (since, until) = (day(card.since), day(card.until));
    let mut out = format!("## {name}, {since} to {until} UTC\n\n");
    out += &table(&["Figure", "Value"], figures(card));
    out += &by_gate(card);
    out += &by_vendor(card);
    let _ = writeln!(out, "\nNot among the figures: {LEFT_OUT}.");
    out
}

/// Rows under a header. A vendor's name is free text: its bars would end a cell.
fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(header);
    for row in rows {
        table.add_row(row.iter().map(|cell| cell.replace('|', "/")));
    }
    format!("{table}\n")
}

fn figures(card: &Scorecard) -> Vec<Vec<String>> {
    let waived = card.merges_with_override;
    let rows = [
        ("Merged by Countersign", card.merged.to_string()),
        (
            "Merged by others",
            format!(
                "{} ({} although the gate said no)",
                card.merged_past_gate, card.merged_against_verdict
            ),
        ),
        (
            "Escaped defects",
            with_share(card.escaped, card.escaped_per_merge, "a merge"),
        ),
        (
            "Certified, and refuted by the second verifier",
            format!("{} of {}", card.certified_and_refuted, card.certified),
        ),
        (
            "Overrides",
            format!(
                "{}, in {waived} {}",
                card.overrides,
                of(waived, "merge", "merges")
            ),
        ),
        (
            "Owner interventions a merge",
            card.interventions_per_merge
                .map_or_else(|| "no merges".into(), |each| format!("{each:.2}")),
        ),
        (
            "From first verdict to merge, median",
            card.median_seconds_to_merge
                .map_or_else(|| "no merges".into(), length),
        ),
        (
            "Dispatches",
            format!(
                "{} asked for, {} granted",
                card.dispatches_asked, card.dispatches_granted
            ),
        ),
        (
            "Only observed",
            format!(
                "{} {} found ready, {} {} let through, {} queued",
                card.would_have_merged,
                of(card.would_have_merged, "head", "heads"),
                card.would_have_granted,
                of(card.would_have_granted, "dispatch", "dispatches"),
                card.would_have_queued
            ),
        ),
    ];
    let row = |(figure, value): (&str, String)| vec![figure.to_owned(), value];
    rows.into_iter().map(row).collect()
}

/// How long each gate was open.
fn by_gate(card: &Scorecard) -> String {
    if card.seconds_open_by_gate.is_empty() {
        return String::new();
    }
    let open = card.seconds_open_by_gate.iter();
    let rows = open.map(|(gate, seconds)| vec![gate.replace('_', " "), length(*seconds)]);
    format!("\n{}", table(&["Gate", "Open in total"], rows.collect()))
}

/// Verifications by vendor, outages and silence apart from what was said about the code.
fn by_vendor(card: &Scorecard) -> String {
    if card.verifications_by_vendor.is_empty() {
        return String::new();
    }
    let header = [
        "Verifications by",
        "Asked",
        "Approved",
        "Rejected",
        "Could not say",
        "Unavailable",
        "Silent",
    ];
    let vendors = card.verifications_by_vendor.iter();
    let rows = vendors.map(|(vendor, of)| {
        let counts = [
            of.asked,
            of.approved,
            of.rejected,
            of.undecided,
            of.unavailable,
            of.silent,
        ];
        let counts = counts.iter().map(u64::to_string);
        std::iter::once(vendor.clone()).chain(counts).collect()
    });
    format!("\n{}", table(&header, rows.collect()))
}

fn of<'a>(count: u64, one: &'a str, more: &'a str) -> &'a str {
    if count == 1 { one } else { more }
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
