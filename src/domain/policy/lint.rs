//! A valid policy against the repository it is for: names that nobody answers to, branches that GitHub
//! would not let us merge into.
//!
//! Such a policy is not wrong by itself, so the gate takes it, and then waits for ever for a check that
//! is called otherwise. Here the facts go in and the findings come out; who reads the facts is another
//! room's business.
//!
//! Three severities. An **error** is certain: as things stand, something the policy asks for cannot
//! happen. A **warning** is a guess that a person must judge, or something that works and is weaker than
//! it looks. And what could not be looked at is **blind**: it is said, and never taken for fine.
//!
//! Left out: whether an App is installed here (GitHub tells that to nobody but the App), bypass lists of
//! rulesets (only administrators may read them), and branches that only a pattern names, unless a pull
//! request showed one.

mod bases;
mod checks;
mod parties;
mod spot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

use super::Policy;
use crate::domain::facts::{CheckRun, CommitStatus, Fetched, PlatformRule, WorkflowRun};
use crate::domain::model::{ActorKind, AppId, AppRef, BaseRef, Login};
pub use bases::{Gate, is_name};
use spot::Spots;

/// The name under which we publish.
pub const OWN_CHECK: &str = "countersign";

/// How sure and how bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Certain: as things stand, something that the policy asks for cannot happen.
    Error,
    /// For a person to judge.
    Warning,
    /// It could not be looked at.
    Blind,
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// A required check.
    Check,
    /// A verifier.
    Verifier,
    /// A base branch, and the rules on it.
    Base,
    /// Whether GitHub requires our own check.
    OwnCheck,
    /// The merge method.
    Method,
    /// A person or team.
    Party,
    /// An entry without effect.
    Dead,
    /// The reading itself.
    Reading,
}

/// One thing that reality says against a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How sure and how bad.
    pub severity: Severity,
    /// About what.
    pub subject: Subject,
    /// The key, such as `gates.checks.required[0]`; empty where it is about none.
    pub key: String,
    /// Line, from 1; 0 where the file does not write the key.
    pub line: u64,
    /// Column, from 1; 0 where the file does not write the key.
    pub column: u64,
    /// The line itself.
    pub excerpt: Option<String>,
    /// What was found, as a sentence.
    pub what: String,
    /// How to mend it.
    pub mend: Option<String>,
}

/// Who reported a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Producer {
    /// A check run by this App.
    App(AppRef),
    /// A check run whose App the server does not name.
    Unnamed,
    /// A commit status, set by this account.
    Status(Option<Login>),
}

/// One name that was reported on a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The check's name or the status's context.
    pub name: String,
    /// By whom.
    pub by: Producer,
    /// The workflow file it came from, where it is known.
    pub workflow: Option<String>,
}

impl Report {
    /// What a check run reports; `workflows` lead from its suite to the file.
    pub fn of_run(run: &CheckRun, workflows: &[WorkflowRun]) -> Self {
        let found = workflows.iter().find(|one| Some(one.suite) == run.suite);
        Self {
            name: run.name.clone(),
            by: run.app.clone().map_or(Producer::Unnamed, Producer::App),
            workflow: found.map(|one| one.path.clone()),
        }
    }

    /// What a commit status reports.
    pub fn of_status(status: &CommitStatus) -> Self {
        let creator = status.creator.as_ref();
        Self {
            name: status.context.clone(),
            by: Producer::Status(creator.map(|creator| creator.login.clone())),
            workflow: None,
        }
    }
}

/// A commit that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Which, for people: "the tip of `main`", "#12".
    pub place: String,
    /// It is a pull request's head.
    pub of_pull: bool,
    /// What was reported on it.
    pub reports: Vec<Report>,
    /// What could not be read of it, each with why.
    pub gaps: Vec<String>,
}

/// The merge methods that the repository's settings allow; `None` where GitHub does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Methods {
    pub merge: Option<bool>,
    pub squash: Option<bool>,
    pub rebase: Option<bool>,
}

/// What a repository is really like, as far as a policy names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Our own App: its reports are never inputs.
    pub own_app: AppId,
    /// The account that owns the repository.
    pub owner: String,
    /// The default branch.
    pub default_branch: Option<BaseRef>,
    /// The commits looked at.
    pub heads: Vec<Head>,
    /// Why the recent pull requests could not be listed, if so.
    pub pulls_unread: Option<String>,
    /// Whether GitHub knows these Apps, by slug in lower case.
    pub apps: BTreeMap<String, Fetched<bool>>,
    /// Who has these logins (lower case), if anybody.
    pub accounts: BTreeMap<String, Fetched<Option<ActorKind>>>,
    /// Whether these teams (`org/slug`, lower case) are there.
    pub teams: BTreeMap<String, Fetched<bool>>,
    /// The rules on these branches; `None` for one that does not exist.
    pub bases: BTreeMap<String, Fetched<Option<Vec<PlatformRule>>>>,
    /// The merge methods.
    pub methods: Fetched<Methods>,
}

