//! The part of a pass that sees to verifications: who is to be told, who pressed the button, which
//! reports are new.

use chrono::Duration;
use serde_json::{Value, json};

use super::Reconcile;
use crate::domain::asking::{self, Asking};
use crate::domain::evidence::{Content, Place, Report, collect};
use crate::domain::facts::{Asked, Freshness, PolicyFact, PullRequest, PullState, Snapshot, Why};
use crate::domain::gate::availability::can_be_told;
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::PullRecord;
use crate::domain::plan::AskOrder;
use crate::domain::policy::{Policy, Verifier};
use crate::domain::request::{Permit, PressedVerify, Wish};
use crate::domain::verdict::{self, Verdict};
use crate::gather::{Gathered, Kept};
use crate::hear;
use crate::store::{Lease, Stored};

/// When a press of the button is looked at again whose author's rights could not be found out.
const AGAIN: Duration = Duration::seconds(30);

/// Whether somebody is to be asked, so that reading everything again is worth it.
pub(super) fn wants(snapshot: &Snapshot, verdict: &Verdict) -> bool {
    !asking::decide(snapshot, verdict).due.is_empty()
}

/// When to look again though nothing happens.
pub(super) fn again(asking: &Asking, snapshot: &Snapshot) -> Option<Duration> {
    let rest = asking.look_at? - snapshot.now;
    Some(rest.max(Duration::seconds(1)))
}

/// Who is told now: by a person's word, then by Countersign itself. What was only remembered is no reason
/// to spend money.
pub(super) fn orders(record: &PullRecord, snapshot: &Snapshot, asking: &Asking) -> Vec<AskOrder> {
    let (PolicyFact::Valid { policy, .. }, Some(pull)) = (&snapshot.policy, snapshot.pull.known())
    else {
        return Vec::new();
    };
    let standing = |wish: &&Wish| !wish.told && wish.head == pull.head;
    let wishes = record.requests.wishes.iter().filter(standing);
    let mut orders: Vec<AskOrder> = wishes
        .filter_map(|wish| {
            let verifier = policy.verifiers.get(&wish.verifier)?;
            let by = Some(wish);
            order(
                (policy, verifier),
                pull,
                snapshot,
                asking,
                (Why::Person, by),
            )
        })
        .collect();
    if snapshot.freshness == Freshness::Confirmed {
        orders.extend(asking.due.iter().filter_map(|due| {
            let verifier = policy.verifiers.get(&due.verifier)?;
            order((policy, verifier), pull, snapshot, asking, (due.why, None))
        }));
    }
    orders
}

fn order(
    (policy, verifier): (&Policy, &Verifier),
    pull: &PullRequest,
    snapshot: &Snapshot,
    asking: &Asking,
    (why, wish): (Why, Option<&Wish>),
) -> Option<AskOrder> {
    if !can_be_told(policy.mode, verifier) {
        return None;
    }
    let mine = |asked: &&Asked| asked.verifier == verifier.name && asked.by.is_none();
    Some(AskOrder {
        asked: Asked {
            verifier: verifier.name.clone(),
            head: pull.head.clone(),
            base: pull.base.clone(),
            at: snapshot.now,
            why,
            by: wish.map(|wish| wish.by.clone()),
            before: Some(
                asking
                    .answers
                    .get(&verifier.name)
                    .copied()
                    .unwrap_or_default(),
            ),
            refused: None,
        },
        wish: wish.cloned(),
        times: snapshot.asked.iter().filter(mine).count(),
        request: verifier.request.clone()?,
        vendor: verifier.vendor.clone(),
        deadline: verifier.deadline,
    })
}

/// Reports of the policy's verifiers on this head that the ledger was not told of yet.
pub(super) fn reported(record: &mut PullRecord, snapshot: &Snapshot) -> Vec<Value> {
    let (PolicyFact::Valid { policy, .. }, Some(pull)) = (&snapshot.policy, snapshot.pull.known())
    else {
        return Vec::new();
    };
    let mut entries = Vec::new();
    for report in collect::reports(policy, snapshot) {
        let Some(body) = entry(policy, pull, &report) else {
            continue;
        };
        if record.reported.insert(place(report.place)) {
            entries.push(body);
        }
    }
    entries
}

fn entry(policy: &Policy, pull: &PullRequest, report: &Report) -> Option<Value> {
    let verifier = policy.verifiers.get(report.verifier.as_ref()?)?;
    let Content::Valid(said) = &report.content else {
        return None;
    };
    (said.head == pull.head && pull.state == PullState::Open).then(|| {
        json!({
            "verifier": verifier.name,
            "vendor": verifier.vendor,
            "result": said.result,
            "reason": said.reason,
            "reported_at": report.at,
            "url": report.url,
        })
    })
}

fn place(place: Place) -> String {
    json!(place).to_string()
}

impl Reconcile {
    /// Takes a press of "Request verification" for what `/verify` of the same person would be.
    pub(super) async fn pressed(
        &self,
        lease: &Lease,
        kept: &Kept,
        gathered: &mut Gathered,
        verdict: &mut Verdict,
        record: &mut PullRecord,
        heard: &mut hear::Outcome,
    ) -> Stored<()> {
        let unheard = |pressed: &PressedVerify| Some(pressed.at) > record.pressed_at;
        let pressed = gathered.pressed.verify.clone().filter(unheard);
        let confirmed = gathered.snapshot.freshness == Freshness::Confirmed;
        let Some(pressed) = pressed.filter(|_| confirmed) else {
            return Ok(());
        };
        let now = self.clock.now();
        let chosen = match self.hear.may_write(kept, &pressed.by).await {
            Permit::Yes => chosen(&gathered.snapshot, verdict, &pressed),
            Permit::No(why) => Err(why),
            Permit::CannotTell(_) if now - pressed.at <= hear::PATIENCE => {
                heard.again = Some(heard.again.map_or(AGAIN, |again| again.min(AGAIN)));
                return Ok(());
            }
            Permit::CannotTell(why) => Err(why),
        };
        let mut body = json!({ "command": "verify", "button": true, "by": pressed.by });
        match chosen {
            Err(why) => body["refused"] = json!(why),
            Ok(wish) => {
                body["verifier"] = json!(wish.verifier);
                record.requests.wishes.push(wish);
            }
        }
        record.pressed_at = Some(pressed.at);
        let entry = Draft {
            at: now,
            kind: Kind::Request,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: Some(pressed.head.clone()),
            body,
        };
        self.store
            .save_record(lease, record, vec![entry], now)
            .await?;
        gathered.place(&record.requests);
        *verdict = verdict::decide(&gathered.snapshot);
        Ok(())
    }
}

/// What a press asks for, or why for nothing.
fn chosen(snapshot: &Snapshot, verdict: &Verdict, pressed: &PressedVerify) -> Result<Wish, String> {
    let open = |pull: &&PullRequest| pull.state == PullState::Open;
    let pull = snapshot.pull.known().filter(open);
    let pull = pull.ok_or("the pull request is not open")?;
    if pull.head != pressed.head {
        return Err("the head is another one now".into());
    }
    let verifier = asking::next_in_line(snapshot, verdict)
        .ok_or("nobody can be asked now: whoever could be is being waited for")?;
    Ok(Wish {
        comment: None,
        verifier,
        head: pull.head.clone(),
        by: pressed.by.login.clone(),
        at: pressed.at,
        told: false,
    })
}
