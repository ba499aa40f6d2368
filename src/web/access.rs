//! Who may see pages and API.

use axum::Form;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::Sha256;

use super::{WebState, pages};

const COOKIE: &str = "countersign";

/// An authentication code over `text` with the token as its key. Two codes are compared by HMAC's own
/// check, which takes the same time wherever they differ.
fn code(token: &SecretString, text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut code = Hmac::<Sha256>::new_from_slice(token.expose_secret().as_bytes()).ok()?;
    code.update(text);
    Some(code)
}

/// Whether somebody offers the token itself, in constant time.
fn is_token(token: &SecretString, offered: &str) -> bool {
    const PROBE: &[u8] = b"token";
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

/// Whether the cookie was set for this very token.
fn signed_in(token: &SecretString, headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter();
    let offered = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
        .and_then(|value| hex::decode(value).ok());
    match (offered, code(token, b"session")) {
        (Some(offered), Some(code)) => code.verify_slice(&offered).is_ok(),
        _ => false,
    }
}

fn admitted(state: &WebState, headers: &HeaderMap) -> bool {
    state.api_token.as_ref().is_none_or(|token| {
        bearer(headers).is_some_and(|offered| is_token(token, offered)) || signed_in(token, headers)
    })
}

/// Lets programs pass that have the token.
pub async fn programs(State(state): State<WebState>, request: Request, next: Next) -> Response {
    if admitted(&state, request.headers()) {
        return next.run(request).await;
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    let body = serde_json::json!({
        "error": "send the server's token: Authorization: Bearer COUNTERSIGN_API_TOKEN",
    });
    (StatusCode::UNAUTHORIZED, challenge, axum::Json(body)).into_response()
}

/// Lets people pass that have signed in, and offers it to the others.
pub async fn people(State(state): State<WebState>, request: Request, next: Next) -> Response {
    if admitted(&state, request.headers()) {
        return next.run(request).await;
    }
    pages::sign_in_form(
        "Sign in",
        "This page is for people who have the server's token.",
    )
}

/// What the form sends.
#[derive(Deserialize)]
pub struct SignIn {
    token: String,
}

/// Sets the cookie for who has the token. A form of another site is of no use: without the token
/// nothing is set, and nothing here changes anything.
pub async fn sign_in(State(state): State<WebState>, Form(form): Form<SignIn>) -> Response {
    let Some(token) = &state.api_token else {
        return Redirect::to("/").into_response();
    };
    let session = code(token, b"session").filter(|_| is_token(token, form.token.trim()));
    let Some(session) = session else {
        return pages::sign_in_form(
            "That is not the token",
            "Look at the server's COUNTERSIGN_API_TOKEN.",
        );
    };
    let value = hex::encode(session.finalize().into_bytes());
    let cookie = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=1209600");
    let mut response = Redirect::to("/").into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
