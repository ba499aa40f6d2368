//! From a key to a snapshot: what is remembered, what must be read, what was read back.
//!
//! Two ways to the same [`Snapshot`]. [`Gather::remembered`] takes what deliveries and earlier passes
//! left and reads only what nobody ever told (the diff of a new head, the policy of a moved base), so
//! most passes cost no call. [`Gather::confirmed`] reads everything that can change; only such a
//! snapshot can lead to a success or a merge. One that is no longer open costs nothing more: it stays
//! as it was last seen. What was read replaces what was remembered, unless a
//! delivery came in between: then the delivery is newer, it has woken the key again, and memory is
//! left as it is.
//!
//! Facts that are bound to commits never change and are never read twice: the comparison of a base
//! tip with a head, the policy's text at a tip.
//!
//! Every read that fails becomes a fact of its own, "unavailable, because ...". A used-up rate limit is
//! noted as well, so that the pass can end and come back when GitHub listens again.

mod conflicts;
mod defaults;
mod policies;
mod preview;
mod recall;
mod supposed;
mod wants;

pub use supposed::Supposed;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use crate::clock::Clock;
use crate::domain::facts::{
    Base, Comparison, Fetched, Freshness, PlatformRule, PolicyFact, PolicyOrigin, PullRequest,
    PullState, Snapshot,
};
use crate::domain::memory::{HeadMemory, PullMemory, PullRecord, RepoMemory};
use crate::domain::model::{
    AppId, BaseRef, HeadSha, Oid, PolicyDigest, PullNumber, RepoId, Repository,
};
use crate::domain::policy::{Policy, Problem};
use crate::domain::request::{Ask, Pressed, Requests};
use crate::github::{Answer, Reads, Refused};
use crate::store::{Store, Stored, Versioned};
use recall::{
    as_first_written, fill_from_head, fill_from_memory, fill_from_requests, first_sight,
    missed_asks, place_moves, remember_lists, unread,
};
use wants::{Wants, lists_every_file, reported_twice, wants};

/// How many policies are kept parsed. One entry a repository and branch is the usual need.
const PARSED_POLICIES: usize = 1_000;

/// What a pass starts from: everything stored about its pull request.
#[derive(Debug, Clone)]
pub struct Kept {
    /// The repository, with the name and installation to act through.
    pub repo: Repository,
    /// The pull request.
    pub number: PullNumber,
    /// What passes keep.
    pub record: PullRecord,
    repo_memory: Versioned<RepoMemory>,
    pull_memory: Versioned<PullMemory>,
}

/// A snapshot, and what reading it told besides.
#[derive(Debug, Clone)]
pub struct Gathered {
    /// The facts.
    pub snapshot: Snapshot,
    /// GitHub's limit is used up: nothing more will be had before this has passed.
    pub limited: Option<chrono::Duration>,
    /// The installation is suspended or gone.
    pub inactive: bool,
    /// What was asked by buttons.
    pub pressed: Pressed,
    /// Comments with commands that no pass has heard yet, oldest first.
    pub asks: Vec<Ask>,
}

impl Gathered {
    /// Takes what people asked for into the snapshot, after some of it was heard in this very pass.
    pub fn place(&mut self, requests: &Requests) {
        fill_from_requests(&mut self.snapshot, requests, &self.pressed);
    }
}

/// Gathers the facts about one pull request.
pub struct Gather {
    store: Arc<dyn Store>,
    reads: Arc<dyn Reads>,
    clock: Clock,
    own_app: AppId,
    parsed: Mutex<HashMap<PolicyDigest, Parsed>>,
}

/// A policy's text, read once.
type Parsed = Arc<Result<Policy, Vec<Problem>>>;

/// Collects what reads said about limits and installations, and turns refusals into facts.
#[derive(Default)]
struct Trouble {
    limited: Option<chrono::Duration>,
    inactive: bool,
}

impl Trouble {
    fn wait(&mut self, after: chrono::Duration) {
        self.limited = Some(self.limited.map_or(after, |held| held.max(after)));
    }

    /// Waits as long as another has to; who may act where is each one's own matter.
    fn wait_as(&mut self, other: &Self) {
        if let Some(after) = other.limited {
            self.wait(after);
        }
    }

    fn fact<T>(&mut self, answer: Answer<T>) -> Fetched<T> {
        match answer {
            Ok(value) => Fetched::Known(value),
            Err(refused) => {
                match &refused {
                    Refused::Limited { after } | Refused::Resting { after } => self.wait(*after),
                    Refused::Inactive(_) => self.inactive = true,
                    _ => {}
                }
                Fetched::Unavailable(refused.to_string())
            }
        }
    }
}

