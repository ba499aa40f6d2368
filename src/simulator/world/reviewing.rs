//! Reviews and review conversations.

use serde_json::{Value, json};

use super::{
    AccountId, Done, Number, Principal, Refusal, RepoId, Review, ReviewState, ReviewThread, World,
};
use crate::simulator::payload;

impl World {
    /// Submits a review of the head that stands now.
    ///
    /// # Errors
    /// 404; 422 when the author approves or blocks the own pull request.
    pub fn review(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        state: ReviewState,
        body: &str,
    ) -> Done<u64> {
        let author = self.actor(by);
        let pull = self.pull(repo, number)?;
        if pull.author == author && state != ReviewState::Commented {
            let word = match state {
                ReviewState::Approved => "approve",
                _ => "request changes on",
            };
            let text = format!("Can not {word} your own pull request");
            return Err(Refusal::new(422, text));
        }
        let commit_id = pull.head.sha.clone();
        let id = self.next_id("review");
        let now = self.now();
        let review = Review {
            id,
            pull: number,
            author,
            state,
            body: body.to_owned(),
            commit_id,
            submitted_at: now,
            updated_at: now,
        };
        self.repo_mut(repo)?.reviews.insert(id, review);
        self.tell_review(repo, id, "submitted", author, json!({}));
        self.settle_auto_merges(repo)?;
        Ok(id)
    }

    /// Changes a review's text.
    ///
    /// # Errors
    /// 404.
    pub fn edit_review(&mut self, repo: RepoId, id: u64, by: Principal, body: &str) -> Done<()> {
        let by = self.actor(by);
        let now = self.now();
        let review = self.review_mut(repo, id)?;
        let from = std::mem::replace(&mut review.body, body.to_owned());
        review.updated_at = now;
        let changes = json!({ "changes": { "body": { "from": from } } });
        self.tell_review(repo, id, "edited", by, changes);
        Ok(())
    }

    /// Dismisses a review.
    ///
    /// # Errors
    /// 404; 422 for a comment, which cannot be dismissed.
    pub fn dismiss_review(&mut self, repo: RepoId, id: u64, by: Principal) -> Done<()> {
        let by = self.actor(by);
        let review = self.review_mut(repo, id)?;
        if review.state == ReviewState::Commented {
            return Err(Refusal::new(
                422,
                "Can not dismiss a commented pull request review",
            ));
        }
        review.state = ReviewState::Dismissed;
        self.tell_review(repo, id, "dismissed", by, json!({}));
        Ok(())
    }

    fn review_mut(&mut self, repo: RepoId, id: u64) -> Done<&mut Review> {
        self.repo_mut(repo)?
            .reviews
            .get_mut(&id)
            .ok_or_else(Refusal::not_found)
    }

    pub(super) fn tell_review(
        &mut self,
        repo: RepoId,
        id: u64,
        action: &str,
        by: AccountId,
        mut more: Value,
    ) {
        self.tell(repo, "pull_request_review", Some(action), by, |world| {
            let told = world.repo(repo).ok().and_then(|about| {
                let review = about.reviews.get(&id)?;
                let pull = about.pulls.get(&review.pull)?;
                Some((
                    payload::review_event(world, about, review),
                    payload::pull_simple(world, about, pull),
                ))
            });
            if let Some((review, pull)) = told {
                more["review"] = review;
                more["pull_request"] = pull;
            }
            more
        });
    }

    /// Starts a conversation on a line, with a commenting review around it.
    ///
    /// # Errors
    /// 404.
    pub fn open_thread(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        place: (&str, u64),
        body: &str,
    ) -> Done<u64> {
        let review = self.review(repo, number, by, ReviewState::Commented, "")?;
        let id = self.next_id("thread");
        let thread = ReviewThread {
            id,
            pull: number,
            review,
            author: self.actor(by),
            path: place.0.to_owned(),
            line: place.1,
            body: body.to_owned(),
            commit_id: self.pull(repo, number)?.head.sha.clone(),
            resolved: false,
            created_at: self.now(),
        };
        self.repo_mut(repo)?.threads.insert(id, thread);
        Ok(id)
    }

    /// Resolves a conversation, or opens it again.
    ///
    /// # Errors
    /// 404.
    pub fn resolve_thread(
        &mut self,
        repo: RepoId,
        id: u64,
        by: Principal,
        resolved: bool,
    ) -> Done<()> {
        let by = self.actor(by);
        let threads = &mut self.repo_mut(repo)?.threads;
        let thread = threads.get_mut(&id).ok_or_else(Refusal::not_found)?;
        thread.resolved = resolved;
        let action = if resolved { "resolved" } else { "unresolved" };
        self.tell(
            repo,
            "pull_request_review_thread",
            Some(action),
            by,
            |world| {
                let told = world.repo(repo).ok().and_then(|about| {
                    let thread = about.threads.get(&id)?;
                    let pull = about.pulls.get(&thread.pull)?;
                    Some(json!({
                        "thread": payload::thread(world, about, thread),
                        "pull_request": payload::pull_simple(world, about, pull),
                    }))
                });
                told.unwrap_or_default()
            },
        );
        self.settle_auto_merges(repo)
    }
}
