//! Repositories, installations, our own App, and files in a repository.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Account, AppAccount, need};
use crate::domain::model::{
    AppRef, BaseRef, InstallationId, PolicyDigest, RepoId, RepoName, Repository,
};
use crate::github::tokens::Minted;
use crate::github::{Answer, FileAt, Refused};

/// `GET /app`.
pub(in crate::github) fn own_app(value: Value) -> Answer<AppRef> {
    const WHAT: &str = "our own App";
    let wire: AppAccount = super::read(WHAT, value)?;
    need(WHAT, "id", super::app(Some(wire)))
}

#[derive(Debug, Deserialize)]
struct WireInstallation {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    suspended_at: Option<String>,
}

/// An installation, unless it is suspended.
pub(in crate::github) fn active_installation(value: Value) -> Answer<Option<InstallationId>> {
    const WHAT: &str = "an installation";
    let wire: WireInstallation = super::read(WHAT, value)?;
    let id = need(WHAT, "id", wire.id.and_then(InstallationId::new))?;
    Ok(wire.suspended_at.is_none().then_some(id))
}

#[derive(Deserialize)]
struct WireToken {
    token: String,
    #[serde(default)]
    expires_at: Option<String>,
}

/// A freshly minted installation token. The error never repeats what was read.
pub(in crate::github) fn minted(body: &[u8]) -> Answer<Minted> {
    let wire: WireToken = serde_json::from_slice(body)
        .map_err(|_| Refused::Unreadable("an installation token: not of the known form".into()))?;
    Ok(Minted {
        secret: wire.token.into(),
        expires: super::time(wire.expires_at.as_deref()),
    })
}

#[derive(Debug, Deserialize)]
struct WireRepository {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    full_name: Option<String>,
    #[serde(default)]
    owner: Option<Account>,
    #[serde(default)]
    default_branch: Option<String>,
    #[serde(default)]
    archived: Option<bool>,
}

/// A repository; `None` for an archived one, in which nothing can be written.
pub(in crate::github) fn living_repository(
    value: Value,
    installation: InstallationId,
) -> Answer<Option<Repository>> {
    const WHAT: &str = "a repository";
    let wire: WireRepository = super::read(WHAT, value)?;
    if wire.archived == Some(true) {
        return Ok(None);
    }
    repository_of(wire, installation).map(Some)
}

/// A repository, archived or not.
pub(in crate::github) fn repository(
    value: Value,
    installation: InstallationId,
) -> Answer<Repository> {
    repository_of(super::read("a repository", value)?, installation)
}

fn repository_of(wire: WireRepository, installation: InstallationId) -> Answer<Repository> {
    const WHAT: &str = "a repository";
    let owner = wire.owner.and_then(|owner| owner.login);
    let full_name = wire
        .full_name
        .or_else(|| Some(format!("{}/{}", owner?, wire.name?)));
    Ok(Repository {
        id: need(WHAT, "id", wire.id.and_then(RepoId::new))?,
        name: super::parsed(WHAT, "full_name", full_name.as_deref(), RepoName::parse)?,
        installation,
        default_branch: wire
            .default_branch
            .and_then(|name| BaseRef::parse(&name).ok()),
    })
}

#[derive(Debug, Deserialize)]
struct WireFile {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    sha: Option<String>,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

/// A file at a commit.
pub(in crate::github) fn file(path: &str, value: Value) -> Answer<FileAt> {
    if value.is_array() {
        return Err(super::unreadable(path, "it is a directory"));
    }
    let wire: WireFile = super::read(path, value)?;
    if let Some(kind) = wire.kind.filter(|kind| kind != "file") {
        return Err(super::unreadable(
            path,
            format_args!("it is a {kind}, not a file"),
        ));
    }
    let encoding = wire.encoding.unwrap_or_default();
    if encoding != "base64" {
        // GitHub sends files over 1 MB without their content and calls that encoding "none".
        return Err(super::unreadable(
            path,
            "its content was not sent; it is larger than 1 MB",
        ));
    }
    let mut content = need(path, "content", wire.content)?;
    content.retain(|c| !c.is_ascii_whitespace());
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(content)
        .map_err(|_| super::unreadable(path, "its content is not the base64 it is said to be"))?;
    Ok(FileAt {
        blob: super::parsed(path, "sha", wire.sha.as_deref(), PolicyDigest::parse)?,
        text: String::from_utf8(bytes).map_err(|_| super::unreadable(path, "it is not UTF-8"))?,
    })
}
