//! What a valid policy means, in words: every setting that changes what happens, so that a person sees what
//! was read without reading the file again. What the file leaves out is told only where its default acts.

use chrono::Duration;

use crate::domain::facts::Conclusion;
use crate::domain::gate::principals::{Maker, demand, described};
use crate::domain::policy::globs::Globs;
use crate::domain::policy::{
    Approvals, Gates, Identity, Merge, Method, Mode, MutationCheck, MutationDemand, Party, Policy,
    Request, SecondVerifier, Timeouts, Verifier, When,
};

/// The lines so far: a word in front, then what it says.
struct Lines(Vec<String>);

impl Lines {
    fn say(&mut self, what: &str, says: impl AsRef<str>) {
        self.0.push(format!("  {what:<16} {}", says.as_ref()));
    }

    /// What belongs to the line above.
    fn under(&mut self, says: impl AsRef<str>) {
        self.say("", says);
    }
}

/// What a policy means that can be read. One that asks for what can never come is not called valid: so many
/// errors are told below it.
pub fn meaning(policy: &Policy, errors: usize) -> String {
    let heading = match errors {
        0 => "The policy is valid.",
        1 => "The policy can be read, but has an error, told below what it says:",
        _ => "The policy can be read, but has errors, told below what it says:",
    };
    let mut lines = Lines(vec![heading.to_owned()]);
    let mode = match policy.mode {
        Mode::Enforce => "enforce: decides, publishes, merges",
        Mode::Observe => "observe: decides and publishes, never merges",
    };
    lines.say("mode", mode);
    agents(policy, &mut lines);
    for one in policy.verifiers_in_order() {
        verifier(one, &mut lines);
    }
    gates(&policy.gates, &mut lines);
    merge(&policy.merge, &mut lines);
    dispatch(policy, &mut lines);
    let owners = match policy.owners.is_empty() {
        true => "nobody: no gate can be waived, no branch frozen by a command".to_owned(),
        false => format!(
            "{} may waive a gate, freeze and thaw",
            parties(&policy.owners)
        ),
    };
    lines.say("owners", owners);
    let commands = match policy.short_commands {
        true => "/merge and /countersign merge",
        false => "/countersign merge alone, not /merge",
    };
    lines.say("commands", commands);
    if !policy.notify.is_empty() {
        let urls = policy.notify.iter().map(|one| one.url.clone()).collect();
        lines.say("notify", listed(urls, ", "));
    }
    lines.0.join("\n") + "\n"
}

fn agents(policy: &Policy, lines: &mut Lines) {
    let agents = &policy.agents;
    let mut signs = Vec::new();
    if !agents.authors.is_empty() {
        let logins = agents.authors.iter().map(ToString::to_string).collect();
        signs.push(format!("by {}", listed(logins, ", ")));
    }
    if !agents.branches.patterns().is_empty() {
        signs.push(format!("from {}", patterns(&agents.branches)));
    }
    if !agents.labels.is_empty() {
        signs.push(format!("labelled {}", agents.labels.join(", ")));
    }
    if signs.is_empty() {
        return;
    }
    lines.say("agents", format!("pull requests {}", signs.join("; or ")));
    let made_by = Maker {
        vendor: agents.vendor.as_deref(),
        model: agents.model.as_deref(),
    };
    lines.under(format!("made by {}", described(made_by)));
}

fn verifier(verifier: &Verifier, lines: &mut Lines) {
    let who = match &verifier.identity {
        Identity::AppSlug(slug) => format!("App {slug}"),
        Identity::AppId(id) => format!("App {id}"),
        Identity::User(login) => format!("user {login}"),
        Identity::Workflow(path) => format!("workflow {path}"),
        Identity::Key(_) => "an ed25519 key".to_owned(),
    };
    let make = described(Maker::verifier(verifier));
    lines.say("verifier", format!("{} = {who} ({make})", verifier.name));
    let deadline = span(verifier.deadline);
    match &verifier.request {
        None => lines.under("not asked by Countersign: it names no `request`"),
        Some(request) => {
            let how = match request {
                Request::Workflow(path) => format!("starting {path}"),
                Request::Label(label) => format!("the label {label}"),
                Request::Comment(text) => format!("the comment \"{text}\""),
            };
            lines.under(format!("asked by {how}; has {deadline} to report"));
        }
    }
    if let Some(outage) = &verifier.unavailable {
        let conclusions = outage.conclusions.iter().map(word);
        let conclusions = listed(conclusions.collect(), " or ");
        lines.under(format!(
            "a check run that ends as {conclusions} with a title like \"{}\" is an outage",
            outage.title
        ));
    }
}

/// The gates that a policy declares.
fn gates(gates: &Gates, lines: &mut Lines) {
    if let Some(checks) = &gates.checks {
        let one = |check: &crate::domain::policy::RequiredCheck| {
            let from = [&check.app, &check.workflow].into_iter().flatten();
            let from: Vec<_> = from.map(String::as_str).collect();
            match from.as_slice() {
                [] => check.name.clone(),
                from => format!("{} (from {})", check.name, from.join(", ")),
            }
        };
        lines.say(
            "checks",
            listed(checks.required.iter().map(one).collect(), ", "),
        );
        if !checks.also_passing.is_empty() {
            let words = checks.also_passing.iter().map(word);
            lines.under(format!(
                "{} passes as well",
                listed(words.collect(), " or ")
            ));
        }
    }
    if let Some(by) = &gates.certification {
        let names = by.iter().map(ToString::to_string).collect();
        lines.say("certification", format!("by {}", listed(names, " or ")));
    }
    if let Some(gate) = &gates.second_verifier {
        second_verifier(gate, lines);
    }
    if let Some(gate) = &gates.mutation_check {
        mutation_check(gate, lines);
    }
    for entry in &gates.exercised {
        let against = entry.against.join(", ");
        lines.say(
            "exercised",
            format!("{} against {against}", patterns(&entry.paths)),
        );
    }
    if let Some(gate) = &gates.approvals {
        approvals(gate, lines);
    }
    if let Some(form) = &gates.description {
        let mut asks = Vec::new();
        if form.closes_issue {
            asks.push("closes an issue".to_owned());
        }
        if !form.sections.is_empty() {
            asks.push(format!("has the sections {}", form.sections.join(", ")));
        }
        lines.say("description", asks.join("; "));
    }
    if let Some(most) = gates.max_changed_lines {
        lines.say("size", format!("at most {most} changed lines"));
    }
}

