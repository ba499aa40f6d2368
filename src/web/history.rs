//! The ledger of one pull request in words.
//!
//! The bodies of entries are written by the rooms that decide and act, and older ones stay as they
//! were. So this reads what it knows of them and shows the rest as it stands, rather than nothing.

use serde_json::Value;

use super::view::{Prose, When};
use crate::domain::ledger::{Entry, Kind};
use crate::domain::model::Timestamp;
use crate::domain::render::words;

/// An entry as a line of the story.
pub(super) struct Happened {
    pub seq: u64,
    pub when: When,
    /// A word for what sort of thing it was.
    pub kind: &'static str,
    /// How it is coloured.
    pub tone: &'static str,
    pub what: Prose,
    /// The first digits of its hash, to find it in the ledger.
    pub hash: String,
}

impl Happened {
    pub(super) fn new(entry: &Entry, now: Timestamp) -> Self {
        let (kind, tone, what) = told(entry);
        Self {
            seq: entry.seq,
            when: When::new(entry.at, now).dated(),
            kind,
            tone,
            what: Prose::new(&what),
            hash: short(&entry.hash),
        }
    }
}

/// Kind, tone and sentence.
fn told(entry: &Entry) -> (&'static str, &'static str, String) {
    let body = &entry.body;
    let head = entry.head.as_ref().map_or_else(
        || "the head".to_owned(),
        |head| format!("`{}`", head.short()),
    );
    match entry.kind {
        Kind::Verdict => ("judged", tone_of(body), judged(&head, body)),
        Kind::Intent => (
            "intent",
            "",
            format!(
                "Set out to merge {head}.{}",
                rest(body, &["clearance", "expected_tree",])
            ),
        ),
        Kind::Outcome => came_of_it(&head, body),
        Kind::Landed => {
            let tone = match body["judged"].as_str() {
                Some("mismatch") => "failed",
                _ => "satisfied",
            };
            let commit =
                field(body, "commit").map_or_else(String::new, |c| format!(" as `{}`", short(&c)));
            let how = field(body, "how").map_or_else(String::new, |how| format!(": {how}"));
            ("landed", tone, format!("{head} landed{commit}{how}"))
        }
        Kind::MergedPastGate => {
            let by = field(&body["by"], "login").unwrap_or_else(|| "somebody".into());
            let before = field(body, "verdict_before")
                .map_or_else(String::new, |word| format!("; it was {word} then"));
            (
                "past the gate",
                "failed",
                format!("{head} was merged by {by}, not by Countersign{before}."),
            )
        }
        Kind::Freeze => match (field(body, "base"), field(body, "frozen")) {
            (Some(base), Some(why)) => ("frozen", "failed", format!("`{base}` is frozen: {why}")),
            (Some(base), None) => ("thawed", "satisfied", format!("`{base}` is thawed.")),
            (None, _) => ("freeze", "", rest(body, &[])),
        },
        Kind::Hold => match &body["hold"] {
            Value::Object(_) => {
                let by = field(&body["hold"], "by").unwrap_or_else(|| "somebody".into());
                let why = field(&body["hold"], "reason")
                    .map_or_else(String::new, |why| format!(": {why}"));
                ("held", "waiting", format!("Held by {by}{why}"))
            }
            _ => ("let go", "satisfied", "Let go.".into()),
        },
        Kind::Asked => ("asked", "", verifier_asked(body)),
        Kind::Reported => ("report", "", verifier_reported(body)),
        Kind::Request | Kind::Override | Kind::Escaped | Kind::Dispatch | Kind::WouldHave => {
            asked(entry.kind, body)
        }
    }
}

fn verifier_asked(body: &Value) -> String {
    let verifier = field(body, "verifier").unwrap_or_default();
    let by = field(body, "by").unwrap_or_else(|| "Countersign".into());
    let why = match field(body, "why").as_deref() {
        Some("first" | "person") | None => String::new(),
        Some("inconclusive") => ", since another one could not say".into(),
        Some("silent") => ", since another one was silent past its deadline".into(),
        Some("refused") => ", since another one could not be told".into(),
        Some("fallback") => ", which is enough since the policy's fallback is in use".into(),
        Some("again") => " once more, since nobody else is left".into(),
        Some(other) => format!(" ({other})"),
    };
    match field(body, "refused") {
        None => format!("{by} asked {verifier} for a verification{why}."),
        Some(refused) => {
            let refused = refused.trim_end_matches('.');
            format!("{by} wanted to ask {verifier}{why}, and GitHub refused: {refused}.")
        }
    }
}

fn verifier_reported(body: &Value) -> String {
    let verifier = field(body, "verifier").unwrap_or_default();
    let result = field(body, "result").unwrap_or_default();
    let why = match field(body, "reason").as_deref() {
        Some("capacity") => ": it had no capacity".to_owned(),
        Some("quota") => ": its quota is used up".to_owned(),
        Some("timeout") => ": it ran out of time".to_owned(),
        Some("read_only") => ": it could only read".to_owned(),
        Some("conflict") => ": the branch conflicts".to_owned(),
        Some("other") | None => String::new(),
        Some(word) => format!(" ({word})"),
    };
    match result.as_str() {
        "approved" => format!("{verifier} approved this head."),
        "rejected" => format!("{verifier} rejected this head."),
        // An outage is no word about the code, and must not read like one.
        "inconclusive" if OUTAGES.contains(&field(body, "reason").unwrap_or_default().as_str()) => {
            format!("{verifier} could not run{why}.")
        }
        "inconclusive" => format!("{verifier} could not say{why}."),
        other => format!("{verifier} reported: {other}{why}."),
    }
}

