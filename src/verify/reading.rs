//! What a run of the tests shows: of the head as it is, and of a mutant.
//!
//! The rule that everything here serves: a kill is a test that failed. A mutant that did not compile, ran
//! out of time or kept the tests from running at all was not caught by a test, and saying so costs one more
//! round; taking it for a kill would call an untested line tested.
//!
//! Which tests ran is read from JUnit reports where they are asked for, else from the output of a runner
//! that is known. Where neither tells, the command itself counts as one test, and a kill by it is told by
//! its exit code and a digest of its output, never by a made-up name.
//!
//! Where a runner is known, a command that fails while no test did is no kill: a test file could not be
//! loaded, or the runner could not start. A test program that crashes is one: it was built, and died of the
//! mutant (unless it was killed from outside, as for want of memory). Without a build command nothing shows
//! that a mutant compiles; then an output that is a compiler's is taken for one.

use std::path::{Path, PathBuf};

use super::run::{End, Ran};
use crate::domain::evidence::MutantStatus;
use crate::domain::policy::globs::Globs;
use crate::domain::testlog::{self, TestLog};

/// The most names of failed tests that a mutant's record holds.
const NAMES: usize = 20;
/// The most bytes of a JUnit report that are read.
const LARGEST_REPORT: u64 = 64 * 1024 * 1024;

/// Where JUnit reports will lie, as patterns of paths in the work folder.
#[derive(Debug, Clone)]
pub(super) struct Reports {
    patterns: Globs,
}

impl Reports {
    /// Reads the patterns.
    pub fn new(patterns: &[String]) -> Result<Self, String> {
        let plain: Vec<_> = patterns
            .iter()
            .map(|one| one.trim_start_matches("./"))
            .collect();
        match Globs::new(&plain) {
            Ok(patterns) => Ok(Self { patterns }),
            Err((index, why)) => Err(format!("--junit {}: {why}", patterns[index])),
        }
    }

    fn found(&self, work: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        if self.patterns.is_empty() {
            return found;
        }
        // A pattern without a star names its one place; only the others need a walk.
        let (stars, plain): (Vec<_>, Vec<_>) = self
            .patterns
            .patterns()
            .iter()
            .partition(|one| one.contains(['*', '?', '[', '{']));
        found.extend(
            plain
                .iter()
                .map(|one| work.join(one))
                .filter(|path| path.is_file()),
        );
        let roots = stars.iter().map(|one| {
            let end = one.find(['*', '?', '[', '{']).unwrap_or(0);
            work.join(one[..end].rsplit_once('/').map_or("", |(folder, _)| folder))
        });
        let mut folders: Vec<PathBuf> = roots.collect();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                let name = path.strip_prefix(work).ok().and_then(Path::to_str);
                match kind {
                    Ok(kind) if kind.is_dir() && !path.ends_with(".git") => folders.push(path),
                    Ok(kind)
                        if kind.is_file()
                            && name.is_some_and(|name| self.patterns.matches(name)) =>
                    {
                        found.push(path);
                    }
                    _ => {}
                }
            }
        }
        found.sort();
        found.dedup();
        found
    }

    /// Takes away what an earlier run left, so that it is not read as this one's.
    pub fn clear(&self, work: &Path) {
        for report in self.found(work) {
            let _ = std::fs::remove_file(report);
        }
    }

    /// What the reports of a run say together. `None` without any.
    pub fn read(&self, work: &Path) -> Result<Option<TestLog>, String> {
        let mut sum: Option<TestLog> = None;
        for report in self.found(work) {
            let shown = report
                .strip_prefix(work)
                .unwrap_or(&report)
                .display()
                .to_string();
            let large = std::fs::metadata(&report).is_ok_and(|about| about.len() > LARGEST_REPORT);
            if large {
                return Err(format!("{shown} is larger than 64 MiB"));
            }
            let bytes = std::fs::read(&report).map_err(|error| format!("{shown}: {error}"))?;
            let log = testlog::from_junit(&String::from_utf8_lossy(&bytes));
            let log = log.map_err(|why| format!("{shown}: {why}"))?;
            let sum = sum.get_or_insert_with(TestLog::default);
            sum.executed += log.executed;
            sum.passed += log.passed;
            sum.failed += log.failed;
            sum.skipped += log.skipped;
            sum.failures.extend(log.failures);
        }
        Ok(sum)
    }
}

/// A run of the tests, read.
#[derive(Debug, Clone)]
pub(super) struct Tests {
    /// The run.
    pub ran: Ran,
    /// What it says of its tests; `None` where nobody could tell.
    pub log: Option<TestLog>,
    /// A report says so, not the output, in which anybody may write.
    pub reported: bool,
    /// What is odd about its reports.
    pub oddity: Option<String>,
}

impl Tests {
    /// Reads a run that just ended.
    pub fn read(ran: Ran, reports: &Reports, work: &Path) -> Self {
        let (log, oddity) = match reports.read(work) {
            Ok(log) if log.is_some() || reports.patterns.is_empty() => (log, None),
            Ok(_) => {
                let patterns = reports.patterns.patterns().join(", ");
                (
                    None,
                    Some(format!("the tests wrote no JUnit report at {patterns}")),
                )
            }
            Err(why) => (None, Some(why)),
        };
        Self {
            reported: log.is_some(),
            log: log.or_else(|| testlog::from_output(&ran.output)),
            ran,
            oddity,
        }
    }

    /// How many tests ran; the command itself is one where nothing tells.
    pub fn counted(&self) -> TestLog {
        match &self.log {
            Some(log) => log.clone(),
            None => {
                let passed = u64::from(self.ran.end == End::Code(0));
                TestLog {
                    executed: 1,
                    passed,
                    failed: 1 - passed,
                    ..TestLog::default()
                }
            }
        }
    }

