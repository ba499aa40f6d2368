//! Proof that the critical changed lines are tested: for every critical hunk a mutant of nothing but its
//! lines was killed by a failing test, and none that touches them survived. Or the change is one that no test can notice: a
//! verifier that reads the language says that its lines hold nothing but comments.
//!
//! A report's mutants prove something only if its unmutated run passed and ran tests, and if the tree
//! was restored to exactly the head's. A kill is a named test that failed: time-outs, mutants that did
//! not build, and mutants that were left out prove nothing. Nothing here is a ratio: a slow machine
//! that lets more mutants time out must not look better.
//!
//! A verifier that rejected the head for another reason still ran its mutants: they count.

use super::Case;
use super::hunks::{self, Hunk};
use super::next_step::ask;
use super::verification::{Verification, move_of, spoke_again};
use crate::domain::evidence::{Mutant, MutantStatus, Mutation, Outcome, Statement};
use crate::domain::facts::Comparison;
use crate::domain::model::Oid;
use crate::domain::policy::{MutationCheck, MutationDemand, Timeouts, Verifier};
use crate::domain::verdict::{Basis, GateResult, Move, Proof};

const GATE: &str = "mutation_check";
/// The kind of a mutant that was left out since its lines hold nothing but comments.
pub const ONLY_COMMENTS: &str = "only_comments";
/// The same for lines that hold nothing but tests, where a language has them among the code.
pub const ONLY_TESTS: &str = "only_tests";

/// Judges the gate.
pub fn judge(case: &Case<'_>, gate: &MutationCheck) -> GateResult {
    let comparison = match case.every_file() {
        Ok(comparison) => comparison,
        Err(why) => {
            let reason = format!("Which critical lines changed is not known: {why}.");
            return GateResult::undetermined(GATE, Move::Countersign, reason);
        }
    };
    let hunks = match hunks::critical(comparison, gate) {
        Ok(hunks) if hunks.is_empty() => {
            let reason = "No line of a critical file changed.";
            return GateResult::skipped(GATE, reason);
        }
        Ok(hunks) => hunks,
        Err(why) => {
            let reason = format!("{why}, so whether they are tested cannot be shown.");
            return GateResult::undetermined(GATE, Move::Author, reason)
                .next("split the change, or keep that file out of it");
        }
    };
    let mut disclosures = Vec::new();
    let proofs = proofs(case, gate, comparison, &mut disclosures);
    let mut details: Vec<_> = hunks
        .iter()
        .map(|hunk| one_hunk(case, gate, *hunk, &proofs))
        .collect();
    let result = combined(case, gate, &hunks, &details, &proofs);
    details.append(&mut disclosures);
    result.details(details)
}

/// A report whose mutants prove something.
struct Evidence<'c, 'a> {
    verification: &'c Verification<'a>,
    mutation: &'a Mutation,
}

/// The newest report with mutants of every verifier that may give them; several where nobody can say
/// which is the newest, so that a survivor in any of them stands.
fn proofs<'c, 'a>(
    case: &'c Case<'a>,
    gate: &MutationCheck,
    comparison: &Comparison,
    disclosures: &mut Vec<GateResult>,
) -> Vec<Evidence<'c, 'a>> {
    let mut proofs = Vec::new();
    for verification in case.verifications.iter().rev() {
        let Some((verifier, statement)) = verification.counting() else {
            disclosures.extend(verification.disclosure());
            continue;
        };
        let Some(mutation) = &statement.mutation else {
            continue;
        };
        let mutants = |statement: &Statement| statement.mutation.is_some();
        if spoke_again(&case.verifications, verification, mutants) {
            continue;
        }
        let allowed = gate.by.is_empty() || gate.by.contains(&verifier.name);
        let sound = if !allowed {
            Err("the policy does not take mutation evidence from it".to_owned())
        } else if statement.result == Outcome::Inconclusive {
            Err("it was inconclusive".to_owned())
        } else {
            sound(mutation, comparison.head_tree())
        };
        match sound {
            Ok(()) => proofs.push(Evidence {
                verification,
                mutation,
            }),
            Err(why) => {
                let reason = format!("Its mutants prove nothing: {why}.");
                disclosures.push(GateResult::skipped(verifier.name.to_string(), reason));
            }
        }
    }
    proofs
}

