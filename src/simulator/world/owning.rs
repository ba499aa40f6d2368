//! Repositories coming, changing and going; the App installed on accounts; accounts deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    AccountId, AccountKind, AppId, Change, Done, Installation, InstallationId, MergeSettings,
    Permission, Principal, Refusal, Repo, RepoId, RepoSelection, World,
};
use crate::simulator::git::Bare;
use crate::simulator::payload;

impl World {
    /// Makes a repository `OWNER/REPO` with these files committed on `main`. An owner that is not
    /// there yet becomes an organisation.
    ///
    /// # Errors
    /// 422 for a name that is taken or not `OWNER/REPO`.
    pub fn make_repo(&mut self, full_name: &str, files: &[(&str, &str)]) -> Done<RepoId> {
        let (owner, name) = full_name
            .split_once('/')
            .ok_or_else(|| Refusal::invalid("Repository", "name", "name is invalid"))?;
        if self.repo_named(full_name).is_ok() {
            let text = "name already exists on this account";
            return Err(Refusal::invalid("Repository", "name", text));
        }
        let owner = self.account(owner, AccountKind::Organization);
        let changes: Vec<Change> = files
            .iter()
            .map(|(path, content)| Change::Write {
                path: (*path).to_owned(),
                content: content.as_bytes().to_vec(),
            })
            .collect();
        let first = self.commit(None, owner, &changes, "Initial commit")?;
        self.insert_repo(
            owner,
            name,
            None,
            BTreeMap::from([("main".to_owned(), first)]),
        )
    }

    /// Forks a repository to another account, with the branches as they are.
    ///
    /// # Errors
    /// 404; 422 when the account has a repository of that name.
    pub fn fork(&mut self, repo: RepoId, owner: AccountId) -> Done<RepoId> {
        let origin = self.repo(repo)?;
        let (name, branches) = (origin.name.clone(), origin.branches.clone());
        if self
            .repo_named(&format!("{}/{name}", self.login(owner)))
            .is_ok()
        {
            let text = "name already exists on this account";
            return Err(Refusal::invalid("Repository", "name", text));
        }
        self.insert_repo(owner, &name, Some(repo), branches)
    }

    fn insert_repo(
        &mut self,
        owner: AccountId,
        name: &str,
        fork_of: Option<RepoId>,
        branches: BTreeMap<String, String>,
    ) -> Done<RepoId> {
        let id = self.next_id("repository");
        let now = self.now();
        let git = Bare::create(&self.pool);
        for (branch, tip) in &branches {
            git.set(&format!("refs/heads/{branch}"), tip)?;
        }
        let repo = Repo {
            id,
            owner,
            name: name.to_owned(),
            description: None,
            private: true,
            archived: false,
            fork_of,
            default_branch: "main".to_owned(),
            created_at: now,
            updated_at: now,
            pushed_at: now,
            merging: MergeSettings::default(),
            git,
            branches,
            pulls: BTreeMap::new(),
            issues: BTreeMap::new(),
            comments: BTreeMap::new(),
            labels: BTreeMap::new(),
            suites: BTreeMap::new(),
            check_runs: BTreeMap::new(),
            statuses: Vec::new(),
            workflow_runs: BTreeMap::new(),
            reviews: BTreeMap::new(),
            threads: BTreeMap::new(),
            protections: BTreeMap::new(),
            rulesets: BTreeMap::new(),
            collaborators: BTreeMap::new(),
            team_access: BTreeMap::new(),
            verified: BTreeSet::new(),
            next_number: 1,
        };
        self.repos.insert(id, repo);
        Ok(id)
    }

    /// Renames a repository; its old name leads to it from now on.
    ///
    /// # Errors
    /// 404.
    pub fn rename_repo(&mut self, repo: RepoId, name: &str, by: Principal) -> Done<()> {
        let old_full = self.full_name(self.repo(repo)?).to_lowercase();
        let about = self.repo_mut(repo)?;
        let from = std::mem::replace(&mut about.name, name.to_owned());
        self.old_names.insert(old_full, repo);
        let changes = json!({ "changes": { "repository": { "name": { "from": from } } } });
        self.tell_repo(repo, "renamed", by, changes);
        Ok(())
    }

