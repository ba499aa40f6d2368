//! node --test, mocha, vitest and jest.

use super::{TestLog, count, untimed};

/// The runner of Node.js, in both of its ways to report: `# tests 3` and `not ok 2 - name`, or `ℹ tests 3`
/// and `✖ name`. A name has those of the suites around it before it.
pub(super) fn node(lines: &[&str]) -> Option<TestLog> {
    let last = |word: &str| {
        lines.iter().rev().find_map(|line| {
            let counted = line
                .strip_prefix("# ")
                .or_else(|| line.strip_prefix("ℹ "))?;
            let (label, number) = counted.split_once(' ')?;
            (label == word).then_some(number)?.parse::<u64>().ok()
        })
    };
    last("tests")?;
    let passed = last("pass")?;
    let failed = last("fail")?.saturating_add(last("cancelled").unwrap_or_default());
    let skipped = last("skipped").unwrap_or_default();
    let skipped = skipped.saturating_add(last("todo").unwrap_or_default());
    let mut tree = Tree::default();
    for line in lines {
        let bare = line.trim_start();
        let depth = line.len() - bare.len();
        if bare == "✖ failing tests:" {
            break;
        }
        if let Some(name) = bare
            .strip_prefix("# Subtest: ")
            .or_else(|| bare.strip_prefix("▶ "))
        {
            tree.begin(depth, untimed(name));
        } else if let Some(name) = bare.strip_prefix("✖ ") {
            tree.fail(depth, untimed(name));
        } else if let Some(name) = not_ok(bare) {
            tree.fail(depth, name);
        }
    }
    Some(TestLog::new(passed, failed, skipped).with(tree.failures))
}

/// `not ok 2 - name`, but not of something that is left out.
fn not_ok(line: &str) -> Option<&str> {
    let (number, name) = line.strip_prefix("not ok ")?.split_once(" - ")?;
    number.parse::<u64>().ok()?;
    let left_out = name.contains(" # SKIP") || name.contains(" # TODO");
    (!left_out).then_some(name)
}

/// Suites within suites, told by how far they are indented.
#[derive(Default)]
struct Tree {
    open: Vec<(usize, String)>,
    failures: Vec<String>,
}

impl Tree {
    fn begin(&mut self, depth: usize, name: &str) {
        self.open.retain(|(at, _)| *at < depth);
        self.open.push((depth, name.to_owned()));
    }

    /// A suite fails with a test in it and is told after it: then it is no failure of its own. A file
    /// that could not be loaded stands under its own name.
    fn fail(&mut self, depth: usize, name: &str) {
        self.open.retain(|(at, _)| *at < depth);
        let suites = self.open.iter().map(|(_, name)| name.as_str());
        let path = suites.chain([name]).collect::<Vec<_>>().join(" > ");
        let within = format!("{path} > ");
        let of_a_test = self
            .failures
            .iter()
            .any(|failure| failure.starts_with(&within));
        if !of_a_test && !is_file(name) {
            self.failures.push(path);
        }
    }
}

fn is_file(name: &str) -> bool {
    let endings = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"];
    endings.iter().any(|ending| name.ends_with(ending)) && !name.contains(' ')
}

/// `  3 passing (95ms)`, then how many are pending and failing, then each failure with the suites around it:
/// `  1) prices`, `       in bulk`, `         many pieces are cheaper:`. The numbers go on by one, which tells
/// them from what an error's own text may hold. Several runs in one output are added up.
pub(super) fn mocha(lines: &[&str]) -> Option<TestLog> {
    let mut all: Option<TestLog> = None;
    for (at, line) in lines.iter().enumerate() {
        let Some(passed) = ended(line) else {
            continue;
        };
        let after = &lines[at + 1..];
        let counted = |word: &str| {
            let mut near = after.iter().take(2);
            near.find_map(|line| {
                line.strip_prefix("  ")?
                    .strip_suffix(word)?
                    .parse::<u64>()
                    .ok()
            })
        };
        let failed = counted(" failing").unwrap_or_default();
        let until = after.iter().position(|line| ended(line).is_some());
        let after = &after[..until.unwrap_or(after.len())];
        let log = TestLog::new(passed, failed, counted(" pending").unwrap_or_default());
        let log = log.with(numbered(after, failed));
        all.get_or_insert_default().merge(log);
    }
    all
}

/// How many passed, in the line that ends a run of mocha.
fn ended(line: &str) -> Option<u64> {
    let (count, time) = line.strip_prefix("  ")?.split_once(" passing (")?;
    time.ends_with(')').then_some(count)?.parse().ok()
}

/// The names of so many failures, each behind the next number.
fn numbered(lines: &[&str], count: u64) -> Vec<String> {
    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let next = format!("  {}) ", names.len() + 1);
        let Some(first) = line
            .strip_prefix(&next)
            .filter(|_| (names.len() as u64) < count)
        else {
            continue;
        };
        let mut parts = vec![first];
        for (depth, line) in lines[at + 1..].iter().enumerate() {
            let before = " ".repeat(7 + 2 * depth);
            match line.strip_prefix(&before) {
                Some(part) if !parts.last().is_some_and(|part| part.ends_with(':')) => {
                    parts.push(part)
                }
                _ => break,
            }
        }
        let name = parts.join(" > ");
        names.extend(name.strip_suffix(':').map(str::to_owned));
    }
    names
}

/// `Tests  1 failed | 1 passed (2)`, and ` FAIL  file > suite > test`.
pub(super) fn vitest(lines: &[&str]) -> Option<TestLog> {
    let counts = lines.iter().rev().find_map(|line| {
        let counts = line.trim_start().strip_prefix("Tests ")?.trim_start();
        let counted = counts.starts_with(|c: char| c.is_ascii_digit());
        (counted && counts.ends_with(')')).then_some(counts)
    })?;
    let skipped = count(counts, &["skipped", "todo"]);
    // The file alone stands for one that could not be loaded.
    let names = lines.iter().filter_map(|line| {
        let name = line.strip_prefix(" FAIL ")?.trim();
        name.contains(" > ").then(|| name.to_owned())
    });
    let passed = count(counts, &["passed"]);
    let failed = count(counts, &["failed"]);
    Some(TestLog::new(passed, failed, skipped).with(names))
}

/// `Tests:       1 failed, 1 passed, 2 total`, and `● suite › test` under `FAIL file`.
pub(super) fn jest(lines: &[&str]) -> Option<TestLog> {
    let counts = lines.iter().rev().find_map(|line| {
        let counts = line.strip_prefix("Tests:")?.trim_start();
        counts.ends_with(" total").then_some(counts)
    })?;
    let mut file = "";
    let mut names = Vec::new();
    for line in lines {
        if let Some(name) = line.strip_prefix("FAIL ") {
            file = untimed(name);
        } else if let Some(name) = line.trim_start().strip_prefix("● ") {
            let other = matches!(name, "Console" | "Test suite failed to run")
                || name.starts_with("Cannot ")
                || name.starts_with("Deprecation ");
            if !file.is_empty() && !other {
                names.push(format!("{file} › {name}"));
            }
        }
    }
    let skipped = count(counts, &["skipped", "todo"]);
    let log = TestLog::new(
        count(counts, &["passed"]),
        count(counts, &["failed"]),
        skipped,
    );
    Some(log.with(names))
}
