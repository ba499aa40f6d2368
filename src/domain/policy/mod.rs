//! The policy of a repository, as meant.
//!
//! [`Policy`] is what a file means, with every name resolved, every duration a duration and every
//! glob compiled. [`read`](read::read) gives it, or everything that is wrong with the file at once.
//! Nothing falls back to a laxer default: a file that does not validate gives no policy.
//!
//! The way from the text to the meaning has four steps, a file each: `tree` (YAML with places),
//! `shape` (is each key known and each value well written? the keys are one table, `keys`, which the
//! JSON Schema is made from as well), `decode` and `gates` (what it means, and whether the parts fit
//! together).

pub mod check_name;
mod decode;
mod gates;
pub mod globs;
mod keys;
mod kinds;
pub mod lint;
pub(in crate::domain) mod nearest;
mod problems;
pub mod read;
mod scalars;
pub mod schema;
mod shape;
mod tree;

use std::collections::BTreeMap;

use chrono::Duration;
use serde::{Deserialize, Serialize};

use super::model::{Actor, ActorKind, AppId, BaseRef, Login, VerifierName};
use globs::Globs;
pub use scalars::span;

/// Where a policy stands in a repository.
pub const PATH: &str = ".github/countersign.yml";

/// One thing that is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Line, from 1; 0 where no place can be named.
    pub line: u64,
    /// Column, from 1; 0 where no place can be named.
    pub column: u64,
    /// What is wrong, as a sentence.
    pub message: String,
    /// How to mend it ("did you mean `mutation_check`?").
    pub hint: Option<String>,
    /// The line itself.
    pub excerpt: Option<String>,
}

/// Whether the App acts or only shows what it would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Decide, publish and merge.
    Enforce,
    /// Decide and publish; never merge, never touch labels.
    Observe,
}

/// Which pull requests count as agents', and what writes them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agents {
    /// Authors, by login.
    pub authors: Vec<Login>,
    /// Head branches.
    pub branches: Globs,
    /// Labels.
    pub labels: Vec<String>,
    /// The vendor of the model that writes them.
    pub vendor: Option<String>,
    /// The model that writes them.
    pub model: Option<String>,
}

impl Agents {
    /// Whether an account is an agent's: a bot, or one that the policy names.
    pub fn include(&self, actor: &Actor) -> bool {
        actor.kind == ActorKind::Bot || self.authors.contains(&actor.login)
    }
}

/// Who a verifier is. Exactly one, and always something GitHub or a key vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A GitHub App, by slug.
    AppSlug(String),
    /// A GitHub App, by id.
    AppId(AppId),
    /// A user, by login.
    User(Login),
    /// A workflow of this repository, by path; it reports by OIDC token.
    Workflow(String),
    /// An ed25519 public key, as 64 lower-case hex digits; it reports by signed envelope.
    Key(String),
}

/// How a verifier is asked for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Request {
    Workflow(String),
    Label(String),
    Comment(String),
}

/// How a verifier's check run shows that it could not run, although it says "failed".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// With one of these conclusions,
    pub conclusions: Vec<super::facts::Conclusion>,
    /// and a title that matches this pattern (`*` stands for any text), without regard to case.
    pub title: String,
}

impl Unavailable {
    /// Whether a check run with this conclusion and title says so.
    pub fn shows(&self, conclusion: &super::facts::Conclusion, title: &str) -> bool {
        self.conclusions.contains(conclusion) && self.covers(title)
    }

    fn covers(&self, title: &str) -> bool {
        check_name::matches(&self.title.to_lowercase(), &title.to_lowercase())
    }

    /// A title that verifiers give to a verdict, or to nothing in particular, and that this pattern takes for
    /// an outage all the same: then a real "no" would count for nothing.
    pub fn hides(&self) -> Option<&'static str> {
        VERDICTS.into_iter().find(|title| self.covers(title))
    }
}

/// How checks that say no are often titled, and two that nobody would call an outage.
const VERDICTS: [&str; 12] = [
    "x",
    "verification",
    "failure",
    "failed",
    "verification failed",
    "tests failed",
    "1 test failed",
    "2 mutants survived",
    "1 blocking finding",
    "changes requested",
    "rejected",
    "verification rejected this head",
];

