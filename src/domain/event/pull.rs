//! Pull requests, and what people say on them.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::wire::{App, Fault, Field, Label, Scene, User, When, actor, app, need, parse};
use super::{Event, holds_evidence};
use crate::domain::facts::{Comment, PullRequest, PullState, Review, ReviewState};
use crate::domain::model::{BaseRef, CommentId, HeadSha, Oid, PullNumber, RepoId, ReviewId};

#[derive(Default, Deserialize)]
#[serde(default)]
struct PullBody {
    pull_request: Option<Pull>,
    changes: Option<Changes>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Pull {
    number: Field<PullNumber>,
    title: Field<String>,
    body: Field<String>,
    state: Field<String>,
    draft: Field<bool>,
    head: Option<Side>,
    base: Option<Target>,
    user: Option<User>,
    labels: Option<Vec<Label>>,
    merged: Field<bool>,
    merged_at: Field<When>,
    merged_by: Option<User>,
    merge_commit_sha: Field<Oid>,
    mergeable: Field<bool>,
    changed_files: Field<u64>,
    auto_merge: Option<IgnoredAny>,
    created_at: Field<When>,
    updated_at: Field<When>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Side {
    sha: Field<HeadSha>,
    #[serde(rename = "ref")]
    name: Field<String>,
    repo: Option<SideRepo>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SideRepo {
    id: Field<RepoId>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Target {
    #[serde(rename = "ref")]
    name: Field<BaseRef>,
}

/// What an `edited` delivery says was there before.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Changes {
    base: Option<IgnoredAny>,
    body: Option<Former>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Former {
    from: Field<String>,
}

/// Whether a pull request that was not merged is open.
fn state(word: &str) -> Result<PullState, Fault> {
    match word {
        "open" => Ok(PullState::Open),
        "closed" => Ok(PullState::Closed),
        other => Err(Fault {
            field: "pull_request.state",
            why: format!("neither `open` nor `closed` but `{other}`"),
        }),
    }
}

impl Pull {
    fn read(self) -> Result<PullRequest, Fault> {
        let head = need(self.head, "pull_request.head")?;
        let base = need(self.base, "pull_request.base")?;
        let merged_at = self.merged_at.opt().map(|at| at.0);
        let merge_commit = self.merge_commit_sha.opt();
        let word = self.state.need("pull_request.state")?;
        let (state, test_merge) = if merged_at.is_some() || self.merged.opt() == Some(true) {
            let merged = PullState::Merged {
                at: merged_at,
                by: actor(self.merged_by),
                commit: merge_commit,
            };
            (merged, None)
        } else {
            let state = state(&word)?;
            // On anything but an open pull request the field is not a trial merge.
            let test_merge = merge_commit.filter(|_| state == PullState::Open);
            (state, test_merge)
        };
        Ok(PullRequest {
            number: self.number.need("pull_request.number")?,
            title: self.title.opt().unwrap_or_default(),
            body: self.body.opt().unwrap_or_default(),
            state,
            draft: self.draft.opt().unwrap_or_default(),
            head: head.sha.need("pull_request.head.sha")?,
            head_ref: head.name.opt().unwrap_or_default(),
            head_repo: head.repo.and_then(|repo| repo.id.opt()),
            base: base.name.need("pull_request.base.ref")?,
            author: actor(self.user),
            labels: self
                .labels
                .into_iter()
                .flatten()
                .filter_map(|label| label.name.opt())
                .collect(),
            mergeable: self.mergeable.opt(),
            test_merge,
            changed_files: self.changed_files.opt(),
            auto_merge: self.auto_merge.is_some(),
            created_at: self.created_at.need("pull_request.created_at")?.0,
            updated_at: self.updated_at.need("pull_request.updated_at")?.0,
        })
    }
}

/// `pull_request`.
pub(super) fn pull(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: PullBody = parse(body)?;
    Ok(Event::Pull {
        repo: scene.repo,
        base_changed: scene.action == "edited"
            && body.changes.is_some_and(|changes| changes.base.is_some()),
        action: scene.action,
        pull: Box::new(need(body.pull_request, "pull_request")?.read()?),
        sender: scene.sender,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReviewBody {
    review: Option<ReviewPart>,
    pull_request: Option<PullPart>,
    changes: Option<Changes>,
}

/// The pull request in deliveries that are about something on it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PullPart {
    number: Field<PullNumber>,
    head: Option<Side>,
    base: Option<Target>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ReviewPart {
    id: Field<ReviewId>,
    user: Option<User>,
    state: Field<String>,
    commit_id: Field<HeadSha>,
    submitted_at: Field<When>,
    body: Field<String>,
    html_url: Field<String>,
}

fn review_state(word: &str) -> ReviewState {
    match word.to_ascii_lowercase().as_str() {
        "approved" => ReviewState::Approved,
        "changes_requested" => ReviewState::ChangesRequested,
        "commented" => ReviewState::Commented,
        "dismissed" => ReviewState::Dismissed,
        "pending" => ReviewState::Pending,
        _ => ReviewState::Unknown(word.to_owned()),
    }
}

/// Whether an edit may have touched an evidence block: the new text holds one, or the old one did,
/// or nobody says what the old one was.
fn touches_evidence(now: &str, changes: Option<Changes>) -> bool {
    let Some(former) = changes.and_then(|changes| changes.body) else {
        return holds_evidence(now);
    };
    holds_evidence(now) || former.from.opt().is_none_or(|text| holds_evidence(&text))
}

/// `pull_request_review`.
///
/// The head a review is bound to is `review.commit_id` as a `submitted` delivery tells it: what the
/// reviewer looked at, which may be older than the head that stood meanwhile. Later deliveries of the
/// same review do not tell (GitHub moves `commit_id` when the base is merged into the branch).
pub(super) fn review(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: ReviewBody = parse(body)?;
    let pull = need(body.pull_request, "pull_request")?;
    let review = need(body.review, "review")?;
    let text = review.body.opt().unwrap_or_default();
    let submitted = scene.action == "submitted";
    let base = pull.base.filter(|_| submitted);
    let head = match scene.action.as_str() {
        "submitted" => match review.commit_id.opt() {
            Some(reviewed) => Some(reviewed),
            None => pull.head.and_then(|head| head.sha.opt()),
        },
        _ => None,
    };
    let edited = scene.action == "edited" && touches_evidence(&text, body.changes);
    Ok(Event::Review {
        repo: scene.repo,
        action: scene.action,
        number: pull.number.need("pull_request.number")?,
        review: Review {
            id: review.id.need("review.id")?,
            author: actor(review.user),
            state: review_state(&review.state.need("review.state")?),
            head_told: head.is_some(),
            head,
            base: base.and_then(|base| base.name.opt()),
            submitted_at: review.submitted_at.opt().map(|at| at.0),
            body: if holds_evidence(&text) {
                text
            } else {
                String::new()
            },
            edited,
            url: review.html_url.opt(),
        },
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ThreadBody {
    pull_request: Option<PullPart>,
}

/// `pull_request_review_thread`.
pub(super) fn thread(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: ThreadBody = parse(body)?;
    Ok(Event::Thread {
        repo: scene.repo,
        number: need(body.pull_request, "pull_request")?
            .number
            .need("pull_request.number")?,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CommentBody {
    issue: Option<Issue>,
    comment: Option<CommentPart>,
    changes: Option<Changes>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Issue {
    number: Field<PullNumber>,
    /// Present only where the issue is a pull request.
    pull_request: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CommentPart {
    id: Field<CommentId>,
    user: Option<User>,
    performed_via_github_app: Option<App>,
    body: Field<String>,
    created_at: Field<When>,
    updated_at: Field<When>,
    html_url: Field<String>,
}

/// `issue_comment`.
pub(super) fn comment(scene: Scene, body: &[u8]) -> Result<Event, Fault> {
    let body: CommentBody = parse(body)?;
    let issue = need(body.issue, "issue")?;
    let comment = need(body.comment, "comment")?;
    let text = comment.body.opt().unwrap_or_default();
    let created_at = comment.created_at.need("comment.created_at")?.0;
    // A `created` delivery can be written after an edit; then the dates tell.
    let changed_since = comment.updated_at.opt().is_some_and(|at| at.0 > created_at);
    let edited = match scene.action.as_str() {
        "edited" => touches_evidence(&text, body.changes),
        _ => changed_since && holds_evidence(&text),
    };
    Ok(Event::Comment {
        repo: scene.repo,
        action: scene.action,
        number: issue.number.need("issue.number")?,
        on_pull: issue.pull_request.is_some(),
        comment: Comment {
            id: comment.id.need("comment.id")?,
            author: actor(comment.user),
            app: app(comment.performed_via_github_app),
            body: text,
            created_at,
            edited,
            url: comment.html_url.opt(),
        },
    })
}
