//! Whom to ask for a verification now, and when to look again.
//!
//! A verification costs money and time, so it is asked for late: when everything cheaper passes and only
//! evidence, approvals and the word of a person are missing. It is asked of one verifier at a time, as
//! many as are still needed, in the order of the policy. Another is asked when one could not run, could
//! not say, was silent past its deadline or could not be told, one of another vendor first.
//!
//! What holds, whatever the facts:
//!
//! - nobody is asked twice about one head and base without a person's word, with one exception: nobody
//!   else is left, and what kept it from running may have passed. Then once more, after its deadline;
//! - nobody is asked while a cheaper gate is open, by a policy that observes, or about a head that a
//!   verifier has rejected: it needs a push;
//! - a gate that waits for evidence has somebody to ask, a moment to wait for, or nobody left.
//!
//! The certification comes before the second verifier: what independence is measured from must be known.
//!
//! Left out: the gate `exercised` asks nobody. It reads the reports that the other gates bring.

use std::collections::BTreeMap;

use super::evidence::collect;
use super::facts::{PolicyFact, PullRequest, PullState, Snapshot, Why};
use super::gate::availability::{self, Standing, can_be_told, once_more_at, standing};
use super::gate::next_step::{ASKED_FOR, before_asking};
use super::gate::{Case, second_verifier};
use super::model::{Timestamp, VerifierName};
use super::policy::{Mode, Policy, Verifier};
use super::verdict::{State, Verdict};

/// Somebody to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Whom.
    pub verifier: VerifierName,
    /// Why.
    pub why: Why,
    /// For which gate.
    pub gate: &'static str,
}

/// What is to be done about missing evidence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asking {
    /// Whom to ask now.
    pub due: Vec<Due>,
    /// When to look again: a deadline passes, somebody may be asked once more, the fallback begins.
    pub look_at: Option<Timestamp>,
    /// The gates for which nobody is left.
    pub nobody_left: Vec<&'static str>,
    /// How many reports of each verifier on this head and base are there.
    pub answers: BTreeMap<VerifierName, usize>,
}

impl Asking {
    fn look(&mut self, at: Timestamp) {
        self.look_at = Some(self.look_at.map_or(at, |known| known.min(at)));
    }

    fn is_due(&self, verifier: &Verifier) -> bool {
        self.due.iter().any(|due| due.verifier == verifier.name)
    }
}

/// Decides whom to ask. Pure and total.
pub fn decide(snapshot: &Snapshot, verdict: &Verdict) -> Asking {
    let mut asking = Asking::default();
    let Some((policy, pull)) = judged(snapshot) else {
        return asking;
    };
    let reports = collect::reports(policy, snapshot);
    let case = Case::new(policy, snapshot, pull, &reports);
    // Silence is noticed whoever asked, and whatever else is open.
    for verifier in policy.verifiers.values() {
        let answers = availability::answers(&case, verifier).count();
        asking.answers.insert(verifier.name.clone(), answers);
        if let Standing::Asked { until, .. } = standing(&case, verifier) {
            asking.look(until);
        }
    }
    if policy.mode != Mode::Enforce || !cheaper_gates_pass(verdict) {
        return asking;
    }
    for gate in ASKED_FOR {
        let open = verdict.gates.iter().find(|one| one.gate == gate);
        let Some(open) = open.filter(|open| !open.state.passes()) else {
            continue;
        };
        if matches!(open.state, State::Waiting { .. }) {
            for_gate(&case, gate, &mut asking);
        }
        if gate == "certification" {
            break;
        }
    }
    asking
}

fn judged(snapshot: &Snapshot) -> Option<(&Policy, &PullRequest)> {
    let pull = snapshot.pull.known()?;
    match &snapshot.policy {
        PolicyFact::Valid { policy, .. } if pull.state == PullState::Open => Some((policy, pull)),
        _ => None,
    }
}

/// Whether everything passes that costs less than a verification, and no verifier objects.
fn cheaper_gates_pass(verdict: &Verdict) -> bool {
    !verdict.gates.is_empty() && before_asking(&verdict.gates).next().is_none()
}

