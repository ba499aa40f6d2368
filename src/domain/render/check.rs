//! The check run's page.
//!
//! A commit has one check run named `countersign`, and GitHub lets a completed one stand for ever. So
//! a page is completed only when nothing but a push or an owner can change what it says: `success`
//! when every gate is satisfied, `failure` when a gate failed for good. Whatever may still move by
//! itself stays `in_progress`, which holds a merge up just as well.
//!
//! Two pull requests can share one head, and then share its one check. The page speaks for both: it is
//! no success while a sibling is not ready.
//!
//! GitHub refuses a page whose summary or text is over its limit, and the refused update would be the
//! one that carries the conclusion. Both are cut at whole lines, with a note; the JSON block at the
//! end of the text is for programs and is never cut, prose gives way first.
//!
//! What is left out on purpose: the time of the pass. A page that names it would change with every
//! pass, and every change is a write and a notification.

use chrono::Duration;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::markdown::{Place, code, inline, link};
use super::{json, preview, text, words};
use crate::domain::model::{PullNumber, Timestamp};
use crate::domain::policy::Mode;
use crate::domain::preview::Preview;
use crate::domain::verdict::{Basis, GateResult, Move, Outcome, State, Verdict};

/// GitHub's limit on summary and text each (`output` of "Create a check run"). It counts characters,
/// by its documentation; bytes, by what it refuses. Bytes are the stricter.
const MOST_BYTES: usize = 65_535;
/// What the JSON block may take of the text.
const MOST_BLOCK_BYTES: usize = 45_000;
/// A sentence in the table, in characters.
const CELL_CHARS: usize = 300;
/// A sentence of the prose, in characters.
const SENTENCE_CHARS: usize = 1_000;
/// A name (of a check, a file, a record), in characters.
const NAME_CHARS: usize = 120;
/// Records named in a cell.
const MOST_RECORDS: usize = 5;
/// Parts of a gate that are listed one by one.
const MOST_DETAILS: usize = 60;

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

/// Reads everything again.
pub const RECHECK: Button = Button {
    label: "Re-check",
    description: "Read everything again",
    identifier: "recheck",
};
/// Stops this pull request.
pub const HOLD: Button = Button {
    label: "Hold",
    description: "Do not merge this until it is let go",
    identifier: "hold",
};
/// Ends a hold.
pub const LET_GO: Button = Button {
    label: "Let go",
    description: "End the hold",
    identifier: "unhold",
};
/// Asks the next verifier in line.
pub const VERIFY: Button = Button {
    label: "Request verification",
    description: "Ask the next verifier in line",
    identifier: "verify",
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
    page_with(verdict, siblings, None)
}

/// The same, of a pull request that changes the policy: its text says what that would do.
pub fn page_with(
    verdict: &Verdict,
    siblings: &[PullNumber],
    preview: Option<&Preview>,
) -> CheckPage {
    CheckPage {
        conclusion: conclusion(verdict, siblings),
        title: title(verdict, siblings),
        summary: cut(&summary(verdict, siblings), MOST_BYTES),
        text: body(verdict, siblings, preview),
        buttons: buttons(verdict),
    }
}

/// The page of a pull request that waits for GitHub's limit: until when, and what is remembered of it.
pub fn waiting(verdict: &Verdict, until: Timestamp) -> CheckPage {
    // Whole minutes, and never one that is too early.
    let until = (until + Duration::seconds(59)).format("%H:%M UTC");
    let title =
        format!("GitHub's limit for this installation is used up until {until}; merges go first");
    let note = format!(
        "GitHub lets an App ask so many questions an hour. What is left of this hour is kept for merges, so \
         this pull request is looked at again at {until}, by itself. Below is what was known of it before.\n\n"
    );
    let page = page_with(verdict, &[], None);
    CheckPage {
        conclusion: None,
        title,
        summary: cut(&(note + &page.summary), MOST_BYTES),
        ..page
    }
}

/// A digest of what matters on a page: pages with equal digests need not be published again.
///
/// Made from the conclusion, the title, the buttons, what is open and what to do about it, and the
/// JSON block without times and records. Left out are those and the table, which tells the same again
/// with times and links.
pub fn digest(page: &CheckPage) -> String {
    let (prose, block) = match page.text.rsplit_once(FENCE) {
        Some((prose, block)) => (prose, without_times_and_records(block)),
        None => (page.text.as_str(), String::new()),
    };
    let buttons = page.buttons.iter().map(|button| button.identifier);
    let mut hash = Sha256::new();
    for part in [
        page.conclusion.unwrap_or("open"),
        &page.title,
        prose,
        &block,
    ]
    .into_iter()
    .chain(buttons)
    {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(hash.finalize())
}

fn without_times_and_records(block: &str) -> String {
    let json = block.trim_end().trim_end_matches("```");
    let Ok(mut value) = serde_json::from_str::<Value>(json) else {
        return block.to_owned();
    };
    for gate in value["gates"].as_array_mut().into_iter().flatten() {
        if let Some(gate) = gate.as_object_mut() {
            gate.remove("since");
            gate.remove("rests_on");
        }
    }
    value.to_string()
}

fn conclusion(verdict: &Verdict, siblings: &[PullNumber]) -> Option<&'static str> {
    if verdict.mode == Some(Mode::Observe) {
        return Some("neutral");
    }
    match verdict.outcome {
        Outcome::Ready | Outcome::Merged => {
            let every_gate_passes =
                !verdict.gates.is_empty() && verdict.open_gates().next().is_none();
            (every_gate_passes && siblings.is_empty()).then_some("success")
        }
        Outcome::Blocked => {
            let mut failed = verdict.gates.iter().filter_map(|gate| match &gate.state {
                State::Failed { on } => Some(on),
                _ => None,
            });
            failed.all(only_a_push_or_an_owner).then_some("failure")
        }
        Outcome::Waiting | Outcome::Undetermined | Outcome::Held | Outcome::Ignored => None,
    }
}

