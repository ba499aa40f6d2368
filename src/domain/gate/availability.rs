//! Where each verifier stands with this head: not asked, asked, silent, could not run, has reported.
//!
//! That a verifier could not run, that it said nothing, and that it rejected the head are three things,
//! and none may look like another: a rejection fails its gate and is the author's move; the other two
//! leave it waiting, with the verifier's name, the time, and what is done about it.
//!
//! Derived from the reports that are there and from who was asked. Known limit: a report that was made
//! unasked just after the asking counts as the answer to it.

use chrono::Duration;

use super::certification::{Conclusion, conclusion};
use super::next_step::ask;
use super::verification::Verification;
use super::{Case, mutation_check, second_verifier};
use crate::domain::evidence::{Content, InconclusiveReason, Statement};
use crate::domain::facts::{Asked, Why};
use crate::domain::model::Timestamp;
use crate::domain::policy::{Mode, Request, Verifier};
use crate::domain::verdict::{GateResult, Move, State};

/// Where a verifier stands with this head.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Standing {
    /// Nobody has asked it, and it said nothing.
    Unasked,
    /// It was asked, and has until then.
    Asked { at: Timestamp, until: Timestamp },
    /// It was asked, and its time is over.
    Silent { at: Timestamp },
    /// It said, or a check run of its App shows, that it could not run now.
    Unavailable { why: String, at: Option<Timestamp> },
    /// It ran and could not say, for a reason that does not pass by itself.
    Undecided { why: String, at: Option<Timestamp> },
    /// It could not be told.
    Untold { why: String, at: Timestamp },
    /// It reported, whatever that is worth to a gate.
    Reported,
}

/// Whether Countersign can tell a verifier anything here. Labels are never touched by a policy that only
/// observes.
pub fn can_be_told(mode: Mode, verifier: &Verifier) -> bool {
    match &verifier.request {
        None => false,
        Some(Request::Label(_)) => mode == Mode::Enforce,
        Some(Request::Workflow(_) | Request::Comment(_)) => true,
    }
}

/// How often a verifier was asked about this head, and when last.
pub fn asked<'c>(case: &'c Case<'_>, verifier: &'c Verifier) -> impl Iterator<Item = &'c Asked> {
    let tellable = can_be_told(case.policy.mode, verifier);
    let all = case.snapshot.asked.iter();
    all.filter(move |asked| asked.verifier == verifier.name && (asked.before.is_some() || tellable))
}

/// Every report of a verifier on this head and base, oldest first, also those that do not count.
pub fn answers<'c, 'a>(
    case: &'c Case<'a>,
    verifier: &'c Verifier,
) -> impl Iterator<Item = &'c Verification<'a>> {
    case.verifications.iter().filter(move |one| {
        let by = one.verifier.is_some_and(|by| by.name == verifier.name);
        let here = match &one.report.content {
            Content::Valid(said) => {
                let same_base =
                    |base: &crate::domain::evidence::EvidenceBase| base.name == case.pull.base;
                said.head == case.pull.head && said.base.as_ref().is_none_or(same_base)
            }
            Content::Faulty(..) => one.unreadable(&case.pull.head).is_some(),
            Content::Void(_) => false,
        };
        by && here
    })
}

/// Where a verifier stands with this head.
pub fn standing(case: &Case<'_>, verifier: &Verifier) -> Standing {
    let answered = answers(case, verifier).count();
    let last = asked(case, verifier).last();
    let open = last.filter(|asked| asked.before.is_none_or(|before| answered <= before));
    if let Some(asked) = open {
        let until = asked.at + verifier.deadline;
        return match &asked.refused {
            Some(why) => Standing::Untold {
                why: why.clone(),
                at: asked.at,
            },
            None if case.snapshot.now < until => Standing::Asked {
                at: asked.at,
                until,
            },
            None => Standing::Silent { at: asked.at },
        };
    }
    let Some(answer) = answers(case, verifier).last() else {
        return Standing::Unasked;
    };
    match &answer.report.content {
        Content::Valid(said) => after(said, answer.report.at),
        Content::Faulty(..) | Content::Void(_) => Standing::Reported,
    }
}

fn after(said: &Statement, at: Option<Timestamp>) -> Standing {
    let Conclusion::Inconclusive(why) = conclusion(said) else {
        return Standing::Reported;
    };
    let why = why.to_owned();
    match said.reason {
        Some(
            InconclusiveReason::Capacity | InconclusiveReason::Quota | InconclusiveReason::Timeout,
        ) => Standing::Unavailable { why, at },
        Some(
            InconclusiveReason::ReadOnly | InconclusiveReason::Conflict | InconclusiveReason::Other,
        )
        | None => Standing::Undecided { why, at },
    }
}

/// When a verifier that could not run may be asked once more by Countersign itself: once a head, after as
/// long as it would have had to answer.
pub fn once_more_at(case: &Case<'_>, verifier: &Verifier) -> Option<Timestamp> {
    let Standing::Unavailable { at, .. } = standing(case, verifier) else {
        return None;
    };
    let tellable = case.policy.mode == Mode::Enforce && verifier.request.is_some();
    let used = asked(case, verifier).any(|asked| asked.why == Why::Again);
    let from = at.or_else(|| asked(case, verifier).last().map(|asked| asked.at));
    let from = from.or(case.snapshot.head_seen_at);
    (tellable && !used).then(|| from.unwrap_or(case.snapshot.now) + verifier.deadline)
}

