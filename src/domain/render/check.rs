//! The check run's page.
//!
//! A completed page says success or failure; anything that may still move by itself stays open. The
//! JSON block at the end of the text is for programs and is never cut: prose gives way first.

use std::fmt::Write;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::markdown::{cell, cut, link};
use super::{gate_name, json, whose_move};
use crate::domain::model::PullNumber;
use crate::domain::policy::Mode;
use crate::domain::verdict::{GateResult, Landing, Move, Outcome, State, Verdict};

/// GitHub's limit on summary and text each, in bytes.
const MOST: usize = 65_535;
/// GitHub's titles have no stated limit; longer ones are not readable in its lists.
const TITLE: usize = 200;

/// A button on the check run's page (`requested_action`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Button {
    /// At most 20 characters.
    pub label: &'static str,
    /// At most 40 characters.
    pub description: &'static str,
    /// At most 20 characters; comes back in the delivery.
    pub identifier: &'static str,
}

const RECHECK: Button = Button {
    label: "Re-check",
    description: "Read everything again",
    identifier: "recheck",
};
const HOLD: Button = Button {
    label: "Hold",
    description: "Do not merge until it is let go",
    identifier: "hold",
};
const UNHOLD: Button = Button {
    label: "Let go",
    description: "End the hold",
    identifier: "unhold",
};

/// What a check run says. `conclusion: None` means `in_progress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckPage {
    /// `success`, `failure` or `neutral`; `None` while it is open.
    pub conclusion: Option<&'static str>,
    /// The outcome in one line.
    pub title: String,
    /// A table of gates. At most 65,535 bytes, cut at a character.
    pub summary: String,
    /// How to satisfy the open ones, then the JSON block. At most 65,535 bytes.
    pub text: String,
    /// At most three.
    pub buttons: Vec<Button>,
}

/// Renders a verdict as a check run. `siblings` are other open pull requests with the same head that
/// are not ready: the head's one check cannot be a success then.
pub fn page(verdict: &Verdict, siblings: &[PullNumber]) -> CheckPage {
    let held = verdict.outcome == Outcome::Held;
    CheckPage {
        conclusion: conclusion(verdict, siblings),
        title: title(verdict, siblings),
        summary: cut(&summary(verdict, siblings), MOST),
        text: text(verdict),
        buttons: vec![RECHECK, if held { UNHOLD } else { HOLD }],
    }
}

/// A digest of what a page says: its outcome, its gates and what is offered on it.
pub fn digest(page: &CheckPage) -> String {
    let mut hash = Sha256::new();
    for part in [
        page.conclusion.unwrap_or("open"),
        &page.title,
        &page.summary,
    ] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    for button in &page.buttons {
        hash.update(button.identifier);
    }
    hex::encode(hash.finalize())
}

fn conclusion(verdict: &Verdict, siblings: &[PullNumber]) -> Option<&'static str> {
    if verdict.mode == Some(Mode::Observe) {
        return Some("neutral");
    }
    match verdict.outcome {
        Outcome::Ready if siblings.is_empty() => Some("success"),
        Outcome::Blocked => {
            let mut failed = verdict.gates.iter().filter_map(|gate| match &gate.state {
                State::Failed { on } => Some(on),
                _ => None,
            });
            let only_a_push_or_an_owner = failed.all(|on| matches!(on, Move::Author | Move::Owner));
            only_a_push_or_an_owner.then_some("failure")
        }
        Outcome::Ready
        | Outcome::Merged
        | Outcome::Waiting
        | Outcome::Undetermined
        | Outcome::Held
        | Outcome::Ignored => None,
    }
}

fn title(verdict: &Verdict, siblings: &[PullNumber]) -> String {
    let open = verdict.open_gates().count();
    let of = match (open, verdict.gates.len()) {
        (0, _) => String::new(),
        (open, all) => format!(" ({open} of {all} gates open)"),
    };
    let foremost = verdict.foremost();
    let said = match verdict.outcome {
        Outcome::Merged => "Merged".to_owned(),
        Outcome::Ready if !siblings.is_empty() => {
            format!("Ready, but #{} shares this head and is not", siblings[0])
        }
        Outcome::Ready => match verdict.landing {
            Landing::Now | Landing::Observed => "Ready to merge".to_owned(),
            Landing::WhenRequested => "Ready; merges when asked".to_owned(),
            Landing::ByPeople => "Ready; people merge this one".to_owned(),
        },
        Outcome::Held => {
            let held = verdict.gates.iter().find(|gate| gate.gate == "not_held");
            held.map_or("Held".into(), |gate| format!("Held: {}", gate.reason))
        }
        Outcome::Blocked => {
            foremost.map_or("Blocked".into(), |gate| format!("Blocked: {}", gate.reason))
        }
        Outcome::Undetermined => {
            let why = foremost.map_or(&verdict.reason, |gate| &gate.reason);
            format!("Undetermined: {why}")
        }
        Outcome::Waiting => foremost.map_or("Waiting".into(), waiting),
        Outcome::Ignored => format!("Not judged: {}", verdict.reason),
    };
    let observed = verdict.mode == Some(Mode::Observe);
    let said = if observed {
        format!("Observed only, would be: {said}")
    } else {
        said
    };
    let fits = TITLE - of.len();
    let said: String = if said.chars().count() > fits {
        said.chars().take(fits - 1).chain(['…']).collect()
    } else {
        said
    };
    said.replace(['\n', '\r'], " ") + &of
}

