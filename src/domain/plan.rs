//! The effects that make GitHub agree with the verdict.
//!
//! A plan leaves no choice to whoever carries it out. Order matters in one place: our own check is
//! set to `success` before the merge is tried, since a repository may require it.
//!
//! What is published follows the state, not the transitions: the page that should stand is compared
//! with the page that stands, and equal pages cost nothing. A page of which only the wording changed
//! (three checks missing instead of four) is held back for a while, so that a burst of deliveries
//! ends in one update; a change of the outcome, or of the gate to look at first, is published at once.
//!
//! Left out: branch updates (`merge.update`) have no effect here yet, which `policy check` says.

use chrono::Duration;
use sha2::{Digest, Sha256};

use super::facts::{Asked, Freshness, PolicyFact, PullState, Snapshot};
use super::gate::standing::CONFLICTS;
use super::memory::{Concluded, Confirm, PullRecord};
use super::model::{BaseRef, CheckRunId, CommentId, HeadSha, PullNumber, RepoId, Timestamp};
use super::policy::{Mode, Request};
use super::preview::Preview;
use super::render::answer;
use super::render::check::{self, CheckPage};
use super::request::{ANSWERS_AN_HOUR, Receipt, Wish};
use super::verdict::{Clearance, GateResult, Move, Outcome, State, Verdict};

/// How long a page that changed in wording alone is held back.
const WORDING_REST: Duration = Duration::seconds(20);
/// The bounds between which a question that GitHub left unanswered is asked again.
const SOONEST: Duration = Duration::seconds(3);
const LATEST: Duration = Duration::minutes(5);
/// What the shape of a page begins with that tells of a wait alone.
const WAITS: &str = "waits until ";
/// For how long answers are counted.
const HOUR: Duration = Duration::hours(1);
/// How soon a question is asked that a delivery left open while others are open anyway.
const UNHURRIED: Duration = Duration::minutes(1);

/// One write to GitHub.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Say on the head what the verdict is.
    PublishCheck(CheckOrder),
    /// Merge the cleared head.
    Merge(MergeOrder),
    /// Delete the branch of what was merged.
    DeleteBranch(BranchOrder),
    /// Keep GitHub's own auto-merge from merging what is held.
    DisarmAutoMerge,
    /// Tell once that a description holds no commands.
    Hint(String),
    /// React to a comment with commands, and answer it.
    Reply(ReplyOrder),
    /// Tell a verifier that a verification is asked for.
    AskVerifier(AskOrder),
}

/// What a comment gets back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyOrder {
    /// The comment.
    pub comment: CommentId,
    /// The reaction.
    pub receipt: Receipt,
    /// The answer, if there is more to say.
    pub body: Option<String>,
}

/// The branch to delete: of this repository, and at this head when it was merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchOrder {
    /// Its name.
    pub branch: String,
    /// Where it must still point.
    pub head: HeadSha,
}

/// Telling a verifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskOrder {
    /// What is kept of it once it was done.
    pub asked: Asked,
    /// The person's word it follows; `None` where Countersign asks by itself.
    pub wish: Option<Wish>,
    /// How often Countersign asked it by itself about this head and base before.
    pub times: usize,
    /// In which way.
    pub request: Request,
    /// Who makes its model, for the ledger.
    pub vendor: Option<String>,
    /// How long it has, for the ledger.
    pub deadline: Duration,
}

impl AskOrder {
    /// What the journal of effects knows it by: the same in every pass that would ask the same.
    pub fn name(&self, repo: RepoId, number: PullNumber) -> String {
        let verifier = &self.asked.verifier;
        match self.wish.as_ref().map(|wish| (wish.comment, wish.at)) {
            Some((Some(comment), _)) => format!("verify:{repo}:{comment}:{verifier}"),
            Some((None, at)) => {
                format!(
                    "verify:{repo}:{number}:{verifier}:{}",
                    at.timestamp_micros()
                )
            }
            None => format!(
                "ask:{repo}:{number}:{}:{}:{verifier}:{}",
                self.asked.head, self.asked.base, self.times
            ),
        }
    }
}

/// A check run to create or to update.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOrder {
    /// On which head.
    pub head: HeadSha,
    /// For which pull request.
    pub number: PullNumber,
    /// Update this run; `None` makes a new one.
    pub update: Option<CheckRunId>,
    /// What it says.
    pub page: CheckPage,
    /// The digest of what it says.
    pub digest: String,
    /// The digest of the gates' states.
    pub shape: String,
}

/// A merge. Cannot be made without a [`Clearance`].
#[derive(Debug, Clone, PartialEq)]
pub struct MergeOrder {
    clearance: Clearance,
}

impl MergeOrder {
    /// Orders the merge that the clearance allows.
    pub fn new(clearance: Clearance) -> Self {
        Self { clearance }
    }

    /// What it rests on.
    pub fn clearance(&self) -> &Clearance {
        &self.clearance
    }
}

