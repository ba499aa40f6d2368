//! A change that changes nothing: one more line end at the end of a file.
//!
//! It is the control of an experiment whose other changes all do something. Tests that fail on it compare the
//! file and not what it does (a digest, a clean tree, a formatter), would fail on every mutant, and would call
//! every line tested. Nothing before the end moves, so that line numbers in texts stay right.
//!
//! Made only where a line end more is known to mean nothing: where a parser here reads the file and says the
//! same of it, and in some languages besides. In a table or a template it may be a row or a line.

use super::syntax::{Language, Syntax};

/// Languages without a parser here in which a blank last line means nothing.
const OTHERS: [&str; 9] = [
    "sh", "bash", "lua", "cs", "kt", "kts", "swift", "scala", "dart",
];

/// The content with a line end more; `None` where that might mean something.
pub fn with_a_blank_line(path: &str, text: &[u8]) -> Option<Vec<u8>> {
    let crlf = text.ends_with(b"\r\n");
    let end: &[u8] = if crlf { b"\r\n" } else { b"\n" };
    let more = [text, end].concat();
    match Language::of(path) {
        Some(_) => {
            let (was, is) = (Syntax::of(path, text)?, Syntax::of(path, &more)?);
            (was.said(true) == is.said(true)).then_some(more)
        }
        None => {
            let (_, ending) = path.rsplit('/').next()?.rsplit_once('.')?;
            let ending = ending.to_ascii_lowercase();
            OTHERS.contains(&ending.as_str()).then_some(more)
        }
    }
}

/// For each line of a file, whether there is anything in it that could be broken: not where nothing but comments,
/// blanks and brackets stand.
pub fn speaking_lines(path: &str, text: &[u8]) -> Vec<bool> {
    match Syntax::of(path, text) {
        Some(syntax) => syntax.speaking(),
        None => text.split(|byte| *byte == b'\n').map(has_words).collect(),
    }
}

pub(super) fn has_words(line: &[u8]) -> bool {
    line.iter()
        .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_more_of_the_files_own_kind_and_nothing_before_it_moves() {
        for (text, expected) in [
            ("fn a() {}\n", "fn a() {}\n\n"),
            ("fn a() {}\r\n", "fn a() {}\r\n\r\n"),
            ("fn a() {}", "fn a() {}\n"),
            ("", "\n"),
        ] {
            let more = with_a_blank_line("src/a.rs", text.as_bytes());
            assert_eq!(more.as_deref(), Some(expected.as_bytes()), "{text:?}");
        }
        assert!(with_a_blank_line("a/b.sh", b"true\n").is_some());
    }

    #[test]
    fn comments_brackets_and_blanks_say_nothing() {
        let text = "/// One.\nfn a() {\n    \"text\nin two\";\n    // b();\n}\n\n";
        let speaking = speaking_lines("a.rs", text.as_bytes());
        assert_eq!(speaking[..6], [false, true, true, true, false, false]);
        let speaking = speaking_lines("a.sh", b"# b\n}\n a\n");
        assert_eq!(speaking[..3], [true, false, true]);
    }

    #[test]
    fn where_a_line_end_may_mean_something_there_is_no_such_change() {
        for path in ["rows.csv", "page.html", "notes", "Makefile", "a.rb"] {
            assert_eq!(with_a_blank_line(path, b"x\n"), None, "{path}");
        }
        // The line before reaches over to the next one.
        assert_eq!(with_a_blank_line("a.c", b"#define A \\\n"), None);
    }
}
