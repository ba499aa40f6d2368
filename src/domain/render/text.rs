//! Foreign text, made harmless before it is marked up for any place.

/// What stands where a character was that must not be shown.
const REPLACED: char = '\u{fffd}';

/// Characters that turn the direction of the text around them: what people read would not be what is
/// there.
fn turns_direction(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text as one line of plain characters: any run of blanks and line breaks is one space, control
/// characters (a terminal obeys some) and direction marks are replaced where everybody sees it.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            c if c.is_whitespace() => {
                if !line.ends_with(' ') {
                    line.push(' ');
                }
            }
            c if c.is_control() || turns_direction(c) => line.push(REPLACED),
            c => line.push(c),
        }
    }
    line
}

/// The text with at most `most` characters, the last of them an ellipsis where something was cut.
pub fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(most.saturating_sub(1));
            kept.chain(['…']).collect()
        }
    }
}

/// The text as a half sentence that another sentence goes on from: without its full stop.
pub fn unstopped(text: &str) -> &str {
    let text = text.trim_end();
    text.strip_suffix('.').unwrap_or(text)
}

/// The text as a sentence of its own: with a full stop, where it has no end yet.
pub fn stopped(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() || text.ends_with(['.', '!', '?', '…', ':']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// A stretch of a sentence: words, or the inside of a code span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// It stood between two back-ticks.
    pub code: bool,
    /// The words, without those back-ticks.
    pub text: String,
}

/// Takes a sentence apart at its back-ticks. Gates quote names that way; a back-tick without a partner
/// and an empty pair are plain text, so foreign text can at most choose the typeface of what follows.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut say = |code: bool, text: &str| match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if !last.code && !code => last.text.push_str(text),
        _ => pieces.push(Piece {
            code,
            text: text.to_owned(),
        }),
    };
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        say(false, before);
        match after.split_once('`') {
            Some((inside, beyond)) if !inside.trim().is_empty() => {
                say(true, inside.trim());
                rest = beyond;
            }
            _ => {
                say(false, "`");
                rest = after;
            }
        }
    }
    say(false, rest);
    pieces
}

/// An address that may become a link: `http` or `https`, with a host and without a user name in front
/// of it (`https://github.com@elsewhere.example`), every character of it harmless within Markdown and
/// HTML. Everything else stays text.
pub fn followable(url: &str) -> Option<String> {
    let rest = ["https://", "http://"]
        .iter()
        .find(|scheme| {
            url.get(..scheme.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(scheme))
        })
        .and_then(|scheme| url.get(scheme.len()..))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let plain_host = !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']'));
    if !plain_host || url.chars().any(|c| c.is_control() || turns_direction(c)) {
        return None;
    }
    let mut safe = String::with_capacity(url.len());
    for c in url.chars() {
        match c {
            ' ' | '"' | '\'' | '<' | '>' | '(' | ')' | '\\' | '`' | '|' | '@' | '*' | '_' => {
                safe.push_str(&format!("%{:02X}", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    Some(safe)
}
