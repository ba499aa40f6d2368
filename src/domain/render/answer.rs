//! The answer to a comment's commands.
//!
//! One comment at most for each comment that is answered, known by a hidden marker, so that a try whose
//! outcome is unknown can be found again. No answer holds a line that could be read as a command, by us
//! or by anybody's program, and none mentions anybody: logins stand without a sign in front of them,
//! foreign text is escaped, commands stand within a line as code.

use super::markdown::{Place, code, inline};
use super::{text, words};
use crate::domain::command::{Who, Word};
use crate::domain::model::{CommentId, PullNumber};
use crate::domain::request::{Became, Reply};
use crate::domain::verdict::Verdict;

/// A sentence, in characters: two head ids and a reason fit.
const SENTENCE_CHARS: usize = 900;
/// Open gates that are told one by one.
const MOST_GATES: usize = 20;

/// By what an answer is found again.
pub fn marker(comment: CommentId) -> String {
    format!("<!-- countersign:answer:{comment} -->")
}

/// The answer's text, or `None` where the reaction says it all.
pub fn body(reply: &Reply, verdict: &Verdict) -> Option<String> {
    let mut lines = told(reply)?;
    if reply.status {
        status(verdict, &mut lines);
    }
    Some(closed(reply, lines))
}

/// The same on an issue, which has no verdict.
pub fn body_on_issue(reply: &Reply) -> Option<String> {
    Some(closed(reply, told(reply)?))
}

/// What became of each command, where there is anything to say.
fn told(reply: &Reply) -> Option<Vec<String>> {
    if !reply.speaks() {
        return None;
    }
    let mut lines = vec![marker(reply.comment), String::new()];
    for line in reply.lines.iter().filter(|line| !line.text.is_empty()) {
        let sign = match line.became {
            Became::Done => "✅",
            Became::Misunderstood => "❔",
            Became::Refused => "⛔",
        };
        lines.push(format!(
            "- {sign} **{}**: {}",
            inline(&line.command, Place::Sentence, 60),
            inline(&line.text, Place::Sentence, SENTENCE_CHARS)
        ));
    }
    Some(lines)
}

fn closed(reply: &Reply, mut lines: Vec<String>) -> String {
    if reply.help {
        help(&mut lines);
    }
    lines.join("\n") + "\n"
}

/// By what a hint is found again.
pub fn hint_marker(number: PullNumber) -> String {
    format!("<!-- countersign:hint:{number} -->")
}

/// What is said where a description holds a command.
pub fn hint(number: PullNumber) -> String {
    format!(
        "{}\n\nThe description holds a line that looks like a command. Commands are read from new \
         comments only, so nothing was done; write it as a comment of its own. `/help` in a comment \
         lists them.\n",
        hint_marker(number)
    )
}

fn status(verdict: &Verdict, lines: &mut Vec<String>) {
    lines.push(String::new());
    let count = words::count_of_open(verdict);
    let title = words::title(&words::headline(verdict), &count, 200);
    let head = verdict.head.as_ref();
    let head = head.map_or_else(
        || "the head is unknown".to_owned(),
        |head| format!("head {}", code(head.as_str())),
    );
    lines.push(format!(
        "**{}** ({head})",
        inline(&title, Place::Sentence, 200)
    ));
    lines.push(String::new());
    let open: Vec<_> = verdict.open_gates().collect();
    for gate in open.iter().take(MOST_GATES) {
        let next = gate.next.as_ref().map_or_else(String::new, |next| {
            let next = inline(&text::stopped(next), Place::Sentence, SENTENCE_CHARS);
            format!(" Next: {next}")
        });
        lines.push(format!(
            "- **{}** is {}: {}{next}",
            inline(&words::gate_name(&gate.gate), Place::Sentence, 60),
            gate.state.word(),
            inline(
                &text::stopped(&gate.reason),
                Place::Sentence,
                SENTENCE_CHARS
            )
        ));
    }
    if open.len() > MOST_GATES {
        lines.push(format!("- and {} more", open.len() - MOST_GATES));
    }
    if open.is_empty() {
        lines.push("Nothing is open.".to_owned());
    }
}

fn help(lines: &mut Vec<String>) {
    lines.push(String::new());
    lines.push(
        "A command stands on a line of its own in a new comment; descriptions, reviews and edited \
         comments are not read. The long form begins with `/countersign`."
            .to_owned(),
    );
    lines.push(String::new());
    lines.push("| Command | Who | What |".to_owned());
    lines.push("|---|---|---|".to_owned());
    for word in Word::ALL {
        let who = match word.who() {
            Who::Anybody => "anybody who can comment",
            Who::Writers => "write access",
            Who::Owners => "owners of the policy",
        };
        // A bar ends the cell, even within code, unless a stroke stands before it.
        let arguments = word.arguments().replace('|', "\\|");
        let typed = format!("/{} {arguments}", word.text());
        lines.push(format!(
            "| {} | {who} | {} |",
            code(typed.trim_end()),
            word.meaning()
        ));
    }
}