/// What to do, and when to look again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// In this order; a failed one stops the rest.
    pub effects: Vec<Effect>,
    /// Look again after this, if nothing wakes the pull request before.
    pub again: Option<(Duration, Confirm)>,
}

/// What a plan takes into account besides the verdict.
#[derive(Debug, Clone, Copy)]
pub struct Standing<'a> {
    /// What passes kept: what is published, what was refused.
    pub record: &'a PullRecord,
    /// Other open pull requests with the same head that are not ready.
    pub siblings: &'a [PullNumber],
    /// What a change of the policy in this pull request would do.
    pub preview: Option<&'a Preview>,
    /// The server writes nothing to GitHub at all.
    pub shadow: bool,
    /// GitHub's own auto-merge is armed.
    pub auto_merge: bool,
    /// The description holds a command, and nobody was told yet that it counts for nothing there.
    pub hint: bool,
    /// The branch of a merged head, where one is to be deleted.
    pub leaving: Option<&'a BranchOrder>,
    /// Verifications that are asked for, and how their verifiers are told.
    pub wishes: &'a [AskOrder],
}

/// Plans the effects.
pub fn plan(verdict: &Verdict, standing: Standing<'_>) -> Plan {
    let mut plan = Plan {
        effects: Vec::new(),
        again: again(verdict),
    };
    if standing.shadow {
        return plan;
    }
    if standing.auto_merge && verdict.outcome == Outcome::Held && acts(verdict) {
        plan.effects.push(Effect::DisarmAutoMerge);
    }
    match publication(verdict, standing) {
        Publication::Nothing => {}
        Publication::Now(order) => plan.effects.push(Effect::PublishCheck(*order)),
        Publication::Later(rest) => plan.again = sooner(plan.again, (rest, Confirm::IfNeeded)),
    }
    if let Some(clearance) = verdict.clearance() {
        plan.effects.push(Effect::Merge(MergeOrder::new(clearance)));
    }
    let leaving = standing.leaving.cloned();
    plan.effects.extend(leaving.map(Effect::DeleteBranch));
    // Last: a conversation that GitHub has locked must not keep anything else from happening.
    let mut answers = standing.record.answered_at.iter();
    let mut answered = answers
        .by_ref()
        .filter(|at| verdict.at - **at < HOUR)
        .count();
    for reply in &standing.record.replies {
        let body = answer::body(reply, verdict).filter(|_| answered < ANSWERS_AN_HOUR);
        answered += usize::from(body.is_some());
        plan.effects.push(Effect::Reply(ReplyOrder {
            comment: reply.comment,
            receipt: reply.receipt,
            body,
        }));
    }
    if standing.hint {
        plan.effects
            .push(Effect::Hint(answer::hint(verdict.number)));
    }
    // A label is never touched by a policy that only observes.
    let may_tell = |order: &&AskOrder| acts(verdict) || !matches!(order.request, Request::Label(_));
    let told = standing.wishes.iter().filter(may_tell);
    plan.effects.extend(told.cloned().map(Effect::AskVerifier));
    plan
}

/// The head whose branch goes once it is merged: the policy that cleared it says so, and merges into no branch
/// of that name.
pub fn branch_due(verdict: &Verdict, snapshot: &Snapshot) -> Option<HeadSha> {
    let clearance = verdict.clearance()?;
    let PolicyFact::Valid { policy, .. } = &snapshot.policy else {
        return None;
    };
    let pull = snapshot.pull.known()?;
    let as_base = BaseRef::parse(&pull.head_ref).ok()?;
    (policy.merge.delete_branch && !policy.merge.allows(&as_base)).then(|| clearance.head().clone())
}

/// The branch to delete now: what was due when the head was cleared, once it has landed as judged.
pub fn leaving(record: &PullRecord, snapshot: &Snapshot, home: RepoId) -> Option<BranchOrder> {
    let due = record.branch_due.as_ref()?;
    let pull = snapshot.pull.known()?;
    let landed = matches!(record.concluded, Some(Concluded::Landed(_)))
        && matches!(pull.state, PullState::Merged { .. });
    // A fork's branch is its owner's.
    (landed && pull.head == *due && pull.head_repo == Some(home)).then(|| BranchOrder {
        branch: pull.head_ref.clone(),
        head: due.clone(),
    })
}

fn acts(verdict: &Verdict) -> bool {
    verdict.mode == Some(Mode::Enforce)
}

enum Publication {
    Nothing,
    Now(Box<CheckOrder>),
    Later(Duration),
}

