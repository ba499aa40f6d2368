//! Deleting the head branch of what was merged, where the policy asks for it.
//!
//! GitHub deletes a ref without any condition, so everything that speaks against it is read first and the tip
//! last, right before the call: the pull request is merged at this head, its branch lies in this repository,
//! is not the default branch and not protected, no other open pull request comes from it or goes into it
//! (deleting a base closes what is stacked on it, for good), and it still points at the merged head.
//!
//! Known race: a push (or a new pull request) that lands between the last look and GitHub's deletion goes
//! unseen. The time is one call's; the commits of such a push stay in whoever's checkout pushed them, and
//! GitHub offers no way to close it.
//!
//! It is tried once. What keeps a branch is told once, in the ledger and with how the pull request ended, and
//! not tried again: people may want the branch. After an answer that was lost, the branch is read: gone is
//! gone. A landing that was not what was judged leaves its branch for those who look into it.

use serde_json::{Value, json};

use super::telling::for_good;
use super::{Execute, ExecuteError, Executed};
use crate::domain::facts::PullState;
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Concluded, PullRecord};
use crate::domain::model::BaseRef;
use crate::domain::plan::BranchOrder;
use crate::gather::Kept;
use crate::github::Refused;
use crate::store::{Begun, Ended, Lease};

/// How a branch stands before it is deleted.
enum Stand {
    /// Nothing speaks against it.
    MayGo(BaseRef),
    /// It is gone.
    Gone,
    /// It stays; why.
    Stays(String),
}

impl Execute {
    pub(super) async fn delete_branch(
        &self,
        lease: &Lease,
        kept: &Kept,
        record: &mut PullRecord,
        order: BranchOrder,
    ) -> Result<Executed, ExecuteError> {
        let key = format!(
            "delete_branch:{}:{}:{}",
            kept.repo.id, kept.number, order.head
        );
        let now = self.clock.now();
        let intent = json!({ "effect": "delete_branch", "branch": order.branch });
        let begun = self.store.begin(lease, &key, intent, None, now).await?;
        let came = match begun {
            // It ended, and the process did before the record was written.
            Begun::Done(came) => came,
            Begun::First | Begun::Failed(_) | Begun::Unfinished(..) => {
                let tried = self.tried(kept, &order).await;
                let came = match tried {
                    Ok(came) => came,
                    Err(refused) => {
                        if !refused.outcome_unknown() {
                            let why = json!({ "refused": refused.to_string() });
                            self.store.end(&key, Ended::Failed(why), None, now).await?;
                        }
                        return Err(refused.into());
                    }
                };
                let draft = Draft {
                    at: now,
                    kind: Kind::Outcome,
                    repo: kept.repo.id,
                    number: Some(kept.number),
                    head: Some(order.head.clone()),
                    body: came.clone(),
                };
                let ended = Ended::Done(came.clone());
                self.store.end(&key, ended, Some(draft), now).await?;
                came
            }
        };
        record.branch_due = None;
        if let (Some(why), Some(Concluded::Landed(how))) =
            (came["branch_left"].as_str(), &mut record.concluded)
        {
            how.push_str(&format!("; its branch `{}` was left: {why}", order.branch));
        }
        let now = self.clock.now();
        self.store
            .save_record(lease, record, Vec::new(), now)
            .await?;
        Ok(Executed::Settled)
    }

    /// Deletes it unless something speaks against it; answers what came of it.
    async fn tried(&self, kept: &Kept, order: &BranchOrder) -> Result<Value, Refused> {
        let left = |why: String| json!({ "branch": order.branch, "branch_left": why });
        let gone = json!({ "branch": order.branch, "branch_gone": true });
        let branch = match self.stand(kept, order).await? {
            Stand::MayGo(branch) => branch,
            Stand::Gone => return Ok(gone),
            Stand::Stays(why) => return Ok(left(why)),
        };
        match self.writes.delete_branch(&kept.repo, &branch).await {
            Ok(()) => Ok(gone),
            Err(refused) if for_good(&refused) => {
                // GitHub says 422 to a branch that somebody deleted meanwhile.
                match self.reads.branch(&kept.repo, &branch).await {
                    Err(Refused::NotFound(_)) => Ok(gone),
                    _ => Ok(left(refused.to_string())),
                }
            }
            Err(refused) => Err(refused),
        }
    }

    async fn stand(&self, kept: &Kept, order: &BranchOrder) -> Result<Stand, Refused> {
        let stays = |why: &str| Ok(Stand::Stays(why.to_owned()));
        let (repo, name) = (&kept.repo, order.branch.as_str());
        let Ok(branch) = BaseRef::parse(name) else {
            return stays("its name cannot be understood");
        };
        match &repo.default_branch {
            None => return stays("which branch is the default one is not known"),
            Some(default) if *default == branch => return stays("it is the default branch"),
            Some(_) => {}
        }
        let pull = self.reads.pull(repo, kept.number).await?;
        if !matches!(pull.state, PullState::Merged { .. }) {
            return stays("GitHub does not show the pull request as merged");
        }
        if pull.head != order.head || pull.head_ref != name || pull.head_repo != Some(repo.id) {
            return stays("the pull request's head is not the merged one any more");
        }
        let open = self.reads.open_pulls(repo).await?;
        let home = Some(repo.id);
        let user = open.items.iter().find(|one| {
            let comes_from_it = one.head_ref == name && one.head_repo == home;
            one.number != kept.number && (comes_from_it || one.base == branch)
        });
        if let Some(user) = user {
            return Ok(Stand::Stays(format!("#{} still needs it", user.number)));
        }
        if !open.complete {
            return stays("whether another pull request needs it could not be read");
        }
        // Last, so that as little as can be happens between the look and the deletion.
        let found = match self.reads.branch(repo, &branch).await {
            Ok(found) => found,
            Err(Refused::NotFound(_)) => return Ok(Stand::Gone),
            Err(refused) => return Err(refused),
        };
        if found.protected {
            return stays("it is protected");
        }
        if found.tip != order.head.oid() {
            return Ok(Stand::Stays(format!(
                "it moved on to {} after the merge",
                found.tip.short()
            )));
        }
        Ok(Stand::MayGo(branch))
    }
}
