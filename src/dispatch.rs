//! One pass over the dispatches of one repository.
//!
//! The flow is the pull request's: read, decide, record, act. Everything about a repository's slots is
//! in one key, so that whoever counts them is alone: counting, giving away and writing down are one
//! step under one lease, and what is saved under an overtaken lease is refused. Labels and comments
//! follow from what was saved; a pass that dies between saving and writing is followed by one that finds
//! the labels not as they should be.
//!
//! The list of open pull requests is read in the very pass that decides, and must be whole. What
//! deliveries told is only where to look.
//!
//! Left out: a policy that stops limiting dispatches while issues wait leaves them as they are, with
//! their queued label; whoever changes the policy puts the labels back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::Duration;

use crate::clock::Clock;
use crate::domain::dispatch::{self, Act, Count, Facts, Record, Step};
use crate::domain::facts::{Fetched, Issue, PolicyFact};
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Confirm, IssuesMemory};
use crate::domain::model::{PullNumber, RepoId, Repository};
use crate::domain::plan::ReplyOrder;
use crate::domain::policy::{Mode, Policy};
use crate::domain::render::answer;
use crate::domain::request::{Permit, gave_up};
use crate::execute::{Execute, ExecuteError};
use crate::gather::Gather;
use crate::github::{Answer, Reads};
use crate::hear;
use crate::store::{Finish, Lease, Store, StoreError, Versioned};

/// Issues that are read one by one; more are read by the list.
const ONE_BY_ONE: usize = 6;
/// When what could not be counted or found out is tried again.
const AGAIN: Duration = Duration::seconds(60);

/// Makes passes over dispatches.
pub struct Dispatching {
    store: Arc<dyn Store>,
    reads: Arc<dyn Reads>,
    clock: Clock,
    shadow: bool,
}

impl Dispatching {
    /// Passes over this store and this way to ask GitHub. With `shadow`, nothing is written to GitHub.
    pub fn new(store: Arc<dyn Store>, reads: Arc<dyn Reads>, clock: Clock, shadow: bool) -> Self {
        Self {
            store,
            reads,
            clock,
            shadow,
        }
    }

    /// Makes one pass.
    ///
    /// # Errors
    /// The store's, and GitHub's refusals of writes that may pass.
    pub async fn pass(
        &self,
        lease: &Lease,
        gather: &Gather,
        execute: &Execute,
        repo: RepoId,
    ) -> Result<Finish, ExecuteError> {
        let done = Ok(Finish::Done { again: None });
        let told = self.store.issues(repo).await?;
        let before = self.store.dispatch(repo).await?;
        let nothing_told = told.value == IssuesMemory::default();
        if nothing_told && before.is_idle() && lease.confirm() < Confirm::Always {
            return done;
        }
        let fresh = lease.confirm() == Confirm::Always;
        let Some((repository, fact)) = gather.policy_of_default(repo, fresh).await? else {
            return done;
        };
        let policy = match &fact {
            PolicyFact::Valid { policy, .. } => policy,
            PolicyFact::Absent => {
                self.forget(repo, &told).await?;
                return done;
            }
            // Nothing is granted; what was told is looked at again when the policy is mended.
            PolicyFact::Invalid { .. } | PolicyFact::Unavailable(_) => {
                let mut record = before;
                let why = "the policy cannot be read as one".to_owned();
                record.counted = Some((Count::Unknown(why), self.clock.now()));
                let now = self.clock.now();
                self.store
                    .save_dispatch(lease, &record, Vec::new(), now)
                    .await?;
                return Ok(again(AGAIN));
            }
        };
        self.under(lease, execute, &repository, policy, told, before)
            .await
    }

