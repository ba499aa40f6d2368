//! Reading what a repository, and a server's setup, is really like: for `policy check --repo` and
//! `doctor`.
//!
//! Nothing is decided here and nothing is written: facts go to [`lint`] and to
//! [`doctor`](crate::domain::doctor), which judge. Only what a policy names is asked for. What cannot be
//! read becomes a fact of its own with GitHub's reason; one refusal never hides the rest.
//!
//! It costs two reads for each commit looked at (three where a policy pins a workflow), two for each
//! base branch, one for each name. It is a look at one moment: a push between two reads can make a
//! report seem missing, and the next look shows it.

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::join_all;

use crate::domain::facts::{Fetched, Listing, PlatformRule, WorkflowRun};
use crate::domain::model::{ActorKind, AppId, BaseRef, HeadSha, Repository};
use crate::domain::policy::lint::{self, Head, Report};
use crate::domain::policy::{Identity, Party, Policy};
use crate::github::{Answer, Reads, Refused};

pub use server::{Given, Scope, server};

/// How many recent pull requests are looked at.
const RECENT_PULLS: usize = 10;

/// Reads repositories.
#[derive(Clone)]
pub struct Inspect {
    reads: Arc<dyn Reads>,
    own_app: AppId,
}

fn fetched<T>(answer: Answer<T>) -> Fetched<T> {
    match answer {
        Ok(value) => Fetched::Known(value),
        Err(refused) => Fetched::Unavailable(refused.to_string()),
    }
}

impl Inspect {
    /// An inspector that asks GitHub as `own_app`.
    pub fn new(reads: Arc<dyn Reads>, own_app: AppId) -> Self {
        Self { reads, own_app }
    }

    /// What a repository is really like, as far as a policy names it.
    pub async fn reality(&self, repo: &Repository, policy: &Policy) -> lint::Facts {
        let recent = self.reads.recent_pulls(repo, RECENT_PULLS).await;
        let pulls_unread = match &recent {
            Ok(listing) if listing.complete => None,
            Ok(_) => Some("one of them could not be read".to_owned()),
            Err(refused) => Some(refused.to_string()),
        };
        let pulls = recent.map(|listing| listing.items).unwrap_or_default();
        let seen = pulls.iter().map(|pull| pull.base.clone());
        let (bases, tips) = self.bases(repo, policy, seen.collect()).await;
        let places = tips
            .into_iter()
            .map(|(base, tip)| (format!("the tip of `{base}`"), false, tip));
        let heads = pulls
            .iter()
            .map(|pull| (format!("#{}", pull.number), true, pull.head.clone()));
        let checks = policy.gates.checks.as_ref();
        let files =
            checks.is_some_and(|checks| checks.required.iter().any(|c| c.workflow.is_some()));
        let mut looked = Vec::new();
        for (place, of_pull, head) in places.chain(heads) {
            looked.push(self.head(repo, place, of_pull, &head, files).await);
        }
        lint::Facts {
            own_app: self.own_app,
            owner: repo.name.owner().to_owned(),
            default_branch: repo.default_branch.clone(),
            heads: looked,
            pulls_unread,
            apps: self.apps(repo, policy).await,
            accounts: self.accounts(repo, policy).await,
            teams: self.teams(repo, policy).await,
            bases,
            methods: fetched(self.reads.methods(repo).await),
        }
    }

    /// The rules on every branch that the policy names or, by a pattern, allows among those seen; and
    /// the tips of those that are there. The default branch's tip is looked at in any case.
    async fn bases(
        &self,
        repo: &Repository,
        policy: &Policy,
        seen: Vec<BaseRef>,
    ) -> (Bases, Vec<(BaseRef, HeadSha)>) {
        let patterns = policy.merge.base_branches.patterns().iter();
        let named = patterns
            .filter(|pattern| lint::is_name(pattern))
            .filter_map(|name| BaseRef::parse(name).ok());
        let mut names: Vec<BaseRef> = Vec::new();
        let all = repo.default_branch.iter().cloned().chain(named).chain(seen);
        for name in all {
            let wanted = policy.merge.allows(&name) || repo.default_branch.as_ref() == Some(&name);
            if wanted && !names.contains(&name) {
                names.push(name);
            }
        }
        let (mut bases, mut tips) = (BTreeMap::new(), Vec::new());
        for name in names {
            let branch = match self.reads.branch(repo, &name).await {
                Ok(branch) => Ok(Some(branch)),
                Err(Refused::NotFound(_)) => Ok(None),
                Err(refused) => Err(refused),
            };
            let read = match branch {
                Ok(Some(branch)) => {
                    tips.push((name.clone(), HeadSha::from(branch.tip)));
                    // Rulesets and classic protection are two systems, and a branch can have both.
                    let rules = self.reads.rules(repo, &name).await;
                    fetched(rules.map(|rules| Some([branch.classic, rules].concat())))
                }
                Ok(None) => Fetched::Known(None),
                Err(refused) => Fetched::Unavailable(refused.to_string()),
            };
            if policy.merge.allows(&name) {
                bases.insert(name.to_string(), read);
            }
        }
        (bases, tips)
    }

