//! Finding the reports in a snapshot, and the principal behind each.
//!
//! Identity is what GitHub says of the carrier: the App of a check run, the account of a review or
//! comment, the workflow or key that was proven when a document was posted. What a document says about
//! its author is data like the rest of it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{
    Carrier, Content, EvidenceBase, FENCE, Fault, Finding, InconclusiveReason, Mutant,
    MutantStatus, Outcome, Place, Posted, Report, Severity, Statement, identity, parse,
};
use crate::domain::facts::{
    CheckRun, Comment, PullRequest, Review, ReviewState, RunStatus, Snapshot,
};
use crate::domain::model::{Actor, ActorKind, AppRef, VerifierName};
use crate::domain::policy::{Identity, Policy};

/// Every report in the snapshot's check runs, reviews, comments and posted documents, oldest first, each with the
/// verifier of the policy that brought it, if it is one. Our own outputs are never reports.
pub fn reports(policy: &Policy, snapshot: &Snapshot) -> Vec<Report> {
    let mut reports = Vec::new();
    for run in snapshot.runs.known().map_or(&[][..], |list| &list.items) {
        let ours = run
            .app
            .as_ref()
            .is_some_and(|app| app.id == snapshot.own_app);
        if !ours
            && snapshot
                .pull
                .known()
                .is_some_and(|pull| pull.head == run.head)
        {
            reports.extend(of_run(policy, run).or_else(|| could_not_run(policy, snapshot, run)));
        }
    }
    for review in snapshot.reviews.known().map_or(&[][..], |list| &list.items) {
        reports.extend(of_review(policy, review));
    }
    for comment in snapshot
        .comments
        .known()
        .map_or(&[][..], |list| &list.items)
    {
        let ours = comment
            .app
            .as_ref()
            .is_some_and(|app| app.id == snapshot.own_app);
        if !ours {
            reports.extend(of_comment(policy, comment));
        }
    }
    let posted = snapshot.posted.iter();
    reports.extend(posted.map(|posted| of_posted(policy, snapshot, posted)));
    if let Some(pull) = snapshot.pull.known() {
        for report in &mut reports {
            keep_objections(report, pull);
        }
    }
    // Times are GitHub's (and ours of what was posted); of two with one time the later id is the later report.
    reports.sort_by_key(|report| (report.at, report.place));
    reports
}

/// What was reported against another base approves nothing of this one, but whoever found a fault in this
/// head found it: its objections stay, or a pull request would shed them by being retargeted.
fn keep_objections(report: &mut Report, pull: &PullRequest) {
    let Content::Valid(said) = &mut report.content else {
        return;
    };
    let elsewhere = said
        .base
        .as_ref()
        .is_some_and(|base| base.name != pull.base);
    if elsewhere && rejects(said) {
        **said = objections_of((**said).clone());
    }
}

fn of_run(policy: &Policy, run: &CheckRun) -> Option<Report> {
    if matches!(run.status, RunStatus::Unfinished(_)) {
        return None;
    }
    let content = content_of(run.output_text.as_deref()?)?;
    let carrier = run.app.clone().map_or(Carrier::Nobody, Carrier::App);
    Some(Report {
        place: Place::CheckRun(run.id),
        verifier: verifier_of(policy, &carrier),
        carrier,
        at: run.completed_at,
        content,
        url: run.url.clone(),
    })
}

/// What a check run says that bears no report and is, by the policy's word, one of a verifier that could
/// not run: nothing either way about the head. Such a run was made by nobody who looked at the code.
fn could_not_run(policy: &Policy, snapshot: &Snapshot, run: &CheckRun) -> Option<Report> {
    let RunStatus::Completed(conclusion) = &run.status else {
        return None;
    };
    let carrier = Carrier::App(run.app.clone()?);
    let name = verifier_of(policy, &carrier)?;
    let rule = policy.verifiers.get(&name)?.unavailable.as_ref()?;
    if !rule.shows(conclusion, run.output_title.as_deref()?) {
        return None;
    }
    let pull = snapshot.pull.known()?;
    let statement = Statement {
        subject_name: snapshot.repo.name.to_string(),
        head: run.head.clone(),
        result: Outcome::Inconclusive,
        reason: Some(InconclusiveReason::Capacity),
        base: Some(EvidenceBase {
            name: pull.base.clone(),
            sha: snapshot.base.known().map(|base| base.tip.clone())?,
        }),
        context: format!("check run {}", run.id),
        vendor: None,
        model: None,
        sandbox: None,
        tests: Vec::new(),
        mutation: None,
        findings: Vec::new(),
        cost_usd: None,
    };
    Some(Report {
        place: Place::CheckRun(run.id),
        verifier: Some(name),
        carrier,
        at: run.completed_at,
        content: Content::Valid(Box::new(statement)),
        url: run.url.clone(),
    })
}

