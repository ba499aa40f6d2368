//! Verifiers, people and teams: are they there, and is anything asked of them?

use std::collections::BTreeSet;

use super::{Facts, Findings, Producer, Severity, Step, Subject, checks};
use crate::domain::facts::Fetched;
use crate::domain::model::{ActorKind, VerifierName};
use crate::domain::policy::nearest::nearest;
use crate::domain::policy::{Identity, Party, Policy, Verifier};

/// Judges everybody a policy names.
pub(super) fn judge(policy: &Policy, facts: &Facts, findings: &mut Findings<'_>) {
    for verifier in policy.verifiers.values() {
        identity(verifier, facts, findings);
        used(policy, verifier, findings);
    }
    unasked(policy, findings);
    overlap(policy, findings);
    for (index, author) in policy.agents.authors.iter().enumerate() {
        let at = [Step::Key("agents"), Step::Key("authors"), Step::Item(index)];
        let nobody = "nobody's pull requests count as agents' by it";
        user(
            author.as_str(),
            &at,
            Severity::Warning,
            nobody,
            facts,
            findings,
        );
    }
    parties(&policy.owners, &[Step::Key("owners")], facts, findings);
    if let Some(approvals) = &policy.gates.approvals {
        let at = [
            Step::Key("gates"),
            Step::Key("approvals"),
            Step::Key("from"),
        ];
        parties(&approvals.from, &at, facts, findings);
    }
}

fn identity(verifier: &Verifier, facts: &Facts, findings: &mut Findings<'_>) {
    let name = verifier.name.as_str();
    let at = |key| [Step::Key("verifiers"), Step::Key(name), Step::Key(key)];
    match &verifier.identity {
        Identity::AppSlug(slug) => app(slug, &at("app"), facts, findings),
        Identity::AppId(id) => {
            let id = id.to_string();
            if !facts.reports().any(|report| checks::is_by(&id, report)) {
                let what = format!(
                    "the App {id} never made a check run here: looked at {}; GitHub tells nothing more \
                     of an App by its number",
                    facts.looked_at()
                );
                findings.warning(Subject::Verifier, &at("app"), what, ONLY_TEXT);
            }
        }
        Identity::User(login) => {
            let login = login.as_str();
            let nobody = "its reports would never come";
            user(login, &at("user"), Severity::Error, nobody, facts, findings);
        }
        Identity::Workflow(_) | Identity::Key(_) => {}
    }
}

const ONLY_TEXT: &str = "see that it is installed on this repository and is asked for a run; one that \
                         reports in reviews and comments alone is not seen here";

fn app(slug: &str, at: &[Step<'_>], facts: &Facts, findings: &mut Findings<'_>) {
    // Whoever reported is there, whatever GitHub shows of it.
    if facts.reports().any(|report| checks::is_by(slug, report)) {
        return;
    }
    let known = facts.apps.get(&slug.to_lowercase());
    match known.unwrap_or(&Fetched::NotAsked) {
        Fetched::Known(true) => {
            let what = format!(
                "the App `{slug}` never made a check run here: looked at {}; whether it is installed, \
                 GitHub tells no other App",
                facts.looked_at()
            );
            findings.warning(Subject::Verifier, at, what, ONLY_TEXT);
        }
        Fetched::Known(false) => {
            let seen: BTreeSet<&str> = facts
                .reports()
                .filter_map(|report| match &report.by {
                    Producer::App(app) => Some(app.slug.as_str()),
                    _ => None,
                })
                .collect();
            let what = format!("GitHub knows no App `{slug}`, and none of that name reported here");
            let mend = match nearest(slug, seen) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    "write the slug as it stands in the App's address: github.com/apps/SLUG".into()
                }
            };
            findings.error(Subject::Verifier, at, what, &mend);
        }
        unread => {
            let why = unread.require().err().unwrap_or_default();
            findings.blind(Subject::Verifier, at, &format!("the App `{slug}`"), why);
        }
    }
}

/// Whether a gate reads the evidence of a verifier.
fn is_read(policy: &Policy, name: &VerifierName) -> bool {
    let gates = &policy.gates;
    let certifies = gates.certification.as_ref();
    let mutates = gates.mutation_check.as_ref();
    gates.second_verifier.is_some()
        || !gates.exercised.is_empty()
        || certifies.is_some_and(|by| by.contains(name))
        || mutates.is_some_and(|gate| gate.by.is_empty() || gate.by.contains(name))
}

/// A verifier whose evidence no gate reads.
fn used(policy: &Policy, verifier: &Verifier, findings: &mut Findings<'_>) {
    let name = &verifier.name;
    if !is_read(policy, name) {
        let at = [Step::Key("verifiers"), Step::Key(name.as_str())];
        let what = format!("no gate reads what the verifier `{name}` reports");
        let mend = "ask for `second_verifier`, name it under a gate's `by`, or remove it";
        findings.warning(Subject::Dead, &at, what, mend);
    }
}

