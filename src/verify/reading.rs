//! What a run of the tests shows: of the head as it is, and of a mutant.
//!
//! The rule that everything here serves: a kill is a test that failed. A mutant that did not compile, ran
//! out of time or kept the tests from running at all was not caught by a test, and saying so costs one more
//! round; taking it for a kill would call an untested line tested.
//!
//! Which tests ran is read from JUnit reports where they are asked for, else from the output of a runner
//! that is known. Where neither tells, nothing shows that any test ran (`true` passes as well), and no approval
//! can come of it unless the caller says that the command tests (`--by-exit-code`): then the command itself
//! counts as one test, and a kill by it is told by its exit code and a digest of its output, never by a
//! made-up name.
//!
//! Where a runner is known, a command that fails while no test did is no kill: a test file could not be
//! loaded, or the runner could not start. A test program that crashes is one: it was built, and died of the
//! mutant (unless it was killed from outside, as for want of memory). Without a build command nothing shows
//! that a mutant compiles; then an output that is a compiler's, or an interpreter's that could not load a
//! file, is taken for one.
//!
//! Reports are read and cleared from outside of the walls, so through `beneath`: one that a link leads to,
//! or that lies above the tree, is none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::beneath::{Beneath, Kind};
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
        for (plain, typed) in plain.iter().zip(patterns) {
            let leads_out = plain.starts_with('/') || plain.split('/').any(|part| part == "..");
            if leads_out || plain.is_empty() {
                return Err(format!(
                    "--junit {typed}: reports lie in the tree; write their path from its top, without `..`"
                ));
            }
        }
        match Globs::new(&plain) {
            Ok(patterns) => Ok(Self { patterns }),
            Err((index, why)) => Err(format!("--junit {}: {why}", patterns[index])),
        }
    }

    /// Plain files below the folder that the patterns name; no link is followed on the way.
    fn found(&self, work: &Beneath) -> Vec<PathBuf> {
        let mut found = Vec::new();
        // A pattern without a star names its one place; only the others need a walk.
        let (stars, plain): (Vec<_>, Vec<_>) = self
            .patterns
            .patterns()
            .iter()
            .partition(|one| one.contains(['*', '?', '[', '{']));
        for path in plain.into_iter().map(PathBuf::from) {
            let above = path.parent().unwrap_or(Path::new(""));
            let entries = work.list(above).unwrap_or_default();
            let is_it = |(name, kind): &(OsString, Kind)| {
                *kind == Kind::File && path.file_name() == Some(name)
            };
            if entries.iter().any(is_it) {
                found.push(path);
            }
        }
        let roots = stars.iter().map(|one| {
            let end = one.find(['*', '?', '[', '{']).unwrap_or(0);
            one[..end].rsplit_once('/').map_or("", |(folder, _)| folder)
        });
        let mut folders: Vec<PathBuf> = roots.map(PathBuf::from).collect();
        while let Some(folder) = folders.pop() {
            for (name, kind) in work.list(&folder).unwrap_or_default() {
                let path = folder.join(&name);
                match kind {
                    Kind::Folder if name != ".git" => folders.push(path),
                    Kind::File
                        if path
                            .to_str()
                            .is_some_and(|path| self.patterns.matches(path)) =>
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
        if let (false, Ok(work)) = (self.patterns.is_empty(), Beneath::open(work)) {
            for report in self.found(&work) {
                let _ = work.remove(&report);
            }
        }
    }

    /// What the reports of a run say together. `None` without any.
    pub fn read(&self, work: &Path) -> Result<Option<TestLog>, String> {
        let mut sum: Option<TestLog> = None;
        if self.patterns.is_empty() {
            return Ok(None);
        }
        let work = Beneath::open(work).map_err(|error| format!("the work folder: {error}"))?;
        for report in self.found(&work) {
            let shown = report.display();
            let read = work.read(&report, LARGEST_REPORT);
            let read = read.map_err(|error| format!("the JUnit report {shown}: {error}"))?;
            let Some((bytes, _)) = read else {
                continue;
            };
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
        // mocha exits with the number of failures.
        End::Code(code @ (126 | 127)) if counted.failures.is_empty() => {
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

/// Why a command that passes shows nothing where nobody counted its tests.
pub(super) const UNCOUNTED: &str = "the test command passed, but nothing shows that it ran a test: its output is of \
     no known runner, and there is no JUnit report; have the tests write one and give --junit FILE, or use a known \
     runner (cargo test, nextest, pytest, unittest, go test, vitest, jest, mocha, node, maven); for a script of \
     your own that tests and prints nothing known, --by-exit-code takes its exit code for one test";

const HIDDEN: &str =
    "the output names tests that failed, and the exit code is 0: is it lost in a pipe?";

/// Judges a mutant's run against that of the head, which was green.
pub(super) fn fate(baseline: &Tests, tests: &Tests, was_built: bool) -> Fate {
    let unviable = |note: &str| Fate::of(MutantStatus::Unviable, note);
    let end = tests.ran.end;
    match end {
        End::TimedOut => return Fate::of(MutantStatus::Timeout, "the tests ran out of time"),
        End::Code(code @ (126 | 127)) if tests.counted().failures.is_empty() => {
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
            unviable("its output looks like a source file that could not be compiled or loaded")
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

/// Words of compilers and interpreters that refuse a source text, in small letters. Some of them a failed
/// test may print too; a round more is what that costs.
fn looks_like_a_compiler(output: &str) -> bool {
    const WORDS: [&str; 28] = [
        "syntaxerror",
        "indentationerror",
        "taberror",
        "modulenotfounderror",
        "importerror",
        "error[e",
        "could not compile",
        "error ts",
        "error cs",
        "ompilation failed",
        "compilation error",
        "compileerror",
        "compilation aborted",
        "cannot find symbol",
        "[build failed]",
        "undefined reference to",
        "cannot find module",
        "does not provide an export named",
        "cannot load such file",
        // Shells, awk, perl, ruby, php, go.
        "syntax error",
        "parse error",
        "bad substitution",
        "unterminated quoted string",
        "unexpected eof while looking for",
        "unexpected end of file",
        // gcc, clang, javac, swiftc: behind the place.
        ": error: ",
        // Lua: `'end' expected near`.
        "expected near",
        "unexpected symbol near",
    ];
    let small = output.to_lowercase();
    WORDS.iter().any(|word| small.contains(word)) || fails_to_load(output)
}

/// Whether a name was missing while a file was loaded, not while a test ran. In a function of its own the
/// same complaint is a test's that called what is not there any more.
fn fails_to_load(output: &str) -> bool {
    let lines: Vec<&str> = output.lines().collect();
    let missing = |line: &str, words: &[&str]| words.iter().any(|word| line.starts_with(word));
    lines.iter().enumerate().any(|(at, line)| {
        if missing(line, &["NameError", "AttributeError"]) {
            // The innermost frame stands last.
            let mut before = lines[..at].iter().rev();
            let frame = before.find(|line| line.trim_start().starts_with("File \""));
            frame.is_some_and(|frame| frame.ends_with(", in <module>"))
        } else if missing(line, &["ReferenceError"]) {
            // The innermost frame stands first.
            let mut after = lines[at..].iter().map(|line| line.trim_start());
            let frame = after.find(|line| line.starts_with("at "));
            let top = ["at Object.<anonymous>", "at file://", "at ModuleJob"];
            frame.is_some_and(|frame| missing(frame, &top))
        } else {
            false
        }
    })
}

#[cfg(test)]
mod tests;
