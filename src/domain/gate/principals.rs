//! Who stands on the author's side, and how different a verifier is from it.
//!
//! The author's side is everybody who put something into the head: who opened the pull request,
//! who wrote or committed each of its commits, and who is known to have pushed it (a commit names whomever its maker
//! likes; GitHub says who pushed). Who is one of them is never its verifier, whatever the names say. Beyond that, difference is a declared relation: the policy says of which vendor and model
//! the agents and the verifiers are; what a report says of itself is not asked.
//!
//! A person on the author's side is of the vendor "human": any model differs from it by vendor.
//! What the policy leaves unsaid cannot be shown to differ.
//!
//! Known limit: only deliveries say who pushed to an open pull request; after a lost one nobody does, and nobody
//! says who pushed before it was opened. Left out: who gave commands. Who asks for a merge put nothing into it, and
//! the gates are asked all the same.

use std::collections::BTreeSet;

use super::Case;
use crate::domain::evidence::Carrier;
use crate::domain::model::{Actor, ActorId, ActorKind, Oid};
use crate::domain::policy::{Identity, Independence, Verifier};

/// GitHub's own account, which commits what is merged or edited on its pages: nobody's principal.
const WEB_FLOW: u64 = 19_864_447;

/// The account of every workflow, in lower case.
const WORKFLOWS: &str = "github-actions[bot]";

/// The author's side.
pub struct AuthorSide {
    ids: BTreeSet<ActorId>,
    logins: BTreeSet<String>,
    /// Who only pushed it: ids and logins.
    pushers: BTreeSet<ActorId>,
    pushed_by: BTreeSet<String>,
    /// Why there may be accounts on it that are not known.
    unread: Option<String>,
    /// Somebody on it has no account that could be named.
    nameless: Option<String>,
}

impl AuthorSide {
    /// Everybody who put something into the head.
    pub fn of(case: &Case<'_>) -> Self {
        let mut side = Self {
            ids: BTreeSet::new(),
            logins: BTreeSet::new(),
            pushers: BTreeSet::new(),
            pushed_by: BTreeSet::new(),
            unread: None,
            nameless: None,
        };
        side.add(case.pull.author.as_ref(), "the author's account is deleted");
        match case.comparison() {
            Err(why) => side.unread = Some(format!("the commits could not be read: {why}")),
            Ok(comparison) => {
                for commit in &comparison.commits.items {
                    let unknown =
                        format!("{} has an author without an account", commit.sha.short());
                    side.add(commit.author.as_ref(), &unknown);
                    let unknown =
                        format!("{} has a committer without an account", commit.sha.short());
                    side.add(commit.committer.as_ref(), &unknown);
                }
                if !comparison.commits.complete {
                    side.unread = Some("the list of commits is not whole".into());
                }
            }
        }
        for pusher in pushers(case) {
            if pusher.id.get() != WEB_FLOW && !side.ids.contains(&pusher.id) {
                side.pushers.insert(pusher.id);
                let login = pusher.login.as_str().to_ascii_lowercase();
                side.pushed_by.insert(login);
            }
        }
        side
    }

    fn add(&mut self, actor: Option<&Actor>, unknown: &str) {
        match actor {
            None => {
                self.nameless.get_or_insert_with(|| unknown.to_owned());
            }
            Some(actor) if actor.id.get() == WEB_FLOW => {}
            Some(actor) => {
                self.ids.insert(actor.id);
                self.logins
                    .insert(actor.login.as_str().to_ascii_lowercase());
            }
        }
    }

    /// Whether this account is surely not on the author's side.
    ///
    /// # Errors
    /// Why it is, or may be.
    pub fn excludes(&self, actor: &Actor) -> Result<(), String> {
        if self.pushers.contains(&actor.id) {
            return Err(format!("{} pushed some of it", actor.login));
        }
        if self.ids.contains(&actor.id) {
            return Err(format!("{} wrote some of it", actor.login));
        }
        self.all_read()?;
        match (&self.nameless, actor.kind) {
            // A bot is never the nameless one: an App's commits carry its account.
            (Some(_), ActorKind::Bot) | (None, _) => Ok(()),
            (Some(gap), _) => Err(format!("{gap}, which may be {}", actor.login)),
        }
    }

