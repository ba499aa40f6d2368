//! Check runs and suites, commit statuses, workflow runs.

use serde_json::{Value, json};

use super::asked::{Asked, Scene, impossible, missing, text, too_many};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{
    Button, CheckDraft, CheckEdit, CheckRun, Done, Output, Refusal, Repo, StatusDraft, Suite, Time,
    WorkflowRun,
};

const LONGEST_TEXT: usize = 65_535;
const MOST_ANNOTATIONS: usize = 50;
const MOST_BUTTONS: usize = 3;
const LONGEST_DESCRIPTION: usize = 140;
const STATUSES: [&str; 3] = ["queued", "in_progress", "completed"];
const CONCLUSIONS: [&str; 7] = [
    "action_required",
    "cancelled",
    "failure",
    "neutral",
    "success",
    "skipped",
    "timed_out",
];

/// `GET /commits/{ref}/check-runs`: the latest per suite and name, or all of them.
pub fn runs(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    let filter = asked.query("filter").unwrap_or("latest");
    let runs: Vec<&CheckRun> = match filter {
        "latest" => repo.latest_runs(&sha),
        "all" => every_run(repo, &sha),
        word => return Err(impossible(word, &["latest", "all"])),
    };
    let app = asked.query("app_id").map(str::parse);
    let wanted = |run: &&CheckRun| {
        asked
            .query("check_name")
            .is_none_or(|name| run.name == name)
            && asked.query("status").is_none_or(|word| run.status == word)
            && app.as_ref().is_none_or(|app| *app == Ok(run.app))
    };
    let wanted = runs.into_iter().filter(wanted);
    let print = |run| payload::check_run(scene.world, repo, run);
    Ok(Reply::counted("check_runs", wanted.map(print).collect()))
}

/// What `filter=all` lists, newest first. A run that a re-run has set aside is in no list until the new
/// run stands beside it: in that window a commit shows no run of the name, and so no failing one.
fn every_run<'a>(repo: &'a Repo, sha: &str) -> Vec<&'a CheckRun> {
    let replaced = |old: &CheckRun| {
        let mut later = repo.check_runs.range(old.id + 1..);
        later.any(|(_, run)| run.suite == old.suite && run.name == old.name)
    };
    let listed = |run: &&CheckRun| run.head == sha && (!run.set_aside || replaced(run));
    repo.check_runs.values().rev().filter(listed).collect()
}

/// `GET /commits/{ref}/check-suites`.
pub fn suites(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    let app = asked.query("app_id").map(str::parse);
    let wanted =
        |suite: &&Suite| suite.head == sha && app.as_ref().is_none_or(|app| *app == Ok(suite.app));
    let suites = repo.suites.values().filter(wanted);
    let print = |suite| payload::check_suite(scene.world, repo, suite);
    Ok(Reply::counted("check_suites", suites.map(print).collect()))
}

/// `GET /check-runs/{id}`.
pub fn run(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    printed(scene, asked, asked.number("id")?, 200)
}

fn printed(scene: &Scene<'_>, asked: &Asked, id: u64, status: u16) -> Done<Reply> {
    let (repo, run) = (scene.repo(asked)?, scene.world.run(asked.repo, id)?);
    let body = payload::check_run(scene.world, repo, run);
    Ok(Reply::of(status, body))
}

/// `POST /check-runs`.
pub fn create_run(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let draft = CheckDraft {
        name: asked.needed("name")?,
        head: asked.needed("head_sha")?,
        status: word(asked, "status", &STATUSES)?,
        conclusion: word(asked, "conclusion", &CONCLUSIONS)?,
        external_id: asked.text("external_id"),
        details_url: asked.text("details_url"),
        output: output(asked, None)?.unwrap_or_default(),
        buttons: buttons(asked)?.unwrap_or_default(),
        started_at: time(asked, "started_at")?,
        completed_at: time(asked, "completed_at")?,
        suite: None,
    };
    if draft.status.as_deref() == Some("completed") && draft.conclusion.is_none() {
        return Err(missing("conclusion"));
    }
    let app = asked.app(scene.world);
    let id = scene.world.create_check_run(asked.repo, app, draft)?;
    printed(scene, asked, id, 201)
}

/// `PATCH /check-runs/{id}`.
pub fn update_run(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let id = asked.number("id")?;
    let before = scene.world.run(asked.repo, id)?;
    let edit = CheckEdit {
        name: asked.text("name"),
        status: word(asked, "status", &STATUSES)?,
        conclusion: word(asked, "conclusion", &CONCLUSIONS)?,
        external_id: asked.text("external_id"),
        details_url: asked.text("details_url"),
        output: output(asked, Some(&before.output))?,
        buttons: buttons(asked)?,
    };
    let completes = edit.status.as_deref() == Some("completed");
    if completes && edit.conclusion.is_none() && before.conclusion.is_none() {
        return Err(missing("conclusion"));
    }
    let app = asked.app(scene.world);
    scene.world.update_check_run(asked.repo, id, app, edit)?;
    printed(scene, asked, id, 200)
}

fn word(asked: &Asked, field: &str, possible: &[&str]) -> Done<Option<String>> {
    match asked.text(field) {
        Some(word) if !possible.contains(&word.as_str()) => Err(impossible(&word, possible)),
        word => Ok(word),
    }
}

