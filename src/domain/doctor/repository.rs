//! One repository: its policy, and whether GitHub holds everybody to the gate.

use super::facts::RepositoryFacts;
use super::{Check, State};
use crate::domain::facts::{Fetched, PolicyFact};
use crate::domain::policy::lint::{self, Finding, Methods, Severity, Subject};
use crate::domain::policy::{self, Mode, Policy, Problem};
use crate::domain::prospects;

/// How many problems of a policy are shown here; `policy check` shows all.
const MOST_PROBLEMS: usize = 3;

/// Judges a repository.
pub(super) fn judge(facts: &RepositoryFacts) -> Vec<Check> {
    const NAME: &str = "policy";
    let branch = facts.default_branch.as_ref();
    let at = branch.map_or_else(String::new, |branch| format!(" on `{branch}`"));
    let mut checks = match &facts.policy {
        PolicyFact::Absent => {
            let seen = format!(
                "there is no {}{at}: the App does nothing here",
                policy::PATH
            );
            let mend = "commit one; the README shows an example";
            vec![Check::new(NAME, State::Warning, seen).mend(mend)]
        }
        PolicyFact::Unavailable(why) => {
            let seen = format!("could not look at {}{at}: {why}", policy::PATH);
            vec![
                Check::new(NAME, State::Unknown, seen).mend("mend what GitHub names, or try again"),
            ]
        }
        PolicyFact::Invalid { problems, .. } => vec![invalid(problems, &at)],
        PolicyFact::Valid { policy, .. } => valid(policy, facts, &at),
    };
    if let Some(reality) = &facts.reality {
        checks.insert(1.min(checks.len()), methods(&reality.methods));
    }
    checks
}

fn invalid(problems: &[Problem], at: &str) -> Check {
    let shown: Vec<String> = problems
        .iter()
        .take(MOST_PROBLEMS)
        .map(|problem| match problem.line {
            0 => problem.message.clone(),
            line => format!("line {line}: {}", problem.message),
        })
        .collect();
    let count = problems.len();
    let plural = if count == 1 { "" } else { "s" };
    let seen = format!(
        "{}{at} does not validate ({count} problem{plural}), so nothing merges: {}",
        policy::PATH,
        shown.join("; ")
    );
    let mend = "`countersign policy check FILE` shows every problem with its line";
    Check::new("policy", State::Problem, seen).mend(mend)
}

fn valid(policy: &Policy, facts: &RepositoryFacts, at: &str) -> Vec<Check> {
    let mode = match policy.mode {
        Mode::Enforce => "enforces",
        Mode::Observe => "observes, merges nothing",
    };
    let seen = format!("{}{at} is valid; it {mode}", policy::PATH);
    let mut checks = vec![Check::new("policy", State::Ok, seen)];
    let foretold = prospects::judge(&facts.text, policy);
    checks.extend(foretold.iter().map(|finding| found("policy", finding)));
    let Some(reality) = &facts.reality else {
        return checks;
    };
    let mut findings = lint::judge(&facts.text, policy, reality);
    // That the methods could not be read is said with the methods.
    findings.retain(|one| (one.subject, one.severity) != (Subject::Method, Severity::Blind));
    let (gate, others): (Vec<_>, Vec<_>) = findings
        .iter()
        .partition(|finding| finding.subject == Subject::OwnCheck);
    checks.extend(others.into_iter().map(|finding| found("policy", finding)));
    for (base, rules) in &reality.bases {
        if let Fetched::Known(Some(rules)) = rules
            && lint::Gate::of(rules, reality.own_app) == lint::Gate::Closed
        {
            let seen = format!(
                "GitHub requires the check `{}` on `{base}`, from this App alone",
                lint::OWN_CHECK
            );
            checks.push(Check::new("gate", State::Ok, seen));
        }
    }
    checks.extend(gate.into_iter().map(|finding| found("gate", finding)));
    checks
}

fn found(name: &str, finding: &Finding) -> Check {
    let state = match finding.severity {
        Severity::Error => State::Problem,
        Severity::Warning => State::Warning,
        Severity::Blind => State::Unknown,
    };
    let seen = match (finding.line, finding.key.as_str()) {
        (_, "") => finding.what.clone(),
        (0, key) => format!("{key}: {}", finding.what),
        (line, key) => format!("line {line}, {key}: {}", finding.what),
    };
    Check {
        mend: finding.mend.clone(),
        ..Check::new(name, state, seen)
    }
}

/// Which methods the repository allows. Whether the policy's is among them is a finding of the lint.
fn methods(methods: &Fetched<Methods>) -> Check {
    const NAME: &str = "merge methods";
    let Fetched::Known(methods) = methods else {
        let why = methods.require().err().unwrap_or_default();
        let seen = format!("could not look at the merge methods: {why}");
        return Check::new(NAME, State::Unknown, seen).mend("mend what GitHub names, or try again");
    };
    let all = [
        ("merge", methods.merge),
        ("squash", methods.squash),
        ("rebase", methods.rebase),
    ];
    let allowed: Vec<_> = all
        .iter()
        .filter(|(_, allowed)| *allowed == Some(true))
        .map(|(name, _)| *name)
        .collect();
    if allowed.is_empty() {
        let seen = "could not look at the merge methods: GitHub does not tell this App";
        let mend = "grant the App `contents: write`";
        return Check::new(NAME, State::Unknown, seen).mend(mend);
    }
    let seen = format!("the repository allows {}", allowed.join(", "));
    Check::new(NAME, State::Ok, seen)
}
