//! Pull requests: reading them, and the two calls that land them.

use serde_json::json;

use super::asked::{Asked, Scene, impossible};
use super::reply::Reply;
use crate::simulator::payload;
use crate::simulator::world::{Done, MergeMethod, MergeRequest, Pull, Refusal, Repo, World};

/// Lists of commits and files end here, without a sign.
const MOST_COMMITS: usize = 250;
const MOST_FILES: usize = 3_000;

/// `GET /pulls`: open ones unless asked, newest first.
pub fn list(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let state = asked.query("state").unwrap_or("open");
    let head = |pull: &Pull| {
        let owner = scene.world.login(pull.head.owner);
        format!("{owner}:{}", pull.head.branch)
    };
    let wanted = |pull: &&Pull| {
        (state == "all" || pull.open == (state == "open"))
            && asked
                .query("base")
                .is_none_or(|base| pull.base.branch == base)
            && asked
                .query("head")
                .is_none_or(|wanted| head(pull) == wanted)
    };
    let mut pulls: Vec<&Pull> = repo.pulls.values().rev().filter(wanted).collect();
    if asked.query("sort") == Some("updated") {
        pulls.sort_by_key(|pull| std::cmp::Reverse((pull.updated_at, pull.number)));
    }
    if asked.query("direction") == Some("asc") {
        pulls.reverse();
    }
    Ok(simple(scene.world, repo, pulls))
}

fn simple(world: &World, repo: &Repo, pulls: Vec<&Pull>) -> Reply {
    let print = |pull| payload::pull_simple(world, repo, pull);
    Reply::list(pulls.into_iter().map(print).collect())
}

/// `GET /pulls/{number}`: what sets GitHub computing whether it merges.
pub fn pull(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    scene.world.read_pull(asked.repo, asked.number("number")?)?;
    let (repo, pull) = (scene.repo(asked)?, scene.pull(asked)?);
    Ok(Reply::ok(payload::pull(scene.world, repo, pull)))
}

/// `GET /pulls/{number}/files`.
pub fn files(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (repo, pull) = (scene.repo(asked)?, scene.pull(asked)?);
    let mut files = payload::pull_files(scene.world, repo, pull);
    files.truncate(MOST_FILES);
    Ok(Reply::list(files))
}

/// `GET /pulls/{number}/commits`.
pub fn commits(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (repo, pull) = (scene.repo(asked)?, scene.pull(asked)?);
    let mut commits = payload::pull_commits(scene.world, repo, pull);
    commits.truncate(MOST_COMMITS);
    Ok(Reply::list(commits))
}

/// `GET /pulls/{number}/reviews`, oldest first.
pub fn reviews(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (repo, number) = (scene.repo(asked)?, scene.pull(asked)?.number);
    let reviews = repo.reviews.values().filter(|review| review.pull == number);
    let print = |review| payload::review(scene.world, repo, review);
    Ok(Reply::list(reviews.map(print).collect()))
}

/// `GET /commits/{ref}/pulls`: the open pull requests that hold the commit, and the merged ones that
/// brought it.
pub fn of_commit(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let repo = scene.repo(asked)?;
    let sha = scene.commit_named(repo, asked.param("ref"))?;
    let mut pulls = Vec::new();
    for pull in repo
        .pulls
        .values()
        .filter(|pull| pull.open || pull.merged())
    {
        let brought = pull.merge_commit.as_ref() == Some(&sha) || pull.head.sha == sha;
        let holds = |pull| -> Done<bool> {
            let commits = scene.world.commits_of(repo, pull)?;
            Ok(commits.iter().any(|commit| commit.sha == sha))
        };
        if brought || holds(pull)? {
            pulls.push(pull);
        }
    }
    Ok(simple(scene.world, repo, pulls))
}

/// `PUT /pulls/{number}/merge`.
pub fn merge(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let method = match asked.text("merge_method") {
        None => None,
        Some(word) => {
            let unknown = || impossible(&word, &["merge", "squash", "rebase"]);
            Some(MergeMethod::read(&word).ok_or_else(unknown)?)
        }
    };
    let request = MergeRequest {
        sha: asked.text("sha"),
        method,
        title: asked.text("commit_title"),
        message: asked.text("commit_message"),
    };
    let (number, by) = (asked.number("number")?, asked.principal(scene.world));
    let sha = scene.world.merge(asked.repo, number, by, &request)?;
    Ok(Reply::ok(json!({
        "sha": sha,
        "merged": true,
        "message": "Pull Request successfully merged",
    })))
}

/// `PUT /pulls/{number}/update-branch`.
pub fn update_branch(scene: &mut Scene<'_>, asked: &Asked) -> Done<Reply> {
    let (number, by) = (asked.number("number")?, asked.principal(scene.world));
    let expected = asked.text("expected_head_sha");
    if !scene.pull(asked)?.open {
        return Err(Refusal::new(422, "Cannot update a closed pull request."));
    }
    scene
        .world
        .update_branch(asked.repo, number, by, expected.as_deref())?;
    let full = scene.world.full_name(scene.repo(asked)?);
    let url = format!("{}/repos/{full}/pulls/{number}", scene.world.origin);
    let message = "Updating pull request branch.";
    Ok(Reply::of(202, json!({ "message": message, "url": url })))
}