fn of_review(policy: &Policy, review: &Review) -> Option<Report> {
    let mut content = content_of(&review.body)?;
    if review.edited {
        content = voided(content, "the review was edited after it was submitted");
    } else if review.state == ReviewState::Dismissed {
        content = voided(content, "the review was dismissed");
    }
    let carrier = carrier_of(review.author.clone(), None);
    Some(Report {
        place: Place::Review(review.id),
        verifier: verifier_of(policy, &carrier),
        carrier,
        at: review.submitted_at,
        content,
        url: review.url.clone(),
    })
}

fn of_comment(policy: &Policy, comment: &Comment) -> Option<Report> {
    let content = match (comment.edited, content_of(&comment.body)) {
        (false, content) => content?,
        (true, Some(content)) => voided(content, WITHDRAWN),
        (true, None) => Content::Void(WITHDRAWN.into()),
    };
    let carrier = carrier_of(comment.author.clone(), comment.app.clone());
    Some(Report {
        place: Place::Comment(comment.id),
        verifier: verifier_of(policy, &carrier),
        carrier,
        at: Some(comment.created_at),
        content,
        url: comment.url.clone(),
    })
}

/// Who posted it was proven then; whether that workflow or key is a verifier is the policy's word now, and
/// whether the workflow stood on a ref that a gate protects, the base's that the pull request has now. Of one
/// that did so only then (or it would not have been taken) the objections stay.
fn of_posted(policy: &Policy, snapshot: &Snapshot, posted: &Posted) -> Report {
    let content = match parse::document(&posted.document) {
        Ok(statement) => Content::Valid(Box::new(statement)),
        Err(faults) => Content::Faulty(faults, parse::named_head(&posted.document)),
    };
    let base = snapshot.pull.known().map(|pull| &pull.base);
    let default = snapshot.repo.default_branch.as_ref();
    let stands = match &posted.carrier {
        Carrier::Workflow { git_ref, .. } => identity::is_protected(git_ref, base, default),
        _ => true,
    };
    let verifier = verifier_of(policy, &posted.carrier);
    let (verifier, content) = match content {
        content if stands => (verifier, content),
        Content::Valid(said) if rejects(&said) => {
            (verifier, Content::Valid(Box::new(objections_of(*said))))
        }
        content => (None, content),
    };
    Report {
        place: Place::Posted(posted.id),
        verifier,
        carrier: posted.carrier.clone(),
        at: Some(posted.at),
        content,
        url: posted.url.clone(),
    }
}

const WITHDRAWN: &str = "the comment was edited or deleted after it was written";

/// What is left of a report that somebody edited, deleted or dismissed: its text as it was first seen
/// has lost its approval and not its objections. Everybody with write access can void a report, the
/// author of the pull request among them.
fn voided(content: Content, why: &str) -> Content {
    match content {
        Content::Valid(statement) if objects(&statement) => {
            Content::Valid(Box::new(objections_of(*statement)))
        }
        Content::Valid(_) | Content::Faulty(..) | Content::Void(_) => Content::Void(why.into()),
    }
}

fn survived(mutant: &Mutant) -> bool {
    mutant.status == MutantStatus::Survived
}

fn rejects(statement: &Statement) -> bool {
    let blocking = |finding: &Finding| finding.severity == Severity::Blocking;
    statement.result == Outcome::Rejected || statement.findings.iter().any(blocking)
}

fn objects(statement: &Statement) -> bool {
    let mutants = statement
        .mutation
        .as_ref()
        .map(|mutation| &mutation.mutants);
    rejects(statement) || mutants.is_some_and(|mutants| mutants.iter().any(survived))
}