    /// What was reported on one commit.
    async fn head(
        &self,
        repo: &Repository,
        place: String,
        of_pull: bool,
        head: &HeadSha,
        files: bool,
    ) -> Head {
        let mut gaps = Vec::new();
        let (runs, statuses) = tokio::join!(
            self.reads.check_runs(repo, head),
            self.reads.statuses(repo, head)
        );
        let workflows: Vec<WorkflowRun> = if files {
            let read = self.reads.workflow_runs(repo, head).await;
            whole("its workflow runs", read, &mut gaps)
        } else {
            Vec::new()
        };
        let runs = whole("its check runs", runs, &mut gaps);
        let statuses = whole("its commit statuses", statuses, &mut gaps);
        let of_runs = runs.iter().map(|run| Report::of_run(run, &workflows));
        let reports = of_runs.chain(statuses.iter().map(Report::of_status));
        Head {
            place,
            of_pull,
            reports: reports.collect(),
            gaps,
        }
    }

    /// Whether GitHub knows the Apps that verify, by slug.
    async fn apps(&self, repo: &Repository, policy: &Policy) -> BTreeMap<String, Fetched<bool>> {
        let verifiers = policy.verifiers.values();
        let slugs: BTreeSet<String> = verifiers
            .filter_map(|verifier| match &verifier.identity {
                Identity::AppSlug(slug) => Some(slug.to_lowercase()),
                _ => None,
            })
            .collect();
        let asked = slugs.into_iter().map(|slug| async move {
            let known = fetched(self.reads.app_named(repo, &slug).await);
            (slug, known)
        });
        join_all(asked).await.into_iter().collect()
    }

    /// Who has the logins that a policy names.
    async fn accounts(
        &self,
        repo: &Repository,
        policy: &Policy,
    ) -> BTreeMap<String, Fetched<Option<ActorKind>>> {
        let verifiers = policy.verifiers.values();
        let mut logins: BTreeSet<String> = verifiers
            .filter_map(|verifier| match &verifier.identity {
                Identity::User(login) => Some(login.as_str().to_lowercase()),
                _ => None,
            })
            .collect();
        let authors = policy.agents.authors.iter();
        logins.extend(authors.map(|login| login.as_str().to_lowercase()));
        logins.extend(parties(policy).filter_map(|party| match party {
            Party::User(login) => Some(login.as_str().to_lowercase()),
            Party::Team { .. } => None,
        }));
        let asked = logins.into_iter().map(|login| async move {
            let account = self.reads.account(repo, &login).await;
            (
                login,
                fetched(account.map(|known| known.map(|one| one.kind))),
            )
        });
        join_all(asked).await.into_iter().collect()
    }

    /// Whether the teams that a policy names are there.
    async fn teams(&self, repo: &Repository, policy: &Policy) -> BTreeMap<String, Fetched<bool>> {
        let teams: BTreeSet<(String, String)> = parties(policy)
            .filter_map(|party| match party {
                Party::Team { org, slug } => Some((org.clone(), slug.clone())),
                Party::User(_) => None,
            })
            .collect();
        let asked = teams.into_iter().map(|(org, slug)| async move {
            let known = fetched(self.reads.team(repo, &org, &slug).await);
            (format!("{org}/{slug}"), known)
        });
        join_all(asked).await.into_iter().collect()
    }
}

/// The rules on branches, by name; `None` for one that does not exist.
type Bases = BTreeMap<String, Fetched<Option<Vec<PlatformRule>>>>;

/// Owners and approvers.
fn parties(policy: &Policy) -> impl Iterator<Item = &Party> {
    let approvals = policy.gates.approvals.iter();
    let from = approvals.flat_map(|approvals| &approvals.from);
    policy.owners.iter().chain(from)
}

/// The items of a list; that it is not whole, or why it is not there, is a gap.
fn whole<T>(what: &str, answer: Answer<Listing<T>>, gaps: &mut Vec<String>) -> Vec<T> {
    match answer {
        Ok(listing) => {
            if !listing.complete {
                gaps.push(format!("{what}: they could not be read whole"));
            }
            listing.items
        }
        Err(refused) => {
            gaps.push(format!("{what}: {refused}"));
            Vec::new()
        }
    }
}
