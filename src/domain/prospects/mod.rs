//! What the text of a valid policy foretells by itself: gates that no pull request can pass, and settings
//! that nothing acts on.
//!
//! Such a policy says what it means, so the gate takes it, and then every pull request waits for ever for
//! somebody who cannot come. The question asked here is the second verifier's own, before there is a pull
//! request: for each kind of author that the policy tells apart (its agents, people), is there any set of
//! its verifiers whose approvals would be enough, even once the fallback is in use? Difference is measured
//! by the gate's own rule ([`principals::difference`]), so the two cannot come to disagree.
//!
//! Something is called impossible only where no report of anybody could make it possible. What hangs on the
//! pull request (who wrote which commit, who is in a team, a bot that the policy does not name) is left out.
//! An owner may still waive a gate for one head: a person's word is no countersignature.

mod second;
#[cfg(test)]
mod tests;

use super::policy::lint::{Finding, Findings, Severity, Step, Subject};
use super::policy::{Approvals, Party, Policy};

/// Judges a valid policy, whose text is `text`. The findings come in the order of the file.
pub fn judge(text: &str, policy: &Policy) -> Vec<Finding> {
    let mut findings = Findings::of(text);
    if let Some(gate) = &policy.gates.second_verifier {
        second::judge(policy, gate, &mut findings);
    }
    if let Some(gate) = &policy.gates.approvals {
        approvals(gate, &mut findings);
    }
    without_effect(policy, &mut findings);
    findings.in_order()
}

/// A list of people that is shorter than the approvals it must give. Who is in a team is not known here.
fn approvals(gate: &Approvals, findings: &mut Findings<'_>) {
    let mut people: Vec<String> = Vec::new();
    for party in &gate.from {
        match party {
            Party::Team { .. } => return,
            Party::User(login) => people.push(login.as_str().to_ascii_lowercase()),
        }
    }
    people.sort();
    people.dedup();
    let there = people.len();
    if there == 0 || there as u64 >= u64::from(gate.count) {
        return;
    }
    let at = [
        Step::Key("gates"),
        Step::Key("approvals"),
        Step::Key("count"),
    ];
    let what = format!(
        "no pull request can ever have its approvals: {} people must approve, and `from` names {there}",
        gate.count
    );
    let mend = "name more people (or a team) under `from`, or ask for fewer";
    findings.add(
        Severity::Error,
        Subject::Party,
        &at,
        what,
        Some(mend.into()),
    );
}

/// What the policy may say and nothing does yet.
fn without_effect(policy: &Policy, findings: &mut Findings<'_>) {
    if policy.merge.update_auto {
        let what = "this version merges no base into a head: `merge.update` has no effect yet";
        let mend = "update branches on GitHub, or write `never`";
        let at = [Step::Key("merge"), Step::Key("update")];
        findings.add(
            Severity::Warning,
            Subject::Dead,
            &at,
            what,
            Some(mend.into()),
        );
    }
    if !policy.notify.is_empty() {
        let what = "this version posts no news anywhere: `notify` has no effect yet";
        let mend = "watch the dashboard or `/metrics` instead; the entry may stay";
        let at = [Step::Key("notify")];
        findings.add(
            Severity::Warning,
            Subject::Dead,
            &at,
            what,
            Some(mend.into()),
        );
    }
}
