//! Foreign text within our Markdown.
//!
//! GitHub looks for mentions in what Markdown has become, so neither a backslash nor an entity keeps
//! `@name` from pinging; a zero-width space behind the sign does, and reads the same. Everything comes
//! out on one line, and our own words stand before it, so no line of a page starts with a command.

use super::text;

/// Breaks up what a bot or GitHub would take for a signal.
const NOTHING_TO_SEE: char = '\u{200b}';

/// Where a text is to stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a sentence of a paragraph or list item.
    Sentence,
    /// In a cell of a table, where a pipe ends the cell even within code.
    Cell,
}

/// A text of at most `most` characters as Markdown that shows exactly these characters; what stands
/// between back-ticks is shown as code.
pub(super) fn inline(text: &str, place: Place, most: usize) -> String {
    let text = text::clipped(&text::line(text), most);
    text::pieces(&text)
        .iter()
        .map(|piece| match (piece.code, place) {
            // Whether a backslash before a pipe is itself escaped, renderers do not agree.
            (true, Place::Cell) if piece.text.contains(['|', '\\']) => escaped(&piece.text),
            (true, _) => code(&piece.text),
            (false, _) => escaped(&piece.text),
        })
        .collect()
}

/// A text of ours or a short id as code, whatever is in it.
pub(super) fn code(text: &str) -> String {
    let text = text::line(text)
        .replace('`', "'")
        .replace('@', "@\u{200b}")
        .replace("<!", "<\u{200b}!");
    format!("`{text}`")
}

/// A link where the address can be followed, else the text alone.
pub(super) fn link(what: &str, url: Option<&str>, place: Place, most: usize) -> String {
    let what = inline(what, place, most);
    match url.and_then(text::followable) {
        Some(url) => format!("[{what}]({url})"),
        None => what,
    }
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '@' => safe.extend(['@', NOTHING_TO_SEE]),
            // Entities, so that not even a search in the raw text finds a tag or an HTML comment.
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => safe.extend(['\\', c]),
            c => safe.push(c),
        }
    }
    safe
}
