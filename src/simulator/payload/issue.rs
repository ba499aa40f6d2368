//! Issues, comments, labels, reactions.

use serde_json::{Value, json};

use super::{account, api, app, association, node_id, page, time};
use crate::simulator::world::{
    AccountId, Issue, IssueComment, Label, Number, Pull, Repo, Time, World,
};

/// A label.
pub fn label(world: &World, repo: &Repo, label: &Label) -> Value {
    json!({
        "id": label.id,
        "node_id": node_id("LA", label.id),
        "url": format!("{}/labels/{}", api(world, repo), label.name.replace(' ', "%20")),
        "name": label.name,
        "color": label.color,
        "default": false,
        "description": label.description,
    })
}

/// The labels of these names, as far as the repository has them.
pub(super) fn labels_of(world: &World, repo: &Repo, names: &[String]) -> Vec<Value> {
    names
        .iter()
        .filter_map(|name| repo.labels.get(&name.to_lowercase()))
        .map(|known| label(world, repo, known))
        .collect()
}

/// The summary of reactions where there are none.
pub(super) fn no_reactions(url: &str) -> Value {
    reactions(url, &[])
}

fn reactions(url: &str, given: &[(u64, AccountId, String)]) -> Value {
    let mut value = json!({ "url": format!("{url}/reactions"), "total_count": given.len() });
    for word in [
        "+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes",
    ] {
        value[word] = json!(
            given
                .iter()
                .filter(|(_, _, content)| content == word)
                .count()
        );
    }
    value
}

/// One reaction.
pub fn reaction(world: &World, given: &(u64, AccountId, String), at: Time) -> Value {
    let (id, by, content) = given;
    json!({
        "id": id,
        "node_id": node_id("REA", *id),
        "user": account(world, Some(*by)),
        "content": content,
        "created_at": time(at),
    })
}

/// A comment.
pub fn comment(world: &World, repo: &Repo, comment: &IssueComment) -> Value {
    let (api, page) = (api(world, repo), page(world, repo));
    let (id, number) = (comment.id, comment.number);
    let url = format!("{api}/issues/comments/{id}");
    let kind = if repo.pulls.contains_key(&number) {
        "pull"
    } else {
        "issues"
    };
    json!({
        "url": url,
        "html_url": format!("{page}/{kind}/{number}#issuecomment-{id}"),
        "issue_url": format!("{api}/issues/{number}"),
        "id": id,
        "node_id": node_id("IC", id),
        "user": account(world, Some(comment.author)),
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
        "author_association": association(world, repo, comment.author),
        "body": comment.body,
        "reactions": reactions(&url, &comment.reactions),
        "performed_via_github_app": comment.app.map(|by| app(world, by)),
    })
}

/// What issues and pull requests have in common as issues.
struct Common<'a> {
    id: u64,
    kind: &'a str,
    number: Number,
    title: &'a str,
    body: Option<&'a str>,
    open: bool,
    state_reason: Option<&'a str>,
    author: AccountId,
    labels: &'a [String],
    created_at: Time,
    updated_at: Time,
    closed_at: Option<Time>,
}

fn as_issue(world: &World, repo: &Repo, of: &Common<'_>) -> Value {
    let api = api(world, repo);
    let number = of.number;
    let url = format!("{api}/issues/{number}");
    let comments = repo.comments.values();
    json!({
        "url": url,
        "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"),
        "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"),
        "html_url": format!("{}/{}/{number}", page(world, repo), of.kind),
        "id": of.id,
        "node_id": node_id("I", of.id),
        "number": number,
        "title": of.title,
        "user": account(world, Some(of.author)),
        "labels": labels_of(world, repo, of.labels),
        "state": if of.open { "open" } else { "closed" },
        "locked": false,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": comments.filter(|comment| comment.number == number).count(),
        "created_at": time(of.created_at),
        "updated_at": time(of.updated_at),
        "closed_at": of.closed_at.map(time),
        "author_association": association(world, repo, of.author),
        "active_lock_reason": null,
        "body": of.body,
        "reactions": no_reactions(&url),
        "timeline_url": format!("{url}/timeline"),
        "performed_via_github_app": null,
        "state_reason": of.state_reason,
    })
}

/// An issue.
pub fn issue(world: &World, repo: &Repo, issue: &Issue) -> Value {
    let common = Common {
        id: issue.id,
        kind: "issues",
        number: issue.number,
        title: &issue.title,
        body: issue.body.as_deref(),
        open: issue.open,
        state_reason: issue.state_reason.as_deref(),
        author: issue.author,
        labels: &issue.labels,
        created_at: issue.created_at,
        updated_at: issue.updated_at,
        closed_at: issue.closed_at,
    };
    as_issue(world, repo, &common)
}

/// A pull request as the issues API shows it.
pub fn issue_of_pull(world: &World, repo: &Repo, pull: &Pull) -> Value {
    let common = Common {
        id: pull.id,
        kind: "pull",
        number: pull.number,
        title: &pull.title,
        body: pull.body.as_deref(),
        open: pull.open,
        state_reason: None,
        author: pull.author,
        labels: &pull.labels,
        created_at: pull.created_at,
        updated_at: pull.updated_at,
        closed_at: pull.closed_at,
    };
    let mut value = as_issue(world, repo, &common);
    let html = format!("{}/pull/{}", page(world, repo), pull.number);
    value["draft"] = json!(pull.draft);
    value["pull_request"] = json!({
        "url": format!("{}/pulls/{}", api(world, repo), pull.number),
        "html_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "merged_at": pull.merged_at.map(time),
    });
    value
}

/// Whatever has this number, as an issue; null when nothing has.
pub fn numbered(world: &World, repo: &Repo, number: Number) -> Value {
    match (repo.issues.get(&number), repo.pulls.get(&number)) {
        (Some(found), _) => issue(world, repo, found),
        (None, Some(found)) => issue_of_pull(world, repo, found),
        (None, None) => Value::Null,
    }
}
