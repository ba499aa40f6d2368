//! Reviews, conversations, comments, issues, labels: what is said.

use super::{Actor, PullHandle, RepoHandle};
use crate::simulator::world::{Done, IssueEdit, Number, ReviewState};

impl Actor {
    /// Reviews the head that stands now; answers the review's id.
    ///
    /// # Errors
    /// 422 for the own pull request.
    pub fn review(&self, pull: &PullHandle, state: ReviewState, body: &str) -> Done<u64> {
        let mut world = self.github.lock();
        world.review(pull.repo.id, pull.number, self.principal(), state, body)
    }

    /// Approves.
    ///
    /// # Errors
    /// 422 for the own pull request.
    pub fn approve(&self, pull: &PullHandle) -> Done<u64> {
        self.review(pull, ReviewState::Approved, "")
    }

    /// Asks for changes.
    ///
    /// # Errors
    /// 422 for the own pull request.
    pub fn request_changes(&self, pull: &PullHandle, body: &str) -> Done<u64> {
        self.review(pull, ReviewState::ChangesRequested, body)
    }

    /// Changes a review's text.
    ///
    /// # Errors
    /// 404.
    pub fn edit_review(&self, repo: &RepoHandle, review: u64, body: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.edit_review(repo.id, review, self.principal(), body)
    }

    /// Dismisses a review.
    ///
    /// # Errors
    /// 404; 422 for a comment.
    pub fn dismiss_review(&self, repo: &RepoHandle, review: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.dismiss_review(repo.id, review, self.principal())
    }

    /// Starts a conversation on a line; answers its id.
    ///
    /// # Errors
    /// 404.
    pub fn ask_about(&self, pull: &PullHandle, path: &str, line: u64, body: &str) -> Done<u64> {
        let mut world = self.github.lock();
        let place = (path, line);
        world.open_thread(pull.repo.id, pull.number, self.principal(), place, body)
    }

    /// Resolves a conversation.
    ///
    /// # Errors
    /// 404.
    pub fn resolve(&self, repo: &RepoHandle, thread: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.resolve_thread(repo.id, thread, self.principal(), true)
    }

    /// Opens a resolved conversation again.
    ///
    /// # Errors
    /// 404.
    pub fn unresolve(&self, repo: &RepoHandle, thread: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.resolve_thread(repo.id, thread, self.principal(), false)
    }

    /// Comments on a pull request; answers the comment's id.
    ///
    /// # Errors
    /// 422 for an empty one.
    pub fn comment(&self, pull: &PullHandle, body: &str) -> Done<u64> {
        self.comment_on(&pull.repo, pull.number, body)
    }

    /// Comments on an issue or pull request by number.
    ///
    /// # Errors
    /// 404; 422 for an empty one.
    pub fn comment_on(&self, repo: &RepoHandle, number: Number, body: &str) -> Done<u64> {
        let mut world = self.github.lock();
        world.comment(repo.id, number, self.principal(), body)
    }

    /// Changes a comment, also somebody else's.
    ///
    /// # Errors
    /// 404.
    pub fn edit_comment(&self, repo: &RepoHandle, comment: u64, body: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.edit_comment(repo.id, comment, self.principal(), body)
    }

    /// Deletes a comment.
    ///
    /// # Errors
    /// 404.
    pub fn delete_comment(&self, repo: &RepoHandle, comment: u64) -> Done<()> {
        let mut world = self.github.lock();
        world.delete_comment(repo.id, comment, self.principal())
    }

    /// Opens an issue; answers its number.
    ///
    /// # Errors
    /// 403 in an archived repository.
    pub fn open_issue(&self, repo: &RepoHandle, title: &str, body: &str) -> Done<Number> {
        let mut world = self.github.lock();
        world.open_issue(repo.id, self.principal(), title, Some(body))
    }

    /// Closes an issue.
    ///
    /// # Errors
    /// 404.
    pub fn close_issue(&self, repo: &RepoHandle, number: Number) -> Done<()> {
        let edit = IssueEdit {
            open: Some(false),
            ..IssueEdit::default()
        };
        let mut world = self.github.lock();
        world.edit_issue(repo.id, number, self.principal(), edit)
    }

    /// Deletes an issue.
    ///
    /// # Errors
    /// 404.
    pub fn delete_issue(&self, repo: &RepoHandle, number: Number) -> Done<()> {
        let mut world = self.github.lock();
        world.delete_issue(repo.id, number, self.principal())
    }

    /// Puts a label on an issue or pull request.
    ///
    /// # Errors
    /// 404.
    pub fn label(&self, repo: &RepoHandle, number: Number, label: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.add_labels(repo.id, number, self.principal(), &[label])
    }

    /// Takes a label off.
    ///
    /// # Errors
    /// 404 when it is not on it.
    pub fn unlabel(&self, repo: &RepoHandle, number: Number, label: &str) -> Done<()> {
        let mut world = self.github.lock();
        world.remove_label(repo.id, number, self.principal(), label)
    }
}