impl Kept {
    /// What was asked by buttons.
    pub fn pressed(&self) -> &Pressed {
        &self.pull_memory.value.pressed
    }

    /// Comments with commands that no pass has heard yet.
    pub fn asks(&self) -> impl Iterator<Item = &Ask> {
        let heard = &self.record.heard;
        let asks = self.pull_memory.value.asks.values();
        asks.filter(|ask| !heard.contains(&ask.comment))
    }
}

impl Gather {
    /// A gatherer over a store and a way to ask GitHub.
    pub fn new(store: Arc<dyn Store>, reads: Arc<dyn Reads>, clock: Clock, own_app: AppId) -> Self {
        Self {
            store,
            reads,
            clock,
            own_app,
            parsed: Mutex::default(),
        }
    }

    /// What is stored about a pull request; `None` where the App may not act in its repository.
    ///
    /// # Errors
    /// The store's.
    pub async fn kept(&self, repo: RepoId, number: PullNumber) -> Stored<Option<Kept>> {
        let repo_memory = self.store.repo(repo).await?;
        let known = repo_memory.value.repo.clone();
        let Some(repository) = known.filter(|_| repo_memory.value.active) else {
            return Ok(None);
        };
        Ok(Some(Kept {
            repo: repository,
            number,
            record: self.store.record(repo, number).await?,
            pull_memory: self.store.pull(repo, number).await?,
            repo_memory,
        }))
    }

    /// The facts as remembered; reads only what nobody told yet. With `look`, the pull request itself
    /// is read again: GitHub tells nobody when it has found out whether one merges.
    ///
    /// # Errors
    /// The store's. GitHub's refusals are facts, not errors.
    pub async fn remembered(&self, kept: &Kept, look: bool) -> Stored<Gathered> {
        let mut trouble = Trouble::default();
        let mut memory = kept.pull_memory.clone();
        let mut repo_memory = kept.repo_memory.clone();
        let known = memory.value.pull.clone().map(Fetched::Known);
        let open = |pull: &PullRequest| pull.state == PullState::Open;
        let look = look || kept.remembers_an_old_conflict();
        let pull = match known {
            Some(known) if !look || !known.known().is_some_and(open) => known,
            known => {
                let read = trouble.fact(self.reads.pull(&kept.repo, kept.number).await);
                // A look that fails leaves what is known.
                known.filter(|_| read.known().is_none()).unwrap_or(read)
            }
        };
        if let Some(pull) = pull.known() {
            memory.value.know_pull(pull.clone());
        }
        let mut snapshot = self.blank(&kept.repo, kept.number, pull, Freshness::Remembered);
        if let Some(pull) = snapshot.pull.known().cloned() {
            if pull.state != PullState::Open {
                return self.closed(kept, snapshot, &pull, trouble, &memory).await;
            }
            let head = self.store.head(kept.repo.id, &pull.head).await?;
            let repo = &mut repo_memory.value;
            let base = self.base_memory(kept, repo, &pull.base, &mut trouble, Anew::Nothing);
            self.place_base(&mut snapshot, &pull, base.await?);
            fill_from_head(&mut snapshot, &head.value);
            fill_from_memory(&mut snapshot, &memory.value);
            // Also under a policy that is wrong: whether a change mends it is worth knowing.
            if snapshot.policy.origin().is_some() {
                self.place_comparison(kept, &mut snapshot, &mut memory.value, &pull, &mut trouble)
                    .await;
            }
            let wants = wants(&snapshot.policy);
            self.place_people(kept, &mut snapshot, wants, &mut trouble)
                .await;
        }
        self.finish(kept, snapshot, trouble, &memory, &repo_memory, None)
            .await
    }

    /// The facts as GitHub tells them now.
    ///
    /// # Errors
    /// The store's. GitHub's refusals are facts, not errors.
    pub async fn confirmed(&self, kept: &Kept) -> Stored<Gathered> {
        self.read_all(kept, &Supposed::default(), Anew::Everything)
            .await
    }

    /// As [`Gather::confirmed`], but for the base's rules as they are known: whoever promises a merge
    /// found them satisfied, and GitHub itself holds a merge against them.
    ///
    /// # Errors
    /// As [`Gather::confirmed`].
    pub async fn promised(&self, kept: &Kept) -> Stored<Gathered> {
        self.read_all(kept, &Supposed::default(), Anew::Tip).await
    }

    /// The facts as GitHub tells them now, as far as they would be the same otherwise: under another
    /// policy, or with another commit as the head. Nothing is remembered of a head that is none.
    ///
    /// # Errors
    /// As [`Gather::confirmed`].
    pub async fn supposing(&self, kept: &Kept, supposed: &Supposed) -> Stored<Gathered> {
        self.read_all(kept, supposed, Anew::Everything).await
    }

