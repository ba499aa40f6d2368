//! What machines say of a commit: check runs, statuses, workflow runs.

use serde::Deserialize;
use serde_json::Value;

use super::{Account, AppAccount, Numbered, actor, app, head, may_hold_evidence, need, time};
use crate::domain::facts::{
    CheckRun, CommitStatus, Conclusion, LONGEST_TITLE, RunStatus, StatusState, WorkflowRun,
};
use crate::domain::model::{CheckRunId, StatusId, SuiteId, WorkflowRunId};
use crate::github::Answer;

#[derive(Debug, Deserialize)]
struct WireRun {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    app: Option<AppAccount>,
    #[serde(default)]
    head_sha: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    check_suite: Option<Numbered>,
    #[serde(default)]
    external_id: Option<String>,
    #[serde(default)]
    completed_at: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    output: Option<WireOutput>,
}

#[derive(Debug, Deserialize)]
struct WireOutput {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    text: Option<String>,
}

/// A check run.
pub(in crate::github) fn run(value: Value) -> Answer<CheckRun> {
    const WHAT: &str = "a check run";
    let wire: WireRun = super::read(WHAT, value)?;
    let (title, text) = wire
        .output
        .map_or((None, None), |output| (output.title, output.text));
    Ok(CheckRun {
        id: need(WHAT, "id", run_id(wire.id))?,
        name: need(WHAT, "name", wire.name)?,
        app: app(wire.app),
        head: head(WHAT, wire.head_sha.as_deref())?,
        status: run_status(wire.status, wire.conclusion),
        suite: wire.check_suite.and_then(|suite| SuiteId::new(suite.id?)),
        external_id: wire.external_id.filter(|id| !id.is_empty()),
        completed_at: time(wire.completed_at.as_deref()),
        url: wire.html_url,
        output_text: text.filter(|text| may_hold_evidence(text)),
        output_title: title.map(|title| title.chars().take(LONGEST_TITLE).collect()),
    })
}

/// The id of a run that was just made.
pub(in crate::github) fn made_run(value: Value) -> Answer<CheckRunId> {
    const WHAT: &str = "the check run that was made";
    let wire: Numbered = super::read(WHAT, value)?;
    need(WHAT, "id", run_id(wire.id))
}

fn run_id(id: Option<u64>) -> Option<CheckRunId> {
    id.and_then(CheckRunId::new)
}

/// A run that was set back to unfinished may keep its old conclusion: only `completed` makes the
/// conclusion count.
fn run_status(status: Option<String>, conclusion: Option<String>) -> RunStatus {
    let status = status.unwrap_or_default();
    if status != "completed" {
        return RunStatus::Unfinished(status);
    }
    let word = conclusion.unwrap_or_default();
    RunStatus::Completed(match word.as_str() {
        "success" => Conclusion::Success,
        "failure" => Conclusion::Failure,
        "neutral" => Conclusion::Neutral,
        "cancelled" => Conclusion::Cancelled,
        "skipped" => Conclusion::Skipped,
        "timed_out" => Conclusion::TimedOut,
        "action_required" => Conclusion::ActionRequired,
        "stale" => Conclusion::Stale,
        "startup_failure" => Conclusion::StartupFailure,
        _ => Conclusion::Unknown(word),
    })
}

#[derive(Debug, Deserialize)]
struct WireStatus {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    creator: Option<Account>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    target_url: Option<String>,
}

/// A commit status.
pub(in crate::github) fn status(value: Value) -> Answer<CommitStatus> {
    const WHAT: &str = "a commit status";
    let wire: WireStatus = super::read(WHAT, value)?;
    let word = wire.state.unwrap_or_default();
    Ok(CommitStatus {
        id: wire.id.and_then(StatusId::new),
        context: need(WHAT, "context", wire.context)?,
        state: match word.as_str() {
            "success" => StatusState::Success,
            "failure" => StatusState::Failure,
            "error" => StatusState::Error,
            "pending" => StatusState::Pending,
            _ => StatusState::Unknown(word),
        },
        creator: actor(wire.creator),
        updated_at: time(wire.updated_at.as_deref()),
        url: wire.target_url.filter(|url| !url.is_empty()),
    })
}

#[derive(Debug, Deserialize)]
struct WireWorkflowRun {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    check_suite_id: Option<u64>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    run_attempt: Option<u64>,
    #[serde(default)]
    head_sha: Option<String>,
}

/// A workflow run.
pub(in crate::github) fn workflow_run(value: Value) -> Answer<WorkflowRun> {
    const WHAT: &str = "a workflow run";
    let wire: WireWorkflowRun = super::read(WHAT, value)?;
    let path = need(WHAT, "path", wire.path)?;
    Ok(WorkflowRun {
        id: need(WHAT, "id", wire.id.and_then(WorkflowRunId::new))?,
        suite: need(
            WHAT,
            "check_suite_id",
            wire.check_suite_id.and_then(SuiteId::new),
        )?,
        // Runs of a workflow that is required from elsewhere carry `@ref`.
        path: path.split('@').next().unwrap_or_default().to_owned(),
        event: wire.event.unwrap_or_default(),
        attempt: wire.run_attempt.unwrap_or(1),
        head: head(WHAT, wire.head_sha.as_deref())?,
    })
}
