//! The API: the stored verdicts and the ledger, as JSON.

use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Lost, PullPath, WebState, named, number};

impl IntoResponse for Lost {
    fn into_response(self) -> Response {
        let body = json!({ "error": self.sentence() });
        (self.status(), axum::Json(body)).into_response()
    }
}

/// The verdict tree of one pull request.
pub async fn pull(
    State(state): State<WebState>,
    Path((owner, repo, text)): PullPath,
) -> Result<axum::Json<Value>, Lost> {
    let named = named(&*state.store, &owner, &repo).await?;
    let record = state.store.record(named.id, number(&text)?).await?;
    record.verdict.map(axum::Json).ok_or_else(|| {
        Lost::Unknown(format!(
            "There is no verdict on {}#{text} yet; `countersign explain {}#{text}` reads GitHub itself.",
            named.name, named.name
        ))
    })
}

/// Every open pull request with its outcome and whose move it is.
pub async fn pulls(
    State(state): State<WebState>,
    Path((owner, repo)): Path<(String, String)>,
) -> Result<axum::Json<Value>, Lost> {
    let named = named(&*state.store, &owner, &repo).await?;
    let rows = state.store.open_pulls(Some(named.id)).await?;
    let pulls: Vec<_> = rows
        .iter()
        .map(|row| {
            let verdict = row.record.verdict.as_ref();
            let told = |field: &str| verdict.and_then(|v| v.get(field)).cloned();
            json!({
                "number": row.pull.number,
                "title": row.pull.title,
                "head": row.pull.head,
                "base": row.pull.base,
                "outcome": told("outcome"),
                "reason": told("reason"),
                "whose_move": told("whose_move"),
                "by_agent": told("by_agent"),
                "at": told("at"),
            })
        })
        .collect();
    Ok(axum::Json(
        json!({ "repository": named.name, "pulls": pulls }),
    ))
}

/// Where to go on in the ledger.
#[derive(Deserialize)]
pub struct After {
    #[serde(default)]
    after: u64,
}

/// A page of the ledger of one repository as JSON lines. The chain runs through all repositories of
/// the server, so only `countersign ledger export` proves it.
pub async fn ledger(
    State(state): State<WebState>,
    Path((owner, repo)): Path<(String, String)>,
    Query(After { after }): Query<After>,
) -> Result<Response, Lost> {
    const PAGE: u32 = 1_000;
    let named = named(&*state.store, &owner, &repo).await?;
    let entries = state.store.ledger(Some(named.id), after, PAGE).await?;
    let mut lines = String::new();
    for entry in entries {
        lines.push_str(&json!(entry).to_string());
        lines.push('\n');
    }
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], lines).into_response())
}
