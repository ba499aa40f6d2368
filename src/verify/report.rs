//! From what was seen to what is said: the evidence, and what people are shown.
//!
//! `approved` needs all of it: tests that ran and passed, no survivor, the head's tree at the end, and a
//! kill at every critical place (or as many as the policy asks for). `rejected` needs something the author
//! can mend: a failing test, a head that does not build, a survivor. Everything else is `inconclusive`,
//! with the reason. Kills that the head's own tests show to be none make everything but a survivor
//! inconclusive.

mod alone;
mod shown;

use serde_json::Value;

use super::Request;
use super::hunt::Tried;
use super::reading::Tests;
use super::run::{End, Ran};
use super::spots::Spot;
use super::workshop::Yard;
use crate::domain::evidence::{
    self, EvidenceBase, Finding, InconclusiveReason, Mutant, MutantStatus, Mutation, Outcome,
    Sandbox, Severity, Statement, TestRun,
};
use crate::domain::facts::{Comparison, Listing};
use crate::domain::gate::hunks;
use crate::domain::model::{Oid, Timestamp};
use crate::domain::policy::{MutationCheck, MutationDemand, Timeouts};
use alone::Together;
use shown::shown;

/// The most failing tests that are named one by one.
const MOST_NAMED: usize = 20;

/// What the head's own run showed.
#[derive(Debug)]
pub(super) enum Baseline {
    /// The build, where there is one, and the tests.
    Green(Option<Ran>, Tests),
    /// These tests failed.
    Red(Tests, Vec<String>),
    /// The build failed.
    NotBuilt(String, Ran),
    /// Two runs differ.
    Flaky(Tests, Tests),
    /// Nothing can be said of the tests.
    Unclear(Tests, String),
    /// They ran out of time.
    TimedOut(Tests),
}

/// A mutant that no test noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its id in the evidence.
    pub id: String,
    /// Its place.
    pub place: String,
    /// What it changed.
    pub what: String,
    /// The change, as a short unified diff from the head to the mutant.
    pub diff: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The evidence.
    pub statement: Statement,
    /// When it began and ended.
    pub times: (Timestamp, Timestamp),
    /// Mutants that no test noticed.
    pub survivors: Vec<Survivor>,
    /// What became of each mutant, with its reason; in the order of the evidence.
    pub notes: Vec<Option<String>>,
    /// Why it ended as it did, in a sentence.
    pub summary: String,
}

impl Report {
    /// The evidence document.
    pub fn document(&self) -> Value {
        evidence::write::document(&self.statement, Some(self.times))
    }

    pub(super) fn begin(
        request: &Request,
        yard: &Yard,
        at: Timestamp,
        baseline: &Baseline,
    ) -> Self {
        let ends = &yard.ends;
        let mut report = Self {
            statement: Statement {
                subject_name: request.repository.clone(),
                head: ends.head.clone(),
                result: Outcome::Inconclusive,
                reason: Some(InconclusiveReason::Other),
                base: ends.base.clone().map(|name| EvidenceBase {
                    name,
                    sha: ends.base_sha.clone(),
                }),
                context: request.context.clone(),
                vendor: request.vendor.clone(),
                model: request.model.clone(),
                sandbox: Some(Sandbox {
                    executes: true,
                    writes: true,
                }),
                tests: Vec::new(),
                mutation: None,
                findings: Vec::new(),
                cost_usd: None,
            },
            times: (at, at),
            survivors: Vec::new(),
            notes: Vec::new(),
            summary: String::new(),
        };
        report.baseline(request, baseline, &ends.tree);
        report
    }

