//! `POST /graphql`, for one query alone: which review conversations of a pull request are resolved.
//!
//! It is not parsed. Whatever asks for `reviewThreads` gets `isResolved`, `id` and `isOutdated` of each,
//! a hundred at a time; it names the pull request by the variables `owner`, `name` (or `repo`) and
//! `number`, and the page by `after` (or `cursor`). As on GitHub refusals are answers of status 200 that
//! hold `errors`.

use serde_json::{Value, json};

use super::asked::{Asked, Scene, text};
use super::reply::Reply;
use crate::simulator::auth::{self, Caller, Needs};
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal, ReviewThread};

const PAGE: usize = 100;

/// Answers the query.
pub fn query(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let query = asked.text("query").unwrap_or_default();
    if !query.contains("reviewThreads") {
        let text = "This GitHub answers the query for reviewThreads alone.";
        return Ok(Reply::ok(json!({ "errors": [{ "message": text }] })));
    }
    let said = &asked.body["variables"];
    let answered = threads(scene, &asked.caller, said);
    Ok(Reply::ok(answered.unwrap_or_else(|refusal| {
        let kind = if refusal.status == 404 {
            "NOT_FOUND"
        } else {
            "FORBIDDEN"
        };
        let path = ["repository", "pullRequest"];
        json!({
            "data": { "repository": null },
            "errors": [{ "type": kind, "path": path, "message": refusal.message }],
        })
    })))
}

fn threads(scene: &Scene<'_>, caller: &Caller, said: &Value) -> Done<Value> {
    let named = text(said, "name").or_else(|| text(said, "repo"));
    let (owner, name) = (
        text(said, "owner").unwrap_or_default(),
        named.unwrap_or_default(),
    );
    let unknown = |_| {
        let text = format!("Could not resolve to a Repository with the name '{owner}/{name}'.");
        Refusal::new(404, text)
    };
    let world = &*scene.world;
    let repo = world
        .repo_named(&format!("{owner}/{name}"))
        .map_err(unknown)?;
    let repo = world.repo(repo)?;
    if let Caller::Installation(token) = caller {
        let needs = Needs::Read(&["pull_requests"]);
        auth::enter(world, token, repo, needs).map_err(|refusal| match refusal.status {
            404 => unknown(refusal),
            _ => refusal,
        })?;
    }
    let number = said["number"].as_u64().unwrap_or_default();
    if !repo.pulls.contains_key(&number) {
        let text = format!("Could not resolve to a PullRequest with the number of {number}.");
        return Err(Refusal::new(404, text));
    }
    let after = text(said, "after").or_else(|| text(said, "cursor"));
    let after = after.and_then(|cursor| cursor.strip_prefix("thread:")?.parse().ok());
    let all = repo.threads.values().filter(|thread| thread.pull == number);
    let total = all.clone().count();
    let left: Vec<&ReviewThread> = all
        .filter(|thread| after.is_none_or(|after: u64| thread.id > after))
        .collect();
    let shown = left.get(..PAGE).unwrap_or(&left);
    let print = |thread: &&ReviewThread| {
        json!({
            "id": payload::node_id("PRRT", thread.id),
            "isResolved": thread.resolved,
            "isOutdated": false,
        })
    };
    Ok(
        json!({ "data": { "repository": { "pullRequest": { "reviewThreads": {
        "totalCount": total,
        "nodes": shown.iter().map(print).collect::<Vec<_>>(),
        "pageInfo": {
            "hasNextPage": left.len() > shown.len(),
            "endCursor": shown.last().map(|thread| format!("thread:{}", thread.id)),
        },
    } } } } }),
    )
}