    async fn read_all(&self, kept: &Kept, supposed: &Supposed, anew: Anew) -> Stored<Gathered> {
        let mut trouble = Trouble::default();
        // Versions are taken before anything is read: a delivery that arrives meanwhile wins.
        let mut memory = self.store.pull(kept.repo.id, kept.number).await?;
        let mut repo_memory = self.store.repo(kept.repo.id).await?;
        let pull = trouble.fact(self.reads.pull(&kept.repo, kept.number).await);
        let mut snapshot = self.blank(&kept.repo, kept.number, pull, Freshness::Confirmed);
        let Some(pull) = snapshot.pull.known().cloned() else {
            return self
                .finish(kept, snapshot, trouble, &memory, &repo_memory, None)
                .await;
        };
        if pull.state != PullState::Open {
            memory.value.know_pull(pull.clone());
            return self.closed(kept, snapshot, &pull, trouble, &memory).await;
        }
        let pull = supposed.pull(pull);
        snapshot.pull = Fetched::Known(pull.clone());
        let mut head = self.store.head(kept.repo.id, &pull.head).await?;
        let repo = &kept.repo;
        let watched = repo_memory.value.watched_since.get_or_insert(snapshot.now);
        let opened_since = pull.created_at >= *watched;
        let base = self.base_memory(kept, &mut repo_memory.value, &pull.base, &mut trouble, anew);
        let base = base.await?;
        self.place_base(&mut snapshot, &pull, base);
        if let Some(policy) = &supposed.policy {
            snapshot.policy = policy.clone();
        }
        let wants = supposed.wants(&snapshot.policy);
        let (runs, statuses, reviews, comments) = futures::join!(
            self.reads.check_runs(repo, &pull.head),
            self.reads.statuses(repo, &pull.head),
            self.reads.reviews(repo, kept.number),
            self.reads.comments(repo, kept.number),
        );
        snapshot.runs = trouble.fact(runs);
        snapshot.statuses = trouble.fact(statuses);
        let wanted = wants.workflows || reported_twice(&snapshot);
        let workflows = when(wanted, self.reads.workflow_runs(repo, &pull.head)).await;
        snapshot.workflows = optional(workflows, &mut trouble);
        let reviews = trouble.fact(reviews);
        snapshot.reviews = map(reviews, |list| first_sight(list, &mut memory.value));
        let comments = trouble.fact(comments);
        if let Some(list) = comments.known() {
            missed_asks(&list.items, opened_since, &mut memory.value, &kept.record);
        }
        snapshot.stop_asked = unread(&comments);
        snapshot.comments = map(comments, |list| as_first_written(list, &mut memory.value));
        memory.value.know_pull(pull.clone());
        if snapshot.policy.origin().is_some() || supposed.also.is_some() {
            self.place_comparison(kept, &mut snapshot, &mut memory.value, &pull, &mut trouble)
                .await;
        }
        self.place_people(kept, &mut snapshot, wants, &mut trouble)
            .await;
        if supposed.head.is_some() {
            // No right to merge can come of a head that is none.
            snapshot.freshness = Freshness::Remembered;
            let (memory, repo_memory) = (&kept.pull_memory, &kept.repo_memory);
            return self
                .finish(kept, snapshot, trouble, memory, repo_memory, None)
                .await;
        }
        remember_lists(&snapshot, &mut memory.value, &mut head.value);
        let head = Some((&pull.head, &head));
        self.finish(kept, snapshot, trouble, &memory, &repo_memory, head)
            .await
    }

    /// One that is not open any more: nothing that could be read would change what becomes of it. Its
    /// head is nobody's from here on, unless another open one has it, so that checks which still
    /// report there cost no question.
    async fn closed(
        &self,
        kept: &Kept,
        mut snapshot: Snapshot,
        pull: &PullRequest,
        trouble: Trouble,
        memory: &Versioned<PullMemory>,
    ) -> Stored<Gathered> {
        let repo = kept.repo.id;
        let mut head = self.store.head(repo, &pull.head).await?;
        fill_from_head(&mut snapshot, &head.value);
        fill_from_memory(&mut snapshot, &memory.value);
        if let Some(known) = kept.repo_memory.value.bases.get(&pull.base) {
            let own = known.policy.as_ref();
            let own = own.map(|text| self.policy_of(text, PolicyOrigin::Repository));
            let base = BaseFacts {
                tip: known_or_not_asked(&known.tip),
                rules: known_or_not_asked(&known.rules),
                policy: match own {
                    Some(PolicyFact::Absent) => self.remembered_default(&kept.repo).await?,
                    own => own.unwrap_or(PolicyFact::Absent),
                },
            };
            self.place_base(&mut snapshot, pull, base);
        }
        snapshot.comparison = known_or_not_asked(&memory.value.comparison);
        let others = self.store.pulls_with_head(repo, &pull.head).await?;
        let mut others = others.iter().filter(|other| **other != kept.number);
        let alone = others.next().is_none();
        let told = alone && head.value.no_pulls_at.is_none();
        if told {
            head.value.no_pulls_at = Some(self.clock.now());
        }
        let head = told.then_some((&pull.head, &head));
        self.finish(kept, snapshot, trouble, memory, &kept.repo_memory, head)
            .await
    }

