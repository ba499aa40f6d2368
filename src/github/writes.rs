//! What may be written to GitHub. Each goes out once; see [`client`](super::client).

use async_trait::async_trait;
use http::Method as Verb;
use serde_json::{Value, json};

use super::client::Client;
use super::quota::Principal;
use super::reads::encoded;
use super::wire::{self, checks};
use super::{Answer, MergeAnswer, Refused, Writes, client, merging};
use crate::domain::model::{BaseRef, CheckRunId, CommentId, HeadSha, PullNumber, Repository};
use crate::domain::policy::Method;
use crate::domain::render::check::CheckPage;

/// The name of our check run, which repositories require.
const CHECK_NAME: &str = "countersign";
/// GitHub refuses a summary or text that is longer, and with it the conclusion. It speaks of
/// characters and counts bytes.
const LONGEST_TEXT: usize = 65_535;

#[async_trait]
impl Writes for Client {
    async fn create_check(
        &self,
        repo: &Repository,
        head: &HeadSha,
        external_id: &str,
        page: &CheckPage,
    ) -> Answer<CheckRunId> {
        let mut body = check_body(page);
        body["name"] = json!(CHECK_NAME);
        body["head_sha"] = json!(head);
        body["external_id"] = json!(external_id);
        let reply = self.write_of(repo, Verb::POST, "/check-runs", body).await?;
        let who = Principal::Installation(repo.installation);
        checks::made_run(self.accept(who, &reply)?)
    }

    async fn update_check(
        &self,
        repo: &Repository,
        run: CheckRunId,
        page: &CheckPage,
    ) -> Answer<()> {
        let tail = format!("/check-runs/{run}");
        self.take(repo, Verb::PATCH, &tail, check_body(page)).await
    }

    async fn merge(
        &self,
        repo: &Repository,
        number: PullNumber,
        head: &HeadSha,
        method: Method,
    ) -> MergeAnswer {
        let tail = format!("/pulls/{number}/merge");
        let method = match method {
            Method::Merge => "merge",
            Method::Squash => "squash",
            Method::Rebase => "rebase",
        };
        let body = json!({ "sha": head, "merge_method": method });
        let who = Principal::Installation(repo.installation);
        match self.write_of(repo, Verb::PUT, &tail, body).await {
            Ok(reply) => merging::meaning(&reply, who, self.now()),
            Err(refused) => merging::from_refusal(refused),
        }
    }

    async fn react(&self, repo: &Repository, comment: CommentId, content: &str) -> Answer<()> {
        let tail = format!("/issues/comments/{comment}/reactions");
        let body = json!({ "content": content });
        self.take(repo, Verb::POST, &tail, body).await
    }

    async fn comment(
        &self,
        repo: &Repository,
        number: PullNumber,
        body: &str,
    ) -> Answer<CommentId> {
        let tail = format!("/issues/{number}/comments");
        let body = json!({ "body": cut(body) });
        let reply = self.write_of(repo, Verb::POST, &tail, body).await?;
        let who = Principal::Installation(repo.installation);
        let made = self.accept(who, &reply)?;
        let id = made.get("id").and_then(Value::as_u64);
        wire::need("a comment", "id", id.and_then(CommentId::new))
    }

    async fn edit_comment(&self, repo: &Repository, comment: CommentId, body: &str) -> Answer<()> {
        let tail = format!("/issues/comments/{comment}");
        let body = json!({ "body": cut(body) });
        self.take(repo, Verb::PATCH, &tail, body).await
    }

    async fn add_label(&self, repo: &Repository, number: PullNumber, label: &str) -> Answer<()> {
        let tail = format!("/issues/{number}/labels");
        let body = json!({ "labels": [label] });
        self.take(repo, Verb::POST, &tail, body).await
    }

    async fn remove_label(&self, repo: &Repository, number: PullNumber, label: &str) -> Answer<()> {
        let tail = format!("/issues/{number}/labels/{}", encoded(label));
        match self.take(repo, Verb::DELETE, &tail, Value::Null).await {
            // GitHub says 404 to a label that is not there, and to an issue that is not: either way
            // this label is not on it.
            Err(Refused::NotFound(_)) => Ok(()),
            answer => answer,
        }
    }

