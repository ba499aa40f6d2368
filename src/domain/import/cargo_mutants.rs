//! cargo-mutants: `mutants.out`, with `outcomes.json` (what became of each mutant and of the unmutated
//! run), `mutants.json` (what was to be tried) and the logs.
//!
//! It names no failing test; the log of a mutant does. Where there is no log that is understood, a kill
//! bears the exit code of the test run as its signature: `cargo test` failed after a build that
//! succeeded. A run under `--shard` writes the same files as a whole run of fewer mutants, so nobody can
//! tell them apart: the import names the changed places that the report does not show to be tested.

use serde::Deserialize;
use serde_json::Value;

use super::{Found, Mutant, MutantStatus, Refused, Unmutated, killers, placed, unknown};
use crate::domain::distinct;
use crate::domain::testlog;

#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
    total_mutants: usize,
    #[serde(default)]
    cargo_mutants_version: Option<String>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Value,
    summary: String,
    #[serde(default)]
    log_path: Option<String>,
    #[serde(default)]
    phase_results: Vec<Phase>,
}

#[derive(Deserialize)]
struct Phase {
    phase: String,
    duration: f64,
    process_status: Value,
    #[serde(default)]
    argv: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    name: String,
    file: String,
    span: Span,
    genre: String,
}

#[derive(Deserialize)]
struct Span {
    start: Position,
    end: Position,
}

#[derive(Deserialize)]
struct Position {
    line: u64,
}

/// Reads a run: `outcomes.json`, `mutants.json`, and a way to a log by its path within `mutants.out`.
///
/// # Errors
/// Why it is no evidence.
pub fn read(
    outcomes: &str,
    planned: &str,
    log: &dyn Fn(&str) -> Option<String>,
    root: &str,
) -> Result<Found, Refused> {
    let outcomes: Outcomes =
        distinct::read(outcomes).map_err(|error| Refused::cut("outcomes.json", &error))?;
    let planned: Vec<Value> =
        distinct::read(planned).map_err(|error| Refused::cut("mutants.json", &error))?;
    let (baselines, tried): (Vec<_>, Vec<_>) = outcomes
        .outcomes
        .iter()
        .partition(|outcome| outcome.scenario == "Baseline");
    let baseline = passed(&baselines)?;
    let mut mutants = Vec::with_capacity(tried.len());
    for outcome in &tried {
        mutants.push(mutant(outcome, log, root)?);
    }
    let missing = planned.len().saturating_sub(tried.len());
    let unfinished = if missing > 0 {
        Some(format!(
            "{missing} of {} mutants were not tried",
            planned.len()
        ))
    } else if outcomes.total_mutants != tried.len() || planned.len() != tried.len() {
        return Err(Refused::because(format!(
            "outcomes.json counts {} mutants and lists {}, and mutants.json plans {}: these files are not of one run",
            outcomes.total_mutants,
            tried.len(),
            planned.len()
        )));
    } else {
        None
    };
    let test = baseline.phase_results.iter().find(|p| p.phase == "Test");
    let ran = baseline.log_path.as_deref().and_then(log);
    let ran = ran.as_deref().and_then(testlog::from_output);
    let nameless = |mutant: &Mutant| mutant.killed_by.iter().any(|by| by.ends_with(NAMELESS));
    let mut cannot_tell = cannot_tell();
    if !mutants.iter().any(nameless) {
        cannot_tell.remove(0);
    }
    let version = outcomes.cargo_mutants_version.as_deref().unwrap_or("");
    Ok(Found {
        tool: format!("cargo-mutants {version}").trim().to_owned(),
        mutants,
        unmutated: Unmutated::Passed(ran.map(|log| log.executed)),
        unfinished,
        test_command: test.map(|phase| command(&phase.argv)),
        sources: Vec::new(),
        cannot_tell,
    })
}

/// How a signature ends that stands for a test without a name.
const NAMELESS: &str = "; the tool names no test)";

