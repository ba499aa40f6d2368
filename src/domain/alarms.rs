//! What stands still and should not: facts about one server in, alarms out.
//!
//! Pure. An alarm says what was seen and what to do, and nothing more: no alarm decides anything or holds
//! anything up. Which ones stand is found anew at each look, so that an alarm ends when its cause does, and
//! never because somebody forgot to take it back.
//!
//! # What raises one, and when
//!
//! Every time is chosen so that a server at work stays quiet, and is counted from what the store holds, so
//! that a restart forgets nothing (but for what is left of GitHub's limits, which its next answer tells):
//!
//! | what | after |
//! |---|---|
//! | work that is due is not taken up, deliveries are not understood | ten minutes |
//! | a pull request that is known was never judged | half an hour |
//! | no pass was finished over one, longer than three rounds of the sweep's turns | six hours at least |
//! | one that is ready, and would be merged by the App, is not | a quarter of an hour |
//! | a gate waits for a machine (a verifier, continuous integration, GitHub, this server) | a day |
//! | deliveries were asked for again and have still not arrived | half an hour |
//! | of an installation's calls of this hour a tenth is left; it ends with a fifth, or with the hour | at once |
//! | dead letters; GitHub does not answer, or not to us; the database fails; the gate is advice | at once |
//!
//! A gate that waits for a person raises none: people may take their time, and the page says whose move it
//! is. Of one kind only so many are told one by one ([`MOST_OF_A_KIND`]).

use std::collections::BTreeMap;

use chrono::Duration;
use serde::Serialize;

use super::facts::Refusal;
use super::model::{BaseRef, InstallationId, PullNumber, RepoName, Timestamp};
use super::policy::Mode;
use super::policy::lint::Gate;
use super::render::json::{Told, ToldGate};
use super::render::words;
use super::verdict::{Landing, Move, Outcome};

/// So many of a kind are told one by one; the rest is counted.
pub const MOST_OF_A_KIND: usize = 20;

const IDLE: Duration = Duration::minutes(10);
const UNJUDGED: Duration = Duration::minutes(30);
const UNFINISHED: Duration = Duration::hours(6);
const UNMERGED: Duration = Duration::minutes(15);
const UNANSWERED: Duration = Duration::hours(24);
const UNDELIVERED: Duration = Duration::minutes(30);
/// One of so many calls is left: a budget is low.
const LOW: i64 = 10;
/// One of so many is left: it is low no longer. More than at the beginning, so that it does not come and go.
const ENOUGH: i64 = 5;

/// What an alarm is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The database does not answer.
    Database,
    /// GitHub does not take our credentials.
    Credentials,
    /// GitHub does not answer, or the sweep cannot finish.
    #[serde(rename = "github")]
    GitHub,
    /// Little is left of GitHub's rate limit, or nothing.
    LowBudget,
    /// Work that is due is not taken up.
    Stalled,
    /// Deliveries are not understood in time.
    InboxStalled,
    /// Deliveries that could not be understood.
    DeadLetters,
    /// Deliveries that do not arrive.
    Undelivered,
    /// No pass was finished over a pull request.
    NoPass,
    /// A pull request that is ready is not merged.
    NotMerged,
    /// A gate waits too long for a machine.
    GateOverdue,
    /// GitHub does not hold everybody to our check.
    Advisory,
}

/// Every kind, in the order in which they are told.
pub const KINDS: [Kind; 12] = [
    Kind::Database,
    Kind::Credentials,
    Kind::GitHub,
    Kind::LowBudget,
    Kind::Stalled,
    Kind::InboxStalled,
    Kind::DeadLetters,
    Kind::Undelivered,
    Kind::NoPass,
    Kind::NotMerged,
    Kind::GateOverdue,
    Kind::Advisory,
];

impl Kind {
    /// The word for programs: in metrics, logs and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Credentials => "credentials",
            Self::GitHub => "github",
            Self::LowBudget => "low_budget",
            Self::Stalled => "stalled",
            Self::InboxStalled => "inbox_stalled",
            Self::DeadLetters => "dead_letters",
            Self::Undelivered => "undelivered",
            Self::NoPass => "no_pass",
            Self::NotMerged => "not_merged",
            Self::GateOverdue => "gate_overdue",
            Self::Advisory => "advisory",
        }
    }
}

/// Something that stands still and should not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Alarm {
    /// What it is about.
    pub kind: Kind,
    /// The pull request, branch or account; empty where it is about the server.
    pub about: String,
    /// Since when, as far as that is known.
    pub since: Option<Timestamp>,
    /// What was seen: one sentence.
    pub what: String,
    /// What to do: one sentence.
    pub mend: String,
}

/// Why GitHub gave no answer when it was last asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Since when it has not.
    pub since: Timestamp,
    /// What of.
    pub sort: Sort,
    /// In words: a sentence without its stop.
    pub why: String,
}

