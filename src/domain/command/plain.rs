//! The lines of a comment that are plain text: what a reader sees as such, too.
//!
//! The text is read as Markdown with GitHub's extensions. A line counts if it lies in a paragraph at
//! the top level, begins with plain text, and no HTML element is open around it.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Elements that have no end.
const VOID: [&str; 8] = ["area", "br", "col", "hr", "img", "input", "source", "wbr"];

/// How many open elements are told apart. A text that opens more is nothing that anybody reads; what
/// ends there leaves the outer ones open.
const DEEPEST: usize = 100;

/// The plain lines, in order, without the blanks around them.
pub fn lines(text: &str) -> Vec<String> {
    let text = normalised(text);
    let text = answer_alone(&text);
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
        | Options::ENABLE_MATH;
    let mut reader = Reader {
        source: text,
        depth: 0,
        within_html: Vec::new(),
        line: None,
        lines: Vec::new(),
    };
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        reader.see(event, place);
    }
    reader.lines
}

/// Line ends as `\n`, whatever form or mail program wrote them; blanks of every kind as one kind.
fn normalised(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| match c {
            '\r' | '\u{2028}' | '\u{2029}' | '\u{85}' => '\n',
            '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
            c => c,
        })
        .collect()
}

/// Characters without a width, which some forms leave around what was typed.
fn unseen(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}'
    )
}

/// What was written before the mail that is answered. Mail programs put a line in front of it, and some
/// do not mark what follows as a quote.
fn answer_alone(text: &str) -> &str {
    let mut at = 0;
    let mut introduced = None;
    for line in text.split_inclusive('\n') {
        let said = line.trim().trim_start_matches(['>', ' ']);
        if said.starts_with("On ") {
            introduced = Some(at);
        }
        let cut = match introduced {
            Some(start) if said.ends_with("wrote:") => Some(start),
            _ if said.starts_with("-----Original Message") => Some(at),
            _ => None,
        };
        if let Some(cut) = cut {
            return text.get(..cut).unwrap_or_default();
        }
        // The line may be folded once; longer introductions are prose.
        if introduced.is_some_and(|start| at > start) {
            introduced = None;
        }
        at += line.len();
    }
    text
}

/// A line under way: its text so far, and whether it began plainly.
struct Line {
    text: String,
    plain: bool,
}

struct Reader<'a> {
    source: &'a str,
    /// How many containers are open; a paragraph at the top level is the first.
    depth: usize,
    /// The elements that are open, the innermost last.
    within_html: Vec<String>,
    line: Option<Line>,
    lines: Vec<String>,
}

impl Reader<'_> {
    fn see(&mut self, event: Event<'_>, place: Range<usize>) {
        match event {
            Event::Start(tag) => {
                let paragraph = matches!(tag, Tag::Paragraph);
                if paragraph && self.depth == 0 && self.within_html.is_empty() {
                    self.begin();
                } else {
                    self.not_plain(&place);
                }
                self.depth += 1;
            }
            Event::End(end) => {
                self.depth = self.depth.saturating_sub(1);
                if matches!(end, TagEnd::Paragraph) {
                    self.end();
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                self.end();
                // Within emphasis or a link, the next line is no plain one either.
                if self.depth == 1 && self.within_html.is_empty() {
                    self.begin();
                }
            }
            Event::Text(text) => {
                let plain = self.depth == 1 && self.as_written(&text, &place);
                self.add(&text, plain);
            }
            Event::Html(html) => self.tags(&html),
            Event::InlineHtml(html) => {
                self.not_plain(&place);
                self.tags(&html);
            }
            Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::Rule => self.not_plain(&place),
        }
    }

    fn begin(&mut self) {
        self.line = Some(Line {
            text: String::new(),
            plain: true,
        });
    }

    fn end(&mut self) {
        let Some(line) = self.line.take() else {
            return;
        };
        let text = line
            .text
            .trim_matches(|c: char| c.is_whitespace() || unseen(c));
        if line.plain && !text.is_empty() {
            self.lines.push(text.to_owned());
        }
    }

    /// Whether the text stands like that in the comment: no backslash and no entity made it so.
    fn as_written(&self, text: &str, place: &Range<usize>) -> bool {
        let written = self.source.get(place.clone()).unwrap_or_default();
        let before = self.source.get(..place.start).unwrap_or_default();
        written == text && !before.ends_with('\\')
    }

    fn add(&mut self, text: &str, plain: bool) {
        if let Some(line) = &mut self.line {
            if line.text.trim().is_empty() && !plain {
                line.plain = false;
            }
            line.text.push_str(text);
        }
    }

    /// Something else than plain text. A line that begins with it is no plain line; later in the line it
    /// is part of somebody's reason, and kept as it was written.
    fn not_plain(&mut self, place: &Range<usize>) {
        let Some(line) = &mut self.line else {
            return;
        };
        if line.text.trim_matches(unseen).trim().is_empty() {
            line.plain = false;
        }
        // Emphasis and links bring their text in events of their own.
        let written = self.source.get(place.clone()).unwrap_or_default();
        if written.starts_with('`') && !written.contains('\n') {
            line.text.push_str(written);
        }
    }

    /// Counts the elements that a piece of HTML opens and ends.
    fn tags(&mut self, html: &str) {
        let mut rest = html;
        while let Some(at) = rest.find('<') {
            rest = rest.get(at + 1..).unwrap_or_default();
            if let Some(comment) = rest.strip_prefix("!--") {
                rest = comment.split_once("-->").map_or("", |(_, after)| after);
                continue;
            }
            let end = rest.find('>').unwrap_or(rest.len());
            let (tag, after) = rest.split_at(end);
            let name: String = tag
                .trim_start_matches('/')
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect::<String>()
                .to_ascii_lowercase();
            if tag.starts_with('/') {
                // A stray end ends nothing: only its own element, and what that was left open within.
                if let Some(at) = self.within_html.iter().rposition(|open| *open == name) {
                    self.within_html.truncate(at);
                }
            } else if !name.is_empty()
                && !tag.ends_with('/')
                && VOID.binary_search(&name.as_str()).is_err()
                && self.within_html.len() < DEEPEST
            {
                self.within_html.push(name);
            }
            rest = after;
        }
    }
}