fn waiting(gate: &GateResult) -> String {
    match gate.gate.as_str() {
        "checks" => "Waiting for checks".into(),
        "certification" => "Waiting for the certification".into(),
        "second_verifier" => "Waiting for a second verifier".into(),
        "mutation_check" => "Waiting for mutation evidence".into(),
        "exercised" => "Waiting for tests against the real thing".into(),
        "approvals" => "Waiting for approvals".into(),
        "not_draft" => "Waiting: it is a draft".into(),
        "conflicts" => "Waiting for GitHub to look for conflicts".into(),
        _ => format!("Waiting: {}", gate.reason),
    }
}

fn summary(verdict: &Verdict, siblings: &[PullNumber]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some(head) = &verdict.head {
        let base = verdict.base.as_ref().map_or("?", |base| base.as_str());
        let _ = writeln!(text, "For head `{head}` into `{}`.\n", cell(base));
    }
    for sibling in siblings {
        let _ = writeln!(
            text,
            "#{sibling} has the same head and is not ready; a commit has one check, so it stays open.\n"
        );
    }
    if verdict.gates.is_empty() {
        let _ = writeln!(text, "{}.", cell(&verdict.reason));
        return text;
    }
    text.push_str("| gate | state | why | rests on | since | move |\n|---|---|---|---|---|---|\n");
    for gate in &verdict.gates {
        let on = match gate.state.whose_move() {
            Move::Nobody => String::new(),
            on => cell(&whose_move(&on)),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {on} |",
            gate_name(&gate.gate),
            state(&gate.state),
            cell(&gate.reason),
            rests_on(gate),
            gate.since
                .map_or_else(String::new, |since| since.format("%m-%d %H:%M").to_string()),
        );
    }
    text
}

fn state(state: &State) -> String {
    let glyph = match state {
        State::Satisfied { .. } => "✅",
        State::Waiting { .. } => "⏳",
        State::Failed { .. } => "❌",
        State::Skipped => "➖",
        State::Undetermined { .. } => "❔",
        State::Overridden { .. } => "⚠️",
    };
    format!("{glyph} {}", state.word())
}

/// At most three records with a page of their own; standing facts need none.
fn rests_on(gate: &GateResult) -> String {
    let State::Satisfied { proof } = &gate.state else {
        return String::new();
    };
    let records = proof.records();
    let links: Vec<_> = records
        .iter()
        .filter(|record| record.url.is_some())
        .take(3)
        .map(|record| link(&record.what, record.url.as_deref()))
        .collect();
    let more = records
        .iter()
        .filter(|r| r.url.is_some())
        .count()
        .saturating_sub(3);
    match (links.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => links.join(", "),
        (false, more) => format!("{} and {more} more", links.join(", ")),
    }
}

fn text(verdict: &Verdict) -> String {
    let block = block(verdict);
    let mut prose = String::new();
    for (index, gate) in verdict.open_gates().enumerate() {
        let _ = write!(
            prose,
            "{}. **{}**: {}",
            index + 1,
            gate_name(&gate.gate),
            cell(&gate.reason)
        );
        if let Some(next) = &gate.next {
            let _ = write!(prose, " Next: {}.", cell(next));
        }
        if let Some(since) = gate.since {
            let _ = write!(prose, " (since {})", since.format("%Y-%m-%d %H:%M UTC"));
        }
        prose.push('\n');
        for detail in &gate.details {
            let _ = writeln!(
                prose,
                "   - {} {}: {}",
                state(&detail.state),
                cell(&detail.gate),
                cell(&detail.reason)
            );
        }
    }
    if prose.is_empty() {
        prose.push_str("Nothing is open.\n");
    }
    let room = MOST.saturating_sub(block.len());
    cut(&prose, room) + &block
}

/// The stable fields for programs, in a fence that their content cannot end.
fn block(verdict: &Verdict) -> String {
    let json = json::short(verdict).to_string();
    // JSON on one line: a fence within it stands in the middle of the line and closes nothing.
    format!("\n```json\n{json}\n```\n")
}
