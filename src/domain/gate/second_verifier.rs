//! The countersignature: so many independent verifiers approved exactly this head, having run tests.
//!
//! Independence has two halves. The principal must be neither on the author's side nor the certifier.
//! And what verifies must differ from what wrote and from what certified by at least as much as the
//! policy demands. A rejection by any verifier of the policy blocks, independent or not: who has found
//! a bug need not be independent to be right. A verifier's report on this head that cannot be read may
//! be a rejection, and counts as an open question until that verifier reports again.
//!
//! With a fallback, less difference is enough once this head has waited so long; that is said wherever
//! the gate is shown.

use chrono::Duration;

use super::certification::{self, Conclusion, conclusion, fix};
use super::next_step::{ask, command};
use super::principals::{AuthorSide, Maker, demand, described, difference};
use super::verification::{Verification, move_of, spoke_again};
use super::{Case, as_open_as};
use crate::domain::evidence::{Statement, TestRun};
use crate::domain::model::Timestamp;
use crate::domain::policy::{Independence, SecondVerifier, Verifier};
use crate::domain::verdict::{GateResult, Move, Proof};

const GATE: &str = "second_verifier";

/// What one report comes to for this gate.
enum Word {
    /// It objects; why.
    Rejects(String),
    /// It could not say; why.
    CouldNotSay(&'static str),
    /// It countersigns; how.
    Counts(String),
    /// It approves again what its verifier approved in a report that nobody can order with this one.
    Repeats,
    /// It approves, and that is no independent verification; why.
    DoesNotCount(String),
}

/// A report that may speak, and its verifier.
struct Heard<'c, 'a> {
    verification: &'c Verification<'a>,
    verifier: &'a Verifier,
    statement: &'a Statement,
    word: Word,
}

/// What every report is measured by.
struct Measure<'c, 'a> {
    case: &'c Case<'a>,
    gate: &'c SecondVerifier,
    demanded: Demand,
    side: AuthorSide,
}

/// Judges the gate.
pub fn judge(case: &Case<'_>, gate: &SecondVerifier) -> GateResult {
    let measure = Measure::of(case, gate);
    let mut details = Vec::new();
    let mut approvals: Vec<(&Verification<'_>, String)> = Vec::new();
    let mut rejection = None;
    for heard in measure.reports() {
        let heard = match heard {
            Ok(heard) => heard,
            Err(silent) => {
                details.extend(silent.disclosure());
                continue;
            }
        };
        let name = heard.verifier.name.to_string();
        match heard.word {
            Word::Rejects(why) => {
                let reason = format!("{name} rejected this head: {why}");
                let rejected = GateResult::failed(&name, Move::Author, &reason)
                    .next(fix(heard.statement))
                    .seen(heard.verification.basis("rejection"));
                details.push(rejected.clone());
                rejection = Some(rejected);
            }
            Word::CouldNotSay(why) => {
                let on = move_of(std::slice::from_ref(&name));
                let reason = format!("Could not say: {why}.");
                details.push(GateResult::waiting(&name, on, reason));
            }
            Word::Counts(how) => approvals.push((heard.verification, how)),
            Word::Repeats => {}
            Word::DoesNotCount(why) => {
                let reason = format!("Its approval does not count: {why}.");
                details.push(GateResult::skipped(&name, reason));
            }
        }
    }
    for (verification, how) in &approvals {
        let proof = Proof::one(verification.basis("countersignature"));
        let part = GateResult::satisfied(verification.who(), proof, how.clone());
        details.insert(0, part);
    }
    if let Some(rejected) = rejection {
        let reason = rejected.reason.clone();
        return as_open_as(GATE, &rejected, reason).details(details);
    }
    if let Some(open) = unread(case) {
        return open.details(details);
    }
    measure.verdict(&approvals).details(details)
}

impl<'c, 'a> Measure<'c, 'a> {
    fn of(case: &'c Case<'a>, gate: &'c SecondVerifier) -> Self {
        Self {
            case,
            gate,
            demanded: Demand::of(case, gate),
            side: AuthorSide::of(case),
        }
    }

    /// What each verifier's last word comes to, oldest first; as an error every report that may not speak.
    fn reports(&self) -> Vec<Result<Heard<'c, 'a>, &'c Verification<'a>>> {
        let mut counted: Vec<&str> = Vec::new();
        let mut reports = Vec::new();
        for verification in latest_conclusive(self.case) {
            let Some((verifier, statement)) = verification.counting() else {
                reports.push(Err(verification));
                continue;
            };
            let name = verifier.name.as_str();
            let word = match conclusion(statement) {
                Conclusion::Rejected(why) => Word::Rejects(why),
                Conclusion::Inconclusive(why) => Word::CouldNotSay(why),
                Conclusion::Approved => match self.counts(verification, verifier, statement) {
                    // Two that nobody can order are still one verifier's.
                    Ok(_) if counted.contains(&name) => Word::Repeats,
                    Ok(how) => {
                        counted.push(name);
                        Word::Counts(how)
                    }
                    Err(why) => Word::DoesNotCount(why),
                },
            };
            reports.push(Ok(Heard {
                verification,
                verifier,
                statement,
                word,
            }));
        }
        reports
    }

    /// Whether an approval is an independent verification; the sentence says how, or why not.
    fn counts(
        &self,
        verification: &Verification<'_>,
        verifier: &Verifier,
        statement: &Statement,
    ) -> Result<String, String> {
        let case = self.case;
        if self.gate.tests_executed {
            executed_tests(statement)?;
        }
        if let Some(most) = self.gate.max_age {
            in_time(case, verification, most)?;
        }
        self.side.excludes_carrier(&verification.report.carrier)?;
        let author = Maker::author(case);
        let mut achieved = difference(verifier, author);
        let mut nearest = format!("the author side is {}", described(author));
        let certified = case.policy.gates.certification.as_ref();
        if let Some((_, certifier, certificate)) =
            certified.and_then(|by| certification::certificate(case, by))
        {
            if certifier.name == verifier.name {
                return Err("it is the certifier itself".into());
            }
            if certificate.context == statement.context {
                return Err("it comes from the certifier's own context".into());
            }
            let from_certifier = difference(verifier, Maker::verifier(certifier));
            if from_certifier < achieved {
                achieved = from_certifier;
                nearest = format!("the certifier is {}", described(Maker::verifier(certifier)));
            }
        }
        let own = described(Maker::verifier(verifier));
        if achieved < self.demanded.independence {
            let needed = demand(self.demanded.independence);
            return Err(format!(
                "it is not independent: {needed} is needed, it is {own} and {nearest}"
            ));
        }
        Ok(format!("Approved by {own}; {nearest}."))
    }

    /// How many countersignatures are missing where so many are there.
    fn missing(&self, there: usize) -> usize {
        (self.gate.count.max(1) as usize).saturating_sub(there)
    }

    fn verdict(&self, approvals: &[(&Verification<'_>, String)]) -> GateResult {
        let head = self.case.pull.head.short();
        let records = approvals
            .iter()
            .map(|(verification, _)| verification.basis("countersignature"));
        let proof = Proof::new(records.collect());
        match proof.filter(|_| self.missing(approvals.len()) == 0) {
            Some(proof) => {
                let names: Vec<_> = approvals.iter().map(|(v, _)| v.who()).collect();
                let reason = format!(
                    "{} countersigned {head}.{}",
                    names.join(" and "),
                    self.demanded.said()
                );
                GateResult::satisfied(GATE, proof, reason)
            }
            None => self.open(approvals),
        }
    }

    /// The gate while countersignatures are missing: from whom they may come, or that nobody of the policy can
    /// give them, which is an owner's matter and not to be waited for.
    fn open(&self, approvals: &[(&Verification<'_>, String)]) -> GateResult {
        let (case, gate, demanded) = (self.case, self.gate, &self.demanded);
        let head = case.pull.head.short();
        let there = approvals.len();
        let needed = self.missing(there);
        let others = |independence: Independence| {
            let mut names = could_report(case, independence);
            names.retain(|name| !approvals.iter().any(|(v, _)| v.who() == *name));
            names
        };
        let names = others(demanded.independence);
        let still = match gate.count {
            0 | 1 => format!("No independent verifier has countersigned {head} yet."),
            count => format!("{there} of {count} independent verifiers countersigned {head}."),
        };
        let of = demand(demanded.independence);
        let takes = format!("{still} It takes {of} than the author side's")
            .replace("a person than the author side's", "a person");
        let said = demanded.said();
        if names.len() >= needed {
            let reason = format!("{takes}.{said}");
            return GateResult::waiting(GATE, move_of(&names), reason)
                .next(ask(case.policy, &names));
        }
        let other = if there > 0 { "other " } else { "" };
        let few = match names.as_slice() {
            [] => format!("the policy names no {other}verifier that would do"),
            names => format!(
                "of the policy's {other}verifiers only {} would do",
                names.join(" and ")
            ),
        };
        if let Some(at) = falls_back_at(case, gate)
            && let Some(fallback) = &gate.fallback
            && let later = others(fallback.independence)
            && later.len() >= needed
        {
            let at = at.format("%Y-%m-%d %H:%M UTC");
            let enough = demand(fallback.independence);
            let reason = format!(
                "{takes}, and {few}. From {at} on the policy's fallback takes {enough}, which {} can give.",
                later.join(" or ")
            );
            return GateResult::waiting(GATE, move_of(&later), reason)
                .next(ask(case.policy, &later));
        }
        let over = command(Some(case.policy), "override second_verifier REASON");
        let more = match demanded.independence {
            Independence::Human => "name people (`user: LOGIN`) under `verifiers`".to_owned(),
            _ => format!("name more verifiers of {of} in the policy"),
        };
        let next = format!(
            "{more} or ask for less there (`countersign policy check` says \
         who would not do, and why); for this head alone: {over}"
        );
        let reason = format!("{takes}, and {few}: it cannot come under this policy.{said}");
        GateResult::waiting(GATE, Move::Owner, reason).next(next)
    }
}

/// The gate while a verifier's last word on this head cannot be read.
fn unread(case: &Case<'_>) -> Option<GateResult> {
    let all = &case.verifications;
    let mut unread = all.iter().filter_map(|verification| {
        let verifier = verification.unreadable(&case.pull.head)?;
        (!spoke_again(all, verification, |_| true)).then_some(verifier)
    });
    let name = unread.next_back()?.name.to_string();
    let head = case.pull.head.short();
    let reason = format!(
        "The report of {name} on {head} cannot be read: it may well be a rejection, so the gate \
         waits until {name} has reported again."
    );
    let on = move_of(std::slice::from_ref(&name));
    Some(GateResult::undetermined(GATE, on, reason).next(ask(case.policy, &[name])))
}

/// What is demanded now.
struct Demand {
    independence: Independence,
    fallen_back: bool,
}

impl Demand {
    fn of(case: &Case<'_>, gate: &SecondVerifier) -> Self {
        let waited = case
            .snapshot
            .head_seen_at
            .map(|seen| case.snapshot.now - seen);
        let fallback = gate.fallback.as_ref().filter(|fallback| {
            waited.is_some_and(|waited| waited >= fallback.after)
                && fallback.independence < gate.independence
        });
        Self {
            independence: fallback.map_or(gate.independence, |fallback| fallback.independence),
            fallen_back: fallback.is_some(),
        }
    }

    fn said(&self) -> String {
        if self.fallen_back {
            let of = demand(self.independence);
            format!(" The policy's fallback is in use: {of} is enough by now.")
        } else {
            String::new()
        }
    }
}

/// The newest conclusive report of each verifier (the newest one where none is), and every report
/// that does not count, oldest first.
fn latest_conclusive<'c, 'a>(case: &'c Case<'a>) -> Vec<&'c Verification<'a>> {
    let all = &case.verifications;
    let conclusive =
        |statement: &Statement| !matches!(conclusion(statement), Conclusion::Inconclusive(_));
    let replaced = |one: &Verification<'_>| {
        let Some((verifier, statement)) = one.counting() else {
            return false;
        };
        if conclusive(statement) {
            return spoke_again(all, one, conclusive);
        }
        let of_the_same = |other: &Verification<'_>| {
            let counting = other.counting();
            counting.is_some_and(|(v, s)| v.name == verifier.name && conclusive(s))
        };
        all.iter().any(of_the_same) || spoke_again(all, one, |_| true)
    };
    all.iter().filter(|one| !replaced(one)).collect()
}

/// A read-only review is no verification, and neither is a run in which nothing ran.
pub(super) fn executed_tests(statement: &Statement) -> Result<(), String> {
    if statement.sandbox.is_some_and(|sandbox| !sandbox.executes) {
        return Err("it could not execute anything, so no tests ran".into());
    }
    let ran = statement.tests.iter().any(TestRun::ran);
    if !ran {
        return Err("no tests ran".into());
    }
    let bad = statement
        .tests
        .iter()
        .find(|run| run.failed > 0 || run.exit_code != 0);
    match bad {
        Some(run) => Err(format!(
            "its tests did not pass (`{}`: {} failed, exit code {})",
            run.command, run.failed, run.exit_code
        )),
        None => Ok(()),
    }
}

fn in_time(case: &Case<'_>, verification: &Verification<'_>, most: Duration) -> Result<(), String> {
    match verification.report.at {
        None => Err("nobody says when it was made".into()),
        Some(at) if case.snapshot.now - at > most => {
            let hours = (case.snapshot.now - at).num_hours();
            Err(format!(
                "it is {hours} h old, and {} h are allowed",
                most.num_hours()
            ))
        }
        Some(_) => Ok(()),
    }
}

/// The verifiers whose approval would count here now, in the order of the policy, and how many of them
/// are still needed.
pub fn wanted<'a>(case: &Case<'a>, gate: &SecondVerifier) -> (Vec<&'a Verifier>, usize) {
    let measure = Measure::of(case, gate);
    let heard = measure.reports().into_iter().flatten();
    let approved = heard.filter(|heard| matches!(heard.word, Word::Counts(_)));
    let approved: Vec<_> = approved.map(|heard| &heard.verifier.name).collect();
    let still = measure.missing(approved.len());
    let mut names = suitable(case, measure.demanded.independence);
    names.retain(|verifier| !approved.contains(&&verifier.name));
    (names, still)
}

/// Whether a verifier would be enough without the fallback.
pub fn without_fallback(case: &Case<'_>, gate: &SecondVerifier, verifier: &Verifier) -> bool {
    suitable(case, gate.independence)
        .iter()
        .any(|one| one.name == verifier.name)
}

/// When the policy's fallback comes into use, if it is not in use yet.
pub fn falls_back_at(case: &Case<'_>, gate: &SecondVerifier) -> Option<Timestamp> {
    let seen = case.snapshot.head_seen_at.unwrap_or(case.snapshot.now);
    let fallback = gate.fallback.as_ref()?;
    let laxer = fallback.independence < gate.independence;
    (laxer && !Demand::of(case, gate).fallen_back).then(|| seen + fallback.after)
}

/// The verifiers that are so different from the author side and from whoever certified.
fn suitable<'a>(case: &Case<'a>, needed: Independence) -> Vec<&'a Verifier> {
    let author = Maker::author(case);
    let by = case.policy.gates.certification.as_deref();
    let certificate = by.and_then(|by| certification::certificate(case, by));
    let certifier = certificate.map(|(_, certifier, _)| certifier);
    let only = by.and_then(|by| (by.len() == 1).then(|| &by[0]));
    let mut verifiers = case.policy.verifiers_in_order();
    verifiers.retain(|verifier| {
        let from_certifier = certifier.is_none_or(|certifier| {
            certifier.name != verifier.name
                && difference(verifier, Maker::verifier(certifier)) >= needed
        });
        from_certifier && only != Some(&verifier.name) && difference(verifier, author) >= needed
    });
    verifiers
}

/// The verifiers whose approval could count here.
fn could_report(case: &Case<'_>, needed: Independence) -> Vec<String> {
    let author = Maker::author(case);
    let certifiers = case
        .policy
        .gates
        .certification
        .as_deref()
        .unwrap_or_default();
    let verifiers = case.policy.verifiers_in_order();
    verifiers
        .into_iter()
        .filter(|verifier| difference(verifier, author) >= needed)
        .filter(|verifier| certifiers.len() != 1 || certifiers[0] != verifier.name)
        .map(|verifier| verifier.name.to_string())
        .collect()
}
