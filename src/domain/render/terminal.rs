//! A verdict for a terminal.
//!
//! One node, one line, wrapped nowhere: terminals wrap better than we do, and `grep` works. Open gates
//! show all they are made of; what is fine shows on what it rests.

use std::fmt::Write;

use super::{text, words};
use crate::domain::policy::Mode;
use crate::domain::verdict::{GateResult, Move, Outcome, State, Verdict};

/// The verdict tree as plain text, with ANSI colour where `colour` says so. `name` is what the first
/// line calls the pull request (`OWNER/REPO#N`).
pub fn tree(name: &str, verdict: &Verdict, colour: bool) -> String {
    let paint = Paint(colour);
    let headline = words::headline(verdict) + &words::count_of_open(verdict);
    let mut lines = vec![
        format!(
            "{}  {}",
            paint.with(BOLD, &text::line(name)),
            paint.with(outcome_colour(verdict.outcome), &text::line(&headline))
        ),
        paint.with(DIM, &about(verdict)),
        String::new(),
    ];
    let width = name_width(&verdict.gates);
    for gate in &verdict.gates {
        write_gate(
            &mut lines,
            gate,
            &words::gate_name(&gate.gate),
            Nesting { depth: 0, width },
            paint,
        );
    }
    if verdict.gates.is_empty() {
        lines.push(text::stopped(&text::line(&verdict.reason)));
    }
    if verdict.outcome == Outcome::Ready {
        lines.push(String::new());
        lines.push(words::landing(verdict.landing).to_owned());
    }
    lines.join("\n") + "\n"
}

/// What is to be said before a tree that does not tell how things are: a line for each thing that was
/// supposed; nothing where nothing was.
pub fn hypothetical(supposed: &[String], colour: bool) -> String {
    let paint = Paint(colour);
    let lines = supposed.iter().map(|what| {
        let line = format!("hypothetical: as if {}", text::line(what));
        paint.with(MAGENTA, &line) + "\n"
    });
    lines.collect()
}

/// What is to be said after a tree that was made without a server: of these verifiers nothing could be seen.
/// `place` is where the server answers.
pub fn unseen(names: &[String], place: &str, colour: bool) -> String {
    if names.is_empty() {
        return String::new();
    }
    let line = format!(
        "not seen here: evidence that {} posted to the server; run this with its --database, or ask it: GET \
         {place}",
        names.join(" or ")
    );
    format!("\n{}\n", Paint(colour).with(MAGENTA, &text::line(&line)))
}

/// What was judged, under what, and how sure the facts are.
fn about(verdict: &Verdict) -> String {
    let mut about = String::new();
    // Writing to a String cannot fail.
    let _ = match &verdict.head {
        Some(head) => write!(about, "head {head}"),
        None => write!(about, "head unknown"),
    };
    if let Some(base) = &verdict.base {
        let _ = write!(about, " into {}", text::line(base.as_str()));
    }
    if let Some(tip) = &verdict.base_tip {
        let _ = write!(about, " at {}", tip.short());
    }
    if let Some(policy) = &verdict.policy {
        let _ = write!(about, ", policy {:.7}", policy.as_str());
    }
    if let Some(default) = words::default_policy(verdict.policy_from.as_ref()) {
        let _ = write!(about, " ({})", text::line(&default));
    }
    if verdict.mode == Some(Mode::Observe) {
        about.push_str(" (observes only)");
    }
    if verdict.by_agent {
        about.push_str(", an agent's");
    }
    about
}

#[derive(Clone, Copy)]
struct Nesting {
    depth: usize,
    /// Names are padded to this many characters.
    width: usize,
}

fn name_width(gates: &[GateResult]) -> usize {
    const WIDEST: usize = 24;
    let widths = gates.iter().map(|gate| gate.gate.chars().count());
    widths.max().unwrap_or(0).min(WIDEST)
}

fn write_gate(lines: &mut Vec<String>, gate: &GateResult, name: &str, at: Nesting, paint: Paint) {
    let indent = "    ".repeat(at.depth);
    let (glyph, word) = (words::glyph(gate.state.word()), gate.state.word());
    let name = text::line(name);
    lines.push(format!(
        "{indent}{} {name:width$}  {}",
        paint.with(state_colour(&gate.state), &format!("{glyph} {word:12}")),
        text::line(&gate.reason),
        width = at.width,
    ));
    let beneath = format!("{indent}    ");
    if at.depth == 0 {
        lines.extend(standing(gate).map(|line| format!("{beneath}{line}")));
    }
    if let Some(next) = &gate.next {
        let next = format!("next: {}", text::line(next));
        lines.push(format!("{beneath}{}", paint.with(BOLD, &next)));
    }
    for record in records(gate) {
        lines.push(format!("{beneath}{}", paint.with(DIM, &record)));
    }
    let inner = Nesting {
        depth: at.depth + 1,
        width: name_width(&gate.details),
    };
    for detail in &gate.details {
        write_gate(lines, detail, &detail.gate, inner, paint);
    }
}

/// Whose move it is, and since when it has been so.
fn standing(gate: &GateResult) -> Option<String> {
    let since = gate
        .since
        .map(|since| format!("since {}", since.format("%Y-%m-%d %H:%M UTC")));
    let on = match gate.state.whose_move() {
        Move::Nobody => None,
        on => Some(format!(
            "whose move: {}",
            text::line(&words::whose_move(&on))
        )),
    };
    let parts: Vec<_> = [on, since].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What can be followed of what a gate rests on, and who waived it. What its parts tell is not told
/// twice.
fn records(gate: &GateResult) -> Vec<String> {
    let records = match &gate.state {
        State::Overridden { by } => return vec![format!("override by {}", text::line(by))],
        _ if !gate.details.is_empty() => return Vec::new(),
        State::Satisfied { proof } => proof.records(),
        State::Waiting { .. }
        | State::Failed { .. }
        | State::Undetermined { .. }
        | State::Skipped => gate.seen.as_slice(),
    };
    let told = records.iter().filter_map(|record| {
        let url = record.url.as_deref()?;
        Some(format!("{} {}", text::line(&record.what), text::line(url)))
    });
    told.collect()
}

pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const RED: &str = "31";
pub(super) const GREEN: &str = "32";
pub(super) const YELLOW: &str = "33";
pub(super) const MAGENTA: &str = "35";
pub(super) const CYAN: &str = "36";

fn state_colour(state: &State) -> &'static str {
    match state {
        State::Satisfied { .. } => GREEN,
        State::Waiting { .. } => YELLOW,
        State::Failed { .. } => RED,
        State::Skipped => DIM,
        State::Undetermined { .. } => MAGENTA,
        State::Overridden { .. } => CYAN,
    }
}

fn outcome_colour(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ready | Outcome::Merged => GREEN,
        Outcome::Waiting | Outcome::Held => YELLOW,
        Outcome::Blocked => RED,
        Outcome::Undetermined => MAGENTA,
        Outcome::Ignored => DIM,
    }
}

#[derive(Clone, Copy)]
pub(super) struct Paint(pub bool);

impl Paint {
    pub fn with(self, code: &str, text: &str) -> String {
        if self.0 {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
