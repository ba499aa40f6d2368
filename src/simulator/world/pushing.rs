//! Commits, branches and pushes, and what follows from a push.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    AccountId, Done, Mergeability, Number, Principal, Refusal, RepoId, ReviewState, Sha, Suite,
    World,
};
use crate::simulator::git::{Commit, Entry, Files, Signature};
use crate::simulator::payload;

/// One change to a file in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The file now has this content.
    Write {
        /// Where.
        path: String,
        /// What.
        content: Vec<u8>,
    },
    /// The file goes.
    Remove {
        /// Which.
        path: String,
    },
    /// The file moves, unchanged.
    Rename {
        /// From.
        from: String,
        /// To.
        to: String,
    },
}

/// What a branch update was, for those who hear of it.
#[derive(Debug, Clone)]
struct Pushed {
    branch: String,
    before: Option<Sha>,
    after: Option<Sha>,
    forced: bool,
}

impl World {
    /// Makes a commit on a parent (or a first one), by an account. No branch moves.
    ///
    /// # Errors
    /// 422 for a parent or file that is not there.
    pub fn commit(
        &mut self,
        parent: Option<&str>,
        by: AccountId,
        changes: &[Change],
        message: &str,
    ) -> Done<Sha> {
        let mut files = match parent {
            Some(parent) => {
                let tree = &self.known_commit(parent)?.tree;
                self.pool.files(tree)?.as_ref().clone()
            }
            None => Files::new(),
        };
        for change in changes {
            self.apply(&mut files, change)?;
        }
        let tree = self.pool.write_tree(&files)?;
        let author = self.signature(by);
        Ok(self.write_commit(Commit {
            sha: String::new(),
            tree,
            parents: parent.map(str::to_owned).into_iter().collect(),
            committer: author.clone(),
            author,
            message: message.to_owned(),
        }))
    }

    fn apply(&self, files: &mut Files, change: &Change) -> Done<()> {
        let missing = |path: &str| Refusal::new(422, format!("There is no file {path}"));
        match change {
            Change::Write { path, content } => {
                let id = self.pool.write_blob(content);
                let mode = files
                    .get(path)
                    .map_or_else(|| "100644".to_owned(), |entry| entry.mode.clone());
                files.insert(path.clone(), Entry { mode, id });
            }
            Change::Remove { path } => {
                files.remove(path).ok_or_else(|| missing(path))?;
            }
            Change::Rename { from, to } => {
                let entry = files.remove(from).ok_or_else(|| missing(from))?;
                files.insert(to.clone(), entry);
            }
        }
        Ok(())
    }

    pub(super) fn signature(&self, by: AccountId) -> Signature {
        let (name, email) = match self.accounts.get(&by) {
            Some(account) => (account.login.clone(), account.email()),
            None => (
                "ghost".to_owned(),
                "ghost@users.noreply.github.com".to_owned(),
            ),
        };
        Signature {
            name,
            email,
            at: self.behaviour.commits_say.unwrap_or_else(|| self.now()),
        }
    }

    /// The committer of everything GitHub commits itself.
    pub(super) fn web_flow(&self) -> Signature {
        Signature {
            name: "GitHub".to_owned(),
            email: "noreply@github.com".to_owned(),
            at: self.now(),
        }
    }

    pub(super) fn write_commit(&self, commit: Commit) -> Sha {
        self.pool.write_commit(commit).sha.clone()
    }

    /// The tip of a branch.
    ///
    /// # Errors
    /// 404 "Branch not found".
    pub fn tip(&self, repo: RepoId, branch: &str) -> Done<Sha> {
        self.repo(repo)?
            .branches
            .get(branch)
            .cloned()
            .ok_or_else(|| Refusal::new(404, "Branch not found"))
    }

