//! Whether the verifiers of a policy can ever be enough for its second_verifier gate.

use crate::domain::gate::principals::{Maker, demand, described, difference};
use crate::domain::model::VerifierName;
use crate::domain::policy::lint::{Findings, Severity, Step, Subject};
use crate::domain::policy::{Agents, Independence, Policy, SecondVerifier, Verifier};

const GATE: [Step<'static>; 2] = [Step::Key("gates"), Step::Key("second_verifier")];

/// A kind of author.
struct Author<'a> {
    /// In words, after "no pull request".
    who: String,
    made_by: Maker<'a>,
}

/// What the verifiers come to for one kind of author, with the certifier that leaves most of them.
struct Best<'a> {
    could: Vec<&'a VerifierName>,
    others: Vec<String>,
}

/// Judges the gate.
pub(super) fn judge(policy: &Policy, gate: &SecondVerifier, findings: &mut Findings<'_>) {
    let count = gate.count.max(1) as usize;
    let laxest = gate.fallback.as_ref().map_or(gate.independence, |laxer| {
        laxer.independence.min(gate.independence)
    });
    let mut told: Vec<(Vec<String>, Severity, String)> = Vec::new();
    for author in authors(policy) {
        let now = best(policy, author.made_by, gate.independence);
        if now.could.len() >= count {
            continue;
        }
        let later = best(policy, author.made_by, laxest);
        let (severity, why) = if later.could.len() >= count {
            (Severity::Warning, short_of(gate.independence, count, &now))
        } else {
            (Severity::Error, short_of(laxest, count, &later))
        };
        match told
            .iter_mut()
            .find(|(_, s, w)| *s == severity && *w == why)
        {
            Some((whose, ..)) => whose.push(author.who),
            None => told.push((vec![author.who], severity, why)),
        }
    }
    for (whose, severity, why) in told {
        let whose = match whose.as_slice() {
            [one] => format!(" {one}"),
            _ => String::new(),
        };
        let what = match severity {
            Severity::Warning => {
                format!("a pull request{whose} is countersigned by the fallback alone: {why}")
            }
            _ => format!("no pull request{whose} can ever be countersigned: {why}"),
        };
        let needed = match severity {
            Severity::Warning => gate.independence,
            _ => laxest,
        };
        let mend = mend(policy, needed);
        findings.add(severity, Subject::Verifier, &GATE, what, mend);
    }
    nameless(policy, laxest, findings);
}

/// The kinds of authors that a policy tells apart. What a bot is that it does not name, nobody knows.
fn authors(policy: &Policy) -> Vec<Author<'_>> {
    let Agents {
        authors,
        branches,
        labels,
        vendor,
        model,
    } = &policy.agents;
    let mut kinds = Vec::new();
    if !(authors.is_empty() && branches.patterns().is_empty() && labels.is_empty()) {
        let made_by = Maker {
            vendor: vendor.as_deref(),
            model: model.as_deref(),
        };
        let who = match made_by {
            Maker {
                vendor: None,
                model: None,
            } => "by an agent".to_owned(),
            known => format!("by an agent ({})", described(known)),
        };
        kinds.push(Author { who, made_by });
    }
    kinds.push(Author {
        who: "by a person".to_owned(),
        made_by: Maker {
            vendor: Some("human"),
            model: None,
        },
    });
    kinds
}

/// The most verifiers whose approvals could count together: where somebody must certify, it is the last of
/// the certifiers to approve, and any of them may be the last.
fn best<'a>(policy: &'a Policy, author: Maker<'_>, needed: Independence) -> Best<'a> {
    let certifiers = policy.gates.certification.as_deref().unwrap_or_default();
    let certifiers: Vec<&Verifier> = certifiers
        .iter()
        .filter_map(|name| policy.verifiers.get(name))
        .collect();
    let tries: Vec<Option<&Verifier>> = match certifiers.is_empty() {
        true => vec![None],
        false => certifiers.into_iter().map(Some).collect(),
    };
    let mut best: Option<Best<'a>> = None;
    for certifier in tries {
        let one = with_certifier(policy, author, certifier, needed);
        if best
            .as_ref()
            .is_none_or(|best| one.could.len() > best.could.len())
        {
            best = Some(one);
        }
    }
    best.unwrap_or(Best {
        could: Vec::new(),
        others: Vec::new(),
    })
}