impl Facts {
    /// Everything reported by others than ourselves.
    fn reports(&self) -> impl Iterator<Item = &Report> {
        self.heads.iter().flat_map(|head| self.reports_on(head))
    }

    /// What others than ourselves reported on one commit.
    fn reports_on<'h>(&self, head: &'h Head) -> impl Iterator<Item = &'h Report> + use<'h> {
        let own = self.own_app;
        let ours = move |by: &Producer| matches!(by, Producer::App(app) if app.id == own);
        head.reports.iter().filter(move |report| !ours(&report.by))
    }

    /// Whether everything that was to be looked at was read.
    fn whole(&self) -> bool {
        self.pulls_unread.is_none() && self.heads.iter().all(|head| head.gaps.is_empty())
    }

    /// What was looked at, in words.
    pub fn looked_at(&self) -> String {
        let (pulls, tips): (Vec<_>, Vec<_>) = self.heads.iter().partition(|head| head.of_pull);
        let names = |heads: &[&Head]| {
            let names: Vec<_> = heads.iter().map(|head| head.place.as_str()).collect();
            names.join(", ")
        };
        let mut looked = Vec::new();
        if !tips.is_empty() {
            looked.push(names(&tips));
        }
        match pulls.len() {
            0 => {}
            1 => looked.push(format!("the head of {}", names(&pulls))),
            _ => looked.push(format!("the heads of {}", names(&pulls))),
        }
        if looked.is_empty() {
            "no commit".to_owned()
        } else {
            looked.join(" and ")
        }
    }
}

/// Judges a valid policy, whose text is `text`. The findings come in the order of the file.
pub fn judge(text: &str, policy: &Policy, facts: &Facts) -> Vec<Finding> {
    let mut findings = Findings::of(text);
    reading(facts, &mut findings);
    checks::judge(policy, facts, &mut findings);
    parties::judge(policy, facts, &mut findings);
    bases::judge(policy, facts, &mut findings);
    findings.in_order()
}

/// What could not be read at all.
fn reading(facts: &Facts, findings: &mut Findings<'_>) {
    if let Some(why) = &facts.pulls_unread {
        let what = format!("could not look at the recent pull requests: {why}");
        findings.add(Severity::Blind, Subject::Reading, &[], what, None);
    }
    for head in &facts.heads {
        for gap in &head.gaps {
            let what = format!("could not look at {}: {gap}", head.place);
            findings.add(Severity::Blind, Subject::Reading, &[], what, None);
        }
    }
}

/// A step on the way to a key.
#[derive(Debug, Clone, Copy)]
pub(in crate::domain) enum Step<'a> {
    Key(&'a str),
    Item(usize),
}

/// The findings so far.
pub(in crate::domain) struct Findings<'a> {
    spots: Spots<'a>,
    found: Vec<Finding>,
}

impl<'a> Findings<'a> {
    /// None yet, about the policy of this text.
    pub(in crate::domain) fn of(text: &'a str) -> Self {
        Self {
            spots: Spots::of(text),
            found: Vec::new(),
        }
    }

    /// All of them, in the order of the file.
    pub(in crate::domain) fn in_order(mut self) -> Vec<Finding> {
        self.found.sort_by_key(|one| (one.line, one.column));
        self.found
    }

    pub(in crate::domain) fn add(
        &mut self,
        severity: Severity,
        subject: Subject,
        at: &[Step<'_>],
        what: impl Into<String>,
        mend: Option<String>,
    ) {
        let spot = self.spots.find(at);
        self.found.push(Finding {
            severity,
            subject,
            key: spot::key(at),
            line: spot.place.line,
            column: spot.place.column,
            excerpt: spot.excerpt,
            what: what.into(),
            mend,
        });
    }

    fn error(&mut self, subject: Subject, at: &[Step<'_>], what: String, mend: &str) {
        self.add(Severity::Error, subject, at, what, Some(mend.to_owned()));
    }

    fn warning(&mut self, subject: Subject, at: &[Step<'_>], what: String, mend: &str) {
        self.add(Severity::Warning, subject, at, what, Some(mend.to_owned()));
    }

    fn blind(&mut self, subject: Subject, at: &[Step<'_>], what: &str, why: &str) {
        let what = format!("could not look: {what}: {why}");
        self.add(Severity::Blind, subject, at, what, None);
    }
}
