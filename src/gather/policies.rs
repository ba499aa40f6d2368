//! Which policy applies: the repository's own, or the organisation's default where there surely is none.
//!
//! A repository's own file always wins, also one that does not validate or could not be read: only its
//! confirmed absence lets the default speak, and the confirmed absence of both is "no policy". The
//! default is the same path in `OWNER/.github`, at the tip of its default branch, and only where the App
//! may act in that repository, through the very installation that it acts through in the asking one: a
//! stale name can lead to another account's repository, and an installation belongs to one account.
//!
//! What is read of `OWNER/.github` is remembered in its own document, where its pushes keep it up to
//! date, and is read by its own right: GitHub's word that nobody may act there says nothing about the
//! repository that asked.
//!
//! Known: which branch is the default one is taken from memory. A change of it whose delivery was lost
//! is found by the next sweep.

use std::sync::{Arc, PoisonError};

use super::{Anew, Gather, PARSED_POLICIES, Parsed, Trouble};
use crate::domain::facts::{Fetched, PolicyFact, PolicyOrigin};
use crate::domain::memory::{BaseMemory, PolicyText, RepoMemory};
use crate::domain::model::{BaseRef, Oid, PolicyDigest, RepoName, Repository};
use crate::domain::policy;
use crate::store::{Stored, Versioned};

/// Policies that a pass may need, each from the branch that it stands on.
impl Gather {
    /// The policy at a tip, else the organisation's default.
    pub(super) async fn policy_for(
        &self,
        repo: &Repository,
        known: &mut BaseMemory,
        tip: &Oid,
        trouble: &mut Trouble,
        anew: Anew,
    ) -> Stored<PolicyFact> {
        let fresh = anew != Anew::Nothing;
        match self.policy_at(repo, known, tip, trouble, fresh).await {
            PolicyFact::Absent => self.default_of(repo, trouble, fresh).await,
            own => Ok(own),
        }
    }

    async fn policy_at(
        &self,
        repo: &Repository,
        known: &mut BaseMemory,
        tip: &Oid,
        trouble: &mut Trouble,
        fresh: bool,
    ) -> PolicyFact {
        // A text at a commit never changes. That there is none was one 404, and a 404 may be a passing
        // fault: it is asked again whenever everything is.
        let still = |text: &&PolicyText| text.tip == *tip && (text.file.is_some() || !fresh);
        let text = match known.policy.as_ref().filter(still) {
            Some(text) => text.clone(),
            None => match trouble.fact(self.reads.file_at(repo, policy::PATH, tip).await) {
                Fetched::Known(file) => PolicyText {
                    tip: tip.clone(),
                    file: file.map(|file| (file.blob, file.text)),
                },
                Fetched::Unavailable(why) => return PolicyFact::Unavailable(why),
                Fetched::NotAsked => return PolicyFact::Unavailable("it was not asked for".into()),
            },
        };
        let fact = self.policy_of(&text, PolicyOrigin::Repository);
        known.policy = Some(text);
        fact
    }

    /// The organisation's default, for a repository that has no policy.
    pub(super) async fn default_of(
        &self,
        repo: &Repository,
        trouble: &mut Trouble,
        fresh: bool,
    ) -> Stored<PolicyFact> {
        let Some((defaults, mut memory)) = self.defaults(repo).await? else {
            return Ok(PolicyFact::Absent);
        };
        let before = memory.value.clone();
        let mut own_trouble = Trouble::default();
        let read = self
            .default_in(&defaults, &mut memory.value, &mut own_trouble, fresh)
            .await;
        trouble.wait_as(&own_trouble);
        if memory.value != before {
            self.store.remember_repo(defaults.id, &memory).await?;
        }
        Ok(read.unwrap_or_else(|why| {
            PolicyFact::Unavailable(format!(
                "this repository has none, and the organisation's default in {} is not known: {why}",
                defaults.name
            ))
        }))
    }

    async fn default_in(
        &self,
        defaults: &Repository,
        memory: &mut RepoMemory,
        trouble: &mut Trouble,
        fresh: bool,
    ) -> Result<PolicyFact, String> {
        let branch = match &defaults.default_branch {
            Some(branch) => branch.clone(),
            None => self.default_branch(defaults, memory, trouble).await?,
        };
        let known = memory.bases.entry(branch.clone()).or_default();
        let tip = match &known.tip {
            Some(tip) if !fresh => tip.clone(),
            _ => {
                let read = trouble.fact(self.reads.branch(defaults, &branch).await);
                let tip = read.require().map_err(str::to_owned)?.tip.clone();
                known.tip = Some(tip.clone());
                tip
            }
        };
        let own = self.policy_at(defaults, known, &tip, trouble, fresh).await;
        let from = PolicyOrigin::Organisation {
            repo: defaults.name.clone(),
            tip,
        };
        match own {
            PolicyFact::Unavailable(why) => Err(why),
            own => Ok(own.placed(from)),
        }
    }

