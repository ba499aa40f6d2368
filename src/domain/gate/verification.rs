//! Which reports may speak for this head, and why the others may not.
//!
//! A report counts when a verifier of the policy brought it, it is whole, nobody changed it since, and
//! it is about this repository, exactly this head, and the base that the pull request has now; what only
//! objects to this head counts whatever the base, until its verifier reports again. Of two
//! reports of one verifier and context the later counts. Whether a report that counts is *enough* is
//! each gate's own question.

use super::Case;
use super::certification::{Conclusion, conclusion};
use crate::domain::evidence::{Carrier, Content, Fault, Place, Report, Statement, collect};
use crate::domain::facts::{Fetched, Listing, PullRequest, Snapshot};
use crate::domain::model::{BaseRef, HeadSha, VerifierName};
use crate::domain::policy::{Policy, Verifier};
use crate::domain::verdict::{Basis, GateResult, Move, State};

/// A report, judged.
pub struct Verification<'a> {
    /// The report.
    pub report: &'a Report,
    /// The verifier that brought it.
    pub verifier: Option<&'a Verifier>,
    /// What it says, if it may speak; else why not.
    pub says: Result<&'a Statement, String>,
}

impl<'a> Verification<'a> {
    /// Verifier and statement of a report that counts.
    pub fn counting(&self) -> Option<(&'a Verifier, &'a Statement)> {
        Some((self.verifier?, self.says.as_ref().ok().copied()?))
    }

    /// The verifier of a report about `head` that cannot be read: what it says might be "no".
    pub fn unreadable(&self, head: &HeadSha) -> Option<&'a Verifier> {
        let Content::Faulty(_, named) = &self.report.content else {
            return None;
        };
        // A check run is about the head that it stands on; a posted document was kept for its head.
        let on_head = matches!(self.report.place, Place::CheckRun(_) | Place::Posted(_));
        let about_head = named.as_ref().map_or(on_head, |named| named == head);
        self.verifier.filter(|_| about_head)
    }

    /// Who brought it, in words.
    pub fn who(&self) -> String {
        match (&self.verifier, &self.report.carrier) {
            (Some(verifier), _) => verifier.name.to_string(),
            (None, Carrier::App(app)) => format!("the App {}", app.slug),
            (None, Carrier::Actor { actor, .. }) => actor.login.to_string(),
            (None, Carrier::Workflow { path, git_ref }) => {
                let at = git_ref.strip_prefix("refs/heads/").unwrap_or(git_ref);
                format!("the workflow {path} at {at}")
            }
            (None, Carrier::Key(key)) => {
                format!("the key {}", key.get(..8).unwrap_or(key))
            }
            (None, Carrier::Nobody) => "somebody without a name".to_owned(),
        }
    }

    /// The record for a proof.
    pub fn basis(&self, what: &str) -> Basis {
        Basis::new(format!("{what} by {}", self.who()), self.report.url.clone())
    }

    /// Why it does not count, as a detail; `None` when it does.
    pub fn disclosure(&self) -> Option<GateResult> {
        let why = self.says.as_ref().err()?;
        Some(GateResult::skipped(
            self.who(),
            format!("Does not count: {why}."),
        ))
    }
}

/// Judges every report.
pub fn all<'a>(
    policy: &'a Policy,
    snapshot: &Snapshot,
    pull: &PullRequest,
    reports: &'a [Report],
) -> Vec<Verification<'a>> {
    let mut judged: Vec<_> = reports
        .iter()
        .map(|report| {
            let verifier = report.verifier.as_ref();
            let verifier = verifier.and_then(|name| policy.verifiers.get(name));
            Verification {
                report,
                verifier,
                says: speaks(report, verifier.is_some(), snapshot, pull),
            }
        })
        .collect();
    supersede(&mut judged);
    judged
}

fn speaks<'a>(
    report: &'a Report,
    known: bool,
    snapshot: &Snapshot,
    pull: &PullRequest,
) -> Result<&'a Statement, String> {
    if !known {
        return Err("no verifier of the policy brought it".into());
    }
    let statement = match &report.content {
        Content::Valid(statement) => statement,
        Content::Void(why) => return Err(format!("{why}; what it said is void")),
        Content::Faulty(faults, _) => return Err(unreadable(faults)),
    };
    let name = snapshot.repo.name.to_string();
    let base = (!collect::only_objects(statement)).then_some(&pull.base);
    about(statement, Some(&name), Some(&pull.head), base).map(|()| &**statement)
}

