//! A verdict in words. Rendering never decides: it says what the tree says.

pub mod check;
pub mod json;
mod markdown;
pub mod terminal;

use super::verdict::Move;

/// Whose move it is, in words.
pub fn whose_move(on: &Move) -> String {
    match on {
        Move::Nobody => "nobody".into(),
        Move::Author => "the author".into(),
        Move::Verifier(names) if names.is_empty() => "a verifier".into(),
        Move::Verifier(names) => names.join(" or "),
        Move::Ci => "CI".into(),
        Move::Maintainer => "somebody with write access".into(),
        Move::Owner => "an owner of the policy".into(),
        Move::GitHub => "GitHub".into(),
        Move::Countersign => "Countersign".into(),
        Move::Operator => "the operator".into(),
    }
}

/// A gate's name as people read it: `second_verifier` becomes "second verifier".
pub fn gate_name(gate: &str) -> String {
    match gate {
        "not_draft" => "not a draft".into(),
        "conflicts" => "no conflicts".into(),
        "base" => "base branch".into(),
        other => other.replace('_', " "),
    }
}