    /// Short forms of a repository leave its default branch out.
    async fn default_branch(
        &self,
        defaults: &Repository,
        memory: &mut RepoMemory,
        trouble: &mut Trouble,
    ) -> Result<BaseRef, String> {
        let read = trouble.fact(self.reads.repository(&defaults.name).await);
        let read = read.require().map_err(str::to_owned)?;
        if read.id != defaults.id {
            return Err(format!("{} is another repository by now", defaults.name));
        }
        let branch = read.default_branch.clone();
        memory.repo = Some(read.clone());
        branch.ok_or_else(|| "GitHub names no default branch".to_owned())
    }

    /// The default as it is remembered; nothing is read.
    pub(super) async fn remembered_default(&self, repo: &Repository) -> Stored<PolicyFact> {
        let Some((defaults, memory)) = self.defaults(repo).await? else {
            return Ok(PolicyFact::Absent);
        };
        let branch = defaults.default_branch.as_ref();
        let known = branch.and_then(|branch| memory.value.bases.get(branch));
        let text = known.and_then(|known| known.policy.as_ref());
        Ok(text.map_or(PolicyFact::Absent, |text| {
            let origin = PolicyOrigin::Organisation {
                repo: defaults.name.clone(),
                tip: text.tip.clone(),
            };
            self.policy_of(text, origin)
        }))
    }

    /// The policy for pull requests into a base as it is remembered, the organisation's default included;
    /// nothing is read. `None` where nobody has looked yet.
    ///
    /// # Errors
    /// The store's.
    pub async fn remembered_policy(
        &self,
        memory: &RepoMemory,
        base: &BaseRef,
    ) -> Stored<Option<PolicyFact>> {
        let known = memory.bases.get(base);
        let own = known.and_then(|known| known.policy.as_ref());
        let Some((repo, own)) = memory.repo.as_ref().zip(own) else {
            return Ok(None);
        };
        Ok(Some(match self.policy_of(own, PolicyOrigin::Repository) {
            PolicyFact::Absent => self.remembered_default(repo).await?,
            own => own,
        }))
    }

    /// The account's repository of defaults, where the App may act in it; never for itself.
    async fn defaults(
        &self,
        repo: &Repository,
    ) -> Stored<Option<(Repository, Versioned<RepoMemory>)>> {
        if PolicyOrigin::holds_defaults(&repo.name) {
            return Ok(None);
        }
        let name = format!("{}/{}", repo.name.owner(), PolicyOrigin::DEFAULTS);
        let Ok(name) = RepoName::parse(&name) else {
            return Ok(None);
        };
        let Some(id) = self.store.repo_named(&name).await? else {
            return Ok(None);
        };
        let memory = self.store.repo(id).await?;
        let usable = |known: &Repository| known.installation == repo.installation;
        let known = memory.value.repo.clone().filter(usable);
        Ok(known
            .filter(|_| memory.value.active)
            .map(|known| (known, memory)))
    }

    pub(super) fn policy_of(&self, text: &PolicyText, origin: PolicyOrigin) -> PolicyFact {
        match &text.file {
            Some((digest, text)) => self.meaning_of(digest, text, origin),
            None => PolicyFact::Absent,
        }
    }

    /// What a policy's text means, or what is wrong with it.
    pub(super) fn meaning_of(
        &self,
        digest: &PolicyDigest,
        text: &str,
        origin: PolicyOrigin,
    ) -> PolicyFact {
        let digest = digest.clone();
        match self.parse(&digest, text).as_ref() {
            Ok(policy) => PolicyFact::Valid {
                policy: Box::new(policy.clone()),
                digest,
                origin,
            },
            Err(problems) => PolicyFact::Invalid {
                problems: problems.clone(),
                digest,
                origin,
            },
        }
    }

    /// Parses a policy once per blob. The cache is emptied when it is full: policies are few.
    fn parse(&self, digest: &PolicyDigest, text: &str) -> Parsed {
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = parsed.get(digest) {
            return known.clone();
        }
        if parsed.len() >= PARSED_POLICIES {
            parsed.clear();
        }
        let read = Arc::new(policy::read::read(text));
        parsed.insert(digest.clone(), read.clone());
        read
    }
}