    fn baseline(&mut self, request: &Request, baseline: &Baseline, tree: &Oid) {
        let run = |tests: &Tests| test_run(request, tests);
        match baseline {
            Baseline::Green(_, tests) => {
                self.statement.tests.push(run(tests));
                self.statement.mutation = Some(Mutation {
                    tool: concat!("countersign ", env!("CARGO_PKG_VERSION")).to_owned(),
                    baseline: evidence::Baseline {
                        executed: tests.counted().executed,
                        exit_code: tests.ran.end.code(),
                    },
                    mutants: Vec::new(),
                    restored_tree: tree.clone(),
                });
            }
            Baseline::Red(tests, names) => {
                self.statement.tests.push(run(tests));
                self.conclude(
                    Outcome::Rejected,
                    None,
                    "the head's tests fail; nothing was mutated",
                );
                for name in names.iter().take(MOST_NAMED) {
                    self.find(
                        Severity::Blocking,
                        None,
                        format!("`{name}` fails on the head as it is"),
                    );
                }
                if let Some(more) = names.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
                    self.find(Severity::Blocking, None, format!("{more} more tests fail"));
                }
            }
            Baseline::NotBuilt(line, ran) => self.not_built(line, ran),
            Baseline::Flaky(one, other) => {
                self.statement.tests.extend([run(one), run(other)]);
                let why = "two runs of the head's tests differ: they are not reliable enough to show a kill";
                self.conclude(Outcome::Inconclusive, Some(InconclusiveReason::Other), why);
                self.find(
                    Severity::Warning,
                    None,
                    format!("{}; {}", told(one), told(other)),
                );
            }
            Baseline::Unclear(tests, why) => {
                let mut shown = run(tests);
                if tests.log.is_none() {
                    // The command is no test that anybody could show.
                    (shown.executed, shown.passed, shown.failed) = (0, 0, 0);
                }
                self.statement.tests.push(shown);
                let why = format!("nothing is shown by the head's tests: {why}");
                self.conclude(Outcome::Inconclusive, Some(InconclusiveReason::Other), &why);
            }
            Baseline::TimedOut(tests) => {
                self.statement.tests.push(run(tests));
                let why = "the head's tests ran out of time";
                self.conclude(
                    Outcome::Inconclusive,
                    Some(InconclusiveReason::Timeout),
                    why,
                );
            }
        }
    }

    fn not_built(&mut self, line: &str, ran: &Ran) {
        let why = format!("the head does not build: `{line}` {}", ran.end.told());
        match ran.end {
            End::TimedOut => {
                self.conclude(
                    Outcome::Inconclusive,
                    Some(InconclusiveReason::Timeout),
                    &why,
                );
            }
            // A command that is not there, or was killed, says nothing of the head.
            End::Code(126 | 127) | End::Signal(_) => {
                self.conclude(Outcome::Inconclusive, Some(InconclusiveReason::Other), &why);
            }
            End::Code(_) => {
                self.conclude(Outcome::Rejected, None, &why);
                let lines: Vec<_> = ran.output.lines().rev().take(5).collect();
                let last: Vec<_> = lines.into_iter().rev().collect();
                self.find(
                    Severity::Blocking,
                    None,
                    format!("{why}: {}", last.join(" / ")),
                );
            }
        }
    }

    /// Takes in what the mutants showed.
    pub(super) fn mutants(&mut self, mut found: Found<'_>) {
        let known = with_lines(found.comparison);
        let mut mutants: Vec<Mutant> = Vec::new();
        let mut sum = Sum::default();
        let mut together = Vec::new();
        for (spot, tried) in found.spots.iter().zip(std::mem::take(&mut found.tried)) {
            let (mut caught, mut lived) = (false, false);
            let mut last = None;
            let from = mutants.len();
            for one in tried {
                let mutant = record(mutants.len() + 1, spot, &one);
                let gate = found.check;
                let holds = is_critical(&known, gate, &mutant);
                let counts = counts_as_kill(gate, &mutant) && holds;
                caught |= counts;
                sum.kills += u64::from(counts);
                sum.ran_out |= one.fate.status == MutantStatus::Timeout;
                sum.left_out |= one.fate.status == MutantStatus::Skipped && spot.barred.is_none();
                if mutant.status == MutantStatus::Survived {
                    lived = true;
                    self.survived(spot, &one, &mutant);
                }
                last = Some((mutant.status, one.fate.note.clone()));
                self.notes.push(one.fate.note);
                mutants.push(mutant);
            }
            if caught {
                together.extend(Together::of(spot, &mutants[from..]));
            }
            if !caught && !lived && spot.exempt.is_none() {
                sum.open.push(unproven(spot, last));
            }
        }
        sum.places = found
            .spots
            .iter()
            .filter(|spot| spot.exempt.is_none())
            .count();
        sum.exempt = found.spots.len() - sum.places;
        sum.unviable = !mutants.is_empty()
            && mutants
                .iter()
                .all(|mutant| mutant.status == MutantStatus::Unviable);
        if let Some(mutation) = &mut self.statement.mutation {
            sum.restored = mutation.restored_tree == found.tree;
            mutation.mutants = mutants;
            mutation.restored_tree = found.tree.clone();
        }
        self.warn(&found);
        for lines in &together {
            let place = Some((lines.path.clone(), lines.line()));
            self.find(Severity::Warning, place, lines.told());
        }
        match found.doubt {
            // A survivor is one whatever is thought of the kills.
            Some(why) if self.survivors.is_empty() && sum.restored => {
                self.conclude(Outcome::Inconclusive, Some(InconclusiveReason::Other), &why);
            }
            _ => self.judge(found.check, &sum, &together),
        }
    }

    /// What whoever relies on this should know.
    fn warn(&mut self, found: &Found<'_>) {
        for path in &found.lineless {
            let why = format!(
                "{path} changed without a line of it (its name, its mode, or an empty file): nothing is shown \
                 of that but that the tests pass"
            );
            self.find(Severity::Warning, Some((path.clone(), 1)), why);
        }
        if !found.named {
            let why = "--by-exit-code: nothing counts or names the tests here, so the whole command stands for one \
                       test: whatever makes it fail counts as a kill, a linter as well; let the command do nothing but test, or \
                       give --junit";
            self.find(Severity::Warning, None, why.to_owned());
        }
    }

    fn judge(&mut self, check: &MutationCheck, sum: &Sum, together: &[Together]) {
        let other = Some(InconclusiveReason::Other);
        if !sum.restored {
            let why = "the tree after the last mutant is not the head's: nothing is shown";
            return self.conclude(Outcome::Inconclusive, other, why);
        }
        for (path, line, why) in &sum.open {
            let place = Some((path.clone(), *line));
            self.find(Severity::Warning, place, why.clone());
        }
        if !self.survivors.is_empty() {
            let why = match self.survivors.len() {
                1 => "one mutant survived: no test notices it".to_owned(),
                count => format!("{count} mutants survived: no test notices them"),
            };
            return self.conclude(Outcome::Rejected, None, &why);
        }
        if sum.places == 0 {
            let why = match sum.exempt {
                0 => "no critical line changed: approved by the tests alone, nothing was mutated",
                _ => {
                    "only comments or tests changed in critical files: approved by the tests alone"
                }
            };
            return self.conclude(Outcome::Approved, None, why);
        }
        let enough = match check.require {
            MutationDemand::EveryHunk => sum.open.is_empty(),
            MutationDemand::KilledAtLeast(count) => sum.kills >= u64::from(count),
        };
        if sum.left_out {
            let why = format!(
                "the budget was spent before every critical change was tried; {} of {} not shown to be tested",
                sum.open.len(),
                sum.places
            );
            let reason = Some(InconclusiveReason::Timeout);
            self.conclude(Outcome::Inconclusive, reason, &why);
        } else if enough {
            let why = match sum.places {
                1 => "a test fails without the one critical change".to_owned(),
                count => {
                    format!("a test fails without each of the {count} critical changes")
                }
            };
            let why = match alone::summary(together) {
                None => why,
                Some(lines) => format!("{why}; {lines}"),
            };
            let why = match sum.open.is_empty() {
                true => why,
                false => format!("{} mutants were killed, none survived", sum.kills),
            };
            self.conclude(Outcome::Approved, None, &why);
        } else if sum.unviable {
            let why = "no mutant could be built or run: is the build command right?";
            self.conclude(Outcome::Inconclusive, other, why);
        } else {
            let (open, all) = (sum.open.len(), sum.places);
            let why = format!("{open} of {all} critical changes are not shown to be tested");
            let reason = if sum.ran_out {
                Some(InconclusiveReason::Timeout)
            } else {
                other
            };
            self.conclude(Outcome::Inconclusive, reason, &why);
        }
    }

    fn survived(&mut self, spot: &Spot, one: &Tried, mutant: &Mutant) {
        let message = format!(
            "`{}` ({}: {}) survived: every test passes without it",
            mutant.id, mutant.kind, one.mutant.what
        );
        self.find(
            Severity::Blocking,
            Some((mutant.path.clone(), mutant.start_line)),
            message,
        );
        self.survivors.push(Survivor {
            id: mutant.id.clone(),
            place: mutant.place(),
            what: one.mutant.what.clone(),
            diff: shown(spot, &one.mutant),
        });
    }

    fn conclude(&mut self, result: Outcome, reason: Option<InconclusiveReason>, why: &str) {
        self.statement.result = result;
        self.statement.reason = reason;
        self.summary = why.to_owned();
    }

    fn find(&mut self, severity: Severity, place: Option<(String, u64)>, message: String) {
        let (path, line) = place.unzip();
        self.statement.findings.push(Finding {
            severity,
            path,
            line,
            message,
        });
    }

    /// Whether asking again would give nothing new.
    pub(super) fn is_final(&self) -> bool {
        self.statement.result != Outcome::Inconclusive
    }

    pub(super) fn finish(&mut self, at: Timestamp) {
        if self.statement.result == Outcome::Inconclusive {
            // The word for the reason is `other` mostly; whoever reads the document elsewhere asks why.
            let why = Finding {
                severity: Severity::Note,
                path: None,
                line: None,
                message: self.summary.clone(),
            };
            self.statement.findings.insert(0, why);
        }
        self.times.1 = at;
    }
}

