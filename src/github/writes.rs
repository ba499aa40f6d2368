//! What may be written to GitHub. Each goes out once; see [`client`](super::client).

use async_trait::async_trait;
use http::Method as Verb;
use serde_json::{Value, json};

use super::client::Client;
use super::quota::Principal;
use super::wire::checks;
use super::{Answer, MergeAnswer, Writes, merging};
use crate::domain::model::{CheckRunId, HeadSha, PullNumber, Repository};
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
        let body = check_body(page);
        let reply = self.write_of(repo, Verb::PATCH, &tail, body).await?;
        let who = Principal::Installation(repo.installation);
        // What the run says now does not matter: the status told that it was taken.
        if reply.status.is_success() {
            return Ok(());
        }
        Err(reply.refusal(who, self.now()))
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
}

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
