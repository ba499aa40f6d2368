//! The routes that write.

use serde_json::{Value, json};

use super::Asked;
use super::auth::{Who, allowed};
use super::reading::number;
use super::reply::Reply;
use crate::simulator::Simulator;
use crate::simulator::payload;
use crate::simulator::world::{
    AppId, Button, CheckDraft, CheckEdit, Done, MergeMethod, MergeRequest, Output, Principal,
    Refusal, RepoId, StatusDraft, World,
};

impl Simulator {
    pub(super) fn write_route(&self, asked: &Asked<'_>, id: RepoId, rest: &[&str]) -> Done<Reply> {
        let body = &asked.body;
        match (asked.method, rest) {
            ("POST", ["check-runs"]) => self.writing(asked, id, "checks", |world, app| {
                let run = world.create_check_run(id, app, check_draft(body))?;
                let repo = world.repo(id)?;
                let run = repo.check_runs.get(&run).ok_or_else(Refusal::not_found)?;
                Ok(Reply::created(payload::check_run(world, repo, run)))
            }),
            ("PATCH", ["check-runs", run]) => self.writing(asked, id, "checks", |world, app| {
                let run = run.parse().map_err(|_| Refusal::not_found())?;
                world.update_check_run(id, run, app, check_edit(body))?;
                let repo = world.repo(id)?;
                let run = repo.check_runs.get(&run).ok_or_else(Refusal::not_found)?;
                Ok(Reply::ok(payload::check_run(world, repo, run)))
            }),
            ("PUT", ["pulls", pull, "merge"]) => {
                self.writing(asked, id, "contents", |world, app| {
                    let request = merge_request(body)?;
                    let sha = world.merge(id, number(pull)?, Principal::App(app), &request)?;
                    let message = "Pull Request successfully merged";
                    Ok(Reply::ok(
                        json!({ "sha": sha, "merged": true, "message": message }),
                    ))
                })
            }
            ("PUT", ["pulls", pull, "update-branch"]) => {
                self.writing(asked, id, "contents", |world, app| {
                    let expected = body["expected_head_sha"].as_str();
                    world.update_branch(id, number(pull)?, Principal::App(app), expected)?;
                    let mut reply =
                        Reply::ok(json!({ "message": "Updating pull request branch." }));
                    reply.status = 202;
                    Ok(reply)
                })
            }
            ("POST", ["statuses", sha]) => self.writing(asked, id, "statuses", |world, app| {
                let draft = StatusDraft {
                    sha: (*sha).to_owned(),
                    state: text(body, "state").unwrap_or_default(),
                    context: text(body, "context").unwrap_or_default(),
                    description: text(body, "description"),
                    target_url: text(body, "target_url"),
                };
                world.set_status(id, Principal::App(app), draft)?;
                Ok(Reply::created(json!({ "state": body["state"] })))
            }),
            ("POST", ["issues", issue, "comments"]) => {
                self.writing(asked, id, "issues", |world, app| {
                    let words = text(body, "body").unwrap_or_default();
                    let comment = world.comment(id, number(issue)?, Principal::App(app), &words)?;
                    let repo = world.repo(id)?;
                    let comment = repo.comments.get(&comment).ok_or_else(Refusal::not_found)?;
                    Ok(Reply::created(payload::comment(world, repo, comment)))
                })
            }
            _ => Err(Refusal::not_found()),
        }
    }

    /// Lets our App write in a repository, if it may.
    fn writing(
        &self,
        asked: &Asked<'_>,
        id: RepoId,
        permission: &str,
        with: impl FnOnce(&mut World, AppId) -> Done<Reply>,
    ) -> Done<Reply> {
        let mut world = self.lock();
        if !matches!(asked.who, Who::Installation(_)) {
            return Err(Refusal::new(401, "Requires authentication"));
        }
        allowed(&world, asked.who, id, permission, "write")?;
        let app = world.our_app;
        with(&mut world, app)
    }
}

fn text(body: &Value, name: &str) -> Option<String> {
    body[name].as_str().map(str::to_owned)
}

fn output(body: &Value) -> Option<Output> {
    let output = body.get("output").filter(|output| output.is_object())?;
    Some(Output {
        title: text(output, "title"),
        summary: text(output, "summary"),
        text: text(output, "text"),
        annotations: output["annotations"]
            .as_array()
            .map_or(0, |list| list.len() as u64),
    })
}

fn buttons(body: &Value) -> Option<Vec<Button>> {
    let actions = body["actions"].as_array()?;
    let button = |action: &Value| Button {
        label: text(action, "label").unwrap_or_default(),
        description: text(action, "description").unwrap_or_default(),
        identifier: text(action, "identifier").unwrap_or_default(),
    };
    Some(actions.iter().map(button).collect())
}

fn check_draft(body: &Value) -> CheckDraft {
    CheckDraft {
        name: text(body, "name").unwrap_or_default(),
        head: text(body, "head_sha").unwrap_or_default(),
        status: text(body, "status"),
        conclusion: text(body, "conclusion"),
        external_id: text(body, "external_id"),
        details_url: text(body, "details_url"),
        output: output(body).unwrap_or_default(),
        buttons: buttons(body).unwrap_or_default(),
        started_at: None,
        completed_at: None,
        suite: None,
    }
}

fn check_edit(body: &Value) -> CheckEdit {
    CheckEdit {
        name: text(body, "name"),
        status: text(body, "status"),
        conclusion: text(body, "conclusion"),
        external_id: text(body, "external_id"),
        details_url: text(body, "details_url"),
        output: output(body),
        buttons: buttons(body),
    }
}

fn merge_request(body: &Value) -> Done<MergeRequest> {
    let method = match text(body, "merge_method") {
        None => None,
        Some(word) => Some(MergeMethod::read(&word).ok_or_else(|| {
            Refusal::invalid("PullRequest", "merge_method", "is not a known method")
        })?),
    };
    Ok(MergeRequest {
        sha: text(body, "sha"),
        method,
        title: text(body, "commit_title"),
        message: text(body, "commit_message"),
    })
}
