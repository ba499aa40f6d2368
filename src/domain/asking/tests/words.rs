//! What a person reads on the check while verifiers are asked, silent, unavailable, or nobody is left.

use chrono::Duration;
use serde_json::json;

use super::{ask, fresh};
use crate::domain::facts::{Snapshot, Why};
use crate::domain::render::check;
use crate::domain::testing::*;
use crate::domain::verdict;

/// Title, the gate's row, and the steps, as they stand on the check; without the block for programs.
fn page(situation: &str, snapshot: &Snapshot) -> String {
    let page = check::page(&verdict::decide(snapshot), &[]);
    let steps = page.text.split("```json").next().unwrap_or_default();
    let rows = page.summary.lines();
    let rows = rows.filter(|line| line.contains("second verifier") || line.contains("erifier"));
    let rows: Vec<_> = rows.collect();
    format!(
        "===== {situation}\n{}\n\n{}\n\n{}\n",
        page.title,
        rows.join("\n"),
        steps.trim()
    )
}

fn later(mut snapshot: Snapshot, minutes: i64) -> Snapshot {
    snapshot.now += Duration::minutes(minutes);
    snapshot
}

/// A report of codex's that says neither.
fn could_not(reason: &str) -> Snapshot {
    let mut document = approval("exec-1");
    document["predicate"]["result"] = json!("inconclusive");
    document["predicate"]["reason"] = json!(reason);
    let mut snapshot = fresh();
    items(&mut snapshot.runs).push(report(20, CODEX, &document));
    snapshot
}

#[test]
fn the_check_says_who_was_asked_who_is_unavailable_and_when_the_fallback_is_in_use() {
    let mut asked = fresh();
    ask(&mut asked, "gemini", Why::First);
    let mut refused = fresh();
    ask(&mut refused, "gemini", Why::First);
    refused.asked[0].refused = Some("label: GitHub did not take it (403 Forbidden).".into());
    let mut both = fresh();
    ask(&mut both, "gemini", Why::First);
    ask(&mut both, "codex", Why::Silent);
    let mut fallback = later(fresh(), 9 * 60);
    ask(&mut fallback, "haiku", Why::Fallback);
    let pages = [
        page("nobody was asked yet", &fresh()),
        page("gemini was asked", &asked),
        page("gemini is silent", &later(asked.clone(), 31)),
        page("gemini could not be told", &refused),
        page("codex had no quota", &could_not("quota")),
        page("codex could only read", &could_not("read_only")),
        page("both are silent", &later(both, 90)),
        page("the fallback is in use, and haiku was asked", &fallback),
    ];
    insta::assert_snapshot!("asking", pages.join("\n"));
}
