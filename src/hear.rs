//! Hearing what comments ask: the step between reading the facts and judging them.
//!
//! Who may ask what is asked of GitHub here, at the moment it counts: what a delivery says of its sender
//! is old, and a comment's `author_association` is no permission. What becomes of an ask is decided by
//! [`request::hear`], and written down under the lease together with the comment's id, so that a
//! repeated delivery, another process or a restart finds it heard.
//!
//! An ask that cannot be decided (GitHub does not answer who its author is) stays, and is heard again
//! after a while. An hour after it was first tried, and tried often since, it is refused with that reason, since
//! nobody should wait for ever for an answer that does not come. One that may stop a merge stops it meanwhile.
//! Where not even the pull request could be read, GitHub was away and nobody was asked: that is no try, or a
//! hold would be dropped by an outage and the merge be made at its end. Nor do two tries make an hour of them
//! when a clock was set in between, or the server slept.
//!
//! Known race: a freeze is written before the ask is marked as heard. Killed in between, it is written
//! again with the same words, which changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::Duration;
use serde_json::json;

use crate::clock::Clock;
use crate::domain::command::Command;
use crate::domain::facts::{Fetched, Freeze, PolicyFact, PullState};
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::PullRecord;
use crate::domain::model::{Actor, BaseRef, CommentId, PullNumber, Repository, Timestamp};
use crate::domain::policy::Party;
use crate::domain::request::{self, Ask, Deed, Heard, Hearing, OPEN_ASKS_AN_HOUR, Permit};
use crate::domain::verdict::Verdict;
use crate::gather::{Gathered, Kept};
use crate::github::{Reads, Refused};
use crate::store::{Lease, Store, Stored};

/// How long an ask is kept whose author's rights cannot be found out, from when that was first tried: a
/// server that was away for hours has not tried.
pub const PATIENCE: Duration = Duration::hours(1);
/// How often it is tried at least.
const TRIES: u32 = 10;
/// When it is heard again.
const AGAIN: Duration = Duration::seconds(30);
/// For how long comments and answers are counted.
const HOUR: Duration = Duration::hours(1);

/// What hearing led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Something is asked for, or withdrawn: the facts are to be judged again.
    pub changed: bool,
    /// Something could not be decided: when to hear it again.
    pub again: Option<Duration>,
}

/// Hears asks.
pub struct Hear {
    store: Arc<dyn Store>,
    reads: Arc<dyn Reads>,
    clock: Clock,
}

/// Whether anything asked for is worth reading everything again. Comments that anybody may write have a
/// bound an hour; beyond it they are put aside unheard. What takes rights is never put aside.
pub fn admit(kept: &Kept, record: &mut PullRecord, now: Timestamp) -> bool {
    record.open_asks_at.retain(|at| now - *at < HOUR);
    let pressed = kept.pressed().verify.as_ref();
    let mut admitted = pressed.is_some_and(|pressed| Some(pressed.at) > record.pressed_at);
    for ask in kept.asks() {
        if ask.is_open_to_anybody() {
            if record.open_asks_at.len() >= OPEN_ASKS_AN_HOUR {
                record.heard.insert(ask.comment);
                continue;
            }
            record.open_asks_at.push(now);
        }
        admitted = true;
    }
    admitted
}

impl Hear {
    /// A hearer over a store and a way to ask GitHub.
    pub fn new(store: Arc<dyn Store>, reads: Arc<dyn Reads>, clock: Clock) -> Self {
        Self {
            store,
            reads,
            clock,
        }
    }

    /// Hears what was asked, oldest first, and brings facts and record up to date.
    ///
    /// # Errors
    /// The store's. What GitHub does not tell is no error: the ask waits.
    pub async fn asks(
        &self,
        lease: &Lease,
        kept: &Kept,
        gathered: &mut Gathered,
        verdict: &Verdict,
        record: &mut PullRecord,
    ) -> Stored<Outcome> {
        let asks: Vec<Ask> = gathered
            .asks
            .iter()
            .filter(|ask| !record.heard.contains(&ask.comment))
            .cloned()
            .collect();
        let mut outcome = Outcome::default();
        let Some(short) = short_forms(&gathered.snapshot.policy) else {
            // Without a policy the App does nothing here, and says nothing.
            record.heard.extend(asks.iter().map(|ask| ask.comment));
            return Ok(outcome);
        };
        let gates: Vec<&str> = verdict
            .gates
            .iter()
            .map(|gate| gate.gate.as_str())
            .collect();
        let mut entries = Vec::new();
        for ask in asks {
            let heard = self.hear(kept, gathered, record, &ask, &gates, short);
            let heard = heard.await?;
            match heard {
                Heard::Settled {
                    requests,
                    reply,
                    deeds,
                } => {
                    record.requests = *requests;
                    for deed in deeds {
                        entries.extend(self.carry_out(kept, gathered, &ask, deed).await?);
                    }
                    if !reply.lines.is_empty() {
                        record.replies.push(reply);
                    }
                    record.heard.insert(ask.comment);
                    outcome.changed = true;
                }
                Heard::Pending(why) => self.wait(&ask, why, gathered, record, &mut outcome),
            }
        }
        let waits = |comment: &CommentId| !record.heard.contains(comment);
        record.tried.retain(|comment, _| waits(comment));
        record.tries.retain(|comment, _| waits(comment));
        gathered.place(&record.requests);
        let now = self.clock.now();
        self.store.save_record(lease, record, entries, now).await?;
        Ok(outcome)
    }