/// Reasons that say nothing of the code.
const OUTAGES: [&str; 3] = ["capacity", "quota", "timeout"];

/// What people asked for, and what followed from it outside of merges.
fn asked(kind: Kind, body: &Value) -> (&'static str, &'static str, String) {
    let by = field(&body["by"], "login").unwrap_or_else(|| "somebody".into());
    match kind {
        Kind::Override => {
            let waiver = &body["override"];
            let part = |name: &str| field(waiver, name).unwrap_or_default();
            let text = format!(
                "{by} waived `{}` ({}): {}",
                part("gate"),
                part("category").replace('_', " "),
                part("reason")
            );
            ("override", "overridden", text)
        }
        Kind::Escaped => {
            let through = body["through"].as_u64().unwrap_or_default();
            let text = format!("{by} says that a defect escaped through #{through}.");
            ("escaped", "failed", text)
        }
        Kind::Dispatch => ("dispatch", "", field(body, "what").unwrap_or_default()),
        Kind::WouldHave => {
            let what = field(body, "would").unwrap_or_default();
            ("observed", "", format!("Would have been: {what}."))
        }
        _ => {
            let command = match &body["command"] {
                Value::String(word) => word.clone(),
                Value::Object(parts) => parts.keys().next().cloned().unwrap_or_default(),
                _ => String::new(),
            };
            let asked = match (body["button"].as_bool(), field(body, "verifier")) {
                (Some(true), Some(verifier)) => {
                    format!("{by} pressed \"Request verification\": {verifier} is to be asked.")
                }
                (Some(true), None) => format!("{by} pressed \"Request verification\"."),
                _ => format!("{by} asked: `{}`.", command.replace('_', " ")),
            };
            match field(body, "refused") {
                Some(why) if body["button"] == true => {
                    let why = why.trim_end_matches('.');
                    (
                        "asked",
                        "failed",
                        format!("{asked} Nothing came of it: {why}."),
                    )
                }
                Some(why) => ("asked", "failed", format!("{asked} {why}")),
                None => ("asked", "", asked),
            }
        }
    }
}

fn tone_of(body: &Value) -> &'static str {
    match body["outcome"].as_str() {
        Some("ready" | "merged") => "satisfied",
        Some("waiting" | "held") => "waiting",
        Some("blocked") => "failed",
        Some("undetermined") => "undetermined",
        _ => "skipped",
    }
}

/// "`4f9d21c` is waiting: second verifier", naming the gates that were open.
fn judged(head: &str, body: &Value) -> String {
    let outcome = field(body, "outcome").unwrap_or_else(|| "judged".into());
    let open: Vec<_> = body["gates"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|gate| {
            let state = gate["state"].as_str().unwrap_or_default();
            !matches!(state, "satisfied" | "skipped" | "overridden")
        })
        .filter_map(|gate| field(gate, "gate").or_else(|| field(gate, "name")))
        .map(|name| words::gate_name(&name))
        .collect();
    let why = match (open.is_empty(), field(body, "reason")) {
        (false, _) => format!(", open: {}", open.join(", ")),
        (true, Some(reason)) => format!(": {reason}"),
        (true, None) => String::new(),
    };
    format!("{head} is {outcome}{why}.")
}

/// What came of a merge: the field's name says it, its value is GitHub's own word.
fn came_of_it(head: &str, body: &Value) -> (&'static str, &'static str, String) {
    let refused = |how: &str, words: String| {
        let text = format!("GitHub did not merge {head}, {how}: {words}");
        ("refused", "failed", text)
    };
    let known = [
        ("head_moved", "since the head had moved"),
        ("base_moved", "since the base had moved"),
        ("not_allowed", "since it is not allowed"),
        ("forbidden", "for want of permission"),
        ("gone", "since it is gone"),
        ("invalid", "since the request was not valid"),
    ];
    if let Some(commit) = field(body, "merged") {
        let found = if field(body, "found_by").is_some() {
            ", as was found by reading it back"
        } else {
            ""
        };
        let text = format!("Merged {head} as `{}`{found}.", short(&commit));
        return ("merged", "satisfied", text);
    }
    if let Some(branch) = field(body, "branch") {
        return match field(body, "branch_left") {
            Some(why) => (
                "branch left",
                "",
                format!("Left the branch `{branch}`: {why}."),
            ),
            None => (
                "branch deleted",
                "satisfied",
                format!("The branch `{branch}` is deleted."),
            ),
        };
    }
    known
        .iter()
        .find_map(|(name, how)| Some(refused(how, field(body, name)?)))
        .unwrap_or_else(|| ("outcome", "", format!("For {head}:{}", rest(body, &[]))))
}

/// The scalars of a body that nobody here has words for, as they stand.
fn rest(body: &Value, but: &[&str]) -> String {
    let fields = body.as_object().into_iter().flatten();
    let told: Vec<_> = fields
        .filter(|(name, _)| !but.contains(&name.as_str()))
        .filter_map(|(name, _)| Some(format!("{} {}", words::gate_name(name), field(body, name)?)))
        .collect();
    if told.is_empty() {
        String::new()
    } else {
        format!(" {}", told.join("; "))
    }
}

/// A field that people can read: a text, a number, a yes or no.
fn field(body: &Value, name: &str) -> Option<String> {
    match body.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(if *yes { "yes" } else { "no" }.into()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn short(id: &str) -> String {
    id.chars().take(7).collect()
}

#[cfg(test)]
mod tests;
