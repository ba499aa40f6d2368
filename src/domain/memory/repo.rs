//! How deliveries change what is remembered of a repository and its base branches.
//!
//! A push says where a branch stood before and after, and bears no date. The last pushes are kept:
//! together they are lines, and a branch stands where a line ends. One line has one end, whatever the
//! order in which its pieces arrived. Where the kept pushes have several ends (one between them was
//! lost), the latest to arrive is believed. Where they have none (the branch was forced back to where
//! it had been), nothing is believed: the tip is forgotten and the next pass reads it.
//!
//! Only the default branch and branches that a pass has asked about are followed; agents push many
//! branches, and each would stay in the repository's document for ever.

use super::{BaseMemory, Change, Move, RepoMemory};
use crate::domain::model::{BaseRef, Oid, Repository};

/// How many pushes of one branch are kept: enough for any reordering that was ever seen.
const MOVES_KEPT: usize = 32;

impl RepoMemory {
    /// Applies a change that is about this repository; any other changes nothing.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Repo(seen) => self.see(seen),
            Change::RepoSeen(seen) => {
                if self.repo.is_none() {
                    self.see(seen);
                }
            }
            Change::InstallationActive(installation) => {
                if let Some(repo) = &self.repo
                    && repo.installation == *installation
                {
                    self.active = true;
                }
            }
            Change::Tip {
                base,
                before,
                after,
                policy_untouched,
                ..
            } => self.pushed(
                base,
                Move {
                    before: before.clone(),
                    after: after.clone(),
                    policy_untouched: *policy_untouched,
                },
            ),
            Change::Pull(..)
            | Change::Review(..)
            | Change::Comment(..)
            | Change::CommentGone(..)
            | Change::Run(..)
            | Change::SuiteRerun(..)
            | Change::Status(..)
            | Change::Workflow(..)
            | Change::Pushed(..)
            | Change::Hold(..)
            | Change::Unhold(..)
            | Change::Verify(..)
            | Change::Asked(..)
            | Change::IssueTouched(..)
            | Change::AskedOnIssue(..) => {}
        }
    }

    /// Takes identity and name, and that the App may act here. Short forms leave the default branch
    /// out: then the known one stays.
    fn see(&mut self, seen: &Repository) {
        let default_branch = seen
            .default_branch
            .clone()
            .or_else(|| self.repo.take().and_then(|known| known.default_branch));
        self.repo = Some(Repository {
            default_branch,
            ..seen.clone()
        });
        self.active = true;
    }

    fn pushed(&mut self, base: &BaseRef, push: Move) {
        let is_default = self
            .repo
            .as_ref()
            .is_some_and(|repo| repo.default_branch.as_ref() == Some(base));
        if is_default {
            self.bases.entry(base.clone()).or_default().pushed(push);
        } else if let Some(memory) = self.bases.get_mut(base) {
            memory.pushed(push);
        }
    }
}

impl BaseMemory {
    /// Follows a push. The platform's rules are not changed by one.
    fn pushed(&mut self, push: Move) {
        let repeated = self.moves.contains(&push);
        if !repeated {
            if self.moves.len() >= MOVES_KEPT {
                self.moves.remove(0);
            }
            self.moves.push(push.clone());
        }
        let left = |tip: &Option<Oid>| self.moves.iter().any(|made| made.before == *tip);
        let mut ends = self
            .moves
            .iter()
            .map(|made| &made.after)
            .filter(|tip| !left(tip));
        let tip = match (ends.next(), ends.next()) {
            (None, _) => None,
            (Some(_), _) if repeated => return,
            (Some(end), None) => end.clone(),
            (Some(_), Some(_)) if left(&push.after) => return,
            (Some(_), Some(_)) => push.after,
        };
        self.tip = tip;
        self.carry_policy();
    }

    /// Carries the policy's text to the tip, if a way leads there on which nobody touched the file.
    fn carry_policy(&mut self) {
        let (Some(policy), Some(tip)) = (&mut self.policy, &self.tip) else {
            return;
        };
        let mut at = &policy.tip;
        // Every step uses one kept push, so a circle ends as well.
        for _ in 0..self.moves.len() {
            let next = self
                .moves
                .iter()
                .find(|made| made.policy_untouched && made.before.as_ref() == Some(at));
            let Some(Some(after)) = next.map(|made| &made.after) else {
                return;
            };
            at = after;
            if at == tip {
                policy.tip = tip.clone();
                return;
            }
        }
    }
}
