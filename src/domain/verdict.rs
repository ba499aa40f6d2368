//! One tree explains everything: the gates' results for one head, combined.
//!
//! Check run, dashboard, API, `explain` and `next` all render this [`Verdict`]; readiness is computed
//! here and nowhere else. This is also the only mint of [`Clearance`], the right to merge one head:
//! its fields are private to this module, so no other room can make one, and a merge cannot be
//! ordered without one. A clearance is minted only from a verdict whose every gate is satisfied (or
//! overridden), whose facts were all confirmed by a read in that very pass, under a policy that is
//! enforced and lets the App merge.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::facts::{Freshness, PolicyFact, PolicyOrigin, PullRequest, PullState, Snapshot};
use super::gate;
use super::model::{
    BaseRef, HeadSha, Oid, PolicyDigest, PullNumber, RepoId, SnapshotDigest, Timestamp,
};
use super::policy::{Method, Mode, Policy, When};

/// A positive record: something that exists and speaks for a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// What it is, in words ("check run `unit` by github-actions").
    pub what: String,
    /// A page about it.
    pub url: Option<String>,
}

impl Basis {
    /// A record, and where it can be seen.
    pub fn new(what: impl Into<String>, url: Option<String>) -> Self {
        Self {
            what: what.into(),
            url,
        }
    }
}

/// At least one positive record: a gate cannot be satisfied by nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Proof(Vec<Basis>);

impl Proof {
    /// The records, or `None` for an empty list: absence is never success.
    pub fn new(records: Vec<Basis>) -> Option<Self> {
        (!records.is_empty()).then_some(Self(records))
    }

    /// One record.
    pub fn one(record: Basis) -> Self {
        Self(vec![record])
    }

    /// The records, at least one.
    pub fn records(&self) -> &[Basis] {
        &self.0
    }
}

/// Whose move it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    /// Nobody's: nothing is open.
    Nobody,
    /// The author: push, resolve, retarget, mark ready.
    Author,
    /// A verifier that the policy names (any of these).
    Verifier(Vec<String>),
    /// Continuous integration.
    Ci,
    /// Somebody with write access.
    Maintainer,
    /// An owner of the policy.
    Owner,
    /// GitHub itself.
    GitHub,
    /// Countersign itself; it will look again.
    Countersign,
    /// The operator of this server.
    Operator,
}

/// A gate's state, with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// The requirement is met; here is what shows it.
    Satisfied {
        /// The records.
        proof: Proof,
    },
    /// Something is still to come by itself or by somebody named.
    Waiting {
        /// Whose move.
        on: Move,
    },
    /// It cannot pass as things stand: only a push, an owner or a mended setting helps.
    Failed {
        /// Whose move.
        on: Move,
    },
    /// It does not apply to this pull request; the reason says why.
    Skipped,
    /// A fact is missing; the reason says which.
    Undetermined {
        /// Whose move.
        on: Move,
    },
    /// An owner waived it for this head.
    Overridden {
        /// By whom.
        by: String,
    },
}

impl State {
    /// The fixed word for programs: `satisfied`, `waiting`, `failed`, `skipped`, `undetermined`, `overridden`.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Satisfied { .. } => "satisfied",
            Self::Waiting { .. } => "waiting",
            Self::Failed { .. } => "failed",
            Self::Skipped => "skipped",
            Self::Undetermined { .. } => "undetermined",
            Self::Overridden { .. } => "overridden",
        }
    }

    /// Whether it no longer stands in the way.
    pub fn passes(&self) -> bool {
        match self {
            Self::Satisfied { .. } | Self::Skipped | Self::Overridden { .. } => true,
            Self::Waiting { .. } | Self::Failed { .. } | Self::Undetermined { .. } => false,
        }
    }

    /// Whose move it is.
    pub fn whose_move(&self) -> Move {
        match self {
            Self::Waiting { on } | Self::Failed { on } | Self::Undetermined { on } => on.clone(),
            Self::Satisfied { .. } | Self::Skipped | Self::Overridden { .. } => Move::Nobody,
        }
    }
}

/// One gate's result, as a node of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateResult {
    /// The gate's fixed name (`checks`, `second_verifier`, `open`, ...); within `details` the thing
    /// judged (a check's name, a hunk's place, a verifier).
    pub gate: String,
    /// Its state.
    #[serde(flatten)]
    pub state: State,
    /// One sentence: why.
    pub reason: String,
    /// The exact next step ("push a fix for src/start.rs:40"); every gate that is open has one.
    pub next: Option<String>,
    /// What was seen that keeps it open: the failing check, the rejection. Of a gate that is satisfied
    /// its proof tells.
    pub seen: Vec<Basis>,
    /// Since when it has been in this state.
    pub since: Option<Timestamp>,
    /// What it was made of.
    pub details: Vec<GateResult>,
}

