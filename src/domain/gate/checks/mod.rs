//! Required checks: present, from the right producer, finished, and passed, for exactly this head.
//!
//! One name can be reported by several producers: another App, another workflow of the same App,
//! another event, a commit status. Among the runs of one producer the highest id counts (lists have no
//! order that means anything, and times are not ids); a run that is under way voids what ran before
//! it. Unless the requirement names its producer, every producer of the name must pass: which of them
//! was meant nobody knows. What was superseded is disclosed.
//!
//! All workflows of a repository report as one App, so a workflow is told by its file, through the
//! suite of the run. Where that is not known, runs of different suites are taken as different
//! producers: that can only block.
//!
//! Known limit: a workflow's job can create check runs of any name in its own suite by API. A pinned
//! workflow file that the pull request itself changes is therefore refused.

mod producers;

#[cfg(test)]
mod tests;

use super::{Case, as_open_as, worst};
use crate::domain::facts::{Conclusion, Fetched, FileChange, Listing};
pub use crate::domain::policy::check_name::matches as is_named;
use crate::domain::policy::{Checks, RequiredCheck};
use crate::domain::verdict::{GateResult, Move, Proof};
use producers::{Reported, Standing};

/// Which conclusions pass.
#[derive(Debug, Clone, Copy)]
pub enum Passing<'a> {
    /// `success`, and what the policy adds on purpose.
    ByPolicy(&'a [Conclusion]),
    /// What GitHub's own rules accept: `success`, `neutral`, `skipped`.
    AsGitHub,
}

impl Passing<'_> {
    fn accepts(self, conclusion: &Conclusion) -> bool {
        match (self, conclusion) {
            (_, Conclusion::Success) => true,
            (Self::ByPolicy(also), other) => also.contains(other),
            (Self::AsGitHub, Conclusion::Neutral | Conclusion::Skipped) => true,
            (Self::AsGitHub, _) => false,
        }
    }
}

/// What is required.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The name, or a pattern with `*`.
    pub name: &'a str,
    /// The App, by slug or number.
    pub app: Option<&'a str>,
    /// The workflow file.
    pub workflow: Option<&'a str>,
}

impl<'a> Source<'a> {
    fn of(required: &'a RequiredCheck) -> Self {
        Self {
            name: &required.name,
            app: required.app.as_deref(),
            workflow: required.workflow.as_deref(),
        }
    }
}

/// Judges the gate.
pub fn judge(case: &Case<'_>, gate: &Checks) -> GateResult {
    let passing = Passing::ByPolicy(&gate.also_passing);
    let details: Vec<_> = gate
        .required
        .iter()
        .map(|required| judge_one(case, &Source::of(required), passing))
        .collect();
    if let Some(open) = worst(&details) {
        let still = details.iter().filter(|part| !part.state.passes()).count();
        let reason = match still {
            1 => open.reason.clone(),
            more => format!(
                "{} ({more} of {} required checks are open)",
                open.reason,
                details.len()
            ),
        };
        return as_open_as("checks", open, reason).details(details);
    }
    let records = details.iter().filter_map(|part| match &part.state {
        crate::domain::verdict::State::Satisfied { proof } => Some(proof.records().to_vec()),
        _ => None,
    });
    match Proof::new(records.flatten().collect()) {
        Some(proof) => {
            let reason = match details.len() {
                1 => "The required check passed.".to_owned(),
                count => format!("All {count} required checks passed."),
            };
            GateResult::satisfied("checks", proof, reason).details(details)
        }
        None => GateResult::failed(
            "checks",
            Move::Owner,
            "No check is required: nothing was asked.",
        )
        .next("name at least one check in gates.checks.required"),
    }
}

/// Judges one requirement.
pub fn judge_one(case: &Case<'_>, source: &Source<'_>, passing: Passing<'_>) -> GateResult {
    if let Some(own_workflow) = changed_workflow(case, source) {
        return own_workflow;
    }
    let reported = producers::reported(case, source);
    if let Some(bad) = reported.iter().find(|one| failed(one, passing)) {
        return refused(source, bad);
    }
    if let Some(gap) = gap(case) {
        let reason = format!("Whether `{}` passed is not known: {gap}.", source.name);
        return GateResult::undetermined(source.name, Move::Countersign, reason);
    }
    if reported.is_empty() {
        return missing(case, source);
    }
    if let Some(open) = reported.iter().find(|one| !passed(one, passing)) {
        return waiting(source, open);
    }
    let records = reported.iter().map(Reported::basis).collect();
    match Proof::new(records) {
        Some(proof) => {
            let reason = passed_reason(source, &reported);
            GateResult::satisfied(source.name, proof, reason)
        }
        None => missing(case, source),
    }
}

/// A pull request that changes the very workflow that is to report on it proves nothing by its green.
fn changed_workflow(case: &Case<'_>, source: &Source<'_>) -> Option<GateResult> {
    let workflow = source.workflow?;
    let unknown = |why: &str| {
        let reason = format!("Whether this pull request changes `{workflow}` is not known: {why}.");
        GateResult::undetermined(source.name, Move::Countersign, reason)
    };
    let comparison = match case.comparison() {
        Ok(comparison) => comparison,
        Err(why) => return Some(unknown(&why)),
    };
    let touches =
        |file: &FileChange| file.path == workflow || file.old_path.as_deref() == Some(workflow);
    if comparison.files.items.iter().any(touches) {
        let reason = format!(
            "This pull request changes `{workflow}`, the workflow that reports `{}`.",
            source.name
        );
        let next = "change the workflow in a pull request of its own, merged by a person";
        return Some(GateResult::failed(source.name, Move::Owner, reason).next(next));
    }
    case.every_file()
        .err()
        .map(|why| unknown(&why).next("split the change"))
}