/// What a hunt brought home.
pub(super) struct Found<'a> {
    pub check: &'a MutationCheck,
    pub comparison: &'a Comparison,
    pub spots: &'a [Spot],
    /// For each place what was tried there.
    pub tried: Vec<Vec<Tried>>,
    /// The tree at the end.
    pub tree: Oid,
    /// Why kills are not believed, where they are not.
    pub doubt: Option<String>,
    /// Whether the tests have names.
    pub named: bool,
    /// Critical files whose change has no line.
    pub lineless: Vec<String>,
}

#[derive(Default)]
struct Sum {
    places: usize,
    /// Places that no test could see.
    exempt: usize,
    kills: u64,
    /// Places that nothing was shown of: path, line, sentence.
    open: Vec<(String, u64, String)>,
    left_out: bool,
    ran_out: bool,
    unviable: bool,
    restored: bool,
}

fn unproven(spot: &Spot, last: Option<(MutantStatus, Option<String>)>) -> (String, u64, String) {
    let (status, note) = last.unzip();
    let tried = match status {
        None => "nothing was tried",
        Some(MutantStatus::Timeout) => "what was tried ran out of time",
        Some(MutantStatus::Unviable) => "what was tried did not build or ran no test",
        Some(MutantStatus::Skipped) if spot.barred.is_none() => "it was left out",
        Some(MutantStatus::Skipped) => "nothing could be tried",
        Some(MutantStatus::Killed | MutantStatus::Survived) => "what was killed lies outside of it",
    };
    let note = note
        .flatten()
        .map_or_else(String::new, |note| format!(" ({note})"));
    let message = format!(
        "whether {} is tested is not shown: {tried}{note}",
        spot.place
    );
    (
        spot.stand_in.path.clone(),
        spot.stand_in.start_line,
        message,
    )
}

