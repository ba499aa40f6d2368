//! Commits, refs, files, comparisons.

use base64::Engine as _;
use serde_json::{Value, json};

use super::{account, api, node_id, page, time};
use crate::simulator::git::{Commit, FileDiff, Signature};
use crate::simulator::world::{AccountId, Repo, WEB_FLOW, World};

fn signature(signature: &Signature) -> Value {
    json!({ "name": signature.name, "email": signature.email, "date": time(signature.at) })
}

/// The account behind an address, as GitHub finds it.
fn account_behind(world: &World, signature: &Signature) -> Option<AccountId> {
    if signature.email == "noreply@github.com" {
        return Some(WEB_FLOW);
    }
    let (id, _) = signature.email.split_once('+')?;
    id.parse().ok().filter(|id| world.accounts.contains_key(id))
}

fn verification(repo: &Repo, sha: &str) -> Value {
    let verified = repo.verified.contains(sha);
    json!({
        "verified": verified,
        "reason": if verified { "valid" } else { "unsigned" },
        "signature": null,
        "payload": null,
    })
}

fn parents(world: &World, repo: &Repo, commit: &Commit) -> Vec<Value> {
    let (api, page) = (api(world, repo), page(world, repo));
    let one = |sha: &String| {
        json!({
            "sha": sha,
            "url": format!("{api}/commits/{sha}"),
            "html_url": format!("{page}/commit/{sha}"),
        })
    };
    commit.parents.iter().map(one).collect()
}

/// `GET /git/commits/{sha}`; null when there is no such commit.
pub fn git_commit(world: &World, repo: &Repo, sha: &str) -> Value {
    let Ok(commit) = world.pool.commit(sha) else {
        return Value::Null;
    };
    let api = api(world, repo);
    json!({
        "sha": sha,
        "node_id": node_id("C", repo.id),
        "url": format!("{api}/git/commits/{sha}"),
        "html_url": format!("{}/commit/{sha}", page(world, repo)),
        "author": signature(&commit.author),
        "committer": signature(&commit.committer),
        "message": commit.message,
        "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) },
        "parents": parents(world, repo, &commit),
        "verification": verification(repo, sha),
    })
}

/// `GET /commits/{sha}` and entries of pull request commits (without files); null when unknown.
pub fn commit(world: &World, repo: &Repo, sha: &str) -> Value {
    let Ok(commit) = world.pool.commit(sha) else {
        return Value::Null;
    };
    let (api, page) = (api(world, repo), page(world, repo));
    json!({
        "sha": sha,
        "node_id": node_id("C", repo.id),
        "commit": {
            "author": signature(&commit.author),
            "committer": signature(&commit.committer),
            "message": commit.message,
            "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) },
            "url": format!("{api}/git/commits/{sha}"),
            "comment_count": 0,
            "verification": verification(repo, sha),
        },
        "url": format!("{api}/commits/{sha}"),
        "html_url": format!("{page}/commit/{sha}"),
        "comments_url": format!("{api}/commits/{sha}/comments"),
        "author": account(world, account_behind(world, &commit.author)),
        "committer": account(world, account_behind(world, &commit.committer)),
        "parents": parents(world, repo, &commit),
    })
}

/// The head commit of suites, workflow runs and merge groups.
pub fn commit_simple(commit: &Commit) -> Value {
    let person = |who: &Signature| json!({ "name": who.name, "email": who.email });
    json!({
        "id": commit.sha,
        "tree_id": commit.tree,
        "message": commit.message,
        "timestamp": time(commit.committer.at),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
    })
}

/// A commit in a push delivery, with the paths it touched against its first parent.
pub fn push_commit(world: &World, repo: &Repo, commit: &Commit) -> Value {
    let person = |who: &Signature| json!({ "name": who.name, "email": who.email });
    let (mut added, mut removed, mut modified) = (Vec::new(), Vec::new(), Vec::new());
    for (path, kind) in world.touched(&commit.sha).unwrap_or_default() {
        match kind {
            'A' => added.push(path),
            'D' => removed.push(path),
            _ => modified.push(path),
        }
    }
    json!({
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": true,
        "message": commit.message,
        "timestamp": time(commit.committer.at),
        "url": format!("{}/commit/{}", page(world, repo), commit.sha),
        "author": person(&commit.author),
        "committer": person(&commit.committer),
        "added": added,
        "removed": removed,
        "modified": modified,
    })
}

/// `GET /branches/{branch}`, with its classic protection's contexts; null when it is not there.
pub fn branch(world: &World, repo: &Repo, name: &str) -> Value {
    let Some(tip) = repo.branches.get(name) else {
        return Value::Null;
    };
    let url = format!("{}/branches/{name}", api(world, repo));
    let protection = world.protection_of(repo, name);
    let checks = protection.map(|protection| protection.checks.as_slice());
    let level = match protection {
        Some(protection) if !protection.checks.is_empty() => {
            if protection.enforce_admins {
                "everyone"
            } else {
                "non_admins"
            }
        }
        _ => "off",
    };
    let checks = checks.unwrap_or_default();
    let ruled = !world.rulesets_of(repo, name).is_empty();
    json!({
        "name": name,
        "commit": commit(world, repo, tip),
        "_links": { "self": url, "html": format!("{}/tree/{name}", page(world, repo)) },
        "protected": protection.is_some() || ruled,
        "protection": {
            "enabled": protection.is_some(),
            "required_status_checks": {
                "enforcement_level": level,
                "contexts": checks.iter().map(|check| &check.context).collect::<Vec<_>>(),
                "checks": checks.iter().map(super::rules::classic_check).collect::<Vec<_>>(),
            },
        },
        "protection_url": format!("{url}/protection"),
    })
}