/// The sorts of trouble with GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// It does not take our credentials.
    Credentials,
    /// Its limit is used up.
    Limit {
        /// Until then.
        until: Timestamp,
    },
    /// Anything else.
    Other,
}

/// What is left of an installation's calls of this hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// Whose.
    pub installation: InstallationId,
    /// What is left.
    pub remaining: i64,
    /// What the hour has.
    pub limit: i64,
    /// When the next hour begins.
    pub resets: Timestamp,
    /// The sweep's calls are kept back, so that others have what is left; GitHub refused none.
    pub kept_back: bool,
}

/// An open pull request.
#[derive(Debug, Clone, PartialEq)]
pub struct Pull {
    /// Where.
    pub repo: RepoName,
    /// Which.
    pub number: PullNumber,
    /// Since when this server could have judged it.
    pub known_since: Timestamp,
    /// What its last pass found.
    pub told: Option<Told>,
    /// What GitHub last refused to merge.
    pub refusal: Option<Refusal>,
}

/// Everything that is looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Now.
    pub now: Timestamp,
    /// How long the sweep's turns take until everybody had one.
    pub round: Duration,
    /// Nothing is written to GitHub.
    pub shadow: bool,
    /// The trouble with GitHub, if there is any.
    pub github: Option<Trouble>,
    /// What is left of each installation's calls, where that is known.
    pub budgets: Vec<Budget>,
    /// Whose budget was low when last looked at, and since when.
    pub low: BTreeMap<InstallationId, Timestamp>,
    /// Since when the work waits that is due longest.
    pub due: Option<Timestamp>,
    /// Since when the oldest delivery waits to be understood.
    pub waiting: Option<Timestamp>,
    /// How many deliveries could not be understood that GitHub can send again still.
    pub dead: u64,
    /// How many deliveries were asked for and have not come, and since when the first of them is missing.
    pub missing: Option<(usize, Timestamp)>,
    /// Every open pull request in which the App may act.
    pub pulls: Vec<Pull>,
    /// How GitHub holds people to our check, on the branches that an enforced policy guards.
    pub bases: Vec<(RepoName, BaseRef, Gate)>,
}

/// The alarm of a database that does not answer: then nothing else can be known.
pub fn database() -> Alarm {
    alarm(
        Kind::Database,
        "",
        None,
        "The database does not answer: nothing is decided until it does.",
        "Look at the server's log for the cause; see that the disk is not full and the database runs.",
    )
}

/// Everything that stands still, the server's own troubles first.
pub fn raise(facts: &Facts) -> Vec<Alarm> {
    let mut alarms = Vec::new();
    alarms.extend(told(facts).map(github));
    server(facts, &mut alarms);
    for (kind, found) in [
        (Kind::LowBudget, budgets(facts)),
        (Kind::NoPass, each(facts, no_pass)),
        (Kind::NotMerged, each(facts, not_merged)),
        (Kind::GateOverdue, each(facts, overdue)),
        (
            Kind::Advisory,
            facts.bases.iter().filter_map(advisory).collect(),
        ),
    ] {
        bounded(kind, found, &mut alarms);
    }
    alarms
}

fn alarm(
    kind: Kind,
    about: impl Into<String>,
    since: Option<Timestamp>,
    what: impl Into<String>,
    mend: impl Into<String>,
) -> Alarm {
    Alarm {
        kind,
        about: about.into(),
        since,
        what: what.into(),
        mend: mend.into(),
    }
}

fn each(facts: &Facts, of: fn(&Facts, &Pull) -> Option<Alarm>) -> Vec<Alarm> {
    let pulls = facts.pulls.iter();
    pulls.filter_map(|pull| of(facts, pull)).collect()
}

/// The oldest of a kind, and how many more there are.
fn bounded(kind: Kind, mut found: Vec<Alarm>, alarms: &mut Vec<Alarm>) {
    found.sort_by(|one, other| (one.since, &one.about).cmp(&(other.since, &other.about)));
    let more = found.len().saturating_sub(MOST_OF_A_KIND);
    found.truncate(MOST_OF_A_KIND);
    alarms.append(&mut found);
    if more > 0 {
        let what = format!("{more} more of the kind `{}`.", kind.word());
        let mend = "Mend the ones above first: they have lasted longest.";
        alarms.push(alarm(kind, "more", None, what, mend));
    }
}

/// Whose budget is low now, and since when.
pub fn low(facts: &Facts) -> BTreeMap<InstallationId, Timestamp> {
    let one = |budget: &Budget| {
        let before = facts.low.get(&budget.installation);
        let part = if before.is_some() { ENOUGH } else { LOW };
        let is_low = budget.remaining.saturating_mul(part) <= budget.limit;
        is_low.then(|| (budget.installation, before.copied().unwrap_or(facts.now)))
    };
    facts.budgets.iter().filter_map(one).collect()
}