    /// Whether whoever brought a report is surely not on the author's side.
    ///
    /// # Errors
    /// Why it is, or may be.
    pub fn excludes_carrier(&self, carrier: &Carrier) -> Result<(), String> {
        match carrier {
            Carrier::Nobody => Err("nobody can be named as its author".into()),
            Carrier::Actor { actor, .. } => self.excludes(actor),
            // Whatever workflows push, they push as this one account.
            Carrier::Workflow { .. } if self.logins.contains(WORKFLOWS) => Err(format!(
                "{WORKFLOWS} wrote some of it, which may be this workflow"
            )),
            Carrier::Workflow { .. } if self.pushed_by.contains(WORKFLOWS) => Err(format!(
                "{WORKFLOWS} pushed some of it, which may be this workflow"
            )),
            // Whose a key is, the policy alone says.
            Carrier::Workflow { .. } | Carrier::Key(_) => self.all_read(),
            Carrier::App(app) => {
                let bot = format!("{}[bot]", app.slug.to_ascii_lowercase());
                if self.logins.contains(&bot) {
                    Err(format!("{bot} wrote some of it"))
                } else if self.pushed_by.contains(&bot) {
                    Err(format!("{bot} pushed some of it"))
                } else {
                    self.all_read()
                }
            }
        }
    }

    /// Of commits that were not read anybody may be the author.
    fn all_read(&self) -> Result<(), String> {
        match &self.unread {
            Some(gap) => Err(format!("{gap}, so who wrote them is not known")),
            None => Ok(()),
        }
    }
}

/// Who pushed something that is still among the commits.
fn pushers<'a>(case: &'a Case<'_>) -> impl Iterator<Item = &'a Actor> {
    let commits = case
        .comparison()
        .map(|comparison| &comparison.commits.items);
    let commits = commits.map_or(&[][..], Vec::as_slice);
    let there = move |head: &Oid| commits.iter().any(|commit| commit.sha == *head);
    let pushes = case.snapshot.pushes.iter();
    pushes
        .filter(move |push| push.head == case.pull.head || there(&push.head.oid()))
        .map(|push| &push.by)
}

/// What something was made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maker<'a> {
    /// The vendor of the model; `human` for people.
    pub vendor: Option<&'a str>,
    /// The model.
    pub model: Option<&'a str>,
}

const HUMAN: &str = "human";

impl<'a> Maker<'a> {
    /// What wrote the pull request. One of an agent's commits is enough to make it the agent's work; a
    /// bot that the policy does not name is of no known make.
    pub fn author(case: &'a Case<'_>) -> Self {
        let agents = &case.policy.agents;
        let author = case.pull.author.as_ref();
        if case.by_agent || has_agents_commits(case) {
            Self {
                vendor: agents.vendor.as_deref(),
                model: agents.model.as_deref(),
            }
        } else if author.is_some_and(|author| author.kind == ActorKind::User) {
            Self {
                vendor: Some(HUMAN),
                model: None,
            }
        } else {
            Self {
                vendor: None,
                model: None,
            }
        }
    }

    /// What a verifier is.
    pub fn verifier(verifier: &'a Verifier) -> Self {
        Self {
            vendor: verifier.vendor.as_deref(),
            model: verifier.model.as_deref(),
        }
    }
}

fn has_agents_commits(case: &Case<'_>) -> bool {
    let Ok(comparison) = case.comparison() else {
        return false;
    };
    let mut actors = comparison
        .commits
        .items
        .iter()
        .flat_map(|commit| [&commit.author, &commit.committer])
        .flatten();
    actors.any(|actor| case.policy.agents.authors.contains(&actor.login))
}

/// Whether a verifier is a person. An account of a person that runs a model has the model's vendor.
pub fn is_human(verifier: &Verifier) -> bool {
    let by_vendor = verifier
        .vendor
        .as_deref()
        .is_none_or(|vendor| vendor.eq_ignore_ascii_case(HUMAN));
    matches!(verifier.identity, Identity::User(_)) && by_vendor && verifier.model.is_none()
}

/// How different a verifier surely is from another maker.
pub fn difference(verifier: &Verifier, other: Maker<'_>) -> Independence {
    if is_human(verifier) {
        return Independence::Human;
    }
    let one = Maker::verifier(verifier);
    let differ = |a: Option<&str>, b: Option<&str>| match (a, b) {
        (Some(a), Some(b)) => !a.eq_ignore_ascii_case(b),
        _ => false,
    };
    if differ(one.vendor, other.vendor) {
        Independence::Vendor
    } else if differ(one.model, other.model) {
        Independence::Model
    } else {
        Independence::Context
    }
}

/// A maker in words.
pub fn described(maker: Maker<'_>) -> String {
    match (maker.vendor, maker.model) {
        (Some(vendor), Some(model)) => format!("{vendor} {model}"),
        (Some(vendor), None) => vendor.to_owned(),
        (None, Some(model)) => model.to_owned(),
        (None, None) => "unnamed in the policy".to_owned(),
    }
}

/// An independence in words, as a demand.
pub fn demand(independence: Independence) -> &'static str {
    match independence {
        Independence::Context => "another context",
        Independence::Model => "another model",
        Independence::Vendor => "another vendor",
        Independence::Human => "a person",
    }
}
