//! Foreign text on our pages: check names, GitHub's words, findings, logins.
//!
//! It must stay text: no mark-up, no mention that pings somebody, no HTML, and no line that a command
//! parser (ours or another bot's) would take for a command.

/// Makes a text safe on one line of Markdown, also within a table.
pub fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => safe.push(' '),
            // A mention is broken by a zero-width space: it reads the same and pings nobody.
            '@' => safe.push_str("@\u{200b}"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '|' => safe.push_str("\\|"),
            '*' | '_' | '[' | ']' | '#' | '~' | '!' | '\\' => {
                safe.push('\\');
                safe.push(c);
            }
            c if c.is_control() => {}
            c => safe.push(c),
        }
    }
    // A command stands at the start of a line.
    if safe.trim_start().starts_with('/') {
        safe.insert(0, '\u{200b}');
    }
    safe
}

/// Code spans survive `safe` as they are written by the gates; a lone backtick does no harm to a
/// sentence, but may swallow the cell after it in a table.
pub fn cell(text: &str) -> String {
    let text = safe(text);
    if text.matches('`').count() % 2 == 1 {
        text.replace('`', "'")
    } else {
        text
    }
}

/// A link where the address is one that can be followed, else the text alone.
pub fn link(text: &str, url: Option<&str>) -> String {
    let followable = |url: &&str| {
        (url.starts_with("https://") || url.starts_with("http://"))
            && !url
                .contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '|'))
    };
    match url.filter(followable) {
        Some(url) => format!("[{}]({url})", cell(text)),
        None => cell(text),
    }
}

/// Cuts a text to so many bytes at a character, with a note that says so.
pub fn cut(text: &str, most: usize) -> String {
    const NOTE: &str = "\n\n(The rest does not fit here; the dashboard shows all of it.)\n";
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub(NOTE.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // Whole lines only, or a table row ends in the middle.
    let end = text[..end].rfind('\n').unwrap_or(end);
    format!("{}{NOTE}", &text[..end])
}