fn second_verifier(gate: &SecondVerifier, lines: &mut Lines) {
    let least = demand(gate.independence);
    lines.say(
        "second verifier",
        format!("{}, at least {least}", gate.count),
    );
    lines.under(match gate.tests_executed {
        true => "having run tests",
        false => "a review without running tests is enough",
    });
    if let Some(most) = gate.max_age {
        lines.under(format!("not older than {}", span(most)));
    }
    if let Some(fallback) = &gate.fallback {
        lines.under(format!(
            "fallback: after {}, {} is enough",
            span(fallback.after),
            demand(fallback.independence)
        ));
    }
}

fn mutation_check(gate: &MutationCheck, lines: &mut Lines) {
    let demand = match gate.require {
        MutationDemand::EveryHunk => "every changed hunk".to_owned(),
        MutationDemand::KilledAtLeast(count) => format!("at least {count} killed"),
    };
    let critical = patterns(&gate.critical);
    lines.say("mutation check", format!("{demand} in {critical}"));
    if !gate.except.patterns().is_empty() {
        lines.under(format!("except {}", patterns(&gate.except)));
    }
    lines.under(match gate.timeouts {
        Timeouts::Inconclusive => "a mutant that times out proves nothing",
        Timeouts::Killed => "a mutant that times out counts as killed",
    });
    if !gate.by.is_empty() {
        let names = gate.by.iter().map(ToString::to_string).collect();
        lines.under(format!("by {}", listed(names, " or ")));
    }
}

fn approvals(gate: &Approvals, lines: &mut Lines) {
    let from = match gate.from.is_empty() {
        true => "anybody but the author side".to_owned(),
        false => parties(&gate.from),
    };
    lines.say("approvals", format!("{} from {from}", gate.count));
    if gate.conversations_resolved {
        lines.under("and no review conversation open");
    }
}

fn merge(merge: &Merge, lines: &mut Lines) {
    let when = |when| match when {
        When::Ready => "as soon as every gate is satisfied",
        When::Requested => "when asked to",
        When::Never => "never by the App",
    };
    let method = match merge.method {
        Method::Merge => "by merge commit",
        Method::Squash => "by squash",
        Method::Rebase => "by rebase",
    };
    let bases = patterns(&merge.base_branches);
    lines.say("merges", format!("into {bases}, {method}"));
    lines.say("  agents'", when(merge.when));
    lines.say("  others'", when(merge.others));
    if merge.up_to_date_required {
        lines.under("only a head that contains the base's tip");
    }
    if merge.update_auto {
        lines.under("update: auto (nothing acts on it yet)");
    }
    if merge.delete_branch {
        lines.under("then deletes the head branch");
    }
    for window in &merge.freeze {
        let ((from, at), (to, until)) = (window.from, window.to);
        lines.under(format!(
            "nothing from {from} {} to {to} {} ({})",
            at.format("%H:%M"),
            until.format("%H:%M"),
            window.timezone
        ));
    }
}

fn dispatch(policy: &Policy, lines: &mut Lines) {
    let Some(dispatch) = &policy.dispatch else {
        return;
    };
    lines.say(
        "dispatch",
        format!("issues labelled {}", patterns(&dispatch.labels)),
    );
    lines.under(format!(
        "at most {} open pull requests and {} grants in flight, each for {}",
        dispatch.max_open_prs,
        dispatch.max_in_flight,
        span(dispatch.in_flight_expires)
    ));
    if let Some(share) = &dispatch.share {
        lines.under(format!(
            "at least {} % of the last {} for {}",
            share.at_least_percent,
            share.window,
            share.labels.join(", ")
        ));
    }
    if !dispatch.sections.is_empty() {
        lines.under(format!("an issue needs {}", dispatch.sections.join(", ")));
    }
}

fn patterns(globs: &Globs) -> String {
    globs.patterns().join(", ")
}

/// A conclusion as policies write it.
fn word(conclusion: &Conclusion) -> String {
    let value = serde_json::json!(conclusion);
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn parties(parties: &[Party]) -> String {
    let one = |party: &Party| match party {
        Party::User(login) => login.to_string(),
        Party::Team { org, slug } => format!("@{org}/{slug}"),
    };
    listed(parties.iter().map(one).collect(), ", ")
}

fn listed(parts: Vec<String>, between: &str) -> String {
    parts.join(between)
}

/// A span as policies write it: `90m`, `3d`.
fn span(length: Duration) -> String {
    let seconds = length.num_seconds();
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    match units
        .iter()
        .find(|(unit, _)| seconds >= *unit && seconds % unit == 0)
    {
        // Two days are as often written as 48h; more are not.
        Some((86_400, _)) if seconds < 3 * 86_400 => format!("{}h", seconds / 3_600),
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}