/// Workflows alone could report, and nobody is named to start one. An App hears of each pull request, a
/// person is told by GitHub, and whoever has a key may be anything: only a workflow never begins unasked.
/// Another workflow may call it, which cannot be seen from here: hence a warning.
fn unasked(policy: &Policy, findings: &mut Findings<'_>) {
    let mut read = policy.verifiers_in_order();
    read.retain(|verifier| is_read(policy, &verifier.name));
    let mut paths = read.iter().map(|verifier| match &verifier.identity {
        Identity::Workflow(path) if verifier.request.is_none() => Some(path),
        _ => None,
    });
    let (Some(first), Some(Some(path))) = (read.first(), paths.next()) else {
        return;
    };
    if paths.all(|path| path.is_some()) {
        let at = [
            Step::Key("verifiers"),
            Step::Key(first.name.as_str()),
            Step::Key("workflow"),
        ];
        let what = "no verifier that a gate reads has a `request`: Countersign starts none, and every pull \
                    request waits until somebody does";
        let mend = format!(
            "add `request: {{ workflow: {path} }}`; where another workflow calls it for each pull request, \
             those from forks wait all the same (GitHub gives their runs no identity token)"
        );
        findings.warning(Subject::Verifier, &at, what.to_owned(), &mend);
    }
}

/// A pattern that is critical and excepted: the exception wins, and the line asks for nothing.
fn overlap(policy: &Policy, findings: &mut Findings<'_>) {
    let Some(gate) = &policy.gates.mutation_check else {
        return;
    };
    for (index, pattern) in gate.critical.patterns().iter().enumerate() {
        if gate.except.patterns().contains(pattern) {
            let at = [
                Step::Key("gates"),
                Step::Key("mutation_check"),
                Step::Key("critical"),
                Step::Item(index),
            ];
            let what = format!("`{pattern}` is critical and excepted: nothing is asked of it");
            findings.warning(Subject::Dead, &at, what, "remove it from one of the lists");
        }
    }
}

fn parties(parties: &[Party], key: &[Step<'_>], facts: &Facts, findings: &mut Findings<'_>) {
    for (index, party) in parties.iter().enumerate() {
        let mut at = key.to_vec();
        at.push(Step::Item(index));
        if parties[..index].contains(party) {
            let what = format!("{} is listed twice", named(party));
            findings.warning(Subject::Dead, &at, what, "keep one");
            continue;
        }
        match party {
            Party::User(login) => {
                let nobody = "the entry gives nobody a say";
                let login = login.as_str();
                user(login, &at, Severity::Error, nobody, facts, findings);
            }
            Party::Team { org, slug } => team(org, slug, &at, facts, findings),
        }
    }
}

fn named(party: &Party) -> String {
    match party {
        Party::User(login) => format!("`{login}`"),
        Party::Team { org, slug } => format!("`@{org}/{slug}`"),
    }
}

fn user(
    login: &str,
    at: &[Step<'_>],
    severity: Severity,
    nobody: &str,
    facts: &Facts,
    findings: &mut Findings<'_>,
) {
    let known = facts.accounts.get(&login.to_lowercase());
    let (what, mend) = match known.unwrap_or(&Fetched::NotAsked) {
        Fetched::Known(Some(ActorKind::User | ActorKind::Bot)) => return,
        Fetched::Known(Some(ActorKind::Other)) => (
            format!("`{login}` is an organisation, not a person: {nobody}"),
            "name people, or a team as `@org/team`".to_owned(),
        ),
        Fetched::Known(None) => (
            format!("nobody on GitHub has the login `{login}`: {nobody}"),
            "write the login as it is now (people rename themselves), or remove it".to_owned(),
        ),
        unread => {
            let why = unread.require().err().unwrap_or_default();
            findings.blind(Subject::Party, at, &format!("the account `{login}`"), why);
            return;
        }
    };
    findings.add(severity, Subject::Party, at, what, Some(mend));
}

fn team(org: &str, slug: &str, at: &[Step<'_>], facts: &Facts, findings: &mut Findings<'_>) {
    let known = facts.teams.get(&format!("{org}/{slug}"));
    match known.unwrap_or(&Fetched::NotAsked) {
        Fetched::Known(true) => {}
        Fetched::Known(false) => {
            let what = format!("GitHub shows this App no team `@{org}/{slug}`");
            let mend = if org.eq_ignore_ascii_case(&facts.owner) {
                "write the team's slug as it stands in its address"
            } else {
                "name a team of the organisation that owns the repository: others cannot be read"
            };
            findings.error(Subject::Party, at, what, mend);
        }
        unread => {
            let why = unread.require().err().unwrap_or_default();
            findings.blind(
                Subject::Party,
                at,
                &format!("the team `@{org}/{slug}`"),
                why,
            );
        }
    }
}
