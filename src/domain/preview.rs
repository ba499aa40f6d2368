//! What another policy would change: two verdicts over the same facts in, their differences out.
//!
//! A difference is what somebody would notice: another outcome, another way to land, a gate that is open
//! under one of the two policies and not in the same state under the other. A gate that passes, or is
//! not asked for, on both sides is none: a policy that asks for more of what is there changes nothing.

use serde::{Deserialize, Serialize};

use super::facts::Comparison;
use super::model::{BaseRef, PullNumber};
use super::policy::{self, Problem};
use super::verdict::{GateResult, Landing, Outcome, Verdict};

/// What a change of the policy would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preview {
    /// The changed file could not be read; why.
    Unreadable(String),
    /// It does not validate: merging would stop.
    Invalid(Vec<Problem>),
    /// It is valid, or gone: what would become of the open pull requests.
    Effects(Effects),
}

/// What would apply after the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Then {
    /// The new text of the policy.
    NewPolicy,
    /// The file would be gone, and the organisation's default apply; which.
    Default(String),
    /// The file would be gone, and no policy apply.
    Nothing,
}

/// What would become of the open pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effects {
    /// Into which base; `None` for every base.
    pub base: Option<BaseRef>,
    /// What would apply.
    pub then: Then,
    /// Those that would stand otherwise.
    pub changes: Vec<Difference>,
    /// How many would stay as they are.
    pub same: usize,
    /// How many were not looked at.
    pub left_out: usize,
    /// It is the account's default as well: repositories without a policy would follow it.
    pub default_too: bool,
}

/// One pull request that would stand otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// Which.
    pub number: PullNumber,
    /// Its outcome now.
    pub before: Outcome,
    /// And then.
    pub after: Outcome,
    /// Who merges it once it is ready, now and then, where that differs.
    pub landing: Option<(Landing, Landing)>,
    /// Its gates that differ.
    pub gates: Vec<GateDifference>,
}

/// One gate that would stand otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateDifference {
    /// Its fixed name.
    pub gate: String,
    /// The word for its state now; `None` where it is not asked for.
    pub before: Option<String>,
    /// And then.
    pub after: Option<String>,
    /// Why: of the state then, or, where it would not be asked for any more, of the state now.
    pub reason: String,
}

/// Whether what lies between base and head touches the policy's file, also by moving it.
pub fn touches_policy(comparison: &Comparison) -> bool {
    let mut files = comparison.files.items.iter();
    files.any(|file| file.path == policy::PATH || file.old_path.as_deref() == Some(policy::PATH))
}

/// How two verdicts on one pull request differ; `None` where nobody would notice.
pub fn difference(before: &Verdict, after: &Verdict) -> Option<Difference> {
    let gates = gates(&before.gates, &after.gates);
    let landing = (before.landing != after.landing).then_some((before.landing, after.landing));
    if before.outcome == after.outcome && landing.is_none() && gates.is_empty() {
        return None;
    }
    Some(Difference {
        number: before.number,
        before: before.outcome,
        after: after.outcome,
        landing,
        gates,
    })
}

fn gates(before: &[GateResult], after: &[GateResult]) -> Vec<GateDifference> {
    let in_after = after.iter().map(|gate| &gate.gate);
    let only_before = before
        .iter()
        .map(|gate| &gate.gate)
        .filter(|name| !after.iter().any(|gate| gate.gate == **name));
    in_after
        .chain(only_before)
        .filter_map(|name| {
            let named = |gates: &'_ [GateResult]| gates.iter().position(|gate| gate.gate == *name);
            let before = named(before).and_then(|at| before.get(at));
            let after = named(after).and_then(|at| after.get(at));
            one_gate(before, after)
        })
        .collect()
}

fn one_gate(before: Option<&GateResult>, after: Option<&GateResult>) -> Option<GateDifference> {
    let open = |gate: Option<&GateResult>| gate.is_some_and(|gate| !gate.state.passes());
    let word = |gate: Option<&GateResult>| gate.map(|gate| gate.state.word().to_owned());
    if word(before) == word(after) || !(open(before) || open(after)) {
        return None;
    }
    let told = after.or(before)?;
    Some(GateDifference {
        gate: told.gate.clone(),
        before: word(before),
        after: word(after),
        reason: told.reason.clone(),
    })
}

