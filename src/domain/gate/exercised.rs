//! What a green must have run against: where certain files changed, a report that counts must name the
//! real thing among what its passing tests ran against. A test double is not the database.

use super::next_step::ask;
use super::verification::move_of;
use super::{Case, as_open_as, worst};
use crate::domain::facts::Comparison;
use crate::domain::policy::Exercised;
use crate::domain::verdict::{GateResult, Move, Proof, State};

const GATE: &str = "exercised";

/// Judges the gate.
pub fn judge(case: &Case<'_>, entries: &[Exercised]) -> GateResult {
    let comparison = match case.comparison() {
        Ok(comparison) => comparison,
        Err(why) => {
            let reason = format!("Which files changed is not known: {why}.");
            return GateResult::undetermined(GATE, Move::Countersign, reason);
        }
    };
    let cut = case.every_file().is_err();
    // A list that is cut may hide any file: every entry applies then.
    let applies = |entry: &&Exercised| cut || touches(comparison, entry);
    let details: Vec<_> = entries
        .iter()
        .filter(applies)
        .flat_map(|entry| entry.against.iter())
        .map(|needed| one(case, needed))
        .collect();
    if details.is_empty() {
        return GateResult::skipped(GATE, "No file changed that asks for a real run.");
    }
    if let Some(open) = worst(&details) {
        return as_open_as(GATE, open, open.reason.clone()).details(details);
    }
    let records = details.iter().filter_map(|part| match &part.state {
        State::Satisfied { proof } => Some(proof.records().to_vec()),
        _ => None,
    });
    match Proof::new(records.flatten().collect()) {
        Some(proof) => {
            let reason = "Its tests ran against everything the policy asks for.";
            GateResult::satisfied(GATE, proof, reason).details(details)
        }
        None => GateResult::waiting(GATE, Move::Countersign, "No run is on record."),
    }
}

fn touches(comparison: &Comparison, entry: &Exercised) -> bool {
    comparison.files.items.iter().any(|file| {
        let old = file.old_path.as_deref();
        entry.paths.matches(&file.path) || old.is_some_and(|old| entry.paths.matches(old))
    })
}

fn one(case: &Case<'_>, needed: &str) -> GateResult {
    let records = case.verifications.iter().filter_map(|verification| {
        let (_, statement) = verification.counting()?;
        let ran = statement
            .tests
            .iter()
            .find(|run| run.passed() && run.against.iter().any(|against| is(against, needed)))?;
        Some(verification.basis(&format!(
            "{} tests of `{}` against {needed}",
            ran.executed, ran.command
        )))
    });
    match Proof::new(records.collect()) {
        Some(proof) => {
            GateResult::satisfied(needed, proof, format!("Its tests ran against {needed}."))
        }
        None => {
            let names: Vec<_> = case
                .policy
                .verifiers
                .keys()
                .map(ToString::to_string)
                .collect();
            let reason = format!("No report shows that tests passed against {needed} for real.");
            GateResult::waiting(needed, move_of(&names), reason).next(ask(case.policy, &names))
        }
    }
}

/// `postgres` is met by `postgres` and `postgres:15`; `postgres:15` only by itself.
fn is(against: &str, needed: &str) -> bool {
    let name = against.split(':').next().unwrap_or(against);
    against.eq_ignore_ascii_case(needed) || name.eq_ignore_ascii_case(needed)
}
