//! Opening, changing and closing pull requests.

use serde_json::{Value, json};

use super::{
    AccountId, AutoMerge, BaseSide, Done, HeadSide, MergeMethod, Mergeability, Number, Principal,
    Pull, Refusal, RepoId, World,
};
use crate::simulator::git::{Commit, Merged};

/// What is said when a pull request is opened.
#[derive(Debug, Clone, Default)]
pub struct PullDraft {
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: Option<String>,
    /// `branch`, or `owner:branch` for a fork's.
    pub head: String,
    /// The base branch.
    pub base: String,
    /// As a draft.
    pub draft: bool,
}

/// What changes in a pull request; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct PullEdit {
    /// The title.
    pub title: Option<String>,
    /// The description.
    pub body: Option<String>,
    /// The base branch.
    pub base: Option<String>,
    /// Open (`true`) or closed.
    pub open: Option<bool>,
}

impl World {
    /// Opens a pull request.
    ///
    /// # Errors
    /// 404; 422 for an invalid head or base, one that is open already, or no commits between.
    pub fn open_pull(&mut self, repo: RepoId, by: Principal, draft: PullDraft) -> Done<Number> {
        self.refuse_if_archived(repo)?;
        let author = self.actor(by);
        let (home, branch) = self.head_repo(repo, &draft.head)?;
        let invalid = |field| Refusal::invalid("PullRequest", field, "invalid");
        let head = self.tip(home, &branch).map_err(|_| invalid("head"))?;
        let base = self.tip(repo, &draft.base).map_err(|_| invalid("base"))?;
        let owner = self.repo(home)?.owner;
        let same = |pull: &&Pull| {
            pull.open
                && pull.head.repo == Some(home)
                && pull.head.branch == branch
                && pull.base.branch == draft.base
        };
        if self.repo(repo)?.pulls.values().any(|pull| same(&pull)) {
            let text = format!(
                "A pull request already exists for {}:{branch}.",
                self.login(owner)
            );
            return Err(Refusal::invalid("PullRequest", "head", &text));
        }
        if self.pool.contains(&base, &head)? {
            let text = format!("No commits between {} and {branch}", draft.base);
            return Err(Refusal::invalid("PullRequest", "base", &text));
        }
        let id = self.next_id("pull");
        let now = self.now();
        let null_reads_left = self.behaviour.mergeable_null_reads;
        let number = self.take_number(repo)?;
        let pull = Pull {
            id,
            number,
            title: draft.title,
            body: draft.body,
            open: true,
            draft: draft.draft,
            author,
            head: HeadSide {
                repo: Some(home),
                owner,
                branch,
                sha: head,
            },
            base: BaseSide {
                branch: draft.base,
                sha: base,
            },
            labels: Vec::new(),
            requested_reviewers: std::collections::BTreeSet::new(),
            mergeability: Mergeability::Unknown { null_reads_left },
            merge_commit: None,
            merged_by: None,
            auto_merge: None,
            created_at: now,
            updated_at: now,
            closed_at: None,
            merged_at: None,
        };
        self.repo_mut(repo)?.pulls.insert(number, pull);
        self.point_pull_ref(repo, number)?;
        self.tell_pull(repo, number, "opened", author, json!({}));
        Ok(number)
    }

    fn head_repo(&self, repo: RepoId, head: &str) -> Done<(RepoId, String)> {
        let Some((owner, branch)) = head.split_once(':') else {
            return Ok((repo, head.to_owned()));
        };
        let here = self.repo(repo)?;
        if self.login(here.owner).eq_ignore_ascii_case(owner) {
            return Ok((repo, branch.to_owned()));
        }
        self.repos
            .values()
            .find(|fork| {
                fork.fork_of == Some(repo) && self.login(fork.owner).eq_ignore_ascii_case(owner)
            })
            .map(|fork| (fork.id, branch.to_owned()))
            .ok_or_else(|| Refusal::invalid("PullRequest", "head", "invalid"))
    }