    /// Transfers a repository to another account. Installations do not go with it: the new account
    /// needs its own.
    ///
    /// # Errors
    /// 404.
    pub fn transfer_repo(&mut self, repo: RepoId, to: AccountId, by: Principal) -> Done<()> {
        let old_full = self.full_name(self.repo(repo)?).to_lowercase();
        let about = self.repo_mut(repo)?;
        let from = std::mem::replace(&mut about.owner, to);
        self.old_names.insert(old_full, repo);
        let kind = self.accounts.get(&from).map(|account| account.kind);
        let old = match kind {
            Some(AccountKind::Organization) => {
                json!({ "organization": payload::organization(self, from) })
            }
            _ => json!({ "user": payload::account(self, Some(from)) }),
        };
        let changes = json!({ "changes": { "owner": { "from": old } } });
        self.tell_repo(repo, "transferred", by, changes);
        Ok(())
    }

    /// Archives a repository (read-only from now on), or brings it back.
    ///
    /// # Errors
    /// 404.
    pub fn archive_repo(&mut self, repo: RepoId, archived: bool, by: Principal) -> Done<()> {
        self.repo_mut(repo)?.archived = archived;
        let action = if archived { "archived" } else { "unarchived" };
        self.tell_repo(repo, action, by, json!({}));
        Ok(())
    }

    /// Makes another branch the default one.
    ///
    /// # Errors
    /// 404 for an unknown branch.
    pub fn set_default_branch(&mut self, repo: RepoId, branch: &str, by: Principal) -> Done<()> {
        self.tip(repo, branch)?;
        let about = self.repo_mut(repo)?;
        about.git.set_head(branch)?;
        let from = std::mem::replace(&mut about.default_branch, branch.to_owned());
        let changes = json!({ "changes": { "default_branch": { "from": from } } });
        self.tell_repo(repo, "edited", by, changes);
        Ok(())
    }

    /// Deletes a repository. Pull requests that came from it stay, without a head repository.
    ///
    /// # Errors
    /// 404.
    pub fn delete_repo(&mut self, repo: RepoId, by: Principal) -> Done<()> {
        self.repo(repo)?;
        self.tell_repo(repo, "deleted", by, json!({}));
        self.repos.remove(&repo);
        for other in self.repos.values_mut() {
            for pull in other.pulls.values_mut() {
                if pull.head.repo == Some(repo) {
                    pull.head.repo = None;
                }
            }
        }
        for installation in self.installations.values_mut() {
            if let RepoSelection::Selected(repos) = &mut installation.selection {
                repos.remove(&repo);
            }
        }
        Ok(())
    }

    fn tell_repo(&mut self, repo: RepoId, action: &str, by: Principal, fields: Value) {
        let by = self.actor(by);
        self.tell(repo, "repository", Some(action), by, |_| fields);
    }

    /// Says what an account may do in a repository.
    ///
    /// # Errors
    /// 404.
    pub fn set_permission(
        &mut self,
        repo: RepoId,
        account: AccountId,
        permission: Permission,
    ) -> Done<()> {
        let collaborators = &mut self.repo_mut(repo)?.collaborators;
        if permission == Permission::None {
            collaborators.remove(&account);
        } else {
            collaborators.insert(account, permission);
        }
        Ok(())
    }

    /// Installs an App on the account that owns these repositories.
    ///
    /// # Errors
    /// 404.
    pub fn install(&mut self, app: AppId, repos: &[RepoId], by: Principal) -> Done<InstallationId> {
        let [first, ..] = repos else {
            return Err(Refusal::not_found());
        };
        let account = self.repo(*first)?.owner;
        let id = self.next_id("installation");
        let now = self.now();
        let of = self.apps.get(&app).ok_or_else(Refusal::not_found)?;
        let installation = Installation {
            id,
            app,
            account,
            selection: RepoSelection::Selected(repos.iter().copied().collect()),
            permissions: of.permissions.clone(),
            events: of.events.clone(),
            suspended: None,
            created_at: now,
            updated_at: now,
        };
        self.installations.insert(id, installation);
        self.tell_installation(id, "created", by);
        Ok(id)
    }

    /// Removes an installation.
    ///
    /// # Errors
    /// 404.
    pub fn uninstall(&mut self, id: InstallationId, by: Principal) -> Done<()> {
        self.installation_mut(id)?;
        self.tell_installation(id, "deleted", by);
        self.installations.remove(&id);
        Ok(())
    }

