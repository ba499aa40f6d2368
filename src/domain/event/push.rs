//! Branches that moved.

use serde::Deserialize;

use super::Event;
use super::wire::{Fault, Field, Scene, parse};
use crate::domain::model::{BaseRef, Oid};
use crate::domain::policy;

/// GitHub lists at most this many commits in a `push` delivery; a list this long may be cut.
const MOST_COMMITS: usize = 2048;

#[derive(Default, Deserialize)]
#[serde(default)]
struct PushBody {
    #[serde(rename = "ref")]
    name: Field<String>,
    before: Field<Oid>,
    after: Field<Oid>,
    forced: Field<bool>,
    commits: Option<Vec<Commit>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Commit {
    id: Field<Oid>,
    added: Option<Vec<String>>,
    modified: Option<Vec<String>>,
    removed: Option<Vec<String>>,
}

impl Commit {
    /// Whether the commit tells its files, and the policy is not among them. A file in the place of
    /// the policy's folder counts as touching it.
    fn spares_policy(&self) -> bool {
        let spares = |paths: &Option<Vec<String>>| {
            paths.as_ref().is_some_and(|paths| {
                !paths.iter().any(|path| {
                    policy::PATH
                        .strip_prefix(path.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            })
        };
        spares(&self.added) && spares(&self.modified) && spares(&self.removed)
    }
}

/// `None` for the id of nothing: 40 (or 64) zeros.
fn present(id: Oid) -> Option<Oid> {
    id.as_str().bytes().any(|digit| digit != b'0').then_some(id)
}

/// Whether the policy surely has the same text after the push as before.
///
/// Sure means: the branch stood somewhere before and only went forward, the list of commits ends with
/// the new tip and is too short to have been cut, and no commit of it names the file.
fn policy_untouched(body: &PushBody, before: Option<&Oid>, after: Option<&Oid>) -> bool {
    let (Some(_), Some(after), Some(commits)) = (before, after, &body.commits) else {
        return false;
    };
    let ends_at_tip = commits
        .last()
        .is_some_and(|commit| matches!(&commit.id, Field::Is(id) if id == after));
    matches!(body.forced, Field::Is(false))
        && ends_at_tip
        && commits.len() < MOST_COMMITS
        && commits.iter().all(Commit::spares_policy)
}

/// `push`.
pub(super) fn push(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: PushBody = parse(body)?;
    let name = body.name.get("ref")?;
    let Some(branch) = name.strip_prefix("refs/heads/") else {
        return Ok(Event::Other {
            why: format!("`{name}` moved, which is not a branch"),
        });
    };
    let branch = BaseRef::parse(branch).map_err(|error| Fault {
        field: "ref",
        why: error.to_string(),
    })?;
    let before = present(body.before.get("before")?.clone());
    let after = present(body.after.get("after")?.clone());
    Ok(Event::Push {
        repo: scene.repo,
        branch,
        policy_untouched: policy_untouched(&body, before.as_ref(), after.as_ref()),
        before,
        after,
    })
}