    /// Whether somebody has write access now, by GitHub's word.
    pub async fn may_write(&self, kept: &Kept, by: &Actor) -> Permit {
        may_write(&*self.reads, &kept.repo, by).await
    }

    /// Leaves an ask for later, or gives it up.
    fn wait(
        &self,
        ask: &Ask,
        why: String,
        gathered: &mut Gathered,
        record: &mut PullRecord,
        outcome: &mut Outcome,
    ) {
        let asked = gathered.snapshot.pull.known().is_some();
        if asked && exhausted(record, ask, self.clock.now()) {
            record.replies.push(request::gave_up(ask, &why));
            record.heard.insert(ask.comment);
            return;
        }
        tracing::info!(comment = %ask.comment, why, "an ask waits");
        if ask.may_stop() {
            let why = format!("Somebody asked to stop it, and {why}.");
            gathered.snapshot.stop_asked = Some(why);
            outcome.changed = true;
        }
        outcome.again = Some(AGAIN);
    }

    async fn hear(
        &self,
        kept: &Kept,
        gathered: &Gathered,
        record: &PullRecord,
        ask: &Ask,
        gates: &[&str],
        short: bool,
    ) -> Stored<Heard> {
        let writer = match request::needs_writer(ask, short) {
            true => writer(&*self.reads, &kept.repo, ask).await,
            false => Permit::No("it was not asked".into()),
        };
        let teams = match request::needs_owner(ask, short) {
            true => self.owner_teams(kept, &gathered.snapshot.policy).await,
            false => BTreeMap::new(),
        };
        let merged = merged(&*self.reads, &kept.repo, ask, short).await;
        let branches = self.branches(kept, ask, short).await;
        let freezes = self.freezes(kept, ask, short).await?;
        let hearing = Hearing {
            ask,
            snapshot: &gathered.snapshot,
            writer: &writer,
            teams: &teams,
            merged: &merged,
            branches: &branches,
            freezes: &freezes,
            gates,
        };
        Ok(request::hear(&hearing, &record.requests, short))
    }

    /// The freezes that are to be ended.
    async fn freezes(
        &self,
        kept: &Kept,
        ask: &Ask,
        short: bool,
    ) -> Stored<BTreeMap<String, Freeze>> {
        let mut freezes = BTreeMap::new();
        for command in ask.commands(short) {
            if let Command::Thaw { branch } = command
                && let Ok(name) = BaseRef::parse(branch.trim_matches('`'))
                && let Some(freeze) = self.store.freeze(kept.repo.id, &name).await?
            {
                freezes.insert(name.to_string(), freeze);
            }
        }
        Ok(freezes)
    }

    async fn owner_teams(
        &self,
        kept: &Kept,
        policy: &PolicyFact,
    ) -> BTreeMap<String, Fetched<Vec<Actor>>> {
        let mut teams = BTreeMap::new();
        let PolicyFact::Valid { policy, .. } = policy else {
            return teams;
        };
        for party in &policy.owners {
            if let Party::Team { org, slug } = party {
                let members = self.reads.team_members(&kept.repo, org, slug).await;
                teams.insert(format!("{org}/{slug}"), fact(members));
            }
        }
        teams
    }

