//! What to do next, for the terminal: one line a thing, its reason and its step below.

use std::fmt::Write;

use super::Next;
use crate::domain::model::Timestamp;
use crate::domain::render::text;

/// A sentence, in characters.
const SENTENCE_CHARS: usize = 400;
const TITLE_CHARS: usize = 80;

/// The list, with how long each has been so.
pub fn list(next: &Next, now: Timestamp) -> String {
    let mut out = String::new();
    let name = &next.repository;
    if next.items.is_empty() {
        let _ = writeln!(out, "{name}: nothing is anybody's move.");
    } else {
        let _ = writeln!(out, "{name}, in this order:\n");
    }
    for (at, item) in next.items.iter().enumerate() {
        let number = item
            .number
            .map_or_else(String::new, |number| format!("#{number} "));
        let title = text::clipped(&text::line(&item.title), TITLE_CHARS);
        let since = item
            .since
            .map_or_else(String::new, |since| age(now - since));
        let _ = writeln!(
            out,
            "{}. {:<8} {number}{title}{since}",
            at + 1,
            item.kind.word()
        );
        let reason = text::clipped(&text::line(&item.reason), SENTENCE_CHARS);
        let _ = writeln!(out, "   why: {}", text::stopped(&reason));
        let step = text::clipped(&text::line(&item.step), SENTENCE_CHARS);
        let _ = writeln!(out, "   do:  {}", text::unstopped(&step));
    }
    let _ = match next.waiting {
        0 => Ok(()),
        1 => writeln!(out, "\n1 other waits for a machine or moves by itself."),
        more => writeln!(
            out,
            "\n{more} others wait for a machine or move by themselves."
        ),
    };
    out
}

fn age(time: chrono::Duration) -> String {
    match time.num_minutes() {
        ..1 => String::new(),
        minutes @ 1..60 => format!(" ({minutes} min)"),
        60..2_880 => format!(" ({} h)", time.num_hours()),
        _ => format!(" ({} days)", time.num_days()),
    }
}
