//! What reports on commits: check suites and runs, commit statuses, workflow runs.

use serde_json::Value;

use super::{AccountId, AppId, Sha, Time};

/// All runs of one App on one commit; for GitHub Actions: of one workflow run.
#[derive(Debug, Clone)]
pub struct Suite {
    /// Identity.
    pub id: u64,
    /// Whose.
    pub app: AppId,
    /// The commit.
    pub head: Sha,
    /// The branch it was pushed to; `None` for forks' branches, as on GitHub.
    pub branch: Option<String>,
    /// The branch's tip before the push.
    pub before: Option<Sha>,
    /// The workflow run it belongs to, for GitHub Actions.
    pub workflow_run: Option<u64>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

/// What a check run shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// One line.
    pub title: Option<String>,
    /// Markdown.
    pub summary: Option<String>,
    /// More Markdown; where evidence stands.
    pub text: Option<String>,
    /// How many annotations there are.
    pub annotations: u64,
}

/// A button of a check run (`actions` in the API).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// Its label, at most 20 characters.
    pub label: String,
    /// What it does, at most 40 characters.
    pub description: String,
    /// What `requested_action` tells, at most 20 characters.
    pub identifier: String,
}

/// One check run. Words are kept as words, so that stories can use words GitHub has yet to invent.
#[derive(Debug, Clone)]
pub struct CheckRun {
    /// Identity; higher is later.
    pub id: u64,
    /// Its suite.
    pub suite: u64,
    /// Whose.
    pub app: AppId,
    /// Its name: what branch protection calls the context.
    pub name: String,
    /// The commit.
    pub head: Sha,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// `success`, `failure`, ...; only when completed.
    pub conclusion: Option<String>,
    /// What its App calls it.
    pub external_id: Option<String>,
    /// A page about it.
    pub details_url: Option<String>,
    /// When it started.
    pub started_at: Time,
    /// When it completed.
    pub completed_at: Option<Time>,
    /// What it shows.
    pub output: Output,
    /// Its buttons.
    pub buttons: Vec<Button>,
    /// A re-run replaced it: it is not among the latest any more, though nothing stands in its place
    /// until the new run is created.
    pub set_aside: bool,
}

/// One commit status entry; the newest per context is what counts.
#[derive(Debug, Clone)]
pub struct Status {
    /// Identity; higher is later.
    pub id: u64,
    /// The commit.
    pub sha: Sha,
    /// `error`, `failure`, `pending` or `success`.
    pub state: String,
    /// Its name.
    pub context: String,
    /// A short text.
    pub description: Option<String>,
    /// A page about it.
    pub target_url: Option<String>,
    /// Who set it.
    pub creator: AccountId,
    /// The App that set it, if one did.
    pub app: Option<AppId>,
    /// When.
    pub created_at: Time,
}

/// A run of a GitHub Actions workflow.
#[derive(Debug, Clone)]
pub struct WorkflowRun {
    /// Identity.
    pub id: u64,
    /// The workflow's id: the same for every run of one path.
    pub workflow_id: u64,
    /// The workflow's name.
    pub name: String,
    /// The workflow's file, like `.github/workflows/ci.yml`.
    pub path: String,
    /// What started it (`pull_request`, `push`, `workflow_dispatch`, ...).
    pub event: String,
    /// The commit.
    pub head: Sha,
    /// The branch.
    pub branch: Option<String>,
    /// Its check suite.
    pub suite: u64,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// Its conclusion, when completed.
    pub conclusion: Option<String>,
    /// How often it was run, from 1.
    pub attempt: u64,
    /// A number within its workflow.
    pub run_number: u64,
    /// Who started it.
    pub actor: AccountId,
    /// What `workflow_dispatch` gave it; null for other events.
    pub inputs: Value,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}
