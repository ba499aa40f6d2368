//! Comments that are more than words to somebody.
//!
//! A mere comment can be left out of the question whether lines are tested, since nothing reads it but
//! people. Two sorts are none. Some are obeyed: by a compiler (`//go:embed`), by a bundler
//! (`/* webpackChunkName */`), by the system (`#!`). Others do not end where a reader of the grammar
//! thinks: a `\` at the end of a line goes on, a lone carriage return ends the line, Java's `\u000a` is a
//! line end, and an encoding such as UTF-7 makes code out of anything.
//!
//! In doubt a comment is more than words: that costs a run of the tests, and the other error a hole.
//! Left out: documentation that a macro turns into texts, comments for linters and type checkers.

use super::syntax::Language;

/// How a comment begins that Go, C's compiler or the system obeys.
const STARTS: &[&str] = &[
    "#!",
    "//go:",
    "//export ",
    "//extern ",
    "//line ",
    "/*line ",
    "#cgo",
    "# cgo",
    "<!--",
    "-->",
];

/// What somebody looks for anywhere in a comment.
const MARKS: &[&str] = &[
    "coding:",
    "coding=",
    "@jsx",
    "sourceMappingURL",
    "sourceURL",
    "#include",
    "webpack",
    "@vite-ignore",
    "__PURE__",
    "__NO_SIDE_EFFECTS__",
    "<amd-",
    "@jest-environment",
    "@vitest-environment",
    "cython:",
    "distutils:",
];

/// Whether a comment is more than words. `next` is the byte behind it.
pub(super) fn steers(language: Language, comment: &[u8], next: Option<u8>) -> bool {
    let text = String::from_utf8_lossy(comment);
    // Go's older mark stands after any blanks.
    let constrains = text
        .strip_prefix("//")
        .is_some_and(|rest| rest.trim_start().starts_with("+build"));
    constrains
        || STARTS.iter().any(|start| text.starts_with(start))
        || MARKS.iter().any(|mark| text.contains(mark))
        || holds_a_line_end(comment, next)
        || match language {
            Language::Java => text.contains("\\u"),
            Language::C | Language::Cpp => text.lines().any(|line| {
                let line = line.trim_end();
                line.ends_with('\\') || line.ends_with("??/")
            }),
            _ => false,
        }
}

/// A line end to some languages, and none to the grammars: a carriage return alone, and Unicode's two.
fn holds_a_line_end(comment: &[u8], next: Option<u8>) -> bool {
    let behind = |at: usize| comment.get(at + 1).copied().or(next);
    let mut bytes = comment.iter().enumerate();
    bytes.any(|(at, byte)| *byte == b'\r' && !matches!(behind(at), Some(b'\n') | None))
        || comment
            .windows(3)
            .any(|three| matches!(three, [0xe2, 0x80, 0xa8 | 0xa9]))
}

/// Whether a file has no mere comments at all.
pub(super) fn all_steer(language: Language, text: &[u8]) -> bool {
    match language {
        // What stands before `import "C"` is a comment to Go and a program to its C compiler.
        Language::Go => {
            let holds = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
            holds(b"\"C\"") || holds(b"`C`")
        }
        Language::Python => encoding(text).is_some_and(|name| !is_plain(&name)),
        _ => false,
    }
}

/// The encoding that a Python file says it is written in, by one of its first two lines.
pub(super) fn encoding(text: &[u8]) -> Option<String> {
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    // A carriage return and a line feed part three lines in two.
    let mut lines = lines.take(4).map(String::from_utf8_lossy);
    lines.find_map(|line| {
        let (_, comment) = line.split_once('#')?;
        let (_, name) = comment.split_once("coding")?;
        let name = name.strip_prefix([':', '='])?.trim_start();
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        let name = &name[..end.unwrap_or(name.len())];
        (!name.is_empty()).then(|| name.to_ascii_lowercase().replace('_', "-"))
    })
}

/// Encodings in which a byte of ASCII is what it seems.
fn is_plain(encoding: &str) -> bool {
    matches!(
        encoding,
        "utf-8" | "utf8" | "utf-8-sig" | "ascii" | "us-ascii" | "latin-1" | "latin1" | "cp1252"
    ) || encoding.starts_with("iso-8859-")
}
