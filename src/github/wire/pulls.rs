//! Pull requests, and what people say on them.

use serde::Deserialize;
use serde_json::Value;

use super::{Account, AppAccount, Numbered, actor, app, head, may_hold_evidence, need, time};
use crate::domain::command::parse;
use crate::domain::facts::{Comment, PullRequest, PullState, Review, ReviewState};
use crate::domain::model::{
    AppId, BaseRef, CommentId, HeadSha, Oid, PullNumber, RepoId, ReviewId, Timestamp,
};
use crate::github::Answer;

#[derive(Debug, Deserialize)]
struct WirePull {
    #[serde(default)]
    number: Option<u64>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    draft: Option<bool>,
    head: WireSide,
    base: WireSide,
    #[serde(default)]
    user: Option<Account>,
    #[serde(default)]
    labels: Option<Vec<WireLabel>>,
    #[serde(default)]
    mergeable: Option<bool>,
    #[serde(default)]
    merged: Option<bool>,
    #[serde(default)]
    merged_at: Option<String>,
    #[serde(default)]
    merged_by: Option<Account>,
    #[serde(default)]
    merge_commit_sha: Option<String>,
    #[serde(default)]
    changed_files: Option<u64>,
    #[serde(default)]
    auto_merge: Option<Value>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireSide {
    #[serde(default)]
    sha: Option<String>,
    #[serde(default, rename = "ref")]
    name: Option<String>,
    #[serde(default)]
    repo: Option<Numbered>,
}

#[derive(Debug, Deserialize)]
struct WireLabel {
    #[serde(default)]
    name: Option<String>,
}

/// A pull request, from a list or by itself. A list does not tell `mergeable` and `changed_files`.
pub(in crate::github) fn pull(value: Value) -> Answer<PullRequest> {
    const WHAT: &str = "a pull request";
    let wire: WirePull = super::read(WHAT, value)?;
    let commit = wire
        .merge_commit_sha
        .as_deref()
        .and_then(|sha| Oid::parse(sha).ok());
    let merged_at = time(wire.merged_at.as_deref());
    let state = match wire.state.as_deref() {
        Some("open") => PullState::Open,
        Some("closed") if merged_at.is_some() || wire.merged == Some(true) => PullState::Merged {
            at: merged_at,
            by: actor(wire.merged_by),
            commit: commit.clone(),
        },
        Some("closed") => PullState::Closed,
        other => {
            return Err(super::unreadable(
                WHAT,
                format_args!("an unknown state {other:?}"),
            ));
        }
    };
    let at = |field, text: Option<String>| -> Answer<Timestamp> {
        need(WHAT, field, time(text.as_deref()))
    };
    Ok(PullRequest {
        number: need(WHAT, "number", wire.number.and_then(PullNumber::new))?,
        title: wire.title.unwrap_or_default(),
        body: wire.body.unwrap_or_default(),
        // Only an open pull request's is a trial merge.
        test_merge: commit.filter(|_| state == PullState::Open),
        state,
        draft: wire.draft.unwrap_or_default(),
        head: head(WHAT, wire.head.sha.as_deref())?,
        head_ref: wire.head.name.unwrap_or_default(),
        head_repo: wire.head.repo.and_then(|repo| RepoId::new(repo.id?)),
        base: super::parsed(WHAT, "base.ref", wire.base.name.as_deref(), BaseRef::parse)?,
        author: actor(wire.user),
        labels: wire
            .labels
            .into_iter()
            .flatten()
            .filter_map(|label| label.name)
            .collect(),
        mergeable: wire.mergeable,
        changed_files: wire.changed_files,
        auto_merge: wire.auto_merge.is_some(),
        created_at: at("created_at", wire.created_at)?,
        updated_at: at("updated_at", wire.updated_at)?,
    })
}

/// The repository a pull request is to enter, where the answer says. A freed name can be taken by
/// another repository, whose pull requests have the same numbers.
pub(in crate::github) fn base_repository(value: &Value) -> Option<RepoId> {
    RepoId::new(value.pointer("/base/repo/id")?.as_u64()?)
}

#[derive(Debug, Deserialize)]
struct WireReview {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    user: Option<Account>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    commit_id: Option<String>,
    #[serde(default)]
    submitted_at: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
}

/// A review. REST does not tell that a review's text was edited, so `edited` is false here; whoever
/// saw the text before, or the delivery that told of the edit, knows better and must not forget it.
pub(in crate::github) fn review(value: Value) -> Answer<Review> {
    const WHAT: &str = "a review";
    let wire: WireReview = super::read(WHAT, value)?;
    let word = wire.state.unwrap_or_default();
    Ok(Review {
        id: need(WHAT, "id", wire.id.and_then(ReviewId::new))?,
        author: actor(wire.user),
        state: match word.to_ascii_uppercase().as_str() {
            "APPROVED" => ReviewState::Approved,
            "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
            "COMMENTED" => ReviewState::Commented,
            "DISMISSED" => ReviewState::Dismissed,
            "PENDING" => ReviewState::Pending,
            _ => ReviewState::Unknown(word),
        },
        head: wire.commit_id.and_then(|sha| HeadSha::parse(&sha).ok()),
        head_told: false,
        base: None,
        submitted_at: time(wire.submitted_at.as_deref()),
        body: wire
            .body
            .filter(|body| may_hold_evidence(body))
            .unwrap_or_default(),
        edited: false,
        url: wire.html_url,
    })
}

#[derive(Debug, Deserialize)]
struct WireComment {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    user: Option<Account>,
    #[serde(default)]
    performed_via_github_app: Option<AppAccount>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    created_at: Option<String>,
    #[serde(default)]
    updated_at: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
}

/// A comment's id, if an App wrote it and it holds a marker.
pub(in crate::github) fn marked(
    value: Value,
    by: AppId,
    marker: &str,
) -> Answer<Option<CommentId>> {
    const WHAT: &str = "a comment";
    let wire: WireComment = super::read(WHAT, value)?;
    let ours = app(wire.performed_via_github_app).is_some_and(|app| app.id == by);
    let holds = wire.body.is_some_and(|body| body.contains(marker));
    if !ours || !holds {
        return Ok(None);
    }
    need(WHAT, "id", wire.id.and_then(CommentId::new)).map(Some)
}

/// A comment, if it may hold evidence or holds commands.
pub(in crate::github) fn comment(value: Value) -> Answer<Option<Comment>> {
    const WHAT: &str = "a comment";
    let wire: WireComment = super::read(WHAT, value)?;
    let Some(body) = wire
        .body
        .filter(|body| may_hold_evidence(body) || !parse(body).is_empty())
    else {
        return Ok(None);
    };
    let created_at = need(WHAT, "created_at", time(wire.created_at.as_deref()))?;
    Ok(Some(Comment {
        id: need(WHAT, "id", wire.id.and_then(CommentId::new))?,
        author: actor(wire.user),
        app: app(wire.performed_via_github_app),
        body,
        created_at,
        // A comment that does not say when it was last changed may have been.
        edited: time(wire.updated_at.as_deref()) != Some(created_at),
        url: wire.html_url,
    }))
}