fn budgets(facts: &Facts) -> Vec<Alarm> {
    let low = low(facts);
    let one = |budget: &Budget| {
        let since = *low.get(&budget.installation)?;
        let about = format!("installation {}", budget.installation);
        let what = format!(
            "Of {} calls that GitHub allows installation {} in this hour, {} {} left; the next hour begins at \
             {}.",
            budget.limit,
            budget.installation,
            budget.remaining,
            if budget.remaining == 1 { "is" } else { "are" },
            budget.resets.format("%Y-%m-%d %H:%M UTC")
        );
        let mend = "Wait: merges and check runs go first, the rest goes on by itself. If it happens again, \
                    sweep less often (COUNTERSIGN_SWEEP_INTERVAL), and see what else uses this App's key.";
        Some(alarm(Kind::LowBudget, about, Some(since), what, mend))
    };
    facts.budgets.iter().filter_map(one).collect()
}

/// The trouble with GitHub that is worth telling: that a sweep was kept back by our own care is none, and
/// whether that budget is low is told of the budget.
fn told(facts: &Facts) -> Option<&Trouble> {
    let care = facts.budgets.iter().any(|budget| budget.kept_back);
    let ours = |trouble: &&Trouble| care && matches!(trouble.sort, Sort::Limit { .. });
    facts.github.as_ref().filter(|trouble| !ours(trouble))
}

fn github(trouble: &Trouble) -> Alarm {
    let why = &trouble.why;
    let (kind, what, mend) = match trouble.sort {
        Sort::Credentials => (
            Kind::Credentials,
            format!("{why}."),
            "Run `countersign doctor`: it tells whether the App's id, its private key or this machine's \
             clock is wrong.",
        ),
        Sort::Limit { until } => (
            Kind::LowBudget,
            // How long to wait was counted from the answer, and this is read later.
            format!(
                "GitHub's rate limit was used up when GitHub was last asked; it answers again from \
                 {} on.",
                until.format("%Y-%m-%d %H:%M UTC")
            ),
            "Wait: work goes on by itself. If it happens again, sweep less often \
             (COUNTERSIGN_SWEEP_INTERVAL), and see what else uses this App's key.",
        ),
        Sort::Other => (
            Kind::GitHub,
            format!("GitHub could not be asked everything at the last sweep: {why}."),
            "See https://www.githubstatus.com and that this machine reaches GitHub; `countersign doctor` \
             tells what is refused.",
        ),
    };
    alarm(kind, "", Some(trouble.since), what, mend)
}

fn server(facts: &Facts, alarms: &mut Vec<Alarm>) {
    let longer = |since: Option<Timestamp>, than| since.filter(|since| facts.now - *since > than);
    if let Some(since) = longer(facts.due, IDLE) {
        let what = "No pass has taken up the work that is due: pull requests are not judged.";
        let mend = "See that the server runs; if it does, look at its log for passes that hang or a \
                    database that fails, and restart it.";
        alarms.push(alarm(Kind::Stalled, "", Some(since), what, mend));
    }
    if let Some(since) = longer(facts.waiting, IDLE) {
        let what = "Deliveries wait to be understood for longer than ten minutes.";
        let mend = "See that the server runs, and look at its log for what the database says.";
        alarms.push(alarm(Kind::InboxStalled, "", Some(since), what, mend));
    }
    if facts.dead > 0 {
        let (them, were) = match facts.dead {
            1 => ("delivery", "was"),
            _ => ("deliveries", "were"),
        };
        let what = format!(
            "{} {them} could not be understood and {were} set aside.",
            facts.dead
        );
        let mend = "The dashboard names them with the reason; redeliver them on the App's page under \
                    Advanced once this server is up to date. GitHub can send them again for three days; \
                    then this alarm ends.";
        alarms.push(alarm(Kind::DeadLetters, "", None, what, mend));
    }
    if let Some((count, since)) = facts.missing
        && facts.now - since > UNDELIVERED
    {
        let what = format!("{count} deliveries were asked for again and have still not arrived.");
        let mend = "Run `countersign doctor`: it tells how GitHub's deliveries are answered. See that \
                    GitHub reaches the webhook's address and that the secret is the same on both sides.";
        alarms.push(alarm(Kind::Undelivered, "", Some(since), what, mend));
    }
}

fn place(pull: &Pull) -> String {
    format!("{}#{}", pull.repo, pull.number)
}