    pub(super) fn take_number(&mut self, repo: RepoId) -> Done<Number> {
        let repo = self.repo_mut(repo)?;
        let number = repo.next_number;
        repo.next_number += 1;
        Ok(number)
    }

    /// Changes title, body, base or state; one act can send several deliveries.
    ///
    /// # Errors
    /// 404; 422 for an unknown base, or a head branch that is gone when it is reopened.
    pub fn edit_pull(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        edit: PullEdit,
    ) -> Done<()> {
        self.refuse_if_archived(repo)?;
        let by = self.actor(by);
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        let mut changes = serde_json::Map::new();
        if let Some(title) = edit.title.filter(|title| *title != pull.title) {
            let from = std::mem::replace(&mut pull.title, title);
            changes.insert("title".to_owned(), json!({ "from": from }));
        }
        if let Some(body) = edit.body.filter(|body| pull.body.as_ref() != Some(body)) {
            let from = pull.body.replace(body).unwrap_or_default();
            changes.insert("body".to_owned(), json!({ "from": from }));
        }
        if !changes.is_empty() {
            pull.updated_at = now;
            self.tell_pull(
                repo,
                number,
                "edited",
                by,
                json!({ "changes": Value::Object(changes) }),
            );
        }
        if let Some(base) = edit.base {
            self.retarget(repo, number, &base, by)?;
        }
        match edit.open {
            Some(true) => self.reopen_pull(repo, number, by),
            Some(false) => self.close_pull(repo, number, by),
            None => Ok(()),
        }
    }

    /// Sends a pull request to another base: the head stays, the diff changes, approvals may fall
    /// without a delivery of their own.
    pub(super) fn retarget(
        &mut self,
        repo: RepoId,
        number: Number,
        base: &str,
        by: AccountId,
    ) -> Done<()> {
        if self.pull(repo, number)?.base.branch == base {
            return Ok(());
        }
        let invalid = |_| Refusal::invalid("PullRequest", "base", "invalid");
        let tip = self.tip(repo, base).map_err(invalid)?;
        let now = self.now();
        let null_reads_left = self.behaviour.mergeable_null_reads;
        let pull = self.pull_mut(repo, number)?;
        let new = BaseSide {
            branch: base.to_owned(),
            sha: tip,
        };
        let old = std::mem::replace(&mut pull.base, new);
        pull.mergeability = Mergeability::Unknown { null_reads_left };
        pull.updated_at = now;
        if self.dismisses_stale(repo, base) {
            self.dismiss_approvals(repo, number, by, false)?;
        }
        let changes =
            json!({ "base": { "ref": { "from": old.branch }, "sha": { "from": old.sha } } });
        self.tell_pull(repo, number, "edited", by, json!({ "changes": changes }));
        Ok(())
    }

    pub(super) fn close_pull(&mut self, repo: RepoId, number: Number, by: AccountId) -> Done<()> {
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        if !pull.open {
            return Ok(());
        }
        pull.open = false;
        pull.closed_at = Some(now);
        pull.updated_at = now;
        pull.auto_merge = None;
        self.tell_pull(repo, number, "closed", by, json!({}));
        Ok(())
    }

    fn reopen_pull(&mut self, repo: RepoId, number: Number, by: AccountId) -> Done<()> {
        let now = self.now();
        let null_reads_left = self.behaviour.mergeable_null_reads;
        let pull = self.pull(repo, number)?;
        if pull.open {
            return Ok(());
        }
        let gone = || Refusal::invalid("PullRequest", "state", "state cannot be changed");
        if pull.merged() {
            return Err(gone());
        }
        let home = pull.head.repo.ok_or_else(gone)?;
        let head = self.tip(home, &pull.head.branch).map_err(|_| gone())?;
        let base = self.tip(repo, &pull.base.branch).map_err(|_| gone())?;
        let pull = self.pull_mut(repo, number)?;
        pull.open = true;
        pull.closed_at = None;
        pull.updated_at = now;
        pull.head.sha = head;
        pull.base.sha = base;
        pull.mergeability = Mergeability::Unknown { null_reads_left };
        self.point_pull_ref(repo, number)?;
        self.tell_pull(repo, number, "reopened", by, json!({}));
        Ok(())
    }

