//! Gates that an owner waived for this head.

use crate::domain::facts::{PolicyFact, Snapshot};
use crate::domain::request::{Override, WAIVABLE};
use crate::domain::verdict::{GateResult, State};

/// Nothing is to be done for a waived gate, nor for what it is made of.
fn no_step(gate: &mut GateResult) {
    gate.next = None;
    gate.details.iter_mut().for_each(no_step);
}

/// Applies the waivers that are bound to exactly this head, base and policy.
pub fn apply(snapshot: &Snapshot, gates: &mut [GateResult]) {
    let (Some(pull), PolicyFact::Valid { digest, .. }) = (snapshot.pull.known(), &snapshot.policy)
    else {
        return;
    };
    let bound = |waiver: &&Override| {
        waiver.head == pull.head && waiver.base == pull.base && waiver.policy == *digest
    };
    for waiver in snapshot.overrides.iter().filter(bound) {
        let named = |gate: &&mut GateResult| gate.gate == waiver.gate;
        let Some(gate) = gates.iter_mut().find(named) else {
            continue;
        };
        if !WAIVABLE.contains(&gate.gate.as_str()) {
            continue;
        }
        match gate.state {
            State::Waiting { .. } | State::Failed { .. } => {
                gate.reason = format!(
                    "Waived for this head by {} ({}): {}. It said: {}",
                    waiver.by,
                    waiver.category.text(),
                    waiver.reason.trim_end_matches('.'),
                    gate.reason
                );
                gate.state = State::Overridden {
                    by: waiver.by.to_string(),
                };
                no_step(gate);
            }
            State::Undetermined { .. } => {
                gate.reason = format!(
                    "{} (The waiver by {} does not help: a fact that could not be read cannot be waived.)",
                    gate.reason, waiver.by
                );
            }
            State::Satisfied { .. } | State::Skipped | State::Overridden { .. } => {}
        }
    }
}
