//! What the orchestrator should do now, in order: land, verify, fix, decide, dispatch.
//!
//! Work that is begun comes before work that is not: a pull request that can land frees a slot, a new
//! dispatch takes one. Within a kind the priority counts, then who has waited longest. A pull request
//! that waits for a machine (checks that run, GitHub, Countersign itself) is nobody's move and is only
//! counted.
//!
//! Made from the verdicts on record, like every other face; nothing is judged here.

mod words;

#[cfg(test)]
mod tests;

pub use words::list;

use serde::Serialize;

use super::command::Priority;
use super::dispatch::Answer;
use super::model::{PullNumber, RepoName, Timestamp};
use super::render::json::{Told, ToldGate};
use super::render::words::{gate_name, whose_move};
use super::request::Question;
use super::verdict::{Landing, Move, Outcome};

/// What kind of move it is. In order: the first is to be done first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    Land,
    Verify,
    Fix,
    Decide,
    Dispatch,
}

impl Kind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Land => "land",
            Self::Verify => "verify",
            Self::Fix => "fix",
            Self::Decide => "decide",
            Self::Dispatch => "dispatch",
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// What kind.
    pub kind: Kind,
    /// On which pull request, if on one.
    pub number: Option<PullNumber>,
    /// Its title (untrusted text), or what it is about.
    pub title: String,
    /// Why, in a sentence.
    pub reason: String,
    /// Since when it is so.
    pub since: Option<Timestamp>,
    /// What to do: a command, or a sentence.
    pub step: String,
    /// Its priority.
    pub priority: Priority,
}

/// Everything to do in one repository.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Next {
    /// Where.
    pub repository: RepoName,
    /// In this order.
    pub items: Vec<Item>,
    /// Open pull requests that wait for a machine.
    pub waiting: usize,
}

/// One open pull request.
#[derive(Debug)]
pub struct Open<'a> {
    /// Its number.
    pub number: PullNumber,
    /// Its title.
    pub title: &'a str,
    /// Its verdict, if it was judged.
    pub told: Option<&'a Told>,
    /// Its priority.
    pub priority: Priority,
    /// The questions that were asked on it.
    pub questions: &'a [Question],
}