/// A principal that may report evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Verifier {
    /// Its name in the policy.
    pub name: VerifierName,
    /// Who it is.
    pub identity: Identity,
    /// Who makes the model; for a person, `human`.
    pub vendor: Option<String>,
    /// Which model.
    pub model: Option<String>,
    /// How to ask it.
    pub request: Option<Request>,
    /// How long it has to report once it was asked.
    pub deadline: Duration,
    /// How a check run of its App shows that it could not run.
    pub unavailable: Option<Unavailable>,
    /// Its place in the file, from 0: verifiers are asked in this order.
    pub place: usize,
}

/// One check a policy requires.
#[derive(Debug, Clone, PartialEq)]
pub struct RequiredCheck {
    /// The name, or a pattern with `*`.
    pub name: String,
    /// The App it must come from (slug, or a number in digits).
    pub app: Option<String>,
    /// The workflow file it must come from.
    pub workflow: Option<String>,
}

/// `gates.checks`.
#[derive(Debug, Clone, PartialEq)]
pub struct Checks {
    /// What must be there and pass.
    pub required: Vec<RequiredCheck>,
    /// Conclusions that pass, besides `success`.
    pub also_passing: Vec<super::facts::Conclusion>,
}

/// How different a verifier must be from the author side. Ordered: each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Independence {
    /// At least another context of the same model.
    Context,
    /// Another model.
    Model,
    /// Another vendor.
    Vendor,
    /// A person.
    Human,
}

/// `gates.second_verifier.fallback`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallback {
    /// After how long without a second verifier.
    pub after: Duration,
    /// What is enough then.
    pub independence: Independence,
}

/// `gates.second_verifier`.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondVerifier {
    /// How many independent verifiers must countersign.
    pub count: u32,
    /// The least difference from the author side.
    pub independence: Independence,
    /// A report that ran no tests is not a verification.
    pub tests_executed: bool,
    /// Evidence older than this does not count.
    pub max_age: Option<Duration>,
    /// A laxer independence after a while; published whenever used.
    pub fallback: Option<Fallback>,
}

/// How much of the critical change must have been mutation-checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutationDemand {
    /// Every changed hunk in a critical file.
    EveryHunk,
    /// At least so many killed mutants in the critical change, and none surviving.
    KilledAtLeast(u32),
}

/// How a mutant that timed out counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Timeouts {
    Inconclusive,
    Killed,
}

/// `gates.mutation_check`.
#[derive(Debug, Clone, PartialEq)]
pub struct MutationCheck {
    /// Changed hunks in these files must have been mutation-checked.
    pub critical: Globs,
    /// Except in these.
    pub except: Globs,
    /// How much of them.
    pub require: MutationDemand,
    /// How time-outs count.
    pub timeouts: Timeouts,
    /// Whose evidence counts; empty for every verifier.
    pub by: Vec<VerifierName>,
}

/// One entry of `gates.exercised`.
#[derive(Debug, Clone, PartialEq)]
pub struct Exercised {
    /// When one of these files changed,
    pub paths: Globs,
    /// tests must have run against each of these for real.
    pub against: Vec<String>,
}

/// A user or a team, as policies name them (`alice`, `@alice`, `@org/team`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Party {
    /// A user.
    User(Login),
    /// A team: organisation and slug, lower case.
    Team {
        /// The organisation.
        org: String,
        /// The team's slug.
        slug: String,
    },
}

/// `gates.approvals`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Approvals {
    /// How many people must approve this head.
    pub count: u32,
    /// Whose approvals count; empty for anybody but the author side.
    pub from: Vec<Party>,
    /// No review conversation may be open.
    pub conversations_resolved: bool,
    /// Code owners must have approved. Not judged yet: a policy that asks for it is told so.
    pub code_owners: bool,
}

/// `gates.description`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Description {
    /// The description must close an issue ("Closes #12").
    pub closes_issue: bool,
    /// Headings it must have, each with text below.
    pub sections: Vec<String>,
}

