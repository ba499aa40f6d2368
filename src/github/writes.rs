//! What is written, address by address. Each is sent once.

use async_trait::async_trait;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, parse};
use super::transport::As;
use super::{Answer, MergeAnswer, Refused, Writes, meaning};
use crate::domain::model::{CheckRunId, HeadSha, PullNumber, Repository};
use crate::domain::policy::Method as MergeMethod;
use crate::domain::render::check::CheckPage;

fn body_of(page: &CheckPage) -> Value {
    let mut body = json!({
        "output": { "title": page.title, "summary": page.summary, "text": page.text },
        "actions": page.buttons,
    });
    match page.conclusion {
        Some(conclusion) => {
            body["status"] = json!("completed");
            body["conclusion"] = json!(conclusion);
        }
        None => body["status"] = json!("in_progress"),
    }
    body
}

#[async_trait]
impl Writes for Client {
    async fn create_check(
        &self,
        repo: &Repository,
        head: &HeadSha,
        external_id: &str,
        page: &CheckPage,
    ) -> Answer<CheckRunId> {
        #[derive(Deserialize)]
        struct Created {
            id: CheckRunId,
        }
        let mut body = body_of(page);
        body["name"] = json!("countersign");
        body["head_sha"] = json!(head);
        body["external_id"] = json!(external_id);
        let raw = self
            .write_in_repo(repo, Method::POST, "/check-runs", &body)
            .await?;
        let who = As::Installation(repo.installation);
        let raw = self.transport.success(who, raw)?;
        Ok(parse::<Created>(&raw, "a created check run")?.id)
    }

    async fn update_check(
        &self,
        repo: &Repository,
        run: CheckRunId,
        page: &CheckPage,
    ) -> Answer<()> {
        let rest = format!("/check-runs/{run}");
        let body = body_of(page);
        let raw = self
            .write_in_repo(repo, Method::PATCH, &rest, &body)
            .await?;
        let who = As::Installation(repo.installation);
        self.transport.success(who, raw).map(|_| ())
    }

    async fn merge(
        &self,
        repo: &Repository,
        number: PullNumber,
        head: &HeadSha,
        method: MergeMethod,
    ) -> MergeAnswer {
        let rest = format!("/pulls/{number}/merge");
        let body = json!({ "sha": head, "merge_method": method });
        match self.write_in_repo(repo, Method::PUT, &rest, &body).await {
            Ok(raw) => meaning::merge(&raw, self.transport.now()),
            // No answer to the merge itself leaves it open; a token that could not be had does not.
            Err(Refused::Limited { after }) => MergeAnswer::Limited(after),
            Err(refused @ (Refused::Unauthorized(_) | Refused::Inactive(_))) => {
                MergeAnswer::Unauthorized(refused.to_string())
            }
            Err(refused) => MergeAnswer::Unknown(refused.to_string()),
        }
    }
}