/// Lists what to do. `dispatch` is `None` where the policy is not known.
pub fn next(repository: &RepoName, open: &[Open<'_>], dispatch: Option<&Answer>) -> Next {
    let mut items = Vec::new();
    let mut waiting = 0;
    for pull in open {
        items.extend(pull.questions.iter().map(|asked| question(pull, asked)));
        match pull.told.and_then(|told| on_pull(pull, told)) {
            Some(item) => items.push(item),
            None => waiting += usize::from(!ignored(pull.told)),
        }
    }
    items.extend(dispatch.and_then(on_dispatch));
    items.sort_by_key(|item| (item.kind, item.priority, item.since, item.number));
    Next {
        repository: repository.clone(),
        items,
        waiting,
    }
}

fn ignored(told: Option<&Told>) -> bool {
    told.is_some_and(|told| told.outcome == Outcome::Ignored)
}

fn question(pull: &Open<'_>, asked: &Question) -> Item {
    Item {
        kind: Kind::Decide,
        number: Some(pull.number),
        title: pull.title.to_owned(),
        reason: format!("{} asks: {}", asked.by, asked.question),
        since: Some(asked.at),
        step: format!("Answer it; meanwhile: {}", asked.default),
        priority: pull.priority,
    }
}

fn on_pull(pull: &Open<'_>, told: &Told) -> Option<Item> {
    let item = |kind, reason: String, since, step: String| {
        Some(Item {
            kind,
            number: Some(pull.number),
            title: pull.title.to_owned(),
            reason,
            since,
            step,
            priority: pull.priority,
        })
    };
    match told.outcome {
        Outcome::Merged | Outcome::Ignored => None,
        Outcome::Ready => {
            let step = match told.landing {
                Landing::WhenRequested => "comment `/merge`".to_owned(),
                Landing::ByPeople | Landing::Observed => "merge it on GitHub".to_owned(),
                // It does so by itself; whoever lands need not.
                Landing::Now => return None,
            };
            item(
                Kind::Land,
                "every gate is satisfied".into(),
                told.since,
                step,
            )
        }
        Outcome::Held | Outcome::Waiting | Outcome::Blocked | Outcome::Undetermined => {
            let gates: Vec<&ToldGate> = told.gates.iter().filter(|gate| gate.is_open()).collect();
            let (kind, gate) = foremost(&gates)?;
            let step = match (&gate.next, kind) {
                (Some(next), _) => next.clone(),
                (None, Kind::Verify) => match &gate.whose_move {
                    Move::Verifier(names) if !names.is_empty() => {
                        format!("comment `/verify {}`", names[0])
                    }
                    _ => "ask a reviewer".into(),
                },
                (None, _) => format!("{}'s move", whose_move(&gate.whose_move)),
            };
            let reason = format!("{}: {}", gate_name(&gate.name), gate.reason);
            item(kind, reason, gate.since, step)
        }
    }
}

/// The gate to move first, and which kind of move that is; `None` when only machines can. One that is
/// held by nothing but a word is one command away from landing.
fn foremost<'a>(gates: &[&'a ToldGate]) -> Option<(Kind, &'a ToldGate)> {
    let kind = |gate: &ToldGate| match (&gate.whose_move, gate.name.as_str()) {
        (Move::Maintainer, "not_held") if gates.len() == 1 => Some(Kind::Land),
        (Move::Maintainer, "not_held") => None,
        (Move::Verifier(_), _) => Some(Kind::Verify),
        (Move::Maintainer, _) => Some(Kind::Verify),
        (Move::Author, _) => Some(Kind::Fix),
        (Move::Owner | Move::Operator, _) => Some(Kind::Decide),
        (Move::Ci, _) if gate.state == "failed" => Some(Kind::Fix),
        (Move::Ci | Move::GitHub | Move::Countersign | Move::Nobody, _) => None,
    };
    // What failed is mended before anything is verified: a verification of it would be void.
    let failed = gates.iter().filter(|gate| gate.state == "failed");
    let others = gates.iter().filter(|gate| gate.state != "failed");
    let mut found = failed
        .chain(others)
        .filter_map(|gate| Some((kind(gate)?, *gate)));
    let first = found.next()?;
    if first.1.state == "failed" {
        return Some(first);
    }
    // A draft, or checks that have not passed, come before a verifier's work.
    let rest = std::iter::once(first).chain(found);
    let foremost = rest.min_by_key(|(kind, gate)| {
        let drafted = gate.name == "not_draft";
        (!drafted, *kind == Kind::Decide, *kind)
    });
    // Checks that still run may fail, and a verifier's work would be void: it is nobody's move until then.
    let runs = gates.iter().any(|gate| gate.whose_move == Move::Ci);
    foremost.filter(|(_, gate)| !(runs && matches!(gate.whose_move, Move::Verifier(_))))
}

fn on_dispatch(answer: &Answer) -> Option<Item> {
    answer.limit?;
    let first = answer.queued.first();
    let (reason, step) = match (answer.allowed, first) {
        (false, _) => return blocked(answer),
        (true, Some(first)) => (
            format!(
                "number 1 in line, #{}, waits: {}",
                first.issue, first.reason
            ),
            format!("look at #{}", first.issue),
        ),
        (true, None) => (
            answer.reason.clone(),
            format!(
                "label up to {} issues for an agent",
                answer.slots.unwrap_or_default()
            ),
        ),
    };
    Some(Item {
        kind: Kind::Dispatch,
        number: None,
        title: "more agent work".into(),
        reason,
        since: None,
        step,
        priority: Priority::Normal,
    })
}

/// A full limit is worth a line where somebody waits for it.
fn blocked(answer: &Answer) -> Option<Item> {
    let first = answer.queued.first()?;
    Some(Item {
        kind: Kind::Dispatch,
        number: None,
        title: "more agent work".into(),
        reason: answer.reason.clone(),
        since: Some(first.since),
        step: format!(
            "land or close an agent's pull request; {} wait in line, #{} first",
            answer.queued.len(),
            first.issue
        ),
        priority: Priority::Normal,
    })
}
