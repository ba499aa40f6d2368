//! A verdict for a terminal.

use std::fmt::Write;

use super::{gate_name, whose_move};
use crate::domain::verdict::{GateResult, Move, Outcome, State, Verdict};

/// The verdict tree as plain text, with colour where `colour` says so.
pub fn tree(name: &str, verdict: &Verdict, colour: bool) -> String {
    let mut text = String::new();
    let paint = Paint(colour);
    let head = verdict
        .head
        .as_ref()
        .map_or("unknown head", |head| head.short());
    let base = verdict
        .base
        .as_ref()
        .map_or("unknown base", |base| base.as_str());
    let outcome = paint.outcome(verdict.outcome);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}  {head} -> {base}", plain(name));
    let _ = writeln!(text, "{outcome}: {}", plain(&headline(verdict)));
    let _ = writeln!(text);
    for gate in &verdict.gates {
        write_gate(&mut text, gate, 0, paint);
    }
    text
}

/// What the outcome rests on, in a line.
pub fn headline(verdict: &Verdict) -> String {
    match verdict.foremost() {
        Some(gate) => {
            let all = verdict.gates.len();
            let open = verdict.open_gates().count();
            format!(
                "{open} of {all} gates open, first {}",
                gate_name(&gate.gate)
            )
        }
        None => verdict.reason.clone(),
    }
}

fn write_gate(text: &mut String, gate: &GateResult, depth: usize, paint: Paint) {
    let indent = "  ".repeat(depth);
    let name = if depth == 0 {
        gate_name(&gate.gate)
    } else {
        plain(&gate.gate)
    };
    let glyph = paint.state(&gate.state);
    let _ = writeln!(text, "{indent}{glyph} {name}: {}", plain(&gate.reason));
    let on = gate.state.whose_move();
    if depth == 0 && on != Move::Nobody {
        let _ = writeln!(text, "{indent}    move: {}", plain(&whose_move(&on)));
        if let Some(next) = &gate.next {
            let _ = writeln!(text, "{indent}    next: {}", plain(next));
        }
    }
    if let State::Satisfied { proof } = &gate.state
        && gate.details.is_empty()
    {
        for record in proof.records().iter().filter(|record| record.url.is_some()) {
            let url = record.url.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "{indent}    rests on: {} {}",
                plain(&record.what),
                plain(url)
            );
        }
    }
    // What is fine in its parts needs no parts.
    if !gate.state.passes() || depth > 0 {
        for detail in &gate.details {
            write_gate(text, detail, depth + 1, paint);
        }
    }
}

/// Foreign text without control characters: a terminal obeys some of them.
fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    fn state(self, state: &State) -> String {
        match state {
            State::Satisfied { .. } => self.with("32", "✓"),
            State::Waiting { .. } => self.with("33", "…"),
            State::Failed { .. } => self.with("31", "✗"),
            State::Skipped => self.with("90", "-"),
            State::Undetermined { .. } => self.with("35", "?"),
            State::Overridden { .. } => self.with("36", "!"),
        }
    }

    fn outcome(self, outcome: Outcome) -> String {
        let code = match outcome {
            Outcome::Ready | Outcome::Merged => "1;32",
            Outcome::Waiting | Outcome::Held => "1;33",
            Outcome::Blocked => "1;31",
            Outcome::Undetermined => "1;35",
            Outcome::Ignored => "1;90",
        };
        self.with(code, outcome.word())
    }
}
