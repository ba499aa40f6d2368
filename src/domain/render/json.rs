//! A verdict for programs: the one JSON that the API and `explain --json` answer with, that passes
//! keep, and that the dashboard is made from; and its short form on the check run.
//!
//! Field names are stable; new ones may come. What is read back may have been written by an earlier
//! version, so fields that came later have defaults.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::words;
use crate::domain::facts::{Freshness, PolicyOrigin};
use crate::domain::model::{
    BaseRef, HeadSha, Oid, PolicyDigest, PullNumber, RepoName, SnapshotDigest, Timestamp,
};
use crate::domain::policy::Mode;
use crate::domain::verdict::{Basis, GateResult, Landing, Move, Outcome, State, Verdict};

/// A title is for lists: longer ones are not read there.
pub const TITLE_CHARS: usize = 200;

/// A verdict as it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// `OWNER/REPO` when it was told.
    pub repository: RepoName,
    /// The pull request.
    pub number: PullNumber,
    /// The outcome in one line, as on the check run.
    #[serde(default)]
    pub title: String,
    /// The outcome in one word.
    pub outcome: Outcome,
    /// One sentence, for when there are no gates to speak.
    pub reason: String,
    /// The head that was judged.
    pub head: Option<HeadSha>,
    /// The base branch.
    pub base: Option<BaseRef>,
    /// Its tip.
    pub base_tip: Option<Oid>,
    /// The policy: the git blob id of its text.
    pub policy: Option<PolicyDigest>,
    /// Where that policy stands; `None` also for records that were written before this was told.
    #[serde(default)]
    pub policy_from: Option<PolicyOrigin>,
    /// Whether that policy is enforced.
    pub mode: Option<Mode>,
    /// Who merges when it is ready.
    pub landing: Landing,
    /// It counts as an agent's.
    pub by_agent: bool,
    /// When it was judged.
    pub at: Timestamp,
    /// Whether every fact was confirmed by a read.
    pub freshness: Freshness,
    /// The digest of the facts.
    pub snapshot: Option<SnapshotDigest>,
    /// Since when the outcome is what it is, as far as the gates tell.
    #[serde(default)]
    pub since: Option<Timestamp>,
    /// Whose move it is, each once: over the open gates, or to merge what is ready.
    pub whose_move: Vec<Move>,
    /// The gates.
    pub gates: Vec<ToldGate>,
}

/// A gate as it is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToldGate {
    /// Its fixed name; within `details` the thing judged.
    pub name: String,
    /// `satisfied`, `waiting`, `failed`, `skipped`, `undetermined` or `overridden`.
    pub state: String,
    /// One sentence: why.
    pub reason: String,
    /// The records it rests on: what proves it, or what was seen that keeps it open.
    pub rests_on: Vec<Basis>,
    /// Since when it has been in this state.
    pub since: Option<Timestamp>,
    /// Whose move it is.
    pub whose_move: Move,
    /// The next step.
    pub next: Option<String>,
    /// What it was made of.
    pub details: Vec<ToldGate>,
}

impl ToldGate {
    /// Whether it still stands in the way, by its state alone; a word not known here does.
    pub fn is_open(&self) -> bool {
        !matches!(self.state.as_str(), "satisfied" | "skipped" | "overridden")
    }

    fn of(gate: &GateResult) -> Self {
        Self {
            name: gate.gate.clone(),
            state: gate.state.word().to_owned(),
            reason: gate.reason.clone(),
            rests_on: records(gate),
            since: gate.since,
            whose_move: gate.state.whose_move(),
            next: gate.next.clone(),
            details: gate.details.iter().map(Self::of).collect(),
        }
    }
}

/// What a gate rests on: its proof, who waived it, or what was seen that keeps it open.
fn records(gate: &GateResult) -> Vec<Basis> {
    match &gate.state {
        State::Satisfied { proof } => proof.records().to_vec(),
        State::Overridden { by } => vec![Basis::new(format!("override by {by}"), None)],
        State::Waiting { .. }
        | State::Failed { .. }
        | State::Skipped
        | State::Undetermined { .. } => gate.seen.clone(),
    }
}

impl Told {
    /// Tells a verdict.
    pub fn of(verdict: &Verdict, name: &RepoName) -> Self {
        Self {
            repository: name.clone(),
            number: verdict.number,
            title: words::title(
                &words::headline(verdict),
                &words::count_of_open(verdict),
                TITLE_CHARS,
            ),
            outcome: verdict.outcome,
            reason: verdict.reason.clone(),
            head: verdict.head.clone(),
            base: verdict.base.clone(),
            base_tip: verdict.base_tip.clone(),
            policy: verdict.policy.clone(),
            policy_from: verdict.policy_from.clone(),
            mode: verdict.mode,
            landing: verdict.landing,
            by_agent: verdict.by_agent,
            at: verdict.at,
            freshness: verdict.freshness,
            snapshot: Some(verdict.snapshot.clone()),
            since: since(verdict),
            whose_move: moves(verdict),
            gates: verdict.gates.iter().map(ToldGate::of).collect(),
        }
    }

    /// Reads back what [`value`] wrote.
    ///
    /// # Errors
    /// When it is not such a value.
    pub fn read(value: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(value)
    }
}

/// The whole tree.
pub fn value(verdict: &Verdict, name: &RepoName) -> Value {
    json!(Told::of(verdict, name))
}

/// An open outcome lasts as long as the gate it is named after; a closed one since its last gate closed.
fn since(verdict: &Verdict) -> Option<Timestamp> {
    match words::leading(verdict) {
        Some(gate) => gate.since,
        None => verdict.gates.iter().filter_map(|gate| gate.since).max(),
    }
}

