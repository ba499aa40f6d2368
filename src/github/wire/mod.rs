//! GitHub's answers as they are on the wire, and the facts they become.
//!
//! Small structs of our own that take only what is used: everything that may be null or absent is an
//! `Option`, words stay words until they are given a meaning, and a word not known here is kept as
//! such. Closed typed models fail a whole answer over one new word or one deleted account.
//!
//! What makes a thing *that* thing (its id, its commit) must be there: without it the one item is
//! unreadable, and the list it stood in is not whole.

pub(super) mod apps;
pub(super) mod checks;
pub(super) mod diff;
pub(super) mod issues;
pub(super) mod places;
pub(super) mod pulls;
pub(super) mod rules;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Answer, Refused};
use crate::domain::evidence::FENCE;
use crate::domain::model::{
    Actor, ActorId, ActorKind, AppId, AppRef, HeadSha, Login, Malformed, Oid, RepoId, Timestamp,
};

/// A user, bot or organisation.
#[derive(Debug, Deserialize)]
pub(super) struct Account {
    #[serde(default)]
    pub id: Option<u64>,
    #[serde(default)]
    pub login: Option<String>,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
}

/// An App as it appears on what it made.
#[derive(Debug, Deserialize)]
pub(super) struct AppAccount {
    #[serde(default)]
    pub id: Option<u64>,
    #[serde(default)]
    pub slug: Option<String>,
}

/// Anything of which only the id is read.
#[derive(Debug, Deserialize)]
pub(super) struct Numbered {
    #[serde(default)]
    pub id: Option<u64>,
}

/// Nobody where the account is gone, or has no identity.
pub(super) fn actor(account: Option<Account>) -> Option<Actor> {
    let account = account?;
    Some(Actor {
        id: ActorId::new(account.id?)?,
        login: Login::new(account.login?),
        kind: match account.kind.as_deref() {
            Some("User") => ActorKind::User,
            Some("Bot") => ActorKind::Bot,
            _ => ActorKind::Other,
        },
    })
}

/// No App where the server names none, or one without an identity.
pub(super) fn app(account: Option<AppAccount>) -> Option<AppRef> {
    let account = account?;
    Some(AppRef {
        id: AppId::new(account.id?)?,
        slug: account.slug.unwrap_or_default(),
    })
}

/// Reads one thing. `what` names it for people.
pub(super) fn read<T: DeserializeOwned>(what: &str, value: Value) -> Answer<T> {
    serde_json::from_value(value).map_err(|error| unreadable(what, error))
}

pub(super) fn unreadable(what: &str, why: impl std::fmt::Display) -> Refused {
    Refused::Unreadable(format!("{what}: {why}"))
}

/// A field without which the thing is not that thing.
pub(super) fn need<T>(what: &str, field: &str, value: Option<T>) -> Answer<T> {
    value.ok_or_else(|| unreadable(what, format_args!("no usable `{field}`")))
}

pub(super) fn oid(what: &str, text: Option<&str>) -> Answer<Oid> {
    parsed(what, "sha", text, Oid::parse)
}

pub(super) fn head(what: &str, text: Option<&str>) -> Answer<HeadSha> {
    parsed(what, "sha", text, HeadSha::parse)
}

pub(super) fn parsed<T>(
    what: &str,
    field: &str,
    text: Option<&str>,
    parse: fn(&str) -> Result<T, Malformed>,
) -> Answer<T> {
    let text = need(what, field, text)?;
    parse(text).map_err(|error| unreadable(what, error))
}

/// A time, where it is there and is one.
pub(super) fn time(text: Option<&str>) -> Option<Timestamp> {
    let time = chrono::DateTime::parse_from_rfc3339(text?).ok()?;
    Some(time.to_utc())
}

/// Whether a text may hold an evidence document: a fence with our word. Cheap and generous; whether
/// there really is one is for the evidence room to say.
pub(super) fn may_hold_evidence(text: &str) -> bool {
    ["```", "~~~"].iter().any(|fence| {
        text.split(fence)
            .skip(1)
            .any(|after| after.trim_start_matches(['`', '~', ' ']).starts_with(FENCE))
    })
}

/// One page of a pull request's review conversations.
pub(super) struct Conversations {
    /// How many of this page are not resolved.
    pub open: u64,
    /// How many are on this page.
    pub read: u64,
    /// How many there are.
    pub total: u64,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The repository that a GraphQL answer is about, where it says.
pub(super) fn answering_repository(data: &Value) -> Option<RepoId> {
    RepoId::new(data.pointer("/repository/databaseId")?.as_u64()?)
}

/// Reads a page of conversations. One that does not say whether it is resolved is open.
pub(super) fn conversations(data: &Value) -> Answer<Conversations> {
    const WHAT: &str = "the review conversations";
    let threads = data
        .pointer("/repository/pullRequest/reviewThreads")
        .filter(|threads| threads.is_object());
    let threads = need(WHAT, "reviewThreads", threads)?;
    let nodes = threads.get("nodes").and_then(Value::as_array);
    let nodes = need(WHAT, "nodes", nodes)?;
    let info = need(WHAT, "pageInfo", threads.get("pageInfo"))?;
    let has_next = info.get("hasNextPage").and_then(Value::as_bool);
    let next = match need(WHAT, "hasNextPage", has_next)? {
        true => {
            let cursor = info.get("endCursor").and_then(Value::as_str);
            Some(need(WHAT, "endCursor", cursor)?.to_owned())
        }
        false => None,
    };
    let is_open = |node: &&Value| node.get("isResolved") != Some(&Value::Bool(true));
    Ok(Conversations {
        open: nodes.iter().filter(is_open).count() as u64,
        read: nodes.len() as u64,
        total: need(
            WHAT,
            "totalCount",
            threads.get("totalCount").and_then(Value::as_u64),
        )?,
        next,
    })
}

#[cfg(test)]
mod tests;
