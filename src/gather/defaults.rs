//! The policy of a repository as a whole, for what belongs to no pull request.

use super::{Anew, Gather, Trouble};
use crate::domain::facts::PolicyFact;
use crate::domain::model::{BaseRef, Oid, RepoId, Repository};
use crate::github::Answer;
use crate::store::Stored;

impl Gather {
    /// The policy at the tip of a repository's default branch; `None` where the App may not act. With
    /// `fresh`, the tip is read, else the remembered one is believed.
    ///
    /// # Errors
    /// The store's. GitHub's refusals make the policy unavailable.
    pub async fn policy_of_default(
        &self,
        repo: RepoId,
        fresh: bool,
    ) -> Stored<Option<(Repository, PolicyFact)>> {
        let mut memory = self.store.repo(repo).await?;
        let known = memory.value.repo.clone();
        let Some(known) = known.filter(|_| memory.value.active) else {
            return Ok(None);
        };
        let (repository, branch) = match self.with_default_branch(known.clone()).await {
            Ok(found) => found,
            Err(refused) => {
                let why = PolicyFact::Unavailable(refused.to_string());
                return Ok(Some((known, why)));
            }
        };
        let before = memory.value.clone();
        let base = memory.value.bases.entry(branch.clone()).or_default();
        let tip = match base.tip.clone().filter(|_| !fresh) {
            Some(tip) => Ok(tip),
            None => self.tip(&repository, &branch).await,
        };
        let policy = match tip {
            Ok(tip) => {
                let mut trouble = Trouble::default();
                let anew = match fresh {
                    true => Anew::Tip,
                    false => Anew::Nothing,
                };
                let policy = self.policy_for(&repository, base, &tip, &mut trouble, anew);
                let policy = policy.await?;
                base.tip = Some(tip);
                policy
            }
            Err(refused) => PolicyFact::Unavailable(refused.to_string()),
        };
        memory.value.repo = Some(repository.clone());
        if memory.value != before {
            self.store.remember_repo(repo, &memory).await?;
        }
        Ok(Some((repository, policy)))
    }

    async fn tip(&self, repo: &Repository, branch: &BaseRef) -> Answer<Oid> {
        Ok(self.reads.branch(repo, branch).await?.tip)
    }

    /// The repository with its default branch, which short forms leave out.
    async fn with_default_branch(&self, known: Repository) -> Answer<(Repository, BaseRef)> {
        if let Some(branch) = known.default_branch.clone() {
            return Ok((known, branch));
        }
        let read = self.reads.repository(&known.name).await?;
        let branch = read.default_branch.clone().ok_or_else(|| {
            crate::github::Refused::Unreadable("the default branch is not told".into())
        })?;
        Ok((read, branch))
    }
}
