//! "As if": facts that are not so, for whoever asks what would follow from them.
//!
//! [`parse`] reads a sentence of a small grammar, [`suppose`] changes a snapshot as if it were true.
//! A supposed report says what was supposed and nothing besides: an approval brings tests that passed,
//! and neither mutants nor what the tests ran against. What a supposed fact replaces is gone: a check
//! that is said to pass has no other run of its name.
//!
//! A snapshot that was changed here counts as remembered: no right to merge can come of it.
//!
//! Known: who stands behind a verifier that never reported here is known by the name in the policy alone,
//! so an App that the policy names by number is not recognised among the authors.

use serde_json::{Value, json};

use super::evidence::{Carrier, FENCE, PREDICATE_TYPE, Posted, STATEMENT_TYPE};
use super::facts::{
    CheckRun, Comment, Conclusion, Fetched, Freshness, Hold, Listing, PlatformRule, PolicyFact,
    PullRequest, RunStatus, Snapshot, WorkflowRun,
};
use super::gate::checks;
use super::model::{
    Actor, ActorId, ActorKind, AppId, AppRef, CheckRunId, CommentId, Login, PostedId, SuiteId,
    WorkflowRunId,
};
use super::policy::nearest::nearest;
use super::policy::{Identity, Policy, Verifier};

/// Ids of what is supposed: far above any that GitHub hands out.
const SUPPOSED: u64 = 1 << 60;
/// GitHub Actions' own App on github.com.
const ACTIONS: (u64, &str) = (15_368, "github-actions");

/// What a sentence of the grammar may look like.
pub const FORMS: &str = "\"approved by VERIFIER\", \"rejected by VERIFIER\", \"check NAME passes\", \
                         \"check NAME fails\", \"merge requested\", \"held\", \"not held\"";

/// Something that is taken as so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Supposition {
    Report { verifier: String, approves: bool },
    Check { name: String, passes: bool },
    MergeRequested,
    Held,
    NotHeld,
}

/// Reads a sentence of the grammar; blanks and the case of its own words do not matter.
///
/// # Errors
/// What it may look like.
pub fn parse(text: &str) -> Result<Supposition, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let said: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let report = |approves| {
        let verifier = words.last().copied().unwrap_or_default().to_owned();
        Ok(Supposition::Report { verifier, approves })
    };
    match said.as_slice() {
        ["approved", "by", _] => report(true),
        ["rejected", "by", _] => report(false),
        ["merge", "requested"] => Ok(Supposition::MergeRequested),
        ["held"] => Ok(Supposition::Held),
        ["not", "held"] => Ok(Supposition::NotHeld),
        ["check", name @ .., ends @ ("passes" | "fails")] if !name.is_empty() => {
            let name = words.get(1..=name.len()).unwrap_or_default().join(" ");
            Ok(Supposition::Check {
                name: name.trim_matches('`').to_owned(),
                passes: *ends == "passes",
            })
        }
        _ => Err(format!("{text:?} cannot be supposed; write one of {FORMS}")),
    }
}

/// Changes the facts as if this were so.
///
/// # Errors
/// Why it cannot be supposed of this pull request; the facts are as they were.
pub fn suppose(snapshot: &mut Snapshot, supposition: &Supposition) -> Result<(), String> {
    match supposition {
        Supposition::Report { verifier, approves } => report(snapshot, verifier, *approves)?,
        Supposition::Check { name, passes } => check(snapshot, name, *passes)?,
        Supposition::MergeRequested => {
            snapshot.merge_requested = Some(pull_of(snapshot)?.head.clone());
        }
        Supposition::Held => {
            snapshot.hold = Some(Hold {
                reason: "supposed".into(),
                by: "somebody".into(),
                since: snapshot.now,
            });
        }
        Supposition::NotHeld => snapshot.hold = None,
    }
    snapshot.freshness = Freshness::Remembered;
    Ok(())
}

fn pull_of(snapshot: &Snapshot) -> Result<&PullRequest, String> {
    let pull = snapshot.pull.require();
    pull.map_err(|why| format!("the pull request could not be read: {why}"))
}

