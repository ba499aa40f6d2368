//! Check runs and suites, commit statuses, workflow runs.

use serde_json::{Value, json};

use super::repository::{lite, reference};
use super::{account, api, app, commit, commit_simple, node_id, page, repository, time};
use crate::simulator::world::{CheckRun, Repo, RepoId, Status, Suite, WorkflowRun, World};

/// The open pull requests that come from *this* repository with this head: none for the pull request
/// of a fork, and those into another repository when this one is the fork.
fn pulls_of(world: &World, repo: &Repo, head: &str) -> Value {
    if !world.behaviour.list_pulls_in_checks {
        return json!([]);
    }
    let mut listed = Vec::new();
    for home in world.repos.values() {
        for pull in home.pulls.values() {
            if pull.open && pull.head.sha == head && pull.head.repo == Some(repo.id) {
                listed.push(json!({
                    "url": format!("{}/pulls/{}", api(world, home), pull.number),
                    "id": pull.id,
                    "number": pull.number,
                    "head": {
                        "ref": pull.head.branch,
                        "sha": pull.head.sha,
                        "repo": reference(world, repo),
                    },
                    "base": {
                        "ref": pull.base.branch,
                        "sha": pull.base.sha,
                        "repo": reference(world, home),
                    },
                }));
            }
        }
    }
    Value::Array(listed)
}

/// A check run.
pub fn check_run(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    let url = format!("{}/check-runs/{}", api(world, repo), run.id);
    let html = format!("{}/runs/{}", page(world, repo), run.id);
    json!({
        "id": run.id,
        "node_id": node_id("CR", run.id),
        "head_sha": run.head,
        "external_id": run.external_id.as_deref().unwrap_or_default(),
        "url": url,
        "html_url": html,
        "details_url": run.details_url.as_ref().unwrap_or(&html),
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": time(run.started_at),
        "completed_at": run.completed_at.map(time),
        "output": {
            "title": run.output.title,
            "summary": run.output.summary,
            "text": run.output.text,
            "annotations_count": run.output.annotations,
            "annotations_url": format!("{url}/annotations"),
        },
        "name": run.name,
        "check_suite": { "id": run.suite },
        "app": app(world, run.app),
        "pull_requests": pulls_of(world, repo, &run.head),
    })
}

/// A check run in a delivery: with its whole suite.
pub fn check_run_event(world: &World, repo: &Repo, run: &CheckRun) -> Value {
    let mut value = check_run(world, repo, run);
    if let Some(suite) = repo.suites.get(&run.suite) {
        value["check_suite"] = suite_core(world, repo, suite);
    }
    value
}

/// Where a suite stands: with its workflow run, or by its runs; the worst word wins.
fn standing<'a>(repo: &'a Repo, suite: &Suite) -> (&'a str, Option<&'a str>) {
    const WORST_FIRST: [&str; 8] = [
        "failure",
        "timed_out",
        "action_required",
        "cancelled",
        "stale",
        "success",
        "neutral",
        "skipped",
    ];
    let of_workflow = suite
        .workflow_run
        .and_then(|run| repo.workflow_runs.get(&run));
    if let Some(run) = of_workflow {
        return (&run.status, run.conclusion.as_deref());
    }
    let runs = repo.runs_of_suite(suite.id);
    if runs.is_empty() {
        return ("queued", None);
    }
    if runs.iter().any(|run| run.status != "completed") {
        return ("in_progress", None);
    }
    let has = |word: &&&str| {
        runs.iter()
            .any(|run| run.conclusion.as_deref() == Some(**word))
    };
    ("completed", WORST_FIRST.iter().find(has).copied())
}

fn suite_core(world: &World, repo: &Repo, suite: &Suite) -> Value {
    let (status, conclusion) = standing(repo, suite);
    json!({
        "id": suite.id,
        "node_id": node_id("CS", suite.id),
        "head_branch": suite.branch,
        "head_sha": suite.head,
        "status": status,
        "conclusion": conclusion,
        "url": format!("{}/check-suites/{}", api(world, repo), suite.id),
        "before": suite.before,
        "after": suite.head,
        "pull_requests": pulls_of(world, repo, &suite.head),
        "app": app(world, suite.app),
        "created_at": time(suite.created_at),
        "updated_at": time(suite.updated_at),
    })
}

/// A check suite in a delivery.
pub fn check_suite_event(world: &World, repo: &Repo, suite: &Suite) -> Value {
    let mut value = suite_core(world, repo, suite);
    let url = format!("{}/check-suites/{}", api(world, repo), suite.id);
    value["latest_check_runs_count"] = json!(repo.runs_of_suite(suite.id).len());
    value["check_runs_url"] = json!(format!("{url}/check-runs"));
    value["head_commit"] = head_commit(world, &suite.head);
    value
}

fn head_commit(world: &World, sha: &str) -> Value {
    world
        .pool
        .commit(sha)
        .map_or(Value::Null, |commit| commit_simple(&commit))
}

