//! Is this server set up so that the gate works? Facts in, a line for each thing that was looked at out.
//!
//! Five words. `ok`; a **note**, which asks for nothing; a **warning**, which works and is weaker than it
//! should be, or which only a person can judge; a **problem**, which is to be mended; and **unknown**:
//! it could not be looked at this time, and is never taken for fine.
//!
//! Left out: what only a server that runs could tell (its queue, its lease), for which `/readyz` and the
//! dashboard are there; two servers with a database each behind one webhook look like one from here.

mod app;
pub mod facts;
mod manifest;
mod repository;
#[cfg(test)]
mod tests;
mod webhook;

use serde::Serialize;

use facts::{Asked, Database, Facts, Refusal, Standing};
pub use manifest::Manifest;

/// How a thing stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum State {
    Ok,
    Note,
    Warning,
    Problem,
    Unknown,
}

impl State {
    /// The word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at: a few fixed words.
    pub name: String,
    /// How it stands.
    pub state: State,
    /// What was seen, as a sentence without its full stop.
    pub seen: String,
    /// How to mend it.
    pub mend: Option<String>,
}

/// Things that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Of what.
    pub title: String,
    /// One by one.
    pub checks: Vec<Check>,
}

/// Everything that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// In the order in which they should be mended.
    pub sections: Vec<Section>,
}

impl Diagnosis {
    /// How many things stand so.
    pub fn count(&self, state: State) -> usize {
        let checks = self.sections.iter().flat_map(|section| &section.checks);
        checks.filter(|check| check.state == state).count()
    }
}

/// Judges everything.
pub fn judge(facts: &Facts) -> Diagnosis {
    let mut sections = vec![
        section("Settings", settings(facts)),
        section("GitHub App", app::judge(facts)),
        section("Webhook", webhook::judge(facts)),
        section("Database", vec![database(&facts.database)]),
    ];
    let standing = facts.standing.iter().map(standing);
    sections.push(section("Alarms", standing.collect()));
    sections.extend(app::installations(facts));
    for repository in &facts.repositories {
        let checks = repository::judge(repository);
        sections.push(section(&repository.name.to_string(), checks));
    }
    sections.retain(|section| !section.checks.is_empty());
    Diagnosis { sections }
}

/// An alarm of the server's. One that does not run leaves the same traces as one that hangs, so that it is
/// no more than a warning.
fn standing(one: &Standing) -> Check {
    let unstopped = |text: &str| text.trim_end_matches('.').to_owned();
    Check::new(one.kind, State::Warning, unstopped(&one.what)).mend(unstopped(&one.mend))
}

fn section(title: &str, checks: Vec<Check>) -> Section {
    Section {
        title: title.to_owned(),
        checks,
    }
}

impl Check {
    fn new(name: &str, state: State, seen: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            state,
            seen: seen.into(),
            mend: None,
        }
    }

    fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }

    /// What is said of something that was not read; `None` for what was read or not asked for.
    fn unread<T>(name: &str, asked: &Asked<T>, what: &str) -> Option<Self> {
        match asked {
            Asked::Known(_) | Asked::NotAsked => None,
            Asked::Failed(why) => {
                let seen = format!("could not look at {what}: {why}");
                Some(Self::new(name, State::Unknown, seen).mend("try again"))
            }
            Asked::Refused(refusal, why) => {
                let seen = format!("could not look at {what}: {why}");
                let mend = match refusal {
                    Refusal::Credentials => "see the private key and the App's id above",
                    Refusal::Permission => "grant the App the permissions of `app-manifest.yml`",
                    Refusal::Missing => "see that the App is installed there",
                    Refusal::Other => "see what GitHub says",
                };
                Some(Self::new(name, State::Problem, seen).mend(mend))
            }
        }
    }
}

fn settings(facts: &Facts) -> Vec<Check> {
    let settings = &facts.settings;
    let wrong = settings.wrong.iter().map(|wrong| {
        let seen = format!("{} {}", wrong.setting, wrong.problem.trim_end_matches('.'));
        Check::new("setting", State::Problem, seen).mend(wrong.remedy.trim_end_matches('.'))
    });
    let mut checks: Vec<Check> = wrong.collect();
    if checks.is_empty() {
        let seen = "every setting is there and well formed";
        checks.push(Check::new("settings", State::Ok, seen));
    }
    if settings.shadow {
        let seen = "COUNTERSIGN_SHADOW is on: nothing is written to GitHub, so nothing is gated";
        let mend = "remove it once you have seen enough";
        checks.push(Check::new("shadow", State::Warning, seen).mend(mend));
    }
    if settings.wrong.is_empty() && !settings.api_token {
        let seen =
            "COUNTERSIGN_API_TOKEN is not set: whoever reaches the server sees the dashboard";
        let mend = "set it to a long random text";
        checks.push(Check::new("dashboard", State::Warning, seen).mend(mend));
    }
    match &facts.key {
        Asked::Known(()) => {
            let seen = "the private key can sign";
            checks.push(Check::new("private key", State::Ok, seen));
        }
        Asked::Refused(_, why) | Asked::Failed(why) => {
            let mend = "download a new private key on the App's page, and set \
                        COUNTERSIGN_PRIVATE_KEY_PATH to that file";
            checks.push(Check::new("private key", State::Problem, why.as_str()).mend(mend));
        }
        Asked::NotAsked => {}
    }
    checks
}

fn database(database: &Database) -> Check {
    const NAME: &str = "database";
    match database {
        Database::Sound { url, entries } => {
            let seen = format!("{url} opens, its schema is today's, {entries} ledger entries hold");
            Check::new(NAME, State::Ok, seen)
        }
        Database::Absent { url, folder: true } => {
            let seen = format!("{url} is not there yet: the server makes it when it first starts");
            Check::new(NAME, State::Note, seen)
        }
        Database::Absent { url, folder: false } => {
            let seen = format!("{url} is not there, and neither is the folder it would lie in");
            let mend = "make the folder, or set COUNTERSIGN_DATABASE_URL to another";
            Check::new(NAME, State::Problem, seen).mend(mend)
        }
        Database::BrokenChain(why) => {
            let seen = format!("the ledger's chain is broken: {why}");
            let mend = "`countersign ledger verify` shows where; restore the file from a backup";
            Check::new(NAME, State::Problem, seen).mend(mend)
        }
        Database::Unusable(why) => {
            let mend = "see that COUNTERSIGN_DATABASE_URL names the server's own file, and that the \
                        server is not older than what wrote it";
            Check::new(NAME, State::Problem, why.as_str()).mend(mend)
        }
        Database::NotAsked => {
            let seen = "could not look: the setting that names it is wrong";
            Check::new(NAME, State::Unknown, seen).mend("mend the settings first")
        }
    }
}