fn policy_of(snapshot: &Snapshot) -> Result<&Policy, String> {
    match &snapshot.policy {
        PolicyFact::Valid { policy, .. } => Ok(policy),
        PolicyFact::Invalid { .. } => {
            Err("the policy does not validate, so it asks nothing".into())
        }
        PolicyFact::Absent => Err("there is no policy, so nothing is asked".into()),
        PolicyFact::Unavailable(why) => Err(format!("the policy could not be read: {why}")),
    }
}

fn report(snapshot: &mut Snapshot, name: &str, approves: bool) -> Result<(), String> {
    let verifier = verifier_of(policy_of(snapshot)?, name)?.clone();
    let pull = pull_of(snapshot)?.clone();
    let id = next_id(snapshot);
    let document = document(snapshot, &pull, approves, id)?;
    let text = format!("```{FENCE}\n{document}\n```\n");
    let app = match &verifier.identity {
        Identity::AppSlug(slug) => known_app(snapshot, |app| app.slug.eq_ignore_ascii_case(slug))
            .unwrap_or_else(|| AppRef {
                id: supposed_app(),
                slug: slug.clone(),
            }),
        Identity::AppId(id) => known_app(snapshot, |app| app.id == *id).unwrap_or_else(|| AppRef {
            id: *id,
            slug: format!("app-{id}"),
        }),
        Identity::User(login) => {
            let comment = Comment {
                id: CommentId::new(id).ok_or("no id is left")?,
                author: Some(known_user(snapshot, &pull, login)),
                app: None,
                body: text,
                created_at: snapshot.now,
                edited: false,
                url: None,
            };
            list_of(&mut snapshot.comments, "comments")?.push(comment);
            return Ok(());
        }
        Identity::Workflow(path) => {
            // As it stands on the base branch: from elsewhere it would have no say.
            let git_ref = format!("refs/heads/{}", pull.base);
            let path = path.clone();
            return post(snapshot, Carrier::Workflow { path, git_ref }, document, id);
        }
        Identity::Key(key) => return post(snapshot, Carrier::Key(key.clone()), document, id),
    };
    let mut run = run(snapshot, &pull, id, "supposed", Conclusion::Success)?;
    run.app = Some(app);
    run.output_text = Some(text);
    list_of(&mut snapshot.runs, "check runs")?.push(run);
    Ok(())
}

fn post(
    snapshot: &mut Snapshot,
    carrier: Carrier,
    document: String,
    id: u64,
) -> Result<(), String> {
    snapshot.posted.push(Posted {
        id: PostedId::new(id).ok_or("no id is left")?,
        carrier,
        document,
        at: snapshot.now,
        url: None,
    });
    Ok(())
}

fn verifier_of<'a>(policy: &'a Policy, name: &str) -> Result<&'a Verifier, String> {
    let mut verifiers = policy.verifiers.values();
    if let Some(found) = verifiers.find(|verifier| verifier.name.as_str() == name) {
        return Ok(found);
    }
    let names = || policy.verifiers.keys().map(|name| name.as_str());
    let hint = match nearest(name, names()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if policy.verifiers.is_empty() => "; it names none".to_owned(),
        None => format!("; it names `{}`", names().collect::<Vec<_>>().join("`, `")),
    };
    Err(format!("`{name}` is no verifier of the policy{hint}"))
}

/// A report as a verifier would write it: about this head and base, in a context of its own.
fn document(
    snapshot: &Snapshot,
    pull: &PullRequest,
    approves: bool,
    id: u64,
) -> Result<String, String> {
    let base = snapshot.base.require();
    let base = base.map_err(|why| format!("the base could not be read: {why}"))?;
    let (result, findings) = if approves {
        ("approved", json!([]))
    } else {
        (
            "rejected",
            json!([{ "severity": "blocking", "message": "supposed." }]),
        )
    };
    let tests = json!([{
        "command": "supposed", "executed": 1, "passed": 1, "failed": 0, "exit_code": 0,
    }]);
    let document: Value = json!({
        "_type": STATEMENT_TYPE,
        "subject": [{
            "name": snapshot.repo.name.to_string(),
            "digest": { "gitCommit": pull.head.as_str() },
        }],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "result": result,
            "base": { "ref": base.name.as_str(), "sha": base.tip.as_str() },
            "context": format!("supposed-{id}"),
            "sandbox": { "executes": true, "writes": true },
            "tests": tests,
            "findings": findings,
        },
    });
    Ok(document.to_string())
}

