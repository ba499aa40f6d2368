//! Reports of other mutation testers, read as evidence.
//!
//! Each file here reads one format into the same few facts: the mutants with their place, their status
//! and what killed them, what is known of the unmutated run, and whether the run came to its end.
//! [`conclude`] makes a statement of them, and is the one place that says what they come to.
//!
//! Three things hold for every format. A word that is not known is refused, since it might mean "no".
//! A kill is tests that failed, never a clock or a build. What a tool does not tell is not made up: it
//! is asked of whoever ran it (the unmutated run), or said aloud in `cannot_tell`.
//!
//! No report knows that it is whole: a run over one shard, or with filters, looks like a whole run of fewer
//! mutants. Which changed places its mutants do not show to be tested is for `gate::coverage`.
//!
//! Left out: mutants are taken as the tool placed them. That its lines are the head's is for whoever
//! calls to hold against the checkout, with `sources` where the report brings them.

pub mod cargo_mutants;
pub mod cosmic_ray;
pub mod mutmut;
pub mod pit;
pub mod stryker;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::evidence::{
    Baseline, EvidenceBase, Finding, InconclusiveReason, Mutant, MutantStatus, Mutation, Outcome,
    Sandbox, Severity, Statement, TestRun,
};
use super::model::{HeadSha, Oid, RepoName};
use super::testlog;

/// Why a report is no evidence, as a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

impl Refused {
    fn because(why: impl Into<String>) -> Self {
        Self(why.into())
    }

    fn cut(what: &str, error: &dyn std::fmt::Display) -> Self {
        Self(format!(
            "{what} cannot be read ({error}): it may have been cut off; let the tool run to its end and import again"
        ))
    }
}

/// What a report says of the tests without any mutant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmutated {
    /// The format has no place for it: whoever ran it must say.
    NotRecorded,
    /// They passed; how many ran, where that is told.
    Passed(Option<u64>),
}

/// What a report holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The tool and its version.
    pub tool: String,
    /// Its mutants.
    pub mutants: Vec<Mutant>,
    /// The run without any.
    pub unmutated: Unmutated,
    /// Why the run did not come to its end, if it did not.
    pub unfinished: Option<String>,
    /// The command that ran the tests, where the report names it.
    pub test_command: Option<String>,
    /// Files as the tool saw them, where the report holds them: they must be the head's.
    pub sources: Vec<(String, String)>,
    /// What this report cannot tell, each a sentence. What is asked for by an option is not among them: it is
    /// given by now, or the import was refused.
    pub cannot_tell: Vec<String>,
}

impl Found {
    /// Of a format that holds mutants and nothing else: no unmutated run, no command, no sources. So many
    /// of them `waiting` have not been tried.
    fn without_a_baseline(
        tool: &str,
        mutants: Vec<Mutant>,
        waiting: usize,
        cannot_tell: &[&str],
    ) -> Self {
        let all = mutants.len();
        Self {
            tool: tool.to_owned(),
            mutants,
            unmutated: Unmutated::NotRecorded,
            unfinished: (waiting > 0).then(|| format!("{waiting} of {all} mutants have no result")),
            test_command: None,
            sources: Vec::new(),
            cannot_tell: cannot_tell.iter().map(|&one| one.to_owned()).collect(),
        }
    }
}

/// What the report does not know, from the checkout and from whoever ran the tool.
#[derive(Debug, Clone)]
pub struct Given {
    /// The repository.
    pub repo: RepoName,
    /// The head that was mutated.
    pub head: HeadSha,
    /// What it was compared with.
    pub base: EvidenceBase,
    /// The head's tree, as it stands after the run.
    pub tree: Oid,
    /// The run's context.
    pub context: String,
    /// What the verifier says of its vendor.
    pub vendor: Option<String>,
    /// What it says of its model.
    pub model: Option<String>,
    /// How many tests the unmutated run executed, and how it exited.
    pub baseline: (Option<u64>, Option<i64>),
    /// The command that runs the tests.
    pub test_command: Option<String>,
    /// Every file of the head, where that is known.
    pub files: Option<BTreeSet<String>>,
}

