//! The words that all faces share.

use super::text;
use crate::domain::facts::PolicyOrigin;
use crate::domain::policy::Mode;
use crate::domain::verdict::{GateResult, Landing, Move, Outcome, State, Verdict};

/// Whose move it is, in words.
pub fn whose_move(on: &Move) -> String {
    match on {
        Move::Nobody => "nobody".into(),
        Move::Author => "the author".into(),
        Move::Verifier(names) if names.is_empty() => "a verifier".into(),
        Move::Verifier(names) => names.join(" or "),
        Move::Ci => "CI".into(),
        Move::Maintainer => "somebody with write access".into(),
        Move::Owner => "an owner of the policy".into(),
        Move::GitHub => "GitHub".into(),
        Move::Countersign => "Countersign".into(),
        Move::Operator => "the operator of this server".into(),
    }
}

/// Everybody whose move it is, in words, each once; "nobody" where there is none.
pub fn whose_moves(moves: &[Move]) -> String {
    let mut words: Vec<String> = Vec::new();
    for on in moves.iter().filter(|on| **on != Move::Nobody) {
        let word = whose_move(on);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    match words.as_slice() {
        [] => whose_move(&Move::Nobody),
        words => words.join(", "),
    }
}

/// "the organisation's default, OWNER/.github at abc1234", where that is what applies.
pub fn default_policy(from: Option<&PolicyOrigin>) -> Option<String> {
    from.and_then(PolicyOrigin::of_organisation)
}

pub use crate::domain::gate::next_step::shown as gate_name;

/// What one waits for when this gate is open; `None` where only its reason tells.
fn awaited(gate: &str) -> Option<&'static str> {
    Some(match gate {
        "checks" => "checks",
        "certification" => "the certification",
        "second_verifier" => "a second verifier",
        "mutation_check" => "mutation evidence",
        "exercised" => "tests against the real thing",
        "approvals" => "approvals",
        "conflicts" => "GitHub to look for conflicts",
        _ => return None,
    })
}

/// A sign for a gate's state, never without the word beside it. One column wide in a terminal.
pub fn glyph(state: &str) -> &'static str {
    match state {
        "satisfied" => "✓",
        "waiting" => "…",
        "failed" => "✗",
        "skipped" => "–",
        "overridden" => "!",
        _ => "?",
    }
}

/// Who merges once every gate is satisfied, as a sentence.
pub fn landing(landing: Landing) -> &'static str {
    match landing {
        Landing::Now => "Countersign merges it.",
        Landing::WhenRequested => {
            "Countersign merges it once somebody with write access asks for it."
        }
        Landing::ByPeople => "People merge it: the policy says that Countersign does not.",
        Landing::Observed => "Nobody is kept from merging it: the policy only observes.",
    }
}

/// The gate that the outcome is named after: the one to look at first.
pub fn leading(verdict: &Verdict) -> Option<&GateResult> {
    match verdict.outcome {
        Outcome::Blocked | Outcome::Undetermined | Outcome::Waiting => verdict.foremost(),
        Outcome::Held => verdict.gates.iter().find(|gate| gate.gate == "not_held"),
        Outcome::Merged | Outcome::Ready | Outcome::Ignored => None,
    }
}

/// A merge with a waiver never looks like one without.
fn waived(verdict: &Verdict) -> String {
    let overridden = |gate: &&GateResult| matches!(gate.state, State::Overridden { .. });
    match verdict.gates.iter().filter(overridden).count() {
        0 => String::new(),
        1 => ", with 1 gate waived".into(),
        more => format!(", with {more} gates waived"),
    }
}

/// The outcome in one line of plain text: "Waiting for a second verifier". Where a policy only
/// observes, the line says so first: nothing of it is acted on.
pub fn headline(verdict: &Verdict) -> String {
    let leading = leading(verdict);
    let reason = leading.map_or(verdict.reason.as_str(), |gate| gate.reason.as_str());
    let why = text::unstopped(&text::line(reason)).replace('`', "");
    let said = match verdict.outcome {
        Outcome::Merged => return "Merged".into(),
        Outcome::Ready => {
            let ready = match verdict.landing {
                Landing::Now | Landing::Observed => "Ready to merge",
                Landing::WhenRequested => "Ready to merge once somebody asks for it",
                Landing::ByPeople => "Ready to be merged by people",
            };
            ready.to_owned() + &waived(verdict)
        }
        Outcome::Waiting => match leading.and_then(|gate| awaited(&gate.gate)) {
            Some(what) => format!("Waiting for {what}"),
            None => format!("Waiting: {why}"),
        },
        Outcome::Blocked => format!("Blocked: {why}"),
        Outcome::Undetermined => format!("Cannot tell yet: {why}"),
        Outcome::Held => format!("Held: {why}"),
        Outcome::Ignored => format!("Not judged: {why}"),
    };
    if verdict.mode == Some(Mode::Observe) {
        format!("Observed only, would be: {said}")
    } else {
        said
    }
}

/// " (1 of 6 gates open)", or nothing when none is.
pub fn count_of_open(verdict: &Verdict) -> String {
    match (verdict.open_gates().count(), verdict.gates.len()) {
        (0, _) => String::new(),
        (open, 1) => format!(" ({open} of 1 gate open)"),
        (open, all) => format!(" ({open} of {all} gates open)"),
    }
}

/// The headline and the count of open gates, in at most `most` characters. The count is never cut.
pub fn title(headline: &str, count: &str, most: usize) -> String {
    let room = most.saturating_sub(count.chars().count());
    text::clipped(headline, room) + count
}
