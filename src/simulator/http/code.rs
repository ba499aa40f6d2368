//! Commits, refs, files.

use serde_json::{Value, json};

use super::asked::{Asked, Scene};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal};

/// Larger files come without their content.
const LARGEST_CONTENT: u64 = 1024 * 1024;

fn found(value: Value) -> Done<Reply> {
    match value {
        Value::Null => Err(Refusal::not_found()),
        value => Ok(Reply::ok(value)),
    }
}

/// `GET /git/ref/heads/{branch}`.
pub fn git_ref(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    found(payload::git_ref(scene.world, repo, asked.param("branch")))
}

/// `DELETE /git/refs/heads/{branch}`.
pub fn delete_ref(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (branch, by) = (asked.param("branch"), asked.principal(scene.world));
    if !scene.repo(asked)?.branches.contains_key(branch) {
        return Err(Refusal::new(422, "Reference does not exist"));
    }
    scene
        .world
        .move_branch(asked.repo, branch, None, by, true)?;
    Ok(Reply::nothing())
}

/// `GET /git/commits/{sha}`.
pub fn git_commit(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    found(payload::git_commit(scene.world, repo, asked.param("sha")))
}

/// `GET /commits/{ref}`.
pub fn commit(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    found(payload::commit(scene.world, repo, &sha))
}

/// `GET /contents/{path}?ref=`.
pub fn contents(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let name = asked.query("ref").unwrap_or(&repo.default_branch);
    let unknown = |_| Refusal::new(404, format!("No commit found for the ref {name}"));
    let sha = scene.commit_named(repo, name).map_err(unknown)?;
    let mut value = payload::content(scene.world, repo, asked.param("path"), &sha);
    if value["size"]
        .as_u64()
        .is_some_and(|size| size > LARGEST_CONTENT)
    {
        value["content"] = json!("");
        value["encoding"] = json!("none");
    }
    // A folder is a list that has no pages.
    found(value)
}
