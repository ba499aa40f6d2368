//! Hostile texts: how long comments and policies of much nesting take to be read, and how that grows when
//! they are twice as long. GitHub takes comments of 65,536 characters; a policy may be any file.

use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign::domain::command;
use countersign::domain::policy::read;

use crate::millis;

const LONG: usize = 60_000;

/// What a text is made of by repetition.
const COMMENTS: [(&str, &str); 14] = [
    ("quotes", "> "),
    ("lists", "- "),
    ("deeper lists", "- a\n  "),
    ("emphasis", "*a **a "),
    ("brackets", "["),
    ("links", "[a](b "),
    ("images", "![[]("),
    ("back-ticks", "` `` "),
    ("fences", "```\n"),
    ("html", "<p "),
    ("elements", "<p>"),
    ("html comments", "<!-- "),
    ("tables", "|a|\n|-|\n"),
    ("mails", "On a\n"),
];
const POLICIES: [(&str, &str); 7] = [
    ("lists", "["),
    ("maps", "{a: "),
    ("lines of lists", "- "),
    ("keys", "aaaa: 1\n"),
    ("anchors", "a: &a [*a, *a]\n"),
    ("quotes", "'\""),
    ("blocks", "a: |\n b\n"),
];

pub fn measure() -> Vec<String> {
    let mut lines = Vec::new();
    for (name, piece) in COMMENTS {
        let text = |length| piece.repeat(length / piece.len()) + "\n\n/merge";
        lines.push(told("comment", name, &text, |text| {
            black_box(command::parse(text));
        }));
    }
    for (name, piece) in POLICIES {
        let text = |length| format!("version: 1\ngates: {}", piece.repeat(length / piece.len()));
        lines.push(told("policy", name, &text, |text| {
            let _ = black_box(read::read(text));
        }));
    }
    lines
}

fn told(what: &str, name: &str, text: &dyn Fn(usize) -> String, read: fn(&str)) -> String {
    let half = fastest(&text(LONG / 2), read);
    let whole = fastest(&text(LONG), read);
    let ratio = whole.as_secs_f64() / half.as_secs_f64().max(1e-9);
    format!(
        "{what} of 60 KB, {name}: {}; {ratio:.1} times 30 KB",
        millis(whole)
    )
}

/// Of a few runs, the one that was disturbed least.
fn fastest(text: &str, read: fn(&str)) -> Duration {
    let run = |_| {
        let began = Instant::now();
        read(text);
        began.elapsed()
    };
    (0..5).map(run).min().unwrap_or_default()
}
