//! Everything the doctor looks at through GitHub.

use std::sync::Arc;

use super::Inspect;
use crate::domain::doctor::Manifest;
use crate::domain::doctor::facts::{
    Asked, Database, Facts, Installation, Refusal, RepositoryFacts, Settings, Standing,
};
use crate::domain::facts::{PolicyFact, PolicyOrigin};
use crate::domain::model::{RepoName, Repository};
use crate::domain::policy;
use crate::github::{Answer, Reads, Refused};

/// What is known before GitHub is asked.
#[derive(Debug, Clone)]
pub struct Given {
    /// What the App should ask for.
    pub manifest: Manifest,
    /// The settings.
    pub settings: Settings,
    /// Whether the private key can sign.
    pub key: Asked<()>,
    /// The database.
    pub database: Database,
    /// What stands still, as far as the database tells.
    pub standing: Vec<Standing>,
}

/// Which repositories are looked at.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Every one of every installation.
    All,
    /// One.
    One(RepoName),
}

fn asked<T>(answer: Answer<T>) -> Asked<T> {
    match answer {
        Ok(value) => Asked::Known(value),
        Err(refused) => {
            let why = refused.to_string();
            match refused {
                Refused::Unauthorized(_) => Asked::Refused(Refusal::Credentials, why),
                Refused::Forbidden(_) | Refused::Inactive(_) => {
                    Asked::Refused(Refusal::Permission, why)
                }
                Refused::NotFound(_) => Asked::Refused(Refusal::Missing, why),
                Refused::Conflict(_) | Refused::Invalid { .. } => {
                    Asked::Refused(Refusal::Other, why)
                }
                Refused::Limited { .. }
                | Refused::Resting { .. }
                | Refused::Server(_)
                | Refused::NoAnswer(_)
                | Refused::Unreadable(_) => Asked::Failed(why),
            }
        }
    }
}

/// Reads everything; `reads` is `None` where there are no credentials to ask with. Where GitHub does
/// not take the credentials, nothing more is asked: every further answer would be the same one.
pub async fn server(given: Given, reads: Option<Arc<dyn Reads>>, scope: &Scope) -> Facts {
    let mut facts = Facts {
        manifest: given.manifest,
        settings: given.settings,
        key: given.key,
        app: Asked::NotAsked,
        ahead: None,
        hook: Asked::NotAsked,
        deliveries: Asked::NotAsked,
        database: given.database,
        standing: given.standing,
        installations: Asked::NotAsked,
        unlisted: Vec::new(),
        repositories: Vec::new(),
    };
    let Some(reads) = reads else {
        return facts;
    };
    let introduction = reads.introduce().await;
    facts.ahead = introduction.ahead;
    facts.app = asked(introduction.app);
    let Asked::Known(registration) = &facts.app else {
        return facts;
    };
    let inspect = Inspect::new(reads.clone(), registration.app.id);
    facts.hook = asked(reads.hook().await);
    facts.deliveries = asked(reads.deliveries().await.map(|listing| listing.items));
    let granted = reads.granted().await;
    if granted.as_ref().is_ok_and(|listing| !listing.complete) {
        let why = "an installation could not be read".to_owned();
        let unlisted = (String::from("all installations"), Asked::Failed(why));
        facts.unlisted.push(unlisted);
    }
    facts.installations = asked(granted.map(|listing| listing.items));
    let repositories = match scope {
        Scope::One(name) => one(&*reads, name, &mut facts).await,
        Scope::All => all(&*reads, &mut facts).await,
    };
    for repository in repositories {
        facts
            .repositories
            .push(inspect.repository(&repository).await);
    }
    facts
}

async fn one(reads: &dyn Reads, name: &RepoName, facts: &mut Facts) -> Vec<Repository> {
    match reads.repository(name).await {
        Ok(repository) => {
            // The other accounts were not asked about.
            let here = repository.installation;
            if let Asked::Known(installations) = &mut facts.installations {
                installations.retain(|one| one.id == here);
            }
            vec![repository]
        }
        Err(refused) => {
            let what = format!("the repository `{name}`");
            facts.unlisted.push((what, asked(Err(refused))));
            Vec::new()
        }
    }
}

async fn all(reads: &dyn Reads, facts: &mut Facts) -> Vec<Repository> {
    let active: Vec<Installation> = match &facts.installations {
        Asked::Known(all) => all.iter().filter(|one| !one.suspended).cloned().collect(),
        _ => Vec::new(),
    };
    let mut repositories = Vec::new();
    for installation in active {
        let what = format!("the repositories of `{}`", installation.account);
        match reads.repositories(installation.id).await {
            Ok(listing) => {
                if !listing.complete {
                    let why = "the list could not be read whole".to_owned();
                    facts.unlisted.push((what, Asked::Failed(why)));
                }
                repositories.extend(listing.items);
            }
            Err(refused) => facts.unlisted.push((what, asked(Err(refused)))),
        }
    }
    repositories
}

impl Inspect {
    /// A repository with the policy at its default branch's tip.
    async fn repository(&self, repo: &Repository) -> RepositoryFacts {
        let (policy, text) = self.policy(repo).await;
        let reality = match &policy {
            PolicyFact::Valid { policy, .. } => Some(self.reality(repo, policy).await),
            _ => None,
        };
        RepositoryFacts {
            name: repo.name.clone(),
            default_branch: repo.default_branch.clone(),
            policy,
            text,
            reality,
        }
    }

    async fn policy(&self, repo: &Repository) -> (PolicyFact, String) {
        let unread = |why: String| (PolicyFact::Unavailable(why), String::new());
        let Some(branch) = &repo.default_branch else {
            return unread("GitHub names no default branch".to_owned());
        };
        let tip = match self.reads.branch(repo, branch).await {
            Ok(branch) => branch.tip,
            Err(refused) => return unread(refused.to_string()),
        };
        let file = match self.reads.file_at(repo, policy::PATH, &tip).await {
            Ok(Some(file)) => file,
            Ok(None) => return (PolicyFact::Absent, String::new()),
            Err(refused) => return unread(refused.to_string()),
        };
        let digest = file.blob;
        let fact = match policy::read::read(&file.text) {
            Ok(policy) => PolicyFact::Valid {
                policy: Box::new(policy),
                digest,
                origin: PolicyOrigin::Repository,
            },
            Err(problems) => PolicyFact::Invalid {
                problems,
                digest,
                origin: PolicyOrigin::Repository,
            },
        };
        (fact, file.text)
    }
}