/// Whether a statement is nothing but objections: it approves nothing, whatever else it may be about.
pub fn only_objects(statement: &Statement) -> bool {
    let mutants = statement.mutation.as_ref().map(|found| &found.mutants);
    objects(statement)
        && statement.result == Outcome::Rejected
        && statement.tests.is_empty()
        && mutants.is_none_or(|mutants| mutants.iter().all(survived))
}

fn objections_of(mut statement: Statement) -> Statement {
    statement.result = Outcome::Rejected;
    statement.tests.clear();
    if let Some(mutation) = &mut statement.mutation {
        mutation.mutants.retain(survived);
    }
    statement
}

fn carrier_of(author: Option<Actor>, app: Option<AppRef>) -> Carrier {
    author.map_or(Carrier::Nobody, |actor| Carrier::Actor { actor, app })
}

/// What a text reports; `None` when it holds no document at all.
pub fn content_of(text: &str) -> Option<Content> {
    let mut blocks = blocks(text).into_iter();
    let block = blocks.next()?;
    if blocks.next().is_some() {
        let message = "it stands beside another one: which of them counts cannot be known";
        let fault = Fault {
            path: String::new(),
            message: message.into(),
        };
        return Some(Content::Faulty(vec![fault], parse::named_head(&block)));
    }
    Some(match parse::document(&block) {
        Ok(statement) => Content::Valid(Box::new(statement)),
        Err(faults) => Content::Faulty(faults, parse::named_head(&block)),
    })
}

/// The verifier that a carrier is. Workflows and keys report by post alone: a workflow's check runs all
/// look alike (any workflow can make one of any name), and a key signs envelopes.
pub fn verifier_of(policy: &Policy, carrier: &Carrier) -> Option<VerifierName> {
    let mut verifiers = policy.verifiers.values();
    let found = verifiers.find(|verifier| is(&verifier.identity, carrier))?;
    Some(found.name.clone())
}

fn is(identity: &Identity, carrier: &Carrier) -> bool {
    match (identity, carrier) {
        (Identity::AppSlug(slug), Carrier::App(app)) => app.slug.eq_ignore_ascii_case(slug),
        (Identity::AppId(id), Carrier::App(app)) => app.id == *id,
        (Identity::AppSlug(slug), Carrier::Actor { actor, .. }) => {
            actor.kind == ActorKind::Bot && is_bot_of(actor, slug)
        }
        // An App that acts for a person is that person: only its own bot user is the App itself.
        (Identity::AppId(id), Carrier::Actor { actor, app }) => {
            actor.kind == ActorKind::Bot
                && app
                    .as_ref()
                    .is_some_and(|app| app.id == *id && is_bot_of(actor, &app.slug))
        }
        (Identity::User(login), Carrier::Actor { actor, .. }) => {
            actor.kind == ActorKind::User && actor.login == *login
        }
        (Identity::Workflow(path), Carrier::Workflow { path: ran, .. }) => path == ran,
        (Identity::Key(key), Carrier::Key(signed)) => key == signed,
        (Identity::User(_), Carrier::App(_))
        | (Identity::Workflow(_) | Identity::Key(_), _)
        | (_, Carrier::Workflow { .. } | Carrier::Key(_) | Carrier::Nobody) => false,
    }
}

fn is_bot_of(actor: &Actor, slug: &str) -> bool {
    let login = actor.login.as_str();
    login
        .strip_suffix("[bot]")
        .is_some_and(|name| name.eq_ignore_ascii_case(slug))
}

/// The text of the fenced `countersign` blocks of a Markdown text, in order. Only blocks at the top
/// level count: a report that somebody quotes, or sets into a list, is not theirs.
pub fn blocks(markdown: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut depth = 0_usize;
    let mut block: Option<String> = None;
    for event in Parser::new_ext(markdown, Options::empty()) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if depth == 0 => {
                let ours = info.split_whitespace().next() == Some(FENCE);
                block = ours.then(String::new);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                if end == TagEnd::CodeBlock {
                    blocks.extend(block.take());
                }
            }
            Event::Text(text) => {
                if let Some(block) = &mut block {
                    block.push_str(&text);
                }
            }
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests;
