//! Repositories.

use serde_json::{Value, json};

use super::{account, api, node_id, page, time};
use crate::simulator::world::{MergeMethod, Repo, World};

/// Fields that are addresses below the repository's own: name, and what follows.
const BELOW: [(&str, &str); 37] = [
    ("forks_url", "/forks"),
    ("keys_url", "/keys{/key_id}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("teams_url", "/teams"),
    ("hooks_url", "/hooks"),
    ("issue_events_url", "/issues/events{/number}"),
    ("events_url", "/events"),
    ("assignees_url", "/assignees{/user}"),
    ("branches_url", "/branches{/branch}"),
    ("tags_url", "/tags"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("trees_url", "/git/trees{/sha}"),
    ("statuses_url", "/statuses/{sha}"),
    ("languages_url", "/languages"),
    ("stargazers_url", "/stargazers"),
    ("contributors_url", "/contributors"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("commits_url", "/commits{/sha}"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("comments_url", "/comments{/number}"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("contents_url", "/contents/{+path}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("merges_url", "/merges"),
    ("archive_url", "/{archive_format}{/ref}"),
    ("downloads_url", "/downloads"),
    ("issues_url", "/issues{/number}"),
    ("pulls_url", "/pulls{/number}"),
    ("milestones_url", "/milestones{/number}"),
    (
        "notifications_url",
        "/notifications{?since,all,participating}",
    ),
    ("labels_url", "/labels{/name}"),
    ("releases_url", "/releases{/id}"),
    ("deployments_url", "/deployments"),
    ("url", ""),
];

/// The fields that every form of a repository has, without the counts and settings of the whole one.
pub(super) fn lite(world: &World, repo: &Repo) -> Value {
    let api = api(world, repo);
    let mut value = json!({
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": world.full_name(repo),
        "private": repo.private,
        "owner": account(world, Some(repo.owner)),
        "html_url": page(world, repo),
        "description": repo.description,
        "fork": repo.fork_of.is_some(),
    });
    if !world.behaviour.addresses {
        return value;
    }
    for (field, below) in BELOW {
        value[field] = json!(format!("{api}{below}"));
    }
    value
}

/// A whole repository.
pub fn repository(world: &World, repo: &Repo) -> Value {
    let page = page(world, repo);
    let open_pulls = repo.pulls.values().filter(|pull| pull.open).count();
    let open = open_pulls + repo.issues.values().filter(|issue| issue.open).count();
    let forks = world
        .repos
        .values()
        .filter(|fork| fork.fork_of == Some(repo.id))
        .count();
    let more = json!({
        "created_at": time(repo.created_at),
        "updated_at": time(repo.updated_at),
        "pushed_at": time(repo.pushed_at),
        "git_url": format!("git:{}.git", page.trim_start_matches("http:")),
        "ssh_url": format!("git@github.localhost:{}.git", world.full_name(repo)),
        "clone_url": format!("{page}.git"),
        "svn_url": page,
        "homepage": null,
        "size": 1,
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": null,
        "has_issues": true,
        "has_projects": false,
        "has_downloads": false,
        "has_wiki": false,
        "has_pages": false,
        "has_discussions": false,
        "forks_count": forks,
        "mirror_url": null,
        "archived": repo.archived,
        "disabled": false,
        "open_issues_count": open,
        "license": null,
        "allow_forking": true,
        "is_template": false,
        "web_commit_signoff_required": false,
        "topics": [],
        "visibility": if repo.private { "private" } else { "public" },
        "forks": forks,
        "open_issues": open,
        "watchers": 0,
        "default_branch": repo.default_branch,
        "allow_merge_commit": repo.merging.allowed.contains(&MergeMethod::Merge),
        "allow_squash_merge": repo.merging.allowed.contains(&MergeMethod::Squash),
        "allow_rebase_merge": repo.merging.allowed.contains(&MergeMethod::Rebase),
        "allow_auto_merge": repo.merging.auto_merge,
        "allow_update_branch": repo.merging.update_branch,
        "delete_branch_on_merge": repo.merging.delete_branch,
        "custom_properties": {},
    });
    let mut whole = lite(world, repo);
    if let (Value::Object(whole), Value::Object(more)) = (&mut whole, more) {
        whole.extend(more);
    }
    whole
}

/// A repository in a push delivery: times as numbers, two more names for the default branch.
pub fn repository_in_push(world: &World, repo: &Repo) -> Value {
    let mut value = repository(world, repo);
    value["created_at"] = json!(repo.created_at.timestamp());
    value["pushed_at"] = json!(repo.pushed_at.timestamp());
    value["stargazers"] = json!(0);
    value["master_branch"] = json!(repo.default_branch);
    value
}

/// The five fields of a repository in `installation*` deliveries.
pub fn repository_brief(world: &World, repo: &Repo) -> Value {
    json!({
        "id": repo.id,
        "node_id": node_id("R", repo.id),
        "name": repo.name,
        "full_name": world.full_name(repo),
        "private": repo.private,
    })
}

/// The three fields of a repository in a check's list of pull requests.
pub(super) fn reference(world: &World, repo: &Repo) -> Value {
    json!({ "id": repo.id, "url": api(world, repo), "name": repo.name })
}