fn with_certifier<'a>(
    policy: &'a Policy,
    author: Maker<'_>,
    certifier: Option<&Verifier>,
    needed: Independence,
) -> Best<'a> {
    let mut best = Best {
        could: Vec::new(),
        others: Vec::new(),
    };
    for verifier in policy.verifiers_in_order() {
        let name = &verifier.name;
        if certifier.is_some_and(|certifier| certifier.name == *name) {
            best.others.push(format!("`{name}` certifies"));
        } else if difference(verifier, author) < needed {
            let why = too_near(verifier, author, needed, "`agents`", "the author side");
            best.others.push(format!("`{name}` {why}"));
        } else if let Some(certifier) = certifier
            && difference(verifier, Maker::verifier(certifier)) < needed
        {
            let whose = format!("`{}`", certifier.name);
            let side = format!("the certifier {whose}");
            let why = too_near(verifier, Maker::verifier(certifier), needed, &whose, &side);
            best.others.push(format!("`{name}` {why}"));
        } else {
            best.could.push(name);
        }
    }
    best
}

/// Why a verifier does not differ enough, after its name.
fn too_near(
    verifier: &Verifier,
    other: Maker<'_>,
    needed: Independence,
    whose: &str,
    side: &str,
) -> String {
    let own = Maker::verifier(verifier);
    match needed {
        Independence::Human => "is no person".to_owned(),
        _ if own.vendor.is_none() => "has no `vendor`".to_owned(),
        _ if other.vendor.is_none() => {
            format!("cannot be told from {side} ({whose} has no `vendor`)")
        }
        Independence::Vendor => {
            let vendor = own.vendor.unwrap_or_default();
            format!("is of the vendor {vendor}, and so is {side}")
        }
        // Of one vendor, with no two models that are known to differ.
        _ if own.model.is_none() => "has no `model`".to_owned(),
        _ if other.model.is_none() => {
            format!("cannot be told from {side} ({whose} has no `model`)")
        }
        _ => format!("is {}, and so is {side}", described(own)),
    }
}

fn short_of(needed: Independence, count: usize, best: &Best<'_>) -> String {
    let takes = match (count, needed) {
        (1, Independence::Human) => "it takes a person".to_owned(),
        (1, needed) => format!("it takes a verifier of {}", demand(needed)),
        (count, Independence::Human) => format!("it takes {count} people"),
        (count, needed) => format!("it takes {count} verifiers of {}", demand(needed)),
    };
    let there = match best.could.as_slice() {
        [] => "none of `verifiers` is one".to_owned(),
        could => {
            let names: Vec<_> = could.iter().map(|name| format!("`{name}`")).collect();
            format!("{} could be ({})", could.len(), names.join(", "))
        }
    };
    match best.others.is_empty() {
        true => format!("{takes}, and {there}"),
        false => format!("{takes}, and {there}: {}", best.others.join("; ")),
    }
}

fn mend(policy: &Policy, needed: Independence) -> Option<String> {
    let agents = &policy.agents;
    let unsaid = needed >= Independence::Model && needed <= Independence::Vendor;
    let agents_unsaid = unsaid && agents.vendor.is_none() && *agents != Agents::default();
    let verifiers_unsaid = unsaid
        && policy
            .verifiers
            .values()
            .any(|one| is_nameless(one, needed));
    let mut ways = Vec::new();
    if agents_unsaid {
        ways.push("say under `agents.vendor` who makes the agents' model".to_owned());
    }
    if verifiers_unsaid {
        ways.push("say each verifier's `vendor`".to_owned());
    }
    match needed {
        Independence::Human => ways.push("name people (`user: LOGIN`) under `verifiers`".into()),
        // From what is not told, no verifier differs.
        _ if agents_unsaid => {}
        needed => ways.push(format!(
            "name verifiers of {} under `verifiers`",
            demand(needed)
        )),
    }
    ways.push("or ask for less (`count`, `independence`)".to_owned());
    Some(ways.join(", "))
}

/// Whether nobody can say that a verifier differs, since its make is not told.
fn is_nameless(verifier: &Verifier, needed: Independence) -> bool {
    let nowhere = Maker {
        vendor: Some("\u{0}"),
        model: Some("\u{0}"),
    };
    difference(verifier, nowhere) < needed
}

/// Verifiers whose make is not told: they report, and it is never a countersignature.
fn nameless(policy: &Policy, needed: Independence, findings: &mut Findings<'_>) {
    if needed == Independence::Human {
        return;
    }
    let gates = &policy.gates;
    let by = [
        gates.certification.as_deref(),
        gates.mutation_check.as_ref().map(|gate| gate.by.as_slice()),
    ];
    for verifier in policy.verifiers_in_order() {
        let name = &verifier.name;
        let elsewhere = by.iter().flatten().any(|names| names.contains(name));
        if elsewhere || !is_nameless(verifier, needed) {
            continue;
        }
        let what = format!(
            "`{name}` can never be a second verifier: without a `vendor` nobody can say that it is {}",
            demand(needed)
        );
        let at = [Step::Key("verifiers"), Step::Key(name.as_str())];
        let mend = "say its `vendor`".to_owned();
        findings.add(Severity::Warning, Subject::Verifier, &at, what, Some(mend));
    }
}