    async fn under(
        &self,
        lease: &Lease,
        execute: &Execute,
        repo: &Repository,
        policy: &Policy,
        told: Versioned<IssuesMemory>,
        mut before: Record,
    ) -> Result<Finish, ExecuteError> {
        let now = self.clock.now();
        let (pending, mut entries) = self.hear(repo, policy, &told.value, &mut before).await;
        let observe = self.shadow || policy.mode == Mode::Observe;
        let mut unread = BTreeSet::new();
        let mut step = match &policy.dispatch {
            None => Step {
                record: before,
                ..Step::default()
            },
            Some(limit) => {
                let everything = lease.confirm() == Confirm::Always;
                let issues = self.issues(repo, &told.value, &before, everything).await;
                let not_read = issues.iter().filter(|(_, fact)| fact.known().is_none());
                unread.extend(not_read.map(|(issue, _)| *issue));
                let pulls = fact(self.reads.open_pulls(repo).await);
                let facts = Facts {
                    policy: limit,
                    agents: &policy.agents,
                    home: repo.id,
                    pulls: &pulls,
                    issues: &issues,
                    told: &told.value,
                    observe,
                    now,
                };
                dispatch::step(&before, &facts)
            }
        };
        entries.extend(drafts(repo.id, &step, now));
        self.store
            .save_dispatch(lease, &step.record, entries, now)
            .await?;
        let missed = told
            .value
            .touched
            .keys()
            .any(|issue| unread.contains(issue));
        self.consume(repo.id, told, &pending, &unread).await?;
        // Where the policy only observes there are no acts; people get their answers all the same.
        if !self.shadow {
            self.carry_out(lease, execute, repo, &mut step).await?;
        }
        Ok(self.next_look(policy, &step.record, missed || !pending.is_empty()))
    }

    /// Writes what follows from the state that was saved.
    async fn carry_out(
        &self,
        lease: &Lease,
        execute: &Execute,
        repo: &Repository,
        step: &mut Step,
    ) -> Result<(), ExecuteError> {
        let mut said = false;
        for act in &step.acts {
            let comment = execute.act(lease, repo, act).await?;
            if let (Act::Say { issue, text, .. }, Some(comment)) = (act, comment) {
                step.record.said(*issue, comment, text);
                said = true;
            }
        }
        let replies = std::mem::take(&mut step.record.replies);
        let replied = !replies.is_empty();
        for (issue, reply) in replies {
            let order = ReplyOrder {
                comment: reply.comment,
                receipt: reply.receipt,
                body: answer::body_on_issue(&reply)
                    .filter(|_| step.record.may_answer(issue, self.clock.now())),
            };
            if execute.reply_on(lease, repo, issue, &order).await? {
                step.record.note_answered(issue, self.clock.now());
            }
        }
        if said || replied {
            let now = self.clock.now();
            self.store
                .save_dispatch(lease, &step.record, Vec::new(), now)
                .await?;
        }
        Ok(())
    }

    /// The issues that a step is about: those told of, in line and under way; on a sweep, every open
    /// one, since a delivery may have been lost.
    async fn issues(
        &self,
        repo: &Repository,
        told: &IssuesMemory,
        before: &Record,
        everything: bool,
    ) -> BTreeMap<PullNumber, Fetched<Option<Issue>>> {
        let mut wanted: BTreeSet<PullNumber> = told.touched.keys().copied().collect();
        wanted.extend(before.queue.iter().map(|waiting| waiting.issue));
        wanted.extend(before.grants.iter().map(|grant| grant.issue));
        let mut read = BTreeMap::new();
        if everything || wanted.len() > ONE_BY_ONE {
            // What a list that is not whole lacks is read by itself.
            let listed = self.reads.open_issues(repo).await;
            for issue in listed.map_or_else(|_| Vec::new(), |listing| listing.items) {
                wanted.remove(&issue.number);
                read.insert(issue.number, Fetched::Known(Some(issue)));
            }
        }
        for number in wanted {
            read.insert(number, fact(self.reads.issue(repo, number).await));
        }
        read
    }