fn moves(verdict: &Verdict) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    for gate in verdict.open_gates() {
        let on = gate.state.whose_move();
        let told = moves.iter_mut().find_map(|told| match (told, &on) {
            (Move::Verifier(names), Move::Verifier(others)) => Some((names, others)),
            _ => None,
        });
        if let Some((names, others)) = told {
            *names = joined(names, others);
        } else if !moves.contains(&on) {
            moves.push(on);
        }
    }
    if verdict.outcome == Outcome::Ready {
        moves.extend(match verdict.landing {
            Landing::Now => Some(Move::Countersign),
            Landing::WhenRequested | Landing::ByPeople => Some(Move::Maintainer),
            Landing::Observed => None,
        });
    }
    moves
}

/// Of two gates' verifiers those whose one report may move both; all of them where nobody's may.
fn joined(some: &[String], others: &[String]) -> Vec<String> {
    let both: Vec<String> = some
        .iter()
        .filter(|name| others.contains(name))
        .cloned()
        .collect();
    if both.is_empty() {
        [some, others].concat()
    } else {
        both
    }
}

/// The stable fields that stand on the check run, as JSON text of at most `most` bytes in which no
/// back-tick, at-sign or angle bracket is found: nothing in it can end the fence around it, ping, or
/// look like an HTML comment, and it parses to the very same texts.
///
/// Sentences are shortened first, then gates left out (their number is told), never the fields that
/// say what the verdict is about.
pub(super) fn short(verdict: &Verdict, siblings: &[PullNumber], most: usize) -> String {
    const LENGTHS: [usize; 5] = [4_000, 1_000, 250, 60, 0];
    for chars in LENGTHS {
        let text = signalless(&stable(verdict, siblings, chars, usize::MAX));
        if text.len() <= most {
            return text;
        }
    }
    let mut gates = verdict.gates.len();
    loop {
        gates /= 2;
        let text = signalless(&stable(verdict, siblings, 0, gates));
        if text.len() <= most || gates == 0 {
            return text;
        }
    }
}

/// The stable fields, in the order in which people read them.
#[derive(Serialize)]
struct Stable<'a> {
    outcome: Outcome,
    head: Option<&'a HeadSha>,
    base: Option<&'a BaseRef>,
    policy: Option<&'a PolicyDigest>,
    /// `OWNER/.github`, where the organisation's default applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_from: Option<&'a RepoName>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    siblings_not_ready: &'a [PullNumber],
    gates: Vec<StableGate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gates_omitted: Option<usize>,
}

#[derive(Serialize)]
struct StableGate {
    name: String,
    state: &'static str,
    reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rests_on: Vec<Basis>,
    since: Option<Timestamp>,
    whose_move: Move,
    next: Option<String>,
}

/// The records of a gate that fit beside sentences of so many characters; none where room is short.
fn short_records(gate: &GateResult, chars: usize) -> Vec<Basis> {
    const MOST: usize = 5;
    const WHAT_CHARS: usize = 200;
    const URL_BYTES: usize = 400;
    const ROOMY: usize = 250;
    if chars < ROOMY {
        return Vec::new();
    }
    let records = records(gate).into_iter().take(MOST);
    records
        .map(|record| Basis {
            what: super::text::clipped(&record.what, WHAT_CHARS),
            url: record.url.filter(|url| url.len() <= URL_BYTES),
        })
        .collect()
}

fn stable<'a>(
    verdict: &'a Verdict,
    siblings: &'a [PullNumber],
    chars: usize,
    most: usize,
) -> Stable<'a> {
    /// Gates have fixed, short names; whatever else comes must not fill the page.
    const NAME_CHARS: usize = 100;
    const MOST_SIBLINGS: usize = 20;
    let clipped = |text: &str| super::text::clipped(text, chars);
    let gates: Vec<_> = verdict
        .gates
        .iter()
        .take(most)
        .map(|gate| StableGate {
            name: super::text::clipped(&gate.gate, NAME_CHARS),
            state: gate.state.word(),
            reason: clipped(&gate.reason),
            rests_on: short_records(gate, chars),
            since: gate.since,
            whose_move: short_move(gate.state.whose_move(), chars),
            next: gate.next.as_deref().map(clipped),
        })
        .collect();
    let omitted = verdict.gates.len() - gates.len();
    Stable {
        outcome: verdict.outcome,
        head: verdict.head.as_ref(),
        base: verdict.base.as_ref(),
        policy: verdict.policy.as_ref(),
        policy_from: match &verdict.policy_from {
            Some(PolicyOrigin::Organisation { repo, .. }) => Some(repo),
            Some(PolicyOrigin::Repository) | None => None,
        },
        siblings_not_ready: siblings.get(..MOST_SIBLINGS).unwrap_or(siblings),
        gates,
        gates_omitted: (omitted > 0).then_some(omitted),
    }
}

/// The names of verifiers come from the policy, which somebody else writes: they must not fill the page.
fn short_move(on: Move, chars: usize) -> Move {
    match on {
        Move::Verifier(names) if names.iter().map(String::len).sum::<usize>() > chars.max(200) => {
            Move::Verifier(Vec::new())
        }
        on => on,
    }
}

fn signalless(stable: &Stable<'_>) -> String {
    // Texts, numbers and lists of them: there is nothing in it that JSON cannot say.
    let json = serde_json::to_string_pretty(stable).unwrap_or_default();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '`' | '@' | '<' | '>' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    safe
}