    /// Makes it a draft, or ready for review.
    ///
    /// # Errors
    /// 404.
    pub fn set_draft(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        draft: bool,
    ) -> Done<()> {
        let by = self.actor(by);
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        if pull.draft == draft {
            return Ok(());
        }
        pull.draft = draft;
        pull.updated_at = now;
        let action = if draft {
            "converted_to_draft"
        } else {
            "ready_for_review"
        };
        self.tell_pull(repo, number, action, by, json!({}));
        self.settle_auto_merges(repo)
    }

    /// Arms GitHub's own auto-merge.
    ///
    /// # Errors
    /// 404; 422 when the repository does not allow it or the pull request is not open.
    pub fn arm_auto_merge(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        method: MergeMethod,
    ) -> Done<()> {
        let account = self.actor(by);
        if !self.repo(repo)?.merging.auto_merge {
            let text = "Auto merge is not allowed for this repository";
            return Err(Refusal::new(422, text));
        }
        let pull = self.pull_mut(repo, number)?;
        if !pull.open {
            return Err(Refusal::new(422, "Pull request is closed"));
        }
        pull.auto_merge = Some(AutoMerge {
            by: account,
            method,
        });
        self.tell_pull(
            repo,
            number,
            "auto_merge_enabled",
            account,
            json!({ "reason": "" }),
        );
        self.settle_auto_merges(repo)
    }

    /// Disarms it.
    ///
    /// # Errors
    /// 404; 422 when it is not armed.
    pub fn disarm_auto_merge(&mut self, repo: RepoId, number: Number, by: Principal) -> Done<()> {
        let account = self.actor(by);
        if self.pull_mut(repo, number)?.auto_merge.take().is_none() {
            let text = "Can't disable auto-merge for this pull request";
            return Err(Refusal::new(422, text));
        }
        let reason = json!({ "reason": "Auto-merge was disabled manually" });
        self.tell_pull(repo, number, "auto_merge_disabled", account, reason);
        Ok(())
    }

    /// Merges the base's tip into the head branch, and moves reviews along, as GitHub does.
    ///
    /// # Errors
    /// 404; 422 when the head is not the expected one, nothing is new on the base, or they conflict.
    pub fn update_branch(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        expected: Option<&str>,
    ) -> Done<()> {
        let pull = self.pull(repo, number)?;
        let old = pull.head.sha.clone();
        if expected.is_some_and(|expected| expected != old) {
            let text = "expected head sha didn\u{2019}t match current head ref.";
            return Err(Refusal::new(422, text));
        }
        let branch = pull.head.branch.clone();
        let home = pull.head.repo.ok_or_else(Refusal::not_found)?;
        let base_name = pull.base.branch.clone();
        let base = self.tip(repo, &base_name)?;
        if self.pool.contains(&old, &base)? {
            let text = "There are no new commits on the base branch.";
            return Err(Refusal::new(422, text));
        }
        let Merged::Clean(tree) = self.pool.merge(&old, &base)? else {
            return Err(Refusal::new(422, "merge conflict between base and head"));
        };
        let sha = self.write_commit(Commit {
            sha: String::new(),
            tree,
            parents: vec![old.clone(), base],
            author: self.signature(self.actor(by)),
            committer: self.web_flow(),
            message: format!("Merge branch '{base_name}' into {branch}"),
        });
        self.repo_mut(home)?.verified.insert(sha.clone());
        if self.behaviour.update_branch_moves_reviews {
            for review in self.repo_mut(repo)?.reviews.values_mut() {
                if review.pull == number && review.commit_id == old {
                    review.commit_id.clone_from(&sha);
                }
            }
        }
        self.move_branch(home, &branch, Some(&sha), by, false)
    }
}