fn only_a_push_or_an_owner(on: &Move) -> bool {
    match on {
        Move::Author | Move::Owner | Move::Operator => true,
        Move::Nobody
        | Move::Verifier(_)
        | Move::Ci
        | Move::Maintainer
        | Move::GitHub
        | Move::Countersign => false,
    }
}

fn title(verdict: &Verdict, siblings: &[PullNumber]) -> String {
    let headline = match (verdict.outcome, siblings) {
        (Outcome::Ready, [first, rest @ ..]) if verdict.mode != Some(Mode::Observe) => {
            let others = match rest.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("Ready, but #{first}{others} with the same head is not")
        }
        _ => words::headline(verdict),
    };
    let harmless = text::line(&headline)
        .replace('@', "@\u{200b}")
        .replace("<!", "<\u{200b}!");
    words::title(&harmless, &words::count_of_open(verdict), json::TITLE_CHARS)
}

fn buttons(verdict: &Verdict) -> Vec<Button> {
    let mut buttons = standing_buttons(verdict);
    let open = !matches!(verdict.outcome, Outcome::Merged | Outcome::Ignored);
    if open && verdict.can_ask {
        buttons.push(VERIFY);
    }
    buttons
}

fn standing_buttons(verdict: &Verdict) -> Vec<Button> {
    match verdict.outcome {
        Outcome::Merged => Vec::new(),
        Outcome::Ignored => vec![RECHECK],
        Outcome::Held => vec![RECHECK, LET_GO],
        Outcome::Ready | Outcome::Waiting | Outcome::Blocked | Outcome::Undetermined => {
            vec![RECHECK, HOLD]
        }
    }
}

fn summary(verdict: &Verdict, siblings: &[PullNumber]) -> String {
    let mut lines = vec![about(verdict)];
    if !siblings.is_empty() {
        let numbers: Vec<_> = siblings.iter().take(20).map(|n| format!("#{n}")).collect();
        let are = if siblings.len() == 1 { "has" } else { "have" };
        lines.push(String::new());
        lines.push(format!(
            "{} {are} the same head and is not ready. A commit has one check, so it stays open for all.",
            numbers.join(", ")
        ));
    }
    lines.push(String::new());
    if verdict.gates.is_empty() {
        lines.push(format!(
            "No gate was judged: {}",
            inline(
                &text::stopped(&verdict.reason),
                Place::Sentence,
                SENTENCE_CHARS
            )
        ));
        return lines.join("\n") + "\n";
    }
    lines.push("| Gate | State | Why | Rests on | Since (UTC) | Whose move |".into());
    lines.push("|---|---|---|---|---|---|".into());
    lines.extend(verdict.gates.iter().map(row));
    lines.join("\n") + "\n"
}

fn about(verdict: &Verdict) -> String {
    let head = match &verdict.head {
        Some(head) => format!("Head {}", code(head.short())),
        None => "Head unknown".into(),
    };
    let base = verdict
        .base
        .as_ref()
        .map_or_else(String::new, |base| format!(" into {}", code(base.as_str())));
    let policy = verdict.policy.as_ref().map_or_else(String::new, |policy| {
        let policy = code(&format!("{:.7}", policy.as_str()));
        match words::default_policy(verdict.policy_from.as_ref()) {
            None => format!(", by the policy {policy}"),
            Some(default) => format!(
                ", by the policy {policy}: {}",
                inline(&default, Place::Sentence, CELL_CHARS)
            ),
        }
    });
    format!("{head}{base}{policy}.")
}

fn row(gate: &GateResult) -> String {
    let since = gate.since.map_or_else(String::new, |since| {
        since.format("%Y-%m-%d %H:%M").to_string()
    });
    let on = match gate.state.whose_move() {
        Move::Nobody => String::new(),
        on => inline(&words::whose_move(&on), Place::Cell, CELL_CHARS),
    };
    format!(
        "| {} | {} | {} | {} | {since} | {on} |",
        inline(&words::gate_name(&gate.gate), Place::Cell, NAME_CHARS),
        state(&gate.state),
        inline(&gate.reason, Place::Cell, CELL_CHARS),
        rests_on(gate),
    )
}