fn test_run(request: &Request, tests: &Tests) -> TestRun {
    let counted = tests.counted();
    TestRun {
        command: request.commands.test.clone(),
        executed: counted.executed,
        passed: counted.passed,
        failed: counted.failed,
        skipped: counted.skipped,
        exit_code: tests.ran.end.code(),
        against: request.commands.against.clone(),
        duration_s: Some(seconds(tests.ran.took)),
    }
}

fn told(tests: &Tests) -> String {
    let counted = tests.counted();
    let names: Vec<_> = counted
        .failures
        .iter()
        .take(3)
        .map(String::as_str)
        .collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    };
    let (executed, failed) = (counted.executed, counted.failed);
    format!(
        "{}: {executed} executed, {failed} failed{names}",
        tests.ran.end.told()
    )
}

fn record(number: usize, spot: &Spot, one: &Tried) -> Mutant {
    let mutant = &one.mutant;
    Mutant {
        id: format!("m{number}"),
        path: mutant.path.clone(),
        start_line: mutant.start_line,
        end_line: mutant.end_line,
        kind: spot.exempt.unwrap_or(mutant.kind.word()).to_owned(),
        status: one.fate.status,
        killed_by: one.fate.killed_by.clone(),
        duration_s: one.took.map(seconds),
    }
}

fn seconds(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}

/// As the gate counts.
fn counts_as_kill(check: &MutationCheck, mutant: &Mutant) -> bool {
    match mutant.status {
        MutantStatus::Killed => !mutant.killed_by.is_empty(),
        MutantStatus::Timeout => check.timeouts == Timeouts::Killed,
        _ => false,
    }
}

/// The files whose lines are known; the gate asks for more, which then is open here as well.
fn with_lines(comparison: &Comparison) -> Comparison {
    let mut known = comparison.clone();
    known.files = Listing::whole(
        comparison
            .files
            .items
            .iter()
            .filter(|file| file.hunks.is_some())
            .cloned()
            .collect(),
    );
    known
}

/// Whether the gate will take a kill of this mutant for a critical place.
fn is_critical(known: &Comparison, check: &MutationCheck, mutant: &Mutant) -> bool {
    let shown = |hunks: Vec<hunks::Hunk<'_>>| hunks.iter().any(|hunk| hunk.is_shown_by(mutant));
    hunks::critical(known, check).is_ok_and(shown)
}