fn cannot_tell() -> Vec<String> {
    [
        "Which test failed, where the mutant's log names none: such a kill bears the exit code of `cargo test`.",
        "Whether each line of a body is tested: a mutant that replaces a whole body shows that something in it is, so it counts only where the whole body changed.",
        "Whether the run was one shard of several (--shard): the document names the changed places that it does not show to be tested.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// The unmutated run, which must be there once and have succeeded in every phase.
fn passed<'a>(baselines: &[&'a Outcome]) -> Result<&'a Outcome, Refused> {
    let [baseline] = baselines else {
        return Err(Refused::because(match baselines.len() {
            0 => "the report has no unmutated run (--baseline=skip?): run cargo mutants with its baseline".to_owned(),
            count => format!("the report has {count} unmutated runs, and one is meant"),
        }));
    };
    let tested = baseline.phase_results.iter().any(|p| p.phase == "Test");
    match baseline.summary.as_str() {
        "Success" if tested => Ok(baseline),
        "Success" => Err(Refused::because(
            "the unmutated run built and ran no test (--check?): a mutant that is only built is never killed",
        )),
        "Failure" => Err(Refused::because(
            "the tests fail without any mutant, so no mutant was tried: mend them first; mutants.out/log/baseline.log says how",
        )),
        "Timeout" => Err(Refused::because(
            "the tests ran out of time without any mutant, so no mutant was tried: raise --timeout",
        )),
        word => Err(unknown("the outcome of the unmutated run", word)),
    }
}

fn mutant(
    outcome: &Outcome,
    log: &dyn Fn(&str) -> Option<String>,
    root: &str,
) -> Result<Mutant, Refused> {
    let made = outcome.scenario.get("Mutant").cloned().unwrap_or_default();
    let made: Made = serde_json::from_value(made)
        .map_err(|error| Refused::cut("a mutant of outcomes.json", &error))?;
    let last = outcome.phase_results.last();
    // The exit code of a test run that ended by itself, after a build that succeeded.
    let failed = last.filter(|phase| phase.phase == "Test");
    let failed = failed.and_then(|phase| phase.process_status.get("Failure")?.as_i64());
    // A code of 0 is no failure, whatever stands beside it.
    let failed = failed.filter(|code| *code != 0);
    let (status, killed_by) = match (outcome.summary.as_str(), failed) {
        ("CaughtMutant", Some(code)) => {
            let output = outcome.log_path.as_deref().and_then(log);
            let signature = format!("cargo test (exit code {code}{NAMELESS}");
            (MutantStatus::Killed, killers(output.as_deref(), &signature))
        }
        // Something ended the test run (a signal): no test is known to have failed.
        ("CaughtMutant" | "Unviable", _) => (MutantStatus::Unviable, Vec::new()),
        ("MissedMutant", _) => (MutantStatus::Survived, Vec::new()),
        // With --check a mutant is built and not tested.
        ("Success", _) => (MutantStatus::Skipped, Vec::new()),
        ("Timeout", _) => (MutantStatus::Timeout, Vec::new()),
        (word, _) => return Err(unknown(&format!("the outcome of `{}`", made.name), word)),
    };
    Ok(Mutant {
        path: placed(root, &made.file)?,
        id: made.name,
        start_line: made.span.start.line,
        end_line: made.span.end.line,
        kind: made.genre,
        status,
        killed_by,
        duration_s: Some(
            outcome
                .phase_results
                .iter()
                .map(|phase| phase.duration)
                .sum(),
        ),
    })
}

/// The command as one would type it: without the folder of the program.
fn command(argv: &[String]) -> String {
    let mut words = argv.iter();
    let program = words
        .next()
        .map_or("cargo", |p| p.rsplit(['/', '\\']).next().unwrap_or(p));
    let rest = words.map(String::as_str);
    std::iter::once(program)
        .chain(rest)
        .collect::<Vec<_>>()
        .join(" ")
}