impl GateResult {
    fn new(gate: impl Into<String>, state: State, reason: impl Into<String>) -> Self {
        Self {
            gate: gate.into(),
            state,
            reason: reason.into(),
            next: None,
            seen: Vec::new(),
            since: None,
            details: Vec::new(),
        }
    }

    /// Met, because of this proof.
    pub fn satisfied(gate: impl Into<String>, proof: Proof, reason: impl Into<String>) -> Self {
        Self::new(gate, State::Satisfied { proof }, reason)
    }

    /// Not yet.
    pub fn waiting(gate: impl Into<String>, on: Move, reason: impl Into<String>) -> Self {
        Self::new(gate, State::Waiting { on }, reason)
    }

    /// Not as things stand.
    pub fn failed(gate: impl Into<String>, on: Move, reason: impl Into<String>) -> Self {
        Self::new(gate, State::Failed { on }, reason)
    }

    /// Does not apply, because of this.
    pub fn skipped(gate: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(gate, State::Skipped, reason)
    }

    /// Cannot be known, because of this.
    pub fn undetermined(gate: impl Into<String>, on: Move, reason: impl Into<String>) -> Self {
        Self::new(gate, State::Undetermined { on }, reason)
    }

    /// With the exact next step.
    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Self {
        self.next = Some(step.into());
        self
    }

    /// With what was seen that keeps it open.
    #[must_use]
    pub fn seen(mut self, record: Basis) -> Self {
        self.seen.push(record);
        self
    }

    /// With what it was made of.
    #[must_use]
    pub fn details(mut self, details: Vec<GateResult>) -> Self {
        self.details = details;
        self
    }
}

/// The outcome in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Outcome {
    Merged,
    Ready,
    Waiting,
    Blocked,
    Undetermined,
    Held,
    Ignored,
}

impl Outcome {
    /// The fixed word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Undetermined => "undetermined",
            Self::Held => "held",
            Self::Ignored => "ignored",
        }
    }
}

/// Who merges once everything is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landing {
    /// The App, at once.
    Now,
    /// The App, once somebody with write access asks with `/merge`.
    WhenRequested,
    /// People; the policy says the App never merges such pull requests.
    ByPeople,
    /// Nobody: the policy only observes.
    Observed,
}

/// The gates' results for one head, as one tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// The repository.
    pub repo: RepoId,
    /// The pull request.
    pub number: PullNumber,
    /// The head it was made for; `None` when the pull request could not be read.
    pub head: Option<HeadSha>,
    /// The base branch.
    pub base: Option<BaseRef>,
    /// The base's tip.
    pub base_tip: Option<Oid>,
    /// The policy it was made under.
    pub policy: Option<PolicyDigest>,
    /// Where that policy stands.
    pub policy_from: Option<PolicyOrigin>,
    /// The mode of that policy.
    pub mode: Option<Mode>,
    /// In one word.
    pub outcome: Outcome,
    /// In one sentence, for the case that there are no gates to speak ("there is no policy").
    pub reason: String,
    /// Who merges when it is ready.
    pub landing: Landing,
    /// The pull request counts as an agent's.
    pub by_agent: bool,
    /// The gates, standing ones first.
    pub gates: Vec<GateResult>,
    /// Whether it rests on confirmed facts.
    pub freshness: Freshness,
    /// When it was made.
    pub at: Timestamp,
    /// The digest of the facts.
    pub snapshot: SnapshotDigest,
    /// Somebody can be told that a verification is wanted, and one is.
    #[serde(skip)]
    pub can_ask: bool,
    #[serde(skip)]
    method: Option<Method>,
}

impl Verdict {
    /// The gates that still stand in the way.
    pub fn open_gates(&self) -> impl Iterator<Item = &GateResult> {
        self.gates.iter().filter(|gate| !gate.state.passes())
    }

    /// The open gate to look at first: one that failed, one with a missing fact, one that somebody
    /// must move; only then one that moves by itself.
    pub fn foremost(&self) -> Option<&GateResult> {
        self.open_gates().min_by_key(|gate| {
            let by_itself = matches!(gate.state.whose_move(), Move::GitHub | Move::Countersign);
            match gate.state.word() {
                "failed" => 0,
                "undetermined" => 1,
                _ if by_itself => 3,
                _ => 2,
            }
        })
    }