fn publication(verdict: &Verdict, standing: Standing<'_>) -> Publication {
    let Some(head) = &verdict.head else {
        return Publication::Nothing;
    };
    let published = standing
        .record
        .published
        .as_ref()
        .filter(|published| published.head == *head);
    match verdict.outcome {
        // What was said about a merged head stays as it was said.
        Outcome::Merged => return Publication::Nothing,
        // Nothing is said where nothing was asked, unless something said before is no longer true.
        Outcome::Ignored if published.is_none() => return Publication::Nothing,
        _ => {}
    }
    let page = check::page_with(verdict, standing.siblings, standing.preview);
    if page.conclusion == Some("success") && verdict.freshness != Freshness::Confirmed {
        return Publication::Nothing;
    }
    let digest = check::digest(&page);
    let shape = shape(verdict);
    let update = match published {
        None => None,
        Some(published) if published.digest == digest => return Publication::Nothing,
        Some(published) => {
            let rested = verdict.at - published.at;
            if published.shape == shape && rested < WORDING_REST {
                return Publication::Later(WORDING_REST - rested);
            }
            let open = published.conclusion.is_none();
            let same = published.conclusion.as_deref() == page.conclusion;
            (open || same).then_some(published.run)
        }
    };
    Publication::Now(Box::new(CheckOrder {
        head: head.clone(),
        number: verdict.number,
        update,
        page,
        digest,
        shape,
    }))
}

/// The order to say that a pull request waits for GitHub's limit until then; `None` where that is said
/// already, or where the run on its head is completed or was never asked for.
///
/// Its shape is that of no verdict, so the next whole pass publishes at once.
pub fn waits(verdict: &Verdict, record: &PullRecord, until: Timestamp) -> Option<CheckOrder> {
    if !acts(verdict) || matches!(verdict.outcome, Outcome::Merged | Outcome::Ignored) {
        return None;
    }
    let head = verdict.head.clone()?;
    let published = record.published.as_ref();
    let published = published.filter(|published| published.head == head);
    let said = |shape: &str| {
        let told = shape.strip_prefix(WAITS)?.parse().ok()?;
        chrono::DateTime::from_timestamp(told, 0)
    };
    if let Some(published) = published
        && (published.conclusion.is_some()
            || said(&published.shape).is_some_and(|told| told > verdict.at))
    {
        return None;
    }
    let page = check::waiting(verdict, until);
    Some(CheckOrder {
        head,
        number: verdict.number,
        update: published.map(|published| published.run),
        digest: check::digest(&page),
        shape: format!("{WAITS}{}", until.timestamp()),
        page,
    })
}

/// The digest of what a verdict is about: its outcome, and the gate that people are to look at first.
/// The rest may wait a little, so that twenty checks that report one after the other are not twenty
/// updates.
fn shape(verdict: &Verdict) -> String {
    let mut hash = Sha256::new();
    hash.update(verdict.outcome.word());
    if let Some(gate) = verdict.foremost() {
        hash.update([0]);
        hash.update(&gate.gate);
        hash.update([1]);
        hash.update(gate.state.word());
    }
    hex::encode(hash.finalize())
}

/// Gates that only another look can move are looked at again, the longer they last the more seldom.
fn again(verdict: &Verdict) -> Option<(Duration, Confirm)> {
    verdict
        .open_gates()
        .filter(|gate| needs_a_look(gate))
        .map(|gate| (rest(verdict, gate.since.unwrap_or(verdict.at)), look(gate)))
        .fold(None, sooner)
}

/// What is to be read again for a gate. Whether one merges is told by the pull request alone.
fn look(gate: &GateResult) -> Confirm {
    match (gate.gate.as_str(), &gate.state) {
        (CONFLICTS, State::Waiting { .. }) => Confirm::Pull,
        _ => Confirm::Always,
    }
}

fn rest(verdict: &Verdict, since: Timestamp) -> Duration {
    let soonest = match verdict.freshness {
        Freshness::Confirmed => SOONEST,
        Freshness::Remembered => UNHURRIED,
    };
    (verdict.at - since).clamp(soonest, LATEST)
}

/// Whether nobody but GitHub and Countersign itself can move this gate.
fn needs_a_look(gate: &GateResult) -> bool {
    match &gate.state {
        State::Waiting { on } | State::Undetermined { on } => {
            matches!(on, Move::GitHub | Move::Countersign)
        }
        State::Satisfied { .. }
        | State::Failed { .. }
        | State::Skipped
        | State::Overridden { .. } => false,
    }
}

/// Whether remembered facts promise enough to be worth a confirming read: nothing is open that
/// anybody but GitHub or Countersign could move.
pub fn promising(verdict: &Verdict) -> bool {
    let could_be_ready = match verdict.outcome {
        Outcome::Ready | Outcome::Waiting | Outcome::Undetermined => true,
        Outcome::Merged | Outcome::Blocked | Outcome::Held | Outcome::Ignored => false,
    };
    could_be_ready && verdict.open_gates().all(needs_a_look)
}

/// The sooner of two looks, with the closer look of both.
pub fn sooner(
    one: Option<(Duration, Confirm)>,
    other: (Duration, Confirm),
) -> Option<(Duration, Confirm)> {
    match one {
        None => Some(other),
        Some(one) => Some((one.0.min(other.0), one.1.max(other.1))),
    }
}