/// A sign and the word: neither colour nor picture alone tells a state.
fn state(state: &State) -> String {
    let sign = match state {
        State::Satisfied { .. } => "✅",
        State::Waiting { .. } => "⏳",
        State::Failed { .. } => "❌",
        State::Skipped => "➖",
        State::Undetermined { .. } => "❔",
        State::Overridden { .. } => "⚠️",
    };
    format!("{sign} {}", state.word())
}

fn rests_on(gate: &GateResult) -> String {
    match &gate.state {
        State::Satisfied { proof } => records(proof.records(), Place::Cell),
        State::Overridden { by } => {
            format!("override by {}", inline(by, Place::Cell, NAME_CHARS))
        }
        State::Waiting { .. }
        | State::Failed { .. }
        | State::Skipped
        | State::Undetermined { .. } => records(&gate.seen, Place::Cell),
    }
}

fn records(records: &[Basis], place: Place) -> String {
    let mut named: Vec<_> = records
        .iter()
        .take(MOST_RECORDS)
        .map(|record| link(&record.what, record.url.as_deref(), place, NAME_CHARS))
        .collect();
    if records.len() > MOST_RECORDS {
        named.push(format!("{} more", records.len() - MOST_RECORDS));
    }
    named.join(", ")
}

/// What opens the JSON block. It occurs once in a page: back-ticks of others are escaped.
const FENCE: &str = "```json\n";

fn body(verdict: &Verdict, siblings: &[PullNumber], preview: Option<&Preview>) -> String {
    let json = json::short(verdict, siblings, MOST_BLOCK_BYTES);
    let block = format!("\n{FENCE}{json}\n```\n");
    let mut prose = prose(verdict);
    if let Some(preview) = preview {
        prose.push('\n');
        prose += &preview::section(preview);
    }
    cut(&prose, MOST_BYTES.saturating_sub(block.len())) + &block
}

/// What to do, in the order of the gates. No line begins with somebody else's text.
fn prose(verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    for (index, gate) in verdict.open_gates().enumerate() {
        lines.push(format!(
            "{}. **{}**: {}{}",
            index + 1,
            inline(&words::gate_name(&gate.gate), Place::Sentence, NAME_CHARS),
            inline(
                &text::stopped(&gate.reason),
                Place::Sentence,
                SENTENCE_CHARS
            ),
            whose(gate),
        ));
        if let Some(next) = &gate.next {
            lines.push(format!(
                "   - **Next:** {}",
                inline(&text::stopped(next), Place::Sentence, SENTENCE_CHARS)
            ));
        }
        details(&gate.details, 1, &mut lines);
    }
    if lines.is_empty() {
        return done(verdict);
    }
    format!("### What is open\n\n{}\n", lines.join("\n"))
}

fn whose(gate: &GateResult) -> String {
    match gate.state.whose_move() {
        Move::Nobody => String::new(),
        on => format!(
            " Whose move: {}.",
            inline(&words::whose_move(&on), Place::Sentence, CELL_CHARS)
        ),
    }
}

/// The parts of an open gate that are open themselves; of the others only how many.
fn details(parts: &[GateResult], depth: usize, lines: &mut Vec<String>) {
    let indent = "   ".repeat(depth);
    let open: Vec<_> = parts.iter().filter(|part| !part.state.passes()).collect();
    for part in open.iter().take(MOST_DETAILS) {
        let next = part.next.as_ref().map_or_else(String::new, |next| {
            let next = inline(&text::stopped(next), Place::Sentence, SENTENCE_CHARS);
            format!(" **Next:** {next}")
        });
        let seen = match records(&part.seen, Place::Sentence) {
            none if none.is_empty() => none,
            seen => format!(" ({seen})"),
        };
        lines.push(format!(
            "{indent}- {}, {}: {}{seen}{next}",
            state(&part.state),
            inline(&part.gate, Place::Sentence, NAME_CHARS),
            inline(
                &text::stopped(&part.reason),
                Place::Sentence,
                SENTENCE_CHARS
            ),
        ));
        details(&part.details, depth + 1, lines);
    }
    if open.len() > MOST_DETAILS {
        lines.push(format!("{indent}- and {} more", open.len() - MOST_DETAILS));
    }
    match parts.len() - open.len() {
        0 => {}
        1 => lines.push(format!("{indent}- 1 other passes")),
        fine => lines.push(format!("{indent}- {fine} others pass")),
    }
}

fn done(verdict: &Verdict) -> String {
    match verdict.outcome {
        Outcome::Ready => format!("Nothing is open. {}\n", words::landing(verdict.landing)),
        Outcome::Merged => "It is merged; nothing is open.\n".into(),
        Outcome::Waiting
        | Outcome::Blocked
        | Outcome::Undetermined
        | Outcome::Held
        | Outcome::Ignored => "Nothing is open.\n".into(),
    }
}

/// Cuts a text to so many bytes at the end of a line, with a note that says so.
fn cut(text: &str, most: usize) -> String {
    const NOTE: &str = "\n\nThe rest does not fit here; Countersign's dashboard shows all of it.\n";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub(NOTE.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    // A row or an item that ends in the middle is worse than one that is missing.
    let kept = kept.rsplit_once('\n').map_or("", |(lines, _)| lines);
    format!("{kept}{NOTE}")
}
