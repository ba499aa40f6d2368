//! Merging: what GitHub refuses, in its order and words, and what lands.

use serde_json::json;

use super::{
    AccountId, Done, MergeMethod, Mergeability, Mislanding, Number, Permission, Principal, Refusal,
    RepoId, Sha, Unmet, World,
};
use crate::simulator::git::{Commit, Merged};

/// What a merge call says.
#[derive(Debug, Clone, Default)]
pub struct MergeRequest {
    /// The head it is meant for; a call without one merges whatever is there.
    pub sha: Option<String>,
    /// How; a merge commit when not said.
    pub method: Option<MergeMethod>,
    /// The commit's first line.
    pub title: Option<String>,
    /// The commit's text below it.
    pub message: Option<String>,
}

impl World {
    /// Counts one single read of a pull request and, once enough were made, computes whether it
    /// merges: what `GET /pulls/{number}` sets off on GitHub.
    ///
    /// # Errors
    /// 404.
    pub fn read_pull(&mut self, repo: RepoId, number: Number) -> Done<()> {
        let pull = self.pull_mut(repo, number)?;
        if !pull.open {
            return Ok(());
        }
        match &mut pull.mergeability {
            Mergeability::Unknown { null_reads_left } if *null_reads_left > 0 => {
                *null_reads_left -= 1;
                Ok(())
            }
            Mergeability::Unknown { .. } => self.compute_mergeability(repo, number),
            Mergeability::Clean(_) | Mergeability::Conflicting => Ok(()),
        }
    }

    /// Computes at once whether it merges, with a real trial merge commit.
    ///
    /// # Errors
    /// 404.
    pub fn compute_mergeability(&mut self, repo: RepoId, number: Number) -> Done<()> {
        let pull = self.pull(repo, number)?;
        let base = self.tip(repo, &pull.base.branch)?;
        let head = pull.head.sha.clone();
        let known = match self.pool.merge(&base, &head)? {
            Merged::Conflict => Mergeability::Conflicting,
            Merged::Clean(tree) => Mergeability::Clean(self.write_commit(Commit {
                sha: String::new(),
                tree,
                message: format!("Merge {head} into {base}"),
                parents: vec![base, head],
                author: self.web_flow(),
                committer: self.web_flow(),
            })),
        };
        let repo = self.repo_mut(repo)?;
        if let Mergeability::Clean(trial) = &known {
            repo.git.set(&format!("refs/pull/{number}/merge"), trial)?;
        }
        if let Some(pull) = repo.pulls.get_mut(&number) {
            pull.mergeability = known;
        }
        Ok(())
    }

    /// Merges a pull request.
    ///
    /// # Errors
    /// 404; 403 without push access or in an archived repository; 409 when the head is not `sha`;
    /// 405, told apart by text alone: the base was modified, the method is not allowed, a draft,
    /// conflicts, closed or merged already, checks, reviews, or a merge queue.
    pub fn merge(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        request: &MergeRequest,
    ) -> Done<Sha> {
        if let Some(hook) = self.merge_faults.before_next.take() {
            hook(self);
        }
        let method = request.method.unwrap_or(MergeMethod::Merge);
        self.refuse_merge(repo, number, by, request, method)?;
        self.land(repo, number, self.actor(by), request, method)
    }

    fn refuse_merge(
        &mut self,
        repo: RepoId,
        number: Number,
        by: Principal,
        request: &MergeRequest,
        method: MergeMethod,
    ) -> Done<()> {
        let refuse = |text: &str| Err(Refusal::new(405, text));
        self.refuse_if_archived(repo)?;
        let pull = self.pull(repo, number)?;
        if self.permission_of(repo, self.actor(by)) < Permission::Write {
            return Err(Refusal::new(403, "Must have push access to repository"));
        }
        if !pull.open {
            return refuse("Pull Request is not mergeable");
        }
        if request
            .sha
            .as_ref()
            .is_some_and(|sha| *sha != pull.head.sha)
        {
            let text = "Head branch was modified. Review and try the merge again.";
            return Err(Refusal::new(409, text));
        }
        if self.merge_faults.base_modified > 0 {
            self.merge_faults.base_modified -= 1;
            return refuse("Base branch was modified. Review and try the merge again.");
        }
        if !self.repo(repo)?.merging.allowed.contains(&method) {
            return refuse(match method {
                MergeMethod::Merge => "Merge commits are not allowed on this repository.",
                MergeMethod::Squash => "Squash merges are not allowed on this repository.",
                MergeMethod::Rebase => "Rebase merges are not allowed on this repository.",
            });
        }
        let pull = self.pull(repo, number)?;
        if pull.draft {
            return refuse("Pull Request is still a draft");
        }
        let (base, head) = (self.tip(repo, &pull.base.branch)?, pull.head.sha.clone());
        if self.pool.merge(&base, &head)? == Merged::Conflict {
            return refuse("Pull Request is not mergeable");
        }
        match Unmet::refusal(&self.unmet(repo, number, by, method)?) {
            Some(told) => Err(Refusal::new(405, told)),
            None => Ok(()),
        }
    }

