//! Where the App may act: repositories and installations are followed by their numbers.
//!
//! A name is a display fact. A repository that was renamed or moved keeps its number, and with it all that
//! is remembered, recorded and written in the ledger; what changes is the name it is shown by and the
//! installation whose token opens it. One that no installation lists any more (deselected, archived,
//! deleted, moved out of reach, its account's installation suspended or removed) is left alone until one
//! lists it again.
//!
//! Only a list that was read whole takes anything away: half a list proves nothing about what is not in it.
//!
//! Known race: a repository that is taken out and put back while the lists are read may be left alone until
//! the next sweep.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sweep, SweepError};
use crate::domain::memory::Confirm;
use crate::domain::model::{InstallationId, Key, RepoId, Repository};
use crate::github::Refused;
use crate::store::Stored;

/// The note in which it stands what each account granted.
const GRANTS: &str = "grants";

/// What each installation was granted, by its number.
type Grants = BTreeMap<InstallationId, BTreeMap<String, String>>;

/// Where the App may act, as far as a sweep knows.
pub(super) struct Reached {
    /// Every repository, and the installation that opens it.
    pub homes: BTreeMap<RepoId, InstallationId>,
    /// How many were woken.
    pub woken: usize,
    /// The first refusal.
    pub trouble: Option<Refused>,
}

/// What the lists of all installations told.
#[derive(Default)]
struct Lists {
    homes: BTreeMap<RepoId, InstallationId>,
    /// Installations whose list was not read, or not whole.
    unread: BTreeSet<InstallationId>,
    woken: usize,
    trouble: Option<Refused>,
}

impl Sweep {
    /// Lists every installation's repositories, remembers and wakes them, and leaves those alone that
    /// are in none. Everything in a repository that is new here, or whose account granted other
    /// permissions, is read again; elsewhere what differs.
    pub(super) async fn reach(&self) -> Result<Reached, SweepError> {
        let before = self.store.active_repos().await?;
        let installations = self.reads.granted().await?;
        let note = self.store.note(GRANTS).await?;
        let all = installations.items.iter();
        let granted: Grants = all.map(|one| (one.id, one.permissions.clone())).collect();
        let anew = anew(&note.value, &granted);
        let mut lists = Lists::default();
        for installation in installations.items.iter().filter(|one| !one.suspended) {
            let all = anew.contains(&installation.id);
            self.list(installation.id, all, &mut lists).await?;
        }
        for repo in before.into_iter().filter_map(|memory| memory.repo) {
            if lists.homes.contains_key(&repo.id) {
                continue;
            }
            if installations.complete && !lists.unread.contains(&repo.installation) {
                self.left(&repo).await?;
            } else {
                lists.homes.insert(repo.id, repo.installation);
            }
        }
        // After the wakes: dying in between wakes them once more.
        self.keep(GRANTS, note, serde_json::json!(granted)).await?;
        Ok(Reached {
            homes: lists.homes,
            woken: lists.woken,
            trouble: lists.trouble,
        })
    }

    async fn list(
        &self,
        installation: InstallationId,
        all: bool,
        lists: &mut Lists,
    ) -> Result<(), SweepError> {
        let listed = match self.reads.repositories(installation).await {
            Ok(listed) => listed,
            Err(refused) => {
                tracing::warn!(%installation, %refused, "repositories could not be listed");
                lists.unread.insert(installation);
                lists.trouble.get_or_insert(refused);
                return Ok(());
            }
        };
        if !listed.complete {
            lists.unread.insert(installation);
        }
        let mut keys = Vec::new();
        for repo in &listed.items {
            let confirm = match self.remember(repo).await? || all {
                true => Confirm::Always,
                false => Confirm::IfNeeded,
            };
            keys.push((Key::Repo(repo.id), confirm));
            lists.homes.insert(repo.id, repo.installation);
        }
        self.store.wake(&keys, self.clock.now()).await?;
        lists.woken += keys.len();
        Ok(())
    }

    /// Remembers a repository as one the App may act in; tells whether that, its name or its installation
    /// is news.
    ///
    /// # Errors
    /// The store's.
    pub async fn remember(&self, repo: &Repository) -> Stored<bool> {
        loop {
            let mut memory = self.store.repo(repo.id).await?;
            let known = memory.value.repo.as_ref();
            if memory.value.active && known == Some(repo) {
                return Ok(false);
            }
            if let Some(known) = known.filter(|known| known.name != repo.name) {
                tracing::info!(repo = %repo.id, old = %known.name, new = %repo.name, "renamed or moved");
            }
            memory.value.repo = Some(repo.clone());
            memory.value.active = true;
            if self.store.remember_repo(repo.id, &memory).await? {
                return Ok(true);
            }
        }
    }

    /// Asks whether the App may act in a repository, by which name and installation, and remembers the
    /// answer; `None` where it may not. A refusal says neither: the pass that asked is made again.
    pub(super) async fn present(
        &self,
        known: Repository,
    ) -> Result<Option<Repository>, SweepError> {
        let Some(mut present) = self.reads.whereabouts(&known).await? else {
            tracing::info!(repo = %known.name, "the App may not act there: left alone");
            self.deactivate(known.id).await?;
            return Ok(None);
        };
        present.default_branch = present.default_branch.or(known.default_branch);
        self.remember(&present).await?;
        Ok(Some(present))
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

    /// Leaves a repository alone that was in no list, unless a delivery told something else meanwhile.
    async fn left(&self, seen: &Repository) -> Stored<()> {
        let mut memory = self.store.repo(seen.id).await?;
        if !memory.value.active || memory.value.repo.as_ref() != Some(seen) {
            return Ok(());
        }
        memory.value.active = false;
        if self.store.remember_repo(seen.id, &memory).await? {
            tracing::info!(repo = %seen.name, "in no installation any more: left alone");
        }
        Ok(())
    }
}

/// The installations that were granted something else than when last looked at.
fn anew(before: &serde_json::Value, now: &Grants) -> BTreeSet<InstallationId> {
    let before: Grants = serde_json::from_value(before.clone()).unwrap_or_default();
    now.iter()
        .filter(|(id, granted)| before.get(id).is_some_and(|before| before != *granted))
        .map(|(id, _)| *id)
        .collect()
}
