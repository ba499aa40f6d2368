//! Commits, branches, pull requests: what contributors do.

use super::{Actor, Edits, PullHandle, RepoHandle};
use crate::simulator::world::{Done, MergeMethod, MergeRequest, PullDraft, PullEdit, Sha};

impl Actor {
    /// Commits on a branch and pushes it; a branch that is not there starts at the default branch.
    ///
    /// # Errors
    /// As the push is refused.
    pub fn push(&self, repo: &RepoHandle, branch: &str, message: &str, edits: Edits) -> Done<Sha> {
        let mut world = self.github.lock();
        let about = world.repo(repo.id)?;
        let start = about
            .branches
            .get(branch)
            .or_else(|| about.branches.get(&about.default_branch))
            .cloned();
        let sha = world.commit(start.as_deref(), self.id, &edits.0, message)?;
        world.move_branch(repo.id, branch, Some(&sha), self.principal(), false)?;
        Ok(sha)
    }

    /// Rewrites a branch: one new commit on `onto` (a branch or commit) replaces what stood there.
    ///
    /// # Errors
    /// As the push is refused.
    pub fn force_push(
        &self,
        repo: &RepoHandle,
        branch: &str,
        onto: &str,
        message: &str,
        edits: Edits,
    ) -> Done<Sha> {
        let mut world = self.github.lock();
        let onto = world.tip(repo.id, onto).unwrap_or_else(|_| onto.to_owned());
        let sha = world.commit(Some(&onto), self.id, &edits.0, message)?;
        world.move_branch(repo.id, branch, Some(&sha), self.principal(), true)?;
        Ok(sha)
    }

    /// Makes a branch at another one, without a commit of its own.
    ///
    /// # Errors
    /// 404; 422 when it exists.
    pub fn branch(&self, repo: &RepoHandle, name: &str, from: &str) -> Done<()> {
        let mut world = self.github.lock();
        let at = world.tip(repo.id, from)?;
        world.create_branch(repo.id, name, &at, self.principal())
    }

    /// Points a branch at a commit that exists, whatever stood there.
    ///
    /// # Errors
    /// 422 for an unknown commit.
    pub fn reset_branch(&self, repo: &RepoHandle, branch: &str, to: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.move_branch(repo.id, branch, Some(to), self.principal(), true)
    }

    /// Deletes a branch.
    ///
    /// # Errors
    /// 422 when it is not there.
    pub fn delete_branch(&self, repo: &RepoHandle, branch: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.move_branch(repo.id, branch, None, self.principal(), true)
    }

    /// Forks a repository to the own account.
    ///
    /// # Errors
    /// 422 when there is one already.
    pub fn fork(&self, repo: &RepoHandle) -> Done<RepoHandle> {
        let id = self.github.lock().fork(repo.id, self.id)?;
        Ok(RepoHandle {
            github: self.github.clone(),
            id,
        })
    }

    /// Opens a pull request; `head` is a branch, or `owner:branch` for a fork's.
    ///
    /// # Errors
    /// 422, as GitHub words it.
    pub fn open_pull(
        &self,
        repo: &RepoHandle,
        head: &str,
        base: &str,
        title: &str,
    ) -> Done<PullHandle> {
        self.open(
            repo,
            PullDraft {
                title: title.to_owned(),
                head: head.to_owned(),
                base: base.to_owned(),
                ..PullDraft::default()
            },
        )
    }

    /// Opens a pull request with everything said: a description, a draft.
    ///
    /// # Errors
    /// 422, as GitHub words it.
    pub fn open(&self, repo: &RepoHandle, draft: PullDraft) -> Done<PullHandle> {
        let mut world = self.github.lock();
        let number = world.open_pull(repo.id, self.principal(), draft)?;
        Ok(repo.pull(number))
    }

    fn edit(&self, pull: &PullHandle, edit: PullEdit) -> Done<()> {
        let mut world = self.github.lock();
        world.edit_pull(pull.repo.id, pull.number, self.principal(), edit)
    }

