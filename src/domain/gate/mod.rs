//! The gates: one file each, one requirement each.
//!
//! A gate judges one requirement over the facts, says why in a sentence, and says whose move it is.
//! It is total: whatever the facts, it answers. It never asks anybody anything; a missing fact is
//! "undetermined", an empty list is "not yet", and only a positive record satisfies.

pub mod appraise;
pub mod approvals;
pub mod availability;
pub mod certification;
pub mod checks;
pub mod coverage;
pub mod exercised;
pub mod form;
pub mod hunks;
pub mod mutation_check;
pub mod next_step;
pub mod platform_rules;
pub mod principals;
pub mod second_verifier;
pub mod standing;
pub mod verification;
pub mod waived;

#[cfg(test)]
mod tests;

use super::evidence::Report;
use super::evidence::collect;
use super::facts::{Comparison, PullRequest, Snapshot};
use super::model::RepoId;
use super::policy::{Agents, Policy};
use super::verdict::{GateResult, Move};
use verification::Verification;

/// What gates judge over: the facts, and what was derived from them once.
pub struct Case<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The facts.
    pub snapshot: &'a Snapshot,
    /// The pull request, which was read.
    pub pull: &'a PullRequest,
    /// Whether it counts as an agent's.
    pub by_agent: bool,
    /// Every report, oldest first, and whether it may count.
    pub verifications: Vec<Verification<'a>>,
}

impl<'a> Case<'a> {
    /// The case of a pull request, over reports that were found before.
    pub fn new(
        policy: &'a Policy,
        snapshot: &'a Snapshot,
        pull: &'a PullRequest,
        reports: &'a [Report],
    ) -> Self {
        Self {
            policy,
            snapshot,
            pull,
            by_agent: is_agents(&policy.agents, pull),
            verifications: verification::all(policy, snapshot, pull, reports),
        }
    }

    /// What lies between base and head, if that is known of exactly these two.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn comparison(&self) -> Result<&'a Comparison, String> {
        let comparison = self.snapshot.comparison.require()?;
        if comparison.head != self.pull.head {
            return Err(format!(
                "what was compared is {}, which is not the head",
                comparison.head.short()
            ));
        }
        match self.snapshot.base.known() {
            Some(base) if base.tip != comparison.base_tip => Err(format!(
                "what was compared is the base at {}, and its tip is {} now",
                comparison.base_tip.short(),
                base.tip.short()
            )),
            _ => Ok(comparison),
        }
    }

    /// The same, if it lists every changed file.
    ///
    /// # Errors
    /// Why it is not known, or where the list is cut.
    pub fn every_file(&self) -> Result<&'a Comparison, String> {
        let comparison = self.comparison()?;
        let listed = comparison.files.items.len() as u64;
        if !comparison.files.complete {
            return Err(format!("the list of changed files is cut after {listed}"));
        }
        match self.pull.changed_files {
            Some(counted) if counted > listed => Err(format!(
                "GitHub counts {counted} changed files and lists {listed}"
            )),
            _ => Ok(comparison),
        }
    }
}

/// Whether a pull request counts as an agent's, by any sign of it.
pub fn is_agents(agents: &Agents, pull: &PullRequest) -> bool {
    is_named_agents(agents, pull) || agents.branches.matches(&pull.head_ref)
}

/// Whether a pull request is merged as an agent's and holds a slot of the dispatch limit. The name of a
/// branch is a sign only in the repository itself: whoever forks it names branches at will, and must
/// neither choose who merges nor take slots thereby.
pub fn counts_as_agents(agents: &Agents, pull: &PullRequest, home: RepoId) -> bool {
    match pull.head_repo == Some(home) {
        true => is_agents(agents, pull),
        false => is_named_agents(agents, pull),
    }
}

/// By its author or a label, neither of which a stranger can choose.
fn is_named_agents(agents: &Agents, pull: &PullRequest) -> bool {
    let by_author = pull
        .author
        .as_ref()
        .is_some_and(|author| agents.authors.contains(&author.login));
    let by_label = pull
        .labels
        .iter()
        .any(|label| agents.labels.iter().any(|l| l.eq_ignore_ascii_case(label)));
    by_author || by_label
}

/// Judges every gate: the standing ones first, then those the policy declares.
pub fn judge_all(policy: &Policy, snapshot: &Snapshot) -> Vec<GateResult> {
    let reports = collect::reports(policy, snapshot);
    judge(policy, snapshot, &reports)
}

/// Judges every gate over reports that were found before.
fn judge(policy: &Policy, snapshot: &Snapshot, reports: &[Report]) -> Vec<GateResult> {
    let pull = match snapshot.pull.require() {
        Ok(pull) => pull,
        Err(why) => {
            let reason = format!("The pull request could not be read: {why}.");
            return vec![GateResult::undetermined("open", Move::Countersign, reason)];
        }
    };
    let case = Case::new(policy, snapshot, pull, reports);
    let mut gates = standing::judge(&case);
    let declared = &policy.gates;
    gates.extend(declared.checks.as_ref().map(|g| checks::judge(&case, g)));
    let certification = declared.certification.as_ref();
    let all_heard = |result| availability::told(&case, verification::all_heard(&case, result));
    gates.extend(certification.map(|by| all_heard(certification::judge(&case, by))));
    let second = declared.second_verifier.as_ref();
    gates.extend(second.map(|g| all_heard(second_verifier::judge(&case, g))));
    let mutation = declared.mutation_check.as_ref();
    gates.extend(mutation.map(|g| all_heard(mutation_check::judge(&case, g))));
    if !declared.exercised.is_empty() {
        gates.push(exercised::judge(&case, &declared.exercised));
    }
    let approvals = declared.approvals.as_ref();
    gates.extend(approvals.map(|g| approvals::judge(&case, g)));
    let description = declared.description.as_ref();
    gates.extend(description.map(|g| form::description(&case, g)));
    gates.extend(
        declared
            .max_changed_lines
            .map(|most| form::size(&case, most)),
    );
    gates
}

/// The state of a whole that is made of parts: any failed part fails it, any missing fact leaves it
/// undetermined, any open part keeps it waiting. `None` when every part passes.
fn worst(parts: &[GateResult]) -> Option<&GateResult> {
    ["failed", "undetermined", "waiting"]
        .iter()
        .find_map(|word| parts.iter().find(|part| part.state.word() == *word))
}

/// A result that is as open as its worst part, and says the same.
fn as_open_as(gate: &str, part: &GateResult, reason: String) -> GateResult {
    let mut result = part.clone();
    result.gate = gate.to_owned();
    result.reason = reason;
    result.details = Vec::new();
    result
}