fn check(snapshot: &mut Snapshot, name: &str, passes: bool) -> Result<(), String> {
    let pull = pull_of(snapshot)?.clone();
    let asked = asked_for(snapshot)?;
    let mut matching: Vec<_> = asked
        .iter()
        .filter(|asked| checks::is_named(&asked.name, name))
        .cloned()
        .collect();
    if matching.is_empty() {
        return Err(unasked(name, &asked));
    }
    // A run of the workflow that is asked for also meets what asks for its App alone.
    matching.sort_by_key(|asked| asked.workflow.is_none());
    let conclusion = if passes {
        Conclusion::Success
    } else {
        Conclusion::Failure
    };
    let mut made = Vec::new();
    for (index, source) in matching.iter().enumerate() {
        let id = next_id(snapshot) + index as u64;
        let mut run = run(snapshot, &pull, id, name, conclusion.clone())?;
        run.app = Some(source.app(snapshot));
        let same = |one: &CheckRun| one.app == run.app;
        if source.workflow.is_none() && made.iter().any(same) {
            continue;
        }
        if let Some(path) = &source.workflow {
            run.suite = SuiteId::new(id);
            let workflow = workflow(&pull, id, path)?;
            list_of(&mut snapshot.workflows, "workflow runs")?.push(workflow);
        }
        made.push(run);
    }
    if let Fetched::Known(statuses) = &mut snapshot.statuses {
        statuses.items.retain(|status| status.context != name);
    }
    let runs = list_of(&mut snapshot.runs, "check runs")?;
    runs.retain(|run| run.name != name || run.output_text.is_some());
    runs.extend(made);
    Ok(())
}

/// A check that a gate asks for, and from whom.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    name: String,
    app: Option<String>,
    workflow: Option<String>,
}

impl Asked {
    fn app(&self, snapshot: &Snapshot) -> AppRef {
        let actions = AppRef {
            id: AppId::new(ACTIONS.0).unwrap_or_else(supposed_app),
            slug: ACTIONS.1.to_owned(),
        };
        let Some(wanted) = &self.app else {
            return actions;
        };
        let by_number = wanted.parse().ok().and_then(AppId::new);
        let is_it = |app: &AppRef| match by_number {
            Some(id) => app.id == id,
            None => app.slug.eq_ignore_ascii_case(wanted),
        };
        known_app(snapshot, is_it)
            .or_else(|| is_it(&actions).then_some(actions))
            .unwrap_or_else(|| AppRef {
                id: by_number.unwrap_or_else(supposed_app),
                slug: wanted.clone(),
            })
    }
}

/// What the policy and GitHub's own rules ask for.
fn asked_for(snapshot: &Snapshot) -> Result<Vec<Asked>, String> {
    let gate = policy_of(snapshot)?.gates.checks.as_ref();
    let mut asked: Vec<Asked> = gate
        .iter()
        .flat_map(|gate| &gate.required)
        .map(|required| Asked {
            name: required.name.clone(),
            app: required.app.clone(),
            workflow: required.workflow.clone(),
        })
        .collect();
    for rule in snapshot.rules.known().into_iter().flatten() {
        if let PlatformRule::RequiredCheck { context, app, .. } = rule {
            asked.push(Asked {
                name: context.clone(),
                app: app.map(|app| app.to_string()),
                workflow: None,
            });
        }
    }
    Ok(asked)
}

