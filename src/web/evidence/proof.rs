//! From a token or a signature to a document with its carrier, or the reason why not.

use std::net::IpAddr;

use serde_json::Value;

use super::answer::Refusal;
use super::{ASKED, Admitted, Posting};
use crate::domain::evidence::envelope::Envelope;
use crate::domain::evidence::identity::{self, Claims};
use crate::domain::evidence::{Carrier, Statement, collect, parse};
use crate::domain::facts::{PolicyFact, PullRequest, PullState};
use crate::domain::memory::{Confirm, RepoMemory};
use crate::domain::model::{HeadSha, Key, RepoId, RepoName, Repository};
use crate::domain::policy::{Identity, Policy};
use crate::store::NewEvidence;

/// What the policies of some pull requests say of a carrier.
enum Said {
    /// One names it as a verifier.
    Named,
    /// None does; these are named instead.
    Unnamed(Vec<String>),
    /// One is not known yet.
    Unknown,
}

impl Posting {
    /// The claims of a token that is GitHub's, for this server, and good now.
    pub(super) async fn proven(&self, token: &str) -> Result<Claims, Refusal> {
        let audience = self.addresses.public.as_deref();
        let audience = audience.ok_or(Refusal::NoAddress)?;
        let claims = self.issuer.claims(token).await.map_err(Refusal::Token)?;
        let claims = Claims::read(&claims);
        let issuer = self.issuer.name();
        let proven = claims.prove(issuer, audience, self.clock.now());
        proven.map_err(Refusal::Claim)?;
        Ok(claims)
    }

    /// A document that a workflow run posted.
    pub(super) async fn of_workflow(
        &self,
        peer: IpAddr,
        claims: &Claims,
        document: String,
    ) -> Result<Admitted, Refusal> {
        let (memory, repo) = self.repository_of(claims).await?;
        let now = self.clock.now();
        self.count(peer, repo.id)?;
        let statement = parse::document(&document)?;
        let ran = claims.ran().map_err(Refusal::Forbidden)?;
        let carrier = Carrier::Workflow {
            path: ran.path.clone(),
            git_ref: ran.git_ref,
        };
        if self.is_kept(&repo, &statement, &carrier, &document).await? {
            return Ok(Admitted::Kept);
        }
        let pulls = self.pulls(&repo, &statement).await?;
        let admitted = claims.admit(&repo, &statement, &pulls);
        let (_, fitting) = admitted.map_err(Refusal::Forbidden)?;
        match self.said(&memory, &carrier, fitting.into_iter()).await? {
            Said::Named => {}
            Said::Unknown => return Err(self.unknown_policy(repo.id).await?),
            Said::Unnamed(named) => {
                let expected = expected("a `workflow:` of a verifier in the policy", &named);
                return Err(Refusal::Forbidden(identity::Refusal {
                    claim: "job_workflow_ref",
                    found: format!("`{}`", ran.path),
                    expected,
                }));
            }
        }
        let github = self.addresses.github.as_deref();
        let url = github.and_then(|github| claims.page(github, &repo));
        let new = evidence(&repo, statement, carrier, document, now, url);
        Ok(Admitted::New(new))
    }

    /// A document that came signed.
    pub(super) async fn of_key(
        &self,
        peer: IpAddr,
        envelope: Envelope,
    ) -> Result<Admitted, Refusal> {
        let value: Value =
            serde_json::from_str(&envelope.payload).map_err(|error| Refusal::not_json(&error))?;
        let subject = value.pointer("/subject/0/name").and_then(Value::as_str);
        let Some(Ok(name)) = subject.map(RepoName::parse) else {
            // Nobody can be asked for a key; what is wrong with the document is told.
            let faults = parse::document(&envelope.payload).err();
            return Err(faults.map_or(Refusal::Signature, Refusal::Faulty));
        };
        let id = self.store.repo_named(&name).await?;
        let memory = match id {
            Some(id) => self.store.repo(id).await?.value,
            None => return Err(Refusal::Signature),
        };
        let Some(repo) = memory.repo.clone().filter(|_| memory.active) else {
            return Err(Refusal::Signature);
        };
        let (keys, read) = self.keys(&memory).await?;
        let signer = envelope.signer(keys.iter().map(String::as_str));
        let key = match signer {
            Some(key) => key.to_owned(),
            None if read => return Err(Refusal::Signature),
            None => return Err(self.unknown_policy(repo.id).await?),
        };
        let now = self.clock.now();
        self.count(peer, repo.id)?;
        let document = envelope.payload;
        let statement = parse::document(&document)?;
        let carrier = Carrier::Key(key.clone());
        if self.is_kept(&repo, &statement, &carrier, &document).await? {
            return Ok(Admitted::Kept);
        }
        let pulls = self.pulls(&repo, &statement).await?;
        let about = identity::about(&statement, &repo.name.to_string(), &pulls);
        about.map_err(Refusal::Forbidden)?;
        match self.said(&memory, &carrier, pulls.iter()).await? {
            Said::Named => {
                let new = evidence(&repo, statement, carrier, document, now, None);
                Ok(Admitted::New(new))
            }
            Said::Unknown => Err(self.unknown_policy(repo.id).await?),
            Said::Unnamed(named) => Err(Refusal::Forbidden(identity::Refusal {
                claim: "key",
                found: format!("`{key}`"),
                expected: expected("a `key:` of a verifier in the policy of its base", &named),
            })),
        }
    }

    /// Whether exactly this document of this carrier is kept. Whoever posts it again changes nothing, and is
    /// told that it arrived, also when its pull request is long merged.
    async fn is_kept(
        &self,
        repo: &Repository,
        statement: &Statement,
        carrier: &Carrier,
        document: &str,
    ) -> Result<bool, Refusal> {
        let kept = self.store.posted_evidence(repo.id, &statement.head).await?;
        Ok(kept
            .iter()
            .any(|one| one.carrier == *carrier && one.document == document))
    }