    /// Closes a pull request.
    ///
    /// # Errors
    /// 404.
    pub fn close(&self, pull: &PullHandle) -> Done<()> {
        let open = Some(false);
        self.edit(
            pull,
            PullEdit {
                open,
                ..PullEdit::default()
            },
        )
    }

    /// Opens it again.
    ///
    /// # Errors
    /// 422 when its branch is gone.
    pub fn reopen(&self, pull: &PullHandle) -> Done<()> {
        let open = Some(true);
        self.edit(
            pull,
            PullEdit {
                open,
                ..PullEdit::default()
            },
        )
    }

    /// Sends it to another base branch.
    ///
    /// # Errors
    /// 422 when there is no such branch.
    pub fn retarget(&self, pull: &PullHandle, base: &str) -> Done<()> {
        let base = Some(base.to_owned());
        self.edit(
            pull,
            PullEdit {
                base,
                ..PullEdit::default()
            },
        )
    }

    /// Changes its title.
    ///
    /// # Errors
    /// 404.
    pub fn retitle(&self, pull: &PullHandle, title: &str) -> Done<()> {
        let title = Some(title.to_owned());
        self.edit(
            pull,
            PullEdit {
                title,
                ..PullEdit::default()
            },
        )
    }

    /// Changes its description.
    ///
    /// # Errors
    /// 404.
    pub fn describe(&self, pull: &PullHandle, body: &str) -> Done<()> {
        let body = Some(body.to_owned());
        self.edit(
            pull,
            PullEdit {
                body,
                ..PullEdit::default()
            },
        )
    }

    /// Makes it a draft.
    ///
    /// # Errors
    /// 404.
    pub fn convert_to_draft(&self, pull: &PullHandle) -> Done<()> {
        let mut world = self.github.lock();
        world.set_draft(pull.repo.id, pull.number, self.principal(), true)
    }

    /// Says it is ready for review.
    ///
    /// # Errors
    /// 404.
    pub fn ready_for_review(&self, pull: &PullHandle) -> Done<()> {
        let mut world = self.github.lock();
        world.set_draft(pull.repo.id, pull.number, self.principal(), false)
    }

    /// Arms GitHub's own auto-merge.
    ///
    /// # Errors
    /// 422 when the repository does not allow it.
    pub fn arm_auto_merge(&self, pull: &PullHandle, method: MergeMethod) -> Done<()> {
        let mut world = self.github.lock();
        world.arm_auto_merge(pull.repo.id, pull.number, self.principal(), method)
    }

    /// Disarms it.
    ///
    /// # Errors
    /// 422 when it is not armed.
    pub fn disarm_auto_merge(&self, pull: &PullHandle) -> Done<()> {
        let mut world = self.github.lock();
        world.disarm_auto_merge(pull.repo.id, pull.number, self.principal())
    }

    /// Presses "Update branch".
    ///
    /// # Errors
    /// 422 when there is nothing new, or they conflict.
    pub fn update_branch(&self, pull: &PullHandle) -> Done<()> {
        let mut world = self.github.lock();
        world.update_branch(pull.repo.id, pull.number, self.principal(), None)
    }

    /// Merges whatever head stands, past our gate: GitHub's own gates still hold.
    ///
    /// # Errors
    /// 405 and others, as GitHub words them.
    pub fn merge(&self, pull: &PullHandle, method: MergeMethod) -> Done<Sha> {
        let request = MergeRequest {
            method: Some(method),
            ..MergeRequest::default()
        };
        self.merge_with(pull, &request)
    }

    /// Merges as a call of the API says, with the head that is expected.
    ///
    /// # Errors
    /// 409, 405 and others, as GitHub words them.
    pub fn merge_with(&self, pull: &PullHandle, request: &MergeRequest) -> Done<Sha> {
        let mut world = self.github.lock();
        world.merge(pull.repo.id, pull.number, self.principal(), request)
    }
}