    /// Makes a branch.
    ///
    /// # Errors
    /// 422 when it exists or the commit does not.
    pub fn create_branch(
        &mut self,
        repo: RepoId,
        branch: &str,
        at: &str,
        by: Principal,
    ) -> Done<()> {
        if self.repo(repo)?.branches.contains_key(branch) {
            return Err(Refusal::new(422, "Reference already exists"));
        }
        self.move_branch(repo, branch, Some(at), by, false)
    }

    /// Moves a branch (makes it, if it is new), or deletes it with `None`. Who may push is not asked:
    /// the actors of a story pass the platform's gates when the story says so.
    ///
    /// # Errors
    /// 403 for an archived repository; 404 for a branch that is not there to delete; 422 "Update is
    /// not a fast forward" unless `force`; 422 when `a` and `a/b` would both be branches.
    pub fn move_branch(
        &mut self,
        repo: RepoId,
        branch: &str,
        to: Option<&str>,
        by: Principal,
        force: bool,
    ) -> Done<()> {
        self.refuse_if_archived(repo)?;
        let before = self.repo(repo)?.branches.get(branch).cloned();
        let mut forced = false;
        if let (Some(before), Some(to)) = (&before, to) {
            self.known_commit(to)?;
            forced = !self.pool.contains(to, before)?;
            if forced && !force {
                return Err(Refusal::new(422, "Update is not a fast forward"));
            }
        }
        if before.is_none() && to.is_none() {
            return Err(Refusal::new(422, "Reference does not exist"));
        }
        self.set_branch(repo, branch, to)?;
        let pushed = Pushed {
            branch: branch.to_owned(),
            before,
            after: to.map(str::to_owned),
            forced,
        };
        self.after_push(repo, &pushed, self.actor(by))
    }

    /// Archived repositories are read-only.
    pub(super) fn refuse_if_archived(&self, repo: RepoId) -> Done<()> {
        if self.repo(repo)?.archived {
            return Err(Refusal::new(
                403,
                "Repository was archived so is read-only.",
            ));
        }
        Ok(())
    }

    fn set_branch(&mut self, repo: RepoId, branch: &str, to: Option<&str>) -> Done<()> {
        let now = self.now();
        if let Some(sha) = to {
            self.known_commit(sha)?;
        }
        let repo = self.repo_mut(repo)?;
        let name = format!("refs/heads/{branch}");
        let moved = match to {
            Some(sha) => repo.git.set(&name, sha),
            None => repo.git.remove(&name),
        };
        moved.map_err(|_| Refusal::new(422, "Reference update failed"))?;
        match to {
            Some(sha) => repo.branches.insert(branch.to_owned(), sha.to_owned()),
            None => repo.branches.remove(branch),
        };
        repo.pushed_at = now;
        Ok(())
    }

    /// What follows from a push: the deliveries, then what it does to pull requests that come from or
    /// go into the branch.
    fn after_push(&mut self, repo: RepoId, pushed: &Pushed, by: AccountId) -> Done<()> {
        let told = self.push_fields(repo, pushed, by)?;
        self.tell(repo, "push", None, by, |_| told);
        if let Some(after) = &pushed.after {
            self.request_our_suite(repo, pushed, after, by);
        }
        for (home, number) in self.pulls_from(repo, &pushed.branch) {
            match &pushed.after {
                Some(after) => self.synchronize(home, number, after, by)?,
                None => self.close_for_lost_branch(home, number, by)?,
            }
        }
        self.base_moved(repo, &pushed.branch, pushed.after.as_deref(), by)
    }

    /// Open pull requests, in any repository, whose head is this branch.
    fn pulls_from(&self, repo: RepoId, branch: &str) -> Vec<(RepoId, Number)> {
        let mut found = Vec::new();
        for home in self.repos.values() {
            for pull in home.pulls.values() {
                if pull.open && pull.head.repo == Some(repo) && pull.head.branch == branch {
                    found.push((home.id, pull.number));
                }
            }
        }
        found
    }

