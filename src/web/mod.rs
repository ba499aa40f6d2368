//! HTTP in, HTML or JSON out. Nothing is decided here, and nothing is written to GitHub: every page
//! and answer shows what passes have put on record.
//!
//! With an API token, pages and API are shown only to who has it: programs as `Authorization: Bearer`,
//! people by signing in once (the cookie holds a value made from the token, not the token). Without
//! one they are open to whoever reaches the address, which is this machine alone by default.
//!
//! No page needs a script, and no header allows one.

mod access;
mod api;
mod pages;
pub mod server;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use secrecy::SecretString;
use serde_json::json;

use crate::clock::Clock;
use crate::domain::model::{PullNumber, RepoId, RepoName};
use crate::store::{Store, StoreError};

/// What the pages and answers are made from.
#[derive(Clone)]
pub struct WebState {
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Clock,
    /// Opens API and pages; everybody may see them without.
    pub api_token: Option<SecretString>,
    /// GitHub has accepted our credentials.
    pub ready: Arc<AtomicBool>,
}

/// Headers on every answer.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Every route but the webhook's.
pub fn router(state: WebState) -> Router {
    let api = Router::new()
        .route(
            "/api/v1/repos/{owner}/{repo}/pulls/{number}",
            get(api::pull),
        )
        .route("/api/v1/repos/{owner}/{repo}/pulls", get(api::pulls))
        .route("/api/v1/repos/{owner}/{repo}/ledger", get(api::ledger))
        .layer(axum::middleware::from_fn_with_state(
            state.clone(),
            access::programs,
        ));
    let pages = Router::new()
        .route("/", get(pages::overview))
        .route("/repos/{owner}/{repo}/pulls/{number}", get(pages::pull))
        .layer(axum::middleware::from_fn_with_state(
            state.clone(),
            access::people,
        ));
    Router::new()
        .merge(api)
        .merge(pages)
        .route("/signin", post(access::sign_in))
        .route("/assets/style.css", get(style))
        .route(
            "/healthz",
            get(async || axum::Json(json!({ "alive": true }))),
        )
        .route("/readyz", get(ready))
        .layer(axum::middleware::map_response(with_headers))
        .with_state(state)
}

async fn with_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

async fn style() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::CACHE_CONTROL, "max-age=300"),
    ];
    (headers, include_str!("style.css")).into_response()
}

/// Ready: the database answers (its migrations were run when it was opened) and GitHub has accepted
/// our credentials once.
async fn ready(State(state): State<WebState>) -> Response {
    let database = state.store.ping().await.is_ok();
    let github = state.ready.load(Ordering::Relaxed);
    let status = if database && github {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({ "ready": database && github, "database": database, "github": github });
    (status, axum::Json(body)).into_response()
}

/// A repository and pull request, as an address names them.
struct Named {
    id: RepoId,
    name: RepoName,
}

/// Why an address leads nowhere.
enum Lost {
    /// It names nothing that is known; the sentence says what to do.
    Unknown(String),
    /// The store failed; the log has the cause.
    Failed,
}

impl From<StoreError> for Lost {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a page could not be made");
        Self::Failed
    }
}

impl Lost {
    fn status(&self) -> StatusCode {
        match self {
            Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn sentence(&self) -> &str {
        match self {
            Self::Unknown(sentence) => sentence,
            Self::Failed => "The database did not answer; the server's log has the cause.",
        }
    }
}

async fn named(store: &dyn Store, owner: &str, repo: &str) -> Result<Named, Lost> {
    let text = format!("{owner}/{repo}");
    let unknown = || {
        Lost::Unknown(format!(
            "The repository {text} is not known: is the App installed on it?"
        ))
    };
    let name = RepoName::parse(&text).map_err(|_| unknown())?;
    let id = store.repo_named(&name).await?.ok_or_else(unknown)?;
    Ok(Named { id, name })
}

fn number(text: &str) -> Result<PullNumber, Lost> {
    let number = text.parse().ok().and_then(PullNumber::new);
    number.ok_or_else(|| Lost::Unknown(format!("{text:?} is not a pull request's number.")))
}

type PullPath = Path<(String, String, String)>;
