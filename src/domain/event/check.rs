//! What reports on a commit: check runs and suites, statuses, workflow runs, the merge queue.

use serde::Deserialize;

use super::wire::{App, Fault, Field, Scene, User, When, actor, app, need, parse};
use super::{Event, holds_evidence};
use crate::domain::facts::{
    CheckRun, CommitStatus, Conclusion, LONGEST_TITLE, RunStatus, StatusState, WorkflowRun,
};
use crate::domain::model::{CheckRunId, HeadSha, StatusId, SuiteId, WorkflowRunId};

#[derive(Default, Deserialize)]
#[serde(default)]
struct RunBody {
    check_run: Option<Run>,
    requested_action: Option<Button>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Button {
    identifier: Field<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Run {
    id: Field<CheckRunId>,
    name: Field<String>,
    app: Option<App>,
    head_sha: Field<HeadSha>,
    status: Field<String>,
    conclusion: Field<String>,
    check_suite: Option<SuitePart>,
    external_id: Field<String>,
    completed_at: Field<When>,
    html_url: Field<String>,
    output: Option<Output>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SuitePart {
    id: Field<SuiteId>,
    head_sha: Field<HeadSha>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Output {
    title: Field<String>,
    text: Field<String>,
}

fn conclusion(word: &str) -> Conclusion {
    match word {
        "success" => Conclusion::Success,
        "failure" => Conclusion::Failure,
        "neutral" => Conclusion::Neutral,
        "cancelled" => Conclusion::Cancelled,
        "skipped" => Conclusion::Skipped,
        "timed_out" => Conclusion::TimedOut,
        "action_required" => Conclusion::ActionRequired,
        "stale" => Conclusion::Stale,
        "startup_failure" => Conclusion::StartupFailure,
        _ => Conclusion::Unknown(word.to_owned()),
    }
}

/// `check_run`.
pub(super) fn run(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: RunBody = parse(body)?;
    let run = need(body.check_run, "check_run")?;
    let status = match run.status.need("check_run.status")?.as_str() {
        "completed" => RunStatus::Completed(conclusion(&run.conclusion.opt().unwrap_or_default())),
        word => RunStatus::Unfinished(word.to_owned()),
    };
    let (title, text) = run.output.map_or((None, None), |output| {
        (output.title.opt(), output.text.opt())
    });
    Ok(Event::CheckRun {
        repo: scene.repo,
        action: scene.action,
        run: CheckRun {
            id: run.id.need("check_run.id")?,
            name: run.name.need("check_run.name")?,
            app: app(run.app),
            head: run.head_sha.need("check_run.head_sha")?,
            status,
            suite: run.check_suite.and_then(|suite| suite.id.opt()),
            external_id: run.external_id.opt().filter(|id| !id.is_empty()),
            completed_at: run.completed_at.opt().map(|at| at.0),
            url: run.html_url.opt(),
            output_text: text.filter(|text| holds_evidence(text)),
            output_title: title.map(|title| title.chars().take(LONGEST_TITLE).collect()),
        },
        button: body
            .requested_action
            .and_then(|button| button.identifier.opt()),
        sender: scene.sender,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SuiteBody {
    check_suite: Option<SuitePart>,
}

/// `check_suite`. A fork's suite has a null `head_branch` and no `pull_requests`: the commit is all
/// there is to go by, and all that is read.
pub(super) fn suite(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: SuiteBody = parse(body)?;
    let suite = need(body.check_suite, "check_suite")?;
    Ok(Event::CheckSuite {
        repo: scene.repo,
        action: scene.action,
        head: suite.head_sha.need("check_suite.head_sha")?,
        suite: suite.id.need("check_suite.id")?,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusBody {
    id: Field<StatusId>,
    sha: Field<HeadSha>,
    context: Field<String>,
    state: Field<String>,
    sender: Option<User>,
    updated_at: Field<When>,
    target_url: Field<String>,
}

/// `status`. The fields stand at the top of the body, and whoever set it is the sender.
pub(super) fn status(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: StatusBody = parse(body)?;
    let word = body.state.need("state")?;
    Ok(Event::Status {
        repo: scene.repo,
        head: body.sha.need("sha")?,
        status: CommitStatus {
            id: body.id.opt(),
            context: body.context.need("context")?,
            state: match word.as_str() {
                "success" => StatusState::Success,
                "failure" => StatusState::Failure,
                "error" => StatusState::Error,
                "pending" => StatusState::Pending,
                _ => StatusState::Unknown(word),
            },
            creator: actor(body.sender),
            updated_at: body.updated_at.opt().map(|at| at.0),
            url: body.target_url.opt(),
        },
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkflowBody {
    workflow_run: Option<WorkflowPart>,
    workflow: Option<WorkflowFile>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkflowFile {
    path: Field<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkflowPart {
    id: Field<WorkflowRunId>,
    check_suite_id: Field<SuiteId>,
    path: Field<String>,
    event: Field<String>,
    run_attempt: Field<u64>,
    head_sha: Field<HeadSha>,
}

/// `workflow_run`. Older servers give the path only in the workflow beside it; some write
/// `PATH@REF`.
pub(super) fn workflow(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: WorkflowBody = parse(body)?;
    let run = need(body.workflow_run, "workflow_run")?;
    let path = match run.path.opt() {
        Some(path) => path,
        None => need(body.workflow, "workflow_run.path")?
            .path
            .need("workflow_run.path")?,
    };
    let path = path.split_once('@').map_or(path.as_str(), |(path, _)| path);
    Ok(Event::Workflow {
        repo: scene.repo,
        run: WorkflowRun {
            id: run.id.need("workflow_run.id")?,
            suite: run.check_suite_id.need("workflow_run.check_suite_id")?,
            path: path.to_owned(),
            event: run.event.opt().unwrap_or_default(),
            attempt: run.run_attempt.opt().unwrap_or(1),
            head: run.head_sha.need("workflow_run.head_sha")?,
        },
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GroupBody {
    merge_group: Option<Group>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Group {
    head_sha: Field<HeadSha>,
}

/// `merge_group`.
pub(super) fn merge_group(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    if scene.action == "destroyed" {
        return Ok(Event::Other {
            why: "a merge queue's group is gone".to_owned(),
        });
    }
    let body: GroupBody = parse(body)?;
    Ok(Event::MergeGroup {
        repo: scene.repo,
        head: need(body.merge_group, "merge_group")?
            .head_sha
            .need("merge_group.head_sha")?,
    })
}