/// The verifiers that an evidence gate takes reports from now, in the order in which they are asked, and
/// how many of them it still needs.
pub fn wanted<'a>(case: &Case<'a>, gate: &str) -> (Vec<&'a Verifier>, usize) {
    let gates = &case.policy.gates;
    match gate {
        "certification" => {
            let by = gates.certification.as_deref().unwrap_or_default();
            let named = by.iter().filter_map(|name| case.policy.verifiers.get(name));
            (named.collect(), 1)
        }
        "second_verifier" => match &gates.second_verifier {
            Some(gate) => second_verifier::wanted(case, gate),
            None => (Vec::new(), 0),
        },
        "mutation_check" => match &gates.mutation_check {
            Some(gate) => (mutation_check::wanted(case, gate), 1),
            None => (Vec::new(), 0),
        },
        _ => (Vec::new(), 0),
    }
}

/// A gate that waits for verifiers, with what became of those who were asked.
pub fn told(case: &Case<'_>, mut result: GateResult) -> GateResult {
    let waits = matches!(
        &result.state,
        State::Waiting {
            on: Move::Verifier(_)
        }
    );
    if !waits {
        return result;
    }
    let (verifiers, _) = wanted(case, &result.gate);
    let mut notes = Vec::new();
    let mut pending = Vec::new();
    let mut fresh = Vec::new();
    let mut unaskable = Vec::new();
    for verifier in verifiers.iter().copied() {
        let name = verifier.name.to_string();
        let standing = standing(case, verifier);
        if let Some(note) = note(case, verifier, &standing) {
            result
                .details
                .retain(|part| part.gate != name || !matches!(part.state, State::Waiting { .. }));
            result.details.push(detail(&name, &standing, &note));
            notes.push(format!("{name} {note}"));
        }
        match standing {
            Standing::Asked { until, .. } => pending.push((name, until)),
            Standing::Unasked if can_be_told(case.policy.mode, verifier) => fresh.push(name),
            Standing::Unasked => unaskable.push(name),
            _ => {}
        }
    }
    if notes.is_empty() {
        return result;
    }
    let notes = notes.join("; ");
    if !pending.is_empty() {
        let steps: Vec<_> = pending
            .iter()
            .map(|(name, until)| format!("{name}, which has until {}", moment(case, *until)))
            .collect();
        result.reason = format!("{} {notes}.", result.reason);
        return result.next(format!("wait for {}", steps.join(" and ")));
    }
    if !fresh.is_empty() {
        result.reason = format!("{} {notes}.", result.reason);
        return result.next(ask(case.policy, &fresh));
    }
    nobody_left(case, result, &verifiers, &notes, &unaskable)
}

/// The gate when everybody who can be asked was asked, and nobody answers.
fn nobody_left(
    case: &Case<'_>,
    mut result: GateResult,
    verifiers: &[&Verifier],
    notes: &str,
    unaskable: &[String],
) -> GateResult {
    let others = match unaskable {
        [] => String::new(),
        names => format!(
            "; the policy names no `request` for {}",
            names.join(" and ")
        ),
    };
    result.reason = format!(
        "{} Nobody is left whom Countersign could ask: {notes}{others}.",
        result.reason
    );
    let again = verifiers
        .iter()
        .filter_map(|one| Some((once_more_at(case, one)?, one.name.as_str())))
        .min();
    let names: Vec<String> = verifiers.iter().map(|one| one.name.to_string()).collect();
    if let Some((at, name)) = again {
        let now = ask(case.policy, &names);
        return result.next(format!(
            "wait: {name} is asked once more at {}; or {now}",
            moment(case, at)
        ));
    }
    result.state = State::Waiting {
        on: Move::Maintainer,
    };
    let step = match unaskable {
        [] => format!("{} once it can run again", ask(case.policy, &names)),
        names => ask(case.policy, names),
    };
    result.next(step)
}

/// What is said of a verifier, after its name.
fn note(case: &Case<'_>, verifier: &Verifier, standing: &Standing) -> Option<String> {
    let since = |at: &Option<Timestamp>| {
        at.map(|at| format!(", since {}", moment(case, at)))
            .unwrap_or_default()
    };
    Some(match standing {
        Standing::Unasked | Standing::Reported => return None,
        Standing::Asked { at, until } => format!(
            "was asked at {} and has until {}",
            moment(case, *at),
            moment(case, *until)
        ),
        Standing::Silent { at } => format!(
            "was asked at {}, silent past its deadline of {}",
            moment(case, *at),
            length(verifier.deadline)
        ),
        Standing::Unavailable { why, at } => format!("could not run: {why}{}", since(at)),
        Standing::Undecided { why, at } => format!("could not say: {why}{}", since(at)),
        Standing::Untold { why, at } => {
            format!(
                "could not be told at {}: {}",
                moment(case, *at),
                why.trim_end_matches('.')
            )
        }
    })
}

/// One verifier's line. "Unavailable" stands first where it is no word about the head.
fn detail(name: &str, standing: &Standing, note: &str) -> GateResult {
    let reason = match standing {
        Standing::Silent { .. } | Standing::Unavailable { .. } | Standing::Untold { .. } => {
            format!("Unavailable: {name} {note}.")
        }
        _ => format!("{name} {note}."),
    };
    GateResult::waiting(name, Move::Verifier(vec![name.to_owned()]), reason)
}

/// A time of day, with the day where it is another one than today.
fn moment(case: &Case<'_>, at: Timestamp) -> String {
    let today = at.date_naive() == case.snapshot.now.date_naive();
    let form = if today {
        "%H:%M UTC"
    } else {
        "%Y-%m-%d %H:%M UTC"
    };
    at.format(form).to_string()
}

/// A duration as a policy writes it, with a space.
fn length(duration: Duration) -> String {
    let seconds = duration.num_seconds();
    match seconds {
        _ if seconds % 86_400 == 0 => format!("{} d", seconds / 86_400),
        _ if seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        _ if seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}
