//! pytest and unittest.

use super::{TestLog, count, labelled};

/// The last line counts (`3 failed, 9 passed in 0.1s`), and the short summary before it names.
pub(super) fn pytest(lines: &[&str]) -> Option<TestLog> {
    let (at, counts) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let line = line.trim_matches(['=', ' ']);
        let (counts, time) = line.rsplit_once(" in ")?;
        let seconds = time.split_once('s')?.0.parse::<f64>().is_ok();
        let counted = counts.split(", ").all(|part| {
            let number = part.split(' ').next().unwrap_or_default();
            number.parse::<u64>().is_ok() || part == "no tests ran"
        });
        (seconds && counted).then_some((at, counts))
    })?;
    let failed = count(counts, &["failed", "error", "errors"]);
    let passed = count(counts, &["passed", "xfailed", "xpassed"]);
    let before = &lines[..at];
    let summary = before
        .iter()
        .rposition(|line| line.trim_matches('=') == " short test summary info ");
    let names: Vec<String> = match summary {
        Some(summary) => before[summary..]
            .iter()
            .filter_map(|line| summed(line))
            .collect(),
        None => before.iter().filter_map(|line| as_it_ran(line)).collect(),
    };
    Some(TestLog::new(passed, failed, count(counts, &["skipped"])).with(names))
}

/// `FAILED path::test[a - b] - assert 2 == 1`. A file that could not be loaded has no `::`.
fn summed(line: &str) -> Option<String> {
    let (state, rest) = line.split_once(' ')?;
    if !matches!(state, "FAILED" | "ERROR") && !state.starts_with("SUBFAIL") {
        return None;
    }
    // A subtest's own words stand in brackets before its test.
    let rest = match state.starts_with("SUBFAIL") {
        true => &line[line.rfind("] ").map_or(state.len() + 1, |at| at + 2)..],
        false => rest,
    };
    let mut depth = 0_usize;
    let end = rest.char_indices().find(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && rest[*at..].starts_with(" - ")
    });
    let name = &rest[..end.map_or(rest.len(), |(at, _)| at)];
    name.contains("::").then(|| name.trim().to_owned())
}

/// `path::test FAILED   [ 42%]`, where there is no summary.
fn as_it_ran(line: &str) -> Option<String> {
    let (before, progress) = line.rsplit_once('[')?;
    progress.strip_suffix("%]")?;
    let before = before.trim_end();
    let name = before
        .strip_suffix(" FAILED")
        .or_else(|| before.strip_suffix(" ERROR"))?;
    (name.contains("::") && !name.contains(' ')).then(|| name.to_owned())
}

/// `Ran 12 tests in 0.1s`, then `OK` or `FAILED (failures=1)`.
pub(super) fn unittest(lines: &[&str]) -> Option<TestLog> {
    let at = lines.iter().rposition(|line| {
        let ran = line
            .strip_prefix("Ran ")
            .and_then(|rest| rest.split_once(" test"));
        ran.is_some_and(|(number, rest)| number.parse::<u64>().is_ok() && rest.contains(" in "))
    })?;
    let ran = labelled(lines[at], "Ran ")?;
    let result = lines[at + 1..]
        .iter()
        .find(|line| !line.is_empty())
        .unwrap_or(&"");
    let of = |label: &str| labelled(result, label).unwrap_or_default();
    // `expected failures=1` ends with the same word.
    let failures = result
        .split(['(', ','])
        .find_map(|part| labelled(part.trim().strip_prefix("failures=")?, ""));
    let failed = failures
        .unwrap_or_default()
        .saturating_add(of("errors="))
        .saturating_add(of("unexpected successes="));
    let skipped = of("skipped=");
    let executed = ran.saturating_sub(skipped);
    let names = lines[..at].windows(2).filter_map(|pair| {
        let framed = pair[0].len() >= 70 && pair[0].bytes().all(|byte| byte == b'=');
        named(pair[1]).filter(|_| framed)
    });
    let mut log = TestLog::new(executed.saturating_sub(failed), failed, skipped).with(names);
    // Each failed part of one test counts as a failure, and an error outside of tests as well.
    log.executed = executed;
    Some(log)
}

/// `FAIL: test_x (mod.Class.test_x) (n=2)`; before Python 3.11 the name was not repeated.
fn named(line: &str) -> Option<String> {
    let rest = line
        .strip_prefix("FAIL: ")
        .or_else(|| line.strip_prefix("ERROR: "))?;
    let (test, rest) = rest.split_once(" (")?;
    let (place, _) = rest.split_once(')')?;
    if place.contains("_FailedTest") {
        return None;
    }
    let whole = place.rsplit('.').next() == Some(test);
    Some(if whole {
        place.to_owned()
    } else {
        format!("{place}.{test}")
    })
}
