//! The passes that heal what deliveries missed.
//!
//! They decide nothing: they bring memory in line with GitHub and wake pull requests, whose passes
//! then take the same path as after a delivery. Three sizes: all installations (at the start and at
//! every interval), one repository, one commit.
//!
//! The sweep wakes every open pull request with a confirming read of about seven calls. Where nothing
//! changed since the last one, GitHub answers 304 to nearly all of them, which costs nothing. Its lists are
//! what waits first when an hour's budget runs low.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::clock::Clock;
use crate::domain::facts::PullRequest;
use crate::domain::memory::Confirm;
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId, Repository};
use crate::github::class::{self, Class};
use crate::github::{Answer, Reads, Refused};
use crate::store::{Finish, Store, StoreError, Stored};

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
}

impl Sweep {
    /// A sweep over a store and a way to ask GitHub.
    pub fn new(store: Arc<dyn Store>, reads: Arc<dyn Reads>, clock: Clock) -> Self {
        Self {
            store,
            reads,
            clock,
        }
    }

    /// Lists every installation's repositories and wakes each. One installation's trouble does not
    /// stop the others; it is returned at the end.
    ///
    /// # Errors
    /// The store's at once; the first refusal of GitHub after all else was done.
    pub async fn everything(&self) -> Result<usize, SweepError> {
        let mut woken = 0;
        let mut trouble = None;
        for installation in self.reads.installations().await?.items {
            let listed = self.reads.repositories(installation);
            match class::within(Class::Sweep, listed).await {
                Ok(repos) => {
                    for repo in &repos.items {
                        self.remember(repo).await?;
                    }
                    let keys: Vec<_> = repos
                        .items
                        .iter()
                        .map(|repo| (Key::Repo(repo.id), Confirm::Always))
                        .collect();
                    self.store.wake(&keys, self.clock.now()).await?;
                    woken += keys.len();
                }
                Err(refused) => {
                    tracing::warn!(%installation, %refused, "repositories could not be listed");
                    trouble = trouble.or(Some(refused));
                }
            }
        }
        trouble.map_or(Ok(woken), |refused| Err(refused.into()))
    }

    /// Remembers a repository as one the App may act in.
    ///
    /// # Errors
    /// The store's.
    pub async fn remember(&self, repo: &Repository) -> Stored<()> {
        loop {
            let mut memory = self.store.repo(repo.id).await?;
            if memory.value.active && memory.value.repo.as_ref() == Some(repo) {
                return Ok(());
            }
            memory.value.repo = Some(repo.clone());
            memory.value.active = true;
            if self.store.remember_repo(repo.id, &memory).await? {
                return Ok(());
            }
        }
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

    /// Stops work in a repository until an event or a sweep shows that the App may act there again.
    ///
    /// # Errors
    /// The store's.
    pub async fn deactivate(&self, repo: RepoId) -> Stored<()> {
        loop {
            let mut memory = self.store.repo(repo).await?;
            if !memory.value.active {
                return Ok(());
            }
            memory.value.active = false;
            if self.store.remember_repo(repo, &memory).await? {
                return Ok(());
            }
        }
    }

    /// Lists a repository's open pull requests and wakes them, and those that were open when last
    /// seen.
    ///
    /// # Errors
    /// The store's and GitHub's.
    pub async fn repo(&self, repo: RepoId) -> Result<Finish, SweepError> {
        let Some(repository) = self.active(repo).await? else {
            return Ok(Finish::Done { again: None });
        };
        self.watch(repo).await?;
        let listed = match self
            .listed(repo, self.reads.open_pulls(&repository).await)
            .await?
        {
            Some(listed) => listed,
            None => return Ok(Finish::Done { again: None }),
        };
        let mut numbers: BTreeSet<PullNumber> = BTreeSet::new();
        for row in self.store.open_pulls(Some(repo)).await? {
            numbers.insert(row.pull.number);
        }
        for pull in &listed {
            self.remember_pull(repo, pull).await?;
            numbers.insert(pull.number);
        }
        self.wake_pulls(repo, numbers).await?;
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
        let Some(pulls) = self.listed(repo, answer).await? else {
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
        answer: Answer<crate::domain::facts::Listing<PullRequest>>,
    ) -> Result<Option<Vec<PullRequest>>, SweepError> {
        match answer {
            Ok(listing) => Ok(Some(listing.items)),
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
