//! go test: plain, `-v` and `-json`.
//!
//! A plain run says of a package that passed only that it did, so each stands for one test. That is too
//! few, never too many.

use std::collections::BTreeMap;

use serde_json::Value;

use super::TestLog;

/// `--- FAIL: TestX (0.00s)`, then the package that it was in: `FAIL example.com/shop 0.004s`, with
/// tabs between.
pub(super) fn plain(lines: &[&str]) -> Option<TestLog> {
    let mut all: Option<TestLog> = None;
    let mut package = TestLog::default();
    let mut names: Vec<String> = Vec::new();
    for line in lines {
        if let Some((state, name)) = told(line) {
            match state {
                "PASS" => package.merge(TestLog::new(1, 0, 0)),
                "FAIL" => {
                    package.merge(TestLog::new(0, 1, 0));
                    names.push(name.to_owned());
                }
                _ => package.merge(TestLog::new(0, 0, 1)),
            }
            continue;
        }
        let mut words = line.split('\t');
        let state = words.next().unwrap_or_default().trim_end();
        let (Some(path), Some(rest)) = (words.next(), words.next()) else {
            continue;
        };
        let ran = rest.ends_with('s') || rest.starts_with("(cached)");
        if !matches!(state, "ok" | "FAIL") || !ran || path.contains(' ') {
            continue;
        }
        let mut ended = std::mem::take(&mut package);
        let empty = line.contains("[no tests to run]");
        if state == "ok" && ended.executed == 0 && !empty {
            ended.merge(TestLog::new(1, 0, 0));
        }
        let names = std::mem::take(&mut names).into_iter();
        let ended = ended.with(names.map(|name| format!("{path}.{name}")));
        all.get_or_insert_default().merge(ended);
    }
    all
}

fn told(line: &str) -> Option<(&str, &str)> {
    let (state, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let known = matches!(state, "PASS" | "FAIL" | "SKIP");
    let (name, time) = rest.rsplit_once(" (")?;
    (known && time.ends_with("s)")).then_some((state, name))
}

/// One JSON object a line; a test's last action is what became of it.
pub(super) fn json(lines: &[&str]) -> Option<TestLog> {
    let mut packages = 0_u64;
    let mut tests: BTreeMap<String, TestLog> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let word = |name: &str| event.get(name).and_then(Value::as_str);
        let (Some(action), Some(package)) = (word("Action"), word("Package")) else {
            continue;
        };
        packages += 1;
        let Some(test) = word("Test") else {
            continue;
        };
        let name = format!("{package}.{test}");
        let log = match action {
            "pass" => TestLog::new(1, 0, 0),
            "fail" => TestLog::new(0, 1, 0).with([name.clone()]),
            "skip" => TestLog::new(0, 0, 1),
            _ => continue,
        };
        tests.insert(name, log);
    }
    let mut all = TestLog::default();
    tests.into_values().for_each(|log| all.merge(log));
    (packages > 0).then_some(all)
}
