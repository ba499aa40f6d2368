//! The passes that heal what deliveries missed.
//!
//! They decide nothing: they bring memory in line with GitHub and wake pull requests, whose passes
//! then take the same path as after a delivery. Three sizes: all installations (at the start and at
//! every interval), one repository, one commit.
//!
//! # What a sweep finds, and when
//!
//! - **Where the App may act** (`reach`): at once. Repositories are followed by their numbers.
//! - **Deliveries that failed** (`missed`) are asked for again, oldest first.
//! - **Pull requests that changed**: at once. The list of open ones tells of a new head, base, state, title,
//!   label, review or comment by `updated_at`; whoever differs from what is remembered, or was never
//!   read whole, is read again.
//! - **Everything else** (`turn`): checks, statuses and pushes to a base leave `updated_at` alone. Each
//!   sweep forty pull requests of each installation are read again whatever the list says, round and round:
//!   with up to that many open ones each of them at every sweep, with n of them within n/40 sweeps, rounded
//!   up. A check's delivery that got lost is mostly won back sooner, by `missed`.
//!
//! # What it costs
//!
//! A confirming pass costs about seven calls, so the turns cost about 280 a sweep and installation, however
//! many are open, and the lists one call for a hundred. Counted over 1,000 open pull requests of one
//! repository of which none changed: 295 calls a sweep, so about 1,800 an hour at the default interval,
//! of at least 5,000. A story in `tests/stories/recovery.rs` counts them.
//!
//! What did not change since it was read last is answered 304, which takes nothing from the budget. The
//! lists of a sweep are what waits first when an hour's budget runs low.
//!
//! # Known and left
//!
//! A list is older than its answer: who was changed while it was read is woken by its own delivery, or
//! differs the next time. A repository with more than 3,000 open pull requests is listed as far as that;
//! the others have their turns alone.

mod missed;
mod reach;
pub mod retention;
mod turn;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use crate::clock::Clock;
use crate::domain::facts::{Listing, PullRequest};
use crate::domain::memory::Confirm;
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId, Repository};
use crate::github::class::{self, Class};
use crate::github::{Answer, Reads, Refused};
use crate::store::{Finish, PullRow, Store, StoreError, Stored, Versioned};

pub use missed::NOTE as DELIVERIES;
pub use turn::IN_TURN;

/// Why a sweep could not finish.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// GitHub refused.
    #[error(transparent)]
    Refused(#[from] Refused),
}

/// Compares memory with GitHub and wakes what may differ.
#[derive(Clone)]
pub struct Sweep {
    store: Arc<dyn Store>,
    reads: Arc<dyn Reads>,
    clock: Clock,
    shadow: bool,
    /// The log was told that this GitHub keeps no list of deliveries.
    told_no_list: Arc<AtomicBool>,
}

impl Sweep {
    /// A sweep over a store and a way to ask GitHub.
    pub fn new(store: Arc<dyn Store>, reads: Arc<dyn Reads>, clock: Clock) -> Self {
        Self {
            store,
            reads,
            clock,
            shadow: false,
            told_no_list: Arc::default(),
        }
    }

    /// The same sweep; with `shadow` it asks for no delivery again.
    #[must_use]
    pub fn in_shadow(self, shadow: bool) -> Self {
        Self { shadow, ..self }
    }

    /// Looks at everything there is: where the App may act, what was not delivered, who is to be read
    /// again; how many repositories were woken. One part's trouble does not stop the others; it is
    /// returned at the end.
    ///
    /// # Errors
    /// The store's at once; the first refusal of GitHub after all else was done.
    pub async fn everything(&self) -> Result<usize, SweepError> {
        let reached = class::within(Class::Sweep, self.reach()).await?;
        self.in_turn(&reached.homes).await?;
        let missed = match self.missed().await {
            Ok(_) => None,
            Err(SweepError::Refused(refused)) => {
                tracing::warn!(%refused, "failed deliveries could not be asked for again");
                Some(refused)
            }
            Err(error) => return Err(error),
        };
        reached
            .trouble
            .or(missed)
            .map_or(Ok(reached.woken), |refused| Err(refused.into()))
    }

    /// Notes since when a repository is looked at: what is said on pull requests opened from now on is said
    /// to us, also where its delivery is lost.
    async fn watch(&self, repo: RepoId) -> Stored<()> {
        loop {
            let mut memory = self.store.repo(repo).await?;
            if memory.value.watched_since.is_some() {
                return Ok(());
            }
            memory.value.watched_since = Some(self.clock.now());
            if self.store.remember_repo(repo, &memory).await? {
                return Ok(());
            }
        }
    }