    /// Whether the output names failed tests and the exit code says that none did.
    fn hides_failures(&self) -> bool {
        !self.reported && self.ran.end == End::Code(0)
    }

    /// The run by its exit code and output, where no test has a name.
    fn signature(&self) -> String {
        format!("{}, output {}", self.ran.end.told(), self.ran.digest)
    }
}

/// What the tests say of the head as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Health {
    /// They ran and passed.
    Green,
    /// These failed.
    Red(Vec<String>),
    /// Nothing can be said, and why.
    Unclear(String),
    /// They ran out of time.
    TimedOut,
}

/// Judges the unmutated run.
pub(super) fn health(tests: &Tests) -> Health {
    let counted = tests.counted();
    match tests.ran.end {
        End::TimedOut => return Health::TimedOut,
        End::Code(code @ (126 | 127)) => {
            return Health::Unclear(format!("the test command cannot be run (exit code {code})"));
        }
        _ => {}
    }
    if let Some(oddity) = &tests.oddity {
        return Health::Unclear(oddity.clone());
    }
    if !counted.failures.is_empty() && tests.hides_failures() {
        return Health::Unclear(HIDDEN.to_owned());
    }
    if !counted.failures.is_empty() {
        return Health::Red(counted.failures.into_iter().collect());
    }
    if let End::Signal(_) = tests.ran.end {
        return Health::Unclear(format!("the test command {}", tests.ran.end.told()));
    }
    if counted.executed == 0 || counted.passed + counted.failed == 0 {
        return Health::Unclear("the test command executed no test".to_owned());
    }
    if tests.ran.end != End::Code(0) || counted.failed > 0 {
        return Health::Red(vec![tests.signature()]);
    }
    Health::Green
}

/// What became of a mutant, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fate {
    pub status: MutantStatus,
    pub killed_by: Vec<String>,
    /// Why, where the status alone does not tell.
    pub note: Option<String>,
}

impl Fate {
    /// A fate without a killer.
    pub fn of(status: MutantStatus, note: impl Into<String>) -> Self {
        Self {
            status,
            killed_by: Vec::new(),
            note: Some(note.into()),
        }
    }

    fn killed(by: Vec<String>) -> Self {
        Self {
            status: MutantStatus::Killed,
            killed_by: by,
            note: None,
        }
    }

    /// Whether the mutant was caught, or certainly not.
    pub fn decides(&self) -> bool {
        matches!(self.status, MutantStatus::Killed | MutantStatus::Survived)
    }
}

const HIDDEN: &str =
    "the output names tests that failed, and the exit code is 0: is it lost in a pipe?";

/// Judges a mutant's run against that of the head, which was green.
pub(super) fn fate(baseline: &Tests, tests: &Tests, was_built: bool) -> Fate {
    let unviable = |note: &str| Fate::of(MutantStatus::Unviable, note);
    let end = tests.ran.end;
    match end {
        End::TimedOut => return Fate::of(MutantStatus::Timeout, "the tests ran out of time"),
        End::Code(code @ (126 | 127)) => {
            return unviable(&format!(
                "the test command cannot be run (exit code {code})"
            ));
        }
        _ => {}
    }
    let known = baseline.log.is_some();
    if let Some(log) = &tests.log {
        // Green before, so every name is new.
        let names: Vec<_> = log.failures.iter().take(NAMES).cloned().collect();
        if !names.is_empty() && tests.hides_failures() {
            return unviable(HIDDEN);
        }
        if !names.is_empty() {
            return Fate::killed(names);
        }
    }
    if let End::Signal(signal @ (9 | 15)) = end {
        // Nobody but the system or a person sends these: memory was short, or somebody stopped it.
        return unviable(&format!(
            "the tests were killed from outside by signal {signal}"
        ));
    }
    let counted = tests.log.as_ref();
    match end {
        End::Code(0) if known && counted.is_none_or(|log| log.executed == 0) => {
            unviable("no test was executed")
        }
        End::Code(0) if counted.is_some_and(|log| log.failed > 0) => {
            unviable("a test file could not be loaded")
        }
        End::Code(0) => Fate {
            status: MutantStatus::Survived,
            killed_by: Vec::new(),
            note: None,
        },
        _ if !was_built && looks_like_a_compiler(&tests.ran.output) => {
            unviable("its output is that of a compiler")
        }
        End::Signal(_) => Fate::killed(vec![tests.signature()]),
        _ if known && crashed(&tests.ran.output) => Fate::killed(vec![tests.signature()]),
        _ if counted.is_some_and(|log| log.failed > 0) => {
            unviable("a test file could not be loaded")
        }
        _ if known => unviable("the test command failed, and no test did"),
        _ => Fate::killed(vec![tests.signature()]),
    }
}

/// Words by which runners tell that a test program died.
fn crashed(output: &str) -> bool {
    const WORDS: [&str; 8] = [
        "SIGSEGV",
        "SIGABRT",
        "SIGBUS",
        "SIGILL",
        "SIGFPE",
        "Segmentation fault",
        "Fatal Python error",
        "core dumped",
    ];
    WORDS.iter().any(|word| output.contains(word))
}

/// Words of compilers and interpreters that refuse a source text.
fn looks_like_a_compiler(output: &str) -> bool {
    const WORDS: [&str; 14] = [
        "SyntaxError",
        "IndentationError",
        "TabError",
        "ModuleNotFoundError",
        "ImportError",
        "error[E",
        "could not compile",
        "error TS",
        "ompilation failed",
        "COMPILATION ERROR",
        "cannot find symbol",
        "[build failed]",
        "undefined reference to",
        "Cannot find module",
    ];
    WORDS.iter().any(|word| output.contains(word))
}

#[cfg(test)]
mod tests;