fn unasked(name: &str, asked: &[Asked]) -> String {
    let names = || asked.iter().map(|asked| asked.name.as_str());
    let hint = match nearest(name, names()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if asked.is_empty() => "; none is asked for".to_owned(),
        None => format!(
            "; asked for are `{}`",
            names().collect::<Vec<_>>().join("`, `")
        ),
    };
    format!("no gate asks for a check named `{name}`{hint}")
}

fn run(
    snapshot: &Snapshot,
    pull: &PullRequest,
    id: u64,
    name: &str,
    conclusion: Conclusion,
) -> Result<CheckRun, String> {
    Ok(CheckRun {
        id: CheckRunId::new(id).ok_or("no id is left")?,
        name: name.to_owned(),
        app: None,
        head: pull.head.clone(),
        status: RunStatus::Completed(conclusion),
        suite: None,
        external_id: None,
        completed_at: Some(snapshot.now),
        url: None,
        output_text: None,
        output_title: None,
    })
}

fn workflow(pull: &PullRequest, id: u64, path: &str) -> Result<WorkflowRun, String> {
    let id = WorkflowRunId::new(id).zip(SuiteId::new(id));
    let (id, suite) = id.ok_or("no id is left")?;
    Ok(WorkflowRun {
        id,
        suite,
        path: path.to_owned(),
        event: "pull_request".to_owned(),
        attempt: 1,
        head: pull.head.clone(),
    })
}

/// The list to add to. One that was not asked for is taken as empty: nothing in it mattered so far.
fn list_of<'a, T>(list: &'a mut Fetched<Listing<T>>, what: &str) -> Result<&'a mut Vec<T>, String> {
    if matches!(list, Fetched::NotAsked) {
        *list = Fetched::Known(Listing::whole(Vec::new()));
    }
    match list {
        Fetched::Known(list) => Ok(&mut list.items),
        Fetched::Unavailable(why) => Err(format!("the {what} could not be read: {why}")),
        Fetched::NotAsked => Err(format!("the {what} were not read")),
    }
}

/// An id above every one in the lists that ids are compared within, and above all of GitHub's.
fn next_id(snapshot: &Snapshot) -> u64 {
    let runs = snapshot.runs.known().map(|list| &list.items);
    let runs = runs.into_iter().flatten().map(|run| run.id.get());
    let comments = snapshot.comments.known().map(|list| &list.items);
    let comments = comments.into_iter().flatten();
    let posted = snapshot.posted.iter().map(|posted| posted.id.get());
    let ids = runs
        .chain(comments.map(|comment| comment.id.get()))
        .chain(posted);
    ids.max().unwrap_or(0).max(SUPPOSED) + 1
}

fn supposed_app() -> AppId {
    AppId::new(SUPPOSED).expect("not zero by construction")
}

fn known_app(snapshot: &Snapshot, is_it: impl Fn(&AppRef) -> bool) -> Option<AppRef> {
    let runs = snapshot.runs.known()?.items.iter();
    let apps = runs.filter_map(|run| run.app.as_ref());
    apps.filter(|app| is_it(app))
        .max_by_key(|app| app.id)
        .cloned()
}

/// A user as the facts know them, so that an author who is also a verifier stays one.
fn known_user(snapshot: &Snapshot, pull: &PullRequest, login: &Login) -> Actor {
    let commits = snapshot.comparison.known().map(|made| &made.commits.items);
    let commits = commits.into_iter().flatten();
    let committers = commits.flat_map(|commit| [&commit.author, &commit.committer]);
    let reviews = snapshot.reviews.known().map(|list| &list.items);
    let reviewers = reviews.into_iter().flatten().map(|review| &review.author);
    let mut known = std::iter::once(&pull.author)
        .chain(committers)
        .chain(reviewers)
        .flatten();
    let found = known.find(|actor| actor.login == *login).cloned();
    found.unwrap_or_else(|| Actor {
        id: ActorId::new(SUPPOSED).expect("not zero by construction"),
        login: login.clone(),
        kind: ActorKind::User,
    })
}

#[cfg(test)]
mod tests;