/// A check suite.
pub fn check_suite(world: &World, repo: &Repo, suite: &Suite) -> Value {
    let mut value = check_suite_event(world, repo, suite);
    value["repository"] = lite(world, repo);
    value
}

/// A commit status entry.
pub fn status(world: &World, repo: &Repo, status: &Status) -> Value {
    json!({
        "url": format!("{}/statuses/{}", api(world, repo), status.sha),
        "avatar_url": null,
        "id": status.id,
        "node_id": node_id("SC", status.id),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": time(status.created_at),
        "updated_at": time(status.created_at),
        "creator": account(world, Some(status.creator)),
    })
}

/// The fields of a `status` delivery.
pub fn status_event(world: &World, repo: RepoId, status: &Status) -> Value {
    let Some(repo) = world.repos.get(&repo) else {
        return Value::Null;
    };
    let branches: Vec<Value> = repo
        .branches
        .iter()
        .filter(|(_, tip)| **tip == status.sha)
        .map(|(name, tip)| {
            let url = format!("{}/commits/{tip}", api(world, repo));
            json!({
                "name": name,
                "commit": { "sha": tip, "url": url },
                "protected": world.protection_of(repo, name).is_some(),
            })
        })
        .collect();
    json!({
        "id": status.id,
        "sha": status.sha,
        "name": world.full_name(repo),
        "avatar_url": null,
        "target_url": status.target_url,
        "context": status.context,
        "description": status.description,
        "state": status.state,
        "commit": commit(world, repo, &status.sha),
        "branches": branches,
        "created_at": time(status.created_at),
        "updated_at": time(status.created_at),
    })
}

/// `GET /commits/{ref}/status`, newest per context; no status at all reads `pending`, as on GitHub.
pub fn combined_status(world: &World, repo: &Repo, sha: &str) -> Value {
    let latest = repo.latest_statuses(sha);
    let any = |word: &str| latest.iter().any(|status| status.state == word);
    let state = if any("failure") || any("error") {
        "failure"
    } else if latest.is_empty() || any("pending") {
        "pending"
    } else {
        "success"
    };
    let url = format!("{}/commits/{sha}", api(world, repo));
    let statuses: Vec<Value> = latest
        .iter()
        .map(|entry| {
            let mut entry = status(world, repo, entry);
            if let Value::Object(fields) = &mut entry {
                fields.remove("creator");
            }
            entry
        })
        .collect();
    json!({
        "state": state,
        "statuses": statuses,
        "sha": sha,
        "total_count": latest.len(),
        "repository": repository(world, repo),
        "commit_url": url,
        "url": format!("{url}/status"),
    })
}

/// A workflow run.
pub fn workflow_run(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    let api = api(world, repo);
    let url = format!("{api}/actions/runs/{}", run.id);
    let previous = (run.attempt > 1).then(|| format!("{url}/attempts/{}", run.attempt - 1));
    json!({
        "id": run.id,
        "name": run.name,
        "node_id": node_id("WFR", run.id),
        "check_suite_id": run.suite,
        "check_suite_node_id": node_id("CS", run.suite),
        "head_branch": run.branch.as_deref().unwrap_or_default(),
        "head_sha": run.head,
        "path": run.path,
        "display_title": run.name,
        "run_number": run.run_number,
        "run_attempt": run.attempt,
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "workflow_id": run.workflow_id,
        "workflow_url": format!("{api}/actions/workflows/{}", run.workflow_id),
        "url": url,
        "html_url": format!("{}/actions/runs/{}", page(world, repo), run.id),
        "pull_requests": pulls_of(world, repo, &run.head),
        "created_at": time(run.created_at),
        "updated_at": time(run.updated_at),
        "run_started_at": time(run.updated_at),
        "actor": account(world, Some(run.actor)),
        "triggering_actor": account(world, Some(run.actor)),
        "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"),
        "check_suite_url": format!("{api}/check-suites/{}", run.suite),
        "artifacts_url": format!("{url}/artifacts"),
        "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"),
        "previous_attempt_url": previous,
        "head_commit": head_commit(world, &run.head),
        "repository": lite(world, repo),
        "head_repository": lite(world, repo),
    })
}

/// The workflow of a run.
pub fn workflow(world: &World, repo: &Repo, run: &WorkflowRun) -> Value {
    let id = run.workflow_id;
    let (api, page) = (api(world, repo), page(world, repo));
    json!({
        "id": id,
        "node_id": node_id("W", id),
        "name": run.name,
        "path": run.path,
        "state": "active",
        "created_at": time(repo.created_at),
        "updated_at": time(repo.created_at),
        "url": format!("{api}/actions/workflows/{id}"),
        "html_url": format!("{page}/blob/{}/{}", repo.default_branch, run.path),
        "badge_url": format!("{page}/workflows/{}/badge.svg", run.name),
    })
}