fn no_pass(facts: &Facts, pull: &Pull) -> Option<Alarm> {
    let (since, bound) = match &pull.told {
        Some(told) => (told.at, (facts.round * 3).max(UNFINISHED)),
        None => (pull.known_since, UNJUDGED),
    };
    let place = place(pull);
    let what = match pull.told {
        Some(_) => format!("No pass over {place} was finished for a long time: its page is old."),
        None => format!("{place} has not been judged yet."),
    };
    let mend = format!(
        "Look for `{place}` in the server's log: each pass that failed says why. `countersign explain \
         {place}` reads GitHub itself."
    );
    (facts.now - since > bound).then(|| alarm(Kind::NoPass, place, Some(since), what, mend))
}

fn not_merged(facts: &Facts, pull: &Pull) -> Option<Alarm> {
    let told = pull.told.as_ref()?;
    // A merge that GitHub refused leaves a gate open that waits for GitHub.
    let refusal = pull.refusal.as_ref();
    let refused = told.outcome == Outcome::Waiting
        && refusal.is_some_and(|refusal| Some(&refusal.head) == told.head.as_ref());
    let ours = (told.outcome == Outcome::Ready || refused)
        && told.landing == Landing::Now
        && told.mode == Some(Mode::Enforce)
        && !facts.shadow;
    // Each refusal opens that gate anew: it is the others' closing that counts.
    let closed = told.gates.iter().filter(|gate| !gate.is_open());
    let since = match refused {
        true => closed.filter_map(|gate| gate.since).max(),
        false => told.since,
    };
    let since = since.filter(|_| ours)?;
    if facts.now - since <= UNMERGED {
        return None;
    }
    let place = place(pull);
    let (what, mend) = match &pull.refusal {
        Some(refusal) => (
            format!(
                "{place} passed every gate and is not merged: GitHub refused it ({}).",
                match refusal.times {
                    1 => "once".to_owned(),
                    times => format!("{times} times"),
                }
            ),
            "Its page tells GitHub's words; mend what they name (a rule on the branch, a permission).",
        ),
        None => (
            format!("{place} passed every gate and is not merged."),
            "Look at its page and at the server's log; `/recheck` in a comment has everything read again.",
        ),
    };
    Some(alarm(Kind::NotMerged, place, Some(since), what, mend))
}

/// The gate that has waited longest for a machine.
fn overdue(facts: &Facts, pull: &Pull) -> Option<Alarm> {
    let told = pull.told.as_ref()?;
    if !matches!(told.outcome, Outcome::Waiting | Outcome::Undetermined) {
        return None;
    }
    let machines = |gate: &&ToldGate| gate.is_open() && is_machine(&gate.whose_move);
    let gates = told.gates.iter().filter(machines);
    let (since, gate) = gates
        .filter_map(|gate| Some((gate.since?, gate)))
        .min_by_key(|(since, _)| *since)?;
    if facts.now - since <= UNANSWERED {
        return None;
    }
    let place = place(pull);
    let name = words::gate_name(&gate.name);
    let who = words::whose_move(&gate.whose_move);
    let what = format!("{place} has waited for more than a day: {name}. Whose move: {who}.");
    let mend = match &gate.whose_move {
        Move::Verifier(_) => {
            "See whether the verifier runs at all; `/verify NAME` in a comment asks for a run."
        }
        Move::Ci => {
            "See whether the check was started: a workflow with a path filter never reports. Run it \
             again, or take it out of the policy."
        }
        _ => "Its page says what is missing; `/recheck` in a comment has everything read again.",
    };
    Some(alarm(Kind::GateOverdue, place, Some(since), what, mend))
}

fn is_machine(whose: &Move) -> bool {
    match whose {
        Move::Verifier(_) | Move::Ci | Move::GitHub | Move::Countersign | Move::Operator => true,
        Move::Nobody | Move::Author | Move::Maintainer | Move::Owner => false,
    }
}

fn advisory((repo, base, gate): &(RepoName, BaseRef, Gate)) -> Option<Alarm> {
    let about = format!("{repo}, branch {base}");
    let (what, mend) = match gate {
        Gate::Closed => return None,
        Gate::Open => (
            format!(
                "GitHub does not require our check on `{base}` of {repo}: the gate is advice, anybody who \
                 may write can merge past it."
            ),
            "Add a ruleset for the branch that requires the status check `countersign`, with this App as \
             its source.",
        ),
        Gate::Forgeable => (
            format!(
                "GitHub requires our check on `{base}` of {repo} from any source: whoever may write can \
                 report it."
            ),
            "Set this App as the source of the required check `countersign`.",
        ),
        Gate::Elsewhere(_) => (
            format!(
                "GitHub requires our check on `{base}` of {repo} from another App: nothing can be merged \
                 there."
            ),
            "Set this App as the source of the required check `countersign`.",
        ),
    };
    Some(alarm(Kind::Advisory, about, None, what, mend))
}

#[cfg(test)]
mod tests;
