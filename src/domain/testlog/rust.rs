//! cargo test and cargo nextest.

use super::{TestLog, count};

/// One result for each test program, which are added up. A result counts if its numbers add up to a
/// `running N tests` that has none yet: what tests print in between does not, unless it lies well.
pub(super) fn cargo_test(lines: &[&str]) -> Option<TestLog> {
    let mut announced: Vec<u64> = Vec::new();
    // Each program's announcement, counts, and names.
    let mut programs: Vec<(u64, TestLog)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut listing = false;
    for line in lines {
        if let Some(rest) = line.strip_prefix("running ") {
            let number = rest
                .strip_suffix(" tests")
                .or_else(|| rest.strip_suffix(" test"));
            announced.extend(number.and_then(|number| number.parse::<u64>().ok()));
        } else if let Some(counts) = line.strip_prefix("test result: ") {
            let counts = counts.split_once(". ").map_or("", |(_, counts)| counts);
            let (passed, failed) = (
                count(counts, &["passed", "measured"]),
                count(counts, &["failed"]),
            );
            let ignored = count(counts, &["ignored"]);
            let sum = passed.saturating_add(failed).saturating_add(ignored);
            let log = TestLog::new(passed, failed, ignored).with(names.clone());
            if announced.contains(&sum) {
                programs.push((sum, log));
                announced.clear();
                names.clear();
            } else if announced.is_empty()
                && let Some(last) = programs.last_mut().filter(|last| last.0 == sum)
            {
                // The one before was printed by a test: this is the last of its kind.
                let before = std::mem::replace(&mut last.1, log);
                last.1.failures.extend(before.failures);
                names.clear();
            }
        } else if let Some(name) = failed(line) {
            names.push(name.to_owned());
        }
        listing = listed(line, listing, &mut names);
    }
    let logs = programs.into_iter().map(|(_, log)| log);
    logs.reduce(|mut all, one| {
        all.merge(one);
        all
    })
}

/// `test a::b ... FAILED`
fn failed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(bare(name))
}

/// A name without what is expected of its test.
fn bare(name: &str) -> &str {
    name.strip_suffix(" - should panic").unwrap_or(name)
}

/// The list of names under `failures:`, which a quiet run gives alone. The headings of what the tests
/// printed stand under the same word, but not indented.
fn listed(line: &str, listing: bool, names: &mut Vec<String>) -> bool {
    match line.strip_prefix("    ") {
        Some(name) if listing && !name.starts_with(' ') && !name.is_empty() => {
            names.push(bare(name).to_owned());
            true
        }
        _ => line == "failures:",
    }
}

/// The summary stands last; each failed test has a line with its program and name, there and before.
pub(super) fn nextest(lines: &[&str]) -> Option<TestLog> {
    let counts = lines.iter().rev().find_map(|line| {
        let (_, counts) = line
            .trim_start()
            .strip_prefix("Summary [")?
            .split_once(']')?;
        counts.contains(" run: ").then_some(counts)
    })?;
    let (_, counts) = counts.split_once(" run: ")?;
    let passed = count(counts, &["passed"]);
    let failed = count(counts, &["failed", "exec failed", "timed out"]);
    let skipped = count(counts, &["skipped"]);
    let names = lines.iter().filter_map(|line| {
        let line = line.trim_start();
        // `TRY 2 FAIL`: the last try decides, and it is told again without its number or in the summary.
        let (state, rest) = line.split_once('[')?;
        let fails = matches!(state.trim(), "FAIL" | "ABORT" | "FAIL + LEAK" | "LEAK-FAIL")
            || state.starts_with("SIG");
        let (_, name) = rest.split_once(']')?;
        let name = name.trim_start();
        // `(3/14)` counts the tests.
        let name = match name.split_once(") ") {
            Some((counted, name)) if counted.starts_with('(') && counted.contains('/') => name,
            _ => name,
        };
        (fails && name.contains(' ')).then(|| name.trim().to_owned())
    });
    Some(TestLog::new(passed, failed, skipped).with(names))
}