    async fn delete_branch(&self, repo: &Repository, branch: &BaseRef) -> Answer<()> {
        let segments: Vec<_> = branch.as_str().split('/').map(encoded).collect();
        let tail = format!("/git/refs/heads/{}", segments.join("/"));
        self.take(repo, Verb::DELETE, &tail, Value::Null).await
    }

    async fn disarm_auto_merge(&self, repo: &Repository, number: PullNumber) -> Answer<()> {
        let who = Principal::Installation(repo.installation);
        let Some(id) = self.armed(repo, number).await? else {
            return Ok(());
        };
        let disarmed = self.graphql(who, DISARM, json!({ "id": id })).await;
        match (disarmed, self.armed(repo, number).await?) {
            // Whatever was said to the write: what stands is what counts.
            (_, None) => Ok(()),
            (Err(refused), Some(_)) => Err(refused),
            (Ok(_), Some(_)) => Err(wire::unreadable(
                "GitHub's auto-merge",
                "it is still armed after it was disarmed",
            )),
        }
    }

    async fn start_workflow(
        &self,
        repo: &Repository,
        file: &str,
        branch: &BaseRef,
        head: &HeadSha,
        number: PullNumber,
    ) -> Answer<()> {
        let name = file.rsplit('/').next().unwrap_or(file);
        let tail = format!("/actions/workflows/{}/dispatches", encoded(name));
        let body = json!({
            "ref": branch,
            "inputs": { "head": head, "number": number.to_string() },
        });
        self.take(repo, Verb::POST, &tail, body).await
    }
}

impl Client {
    /// The id by which auto-merge is disarmed, if it is armed.
    async fn armed(&self, repo: &Repository, number: PullNumber) -> Answer<Option<String>> {
        let who = Principal::Installation(repo.installation);
        let variables = json!({
            "owner": repo.name.owner(),
            "name": repo.name.name(),
            "number": number.get(),
        });
        let data = self.graphql(who, AUTO_MERGE, variables).await?;
        if wire::answering_repository(&data).is_some_and(|id| id != repo.id) {
            return Err(client::elsewhere(repo));
        }
        let pull = data.pointer("/repository/pullRequest");
        let armed = pull.and_then(|pull| pull.get("autoMergeRequest"));
        if armed.is_some_and(Value::is_null) {
            return Ok(None);
        }
        let id = pull.and_then(|pull| pull.get("id")).and_then(Value::as_str);
        wire::need("the pull request", "id", id).map(|id| Some(id.to_owned()))
    }

    /// A write whose answer's body does not matter: the status told that it was taken.
    async fn take(&self, repo: &Repository, verb: Verb, tail: &str, body: Value) -> Answer<()> {
        let reply = self.write_of(repo, verb, tail, body).await?;
        if reply.status.is_success() {
            return Ok(());
        }
        let who = Principal::Installation(repo.installation);
        Err(reply.refusal(who, self.now()))
    }
}

/// Whether GitHub's own auto-merge is armed, and by which id it is disarmed.
const AUTO_MERGE: &str = "query($owner: String!, $name: String!, $number: Int!) { \
     repository(owner: $owner, name: $name) { databaseId \
     pullRequest(number: $number) { id autoMergeRequest { enabledAt } } } }";
const DISARM: &str = "mutation($id: ID!) { \
     disablePullRequestAutoMerge(input: { pullRequestId: $id }) { pullRequest { id } } }";

/// What both calls say alike. GitHub takes `completed` from the conclusion, but not reliably the
/// other way round, so the status is always said.
fn check_body(page: &CheckPage) -> Value {
    let mut output = json!({
        "title": page.title,
        "summary": cut(&page.summary),
    });
    if !page.text.is_empty() {
        output["text"] = json!(cut(&page.text));
    }
    let mut body = json!({
        "status": "in_progress",
        "output": output,
        "actions": page.buttons,
    });
    if let Some(conclusion) = page.conclusion {
        body["status"] = json!("completed");
        body["conclusion"] = json!(conclusion);
    }
    body
}

/// The last safety net: the renderer keeps the limit by itself, but a conclusion must never be lost
/// over its explanation.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests;