impl Effects {
    /// Nothing compared yet.
    pub fn none(base: Option<BaseRef>, then: Then) -> Self {
        Self {
            base,
            then,
            changes: Vec::new(),
            same: 0,
            left_out: 0,
            default_too: false,
        }
    }

    /// Counts one pull request in, by its verdicts now and then.
    pub fn compare(&mut self, before: &Verdict, after: &Verdict) {
        match difference(before, after) {
            Some(difference) => self.changes.push(difference),
            None => self.same += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::facts::{ChangeKind, FileChange, Snapshot};
    use crate::domain::testing::*;
    use crate::domain::verdict::decide;

    fn between(snapshot: Snapshot, new: &str) -> Option<Difference> {
        let before = decide(&snapshot);
        difference(&before, &decide(&under(new, snapshot)))
    }

    fn told(difference: &Difference) -> String {
        let mut text = format!("{:?} -> {:?}", difference.before, difference.after);
        for gate in &difference.gates {
            text += &format!("; {}: {:?} -> {:?}", gate.gate, gate.before, gate.after);
        }
        text
    }

    #[test]
    fn a_policy_that_asks_for_more_of_what_is_there_changes_nothing() {
        assert_eq!(between(snapshot(), POLICY), None);
        let more = policy_with("required: [unit]", "required: [unit, 'uni*']");
        assert_eq!(between(snapshot(), &more), None);
        let less = policy_with("  certification: { by: [gemini] }\n", "");
        assert_eq!(between(snapshot(), &less), None);
    }

    #[test]
    fn a_gate_that_would_wait_is_named_with_its_reason() {
        let two = policy_with("count: 1", "count: 2");
        let found = between(snapshot(), &two).unwrap();
        assert_eq!(found.number.get(), 1);
        assert_eq!(
            told(&found),
            r#"Ready -> Waiting; second_verifier: Some("satisfied") -> Some("waiting")"#
        );
        assert!(found.gates[0].reason.contains("1 of 2"), "{found:?}");
        assert_eq!(found.landing, None);
    }

    #[test]
    fn a_gate_that_is_asked_for_newly_or_no_more_is_named_where_it_is_open() {
        let new = policy_with("gates:\n", "gates:\n  approvals: { count: 1 }\n");
        let found = between(snapshot(), &new).unwrap();
        assert_eq!(
            told(&found),
            r#"Ready -> Waiting; approvals: None -> Some("waiting")"#
        );
        let back = difference(
            &decide(&under(&new, snapshot())),
            &decide(&under(POLICY, snapshot())),
        );
        let back = back.unwrap();
        assert_eq!(
            told(&back),
            r#"Waiting -> Ready; approvals: Some("waiting") -> None"#
        );
        assert!(back.gates[0].reason.contains("approv"), "{back:?}");
    }

    #[test]
    fn who_merges_counts_although_every_gate_stays() {
        let people = policy_with("when: ready", "when: never");
        let found = between(snapshot(), &people).unwrap();
        assert_eq!(told(&found), "Ready -> Ready");
        assert_eq!(found.landing, Some((Landing::Now, Landing::ByPeople)));
    }

    #[test]
    fn the_policy_is_touched_by_a_change_of_its_file_and_by_a_move_to_or_from_it() {
        let with = |path: &str, old: Option<&str>| {
            let mut comparison = comparison();
            comparison.files.items.push(FileChange {
                old_path: old.map(str::to_owned),
                kind: ChangeKind::Renamed,
                ..file(path, Vec::new())
            });
            touches_policy(&comparison)
        };
        assert!(with(".github/countersign.yml", None));
        assert!(with(".github/countersign.yml", Some("draft.yml")));
        assert!(with("old.yml", Some(".github/countersign.yml")));
        assert!(!with(".github/countersign.yaml", Some("countersign.yml")));
        assert!(!touches_policy(&comparison()));
    }

    #[test]
    fn what_was_compared_is_counted_whole() {
        let mut effects = Effects::none(None, Then::NewPolicy);
        let ready = decide(&snapshot());
        let waiting = decide(&under(&policy_with("count: 1", "count: 2"), snapshot()));
        effects.compare(&ready, &ready);
        effects.compare(&ready, &waiting);
        assert_eq!((effects.changes.len(), effects.same), (1, 1));
    }
}