    /// Whether the branches that are to be frozen exist.
    async fn branches(
        &self,
        kept: &Kept,
        ask: &Ask,
        short: bool,
    ) -> BTreeMap<String, Fetched<bool>> {
        let mut branches = BTreeMap::new();
        for command in ask.commands(short) {
            let Command::Freeze { branch, .. } = command else {
                continue;
            };
            let Ok(name) = BaseRef::parse(branch.trim_matches('`')) else {
                continue;
            };
            let exists = match self.reads.branch(&kept.repo, &name).await {
                Ok(_) => Fetched::Known(true),
                Err(Refused::NotFound(_)) => Fetched::Known(false),
                Err(refused) => Fetched::Unavailable(refused.to_string()),
            };
            branches.insert(name.to_string(), exists);
        }
        branches
    }

    /// What a command does besides; the entries it leaves for the ledger.
    async fn carry_out(
        &self,
        kept: &Kept,
        gathered: &Gathered,
        ask: &Ask,
        deed: Deed,
    ) -> Stored<Option<Draft>> {
        let draft = |kind, body| Draft {
            at: self.clock.now(),
            kind,
            repo: kept.repo.id,
            number: Some(kept.number),
            head: gathered.snapshot.pull.known().map(|pull| pull.head.clone()),
            body,
        };
        match deed {
            Deed::Ledger(kind, body) => Ok(Some(draft(kind, body))),
            Deed::Freeze(base, freeze) => {
                let body = json!({
                    "base": base, "frozen": freeze.reason, "by": ask.by, "url": ask.url,
                });
                let entry = draft(Kind::Freeze, body);
                self.set_freeze(kept, &base, Some(freeze), entry).await?;
                Ok(None)
            }
            Deed::Thaw(base) => {
                let entry = draft(
                    Kind::Freeze,
                    json!({ "base": base, "by": ask.by, "url": ask.url }),
                );
                self.set_freeze(kept, &base, None, entry).await?;
                Ok(None)
            }
        }
    }

    async fn set_freeze(
        &self,
        kept: &Kept,
        base: &BaseRef,
        freeze: Option<Freeze>,
        entry: Draft,
    ) -> Stored<()> {
        let repo = kept.repo.id;
        if self.store.freeze(repo, base).await? == freeze {
            return Ok(());
        }
        let now = self.clock.now();
        self.store.set_freeze(repo, base, freeze, entry, now).await
    }
}

/// Counts a try; whether there were enough of them.
fn exhausted(record: &mut PullRecord, ask: &Ask, now: Timestamp) -> bool {
    let since = *record.tried.entry(ask.comment).or_insert(now);
    let tries = record.tries.entry(ask.comment).or_default();
    *tries = tries.saturating_add(1);
    now - since > PATIENCE && *tries >= TRIES
}

/// Whether the author of an ask has write access now, by GitHub's word.
pub async fn writer(reads: &dyn Reads, repo: &Repository, ask: &Ask) -> Permit {
    may_write(reads, repo, &ask.by).await
}

async fn may_write(reads: &dyn Reads, repo: &Repository, by: &Actor) -> Permit {
    match reads.may_write(repo, by).await {
        Ok(true) => Permit::Yes,
        Ok(false) => Permit::No("this takes write access to the repository".into()),
        Err(refused) => Permit::CannotTell(refused.to_string()),
    }
}

/// Whether the pull requests through which defects are said to have escaped are merged.
pub async fn merged(
    reads: &dyn Reads,
    repo: &Repository,
    ask: &Ask,
    short: bool,
) -> BTreeMap<PullNumber, Fetched<bool>> {
    let named: BTreeSet<PullNumber> = ask
        .commands(short)
        .filter_map(|command| match command {
            Command::Escaped { through } => Some(*through),
            _ => None,
        })
        .collect();
    let mut merged = BTreeMap::new();
    for number in named {
        let known = match reads.pull(repo, number).await {
            Ok(pull) => Fetched::Known(matches!(pull.state, PullState::Merged { .. })),
            // An issue's number, or nobody's.
            Err(Refused::NotFound(_)) => Fetched::Known(false),
            Err(refused) => Fetched::Unavailable(refused.to_string()),
        };
        merged.insert(number, known);
    }
    merged
}

/// Whether short forms count; `None` where there is no policy. One that does not validate says nothing
/// about it, and a stop must not be lost over that.
fn short_forms(policy: &PolicyFact) -> Option<bool> {
    match policy {
        PolicyFact::Valid { policy, .. } => Some(policy.short_commands),
        PolicyFact::Invalid { .. } | PolicyFact::Unavailable(_) => Some(true),
        PolicyFact::Absent => None,
    }
}

fn fact<T>(answer: Result<T, Refused>) -> Fetched<T> {
    match answer {
        Ok(value) => Fetched::Known(value),
        Err(refused) => Fetched::Unavailable(refused.to_string()),
    }
}
