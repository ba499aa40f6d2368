//! What follows from a delivery: changed memory and woken keys, together with marking it understood.
//!
//! A document is loaded once, however many changes touch it, and written once, if they changed it.
//! Keys are found through indexes, and woken once, however many wakes lead to them: a delivery costs
//! what it says, not what is open.
//!
//! Servers absorb one after the other ([`Hand::Absorb`]), so that what came first is remembered first. A pass
//! may write a document meanwhile: then the version has moved, and the whole is to be done again
//! ([`Halt::Met`]).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use sqlx::postgres::PgConnection;

use super::hands::{Hand, take_hand};
use super::inbox::{self, Fate};
use super::memory::{self, Loaded};
use super::retry::Halt;
use super::work::{self, Woken};
use super::{dispatches, pulls};
use crate::domain::memory::{
    Change, Confirm, HeadMemory, IssuesMemory, PullMemory, RepoMemory, Wake,
};
use crate::domain::model::{HeadSha, Key, PullNumber, RepoId, Timestamp};
use crate::store::{Absorbed, Stored};

/// Applies what followed from deliveries and marks them. Nothing follows from one that does not wait: who
/// understood it before has applied it.
pub async fn absorb_all(
    tx: &mut PgConnection,
    absorbed: &[(i64, Absorbed)],
    now: Timestamp,
) -> Result<(), Halt> {
    take_hand(tx, Hand::Absorb).await?;
    let mut woken = Woken::new();
    for (seq, absorbed) in absorbed {
        match absorbed {
            Absorbed::Done {
                changes,
                wakes,
                note,
            } => {
                if !inbox::close(tx, *seq, Fate::Done, note).await? {
                    continue;
                }
                let mut touched = Touched::default();
                for change in changes {
                    touched.apply(tx, change).await?;
                }
                if !touched.save(tx).await? {
                    return Err(Halt::Met);
                }
                find(tx, wakes, &mut woken).await?;
            }
            Absorbed::Dead { why } => {
                inbox::close(tx, *seq, Fate::Dead, why).await?;
            }
        }
    }
    work::wake(tx, &woken, now).await?;
    Ok(())
}

/// The documents that changes are about, as changed so far.
#[derive(Default)]
struct Touched {
    repos: BTreeMap<RepoId, Loaded<RepoMemory>>,
    pulls: BTreeMap<(RepoId, PullNumber), Loaded<PullMemory>>,
    heads: BTreeMap<(RepoId, HeadSha), Loaded<HeadMemory>>,
    issues: BTreeMap<RepoId, Loaded<IssuesMemory>>,
}

impl Touched {
    async fn apply(&mut self, tx: &mut PgConnection, change: &Change) -> Stored<()> {
        match change {
            Change::Repo(known) | Change::RepoSeen(known) => {
                self.repo(tx, known.id).await?.apply(change);
            }
            Change::RepoInactive(repo) | Change::Tip { repo, .. } => {
                self.repo(tx, *repo).await?.apply(change);
            }
            Change::InstallationActive(installation, _) => {
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
            | Change::Asked(repo, number, _) => self.pull(tx, *repo, *number).await?.apply(change),
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

    async fn repo(&mut self, tx: &mut PgConnection, repo: RepoId) -> Stored<&mut RepoMemory> {
        let loaded = match self.repos.entry(repo) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(memory::load_repo(tx, repo).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn pull(
        &mut self,
        tx: &mut PgConnection,
        repo: RepoId,
        number: PullNumber,
    ) -> Stored<&mut PullMemory> {
        let loaded = match self.pulls.entry((repo, number)) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(pulls::load(tx, repo, number).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn issues(&mut self, tx: &mut PgConnection, repo: RepoId) -> Stored<&mut IssuesMemory> {
        let loaded = match self.issues.entry(repo) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(dispatches::load_issues(tx, repo).await?),
        };
        Ok(&mut loaded.value)
    }

    async fn head(
        &mut self,
        tx: &mut PgConnection,
        repo: RepoId,
        head: &HeadSha,
    ) -> Stored<&mut HeadMemory> {
        let loaded = match self.heads.entry((repo, head.clone())) {
            Entry::Occupied(here) => here.into_mut(),
            Entry::Vacant(place) => place.insert(memory::load_head(tx, repo, head).await?),
        };
        Ok(&mut loaded.value)
    }

    /// Writes what changed; `false` if somebody wrote it since it was loaded.
    async fn save(self, tx: &mut PgConnection) -> Stored<bool> {
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

/// Wakes keys by what they are about, from now on.
pub async fn wake(tx: &mut PgConnection, wakes: &[(Wake, Confirm)], now: Timestamp) -> Stored<()> {
    let mut woken = Woken::new();
    find(tx, wakes, &mut woken).await?;
    work::wake(tx, &woken, now).await
}

/// Finds the keys that are to be woken.
async fn find(tx: &mut PgConnection, wakes: &[(Wake, Confirm)], woken: &mut Woken) -> Stored<()> {
    for (wake, confirm) in wakes {
        for key in keys(tx, wake).await? {
            work::add(woken, key, *confirm);
        }
    }
    Ok(())
}

async fn keys(tx: &mut PgConnection, wake: &Wake) -> Stored<Vec<Key>> {
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
