//! Who may see pages and API, where the server has a token.
//!
//! The cookie holds an end and a code over it, keyed by the token: nothing is kept here, a new token
//! ends every session, and whoever reads the cookie does not learn the token. It is sent by this site
//! alone (`SameSite=Strict`), no script reads it, and what it opens can only be looked at.

use axum::Form;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use chrono::{DateTime, Duration};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::Sha256;

use super::{WebState, pages};
use crate::domain::model::Timestamp;

const COOKIE: &str = "countersign";
/// How long a person stays signed in.
const SESSION: Duration = Duration::hours(12);

/// A code over `text`, keyed by the token. HMAC takes keys of any length, so this is always there.
fn code(token: &SecretString, text: &str) -> Option<Hmac<Sha256>> {
    let mut code = Hmac::<Sha256>::new_from_slice(token.expose_secret().as_bytes()).ok()?;
    code.update(text.as_bytes());
    Some(code)
}

/// Whether somebody offers the token itself. Codes are compared, by HMAC's own check: it takes the
/// same time wherever they differ, and whatever the length of what is offered.
fn is_token(token: &SecretString, offered: &str) -> bool {
    const PROBE: &str = "is this the token?";
    let offered = SecretString::from(offered.to_owned());
    match (code(token, PROBE), code(&offered, PROBE)) {
        (Some(code), Some(offered)) => code.verify_slice(&offered.finalize().into_bytes()).is_ok(),
        _ => false,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

fn session_text(until: i64) -> String {
    format!("countersign session until {until}")
}

/// The cookie's value for a session that lasts until then: `SECONDS.CODE`.
fn session(token: &SecretString, until: Timestamp) -> Option<String> {
    let until = until.timestamp();
    let code = code(token, &session_text(until))?.finalize().into_bytes();
    Some(format!("{until}.{}", hex::encode(code)))
}

/// Whether a cookie was set for this very token and is not over.
fn signed_in(token: &SecretString, headers: &HeaderMap, now: Timestamp) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter();
    cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
        .any(|value| is_session(token, value, now))
}

fn is_session(token: &SecretString, value: &str, now: Timestamp) -> bool {
    let parts = value.split_once('.').and_then(|(until, code)| {
        let until = DateTime::from_timestamp(until.parse().ok()?, 0)?;
        Some((until, hex::decode(code).ok()?))
    });
    let Some((until, offered)) = parts else {
        return false;
    };
    let known = code(token, &session_text(until.timestamp()))
        .is_some_and(|code| code.verify_slice(&offered).is_ok());
    known && now < until
}

fn admitted(state: &WebState, headers: &HeaderMap) -> bool {
    state.api_token.get().as_ref().as_ref().is_none_or(|token| {
        bearer(headers).is_some_and(|offered| is_token(token, offered))
            || signed_in(token, headers, state.clock.now())
    })
}

/// Lets programs pass that have the token.
pub(super) async fn programs(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    if admitted(&state, request.headers()) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"countersign\"")];
    let body = serde_json::json!({
        "error": "This server has a token. Send it as `Authorization: Bearer TOKEN`; it is the \
                  server's COUNTERSIGN_API_TOKEN.",
    });
    (StatusCode::UNAUTHORIZED, challenge, axum::Json(body)).into_response()
}

/// Lets people pass that have signed in, and shows the form to the others.
pub(super) async fn people(
    State(state): State<WebState>,
    request: Request,
    next: Next,
) -> Response {
    if admitted(&state, request.headers()) {
        return next.run(request).await;
    }
    pages::sign_in_form(request.uri().path(), false)
}

/// What the form sends.
#[derive(Deserialize)]
pub(super) struct SignIn {
    token: String,
    #[serde(default)]
    to: String,
}

/// Sets the cookie for who has the token and leads back to the page that was asked for.
pub(super) async fn sign_in(State(state): State<WebState>, Form(form): Form<SignIn>) -> Response {
    let to = page_of_ours(&form.to);
    let Some(token) = state.api_token.get().as_ref().clone() else {
        return Redirect::to(to).into_response();
    };
    let value = if is_token(&token, form.token.trim()) {
        session(&token, state.clock.now() + SESSION)
    } else {
        None
    };
    match value {
        Some(value) => with_cookie(&state, &value, SESSION, Redirect::to(to).into_response()),
        None => pages::sign_in_form(to, true),
    }
}

/// Ends the session of this browser.
pub(super) async fn sign_out(State(state): State<WebState>) -> Response {
    let response = Redirect::to("/").into_response();
    with_cookie(&state, "", Duration::zero(), response)
}

/// The path of one of our pages, or the dashboard: the form must not lead to another site.
fn page_of_ours(to: &str) -> &str {
    let plain = to
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'_' | b'.'));
    if to.starts_with("/repos/") && plain {
        to
    } else {
        "/"
    }
}

fn with_cookie(state: &WebState, value: &str, age: Duration, mut response: Response) -> Response {
    let https = state
        .addresses
        .public
        .as_ref()
        .is_some_and(|url| url.starts_with("https://"));
    let secure = if https { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}",
        age.num_seconds()
    );
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