fn for_gate(case: &Case<'_>, gate: &'static str, asking: &mut Asking) {
    let (verifiers, needed) = availability::wanted(case, gate);
    let mut pending = verifiers.iter().filter(|one| asking.is_due(one)).count();
    let mut failing: Option<(&Verifier, Why)> = None;
    for verifier in verifiers.iter().copied() {
        let why = match standing(case, verifier) {
            Standing::Asked { .. } => {
                pending += 1;
                continue;
            }
            Standing::Unasked | Standing::Reported => continue,
            Standing::Silent { .. } => Why::Silent,
            Standing::Unavailable { .. } | Standing::Undecided { .. } => Why::Inconclusive,
            Standing::Untold { .. } => Why::Refused,
        };
        failing = Some((verifier, why));
    }
    if gate == "second_verifier"
        && let Some(second) = &case.policy.gates.second_verifier
        && let Some(at) = second_verifier::falls_back_at(case, second)
    {
        asking.look(at);
    }
    let room = needed.saturating_sub(pending);
    if room == 0 {
        return;
    }
    let fresh = fresh(case, &verifiers, asking, failing.map(|(one, _)| one));
    let mut due: Vec<Due> = Vec::new();
    for verifier in fresh.into_iter().take(room) {
        due.push(Due {
            verifier: verifier.name.clone(),
            why: why(case, gate, verifier, failing.map(|(_, why)| why)),
            gate,
        });
    }
    if due.is_empty() && pending == 0 {
        due.extend(once_more(case, gate, &verifiers, asking));
    }
    asking.due.extend(due);
}

/// Those nobody asked yet, in order; of the vendor of one that failed last.
fn fresh<'a>(
    case: &Case<'a>,
    verifiers: &[&'a Verifier],
    asking: &Asking,
    failing: Option<&Verifier>,
) -> Vec<&'a Verifier> {
    let mut fresh: Vec<&Verifier> = verifiers
        .iter()
        .copied()
        .filter(|one| can_be_told(case.policy.mode, one) && !asking.is_due(one))
        .filter(|one| standing(case, one) == Standing::Unasked)
        .collect();
    let vendor = |one: &Verifier| one.vendor.as_ref().map(|vendor| vendor.to_lowercase());
    fresh.sort_by_key(|one| {
        failing.is_some_and(|failing| vendor(failing).is_some() && vendor(failing) == vendor(one))
    });
    fresh
}

fn why(case: &Case<'_>, gate: &str, verifier: &Verifier, failing: Option<Why>) -> Why {
    let second = case.policy.gates.second_verifier.as_ref();
    let by_fallback = gate == "second_verifier"
        && second.is_some_and(|second| !second_verifier::without_fallback(case, second, verifier));
    match failing {
        _ if by_fallback => Why::Fallback,
        Some(why) => why,
        None => Why::First,
    }
}

/// Nobody else is left: whoever could not run is asked once more, or is waited for until it may be.
fn once_more(
    case: &Case<'_>,
    gate: &'static str,
    verifiers: &[&Verifier],
    asking: &mut Asking,
) -> Option<Due> {
    let soonest = verifiers
        .iter()
        .filter_map(|one| Some((once_more_at(case, one)?, &one.name)))
        .min();
    match soonest {
        None => {
            asking.nobody_left.push(gate);
            None
        }
        Some((at, _)) if at > case.snapshot.now => {
            asking.look(at);
            None
        }
        Some((_, name)) => Some(Due {
            verifier: name.clone(),
            why: Why::Again,
            gate,
        }),
    }
}

/// Whom a person means who asks for a verification without a name: the first that an open gate takes
/// reports from and that can be told now. `None` where one is being waited for, or nobody can be told.
pub fn next_in_line(snapshot: &Snapshot, verdict: &Verdict) -> Option<VerifierName> {
    let (policy, pull) = judged(snapshot)?;
    let reports = collect::reports(policy, snapshot);
    let case = Case::new(policy, snapshot, pull, &reports);
    let rank = |verifier: &Verifier| match standing(&case, verifier) {
        Standing::Asked { .. } => None,
        Standing::Unasked => Some(0),
        Standing::Unavailable { .. } => Some(1),
        Standing::Silent { .. } => Some(2),
        Standing::Untold { .. } => Some(3),
        Standing::Undecided { .. } => Some(4),
        Standing::Reported => Some(5),
    };
    let is_open = |gate: &&&str| {
        let mut gates = verdict.gates.iter();
        gates.any(|one| one.gate == ***gate && !one.state.passes())
    };
    for gate in ASKED_FOR.iter().filter(is_open) {
        let (verifiers, needed) = availability::wanted(&case, gate);
        let waited_for = verifiers.iter().filter(|one| rank(one).is_none()).count();
        if waited_for >= needed.max(1) {
            continue;
        }
        let tellable = verifiers
            .into_iter()
            .filter(|one| can_be_told(policy.mode, one));
        let ranked = tellable.filter_map(|one| Some((rank(one)?, one)));
        if let Some((_, verifier)) = ranked.min_by_key(|(rank, _)| *rank) {
            return Some(verifier.name.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests;