/// What keeps the lists from being the whole truth.
fn gap(case: &Case<'_>) -> Option<String> {
    fn of<T>(what: &str, list: &Fetched<Listing<T>>) -> Option<String> {
        match list.require() {
            Err(why) => Some(format!("the {what} could not be read: {why}")),
            Ok(list) if !list.complete => Some(format!("the list of {what} is not whole")),
            Ok(_) => None,
        }
    }
    of("check runs", &case.snapshot.runs).or_else(|| of("commit statuses", &case.snapshot.statuses))
}

fn passed(reported: &Reported<'_>, passing: Passing<'_>) -> bool {
    matches!(&reported.standing, Standing::Final(conclusion) if passing.accepts(conclusion))
}

/// Final, and neither passed nor something that only needs another run.
fn failed(reported: &Reported<'_>, passing: Passing<'_>) -> bool {
    match &reported.standing {
        Standing::Final(conclusion) => {
            !passing.accepts(conclusion) && !matches!(conclusion, Conclusion::ActionRequired)
        }
        Standing::Underway(_) | Standing::UnknownProducer => false,
    }
}

fn refused(source: &Source<'_>, bad: &Reported<'_>) -> GateResult {
    let Standing::Final(conclusion) = &bad.standing else {
        return waiting(source, bad);
    };
    let who = bad.producer();
    let name = bad.name;
    let (reason, on, next) = match conclusion {
        Conclusion::Failure => (
            format!("`{name}` failed ({who})."),
            Move::Author,
            format!("push a fix for `{name}`"),
        ),
        Conclusion::Cancelled => (
            format!("`{name}` was cancelled ({who}); that says nothing."),
            Move::Ci,
            format!("run `{name}` again"),
        ),
        Conclusion::TimedOut => (
            format!("`{name}` ran out of time ({who})."),
            Move::Author,
            format!("run `{name}` again, or make it faster"),
        ),
        Conclusion::Skipped => (
            format!("`{name}` was skipped ({who}); a skipped check tested nothing."),
            Move::Author,
            format!("let `{name}` run, or list `skipped` in gates.checks.passing on purpose"),
        ),
        Conclusion::Neutral => (
            format!("`{name}` ended neutral ({who}), which is not a pass."),
            Move::Author,
            format!("see what `{name}` says, or list `neutral` in gates.checks.passing on purpose"),
        ),
        Conclusion::Stale => (
            format!("`{name}` went stale before it finished ({who})."),
            Move::Ci,
            format!("run `{name}` again"),
        ),
        Conclusion::StartupFailure => (
            format!("`{name}` could not start ({who})."),
            Move::Author,
            format!("mend the workflow of `{name}`"),
        ),
        Conclusion::ActionRequired | Conclusion::Success => return waiting(source, bad),
        Conclusion::Unknown(word) => (
            format!(
                "`{name}` ended as `{word}` ({who}), which is not known here and does not pass."
            ),
            Move::Author,
            format!("run `{name}` again"),
        ),
    };
    GateResult::failed(source.name, on, reason + &bad.disclosure())
        .next(next)
        .seen(bad.basis())
}

fn waiting(source: &Source<'_>, open: &Reported<'_>) -> GateResult {
    open_still(source, open).seen(open.basis())
}

fn open_still(source: &Source<'_>, open: &Reported<'_>) -> GateResult {
    let (name, who) = (open.name, open.producer());
    match &open.standing {
        Standing::UnknownProducer => GateResult::undetermined(
            source.name,
            Move::Ci,
            format!(
                "`{name}` was reported by nobody who can be named, and a producer is required."
            ),
        )
        .next(format!(
            "let `{name}` be reported by the App that is required"
        )),
        Standing::Final(Conclusion::ActionRequired) => GateResult::waiting(
            source.name,
            Move::Maintainer,
            format!("`{name}` waits for somebody with write access to let it run ({who})."),
        )
        .next(format!("approve the run of `{name}`")),
        Standing::Final(_) => GateResult::waiting(
            source.name,
            Move::Ci,
            format!("`{name}` has not passed ({who})."),
        )
        .next(format!("run `{name}` again")),
        Standing::Underway(word) => GateResult::waiting(
            source.name,
            Move::Ci,
            format!(
                "`{name}` is {} ({who}).{}",
                word.replace('_', " "),
                open.disclosure()
            ),
        )
        .next(format!("wait for `{name}` to finish")),
    }
}

fn passed_reason(source: &Source<'_>, reported: &[Reported<'_>]) -> String {
    match reported {
        [one] => format!(
            "`{}` passed ({}).{}",
            one.name,
            one.producer(),
            one.disclosure()
        ),
        many => {
            let disclosures: String = many.iter().map(Reported::disclosure).collect();
            format!(
                "`{}` passed, reported {} times.{disclosures}",
                source.name,
                many.len()
            )
        }
    }
}

fn missing(case: &Case<'_>, source: &Source<'_>) -> GateResult {
    let from = match (source.workflow, source.app) {
        (Some(workflow), _) => format!(" from `{workflow}`"),
        (None, Some(app)) => format!(" from the App `{app}`"),
        (None, None) => String::new(),
    };
    let near = producers::near_names(case, source);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!(" Reported here are: `{}`.", near.join("`, `"))
    };
    let reason = format!("`{}` has not reported{from}.{hint}", source.name);
    GateResult::waiting(source.name, Move::Ci, reason)
        .next(format!("wait for `{}` to report", source.name))
}