/// `gates`: what must report before a merge. `None` means the policy does not ask for it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gates {
    /// Required checks.
    pub checks: Option<Checks>,
    /// The author side's own verification: by whom.
    pub certification: Option<Vec<VerifierName>>,
    /// Independent countersignatures.
    pub second_verifier: Option<SecondVerifier>,
    /// Proof that critical lines are tested.
    pub mutation_check: Option<MutationCheck>,
    /// What tests must have run against.
    pub exercised: Vec<Exercised>,
    /// People's approvals.
    pub approvals: Option<Approvals>,
    /// The description's form.
    pub description: Option<Description>,
    /// The most changed lines.
    pub max_changed_lines: Option<u64>,
}

/// When the App merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// As soon as every gate reports.
    Ready,
    /// After `/merge`.
    Requested,
    /// Never; people merge.
    Never,
}

/// How the App merges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Method {
    Merge,
    Squash,
    Rebase,
}

/// A weekly window in which nothing merges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeWindow {
    /// Start: weekday and time of day.
    pub from: (chrono::Weekday, chrono::NaiveTime),
    /// End, exclusive.
    pub to: (chrono::Weekday, chrono::NaiveTime),
    /// In this time zone.
    pub timezone: chrono_tz::Tz,
}

/// `merge`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// For agents' pull requests.
    pub when: When,
    /// For everybody else's.
    pub others: When,
    /// How.
    pub method: Method,
    /// The only branches the App merges into; entries may be globs.
    pub base_branches: Globs,
    /// The head must contain the base's tip.
    pub up_to_date_required: bool,
    /// The App merges the base in when a ready pull request is behind.
    pub update_auto: bool,
    /// Delete the head branch after the merge.
    pub delete_branch: bool,
    /// Windows in which nothing merges.
    pub freeze: Vec<FreezeWindow>,
}

/// `dispatch.share`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Issues with one of these labels
    pub labels: Vec<String>,
    /// must make up at least this part (percent)
    pub at_least_percent: u32,
    /// of the last so many dispatches.
    pub window: u32,
}

/// `dispatch`: how much agent work may be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatch {
    /// Issue labels (globs) that start an agent.
    pub labels: Globs,
    /// Blocked while more agent pull requests than this are open.
    pub max_open_prs: u32,
    /// Grants that have not opened a pull request yet.
    pub max_in_flight: u32,
    /// When a grant ends without a pull request.
    pub in_flight_expires: Duration,
    /// Whether the App adds [`Dispatch::grant_label`] instead of leaving the asking label.
    pub grant_by_label: bool,
    /// The label a grant adds.
    pub grant_label: String,
    /// The label that says an issue waits.
    pub queued_label: String,
    /// The part of the work kept for certain labels.
    pub share: Option<Share>,
    /// Headings an issue needs.
    pub sections: Vec<String>,
}

/// The policy of a repository, as meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Act, or only show.
    pub mode: Mode,
    /// Whose pull requests are agents'.
    pub agents: Agents,
    /// Who may report evidence.
    pub verifiers: BTreeMap<VerifierName, Verifier>,
    /// What must report.
    pub gates: Gates,
    /// When and how to merge.
    pub merge: Merge,
    /// The dispatch limit.
    pub dispatch: Option<Dispatch>,
    /// `/merge` works besides `/countersign merge`.
    pub short_commands: bool,
    /// Who may override.
    pub owners: Vec<Party>,
    /// Where news go.
    pub notify: Vec<Notify>,
}

/// One entry of `notify`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notify {
    /// The address.
    pub url: String,
    /// The kinds of news; empty for all.
    pub kinds: Vec<String>,
}

impl Policy {
    /// The verifiers in the order of the file.
    pub fn verifiers_in_order(&self) -> Vec<&Verifier> {
        let mut verifiers: Vec<&Verifier> = self.verifiers.values().collect();
        verifiers.sort_by_key(|verifier| verifier.place);
        verifiers
    }
}

impl Merge {
    /// Whether the App may merge into this branch.
    pub fn allows(&self, base: &BaseRef) -> bool {
        self.base_branches.matches(base.as_str())
    }
}
