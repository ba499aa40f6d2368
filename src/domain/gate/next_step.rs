//! What to do next, for every gate that is open: a gate without an exact step of its own gets the one
//! that follows from whose move it is. Nobody is left with a reason and no way on.

use crate::domain::policy::Policy;
use crate::domain::verdict::{GateResult, Move};

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
    let told = |name: &&String| {
        let mut verifiers = policy.verifiers.values();
        verifiers.any(|one| one.name.as_str() == name.as_str() && one.request.is_some())
    };
    let (told, others): (Vec<&String>, Vec<&String>) = names.iter().partition(told);
    let commands: Vec<_> = told
        .iter()
        .map(|name| command(Some(policy), &format!("verify {name}")))
        .collect();
    let others: Vec<_> = others.iter().map(|name| name.as_str()).collect();
    let yourself = format!("ask {} yourself", others.join(" or "));
    match (commands.as_slice(), others.as_slice()) {
        ([], []) => "name a verifier in the policy".to_owned(),
        (commands, []) => format!("comment {}", commands.join(" or ")),
        ([], _) => format!("{yourself}: the policy names no `request` by which Countersign could"),
        (commands, _) => format!("comment {}, or {yourself}", commands.join(" or ")),
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
