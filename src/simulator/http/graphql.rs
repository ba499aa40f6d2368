//! `POST /graphql`: which review conversations of a pull request are resolved, whether its auto-merge is
//! armed, and the mutation that disarms it.
//!
//! Queries are not parsed; each is known by a word in it. Whatever asks for `reviewThreads` gets `isResolved`, `id` and `isOutdated` of each,
//! a hundred at a time; it names the pull request by the variables `owner`, `name` (or `repo`) and
//! `number`, and the page by `after` (or `cursor`). As on GitHub refusals are answers of status 200 that
//! hold `errors`.

use serde_json::{Value, json};

use super::asked::{Asked, Scene, text};
use super::reply::Reply;
use crate::simulator::auth::{self, Caller, Needs};
use crate::simulator::payload;
use crate::simulator::world::{Done, Pull, Refusal, Repo, ReviewThread};

const PAGE: usize = 100;

/// Answers the query.
pub fn query(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let query = asked.text("query").unwrap_or_default();
    let said = &asked.body["variables"];
    let answered = if query.contains("disablePullRequestAutoMerge") {
        disarm(scene, asked, said)
    } else if query.contains("autoMergeRequest") {
        armed(scene, &asked.caller, said)
    } else if query.contains("reviewThreads") {
        threads(scene, &asked.caller, said)
    } else {
        let text = "This GitHub knows no such query.";
        return Ok(Reply::ok(json!({ "errors": [{ "message": text }] })));
    };
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

/// The pull request that the variables name, for a caller who may read it.
fn pull_of<'a>(scene: &'a Scene<'_>, caller: &Caller, said: &Value) -> Done<(&'a Repo, &'a Pull)> {
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
    let unknown = || {
        let text = format!("Could not resolve to a PullRequest with the number of {number}.");
        Refusal::new(404, text)
    };
    Ok((repo, repo.pulls.get(&number).ok_or_else(unknown)?))
}

fn armed(scene: &Scene<'_>, caller: &Caller, said: &Value) -> Done<Value> {
    let (repo, pull) = pull_of(scene, caller, said)?;
    let request = pull.auto_merge.as_ref();
    Ok(json!({ "data": { "repository": {
        "databaseId": repo.id,
        "pullRequest": {
            "id": payload::node_id("PR", pull.id),
            "autoMergeRequest": request.map(|_| json!({ "enabledAt": null })),
        },
    } } }))
}

fn disarm(scene: &mut Scene<'_>, asked: &Asked, said: &Value) -> Done<Value> {
    let wanted = text(said, "id").unwrap_or_default();
    let all = scene.world.repos.values();
    let mut all = all.flat_map(|repo| repo.pulls.values().map(move |pull| (repo, pull)));
    let found = all.find(|(_, pull)| payload::node_id("PR", pull.id) == wanted);
    let unknown = || {
        let text = format!("Could not resolve to a node with the global id of '{wanted}'");
        Refusal::new(404, text)
    };
    let (repo, pull) = found.ok_or_else(unknown)?;
    if let Caller::Installation(token) = &asked.caller {
        auth::enter(scene.world, token, repo, Needs::Write(&["pull_requests"]))?;
    }
    let (repo, number) = (repo.id, pull.number);
    let by = asked.principal(scene.world);
    scene.world.disarm_auto_merge(repo, number, by)?;
    Ok(json!({ "data": { "disablePullRequestAutoMerge": { "pullRequest": { "id": wanted } } } }))
}

fn threads(scene: &Scene<'_>, caller: &Caller, said: &Value) -> Done<Value> {
    let (repo, pull) = pull_of(scene, caller, said)?;
    let number = pull.number;
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
