//! HTTP in, HTML or JSON out. Nothing is decided here and nothing is written to GitHub: every page and
//! answer shows what passes have put on record, so the dashboard, the API and the check run cannot
//! disagree.
//!
//! **Who may look.** With an API token, pages and API are shown only to who has it: programs send it as
//! `Authorization: Bearer`, people sign in once (`access`). Without one they are open to whoever
//! reaches the address, which by default is this machine alone. Health, readiness and the style sheet
//! are open in any case: they tell nothing of any repository.
//!
//! **What is shown was written by others.** Titles, check names and findings are escaped by the
//! templates, links lead to `http` and `https` only, and the headers forbid every script, frame and
//! foreign resource, so a page that slipped through would still do nothing. No page needs a script.
//!
//! **What is left out.** Pages do not update by themselves but for the dashboard, which a `meta` tag
//! reloads: a reload would close what somebody has unfolded. Attempts to guess the token are not
//! counted: it is to be long and random, and a proxy counts better.

mod access;
mod api;
pub mod evidence;
mod history;
mod known;
mod limits;
mod metrics;
mod outlooks;
mod pages;
pub mod server;
pub mod setup;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use secrecy::SecretString;
use serde_json::json;

use crate::clock::Clock;
use crate::settings::Live;
use crate::store::Store;
use crate::watch::Watch;

pub use metrics::Scrape;

/// What the pages and answers are made from.
#[derive(Clone)]
pub struct WebState {
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Clock,
    /// Opens API and pages; everybody who reaches the address may see them without one.
    pub api_token: Live<Option<SecretString>>,
    /// GitHub has accepted our credentials at least once.
    pub ready: Arc<AtomicBool>,
    /// What is where.
    pub addresses: Addresses,
    /// What is left of the installations' budgets.
    pub budgets: Budgets,
    /// What stands still and should not.
    pub watch: Watch,
    /// What is counted, and what scrapers were shown.
    pub scrape: Scrape,
}

pub use crate::watch::Budgets;

/// Addresses that pages lead to. Where one is not known, a page does without.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Where people reach this server. Over https the cookie is for https alone.
    pub public: Option<String>,
    /// Where people see pull requests ([`github_pages`]).
    pub github: Option<String>,
}

/// The address at which people see what a GitHub's API is about: `https://github.com` for
/// `https://api.github.com`, `https://HOST` for the `https://HOST/api/v3` of an Enterprise Server, and
/// the address itself for any other.
pub fn github_pages(api_url: &str) -> String {
    let api_url = api_url.trim_end_matches('/');
    if api_url.eq_ignore_ascii_case("https://api.github.com") {
        return "https://github.com".to_owned();
    }
    api_url
        .strip_suffix("/api/v3")
        .unwrap_or(api_url)
        .to_owned()
}

/// Headers on every answer ([`strict`]), unless it brings its own.
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
    let programs = axum::middleware::from_fn_with_state(state.clone(), access::programs);
    let api = Router::new()
        .route("/repos/{owner}/{repo}/pulls/{number}", get(api::pull))
        .route("/repos/{owner}/{repo}/pulls", get(api::pulls))
        .route("/alarms", get(api::alarms))
        .route("/repos/{owner}/{repo}/ledger", get(api::ledger))
        .route("/repos/{owner}/{repo}/dispatch", get(api::dispatch))
        .route("/repos/{owner}/{repo}/next", get(api::next))
        .route("/repos/{owner}/{repo}/scorecard", get(api::scorecard))
        .route("/limits", get(limits::limits))
        .fallback(api::no_such_route)
        .layer(programs.clone());
    let metrics = Router::new()
        .route("/metrics", get(metrics::metrics))
        .layer(programs);
    let people = axum::middleware::from_fn_with_state(state.clone(), access::people);
    let pages = Router::new()
        .route("/", get(pages::dashboard))
        .route("/repos/{owner}/{repo}", get(outlooks::repository_page))
        .route("/repos/{owner}/{repo}/pulls/{number}", get(pages::pull))
        .layer(people);
    Router::new()
        .nest("/api/v1", api)
        .merge(pages)
        .merge(metrics)
        .route("/signin", post(access::sign_in))
        .route("/signout", post(access::sign_out))
        .route("/assets/style.css", get(style))
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .fallback(pages::no_such_page)
        .with_state(state)
}

/// The routes, with strict headers on every answer of theirs, refusals and the unknown included.
pub fn strict(routes: Router) -> Router {
    routes.layer(axum::middleware::map_response(with_headers))
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
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, include_str!("assets/style.css")).into_response()
}

/// Alive: requests are answered. Nothing else is asked, so that a slow database restarts nobody.
async fn healthy() -> axum::Json<serde_json::Value> {
    axum::Json(json!({ "alive": true }))
}

/// How long the database may take to answer who asks whether the server is ready. Somewhat longer than a call
/// waits for a connection; a network that swallows everything would have the answer never come.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ready: the database answers (its schema was brought up to date when it was opened) and GitHub has
/// accepted our credentials once, until the server is told to stop. Whoever is not ready is told why,
/// without the database's own words.
async fn ready(
    State(state): State<WebState>,
    stopping: Option<Extension<server::Stopping>>,
) -> Response {
    let mut reasons = Vec::new();
    let database = match tokio::time::timeout(PATIENCE, state.store.ping()).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            tracing::error!(%error, "the database does not answer");
            false
        }
        Err(_) => {
            tracing::error!("the database says nothing");
            false
        }
    };
    if !database {
        reasons.push("the database does not answer; the server's log has the cause");
    }
    let github = state.ready.load(Ordering::Relaxed);
    if !github {
        reasons
            .push("GitHub has not accepted the App's credentials yet; the server's log tells why");
    }
    if stopping.is_some_and(|stopping| stopping.told()) {
        reasons.push("the server was told to stop, and takes no new work");
    }
    let status = if reasons.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let body = json!({
        "ready": reasons.is_empty(),
        "database": database,
        "github": github,
        "reasons": reasons,
    });
    (status, axum::Json(body)).into_response()
}