    /// Hears commands on issues; tells which wait, and what to write down.
    async fn hear(
        &self,
        repo: &Repository,
        policy: &Policy,
        told: &IssuesMemory,
        record: &mut Record,
    ) -> (BTreeSet<crate::domain::model::CommentId>, Vec<Draft>) {
        let (mut pending, mut entries) = (BTreeSet::new(), Vec::new());
        let now = self.clock.now();
        let short = policy.short_commands;
        for (comment, (issue, ask)) in &told.asks {
            if record.has_heard(*comment) {
                continue;
            }
            let writer = match dispatch::takes_writer(ask, short) {
                true => hear::writer(&*self.reads, repo, ask).await,
                false => Permit::Yes,
            };
            let merged = hear::merged(&*self.reads, repo, ask, short).await;
            let hearing = dispatch::Hearing {
                ask,
                issue: *issue,
                policy: policy.dispatch.as_ref(),
                writer: &writer,
                merged: &merged,
                short,
            };
            match dispatch::hear(&hearing, record) {
                dispatch::Heard::Settled(reply, written) => {
                    record.note_heard(*comment);
                    if !reply.lines.is_empty() && !self.shadow {
                        record.replies.push((*issue, reply));
                    }
                    entries.extend(written.into_iter().map(|(kind, body)| Draft {
                        at: now,
                        kind,
                        repo: repo.id,
                        number: Some(*issue),
                        head: None,
                        body,
                    }));
                }
                dispatch::Heard::Pending(why)
                    if now - *record.tried.entry(*comment).or_insert(now) > hear::PATIENCE =>
                {
                    tracing::warn!(%comment, why, "an ask on an issue was given up");
                    record.note_heard(*comment);
                    if !self.shadow {
                        record.replies.push((*issue, gave_up(ask, &why)));
                    }
                }
                dispatch::Heard::Pending(why) => {
                    tracing::info!(%comment, why, "an ask on an issue waits");
                    pending.insert(*comment);
                }
            }
        }
        record.tried.retain(|comment, _| pending.contains(comment));
        (pending, entries)
    }

    /// Forgets what was told and has been looked at; issues that could not be read have not. What came
    /// meanwhile stays, and has woken the key.
    async fn consume(
        &self,
        repo: RepoId,
        mut told: Versioned<IssuesMemory>,
        pending: &BTreeSet<crate::domain::model::CommentId>,
        unread: &BTreeSet<PullNumber>,
    ) -> Result<(), StoreError> {
        if told.value == IssuesMemory::default() {
            return Ok(());
        }
        let before = told.value.clone();
        told.value.touched.retain(|issue, _| unread.contains(issue));
        told.value
            .asks
            .retain(|comment, _| pending.contains(comment));
        if told.value != before {
            self.store.remember_issues(repo, &told).await?;
        }
        Ok(())
    }

    async fn forget(&self, repo: RepoId, told: &Versioned<IssuesMemory>) -> Result<(), StoreError> {
        let (nothing, nobody) = (BTreeSet::new(), BTreeSet::new());
        self.consume(repo, told.clone(), &nothing, &nobody).await
    }

    /// When to look again, if nothing wakes the key before.
    fn next_look(&self, policy: &Policy, record: &Record, pending: bool) -> Finish {
        let now = self.clock.now();
        let unknown = matches!(record.counted, Some((Count::Unknown(_), _)));
        let soon = (pending || (unknown && !record.queue.is_empty())).then_some(AGAIN);
        let expires = policy.dispatch.as_ref().and_then(|limit| {
            let ends = record
                .grants
                .iter()
                .map(|grant| grant.at + limit.in_flight_expires);
            ends.min().map(|at| (at - now).max(Duration::zero()))
        });
        match soon.into_iter().chain(expires).min() {
            Some(rest) => again(rest),
            None => Finish::Done { again: None },
        }
    }
}

fn again(rest: Duration) -> Finish {
    Finish::Done {
        again: Some((rest, Confirm::IfNeeded)),
    }
}

fn fact<T>(answer: Answer<T>) -> Fetched<T> {
    match answer {
        Ok(value) => Fetched::Known(value),
        Err(refused) => Fetched::Unavailable(refused.to_string()),
    }
}

/// What a step leaves for the ledger.
fn drafts(repo: RepoId, step: &Step, at: crate::domain::model::Timestamp) -> Vec<Draft> {
    let of = |kind| {
        move |(issue, body): &(PullNumber, serde_json::Value)| Draft {
            at,
            kind,
            repo,
            number: Some(*issue),
            head: None,
            body: body.clone(),
        }
    };
    let entries = step.entries.iter().map(of(Kind::Dispatch));
    entries
        .chain(step.would.iter().map(of(Kind::WouldHave)))
        .collect()
}