/// Whether mutants prove anything: the unmutated run passed and ran tests, and the head's tree was left.
pub(super) fn sound(mutation: &Mutation, tree: Option<&Oid>) -> Result<(), String> {
    let baseline = &mutation.baseline;
    if baseline.exit_code != 0 {
        return Err(format!(
            "the unmutated run failed (exit code {})",
            baseline.exit_code
        ));
    }
    if baseline.executed == 0 {
        return Err("the unmutated run executed no test".into());
    }
    match tree {
        None => Err("the head's tree is not known to compare with".into()),
        Some(tree) if *tree != mutation.restored_tree => Err(format!(
            "the tree it restored is {}, and the head's is {}",
            mutation.restored_tree.short(),
            tree.short()
        )),
        Some(_) => Ok(()),
    }
}

/// Whether a mutant was killed: by a named test, or by the clock where the policy says so.
pub(super) fn killed(timeouts: Timeouts, mutant: &Mutant) -> bool {
    match mutant.status {
        MutantStatus::Killed => mutant.named_killers().next().is_some(),
        MutantStatus::Timeout => timeouts == Timeouts::Killed,
        MutantStatus::Survived | MutantStatus::Unviable | MutantStatus::Skipped => false,
    }
}

/// What a report says that all lines of a hunk are, if it is something no test can notice: comments, or
/// tests among the code. Whoever says so has read the language; the gate has not, and a mark at the head
/// of a line may as well stand within a text.
fn remark(hunk: Hunk<'_>, mutant: &Mutant) -> Option<&'static str> {
    let what = match mutant.kind.as_str() {
        ONLY_COMMENTS => "comments",
        ONLY_TESTS => "tests",
        _ => return None,
    };
    (mutant.status == MutantStatus::Skipped && hunk.lies_within(mutant)).then_some(what)
}

fn one_hunk(
    case: &Case<'_>,
    gate: &MutationCheck,
    hunk: Hunk<'_>,
    proofs: &[Evidence<'_, '_>],
) -> GateResult {
    let place = hunk.place();
    let inside = |evidence: &&Evidence<'_, '_>| -> Vec<Mutant> {
        let mutants = evidence.mutation.mutants.iter();
        mutants
            .filter(|mutant| hunk.holds(mutant))
            .cloned()
            .collect()
    };
    let mut records = Vec::new();
    let mut remarks = Vec::new();
    let mut others: Vec<&'static str> = Vec::new();
    for evidence in proofs {
        for mutant in inside(&evidence) {
            if mutant.status == MutantStatus::Survived {
                let reason = format!(
                    "`{}` ({}) survived at {place}: no test failed when it was broken.",
                    mutant.id, mutant.kind
                );
                return GateResult::failed(&place, Move::Author, reason)
                    .next(format!(
                        "push a fix for {place}: a test that fails when it is broken, or the line taken out"
                    ))
                    .seen(evidence.verification.basis("survivor reported"));
            }
            if killed(gate.timeouts, &mutant) && hunk.is_shown_by(&mutant) {
                let by = mutant.named_killers().next().unwrap_or("the time-out");
                let what = format!("`{}` killed by `{by}`, reported", mutant.id);
                records.push(evidence.verification.basis(&what));
            } else if let Some(what) = remark(hunk, &mutant) {
                let said = format!("nothing but {what}, reported");
                remarks.push((what, evidence.verification.basis(&said)));
            } else {
                others.push(shows_nothing(gate, hunk, &mutant));
            }
        }
    }
    if records.is_empty()
        && let Some((what, basis)) = remarks.pop()
    {
        let reason = format!("{place} holds nothing but {what}.");
        return GateResult::satisfied(&place, Proof::one(basis), reason);
    }
    match Proof::new(records) {
        Some(proof) => GateResult::satisfied(
            &place,
            proof,
            format!("A test fails when {place} is undone or broken."),
        ),
        None => {
            let tried = if others.is_empty() {
                "no mutant was tried there".to_owned()
            } else {
                others.sort_unstable();
                others.dedup();
                format!("the mutants tried there {}", others.join(", "))
            };
            let names = may_report(case, gate);
            let reason = format!("Whether {place} is tested is not shown: {tried}.");
            GateResult::waiting(&place, move_of(&names), reason).next(ask(case.policy, &names))
        }
    }
}

/// Why a mutant that touches a hunk proves nothing of it.
fn shows_nothing(gate: &MutationCheck, hunk: Hunk<'_>, mutant: &Mutant) -> &'static str {
    match killed(gate.timeouts, mutant) {
        false => unproven(mutant.status),
        true if hunk.is_a_gap() => "put back nothing of what was removed",
        true => "may have been killed for other lines than these",
    }
}

/// What became of a mutant that proves nothing.
fn unproven(status: MutantStatus) -> &'static str {
    match status {
        MutantStatus::Killed => "were killed by no named test",
        MutantStatus::Timeout => "ran out of time",
        MutantStatus::Unviable => "did not build",
        MutantStatus::Skipped => "were skipped",
        MutantStatus::Survived => "survived",
    }
}

fn combined(
    case: &Case<'_>,
    gate: &MutationCheck,
    hunks: &[Hunk<'_>],
    details: &[GateResult],
    proofs: &[Evidence<'_, '_>],
) -> GateResult {
    if let Some(survivor) = super::worst(details).filter(|worst| worst.state.word() == "failed") {
        return super::as_open_as(GATE, survivor, survivor.reason.clone());
    }
    let needed = match gate.require {
        MutationDemand::EveryHunk => None,
        MutationDemand::KilledAtLeast(count) => Some(u64::from(count)),
    };
    let kills = kills(gate, hunks, proofs);
    if let Some(needed) = needed {
        let there = kills.len() as u64;
        let reason =
            format!("{there} of {needed} mutants in critical lines were killed, none survived.");
        return match Proof::new(kills).filter(|_| there >= needed) {
            Some(proof) => GateResult::satisfied(GATE, proof, reason),
            None => {
                let names = may_report(case, gate);
                GateResult::waiting(GATE, move_of(&names), reason).next(ask(case.policy, &names))
            }
        };
    }
    let open: Vec<_> = details.iter().filter(|d| !d.state.passes()).collect();
    let kills_none = kills.is_empty();
    let mut records = kills;
    let mute = remarks(hunks, proofs);
    let kills_all = mute.is_empty();
    records.extend(mute);
    match (open.first(), Proof::new(records)) {
        (None, Some(proof)) => {
            let reason = match hunks.len() {
                1 if kills_none => {
                    "The one critical change holds nothing that a test could notice.".to_owned()
                }
                1 => "A test fails when the one critical change is undone or broken.".to_owned(),
                count if kills_none => {
                    format!("All {count} critical changes hold nothing that a test could notice.")
                }
                count if kills_all => format!(
                    "For each of the {count} critical changes, a test fails when it is undone or broken."
                ),
                count => format!(
                    "For each of the {count} critical changes, a test fails when it is undone or broken, or there is \
                     nothing in it that a test could notice."
                ),
            };
            GateResult::satisfied(GATE, proof, reason)
        }
        (Some(first), _) => {
            let reason = match (open.len(), hunks.len()) {
                (1, 1) => first.reason.clone(),
                (open, all) => format!(
                    "{open} of {all} critical changes are not shown to be tested; {}",
                    lower(&first.reason)
                ),
            };
            super::as_open_as(GATE, first, reason)
        }
        (None, None) => GateResult::waiting(GATE, Move::Countersign, "No kill is on record."),
    }
}

fn lower(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|c| c.to_lowercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// Every word that a critical hunk holds nothing a test could notice.
fn remarks(hunks: &[Hunk<'_>], proofs: &[Evidence<'_, '_>]) -> Vec<Basis> {
    let mut remarks = Vec::new();
    for evidence in proofs {
        for mutant in &evidence.mutation.mutants {
            let found = hunks.iter().find_map(|hunk| remark(*hunk, mutant));
            remarks.extend(found.map(|what| {
                let said = format!("`{}` is nothing but {what}, reported", mutant.id);
                evidence.verification.basis(&said)
            }));
        }
    }
    remarks
}

/// Every kill in a critical hunk, once.
fn kills(gate: &MutationCheck, hunks: &[Hunk<'_>], proofs: &[Evidence<'_, '_>]) -> Vec<Basis> {
    let mut kills = Vec::new();
    for evidence in proofs {
        for mutant in &evidence.mutation.mutants {
            if killed(gate.timeouts, mutant) && hunks.iter().any(|hunk| hunk.is_shown_by(mutant)) {
                let what = format!("`{}` killed, reported", mutant.id);
                kills.push(evidence.verification.basis(&what));
            }
        }
    }
    kills
}

/// The verifiers whose mutants would count, in the order of the policy.
pub fn wanted<'a>(case: &Case<'a>, gate: &MutationCheck) -> Vec<&'a Verifier> {
    let mut verifiers = case.policy.verifiers_in_order();
    verifiers.retain(|verifier| gate.by.is_empty() || gate.by.contains(&verifier.name));
    verifiers
}

/// The verifiers whose mutants would count.
fn may_report(case: &Case<'_>, gate: &MutationCheck) -> Vec<String> {
    let verifiers = wanted(case, gate).into_iter();
    verifiers
        .map(|verifier| verifier.name.to_string())
        .collect()
}
