//! The author side's own verification: one of the named verifiers approved exactly this head, and none
//! of them rejects it.

use super::Case;
use super::next_step::ask;
use super::verification::{Verification, move_of, spoke_again};
use crate::domain::evidence::{Finding, InconclusiveReason, Outcome, Severity, Statement};
use crate::domain::model::VerifierName;
use crate::domain::policy::Verifier;
use crate::domain::verdict::{GateResult, Move, Proof};

/// The report that certifies this head: the newest approval of a named verifier.
pub fn certificate<'c, 'a>(
    case: &'c Case<'a>,
    by: &[VerifierName],
) -> Option<(&'c Verification<'a>, &'a Verifier, &'a Statement)> {
    let mut newest_first = case.verifications.iter().rev();
    newest_first.find_map(|verification| {
        let (verifier, statement) = verification.counting()?;
        let approves = statement.result == Outcome::Approved && blocking(statement).is_none();
        (by.contains(&verifier.name) && approves).then_some((verification, verifier, statement))
    })
}

/// Judges the gate.
pub fn judge(case: &Case<'_>, by: &[VerifierName]) -> GateResult {
    const GATE: &str = "certification";
    let details: Vec<_> = case
        .verifications
        .iter()
        .filter_map(Verification::disclosure)
        .collect();
    let mut inconclusive = None;
    let mut certified = None;
    let conclusive =
        |statement: &Statement| !matches!(conclusion(statement), Conclusion::Inconclusive(_));
    for verification in case.verifications.iter().rev() {
        let Some((verifier, statement)) = verification.counting() else {
            continue;
        };
        let replaced = spoke_again(&case.verifications, verification, conclusive);
        if !by.contains(&verifier.name) || replaced {
            continue;
        }
        match conclusion(statement) {
            Conclusion::Rejected(why) => {
                let reason = format!("{} rejected this head: {why}", verifier.name);
                return GateResult::failed(GATE, Move::Author, reason)
                    .next(fix(statement))
                    .seen(verification.basis("rejection"))
                    .details(details);
            }
            Conclusion::Approved => {
                certified.get_or_insert((verification, verifier));
            }
            Conclusion::Inconclusive(why) => {
                inconclusive
                    .get_or_insert_with(|| format!(" {} could not say: {why}.", verifier.name));
            }
        }
    }
    if let Some((verification, verifier)) = certified {
        let reason = format!("{} certified this head.", verifier.name);
        let proof = Proof::one(verification.basis("certification"));
        return GateResult::satisfied(GATE, proof, reason).details(details);
    }
    let names: Vec<_> = by.iter().map(ToString::to_string).collect();
    let head = case.pull.head.short();
    let reason = format!(
        "No certification of {head} yet.{}",
        inconclusive.unwrap_or_default()
    );
    GateResult::waiting(GATE, move_of(&names), reason)
        .next(ask(case.policy, &names))
        .details(details)
}

/// What a report comes to.
pub enum Conclusion {
    /// Approved, and nothing blocking was found.
    Approved,
    /// Rejected, or something blocking was found.
    Rejected(String),
    /// Neither; why.
    Inconclusive(&'static str),
}

/// What a report comes to. An approval with a blocking finding is a rejection.
pub fn conclusion(statement: &Statement) -> Conclusion {
    let finding = blocking(statement).map(described);
    match (statement.result, finding) {
        (Outcome::Rejected, finding) => {
            Conclusion::Rejected(finding.unwrap_or_else(|| "it names no finding.".into()))
        }
        (Outcome::Approved, Some(finding)) => Conclusion::Rejected(finding),
        (Outcome::Approved, None) => Conclusion::Approved,
        (Outcome::Inconclusive, _) => Conclusion::Inconclusive(match statement.reason {
            Some(InconclusiveReason::Capacity) => "it had no capacity",
            Some(InconclusiveReason::Quota) => "its quota is used up",
            Some(InconclusiveReason::Timeout) => "it ran out of time",
            Some(InconclusiveReason::ReadOnly) => "it could only read",
            Some(InconclusiveReason::Conflict) => "the branch conflicts",
            Some(InconclusiveReason::Other) | None => "it does not say why",
        }),
    }
}

fn blocking(statement: &Statement) -> Option<&Finding> {
    let mut findings = statement.findings.iter();
    findings.find(|finding| finding.severity == Severity::Blocking)
}

/// The next step of the author whose head was rejected.
pub fn fix(statement: &Statement) -> String {
    let place = blocking(statement).and_then(place);
    match place {
        Some(place) => format!("push a fix for {place}"),
        None => "push a fix for what it found".to_owned(),
    }
}

fn place(finding: &Finding) -> Option<String> {
    let path = finding.path.as_ref()?;
    Some(match finding.line {
        Some(line) => format!("{path}:{line}"),
        None => path.clone(),
    })
}

fn described(finding: &Finding) -> String {
    let place = place(finding).map(|place| format!("{place}: "));
    format!("{}{}", place.unwrap_or_default(), finding.message)
}