    /// Lists a repository's open pull requests and wakes those that differ from what is remembered, or
    /// that were open when last seen; with [`Confirm::Always`] all of them, and GitHub is first asked
    /// whether the App may act there at all: a delivery that says so may be an old one, sent again.
    ///
    /// # Errors
    /// The store's and GitHub's.
    pub async fn repo(&self, repo: RepoId, confirm: Confirm) -> Result<Finish, SweepError> {
        let Some(repository) = self.active(repo).await? else {
            return Ok(Finish::Done { again: None });
        };
        let all = confirm == Confirm::Always;
        let repository = match all {
            true => self.present(repository).await?,
            false => Some(repository),
        };
        let Some(repository) = repository else {
            return Ok(Finish::Done { again: None });
        };
        self.watch(repo).await?;
        let answer = self.reads.open_pulls(&repository).await;
        let Some(listed) = self.listed(repo, answer).await? else {
            return Ok(Finish::Done { again: None });
        };
        let rows = self.store.open_pulls(Some(repo)).await?;
        let known: BTreeMap<PullNumber, &PullRow> =
            rows.iter().map(|row| (row.pull.number, row)).collect();
        let news: Vec<&PullRequest> = listed
            .items
            .iter()
            .filter(|pull| all || known.get(&pull.number).is_none_or(|row| differs(row, pull)))
            .collect();
        let mut numbers: BTreeSet<PullNumber> = news.iter().map(|pull| pull.number).collect();
        // A list that was cut proves nothing about those that are not in it.
        if all || listed.complete {
            let there: BTreeSet<PullNumber> = listed.items.iter().map(|pull| pull.number).collect();
            numbers.extend(known.keys().filter(|number| !there.contains(number)));
        }
        // Woken before they are remembered: after a crash in between they would not differ any more.
        self.wake_pulls(repo, numbers).await?;
        for pull in news {
            self.remember_pull(repo, pull).await?;
        }
        let dispatches = (Key::Dispatch(repo), Confirm::Always);
        self.store.wake(&[dispatches], self.clock.now()).await?;
        Ok(Finish::Done { again: None })
    }

    /// Asks which open pull requests have a head, and wakes them. A commit that is nobody's head is
    /// remembered as such, so that its other checks cost nothing.
    ///
    /// # Errors
    /// The store's and GitHub's.
    pub async fn head(&self, repo: RepoId, head: &HeadSha) -> Result<Finish, SweepError> {
        let Some(repository) = self.active(repo).await? else {
            return Ok(Finish::Done { again: None });
        };
        let mut memory = self.store.head(repo, head).await?;
        let answer = self.reads.pulls_with_head(&repository, head).await;
        let Some(Listing { items: pulls, .. }) = self.listed(repo, answer).await? else {
            return Ok(Finish::Done { again: None });
        };
        if pulls.is_empty() {
            memory.value.no_pulls_at = Some(self.clock.now());
            self.store.remember_head(repo, head, &memory).await?;
        }
        for pull in &pulls {
            self.remember_pull(repo, pull).await?;
        }
        self.wake_pulls(repo, pulls.iter().map(|pull| pull.number))
            .await?;
        Ok(Finish::Done { again: None })
    }

    async fn active(&self, repo: RepoId) -> Stored<Option<Repository>> {
        let memory = self.store.repo(repo).await?.value;
        Ok(memory.repo.filter(|_| memory.active))
    }

    /// The listed pull requests, `None` when the installation is gone. A list that is not whole is
    /// used as far as it goes: it wakes, it decides nothing.
    async fn listed(
        &self,
        repo: RepoId,
        answer: Answer<Listing<PullRequest>>,
    ) -> Result<Option<Listing<PullRequest>>, SweepError> {
        match answer {
            Ok(listing) => Ok(Some(listing)),
            Err(Refused::Inactive(why)) => {
                tracing::info!(%repo, why, "no work in this repository for now");
                self.deactivate(repo).await?;
                Ok(None)
            }
            Err(refused) => Err(refused.into()),
        }
    }

    /// A list's entry is older than nothing: it replaces what is remembered unless that is newer.
    async fn remember_pull(&self, repo: RepoId, pull: &PullRequest) -> Stored<()> {
        let mut memory = self.store.pull(repo, pull.number).await?;
        let newer = |known: &PullRequest| known.updated_at > pull.updated_at;
        if memory.value.pull.as_ref().is_some_and(newer) {
            return Ok(());
        }
        memory.value.know_pull(pull.clone());
        // A delivery that comes in between is newer than the list: leaving it is right.
        self.store.remember_pull(repo, pull.number, &memory).await?;
        Ok(())
    }

    /// Keeps a note, if it says something else now. Where another replica wrote it meanwhile, its word
    /// stands: at worst the next sweep does something again.
    async fn keep(&self, name: &str, note: Versioned<Value>, value: Value) -> Stored<()> {
        if value != note.value {
            let note = Versioned { value, ..note };
            self.store.write_note(name, &note).await?;
        }
        Ok(())
    }

    async fn wake_pulls(
        &self,
        repo: RepoId,
        numbers: impl IntoIterator<Item = PullNumber>,
    ) -> Stored<()> {
        let keys: Vec<_> = numbers
            .into_iter()
            .map(|number| (Key::Pull(repo, number), Confirm::Always))
            .collect();
        self.store.wake(&keys, self.clock.now()).await
    }
}

/// Whether a listed pull request is not as it is remembered, or was never read. What is remembered may
/// be newer than the list: then a delivery told of it, and woke it.
///
/// One that is known by deliveries alone differs whatever `updated_at` says: that counts whole seconds, so
/// what was said in the second in which it was opened, and got lost, would show nowhere.
fn differs(row: &PullRow, listed: &PullRequest) -> bool {
    let known = &row.pull;
    let same = |pull: &PullRequest| {
        let PullRequest {
            head, base, state, ..
        } = pull;
        (head.clone(), base.clone(), state.clone(), pull.draft)
    };
    !row.record.read_whole
        || known.updated_at < listed.updated_at
        || (known.updated_at == listed.updated_at && same(known) != same(listed))
}
