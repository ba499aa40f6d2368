//! Small mutants in languages without a parser: only where a line leaves no doubt.
//!
//! Nobody here knows what is a string or a comment in them. So nothing is touched in a file that has
//! marks of text over several lines, in prose and in markup; in others no line with a quote or with a
//! mark of a comment; and on the lines that are left only words with blanks around them.

use super::Kind;
use super::lines::Place;
use super::operators::{Edit, Rank, changed_by_one, swapped};

/// Files whose words are for people, or are not written by them.
const CLOSED: &[&str] = &[
    "md", "markdown", "txt", "rst", "adoc", "org", "tex", "html", "htm", "xhtml", "xml", "svg",
    "csv", "tsv", "lock", "sum", "po", "log", "diff", "patch", "ipynb",
];

/// Marks of texts and comments that go over several lines, in one language or another.
const OPENERS: &[&str] = &[
    "/*", "<!--", "\"\"\"", "'''", "`", "{-", "(*", "<<", "=begin", "=pod", "[[", "#|", "|>", "|-",
    ">-", "#if", "%{",
];

/// Marks that make the rest of a line a comment, in one language or another.
const COMMENTS: &[&str] = &["//", "#", "--", ";;", "%", "\\", "\"", "'"];

/// Words that begin a comment at the beginning of a line.
const BEGINNINGS: &[&str] = &["*", ";", "!", "rem", "c ", "dnl", ">"];

pub(super) fn edits(path: &str, head: &[u8], place: &Place<'_>) -> Vec<Edit> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_ascii_lowercase());
    // Without an ending it can be anything: a licence, a program, a list.
    let closed = ending.is_none_or(|ending| CLOSED.contains(&ending.as_str()));
    let Some(text) = std::str::from_utf8(head).ok().filter(|_| !closed) else {
        return Vec::new();
    };
    // A quote without its other half on a line may begin a text that goes on.
    let odd = |line: &str, quote: char| line.matches(quote).count() % 2 == 1;
    let goes_on = text.lines().any(|line| odd(line, '"') || odd(line, '\''));
    if goes_on || OPENERS.iter().any(|opener| text.contains(opener)) {
        return Vec::new();
    }
    let mut edits = Vec::new();
    for line in place.added.clone() {
        let bytes = place.bytes(line..line + 1);
        let text = &text[bytes.clone()];
        let start = text.trim_start().to_ascii_lowercase();
        let doubtful = COMMENTS.iter().any(|mark| text.contains(mark))
            || BEGINNINGS.iter().any(|mark| start.starts_with(mark));
        if !doubtful {
            words(text, bytes.start, &mut edits);
        }
    }
    edits
}

fn words(line: &str, start: usize, edits: &mut Vec<Edit>) {
    let mut at = start;
    for word in line.split([' ', '\t', '\r', '\n']) {
        let swap = swapped(word).filter(|_| !word.starts_with('i') && !word.starts_with('n'));
        let number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let number = number.then(|| changed_by_one(word, false)).flatten();
        let change = match (swap, number) {
            (Some((swap, rank)), _) => Some((swap.to_owned(), Kind::SwapComparison, rank)),
            (_, Some(number)) => Some((number, Kind::ChangeNumber, Rank::Number)),
            _ if word == "true" => Some(("false".to_owned(), Kind::FlipBoolean, Rank::Boolean)),
            _ if word == "false" => Some(("true".to_owned(), Kind::FlipBoolean, Rank::Boolean)),
            _ => None,
        };
        if let Some((with, kind, rank)) = change {
            edits.push(Edit {
                bytes: at..at + word.len(),
                what: format!("`{with}` for `{word}`"),
                with: with.into_bytes(),
                kind,
                rank,
            });
        }
        at += word.len() + 1;
    }
}