    fn synchronize(
        &mut self,
        repo: RepoId,
        number: Number,
        after: &str,
        by: AccountId,
    ) -> Done<()> {
        let base = self.pull(repo, number)?.base.branch.clone();
        let base_tip = self.tip(repo, &base)?;
        let null_reads_left = self.behaviour.mergeable_null_reads;
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        let before = std::mem::replace(&mut pull.head.sha, after.to_owned());
        if before == after {
            return Ok(());
        }
        pull.base.sha = base_tip;
        pull.mergeability = Mergeability::Unknown { null_reads_left };
        pull.updated_at = now;
        self.point_pull_ref(repo, number)?;
        self.tell_pull(
            repo,
            number,
            "synchronize",
            by,
            json!({ "before": before, "after": after }),
        );
        if self.dismisses_stale(repo, &base) {
            self.dismiss_approvals(repo, number, by, true)?;
        }
        Ok(())
    }

    /// `refs/pull/N/head` follows the head, as on GitHub.
    pub(super) fn point_pull_ref(&mut self, repo: RepoId, number: Number) -> Done<()> {
        let repo = self.repo(repo)?;
        if let Some(pull) = repo.pulls.get(&number) {
            let name = format!("refs/pull/{number}/head");
            repo.git.set(&name, &pull.head.sha)?;
        }
        Ok(())
    }

    /// Takes the approvals back. With `told` each sends a delivery; a changed base sends none.
    pub(super) fn dismiss_approvals(
        &mut self,
        repo: RepoId,
        number: Number,
        by: AccountId,
        told: bool,
    ) -> Done<()> {
        let approvals: Vec<u64> = self
            .repo(repo)?
            .reviews
            .values()
            .filter(|review| review.pull == number && review.state == ReviewState::Approved)
            .map(|review| review.id)
            .collect();
        for id in approvals {
            if let Some(review) = self.repo_mut(repo)?.reviews.get_mut(&id) {
                review.state = ReviewState::Dismissed;
            }
            if told {
                self.tell_review(repo, id, "dismissed", by, json!({}));
            }
        }
        Ok(())
    }

    fn close_for_lost_branch(&mut self, repo: RepoId, number: Number, by: AccountId) -> Done<()> {
        self.close_pull(repo, number, by)
    }

    /// A base branch moved or went. Nobody is told of it by `pull_request` deliveries, except where
    /// GitHub closes or retargets: pull requests whose head the base now contains are merged, those
    /// whose base went follow the branch it was merged into, or close.
    fn base_moved(
        &mut self,
        repo: RepoId,
        branch: &str,
        tip: Option<&str>,
        by: AccountId,
    ) -> Done<()> {
        let into: Vec<Number> = self
            .repo(repo)?
            .pulls
            .values()
            .filter(|pull| pull.open && pull.base.branch == branch)
            .map(|pull| pull.number)
            .collect();
        let null_reads_left = self.behaviour.mergeable_null_reads;
        for number in into {
            let Some(tip) = tip else {
                match self.merged_into(repo, branch) {
                    Some(next) => self.retarget(repo, number, &next, by)?,
                    None => self.close_pull(repo, number, by)?,
                }
                continue;
            };
            let pull = self.pull_mut(repo, number)?;
            pull.mergeability = Mergeability::Unknown { null_reads_left };
            let head = pull.head.sha.clone();
            if self.pool.contains(tip, &head)? {
                self.mark_merged(repo, number, tip, by)?;
            }
        }
        Ok(())
    }

    /// The base of the merged pull request that came from this branch.
    fn merged_into(&self, repo: RepoId, branch: &str) -> Option<String> {
        let repo = self.repos.get(&repo)?;
        repo.pulls
            .values()
            .rev()
            .find(|pull| {
                pull.merged() && pull.head.branch == branch && pull.head.repo == Some(repo.id)
            })
            .map(|pull| pull.base.branch.clone())
            .filter(|base| repo.branches.contains_key(base))
    }

