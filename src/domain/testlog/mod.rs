//! What a run of tests says of itself: how many ran, and which failed.
//!
//! A kill is a named test that fails and did not fail before. Names come from a JUnit report where there
//! is one, else from the output of the test runners that are known here: cargo test, cargo nextest,
//! pytest, unittest, node --test, mocha, vitest, jest, go test and Maven's surefire. One command may start
//! several of them; what each of them says is added up.
//!
//! Output is text, and the programs under test write to it too. A line that looks like a runner's can
//! come from them, so counts are taken from the last line of their kind, or, where a runner writes one
//! for each program, from the one whose numbers agree with what was announced. It can still be fooled: a
//! program that prints `test x ... FAILED`, or that runs a test runner itself, has its words taken for the
//! runner's. For a kill that does not matter. A name counts only if the unchanged program did not give it,
//! and only with an exit code that says failure; a program that prints such a line where it did not
//! before behaves differently, in a run of the tests that failed.
//!
//! A file that could not be loaded is no test that failed: it counts as failed, and has no name here.
//! Nor has a test that nextest stopped because its time was up. So neither makes a kill. A test program
//! that crashes before it tells its result has said nothing; where it is the only one, the answer is
//! `None`.

use std::collections::BTreeSet;

mod go;
mod java;
mod junit;
mod python;
mod rust;
mod script;

pub use junit::from_junit;

/// What a run of tests said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestLog {
    /// Tests that ran.
    pub executed: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were left out. They are not among those that ran.
    pub skipped: u64,
    /// The names of those that failed.
    pub failures: BTreeSet<String>,
}

impl TestLog {
    fn new(passed: u64, failed: u64, skipped: u64) -> Self {
        Self {
            executed: passed.saturating_add(failed),
            passed,
            failed,
            skipped,
            failures: BTreeSet::new(),
        }
    }

    fn with(mut self, failures: impl IntoIterator<Item = String>) -> Self {
        self.failures.extend(failures);
        self
    }

    /// Adds what another report of the same run says.
    pub fn merge(&mut self, other: Self) {
        self.executed = self.executed.saturating_add(other.executed);
        self.passed = self.passed.saturating_add(other.passed);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.failures.extend(other.failures);
    }
}

/// Finds in the lines of an output what one runner said.
type Reader = fn(&[&str]) -> Option<TestLog>;

/// Reads the output of a test runner that is known here; `None` where none is recognised.
pub fn from_output(text: &str) -> Option<TestLog> {
    let text = plain(text);
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim_end).collect();
    let readers: [Reader; 11] = [
        rust::cargo_test,
        rust::nextest,
        python::pytest,
        python::unittest,
        script::node,
        script::mocha,
        script::vitest,
        script::jest,
        go::plain,
        go::json,
        java::surefire,
    ];
    let said = readers.iter().filter_map(|reader| reader(&lines));
    said.reduce(|mut all, one| {
        all.merge(one);
        all
    })
}

/// The text without the sequences that colour a terminal.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            // A control sequence ends with a letter or a sign like one.
            Some('[') => {
                while rest.next_if(|c| !matches!(c, '@'..='~' | '\n')).is_some() {}
                rest.next_if(|c| *c != '\n');
            }
            // A command to the terminal (a title, a link) ends with a bell or a sequence of its own.
            Some(']') => {
                while rest
                    .next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n'))
                    .is_some()
                {}
                rest.next_if_eq(&'\u{7}');
            }
            Some('\n') => plain.push('\n'),
            _ => {}
        }
    }
    plain
}

/// The number before each of the words, in lists like `3 failed, 9 passed`.
fn count(text: &str, words: &[&str]) -> u64 {
    let parts = text.split([',', '|', ':', ';', '(', '=']);
    let counts = parts.filter_map(|part| {
        let (number, word) = part.trim().split_once(' ')?;
        words.contains(&word.trim()).then_some(number)?.parse().ok()
    });
    counts.fold(0, u64::saturating_add)
}

/// The number behind a label, in lists like `failures=2, errors=1`.
fn labelled(text: &str, label: &str) -> Option<u64> {
    let rest = &text[text.find(label)? + label.len()..];
    let digits = rest.trim_start();
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// A name without the time behind it: `limits (13.4ms)`.
fn untimed(name: &str) -> &str {
    let name = name.trim();
    let Some((before, time)) = name.rsplit_once(" (") else {
        return name;
    };
    let time = time.strip_suffix(')').unwrap_or_default();
    let unit = time.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let timed = unit.len() < time.len() && matches!(unit.trim(), "ms" | "s" | "m" | "µs");
    if timed { before.trim_end() } else { name }
}

#[cfg(test)]
mod tests;
