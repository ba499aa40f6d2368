//! What `gates` means, and whether it can mean anything.

use std::collections::BTreeSet;

use super::decode::{
    app, conclusions, duration, flag, globs, list, parties, string, strings, texts, whole, word,
};
use super::globs::Globs;
use super::nearest::nearest;
use super::problems::{Problems, quoted};
use super::tree::{Node, Place};
use super::{
    Approvals, Checks, Description, Exercised, Fallback, Gates, Independence, MutationCheck,
    MutationDemand, RequiredCheck, SecondVerifier, Timeouts,
};
use crate::domain::facts::Conclusion;
use crate::domain::model::VerifierName;

/// The name of the check run the App publishes.
const OWN_CHECK: &str = "countersign";

/// What the gates of a file mean.
pub(super) fn decode(root: &Node, problems: &mut Problems) -> Gates {
    let Some(entry) = root.entry("gates") else {
        return Gates::default();
    };
    let node = &entry.node;
    // One with a fault was told of already; that a gate names it is no second fault.
    let verifiers = root.get("verifiers").map(Node::entries).unwrap_or_default();
    let verifiers: Vec<&str> = verifiers.iter().map(|entry| entry.key.as_str()).collect();
    let verifiers = verifiers.as_slice();
    let gates = Gates {
        checks: node.get("checks").and_then(|node| checks(node, problems)),
        certification: node
            .get("certification")
            .map(|node| by(node, verifiers, problems)),
        second_verifier: node
            .get("second_verifier")
            .map(|node| second_verifier(node, verifiers, problems)),
        mutation_check: node
            .get("mutation_check")
            .map(|node| mutation_check(node, verifiers, problems)),
        exercised: list(node, "exercised")
            .map(|node| Exercised {
                paths: globs(node, "paths", Globs::paths, problems).unwrap_or_default(),
                against: strings(node, "against"),
            })
            .collect(),
        approvals: node
            .get("approvals")
            .and_then(|node| approvals(node, problems)),
        description: node.get("description").and_then(description),
        max_changed_lines: node
            .get("size")
            .and_then(|node| whole(node, "max_changed_lines"))
            .map(u64::from),
    };
    somebody_verifies(node, root, problems);
    something_is_asked(&gates, entry.place, node, problems);
    gates
}

/// A gate that wants evidence is for ever open where nobody may bring any.
fn somebody_verifies(gates: &Node, root: &Node, problems: &mut Problems) {
    let named = root.get("verifiers").map(Node::entries).unwrap_or_default();
    if !named.is_empty() {
        return;
    }
    for gate in [
        "certification",
        "second_verifier",
        "mutation_check",
        "exercised",
    ] {
        let asks = |node: &Node| gate != "exercised" || !node.list().is_empty();
        if let Some(entry) = gates.entry(gate).filter(|entry| asks(&entry.node)) {
            let message = format!("`gates.{gate}` needs evidence, and `verifiers` names nobody");
            let hint = "say under `verifiers` who may report it".to_owned();
            problems.add(entry.place, message, Some(hint));
        }
    }
}

/// Form alone (size, description) and approvals alone leave nothing that was run: such a policy
/// would call a head verified that nothing exercised.
fn something_is_asked(gates: &Gates, place: Place, node: &Node, problems: &mut Problems) {
    let asked = gates.checks.is_some()
        || gates.certification.is_some()
        || gates.second_verifier.is_some()
        || gates.mutation_check.is_some()
        || !gates.exercised.is_empty();
    // What a malformed or misspelled gate would have asked was told already; that it also counts as
    // none would only confuse.
    let tried = node.entries().iter().any(|entry| {
        !matches!(entry.key.as_str(), "approvals" | "description" | "size") && !entry.node.is_bare()
    });
    if !asked && (problems.is_empty() || !tried) {
        let message = "the policy asks for nothing: no required check, and no gate for a verifier";
        let hint = "add `checks: { required: [...] }` or `second_verifier` to `gates`".to_owned();
        problems.add(place, message, Some(hint));
    }
}

