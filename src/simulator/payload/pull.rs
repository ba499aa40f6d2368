//! Pull requests, reviews and review conversations.

use serde_json::{Value, json};

use super::issue::{labels_of, no_reactions};
use super::{account, api, association, commit, file, link, node_id, page, repository, time};
use crate::simulator::world::{
    AccountId, Mergeability, Number, Pull, Repo, Review, ReviewThread, World,
};

/// A pull request as lists and review deliveries show it: no `mergeable`, no counts.
pub fn pull_simple(world: &World, repo: &Repo, pull: &Pull) -> Value {
    let number = pull.number;
    let api = api(world, repo);
    let (url, issue) = (
        format!("{api}/pulls/{number}"),
        format!("{api}/issues/{number}"),
    );
    let html = format!("{}/pull/{number}", page(world, repo));
    let reviewers: Vec<Value> = pull
        .requested_reviewers
        .iter()
        .map(|reviewer| account(world, Some(*reviewer)))
        .collect();
    json!({
        "url": url,
        "id": pull.id,
        "node_id": node_id("PR", pull.id),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "issue_url": issue,
        "number": number,
        "state": if pull.open { "open" } else { "closed" },
        "locked": false,
        "title": pull.title,
        "user": account(world, Some(pull.author)),
        "body": pull.body,
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": pull.closed_at.map(time),
        "merged_at": pull.merged_at.map(time),
        "merge_commit_sha": merge_commit(pull),
        "assignee": null,
        "assignees": [],
        "requested_reviewers": reviewers,
        "requested_teams": [],
        "labels": labels_of(world, repo, &pull.labels),
        "milestone": null,
        "draft": pull.draft,
        "commits_url": format!("{url}/commits"),
        "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue}/comments"),
        "statuses_url": format!("{api}/statuses/{}", pull.head.sha),
        "head": head(world, pull),
        "base": side(world, Some(repo), repo.owner, &pull.base.branch, &pull.base.sha),
        "_links": links(&api, &pull.head.sha, number, html),
        "author_association": association(world, repo, pull.author),
        "auto_merge": pull.auto_merge.as_ref().map(|armed| json!({
            "enabled_by": account(world, Some(armed.by)),
            "merge_method": armed.method.word(),
            "commit_title": null,
            "commit_message": null,
        })),
        "active_lock_reason": null,
    })
}

fn links(api: &str, head: &str, number: Number, html: String) -> Value {
    let (url, issue) = (
        format!("{api}/pulls/{number}"),
        format!("{api}/issues/{number}"),
    );
    json!({
        "html": link(html),
        "comments": link(format!("{issue}/comments")),
        "review_comments": link(format!("{url}/comments")),
        "review_comment": link(format!("{api}/pulls/comments{{/number}}")),
        "commits": link(format!("{url}/commits")),
        "statuses": link(format!("{api}/statuses/{head}")),
        "issue": link(issue),
        "self": link(url),
    })
}

/// The trial merge while it is open, the landed commit once it is merged.
fn merge_commit(pull: &Pull) -> Option<&str> {
    match (&pull.merge_commit, &pull.mergeability) {
        (Some(landed), _) => Some(landed),
        (None, Mergeability::Clean(trial)) => Some(trial),
        (None, _) => None,
    }
}

fn head(world: &World, pull: &Pull) -> Value {
    let repo = pull.head.repo.and_then(|repo| world.repos.get(&repo));
    side(
        world,
        repo,
        pull.head.owner,
        &pull.head.branch,
        &pull.head.sha,
    )
}

fn side(world: &World, repo: Option<&Repo>, owner: AccountId, branch: &str, sha: &str) -> Value {
    json!({
        "label": format!("{}:{branch}", world.login(owner)),
        "ref": branch,
        "sha": sha,
        "user": account(world, Some(owner)),
        "repo": repo.map(|repo| repository(world, repo)),
    })
}

