//! `GET /compare/{base}...{head}`: the three-dot comparison, and where GitHub cuts it.
//!
//! Without a word about pages it lists the *last* 250 commits; with one, pages of them, the files on the
//! first page alone. Either way it lists 300 files at most and says nothing about it.

use serde_json::json;

use super::asked::{Asked, Scene};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, Refusal, Repo};

const MOST_COMMITS: usize = 250;
const MOST_FILES: usize = 300;

/// Compares two commits, branches, or branches of forks (`owner:branch`).
pub fn compare(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let range = asked.param("range");
    let (base, head) = range.split_once("...").ok_or_else(Refusal::not_found)?;
    let (base_sha, head_sha) = (side(scene, repo, base)?, side(scene, repo, head)?);
    let mut whole = payload::compare(scene.world, repo, &base_sha, &head_sha);
    if whole["merge_base_commit"].is_null() {
        let text = format!("No common ancestor between {base} and {head}.");
        return Err(Refusal::new(404, text));
    }
    if let Some(files) = whole["files"].as_array_mut() {
        files.truncate(MOST_FILES);
    }
    let paged = asked.query("page").is_some() || asked.query("per_page").is_some();
    if paged {
        if asked.query("page").is_some_and(|page| page != "1") {
            whole["files"] = json!([]);
        }
        return Ok(Reply::with_list("commits", whole));
    }
    if let Some(commits) = whole["commits"].as_array_mut() {
        let earlier = commits.len().saturating_sub(MOST_COMMITS);
        commits.drain(..earlier);
    }
    Ok(Reply::ok(whole))
}

fn side(scene: &Scene<'_>, repo: &Repo, name: &str) -> Done<String> {
    let unknown = |_| Refusal::not_found();
    let Some((owner, branch)) = name.split_once(':') else {
        return scene.commit_named(repo, name).map_err(unknown);
    };
    let root = repo.fork_of.unwrap_or(repo.id);
    let of_owner = scene.world.repos.values().find(|one| {
        let family = one.id == root || one.fork_of == Some(root);
        family && scene.world.login(one.owner).eq_ignore_ascii_case(owner)
    });
    let of_owner = of_owner.ok_or_else(Refusal::not_found)?;
    scene.commit_named(of_owner, branch).map_err(unknown)
}
