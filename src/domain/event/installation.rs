//! The App's own reach: where it is installed, and what becomes of the repositories there.

use serde::Deserialize;

use super::Event;
use super::wire::{Fault, Field, Installation, Repo, Scene, need, parse};
use crate::domain::model::InstallationId;

/// GitHub's present actions of `installation`.
const ACTIONS: [&str; 5] = [
    "created",
    "deleted",
    "suspend",
    "unsuspend",
    "new_permissions_accepted",
];

#[derive(Default, Deserialize)]
#[serde(default)]
struct InstallationBody {
    action: Field<String>,
    installation: Option<Installation>,
    repositories: Option<Vec<Repo>>,
}

/// `installation`.
pub(super) fn installation(body: &[u8]) -> Result<Event, Fault> {
    let body: InstallationBody = parse(body)?;
    let action = body.action.need("action")?;
    if !ACTIONS.contains(&action.as_str()) {
        return Ok(Event::Other {
            why: format!(
                "an `installation` delivery with the action `{action}`, which is not known here"
            ),
        });
    }
    let installation = id(body.installation)?;
    Ok(Event::Installation {
        installation,
        action,
        // One that cannot be read is found by the sweep; it must not cost the others.
        repos: body
            .repositories
            .into_iter()
            .flatten()
            .filter_map(|repo| repo.through(installation).ok())
            .collect(),
    })
}

fn id(installation: Option<Installation>) -> Result<InstallationId, Fault> {
    need(installation, "installation")?
        .id
        .need("installation.id")
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RepositoriesBody {
    installation: Option<Installation>,
    repositories_added: Option<Vec<Repo>>,
    repositories_removed: Option<Vec<Repo>>,
}

/// `installation_repositories`. The lists say what happened; the action only repeats it.
pub(super) fn repositories(body: &[u8]) -> Result<Event, Fault> {
    let body: RepositoriesBody = parse(body)?;
    let installation = id(body.installation)?;
    Ok(Event::Repositories {
        added: body
            .repositories_added
            .into_iter()
            .flatten()
            .filter_map(|repo| repo.through(installation).ok())
            .collect(),
        removed: body
            .repositories_removed
            .into_iter()
            .flatten()
            .filter_map(|repo| repo.id.opt())
            .collect(),
    })
}

/// `repository`. The id is the key: whatever was renamed or transferred, the body's own name is the
/// present one, and no old name is put together from `changes`.
pub(super) fn repository(scene: Scene, _body: &[u8]) -> Result<Event, Fault> {
    Ok(Event::Repository {
        repo: scene.repo,
        action: scene.action,
    })
}