    /// The right to merge this head now, or `None`.
    pub fn clearance(&self) -> Option<Clearance> {
        let every_gate_passes = !self.gates.is_empty() && self.open_gates().next().is_none();
        let may = self.outcome == Outcome::Ready
            && self.landing == Landing::Now
            && self.mode == Some(Mode::Enforce)
            && self.freshness == Freshness::Confirmed
            && every_gate_passes;
        if !may {
            return None;
        }
        Some(Clearance {
            repo: self.repo,
            number: self.number,
            head: self.head.clone()?,
            base: self.base.clone()?,
            base_tip: self.base_tip.clone()?,
            policy: self.policy.clone()?,
            snapshot: self.snapshot.clone(),
            method: self.method?,
        })
    }
}

/// The right to merge one head. Made only by [`Verdict::clearance`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Clearance {
    repo: RepoId,
    number: PullNumber,
    head: HeadSha,
    base: BaseRef,
    base_tip: Oid,
    policy: PolicyDigest,
    snapshot: SnapshotDigest,
    method: Method,
}

#[allow(missing_docs)]
impl Clearance {
    pub fn repo(&self) -> RepoId {
        self.repo
    }
    pub fn number(&self) -> PullNumber {
        self.number
    }
    /// The only head that may be merged with it.
    pub fn head(&self) -> &HeadSha {
        &self.head
    }
    pub fn base(&self) -> &BaseRef {
        &self.base
    }
    pub fn base_tip(&self) -> &Oid {
        &self.base_tip
    }
    pub fn policy(&self) -> &PolicyDigest {
        &self.policy
    }
    pub fn snapshot(&self) -> &SnapshotDigest {
        &self.snapshot
    }
    pub fn method(&self) -> Method {
        self.method
    }
}

/// Judges a pull request under the policy that its base branch carries, or says why there is none.
///
/// One that is no longer open has no gates: nothing more is read of it, and of what is not read nothing
/// can be said. What it was merged on is on record.
pub fn decide(snapshot: &Snapshot) -> Verdict {
    let over = |pull: &PullRequest| pull.state != PullState::Open;
    if snapshot.pull.known().is_some_and(over) {
        let policy = match &snapshot.policy {
            PolicyFact::Valid { policy, .. } => Some(&**policy),
            _ => None,
        };
        return combine(policy, snapshot, Vec::new(), "");
    }
    match &snapshot.policy {
        PolicyFact::Valid { policy, .. } => evaluate(policy, snapshot),
        PolicyFact::Invalid {
            problems, origin, ..
        } => {
            let gates = vec![gate::standing::invalid_policy(problems, origin)];
            combine(None, snapshot, gates, "the policy does not validate")
        }
        PolicyFact::Unavailable(why) => {
            let gates = vec![gate::standing::unreadable_policy(why)];
            combine(None, snapshot, gates, "the policy could not be read")
        }
        PolicyFact::Absent => combine(None, snapshot, Vec::new(), "there is no policy"),
    }
}

/// Judges a pull request under a policy. Total and pure: the same facts give the same verdict.
pub fn evaluate(policy: &Policy, snapshot: &Snapshot) -> Verdict {
    let mut gates = gate::judge_all(policy, snapshot);
    gate::waived::apply(snapshot, &mut gates);
    combine(Some(policy), snapshot, gates, "")
}

fn combine(
    policy: Option<&Policy>,
    snapshot: &Snapshot,
    mut gates: Vec<GateResult>,
    reason: &str,
) -> Verdict {
    gate::next_step::fill(&mut gates, policy);
    if let Some(policy) = policy {
        gate::next_step::put_off(&mut gates, policy);
    }
    for gate in &mut gates {
        let before = snapshot.since.get(&gate.gate);
        gate.since = Some(match before {
            Some((word, since)) if word == gate.state.word() => *since,
            _ => snapshot.now,
        });
    }
    let pull = snapshot.pull.known();
    let by_agent = match (policy, pull) {
        (Some(policy), Some(pull)) => {
            gate::counts_as_agents(&policy.agents, pull, snapshot.repo.id)
        }
        _ => false,
    };
    let can_ask = policy.is_some_and(|policy| can_ask(policy, &gates));
    let (outcome, reason) = outcome(policy, snapshot, &gates, reason);
    Verdict {
        repo: snapshot.repo.id,
        number: snapshot.number,
        head: pull.map(|pull| pull.head.clone()),
        base: pull.map(|pull| pull.base.clone()),
        base_tip: snapshot.base.known().map(|base| base.tip.clone()),
        policy: snapshot.policy.digest().cloned(),
        policy_from: snapshot.policy.origin().cloned(),
        mode: policy.map(|policy| policy.mode),
        outcome,
        reason,
        landing: landing(policy, snapshot, by_agent),
        by_agent,
        gates,
        freshness: snapshot.freshness,
        at: snapshot.now,
        snapshot: digest(snapshot),
        can_ask,
        method: policy.map(|policy| policy.merge.method),
    }
}