    fn land(
        &mut self,
        repo: RepoId,
        number: Number,
        by: AccountId,
        request: &MergeRequest,
        method: MergeMethod,
    ) -> Done<Sha> {
        let pull = self.pull(repo, number)?.clone();
        let base = self.tip(repo, &pull.base.branch)?;
        let Merged::Clean(tree) = self.pool.merge(&base, &pull.head.sha)? else {
            return Err(Refusal::new(405, "Pull Request is not mergeable"));
        };
        let mut commit = Commit {
            sha: String::new(),
            tree,
            parents: vec![base.clone()],
            author: self.signature(by),
            committer: self.web_flow(),
            message: String::new(),
        };
        let title = |standard: String| request.title.clone().unwrap_or(standard);
        match method {
            MergeMethod::Merge => {
                commit.parents.push(pull.head.sha.clone());
                let from = format!("{}/{}", self.login(pull.head.owner), pull.head.branch);
                let first = title(format!("Merge pull request #{number} from {from}"));
                let rest = request
                    .message
                    .clone()
                    .unwrap_or_else(|| pull.title.clone());
                commit.message = format!("{first}\n\n{rest}");
            }
            MergeMethod::Squash => {
                commit.author = self.signature(pull.author);
                let first = title(format!("{} (#{number})", pull.title));
                let rest = request.message.clone().or(pull.body).unwrap_or_default();
                commit.message = format!("{first}\n\n{rest}");
            }
            MergeMethod::Rebase => {
                let tip = self.replay(&base, &pull.head.sha)?;
                return self.finish_landing(repo, number, &tip, by);
            }
        }
        match self.merge_faults.mislanding.take() {
            Some(Mislanding::WrongTree) => commit.tree = self.known_commit(&base)?.tree.clone(),
            Some(Mislanding::WrongParents) => commit.parents.truncate(1),
            None => {}
        }
        let sha = self.write_commit(commit);
        self.repo_mut(repo)?.verified.insert(sha.clone());
        self.finish_landing(repo, number, &sha, by)
    }

    /// The commits of a pull request again, one by one, on the base's tip. Merge commits are left out.
    fn replay(&self, base: &str, head: &str) -> Done<Sha> {
        let mut tip = self.known_commit(base)?;
        for commit in self.pool.ahead(base, head)? {
            let [parent] = commit.parents.as_slice() else {
                continue;
            };
            let before = self.known_commit(parent)?;
            let replayed = self
                .pool
                .merge_trees(&before.tree, &tip.tree, &commit.tree)?;
            let Merged::Clean(tree) = replayed else {
                return Err(Refusal::new(405, "This branch can't be rebased"));
            };
            tip = self.pool.write_commit(Commit {
                sha: String::new(),
                tree,
                parents: vec![tip.sha.clone()],
                author: commit.author.clone(),
                committer: self.web_flow(),
                message: commit.message.clone(),
            });
        }
        Ok(tip.sha.clone())
    }

    /// The pull request is marked merged before the branch moves, so that the push's own look for pull
    /// requests that the base now contains finds this one done.
    fn finish_landing(
        &mut self,
        repo: RepoId,
        number: Number,
        sha: &str,
        by: AccountId,
    ) -> Done<Sha> {
        self.mark_merged(repo, number, sha, by)?;
        let pull = self.pull(repo, number)?.clone();
        let principal = Principal::Account(by);
        self.move_branch(repo, &pull.base.branch, Some(sha), principal, false)?;
        if self.repo(repo)?.merging.delete_branch && pull.head.repo == Some(repo) {
            self.move_branch(repo, &pull.head.branch, None, principal, false)?;
        }
        Ok(sha.to_owned())
    }

    pub(super) fn mark_merged(
        &mut self,
        repo: RepoId,
        number: Number,
        sha: &str,
        by: AccountId,
    ) -> Done<()> {
        let now = self.now();
        let pull = self.pull_mut(repo, number)?;
        pull.open = false;
        pull.closed_at = Some(now);
        pull.merged_at = Some(now);
        pull.updated_at = now;
        pull.merged_by = Some(by);
        pull.merge_commit = Some(sha.to_owned());
        pull.auto_merge = None;
        let (body, base) = (pull.body.clone(), pull.base.branch.clone());
        self.tell_pull(repo, number, "closed", by, json!({}));
        if base == self.repo(repo)?.default_branch {
            for issue in closing_references(&body.unwrap_or_default()) {
                self.close_issue_if_open(repo, issue, by)?;
            }
        }
        Ok(())
    }

    /// Merges what has auto-merge armed and every platform gate met. Called after each act that can
    /// meet one.
    pub(super) fn settle_auto_merges(&mut self, repo: RepoId) -> Done<()> {
        let armed: Vec<(Number, AccountId, MergeMethod)> = self
            .repo(repo)?
            .pulls
            .values()
            .filter(|pull| pull.open)
            .filter_map(|pull| Some((pull.number, pull.auto_merge.as_ref()?)))
            .map(|(number, armed)| (number, armed.by, armed.method))
            .collect();
        for (number, by, method) in armed {
            let request = MergeRequest {
                method: Some(method),
                ..MergeRequest::default()
            };
            let principal = Principal::Account(by);
            let faults = std::mem::take(&mut self.merge_faults);
            let refused = self.refuse_merge(repo, number, principal, &request, method);
            self.merge_faults = faults;
            if refused.is_ok() {
                self.land(repo, number, by, &request, method)?;
            }
        }
        Ok(())
    }
}

/// Issues a description closes: `closes #1`, `Fixes: #2`, `resolved #3`.
fn closing_references(body: &str) -> Vec<Number> {
    const VERBS: [&str; 9] = [
        "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
    ];
    let words: Vec<&str> = body.split_whitespace().collect();
    words
        .windows(2)
        .filter_map(|pair| {
            let [verb, reference] = pair else {
                return None;
            };
            let verb = verb.trim_end_matches(':').to_lowercase();
            let digits = reference.strip_prefix('#')?;
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            VERBS
                .contains(&verb.as_str())
                .then(|| digits[..end].parse().ok())?
        })
        .collect()
}
