//! The gates: one file each, one requirement each.
//!
//! A gate judges one requirement over the facts, says why in a sentence, and says whose move it is.
//! It is total: whatever the facts, it answers. It never asks anybody anything; a missing fact is
//! "undetermined".

pub mod standing;

use super::facts::{PullRequest, Snapshot};
use super::policy::{Agents, Policy};
use super::verdict::GateResult;

/// Whether a pull request counts as an agent's.
pub fn is_agents(agents: &Agents, pull: &PullRequest) -> bool {
    let by_author = pull
        .author
        .as_ref()
        .is_some_and(|author| agents.authors.contains(&author.login));
    let by_label = pull
        .labels
        .iter()
        .any(|label| agents.labels.iter().any(|l| l.eq_ignore_ascii_case(label)));
    by_author || by_label || agents.branches.matches(&pull.head_ref)
}

/// Judges every gate: the standing ones first, then those the policy declares.
pub fn judge_all(policy: &Policy, snapshot: &Snapshot) -> Vec<GateResult> {
    let _ = (policy, snapshot);
    unimplemented!("the gates room")
}