fn can_ask(policy: &Policy, gates: &[GateResult]) -> bool {
    let wants = |gate: &GateResult| {
        let evidence = ["certification", "second_verifier", "mutation_check"];
        evidence.contains(&gate.gate.as_str()) && matches!(gate.state, State::Waiting { .. })
    };
    let mut verifiers = policy.verifiers.values();
    let tellable = verifiers.any(|one| gate::availability::can_be_told(policy.mode, one));
    tellable && gates.iter().any(wants)
}

fn outcome(
    policy: Option<&Policy>,
    snapshot: &Snapshot,
    gates: &[GateResult],
    reason: &str,
) -> (Outcome, String) {
    let given = |outcome, text: &str| {
        let text = if reason.is_empty() { text } else { reason };
        (outcome, text.to_owned())
    };
    let Some(pull) = snapshot.pull.known() else {
        return given(Outcome::Undetermined, "the pull request could not be read");
    };
    match pull.state {
        PullState::Merged { .. } => return (Outcome::Merged, "it is merged".into()),
        PullState::Closed => return (Outcome::Ignored, "it is closed".into()),
        PullState::Open => {}
    }
    if matches!(snapshot.policy, PolicyFact::Absent) {
        return given(Outcome::Ignored, "there is no policy");
    }
    if let Some(policy) = policy
        && !policy.merge.allows(&pull.base)
    {
        let text = format!("the policy does not merge into `{}`", pull.base);
        return (Outcome::Ignored, text);
    }
    if snapshot.hold.is_some() {
        return given(Outcome::Held, "it is held");
    }
    let any = |word: &str| gates.iter().any(|gate| gate.state.word() == word);
    if any("failed") {
        given(Outcome::Blocked, "a gate failed")
    } else if any("undetermined") {
        given(Outcome::Undetermined, "a fact is missing")
    } else if any("waiting") {
        given(Outcome::Waiting, "a gate is still open")
    } else if gates.is_empty() {
        given(Outcome::Undetermined, "nothing was judged")
    } else {
        given(Outcome::Ready, "every gate is satisfied")
    }
}

fn landing(policy: Option<&Policy>, snapshot: &Snapshot, by_agent: bool) -> Landing {
    let Some(policy) = policy else {
        return Landing::ByPeople;
    };
    if policy.mode == Mode::Observe {
        return Landing::Observed;
    }
    let when = if by_agent {
        policy.merge.when
    } else {
        policy.merge.others
    };
    let requested = match (&snapshot.merge_requested, snapshot.pull.known()) {
        (Some(head), Some(pull)) => *head == pull.head,
        _ => false,
    };
    match when {
        When::Ready => Landing::Now,
        When::Requested if requested => Landing::Now,
        When::Requested => Landing::WhenRequested,
        When::Never => Landing::ByPeople,
    }
}

/// SHA-256 over every fact that can change a verdict. The time of the pass is left out, so equal
/// facts have equal digests.
fn digest(snapshot: &Snapshot) -> SnapshotDigest {
    let policy = match &snapshot.policy {
        PolicyFact::Valid { digest, .. } | PolicyFact::Invalid { digest, .. } => digest.as_str(),
        PolicyFact::Absent => "absent",
        PolicyFact::Unavailable(_) => "unavailable",
    };
    let facts = serde_json::json!([
        snapshot.repo,
        snapshot.number,
        snapshot.freshness,
        snapshot.pull,
        snapshot.base,
        policy,
        snapshot.policy.origin(),
        snapshot.runs,
        snapshot.statuses,
        snapshot.workflows,
        snapshot.reviews,
        snapshot.comments,
        snapshot.open_conversations,
        snapshot.teams,
        snapshot.comparison,
        snapshot.rules,
        snapshot.hold,
        snapshot.freeze,
        snapshot.merge_requested,
        snapshot.stop_asked,
        snapshot.asked,
        snapshot.overrides,
        snapshot.refusal,
    ]);
    let hash = Sha256::digest(facts.to_string().as_bytes());
    SnapshotDigest::parse(&hex::encode(hash)).expect("64 hex digits by construction")
}