fn time(asked: &Asked, field: &str) -> Done<Option<Time>> {
    let Some(text) = asked.text(field) else {
        return Ok(None);
    };
    let refused = || {
        Refusal::new(
            422,
            format!("Invalid request.\n\n{text} is not a date-time."),
        )
    };
    text.parse().map(Some).map_err(|_| refused())
}

/// What a check run is to show: annotations are added to those there are; a title that is not said again
/// stays.
fn output(asked: &Asked, before: Option<&Output>) -> Done<Option<Output>> {
    let said = &asked.body["output"];
    if !said.is_object() {
        return Ok(None);
    }
    let title = text(said, "title").or_else(|| before?.title.clone());
    if title.is_none() {
        return Err(missing("title"));
    }
    let output = Output {
        title,
        summary: Some(text(said, "summary").ok_or_else(|| missing("summary"))?),
        text: text(said, "text"),
        annotations: annotations(said)? + before.map_or(0, |before| before.annotations),
    };
    for (field, text) in [("summary", &output.summary), ("text", &output.text)] {
        fits(field, text.as_deref().unwrap_or_default())?;
    }
    Ok(Some(output))
}

/// GitHub counts twice: characters when it reads the request, bytes when it stores the run.
fn fits(field: &str, text: &str) -> Done<()> {
    let supplied = text.chars().count();
    if supplied > LONGEST_TEXT {
        let text = format!(
            "Invalid request.\n\nOnly {LONGEST_TEXT} characters are allowed; {supplied} were supplied."
        );
        return Err(Refusal::new(422, text));
    }
    if text.len() > LONGEST_TEXT {
        let message = format!("{field} exceeds a maximum bytesize of {LONGEST_TEXT}");
        return Err(Refusal::invalid("CheckRun", field, &message));
    }
    Ok(())
}

fn annotations(output: &Value) -> Done<u64> {
    let supplied = output["annotations"].as_array().map_or(0, Vec::len);
    if supplied > MOST_ANNOTATIONS {
        return Err(too_many(MOST_ANNOTATIONS, supplied));
    }
    Ok(u64::try_from(supplied).unwrap_or(u64::MAX))
}

fn buttons(asked: &Asked) -> Done<Option<Vec<Button>>> {
    let Some(said) = asked.body["actions"].as_array() else {
        return Ok(None);
    };
    if said.len() > MOST_BUTTONS {
        return Err(too_many(MOST_BUTTONS, said.len()));
    }
    let button = |action: &Value| {
        let needed = |field| text(action, field).ok_or_else(|| missing(field));
        Ok(Button {
            label: needed("label")?,
            description: needed("description")?,
            identifier: needed("identifier")?,
        })
    };
    said.iter().map(button).collect::<Done<_>>().map(Some)
}

/// `GET /commits/{ref}/status`: the newest per context, and what they come to.
pub fn combined_status(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    let combined = payload::combined_status(scene.world, repo, &sha);
    Ok(Reply::with_list("statuses", combined))
}

/// `GET /commits/{ref}/statuses`: all of them, newest first.
pub fn statuses(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    let all = repo
        .statuses
        .iter()
        .rev()
        .filter(|status| status.sha == sha);
    let print = |status| payload::status(scene.world, repo, status);
    Ok(Reply::list(all.map(print).collect()))
}

/// `POST /statuses/{sha}`.
pub fn create_status(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let draft = StatusDraft {
        sha: asked.param("sha").to_owned(),
        state: asked.needed("state")?,
        context: asked.text("context").unwrap_or_default(),
        description: asked.text("description"),
        target_url: asked.text("target_url"),
    };
    let description = draft.description.as_ref();
    if description.is_some_and(|text| text.chars().count() > LONGEST_DESCRIPTION) {
        let text = format!("description is too long (maximum is {LONGEST_DESCRIPTION} characters)");
        return Err(Refusal::invalid("Status", "description", &text));
    }
    let by = asked.principal(scene.world);
    let id = scene.world.set_status(asked.repo, by, draft)?;
    let repo = scene.repo(asked)?;
    let set = repo.statuses.iter().find(|status| status.id == id);
    let set = set.ok_or_else(Refusal::not_found)?;
    Ok(Reply::of(201, payload::status(scene.world, repo, set)))
}

/// `GET /actions/runs`, newest first.
pub fn workflow_runs(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let is = |field, value: Option<&str>| {
        let wanted = asked.query(field);
        wanted.is_none() || wanted == value
    };
    let wanted = |run: &&WorkflowRun| {
        is("head_sha", Some(&run.head))
            && is("branch", run.branch.as_deref())
            && is("event", Some(&run.event))
            && (is("status", Some(&run.status)) || is("status", run.conclusion.as_deref()))
    };
    let runs = repo.workflow_runs.values().rev().filter(wanted);
    let print = |run| payload::workflow_run(scene.world, repo, run);
    Ok(Reply::counted("workflow_runs", runs.map(print).collect()))
}

/// `POST /actions/workflows/{id}/dispatches`.
pub fn dispatch(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let branch = asked.needed("ref")?;
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(&branch);
    let inputs = match &asked.body["inputs"] {
        Value::Null => json!({}),
        inputs => inputs.clone(),
    };
    let by = asked.principal(scene.world);
    let workflow = asked.param("id");
    scene
        .world
        .dispatch_workflow(asked.repo, by, workflow, branch, inputs)?;
    Ok(Reply::nothing())
}
