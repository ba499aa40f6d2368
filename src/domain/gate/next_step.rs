//! What to do next, for every gate that is open: a gate without an exact step of its own gets the one
//! that follows from whose move it is. Nobody is left with a reason and no way on.
//!
//! Verifiers come late: while something cheaper is open, a gate that waits for one says so instead of sending
//! a person to ask for what may be void by the time it is there. What counts as cheaper is said here once,
//! for these words and for who does the asking.

use crate::domain::policy::{Mode, Policy};
use crate::domain::verdict::{GateResult, Move, State};

/// The gates that Countersign asks verifiers for, in this order.
pub const ASKED_FOR: [&str; 3] = ["certification", "second_verifier", "mutation_check"];
/// The gates that need not pass before a verifier is asked: those that reports answer, and people's approvals.
const NOT_BEFORE: [&str; 5] = [
    "certification",
    "second_verifier",
    "mutation_check",
    "exercised",
    "approvals",
];

/// The gates that must pass before a verifier is asked: all that costs less than a verification, and those
/// by which a verifier objects.
pub fn before_asking(gates: &[GateResult]) -> impl Iterator<Item = &GateResult> {
    // What people must do about reviews is no matter of a verifier's.
    let of_people = |gate: &GateResult| {
        gate.gate == "platform_rules" && gate.state.whose_move() == Move::Maintainer
    };
    let in_the_way = move |gate: &&GateResult| match NOT_BEFORE.contains(&gate.gate.as_str()) {
        true => matches!(gate.state, State::Failed { .. }) && gate.gate != "approvals",
        false => !gate.state.passes() && !of_people(gate),
    };
    gates.iter().filter(in_the_way)
}

/// A gate's name as people read it: `second_verifier` is "second verifier".
pub fn shown(gate: &str) -> String {
    match gate {
        "not_draft" => "not a draft".into(),
        "conflicts" => "no conflicts".into(),
        "base" => "base branch".into(),
        other => other.replace('_', " "),
    }
}

/// A command as it may be written in a comment here. The long form is understood under every policy.
pub fn command(policy: Option<&Policy>, words: &str) -> String {
    match policy {
        Some(policy) if policy.short_commands => format!("`/{words}`"),
        _ => format!("`/countersign {words}`"),
    }
}

/// The step that asks these verifiers for a report. A command tells only those for whom the policy says
/// how they are told.
pub fn ask(policy: &Policy, names: &[String]) -> String {
    let (told, others) = by_request(policy, names);
    let commands = commands(policy, &told);
    let yourself = format!("ask {} yourself", others.join(" or "));
    match (told.as_slice(), others.as_slice()) {
        ([], []) => "name a verifier in the policy".to_owned(),
        (_, []) => format!("comment {commands}"),
        ([], _) => format!("{yourself}: the policy names no `request` by which Countersign could"),
        _ => format!("comment {commands}, or {yourself}"),
    }
}

/// The step while these gates are open, which come first: who asks once they pass.
fn ask_later(policy: &Policy, gate: &str, names: &[String], first: &str) -> String {
    let (told, others) = by_request(policy, names);
    let asks_itself = policy.mode == Mode::Enforce && ASKED_FOR.contains(&gate);
    let by_request = match asks_itself {
        true => format!("wait: Countersign asks {}", told.join(" or ")),
        false => format!("comment {}", commands(policy, &told)),
    };
    let people = others.join(" or ");
    match (told.as_slice(), others.as_slice()) {
        ([], []) => ask(policy, names),
        (_, []) => format!("{by_request} once these pass: {first}"),
        ([], _) => format!(
            "ask {people} once these pass: {first} (the policy names no `request` by which Countersign could)"
        ),
        _ => format!("{by_request} once these pass: {first}; or ask {people} then"),
    }
}

/// Those whom the policy says how to tell, and the others.
fn by_request<'n>(policy: &Policy, names: &'n [String]) -> (Vec<&'n str>, Vec<&'n str>) {
    let told = |name: &&str| {
        let mut verifiers = policy.verifiers.values();
        verifiers.any(|one| one.name.as_str() == *name && one.request.is_some())
    };
    names.iter().map(String::as_str).partition(told)
}

fn commands(policy: &Policy, names: &[&str]) -> String {
    let one = |name: &&str| command(Some(policy), &format!("verify {name}"));
    names.iter().map(one).collect::<Vec<_>>().join(" or ")
}

/// While gates are open that come before any verifier, those that wait for one say so. A step that is about
/// somebody who was asked already stays as it is.
pub fn put_off(gates: &mut [GateResult], policy: &Policy) {
    // What only has to be read from GitHub is read when all else is there: nobody need wait for it.
    let unread = |gate: &&GateResult| gate.state.whose_move() == Move::GitHub;
    let first = before_asking(gates).filter(|gate| !unread(gate));
    let first: Vec<_> = first.map(|gate| shown(&gate.gate)).collect();
    if first.is_empty() {
        return;
    }
    let first = first.join(", ");
    for gate in gates {
        let name = gate.gate.clone();
        put_off_one(gate, policy, &name, &first);
    }
}

fn put_off_one(gate: &mut GateResult, policy: &Policy, top: &str, first: &str) {
    if let State::Waiting {
        on: Move::Verifier(names),
    } = &gate.state
        && gate.next.as_deref() == Some(&ask(policy, names))
    {
        gate.next = Some(ask_later(policy, top, names, first));
    }
    for part in &mut gate.details {
        put_off_one(part, policy, top, first);
    }
}

/// Gives every open gate that says no next step of its own the one that follows from whose move it is.
pub fn fill(gates: &mut [GateResult], policy: Option<&Policy>) {
    for gate in gates.iter_mut().filter(|gate| !gate.state.passes()) {
        if gate.next.is_none() {
            gate.next = Some(by_move(&gate.state.whose_move(), policy));
        }
    }
}

fn by_move(on: &Move, policy: Option<&Policy>) -> String {
    let recheck = command(policy, "recheck");
    match on {
        Move::GitHub => format!("wait for GitHub; comment {recheck} to have it asked again"),
        Move::Countersign | Move::Nobody => {
            format!(
                "wait, Countersign looks again by itself; comment {recheck} to have it look now"
            )
        }
        Move::Ci => format!("wait for CI; comment {recheck} if it has reported"),
        Move::Verifier(names) => match policy {
            Some(policy) => ask(policy, names),
            None => format!("comment {}", command(None, "verify")),
        },
        Move::Author => "push a commit that settles it".to_owned(),
        Move::Maintainer => "ask somebody with write access to settle it".to_owned(),
        Move::Owner => "ask an owner of the policy to settle it".to_owned(),
        Move::Operator => "ask the operator of this server; its log has the cause".to_owned(),
    }
}