    fn blank(
        &self,
        repo: &Repository,
        number: PullNumber,
        pull: Fetched<PullRequest>,
        freshness: Freshness,
    ) -> Snapshot {
        Snapshot {
            now: self.clock.now(),
            repo: repo.clone(),
            number,
            freshness,
            own_app: self.own_app,
            pull,
            base: Fetched::NotAsked,
            policy: PolicyFact::Unavailable("the pull request could not be read".into()),
            runs: Fetched::NotAsked,
            statuses: Fetched::NotAsked,
            workflows: Fetched::NotAsked,
            reviews: Fetched::NotAsked,
            comments: Fetched::NotAsked,
            posted: Vec::new(),
            open_conversations: Fetched::NotAsked,
            teams: BTreeMap::new(),
            comparison: Fetched::NotAsked,
            rules: Fetched::NotAsked,
            hold: None,
            freeze: None,
            merge_requested: None,
            stop_asked: None,
            asked: Vec::new(),
            overrides: Vec::new(),
            refusal: None,
            pushes: Vec::new(),
            head_since: None,
            base_since: None,
            head_seen_at: None,
            since: BTreeMap::new(),
        }
    }

    /// The base branch: its tip, its rules, the policy that applies there. The policy's text is bound to the
    /// tip and read only when the tip is a new one.
    async fn base_memory(
        &self,
        kept: &Kept,
        repo_memory: &mut RepoMemory,
        name: &BaseRef,
        trouble: &mut Trouble,
        anew: Anew,
    ) -> Stored<BaseFacts> {
        let known = repo_memory.bases.entry(name.clone()).or_default();
        let repo = &kept.repo;
        let incomplete = known.tip.is_none() || known.rules.is_none();
        let (tip, rules) = if anew == Anew::Everything || incomplete {
            let (branch, rules) =
                futures::join!(self.reads.branch(repo, name), self.reads.rules(repo, name));
            let rules = trouble.fact(rules);
            match trouble.fact(branch) {
                Fetched::Known(branch) => {
                    let rules = map(rules, |rules| [rules, branch.classic].concat());
                    (Fetched::Known(branch.tip), rules)
                }
                Fetched::Unavailable(why) => {
                    (Fetched::Unavailable(why.clone()), Fetched::Unavailable(why))
                }
                Fetched::NotAsked => (Fetched::NotAsked, Fetched::NotAsked),
            }
        } else if anew == Anew::Tip {
            let branch = trouble.fact(self.reads.branch(repo, name).await);
            let tip = map(branch, |branch| branch.tip);
            (tip, known_or_not_asked(&known.rules))
        } else {
            (
                known_or_not_asked(&known.tip),
                known_or_not_asked(&known.rules),
            )
        };
        let policy = match tip.require() {
            Ok(tip) => self.policy_for(repo, known, tip, trouble, anew).await?,
            Err(why) => PolicyFact::Unavailable(why.to_owned()),
        };
        known.tip = tip.known().cloned();
        known.rules = rules.known().cloned();
        Ok(BaseFacts { tip, rules, policy })
    }

    fn place_base(&self, snapshot: &mut Snapshot, pull: &PullRequest, base: BaseFacts) {
        snapshot.base = map(base.tip, |tip| Base {
            name: pull.base.clone(),
            tip,
        });
        snapshot.rules = base.rules;
        snapshot.policy = base.policy;
    }

