//! A verdict for programs: the one JSON that API and `explain --json` answer with, and its short form
//! on the check run. Field names are stable; new ones may come.

use serde_json::{Value, json};

use crate::domain::model::RepoName;
use crate::domain::verdict::{GateResult, Move, State, Verdict};

/// The whole tree.
pub fn value(verdict: &Verdict, name: &RepoName) -> Value {
    let open: Vec<_> = verdict
        .open_gates()
        .map(|gate| move_value(&gate.state.whose_move()))
        .fold(Vec::new(), |mut moves, on| {
            if !moves.contains(&on) {
                moves.push(on);
            }
            moves
        });
    json!({
        "repository": name,
        "number": verdict.number,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "headline": verdict.foremost().map_or(&verdict.reason, |gate| &gate.reason),
        "head": verdict.head,
        "base": verdict.base,
        "base_tip": verdict.base_tip,
        "policy": verdict.policy,
        "mode": verdict.mode,
        "landing": verdict.landing,
        "by_agent": verdict.by_agent,
        "at": verdict.at,
        "freshness": verdict.freshness,
        "snapshot": verdict.snapshot,
        "whose_move": open,
        "gates": verdict.gates.iter().map(gate).collect::<Vec<_>>(),
    })
}

/// The stable fields that stand on the check run.
pub fn short(verdict: &Verdict) -> Value {
    let gates: Vec<_> = verdict
        .gates
        .iter()
        .map(|gate| {
            json!({
                "name": gate.gate,
                "state": gate.state.word(),
                "reason": shortened(&gate.reason),
                "since": gate.since,
                "whose_move": move_value(&gate.state.whose_move()),
            })
        })
        .collect();
    json!({
        "outcome": verdict.outcome,
        "head": verdict.head,
        "base": verdict.base,
        "policy": verdict.policy,
        "gates": gates,
    })
}

/// A reason that cannot fill the page on its own.
fn shortened(reason: &str) -> String {
    const MOST: usize = 500;
    if reason.chars().count() <= MOST {
        return reason.to_owned();
    }
    reason.chars().take(MOST).chain(['…']).collect()
}

fn gate(result: &GateResult) -> Value {
    let rests_on = match &result.state {
        State::Satisfied { proof } => json!(proof.records()),
        State::Overridden { by } => json!([{ "what": format!("override by {by}"), "url": null }]),
        _ => json!([]),
    };
    json!({
        "name": result.gate,
        "state": result.state.word(),
        "reason": result.reason,
        "rests_on": rests_on,
        "since": result.since,
        "whose_move": move_value(&result.state.whose_move()),
        "next": result.next,
        "details": result.details.iter().map(gate).collect::<Vec<_>>(),
    })
}

/// `"author"`, or `{"verifier": ["codex"]}`.
fn move_value(on: &Move) -> Value {
    json!(on)
}
