//! The API: what passes have put on record, as JSON. Errors are JSON too and say what to do.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};

use super::WebState;
use super::known::{Lost, PullPath, RepoPath, number, repository};
use crate::domain::model::RepoId;
use crate::outlook::{self, Outlook};
use crate::store::{PullRow, Store, StoreError};

impl IntoResponse for Lost {
    fn into_response(self) -> Response {
        (
            self.status(),
            axum::Json(json!({ "error": self.sentence() })),
        )
            .into_response()
    }
}

/// An address below `/api` that names nothing.
pub(super) async fn no_such_route() -> Lost {
    Lost::Unknown(
        "There is no such address. Pull requests are at /api/v1/repos/OWNER/REPO/pulls, one of them \
         at /api/v1/repos/OWNER/REPO/pulls/NUMBER; next, dispatch, scorecard and ledger stand beside pulls."
            .into(),
    )
}

/// What stands still and should not, the server's own troubles first; an empty list where all is well.
pub(super) async fn alarms(State(state): State<WebState>) -> axum::Json<Value> {
    axum::Json(json!({ "alarms": state.watch.alarms().await }))
}

/// The verdict tree of one pull request, as the last pass recorded it.
pub(super) async fn pull(
    State(state): State<WebState>,
    Path((owner, repo, text)): PullPath,
) -> Result<axum::Json<Value>, Lost> {
    let known = repository(&*state.store, &owner, &repo).await?;
    let number = number(&text)?;
    let record = state.store.record(known.id, number).await?;
    record.verdict.map(axum::Json).ok_or_else(|| {
        let name = &known.name;
        Lost::Unknown(format!(
            "{name}#{number} has not been judged here. If it was opened just now, ask again in a few \
             seconds; `countersign explain {name}#{number}` reads GitHub itself."
        ))
    })
}

/// Every open pull request, oldest first, with its outcome and whose move it is.
pub(super) async fn pulls(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
) -> Result<axum::Json<Value>, Lost> {
    let known = repository(&*state.store, &owner, &repo).await?;
    let rows = state.store.open_pulls(Some(known.id)).await?;
    let pulls: Vec<_> = rows.iter().map(row).collect();
    Ok(axum::Json(
        json!({ "repository": known.name, "pulls": pulls }),
    ))
}

/// Whether a dispatch may be started, who holds the slots and who waits in line.
pub(super) async fn dispatch(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
) -> Result<axum::Json<Value>, Lost> {
    let outlook = outlook(&state, &owner, &repo).await?;
    Ok(axum::Json(json!(outlook.may_start())))
}

/// What to do now, in order.
pub(super) async fn next(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
) -> Result<axum::Json<Value>, Lost> {
    let outlook = outlook(&state, &owner, &repo).await?;
    Ok(axum::Json(json!(outlook.next())))
}

/// Since when figures are counted.
#[derive(Deserialize)]
pub(super) struct Since {
    since: Option<chrono::NaiveDate>,
}

/// The outcome figures since a day (`?since=YYYY-MM-DD`, UTC), or of the last 30 days.
pub(super) async fn scorecard(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
    asked: Result<Query<Since>, QueryRejection>,
) -> Result<axum::Json<Value>, Lost> {
    let wrong = |_| Lost::Wrong("`since` is a day: ?since=2026-03-01".into());
    let Query(Since { since }) = asked.map_err(wrong)?;
    let known = repository(&*state.store, &owner, &repo).await?;
    let until = state.clock.now();
    let since = match since {
        Some(day) => day.and_time(chrono::NaiveTime::MIN).and_utc(),
        None => until - chrono::Duration::days(30),
    };
    let figures = outlook::scorecard(&*state.store, known.id, since, until).await?;
    Ok(axum::Json(json!(figures)))
}

async fn outlook(state: &WebState, owner: &str, repo: &str) -> Result<Outlook, Lost> {
    let known = repository(&*state.store, owner, repo).await?;
    Ok(Outlook::of(&*state.store, known.id, known.name).await?)
}

/// A pull request that no pass has judged yet has `null` where its verdict would speak.
fn row(row: &PullRow) -> Value {
    let told = |field: &str| {
        let verdict = row.record.verdict.as_ref();
        verdict.and_then(|verdict| verdict.get(field)).cloned()
    };
    json!({
        "number": row.pull.number,
        "title": row.pull.title,
        "author": row.pull.author.as_ref().map(|author| author.login.as_str()),
        "draft": row.pull.draft,
        "head": row.pull.head,
        "base": row.pull.base,
        "outcome": told("outcome"),
        "headline": told("title"),
        "reason": told("reason"),
        "since": told("since"),
        "whose_move": told("whose_move"),
        "by_agent": told("by_agent"),
        "at": told("at"),
    })
}

/// Where to go on in the ledger.
#[derive(Deserialize)]
pub(super) struct After {
    #[serde(default)]
    after: u64,
}

/// The ledger of one repository, oldest first, one JSON object a line; `?after=SEQ` goes on from
/// there. Read page by page while it is sent, so that its length costs no memory. The chain of hashes
/// runs through all repositories of the server: `countersign ledger verify` proves it, not this part.
pub(super) async fn ledger(
    State(state): State<WebState>,
    Path((owner, repo)): RepoPath,
    asked: Result<Query<After>, QueryRejection>,
) -> Result<Response, Lost> {
    let wrong = |_| {
        let how =
            "`after` is the `seq` of the last entry that you have, a whole number: ?after=120";
        Lost::Wrong(how.into())
    };
    let Query(After { after }) = asked.map_err(wrong)?;
    let known = repository(&*state.store, &owner, &repo).await?;
    let mut pages = Pages::new(state.store, known.id, after);
    // The first page is read before the answer begins: a database that is down is an error, not an
    // empty ledger.
    let first = pages.next_page().await?;
    let lines = stream::try_unfold((pages, Some(first)), async |(mut pages, ready)| {
        let page = match ready {
            Some(page) => page,
            None => pages.next_page().await?,
        };
        Ok::<_, StoreError>((!page.is_empty()).then_some((page, (pages, None))))
    });
    let headers = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((headers, Body::from_stream(lines)).into_response())
}

struct Pages {
    store: Arc<dyn Store>,
    repo: RepoId,
    after: u64,
    last: bool,
}

impl Pages {
    const LENGTH: u32 = 1_000;

    fn new(store: Arc<dyn Store>, repo: RepoId, after: u64) -> Self {
        Self {
            store,
            repo,
            after,
            last: false,
        }
    }

    /// The next lines; empty behind the last.
    async fn next_page(&mut self) -> Result<Bytes, StoreError> {
        if self.last {
            return Ok(Bytes::new());
        }
        let page = self.store.ledger(Some(self.repo), self.after, Self::LENGTH);
        let entries = page.await?;
        match entries.last() {
            Some(entry) => self.after = entry.seq,
            None => self.last = true,
        }
        let lines: String = entries
            .iter()
            .map(|entry| format!("{}\n", json!(entry)))
            .collect();
        Ok(Bytes::from(lines))
    }
}
