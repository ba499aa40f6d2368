//! The App's registration, its clock, and what each account granted.

use std::collections::BTreeMap;

use super::facts::{Asked, Facts, Installation, Refusal, Registration};
use super::manifest::includes;
use super::{Check, Section, State};

/// A clock that is off by more than this gets its assertions refused, or soon will.
const MOST_SKEW: i64 = 30;

/// Judges who we are to GitHub.
pub(super) fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = Vec::new();
    match facts.ahead {
        Some(ahead) if ahead.abs() > MOST_SKEW => {
            let side = if ahead > 0 { "ahead of" } else { "behind" };
            let seen = format!("this machine's clock is {} s {side} GitHub's", ahead.abs());
            let mend = "set it right, best by NTP: GitHub refuses what is signed outside its time";
            checks.push(Check::new("clock", State::Problem, seen).mend(mend));
        }
        Some(ahead) => {
            let seen = format!(
                "this machine's clock and GitHub's differ by {} s",
                ahead.abs()
            );
            checks.push(Check::new("clock", State::Ok, seen));
        }
        None if matches!(facts.app, Asked::NotAsked) => {}
        None => {
            let seen = "could not look at the clock: GitHub told no time";
            checks.push(Check::new("clock", State::Unknown, seen).mend("try again"));
        }
    }
    match &facts.app {
        Asked::Known(app) => registered(app, facts, &mut checks),
        Asked::Refused(Refusal::Missing, why) => {
            let seen = format!("GitHub knows no App of this id: {why}");
            let mend = "set COUNTERSIGN_APP_ID to the number shown as \"App ID\" on the App's page, and \
                        COUNTERSIGN_GITHUB_API_URL to the GitHub it is registered on";
            checks.push(Check::new("app", State::Problem, seen).mend(mend));
        }
        Asked::Refused(_, why) => {
            let seen = format!("GitHub does not take the private key as this App's: {why}");
            let mend = "see that COUNTERSIGN_APP_ID and the private key are of one App, and that the \
                        key was not deleted on its page";
            checks.push(Check::new("app", State::Problem, seen).mend(mend));
        }
        Asked::Failed(why) => {
            let seen = format!("could not ask GitHub who we are: {why}");
            let mend =
                "see that COUNTERSIGN_GITHUB_API_URL can be reached from here, then try again";
            checks.push(Check::new("app", State::Unknown, seen).mend(mend));
        }
        Asked::NotAsked => {
            let seen = "GitHub was not asked: without an App's id and a private key there is nothing to ask with";
            checks.push(Check::new("app", State::Unknown, seen).mend("mend the settings first"));
        }
    }
    checks
}

fn registered(app: &Registration, facts: &Facts, checks: &mut Vec<Check>) {
    let seen = format!("GitHub knows us as `{}` (App {})", app.app.slug, app.app.id);
    checks.push(Check::new("app", State::Ok, seen));
    let wanted = &facts.manifest.permissions;
    let missing = lacking(&app.permissions, wanted);
    if missing.is_empty() {
        let seen = format!(
            "it asks for all {} permissions of `app-manifest.yml`",
            wanted.len()
        );
        checks.push(Check::new("permissions", State::Ok, seen));
    } else {
        let seen = format!("it does not ask for {}", listed(&missing));
        let mend =
            "add it on the App's page under Permissions & events; every account must then accept";
        checks.push(Check::new("permissions", State::Problem, seen).mend(mend));
    }
    let needless: Vec<String> = app
        .permissions
        .iter()
        .filter(|(name, level)| !includes(wanted.get(*name), level))
        .map(|(name, level)| format!("{name}: {level}"))
        .collect();
    if !needless.is_empty() {
        let seen = format!("it asks for more than it needs: {}", listed(&needless));
        let mend = "take it away on the App's page: what is not granted cannot be misused";
        checks.push(Check::new("permissions", State::Note, seen).mend(mend));
    }
    events(app, facts, checks);
}

fn events(app: &Registration, facts: &Facts, checks: &mut Vec<Check>) {
    let wanted = &facts.manifest.events;
    let missing: Vec<String> = wanted.difference(&app.events).cloned().collect();
    if missing.is_empty() {
        let seen = format!(
            "it subscribed to all {} events of `app-manifest.yml`",
            wanted.len()
        );
        checks.push(Check::new("events", State::Ok, seen));
    } else {
        let seen = format!("it did not subscribe to {}", listed(&missing));
        let mend = "tick it on the App's page under Permissions & events: until then only the sweep \
                    sees such changes";
        checks.push(Check::new("events", State::Problem, seen).mend(mend));
    }
    let needless: Vec<String> = app.events.difference(wanted).cloned().collect();
    if !needless.is_empty() {
        let seen = format!(
            "it subscribed to what it does not use: {}",
            listed(&needless)
        );
        checks.push(Check::new("events", State::Note, seen));
    }
}

/// The permissions of `wanted` that `granted` does not reach.
fn lacking(granted: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Vec<String> {
    wanted
        .iter()
        .filter(|(name, level)| !includes(granted.get(*name), level))
        .map(|(name, level)| format!("{name}: {level}"))
        .collect()
}

fn listed(items: &[String]) -> String {
    let quoted: Vec<_> = items.iter().map(|item| format!("`{item}`")).collect();
    quoted.join(", ")
}

/// Judges each installation.
pub(super) fn installations(facts: &Facts) -> Vec<Section> {
    const NAME: &str = "installation";
    let mut checks = Vec::new();
    match &facts.installations {
        Asked::Known(installations) if installations.is_empty() => {
            let seen = "the App is installed on no account";
            let mend =
                "install it on the repositories it should guard (on the App's page: Install App)";
            checks.push(Check::new(NAME, State::Problem, seen).mend(mend));
        }
        Asked::Known(installations) => {
            for one in installations {
                checks.push(installation(one, facts));
            }
        }
        unread => checks.extend(Check::unread(NAME, unread, "the installations")),
    }
    for (what, unread) in &facts.unlisted {
        checks.extend(Check::unread("repositories", unread, what));
    }
    vec![super::section("Installations", checks)]
}

fn installation(one: &Installation, facts: &Facts) -> Check {
    const NAME: &str = "installation";
    let account = &one.account;
    if one.suspended {
        let seen = format!("`{account}` suspended the App: nothing is read or merged there");
        let mend = "unsuspend it in that account's settings, or uninstall it";
        return Check::new(NAME, State::Warning, seen).mend(mend);
    }
    let missing = lacking(&one.permissions, &facts.manifest.permissions);
    let asked = match &facts.app {
        Asked::Known(app) => lacking(&one.permissions, &app.permissions),
        _ => Vec::new(),
    };
    if !missing.is_empty() {
        let waits = missing.iter().any(|permission| asked.contains(permission));
        let seen = format!("`{account}` has not granted {}", listed(&missing));
        let mend = if waits {
            "an owner of the account must accept the App's new permissions (Settings, GitHub Apps, \
             Configure)"
        } else {
            "add them to the App first; then an owner of the account must accept"
        };
        return Check::new(NAME, State::Problem, seen).mend(mend);
    }
    if !asked.is_empty() {
        let seen = format!(
            "`{account}` granted all that is needed; that the App also asks for {} awaits acceptance",
            listed(&asked)
        );
        return Check::new(NAME, State::Note, seen);
    }
    let seen = format!("`{account}` granted all that is needed");
    Check::new(NAME, State::Ok, seen)
}