/// The most survivors that are told one by one.
const TOLD: usize = 20;

/// The statement of a report.
///
/// # Errors
/// Why the report cannot be evidence at all.
pub fn conclude(found: &Found, given: &Given) -> Result<Statement, Refused> {
    if found.mutants.is_empty() {
        return Err(Refused::because(
            "the report holds no mutant, so nothing was tested: let the tool mutate the changed lines, and see that its filters leave some",
        ));
    }
    if let Some(files) = &given.files
        && let Some(lost) = found.mutants.iter().find(|m| !files.contains(&m.path))
    {
        return Err(Refused::because(format!(
            "the report mutates `{}`, which is no file of the head: name the folder that the tool ran in with --root, or run it again at this head",
            lost.path
        )));
    }
    let executed = baseline(found.unmutated, given.baseline)?;
    let (result, reason, findings) = result(found);
    let command = given.test_command.as_ref().or(found.test_command.as_ref());
    let tests = command.map(|command| TestRun {
        command: command.clone(),
        executed,
        passed: executed,
        failed: 0,
        skipped: 0,
        exit_code: 0,
        against: Vec::new(),
        duration_s: None,
    });
    Ok(Statement {
        subject_name: given.repo.to_string(),
        head: given.head.clone(),
        result,
        reason,
        base: Some(given.base.clone()),
        context: given.context.clone(),
        vendor: given.vendor.clone(),
        model: given.model.clone(),
        sandbox: Some(Sandbox {
            executes: true,
            writes: true,
        }),
        tests: tests.into_iter().collect(),
        mutation: Some(Mutation {
            tool: found.tool.clone(),
            baseline: Baseline {
                executed,
                exit_code: 0,
            },
            mutants: found.mutants.clone(),
            restored_tree: given.tree.clone(),
        }),
        findings,
        cost_usd: None,
    })
}

/// How many tests passed without any mutant. Nothing is made up: what the report lacks must be said.
fn baseline(recorded: Unmutated, said: (Option<u64>, Option<i64>)) -> Result<u64, Refused> {
    if let Some(code) = said.1.filter(|code| *code != 0) {
        return Err(Refused::because(format!(
            "the tests fail without any mutant (exit code {code}), so no mutant can be killed: mend them first"
        )));
    }
    let executed = match (recorded, said) {
        (Unmutated::Passed(Some(told)), (Some(said), _)) if told != said => {
            return Err(Refused::because(format!(
                "the report's unmutated run executed {told} tests, and --baseline-executed says {said}: leave the flag out"
            )));
        }
        (Unmutated::Passed(Some(told)), _) => told,
        (Unmutated::Passed(None), (Some(said), _))
        | (Unmutated::NotRecorded, (Some(said), Some(_))) => said,
        (Unmutated::Passed(None), (None, _)) => {
            return Err(Refused::because(
                "the report says that the tests pass without any mutant, and not how many ran: say it with --baseline-executed N",
            ));
        }
        (Unmutated::NotRecorded, _) => {
            return Err(Refused::because(
                "this format records no run without mutants, and without one no kill means anything: run the tests unmutated and say what they did with --baseline-executed N --baseline-exit-code CODE",
            ));
        }
    };
    if executed == 0 {
        return Err(Refused::because(
            "the unmutated run executed no test: no mutant can be killed by one",
        ));
    }
    Ok(executed)
}