    /// Diff and commits: bound to the base's tip and the head, so read once for each pair.
    async fn place_comparison(
        &self,
        kept: &Kept,
        snapshot: &mut Snapshot,
        memory: &mut PullMemory,
        pull: &PullRequest,
        trouble: &mut Trouble,
    ) {
        let Some(tip) = snapshot.base.known().map(|base| base.tip.clone()) else {
            return;
        };
        // One that was cut short is read again where it counts: the cut may have been an accident.
        let may_be_cut = snapshot.freshness == Freshness::Remembered;
        let fits = |known: &Comparison| {
            let of_these = known.base_tip == tip && known.head == pull.head;
            let whole = known.commits.complete && lists_every_file(known, pull);
            of_these && (whole || may_be_cut)
        };
        let comparison = match memory.comparison.clone().filter(fits) {
            Some(known) => Fetched::Known(known),
            None => {
                let read = self
                    .reads
                    .compare(&kept.repo, kept.number, &tip, &pull.head);
                trouble.fact(read.await)
            }
        };
        snapshot.comparison = map(comparison, |mut comparison| {
            comparison.files.complete = lists_every_file(&comparison, pull);
            comparison
        });
        memory.comparison = snapshot.comparison.known().cloned();
    }

    /// Teams and conversations, only where the policy asks for them; never remembered, since no
    /// delivery tells of them.
    async fn place_people(
        &self,
        kept: &Kept,
        snapshot: &mut Snapshot,
        wants: Wants,
        trouble: &mut Trouble,
    ) {
        if wants.conversations {
            let open = self.reads.open_conversations(&kept.repo, kept.number);
            snapshot.open_conversations = trouble.fact(open.await);
        }
        for (org, slug) in wants.teams {
            let members = self.reads.team_members(&kept.repo, &org, &slug).await;
            snapshot
                .teams
                .insert(format!("{org}/{slug}"), trouble.fact(members));
        }
    }

    async fn finish(
        &self,
        kept: &Kept,
        mut snapshot: Snapshot,
        trouble: Trouble,
        memory: &Versioned<PullMemory>,
        repo_memory: &Versioned<RepoMemory>,
        head: Option<(&HeadSha, &Versioned<HeadMemory>)>,
    ) -> Stored<Gathered> {
        let repo = kept.repo.id;
        if let Some(pull) = snapshot.pull.known() {
            snapshot.freeze = self.store.freeze(repo, &pull.base).await?;
            snapshot.posted = self.store.posted_evidence(repo, &pull.head).await?;
            let same_head = |refusal: &&crate::domain::facts::Refusal| refusal.head == pull.head;
            snapshot.refusal = kept.record.refusal.as_ref().filter(same_head).cloned();
            // What was so for another head says nothing about this one.
            if let Some((head, at)) = &kept.record.head_seen
                && *head == pull.head
            {
                snapshot.head_seen_at = Some(*at);
                snapshot.since.clone_from(&kept.record.since);
            }
        }
        let mut memory = memory.clone();
        place_moves(&mut snapshot, &memory.value);
        memory
            .value
            .asks
            .retain(|id, _| !kept.record.heard.contains(id));
        let memory = &memory;
        let pressed = memory.value.pressed.clone();
        fill_from_requests(&mut snapshot, &kept.record.requests, &pressed);
        if memory.value != kept.pull_memory.value || memory.version != kept.pull_memory.version {
            self.store.remember_pull(repo, kept.number, memory).await?;
        }
        if repo_memory.value != kept.repo_memory.value {
            self.store.remember_repo(repo, repo_memory).await?;
        }
        if let Some((sha, memory)) = head {
            self.store.remember_head(repo, sha, memory).await?;
        }
        Ok(Gathered {
            snapshot,
            limited: trouble.limited,
            inactive: trouble.inactive,
            asks: memory.value.asks.values().cloned().collect(),
            pressed,
        })
    }
}

/// What of a base branch is read, whatever is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anew {
    Nothing,
    Tip,
    Everything,
}

struct BaseFacts {
    tip: Fetched<Oid>,
    rules: Fetched<Vec<PlatformRule>>,
    policy: PolicyFact,
}

async fn when<T>(wanted: bool, read: impl Future<Output = Answer<T>>) -> Option<Answer<T>> {
    if wanted { Some(read.await) } else { None }
}

fn optional<T>(answer: Option<Answer<T>>, trouble: &mut Trouble) -> Fetched<T> {
    answer.map_or(Fetched::NotAsked, |answer| trouble.fact(answer))
}

fn map<T, U>(fact: Fetched<T>, with: impl FnOnce(T) -> U) -> Fetched<U> {
    match fact {
        Fetched::Known(value) => Fetched::Known(with(value)),
        Fetched::Unavailable(why) => Fetched::Unavailable(why),
        Fetched::NotAsked => Fetched::NotAsked,
    }
}

fn known_or_not_asked<T: Clone>(value: &Option<T>) -> Fetched<T> {
    value.clone().map_or(Fetched::NotAsked, Fetched::Known)
}