/// A pull request as `GET /pulls/{n}` and `pull_request` deliveries show it.
pub fn pull(world: &World, repo: &Repo, pull: &Pull) -> Value {
    let files = world.files_of(repo, pull).ok();
    let files = files.as_deref().unwrap_or_default();
    let commits = world
        .commits_of(repo, pull)
        .map_or(0, |commits| commits.len());
    let comments = repo.comments.values();
    let mergeable = match pull.mergeability {
        Mergeability::Unknown { .. } => None,
        Mergeability::Clean(_) => Some(true),
        Mergeability::Conflicting => Some(false),
    };
    let more = json!({
        "merged": pull.merged(),
        "mergeable": mergeable.filter(|_| pull.open),
        "rebaseable": mergeable.filter(|_| pull.open),
        "mergeable_state": world.mergeable_state(repo, pull),
        "merged_by": account(world, pull.merged_by),
        "comments": comments.filter(|comment| comment.number == pull.number).count(),
        "review_comments": repo.threads.values().filter(|t| t.pull == pull.number).count(),
        "maintainer_can_modify": pull.head.repo.is_some_and(|head| head != repo.id),
        "commits": commits,
        "additions": files.iter().map(|file| file.additions).sum::<u64>(),
        "deletions": files.iter().map(|file| file.deletions).sum::<u64>(),
        "changed_files": files.len(),
    });
    let mut whole = pull_simple(world, repo, pull);
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    whole
}

/// Commits of a pull request, oldest first (`GET /pulls/{n}/commits`; GitHub stops at 250).
pub fn pull_commits(world: &World, repo: &Repo, pull: &Pull) -> Vec<Value> {
    let commits = world.commits_of(repo, pull).unwrap_or_default();
    commits
        .iter()
        .map(|made| commit(world, repo, &made.sha))
        .collect()
}

/// Changed files of a pull request against its merge base (`GET /pulls/{n}/files`; GitHub stops at
/// 3,000).
pub fn pull_files(world: &World, repo: &Repo, pull: &Pull) -> Vec<Value> {
    let files = world.files_of(repo, pull).ok();
    files
        .as_deref()
        .unwrap_or_default()
        .iter()
        .map(|changed| file(world, repo, changed, &pull.head.sha))
        .collect()
}

/// A review (REST: upper-case state).
pub fn review(world: &World, repo: &Repo, review: &Review) -> Value {
    let url = format!("{}/pulls/{}", api(world, repo), review.pull);
    let html = format!("{}/pull/{}", page(world, repo), review.pull);
    let html = format!("{html}#pullrequestreview-{}", review.id);
    json!({
        "id": review.id,
        "node_id": node_id("PRR", review.id),
        "user": account(world, Some(review.author)),
        "body": review.body,
        "commit_id": review.commit_id,
        "submitted_at": time(review.submitted_at),
        "state": review.state.word(),
        "html_url": html,
        "pull_request_url": url,
        "author_association": association(world, repo, review.author),
        "_links": { "html": link(html.clone()), "pull_request": link(url.clone()) },
    })
}

/// A review in a delivery: its state in lower case, no text as null.
pub fn review_event(world: &World, repo: &Repo, about: &Review) -> Value {
    let mut value = review(world, repo, about);
    value["state"] = json!(about.state.word().to_lowercase());
    if about.body.is_empty() {
        value["body"] = Value::Null;
    }
    value
}

/// A conversation in a delivery.
pub fn thread(world: &World, repo: &Repo, thread: &ReviewThread) -> Value {
    json!({
        "node_id": node_id("PRRT", thread.id),
        "comments": [review_comment(world, repo, thread)],
    })
}

/// The first comment of a conversation (`GET /pulls/{n}/comments`).
pub fn review_comment(world: &World, repo: &Repo, thread: &ReviewThread) -> Value {
    let id = thread.id;
    let pull = format!("{}/pulls/{}", api(world, repo), thread.pull);
    let url = format!("{}/pulls/comments/{id}", api(world, repo));
    let html = format!(
        "{}/pull/{}#discussion_r{id}",
        page(world, repo),
        thread.pull
    );
    json!({
        "url": url,
        "pull_request_review_id": thread.review,
        "id": id,
        "node_id": node_id("PRRC", id),
        "diff_hunk": "",
        "path": thread.path,
        "position": thread.line,
        "original_position": thread.line,
        "commit_id": thread.commit_id,
        "original_commit_id": thread.commit_id,
        "user": account(world, Some(thread.author)),
        "body": thread.body,
        "created_at": time(thread.created_at),
        "updated_at": time(thread.created_at),
        "html_url": html,
        "pull_request_url": pull,
        "author_association": association(world, repo, thread.author),
        "_links": {
            "self": link(url.clone()),
            "html": link(html.clone()),
            "pull_request": link(pull.clone()),
        },
        "reactions": no_reactions(&url),
        "start_line": null,
        "original_start_line": null,
        "start_side": null,
        "line": thread.line,
        "original_line": thread.line,
        "side": "RIGHT",
        "subject_type": "line",
    })
}
