//! A repository's settings, its App's installation, and faults of merging.

use std::collections::BTreeMap;

use super::{Actor, RepoHandle};
use crate::simulator::Simulator;
use crate::simulator::world::{
    BranchProtection, Bypass, Done, Enforcement, InstallationId, MergeMethod, MergeSettings,
    Mislanding, Permission, Refusal, Rule, Ruleset, World,
};

impl RepoHandle {
    /// Says what somebody may do here.
    ///
    /// # Errors
    /// 404.
    pub fn allow(&self, who: &Actor, permission: Permission) -> Done<()> {
        let mut world = self.github.lock();
        world.set_permission(self.id, who.id, permission)
    }

    /// Says what a team may do here.
    ///
    /// # Errors
    /// 404.
    pub fn allow_team(&self, team: u64, permission: Permission) -> Done<()> {
        self.change(|world, id| {
            if let Some(repo) = world.repos.get_mut(&id) {
                repo.team_access.insert(team, permission);
            }
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut World, u64) -> T) -> Done<T> {
        let mut world = self.github.lock();
        world.repo(self.id)?;
        Ok(change(&mut world, self.id))
    }

    /// Installs our App on this repository; on an account where it is installed already, this one is
    /// added.
    ///
    /// # Errors
    /// 404.
    pub fn install_app(&self, by: &Actor) -> Done<InstallationId> {
        let mut world = self.github.lock();
        let owner = world.repo(self.id)?.owner;
        let known = world
            .installations
            .values()
            .find(|there| there.app == world.our_app && there.account == owner)
            .map(|there| there.id);
        let Some(known) = known else {
            let app = world.our_app;
            return world.install(app, &[self.id], by.principal());
        };
        world.change_selection(known, &[self.id], &[], by.principal())?;
        Ok(known)
    }

    /// Our App's installation here.
    ///
    /// # Errors
    /// 404 when there is none.
    pub fn installation(&self) -> Done<InstallationId> {
        let world = self.github.lock();
        world
            .installation_for(world.our_app, self.id)
            .map(|there| there.id)
            .ok_or_else(Refusal::not_found)
    }

    /// Suspends our App's installation, or lets it go on.
    ///
    /// # Errors
    /// 404 when there is none.
    pub fn suspend_app(&self, by: &Actor, suspended: bool) -> Done<()> {
        let id = self.installation()?;
        self.github.lock().suspend(id, suspended, by.principal())
    }

    /// Removes our App's installation.
    ///
    /// # Errors
    /// 404 when there is none.
    pub fn uninstall_app(&self, by: &Actor) -> Done<()> {
        let id = self.installation()?;
        self.github.lock().uninstall(id, by.principal())
    }

    /// Takes this repository out of our App's selection.
    ///
    /// # Errors
    /// 404 when there is no installation.
    pub fn deselect(&self, by: &Actor) -> Done<()> {
        let id = self.installation()?;
        let mut world = self.github.lock();
        world.change_selection(id, &[], &[self.id], by.principal())
    }

    /// The account grants our App other permissions than it asked for.
    ///
    /// # Errors
    /// 404 when there is no installation.
    pub fn grant_app(&self, by: &Actor, permissions: &[(&str, &str)]) -> Done<()> {
        let id = self.installation()?;
        let permissions: BTreeMap<String, String> = permissions
            .iter()
            .map(|(name, level)| ((*name).to_owned(), (*level).to_owned()))
            .collect();
        self.github.lock().grant(id, permissions, by.principal())
    }

    /// Protects a branch in the classic way.
    ///
    /// # Errors
    /// 404.
    pub fn protect(&self, branch: &str, protection: BranchProtection) -> Done<()> {
        self.change(|world, id| {
            if let Some(repo) = world.repos.get_mut(&id) {
                repo.protections.insert(branch.to_owned(), protection);
            }
        })
    }

    /// Adds an active ruleset for these branches; answers its id.
    ///
    /// # Errors
    /// 404.
    pub fn add_ruleset(
        &self,
        branches: &[&str],
        rules: Vec<Rule>,
        bypass: Vec<Bypass>,
    ) -> Done<u64> {
        self.change(|world, id| {
            let ruleset = world.next_id("ruleset");
            let made = Ruleset {
                id: ruleset,
                name: format!("rules {ruleset}"),
                branches: branches.iter().map(|&branch| branch.to_owned()).collect(),
                enforcement: Enforcement::Active,
                bypass,
                rules,
                created_at: world.now(),
            };
            if let Some(repo) = world.repos.get_mut(&id) {
                repo.rulesets.insert(ruleset, made);
            }
            ruleset
        })
    }

    /// Allows these merge methods alone.
    ///
    /// # Errors
    /// 404.
    pub fn allow_methods(&self, methods: &[MergeMethod]) -> Done<()> {
        self.merge_settings(|settings| {
            settings.allowed = methods.iter().copied().collect();
        })
    }

    /// Changes what the repository's settings say about merging.
    ///
    /// # Errors
    /// 404.
    pub fn merge_settings(&self, change: impl FnOnce(&mut MergeSettings)) -> Done<()> {
        self.change(|world, id| {
            if let Some(repo) = world.repos.get_mut(&id) {
                change(&mut repo.merging);
            }
        })
    }

    /// Makes it public.
    ///
    /// # Errors
    /// 404.
    pub fn publish(&self) -> Done<()> {
        self.change(|world, id| {
            if let Some(repo) = world.repos.get_mut(&id) {
                repo.private = false;
            }
        })
    }

    /// Renames it.
    ///
    /// # Errors
    /// 404.
    pub fn rename(&self, by: &Actor, name: &str) -> Done<()> {
        self.github
            .lock()
            .rename_repo(self.id, name, by.principal())
    }

    /// Transfers it.
    ///
    /// # Errors
    /// 404.
    pub fn transfer(&self, by: &Actor, to: &Actor) -> Done<()> {
        let mut world = self.github.lock();
        world.transfer_repo(self.id, to.id, by.principal())
    }

    /// Archives it, or brings it back.
    ///
    /// # Errors
    /// 404.
    pub fn archive(&self, by: &Actor, archived: bool) -> Done<()> {
        let mut world = self.github.lock();
        world.archive_repo(self.id, archived, by.principal())
    }

    /// Deletes it.
    ///
    /// # Errors
    /// 404.
    pub fn delete(&self, by: &Actor) -> Done<()> {
        self.github.lock().delete_repo(self.id, by.principal())
    }
}

impl Simulator {
    /// Something that happens inside the next merge call, before the head is compared: the push that
    /// loses (or wins) the race. The world is locked already: use what is handed in.
    pub fn before_next_merge(&self, happens: impl FnOnce(&mut World) + Send + 'static) {
        self.lock().merge_faults.before_next = Some(Box::new(happens));
    }

    /// From now on commits say that they were made at this time.
    pub fn date_commits(&self, at: crate::simulator::world::Time) {
        self.lock().behaviour.commits_say = Some(at);
    }

    /// The next merge lands something else than was judged.
    pub fn mislead_next_merge(&self, how: Mislanding) {
        self.lock().merge_faults.mislanding = Some(how);
    }

    /// So many merge calls answer 405 "Base branch was modified" first.
    pub fn base_is_modified(&self, times: u32) {
        self.lock().merge_faults.base_modified = times;
    }
}