/// `GET /git/ref/heads/{name}`; null when there is no such branch.
pub fn git_ref(world: &World, repo: &Repo, name: &str) -> Value {
    let Some(tip) = repo.branches.get(name) else {
        return Value::Null;
    };
    let api = api(world, repo);
    json!({
        "ref": format!("refs/heads/{name}"),
        "node_id": node_id("REF", repo.id),
        "url": format!("{api}/git/refs/heads/{name}"),
        "object": { "type": "commit", "sha": tip, "url": format!("{api}/git/commits/{tip}") },
    })
}

/// A changed file, at a commit.
pub fn file(world: &World, repo: &Repo, file: &FileDiff, at: &str) -> Value {
    let (api, page) = (api(world, repo), page(world, repo));
    let path = &file.path;
    let mut value = json!({
        "sha": file.blob,
        "filename": path,
        "status": file.status.word(),
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": format!("{page}/blob/{at}/{path}"),
        "raw_url": format!("{page}/raw/{at}/{path}"),
        "contents_url": format!("{api}/contents/{path}?ref={at}"),
    });
    if let Some(patch) = &file.patch {
        value["patch"] = json!(patch);
    }
    if let Some(previous) = &file.previous {
        value["previous_filename"] = json!(previous);
    }
    value
}

/// `GET /compare/{base}...{head}` of two commits; null when one is unknown. It is whole: the HTTP room
/// pages its commits, and cuts its files at 300, as GitHub does.
pub fn compare(world: &World, repo: &Repo, base: &str, head: &str) -> Value {
    let pool = &world.pool;
    let (Ok(bases), Ok(ahead), Ok(behind)) = (
        pool.merge_bases(base, head),
        pool.ahead(base, head),
        pool.ahead(head, base),
    ) else {
        return Value::Null;
    };
    let trees = bases.first().and_then(|merge_base| {
        let from = pool.commit(merge_base).ok()?.tree.clone();
        Some((from, pool.commit(head).ok()?.tree.clone()))
    });
    let files = trees.and_then(|(from, to)| pool.diff(&from, &to).ok());
    let files = files.as_deref().unwrap_or_default();
    let status = match (ahead.len(), behind.len()) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let html = format!("{}/compare/{base}...{head}", page(world, repo));
    let whole = |sha: &str| commit(world, repo, sha);
    json!({
        "url": format!("{}/compare/{base}...{head}", api(world, repo)),
        "html_url": html,
        "permalink_url": html,
        "diff_url": format!("{html}.diff"),
        "patch_url": format!("{html}.patch"),
        "base_commit": whole(base),
        "merge_base_commit": bases.first().map(|sha| whole(sha)),
        "status": status,
        "ahead_by": ahead.len(),
        "behind_by": behind.len(),
        "total_commits": ahead.len(),
        "commits": ahead.iter().map(|made| whole(&made.sha)).collect::<Vec<_>>(),
        "files": files.iter().map(|one| file(world, repo, one, head)).collect::<Vec<_>>(),
    })
}

/// `GET /contents/{path}` at a commit: a file, or the list of a folder; null when it is not there.
pub fn content(world: &World, repo: &Repo, path: &str, sha: &str) -> Value {
    let path = path.trim_matches('/');
    let Ok(commit) = world.pool.commit(sha) else {
        return Value::Null;
    };
    let Ok(files) = world.pool.files(&commit.tree) else {
        return Value::Null;
    };
    if let Some(entry) = files.get(path) {
        let Ok(content) = world.pool.blob(&entry.id) else {
            return Value::Null;
        };
        let mut value = content_entry(world, repo, path, sha, ("file", &entry.id));
        value["size"] = json!(content.len());
        value["encoding"] = json!("base64");
        value["content"] = json!(wrapped_base64(&content));
        return value;
    }
    let prefix = if path.is_empty() {
        String::new()
    } else {
        format!("{path}/")
    };
    let mut listed: Vec<Value> = Vec::new();
    let mut last = "";
    for (full, entry) in files.iter() {
        let Some(below) = full.strip_prefix(&prefix) else {
            continue;
        };
        let (name, kind) = match below.split_once('/') {
            Some((folder, _)) => (folder, "dir"),
            None => (below, "file"),
        };
        if name != last {
            let full = format!("{prefix}{name}");
            listed.push(content_entry(world, repo, &full, sha, (kind, &entry.id)));
            last = name;
        }
    }
    if listed.is_empty() {
        return Value::Null;
    }
    Value::Array(listed)
}

fn content_entry(
    world: &World,
    repo: &Repo,
    path: &str,
    sha: &str,
    (kind, id): (&str, &str),
) -> Value {
    let (api, page) = (api(world, repo), page(world, repo));
    let url = format!("{api}/contents/{path}?ref={sha}");
    json!({
        "name": path.rsplit('/').next(),
        "path": path,
        "sha": id,
        "size": 0,
        "url": url,
        "html_url": format!("{page}/blob/{sha}/{path}"),
        "git_url": format!("{api}/git/blobs/{id}"),
        "download_url": format!("{page}/raw/{sha}/{path}"),
        "type": kind,
        "_links": { "self": url, "git": format!("{api}/git/blobs/{id}"), "html": page },
    })
}

/// Base64 broken into lines of 60, each ended, as GitHub prints it.
fn wrapped_base64(content: &[u8]) -> String {
    let plain = base64::engine::general_purpose::STANDARD.encode(content);
    let mut wrapped = String::with_capacity(plain.len() + plain.len() / 60 + 1);
    for (index, letter) in plain.chars().enumerate() {
        if index > 0 && index % 60 == 0 {
            wrapped.push('\n');
        }
        wrapped.push(letter);
    }
    wrapped.push('\n');
    wrapped
}