    /// The repository whose workflow runs. A fork's run bears the fork's id.
    async fn repository_of(&self, claims: &Claims) -> Result<(RepoMemory, Repository), Refusal> {
        let refused = |found: String| {
            let expected = "the id of a repository in which this App is installed and active; the \
                            workflow of a fork bears the fork's id and may not report";
            Refusal::Forbidden(identity::Refusal {
                claim: "repository_id",
                found,
                expected: expected.to_owned(),
            })
        };
        let id = claims.repository_id;
        let id = id.ok_or_else(|| refused("missing".to_owned()))?;
        let memory = self.store.repo(id).await?.value;
        match memory.repo.clone().filter(|_| memory.active) {
            Some(repo) => Ok((memory, repo)),
            None => Err(refused(format!("`{id}`"))),
        }
    }

    /// The open pull requests with a document's head. Where none is known, GitHub is asked: the delivery
    /// that tells of it may be on its way, or lost.
    async fn pulls(
        &self,
        repo: &Repository,
        statement: &Statement,
    ) -> Result<Vec<PullRequest>, Refusal> {
        let head = &statement.head;
        let known = self.known_pulls(repo, head).await?;
        let of_this = statement.subject_name.to_lowercase() == repo.name.to_string().to_lowercase();
        if !known.is_empty() || !of_this {
            return Ok(known);
        }
        let none_at = self.store.head(repo.id, head).await?.value.no_pulls_at;
        if none_at.is_some_and(|at| self.clock.now() < at + ASKED) {
            return Err(Refusal::NoPullYet(head.short().to_owned()));
        }
        if let Err(error) = self.sweep.head(repo.id, head).await {
            tracing::warn!(repo = %repo.id, %head, %error, "whose head it is could not be asked");
            return Err(Refusal::NoPullYet(head.short().to_owned()));
        }
        self.woken.notify_one();
        self.known_pulls(repo, head).await
    }

    async fn known_pulls(
        &self,
        repo: &Repository,
        head: &HeadSha,
    ) -> Result<Vec<PullRequest>, Refusal> {
        let mut pulls = Vec::new();
        for number in self.store.pulls_with_head(repo.id, head).await? {
            pulls.extend(self.store.pull(repo.id, number).await?.value.pull);
        }
        pulls.retain(|pull| pull.state == PullState::Open && pull.head == *head);
        Ok(pulls)
    }

    /// Every key that a remembered policy of the repository names, and whether any policy was read.
    async fn keys(&self, memory: &RepoMemory) -> Result<(Vec<String>, bool), Refusal> {
        let (mut keys, mut read) = (Vec::new(), false);
        for base in memory.bases.keys() {
            let policy = self.gather.remembered_policy(memory, base).await?;
            read |= policy.is_some();
            if let Some(PolicyFact::Valid { policy, .. }) = policy {
                keys.extend(of_policy(&policy, |identity| match identity {
                    Identity::Key(key) => Some(key.clone()),
                    _ => None,
                }));
            }
        }
        keys.sort();
        keys.dedup();
        Ok((keys, read))
    }

    async fn said(
        &self,
        memory: &RepoMemory,
        carrier: &Carrier,
        pulls: impl Iterator<Item = &PullRequest> + Send,
    ) -> Result<Said, Refusal> {
        let (mut named, mut unknown) = (Vec::new(), false);
        for pull in pulls {
            match self.gather.remembered_policy(memory, &pull.base).await? {
                None => unknown = true,
                Some(PolicyFact::Valid { policy, .. }) => {
                    if collect::verifier_of(&policy, carrier).is_some() {
                        return Ok(Said::Named);
                    }
                    named.extend(of_policy(&policy, |identity| match (carrier, identity) {
                        (Carrier::Workflow { .. }, Identity::Workflow(path)) => Some(path.clone()),
                        (Carrier::Key(_), Identity::Key(key)) => Some(key.clone()),
                        _ => None,
                    }));
                }
                Some(PolicyFact::Invalid { .. } | PolicyFact::Absent) => {}
                Some(PolicyFact::Unavailable(_)) => unknown = true,
            }
        }
        named.sort();
        named.dedup();
        Ok(match unknown {
            true => Said::Unknown,
            false => Said::Unnamed(named),
        })
    }

    async fn unknown_policy(&self, repo: RepoId) -> Result<Refusal, Refusal> {
        self.wake(Key::Repo(repo)).await?;
        Ok(Refusal::NoPolicy)
    }

    async fn wake(&self, key: Key) -> Result<(), Refusal> {
        let wakes = [(key, Confirm::IfNeeded)];
        self.store.wake(&wakes, self.clock.now()).await?;
        self.woken.notify_one();
        Ok(())
    }
}

fn of_policy(policy: &Policy, pick: impl Fn(&Identity) -> Option<String>) -> Vec<String> {
    let verifiers = policy.verifiers.values();
    verifiers.filter_map(|one| pick(&one.identity)).collect()
}

fn expected(what: &str, named: &[String]) -> String {
    match named {
        [] => format!("{what}, which names none"),
        named => format!("{what}: `{}`", named.join("`, `")),
    }
}

fn evidence(
    repo: &Repository,
    statement: Statement,
    carrier: Carrier,
    document: String,
    at: crate::domain::model::Timestamp,
    url: Option<String>,
) -> NewEvidence {
    NewEvidence {
        repo: repo.id,
        head: statement.head,
        carrier,
        context: statement.context,
        document,
        at,
        url,
    }
}