/// Whether a statement is about this head of this repository and this base; what is not given is not
/// compared.
pub(super) fn about(
    statement: &Statement,
    name: Option<&str>,
    head: Option<&HeadSha>,
    base: Option<&BaseRef>,
) -> Result<(), String> {
    if head.is_some_and(|head| statement.head != *head) {
        return Err(format!(
            "it is about {}, which is not the head",
            statement.head.short()
        ));
    }
    if let Some(name) = name
        && !statement.subject_name.eq_ignore_ascii_case(name)
    {
        return Err(format!("it is about another repository than {name}"));
    }
    match (&statement.base, base) {
        (None, _) => Err("it does not name the base it was made against".into()),
        (Some(made), Some(base)) if made.name != *base => Err(format!(
            "it was made against `{}`, and the base is `{base}` now",
            made.name
        )),
        (Some(_), _) => Ok(()),
    }
}

fn unreadable(faults: &[Fault]) -> String {
    let first = faults.first().map_or_else(String::new, |fault| {
        let path = match fault.path.as_str() {
            "" => "the document",
            path => path,
        };
        format!(": {path} {}", fault.message)
    });
    format!("its document has {} faults{first}", faults.len())
}

/// Of two reports of one verifier and context, the earlier speaks no more.
///
/// A report that was edited, dismissed or cannot be read may have said no: whatever its verifier did not
/// surely say after it is void with it, unless it is itself a no, so that nobody revives an approval by
/// voiding a rejection.
fn supersede(judged: &mut [Verification<'_>]) {
    let lost: Vec<(VerifierName, &Report)> = judged
        .iter()
        .filter(|one| !matches!(one.report.content, Content::Valid(_)))
        .filter_map(|one| Some((one.verifier?.name.clone(), one.report)))
        .collect();
    let spoken: Vec<(VerifierName, String, &Report)> = judged
        .iter()
        .filter_map(|one| {
            let (verifier, statement) = one.counting()?;
            Some((verifier.name.clone(), statement.context.clone(), one.report))
        })
        .collect();
    for verification in judged.iter_mut() {
        let report = verification.report;
        let Some((verifier, statement)) = verification.counting() else {
            continue;
        };
        let rejects = matches!(conclusion(statement), Conclusion::Rejected(_));
        let again = spoken.iter().any(|(name, context, other)| {
            *name == verifier.name && *context == statement.context && later(other, report)
        });
        let doubted = lost
            .iter()
            .any(|(name, other)| *name == verifier.name && !later(report, other));
        if again {
            verification.says = Err("a later report of the same run replaces it".into());
        } else if doubted && !rejects {
            let why = "a report of the same verifier that may be later is void, and may have said otherwise";
            verification.says = Err(why.into());
        }
    }
}

/// Whether one report surely came after another.
///
/// GitHub's times count seconds, and a carrier may lack one. Within one kind of place the higher id is
/// the later; across kinds, within one second or without a time, nobody knows: then neither is later,
/// nothing replaces anything, and what objects goes on objecting.
pub fn later(one: &Report, other: &Report) -> bool {
    let same_kind = std::mem::discriminant(&one.place) == std::mem::discriminant(&other.place);
    if one.at == other.at {
        return same_kind && one.place > other.place;
    }
    matches!((one.at, other.at), (Some(one), Some(other)) if one > other)
}

/// Whether the verifier of a report surely spoke again later, in a report that matters to the asker.
pub fn spoke_again(
    all: &[Verification<'_>],
    of: &Verification<'_>,
    matters: impl Fn(&Statement) -> bool,
) -> bool {
    let by = of.verifier.map(|verifier| &verifier.name);
    all.iter().any(|other| {
        other.counting().is_some_and(|(verifier, statement)| {
            Some(&verifier.name) == by && later(other.report, of.report) && matters(statement)
        })
    })
}

/// A gate that reports satisfy, unless there may be reports that were not read: one of them may object.
pub fn all_heard(case: &Case<'_>, result: GateResult) -> GateResult {
    fn gap<T>(what: &str, list: &Fetched<Listing<T>>) -> Option<String> {
        match list.require() {
            Err(why) => Some(format!("the {what} could not be read: {why}")),
            Ok(list) if !list.complete => Some(format!("the list of {what} is not whole")),
            Ok(_) => None,
        }
    }
    let facts = case.snapshot;
    let satisfied = matches!(result.state, State::Satisfied { .. });
    let gap = gap("check runs", &facts.runs)
        .or_else(|| gap("reviews", &facts.reviews))
        .or_else(|| gap("comments", &facts.comments));
    match gap.filter(|_| satisfied) {
        None => result,
        Some(why) => {
            let reason = format!("Whether a verifier objects is not known: {why}.");
            GateResult::undetermined(result.gate, Move::Countersign, reason).details(result.details)
        }
    }
}

/// Whose move it is when verifiers must report.
pub fn move_of(names: &[String]) -> Move {
    if names.is_empty() {
        Move::Owner
    } else {
        Move::Verifier(names.to_vec())
    }
}
