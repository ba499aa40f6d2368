//! What lies between base and head: the three-dot side of a pull request, and how it stands.

use std::sync::Arc;

use super::{Done, MergeMethod, Mergeability, Principal, Pull, Repo, Sha, WEB_FLOW, World};
use crate::simulator::git::{Commit, FileDiff};

impl World {
    /// The commit a pull request's diff is made against. While it is open the base *branch* counts,
    /// whatever the stale `base.sha` says; afterwards the base it had.
    ///
    /// # Errors
    /// As git says.
    pub fn merge_base_of(&self, repo: &Repo, pull: &Pull) -> Done<Option<Sha>> {
        let tip = repo.branches.get(&pull.base.branch).filter(|_| pull.open);
        let base = tip.unwrap_or(&pull.base.sha);
        Ok(self
            .pool
            .merge_bases(base, &pull.head.sha)?
            .into_iter()
            .next())
    }

    /// The changed files of a pull request.
    ///
    /// # Errors
    /// As git says.
    pub fn files_of(&self, repo: &Repo, pull: &Pull) -> Done<Arc<[FileDiff]>> {
        let head = self.pool.commit(&pull.head.sha)?;
        let base = match self.merge_base_of(repo, pull)? {
            Some(base) => self.pool.commit(&base)?.tree.clone(),
            None => self.pool.write_tree(&super::super::git::Files::new())?,
        };
        Ok(self.pool.diff(&base, &head.tree)?)
    }

    /// The commits of a pull request, oldest first.
    ///
    /// # Errors
    /// As git says.
    pub fn commits_of(&self, repo: &Repo, pull: &Pull) -> Done<Vec<Arc<Commit>>> {
        let tip = repo.branches.get(&pull.base.branch).filter(|_| pull.open);
        let base = tip.unwrap_or(&pull.base.sha);
        Ok(self.pool.ahead(base, &pull.head.sha)?)
    }

    /// GitHub's `mergeable_state`, for somebody who passes nothing by.
    pub fn mergeable_state(&self, repo: &Repo, pull: &Pull) -> &'static str {
        match pull.mergeability {
            _ if !pull.open => "unknown",
            Mergeability::Unknown { .. } => "unknown",
            Mergeability::Conflicting => "dirty",
            Mergeability::Clean(_) if pull.draft => "draft",
            Mergeability::Clean(_) => self.gated_state(repo, pull),
        }
    }

    fn gated_state(&self, repo: &Repo, pull: &Pull) -> &'static str {
        let nobody = Principal::Account(WEB_FLOW);
        let allowed = repo.merging.allowed.first().copied();
        let method = allowed.unwrap_or(MergeMethod::Merge);
        let Ok(unmet) = self.unmet(repo.id, pull.number, nobody, method) else {
            return "unknown";
        };
        let green = |word: Option<&str>| matches!(word, Some("success" | "neutral" | "skipped"));
        let runs = repo.latest_runs(&pull.head.sha);
        let statuses = repo.latest_statuses(&pull.head.sha);
        if unmet.iter().any(|unmet| !unmet.behind) {
            "blocked"
        } else if !unmet.is_empty() {
            "behind"
        } else if runs.iter().any(|run| !green(run.conclusion.as_deref()))
            || statuses.iter().any(|status| status.state != "success")
        {
            "unstable"
        } else {
            "clean"
        }
    }
}
