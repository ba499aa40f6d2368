//! What the doctor is told: everything about one server's setup at one moment, or why it is not known.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::facts::PolicyFact;
use crate::domain::model::{AppRef, BaseRef, InstallationId, RepoName, Timestamp};
use crate::domain::policy::lint;

/// What GitHub, or the machine, answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked<T> {
    /// It was read.
    Known(T),
    /// It was refused, for good: asking again changes nothing.
    Refused(Refusal, String),
    /// It could not be asked this time: no answer, a failing server, a limit.
    Failed(String),
    /// It was not asked, since something before it is wrong.
    NotAsked,
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The credentials are wrong.
    Credentials,
    /// A permission is missing.
    Permission,
    /// There is no such thing, or we may not know of it.
    Missing,
    /// Any other refusal.
    Other,
}

/// A setting that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongSetting {
    /// The environment variable.
    pub setting: String,
    /// What is wrong, as the rest of a sentence.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

/// The settings as far as the doctor looks at them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Everything that is wrong.
    pub wrong: Vec<WrongSetting>,
    /// Under which address the server is reached.
    pub public_url: Option<String>,
    /// Whether the dashboard asks for a token.
    pub api_token: bool,
    /// Nothing is written to GitHub.
    pub shadow: bool,
}

/// Our App as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Who it is.
    pub app: AppRef,
    /// The permissions it asks for (`checks` -> `write`).
    pub permissions: BTreeMap<String, String>,
    /// The events it subscribed to.
    pub events: BTreeSet<String>,
}

/// Our App on one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    /// Identity.
    pub id: InstallationId,
    /// The account's login.
    pub account: String,
    /// What the account granted.
    pub permissions: BTreeMap<String, String>,
    /// It is suspended.
    pub suspended: bool,
}

/// The App's webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// Where deliveries go.
    pub url: Option<String>,
    /// `json` or `form`.
    pub content_type: Option<String>,
    /// Whether GitHub verifies our certificate.
    pub verifies_certificates: Option<bool>,
    /// Whether deliveries are signed.
    pub signed: bool,
}

/// One attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// When.
    pub at: Option<Timestamp>,
    /// Which event.
    pub event: String,
    /// The status we answered; 0 where there was no answer.
    pub code: u16,
    /// How it went, in GitHub's words.
    pub words: String,
}

/// The database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// It opens, its schema is today's, its ledger was followed.
    Sound {
        /// Which.
        url: String,
        /// How many ledger entries were followed.
        entries: u64,
    },
    /// There is none yet: the server makes one at its first start.
    Absent {
        /// Which.
        url: String,
        /// Whether the folder it would lie in is there.
        folder: bool,
    },
    /// Its ledger's chain is broken.
    BrokenChain(String),
    /// It cannot be opened, or its schema is another's.
    Unusable(String),
    /// Its address is not known.
    NotAsked,
}

/// Something that stands still and should not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// What of: one word.
    pub kind: &'static str,
    /// What was seen: one sentence.
    pub what: String,
    /// What to do: one sentence.
    pub mend: String,
}

/// One repository.
#[derive(Debug, Clone, PartialEq)]
pub struct RepositoryFacts {
    /// Its name.
    pub name: RepoName,
    /// Its default branch.
    pub default_branch: Option<BaseRef>,
    /// The policy at the default branch's tip, and its text.
    pub policy: PolicyFact,
    /// The policy's text, where there is one.
    pub text: String,
    /// What it is really like; asked only for a valid policy.
    pub reality: Option<lint::Facts>,
}

/// Everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// What the App should ask for.
    pub manifest: super::Manifest,
    /// The settings.
    pub settings: Settings,
    /// Why the private key cannot sign; `None` where it can. Not asked where the settings give none.
    pub key: Asked<()>,
    /// Who GitHub says we are.
    pub app: Asked<Registration>,
    /// By how many seconds our clock is ahead of GitHub's.
    pub ahead: Option<i64>,
    /// The webhook's settings.
    pub hook: Asked<Hook>,
    /// The newest attempts to deliver, newest first.
    pub deliveries: Asked<Vec<Delivered>>,
    /// The database.
    pub database: Database,
    /// What stands still on the server, as far as its database tells.
    pub standing: Vec<Standing>,
    /// Where the App is installed.
    pub installations: Asked<Vec<Installation>>,
    /// What could not be listed: an installation's repositories, or the one asked for.
    pub unlisted: Vec<(String, Asked<()>)>,
    /// Every repository looked at.
    pub repositories: Vec<RepositoryFacts>,
}