    /// Suspends an installation, or lets it go on. While suspended it hears of nothing.
    ///
    /// # Errors
    /// 404.
    pub fn suspend(&mut self, id: InstallationId, suspended: bool, by: Principal) -> Done<()> {
        let now = self.now();
        let who = self.actor(by);
        self.installation_mut(id)?.suspended = suspended.then_some((now, Some(who)));
        let action = if suspended { "suspend" } else { "unsuspend" };
        self.tell_installation(id, action, by);
        Ok(())
    }

    /// The account grants other permissions.
    ///
    /// # Errors
    /// 404.
    pub fn grant(
        &mut self,
        id: InstallationId,
        permissions: BTreeMap<String, String>,
        by: Principal,
    ) -> Done<()> {
        self.installation_mut(id)?.permissions = permissions;
        self.tell_installation(id, "new_permissions_accepted", by);
        Ok(())
    }

    /// Adds repositories to a selection, and takes others out of it.
    ///
    /// # Errors
    /// 404.
    pub fn change_selection(
        &mut self,
        id: InstallationId,
        added: &[RepoId],
        removed: &[RepoId],
        by: Principal,
    ) -> Done<()> {
        if let RepoSelection::Selected(repos) = &mut self.installation_mut(id)?.selection {
            repos.extend(added);
            repos.retain(|repo| !removed.contains(repo));
        }
        for (action, named) in [("added", added), ("removed", removed)] {
            if !named.is_empty() {
                self.tell_selection(id, action, named, by);
            }
        }
        Ok(())
    }

    fn installation_mut(&mut self, id: InstallationId) -> Done<&mut Installation> {
        self.installations
            .get_mut(&id)
            .ok_or_else(Refusal::not_found)
    }

    /// The repositories an installation covers.
    pub fn covered(&self, installation: &Installation) -> Vec<&Repo> {
        self.repos
            .values()
            .filter(|repo| repo.owner == installation.account)
            .filter(|repo| match &installation.selection {
                RepoSelection::All => true,
                RepoSelection::Selected(repos) => repos.contains(&repo.id),
            })
            .collect()
    }

    /// Installation deliveries come unasked, also about a suspended installation, and only for our App.
    fn tell_installation(&mut self, id: InstallationId, action: &str, by: Principal) {
        let Some(there) = self.installations.get(&id) else {
            return;
        };
        if there.app != self.our_app {
            return;
        }
        let mut body = json!({
            "action": action,
            "installation": payload::installation(self, there),
            "sender": payload::account(self, Some(self.actor(by))),
        });
        // GitHub leaves the list out where only permissions changed.
        if action != "new_permissions_accepted" {
            body["repositories"] = self
                .covered(there)
                .into_iter()
                .map(|repo| payload::repository_brief(self, repo))
                .collect();
        }
        self.queue("installation", Some(action), Some(id), None, body);
    }

    fn tell_selection(
        &mut self,
        id: InstallationId,
        action: &str,
        named: &[RepoId],
        by: Principal,
    ) {
        let Some(there) = self.installations.get(&id) else {
            return;
        };
        if there.app != self.our_app || there.suspended.is_some() {
            return;
        }
        let brief: Vec<Value> = named
            .iter()
            .filter_map(|repo| self.repos.get(repo))
            .map(|repo| payload::repository_brief(self, repo))
            .collect();
        let (added, removed) = if action == "added" {
            (brief, Vec::new())
        } else {
            (Vec::new(), brief)
        };
        let body = json!({
            "action": action,
            "installation": payload::installation(self, there),
            "repository_selection": payload::selection(there),
            "repositories_added": added,
            "repositories_removed": removed,
            "requester": null,
            "sender": payload::account(self, Some(self.actor(by))),
        });
        self.queue(
            "installation_repositories",
            Some(action),
            Some(id),
            None,
            body,
        );
    }

    /// GitHub says hello to our App.
    pub fn ping(&mut self) {
        let body = payload::ping(self);
        self.queue("ping", None, None, None, body);
    }

    /// Deletes an account: whatever it did stays, with null where it would be named.
    pub fn delete_account(&mut self, id: AccountId) {
        if let Some(account) = self.accounts.get_mut(&id) {
            account.deleted = true;
        }
    }
}