    /// A suite of ours on a pushed commit, which GitHub makes by itself and asks us to fill.
    fn request_our_suite(&mut self, repo: RepoId, pushed: &Pushed, after: &str, by: AccountId) {
        if !self.hears(repo, "check_suite") {
            return;
        }
        let known = self.repos.get(&repo).is_some_and(|repo| {
            repo.suites
                .values()
                .any(|suite| suite.app == self.our_app && suite.head == after)
        });
        if known {
            return;
        }
        let id = self.next_id("suite");
        let now = self.now();
        let suite = Suite {
            id,
            app: self.our_app,
            head: after.to_owned(),
            branch: Some(pushed.branch.clone()),
            before: pushed.before.clone(),
            workflow_run: None,
            created_at: now,
            updated_at: now,
        };
        if let Some(repo) = self.repos.get_mut(&repo) {
            repo.suites.insert(id, suite);
        }
        self.tell_suite(repo, id, "requested", by);
    }

    fn push_fields(&self, repo: RepoId, pushed: &Pushed, by: AccountId) -> Done<Value> {
        const NOTHING: &str = "0000000000000000000000000000000000000000";
        if !self.hears(repo, "push") {
            return Ok(Value::Null);
        }
        let about = self.repo(repo)?;
        let new = match (&pushed.before, &pushed.after) {
            (Some(before), Some(after)) => self.pool.ahead(before, after)?,
            (None, Some(after)) => {
                let default = about.branches.get(&about.default_branch);
                match default.filter(|tip| *tip != after) {
                    Some(tip) => self.pool.ahead(tip, after)?,
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        };
        // GitHub lists at most 2,048 commits; nobody here pushes as many.
        let commits: Vec<Value> = new
            .iter()
            .map(|commit| payload::push_commit(self, about, commit))
            .collect();
        let head = match &pushed.after {
            Some(after) => payload::push_commit(self, about, self.known_commit(after)?.as_ref()),
            None => Value::Null,
        };
        let before = pushed.before.as_deref().unwrap_or(NOTHING);
        let after = pushed.after.as_deref().unwrap_or(NOTHING);
        let full_name = self.full_name(about);
        Ok(json!({
            "ref": format!("refs/heads/{}", pushed.branch),
            "before": before,
            "after": after,
            "created": pushed.before.is_none(),
            "deleted": pushed.after.is_none(),
            "forced": pushed.forced,
            "base_ref": null,
            "compare": format!("{}/{full_name}/compare/{before}...{after}", self.origin),
            "commits": commits,
            "head_commit": head,
            "repository": payload::repository_in_push(self, about),
            "pusher": payload::pusher(self, by),
        }))
    }

    /// Whether a push takes approvals back on this base.
    pub(super) fn dismisses_stale(&self, repo: RepoId, base: &str) -> bool {
        self.required_reviews(repo, base)
            .iter()
            .any(|reviews| reviews.dismiss_stale)
    }

    /// Paths touched by a commit against its first parent, each with `A`, `D` or `M`; a rename is a
    /// path gone and a path added, as push deliveries tell it.
    ///
    /// # Errors
    /// As git says.
    pub fn touched(&self, sha: &str) -> Done<BTreeMap<String, char>> {
        let commit = self.known_commit(sha)?;
        let after = self.pool.files(&commit.tree)?;
        let before = match commit.parents.first() {
            Some(parent) => self.pool.files(&self.known_commit(parent)?.tree)?,
            None => Arc::default(),
        };
        let mut touched = BTreeMap::new();
        for (path, entry) in after.iter() {
            match before.get(path) {
                None => touched.insert(path.clone(), 'A'),
                Some(old) if old != entry => touched.insert(path.clone(), 'M'),
                Some(_) => None,
            };
        }
        for path in before.keys().filter(|path| !after.contains_key(*path)) {
            touched.insert(path.clone(), 'D');
        }
        Ok(touched)
    }
}
