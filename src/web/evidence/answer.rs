//! What whoever posts evidence is answered.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::domain::evidence::{Fault, identity};
use crate::github::issuer::Unproved;
use crate::store::{Placed, StoreError};

/// When to come again after a 503, in seconds.
const SOON: u64 = 10;
/// When to come again where a verifier has said enough about one head, in seconds.
const MUCH_LATER: u64 = 3_600;

/// Why a document is not taken. Neither tokens nor documents are repeated.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(
        "nobody says who brings this: send the token of a GitHub Actions run as `Authorization: Bearer`, \
         or a DSSE envelope signed with a verifier's key"
    )]
    Nobody,
    #[error("{0}")]
    Token(Unproved),
    #[error("the token does not prove who brings this: {0}")]
    Claim(identity::Refusal),
    #[error(
        "no `key:` of a verifier in the policy of the repository that the document names signed it: name \
         the public key in the policy, and the repository by its present name"
    )]
    Signature,
    #[error("this run may not report that: {0}")]
    Forbidden(identity::Refusal),
    #[error("the document has {} to mend", match .0.len() { 1 => "a fault".to_owned(), n => format!("{n} faults") })]
    Faulty(Vec<Fault>),
    #[error(
        "the body is larger than what is read here: name fewer mutants, those in changed lines"
    )]
    TooLarge,
    #[error("the body must be JSON: send it as application/json")]
    Type,
    #[error("the body must not be compressed: send it without Content-Encoding")]
    Compressed,
    #[error("the body broke off")]
    Broken,
    #[error("the body did not come in time")]
    Late,
    #[error("too many bodies are being read; come again")]
    Crowded,
    #[error(
        "{0} bodies from this address are being read already; send one after the other, each at once, and come \
         again"
    )]
    Slow(usize),
    #[error("this is too often; come again in {0} s")]
    TooMany(u64),
    #[error(
        "this server does not know its own address, which tokens must be made out to: set \
         COUNTERSIGN_PUBLIC_URL (--public-url) there"
    )]
    NoAddress,
    #[error("which policy applies there is not known yet; it is being read, come again")]
    NoPolicy,
    #[error(
        "which pull request has {0} as its head could not be found out just now; post the same document \
         again"
    )]
    NoPullYet(String),
    #[error("the document could not be stored; come again")]
    Store,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "posted evidence could not be judged or kept");
        Self::Store
    }
}

impl From<Vec<Fault>> for Refusal {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Faulty(faults)
    }
}

impl Refusal {
    /// What is no JSON is a fault of the document as a whole.
    pub fn not_json(error: &dyn std::fmt::Display) -> Self {
        Self::Faulty(vec![Fault {
            path: String::new(),
            message: format!("it is not JSON: {error}"),
        }])
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Token(Unproved::NoKeys(_))
            | Self::Crowded
            | Self::NoAddress
            | Self::NoPolicy
            | Self::NoPullYet(_)
            | Self::Store => StatusCode::SERVICE_UNAVAILABLE,
            Self::Nobody | Self::Token(_) | Self::Claim(_) | Self::Signature => {
                StatusCode::UNAUTHORIZED
            }
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Faulty(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Type | Self::Compressed => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Broken => StatusCode::BAD_REQUEST,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::Slow(_) | Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn again(&self) -> Option<u64> {
        match self {
            Self::TooMany(after) => Some(*after),
            Self::Slow(_) => Some(SOON),
            other => (other.status() == StatusCode::SERVICE_UNAVAILABLE).then_some(SOON),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut body = json!({ "error": self.to_string() });
        match &self {
            Self::Faulty(faults) => body["faults"] = json!(faults),
            Self::Claim(refusal) | Self::Forbidden(refusal) => {
                body["claim"] = json!(refusal.claim);
                body["found"] = json!(refusal.found);
                body["expected"] = json!(refusal.expected);
            }
            _ => {}
        }
        let mut response = (self.status(), Json(body)).into_response();
        if let Some(after) = self.again() {
            come_again(&mut response, after);
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}

fn come_again(response: &mut Response, after: u64) {
    let after = HeaderValue::from(after);
    response.headers_mut().insert(header::RETRY_AFTER, after);
}

/// What became of a document that was good.
pub fn placed(placed: Placed) -> Response {
    let (status, body) = match placed {
        Placed::Stored => (StatusCode::CREATED, json!({ "stored": true })),
        Placed::Known => (StatusCode::OK, json!({ "stored": false, "known": true })),
        Placed::Another => {
            let error = "another document of this verifier, head and `predicate.context` is stored, and \
                         stays: give a new run a context of its own";
            (StatusCode::CONFLICT, json!({ "error": error }))
        }
        Placed::Full => {
            let error = "this verifier has posted as many documents about this head as are kept: post about the \
                         next one";
            (StatusCode::TOO_MANY_REQUESTS, json!({ "error": error }))
        }
    };
    let mut response = (status, Json(body)).into_response();
    if placed == Placed::Full {
        come_again(&mut response, MUCH_LATER);
    }
    response
}

#[cfg(test)]
mod tests;