fn checks(node: &Node, problems: &mut Problems) -> Option<Checks> {
    let mut seen = BTreeSet::new();
    let mut required = Vec::new();
    for item in list(node, "required") {
        let Some(name) = item
            .text()
            .map(str::to_owned)
            .or_else(|| string(item, "name"))
        else {
            continue;
        };
        let check = RequiredCheck {
            name,
            app: app(item),
            workflow: string(item, "workflow"),
        };
        let pinned = check.app.as_deref().map(str::to_lowercase);
        if !seen.insert((check.name.clone(), pinned, check.workflow.clone())) {
            let message = format!("{} is required twice", quoted(&check.name));
            problems.add(item.place, message, Some("keep one".to_owned()));
        }
        if check.name == OWN_CHECK && check.app.is_none() {
            let message = "`countersign` is this App's own check: it would wait for itself";
            let hint = "remove it here; require it in GitHub's branch rules".to_owned();
            problems.add(item.place, message, Some(hint));
        }
        required.push(check);
    }
    let mut also_passing = conclusions(node, "passing");
    if let Some(passing) = node.get("passing")
        && !also_passing.is_empty()
        && !also_passing.contains(&Conclusion::Success)
    {
        let message = "`gates.checks.passing` leaves out `success`, which always passes";
        let hint = "add `success`, so that the list says what passes".to_owned();
        problems.add(passing.place, message, Some(hint));
    }
    also_passing.retain(|conclusion| *conclusion != Conclusion::Success);
    (!required.is_empty()).then_some(Checks {
        required,
        also_passing,
    })
}

/// The verifiers a gate names, each of which must be one.
fn by(node: &Node, verifiers: &[&str], problems: &mut Problems) -> Vec<VerifierName> {
    let mut names = Vec::new();
    for item in list(node, "by") {
        let Some(Ok(name)) = item.text().map(VerifierName::parse) else {
            continue;
        };
        if !verifiers.contains(&name.as_str()) {
            let known = || verifiers.iter().copied();
            let hint = match nearest(name.as_str(), known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if verifiers.is_empty() => "name it under `verifiers`".to_owned(),
                None => format!("there are: {}", known().collect::<Vec<_>>().join(", ")),
            };
            let message = format!("{} is not one of `verifiers`", quoted(name.as_str()));
            problems.add(item.place, message, Some(hint));
        }
        names.push(name);
    }
    names
}

fn second_verifier(node: &Node, verifiers: &[&str], problems: &mut Problems) -> SecondVerifier {
    let gate = SecondVerifier {
        count: whole(node, "count").unwrap_or(1),
        independence: word(node, "independence").unwrap_or(Independence::Vendor),
        tests_executed: flag(node, "tests_executed").unwrap_or(true),
        max_age: duration(node, "max_age"),
        fallback: node.get("fallback").and_then(|node| {
            Some(Fallback {
                after: duration(node, "after")?,
                independence: word(node, "independence")?,
            })
        }),
    };
    let there = verifiers.len();
    if let Some(count) = node.get("count")
        && there > 0
        && usize::try_from(gate.count).is_ok_and(|count| count > there)
    {
        let message = format!(
            "`gates.second_verifier.count` asks for {} verifiers; the policy names {there}",
            gate.count
        );
        let hint = "name more under `verifiers`, or ask for fewer".to_owned();
        problems.add(count.place, message, Some(hint));
    }
    if let (Some(fallback), Some(place)) = (&gate.fallback, node.get("fallback"))
        && fallback.independence >= gate.independence
    {
        let message = "the fallback is not laxer than `independence`, so it never helps";
        let hint = "from laxest to strictest: `context`, `model`, `vendor`, `human`".to_owned();
        problems.add(place.place, message, Some(hint));
    }
    gate
}

fn mutation_check(node: &Node, verifiers: &[&str], problems: &mut Problems) -> MutationCheck {
    let demand = node
        .get("require")
        .and_then(|node| whole(node, "killed_at_least"));
    MutationCheck {
        critical: globs(node, "critical", Globs::paths, problems).unwrap_or_default(),
        except: globs(node, "except", Globs::paths, problems).unwrap_or_default(),
        require: demand.map_or(MutationDemand::EveryHunk, MutationDemand::KilledAtLeast),
        timeouts: match node.get("timeouts").and_then(Node::text) {
            Some("killed") => Timeouts::Killed,
            _ => Timeouts::Inconclusive,
        },
        by: by(node, verifiers, problems),
    }
}

fn approvals(node: &Node, problems: &mut Problems) -> Option<Approvals> {
    let approvals = Approvals {
        count: whole(node, "count").unwrap_or(0),
        from: parties(Some(node), "from"),
        conversations_resolved: flag(node, "conversations_resolved").unwrap_or(false),
        code_owners: flag(node, "code_owners").unwrap_or(false),
    };
    if let Some(asked) = node.get("code_owners").filter(|_| approvals.code_owners) {
        let message = "`gates.approvals.code_owners` is not judged by this version yet";
        let hint =
            "require code owners in GitHub's branch rules, and write `false` here".to_owned();
        problems.add(asked.place, message, Some(hint));
    }
    (approvals.count > 0 || approvals.conversations_resolved || approvals.code_owners)
        .then_some(approvals)
}

fn description(node: &Node) -> Option<Description> {
    let description = Description {
        closes_issue: flag(node, "closes_issue").unwrap_or(false),
        sections: texts(node, "sections").map(str::to_owned).collect(),
    };
    (description != Description::default()).then_some(description)
}