/// What the mutants come to. A survivor is a "no" even where the run was cut; without one, a run that
/// was cut, or in which the clock decided more than the tests, says nothing.
fn result(found: &Found) -> (Outcome, Option<InconclusiveReason>, Vec<Finding>) {
    let count = |status| {
        let mutants = found.mutants.iter();
        mutants.filter(|mutant| mutant.status == status).count()
    };
    let survivors = found
        .mutants
        .iter()
        .filter(|mutant| mutant.status == MutantStatus::Survived);
    let findings: Vec<_> = survivors.take(TOLD).map(survivor).collect();
    if !findings.is_empty() {
        return (Outcome::Rejected, None, findings);
    }
    // A kill without a test that failed shows nothing: the gate asks for a name.
    let kills = found.mutants.iter();
    let kills = kills.filter(|mutant| mutant.status == MutantStatus::Killed);
    let killed = kills
        .filter(|mutant| mutant.named_killers().next().is_some())
        .count();
    let nameless = count(MutantStatus::Killed) - killed;
    let timed_out = count(MutantStatus::Timeout);
    let note = |message: String| {
        vec![Finding {
            severity: Severity::Note,
            path: None,
            line: None,
            message,
        }]
    };
    if let Some(why) = &found.unfinished {
        let reason = Some(InconclusiveReason::Other);
        return (
            Outcome::Inconclusive,
            reason,
            note(format!("The run did not end: {why}.")),
        );
    }
    if timed_out > killed {
        let message = format!(
            "{timed_out} of {} mutants ran out of time, and {killed} were killed by a test: raise the limit, or give the machine rest.",
            found.mutants.len()
        );
        return (
            Outcome::Inconclusive,
            Some(InconclusiveReason::Timeout),
            note(message),
        );
    }
    if killed == 0 {
        let nameless = match nameless {
            0 => String::new(),
            count => format!("{count} bear no name of a test that failed, "),
        };
        let message = format!(
            "None of {} mutants was killed by a test: {nameless}{} did not run to a test's verdict, {} were left out. Where none builds, the tool's copy of the project is broken.",
            found.mutants.len(),
            count(MutantStatus::Unviable),
            count(MutantStatus::Skipped),
        );
        return (
            Outcome::Inconclusive,
            Some(InconclusiveReason::Other),
            note(message),
        );
    }
    (Outcome::Approved, None, Vec::new())
}

fn survivor(mutant: &Mutant) -> Finding {
    Finding {
        severity: Severity::Blocking,
        path: Some(mutant.path.clone()),
        line: Some(mutant.start_line),
        message: format!(
            "`{}` ({}) survived: no test failed when it was broken.",
            mutant.id, mutant.kind
        ),
    }
}

/// A path of the report, from the root of the repository. `root` is the folder that the tool ran in,
/// from there; empty for the root itself.
///
/// # Errors
/// A path that leaves the repository, or that nobody can place in it.
fn placed(root: &str, path: &str) -> Result<String, Refused> {
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = root
        .split('/')
        .filter(|p| !matches!(*p, "" | "."))
        .collect();
    let absolute = path.starts_with('/') || path.get(1..2) == Some(":");
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or_else(|| outside(&path))?;
            }
            part => parts.push(part),
        }
    }
    match absolute || path.is_empty() {
        true => Err(outside(&path)),
        false => Ok(parts.join("/")),
    }
}

fn outside(path: &str) -> Refused {
    Refused::because(format!(
        "the report names `{path}`, which lies outside the repository: run the tool within the checkout"
    ))
}

fn unknown(what: &str, word: &str) -> Refused {
    let word: String = word.chars().take(80).collect();
    Refused::because(format!(
        "{what} is `{word}`, which is not known here; it might mean \"no\", so the report is refused"
    ))
}

/// The tests that a run's output names as failed, else a signature: what is known to have happened.
fn killers(output: Option<&str>, signature: &str) -> Vec<String> {
    let log = output.and_then(testlog::from_output);
    let named: Vec<String> = log.map_or_else(Vec::new, |log| log.failures.into_iter().collect());
    match named.is_empty() {
        true => vec![signature.to_owned()],
        false => named,
    }
}
