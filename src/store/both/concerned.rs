//! What a delivery concerns: the documents that its changes touch, and the keys that it wakes.
//!
//! A document is loaded once, however many changes touch it, and written once, if they changed it. Keys
//! are found through indexes.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::Db;
use super::memory::{self, Loaded};
use super::{dispatches, pulls};
use crate::domain::memory::{Change, HeadMemory, IssuesMemory, PullMemory, RepoMemory, Wake};
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId};
use crate::store::Stored;

/// The documents that changes are about, as changed so far.
#[derive(Default)]
pub struct Touched {
    repos: BTreeMap<RepoId, Loaded<RepoMemory>>,
    pulls: BTreeMap<(RepoId, PullNumber), Loaded<PullMemory>>,
    heads: BTreeMap<(RepoId, HeadSha), Loaded<HeadMemory>>,
    issues: BTreeMap<RepoId, Loaded<IssuesMemory>>,
}

impl Touched {
    /// Applies a change.
    pub async fn apply(&mut self, tx: &mut Db, change: &Change) -> Stored<()> {
        match change {
            Change::Repo(known) | Change::RepoSeen(known) => {
                self.repo(tx, known.id).await?.apply(change);
            }
            Change::Tip { repo, .. } => {
                self.repo(tx, *repo).await?.apply(change);
            }
            Change::InstallationActive(installation) => {
                // Repositories that this very delivery told of are not in the table yet.
                let mut concerned: BTreeSet<RepoId> = self.repos.keys().copied().collect();
                concerned.extend(memory::repos_of(tx, *installation).await?);
                for repo in concerned {
                    self.repo(tx, repo).await?.apply(change);
                }
            }
            Change::Pull(repo, pull) => self.pull(tx, *repo, pull.number).await?.apply(change),
            Change::Review(repo, number, _)
            | Change::Comment(repo, number, _)
            | Change::CommentGone(repo, number, _)
            | Change::Hold(repo, number, _)
            | Change::Unhold(repo, number, _)
            | Change::Verify(repo, number, _)
            | Change::Asked(repo, number, _)
            | Change::Pushed(repo, number, _) => self.pull(tx, *repo, *number).await?.apply(change),
            Change::Run(repo, run) => self.head(tx, *repo, &run.head).await?.apply(change),
            Change::SuiteRerun(repo, head, _) | Change::Status(repo, head, _) => {
                self.head(tx, *repo, head).await?.apply(change);
            }
            Change::IssueTouched(repo, ..) | Change::AskedOnIssue(repo, ..) => {
                self.issues(tx, *repo).await?.apply(change);
            }
            Change::Workflow(repo, run) => self.head(tx, *repo, &run.head).await?.apply(change),
        }
        Ok(())
    }

    async fn repo(&mut self, tx: &mut Db, repo: RepoId) -> Stored<&mut RepoMemory> {
        let loaded = match self.repos.entry(repo) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(memory::load_repo(tx, repo).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn pull(
        &mut self,
        tx: &mut Db,
        repo: RepoId,
        number: PullNumber,
    ) -> Stored<&mut PullMemory> {
        let loaded = match self.pulls.entry((repo, number)) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(pulls::load(tx, repo, number).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn issues(&mut self, tx: &mut Db, repo: RepoId) -> Stored<&mut IssuesMemory> {
        let loaded = match self.issues.entry(repo) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(dispatches::load_issues(tx, repo).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn head(&mut self, tx: &mut Db, repo: RepoId, head: &HeadSha) -> Stored<&mut HeadMemory> {
        let loaded = match self.heads.entry((repo, head.clone())) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(memory::load_head(tx, repo, head).await?),
        };
        Ok(&mut loaded.value)
    }

    /// Writes what changed; `false` if somebody wrote it since it was loaded.
    pub async fn save(self, tx: &mut Db) -> Stored<bool> {
        let mut written = true;
        for (repo, loaded) in &self.repos {
            if loaded.changed()? {
                written &= memory::save_repo(tx, *repo, &loaded.value, loaded.version).await?;
            }
        }
        for ((repo, number), loaded) in &self.pulls {
            if loaded.changed()? {
                let (value, version) = (&loaded.value, loaded.version);
                written &= pulls::save(tx, *repo, *number, value, version).await?;
            }
        }
        for (repo, loaded) in &self.issues {
            if loaded.changed()? {
                let (value, version) = (&loaded.value, loaded.version);
                written &= dispatches::save_issues(tx, *repo, value, version).await?;
            }
        }
        for ((repo, head), loaded) in &self.heads {
            if loaded.changed()? {
                let (value, version) = (&loaded.value, loaded.version);
                written &= memory::save_head(tx, *repo, head, value, version).await?;
            }
        }
        Ok(written)
    }
}

/// The keys that a wake is about.
pub async fn keys(tx: &mut Db, wake: &Wake) -> Stored<Vec<Key>> {
    let of_pulls = |repo: RepoId, numbers: Vec<PullNumber>| {
        numbers
            .into_iter()
            .map(|number| Key::Pull(repo, number))
            .collect::<Vec<_>>()
    };
    Ok(match wake {
        Wake::Key(key) => vec![key.clone()],
        Wake::Head(repo, head) => {
            let found = of_pulls(*repo, pulls::with_head(tx, *repo, head).await?);
            if found.is_empty() && !memory::is_nobodys_head(tx, *repo, head).await? {
                vec![Key::Head(*repo, head.clone())]
            } else {
                found
            }
        }
        Wake::Base(repo, base) => of_pulls(*repo, pulls::into_base(tx, *repo, base).await?),
        Wake::Installation(installation) => memory::active_repos_of(tx, *installation)
            .await?
            .into_iter()
            .map(Key::Repo)
            .collect(),
    })
}
