//! Authenticates a delivery and makes it durable. Nothing is decided here.
//!
//! In this order, so that a stranger learns nothing and costs little: size (413), signature over the
//! raw bytes (401), headers (400), JSON (400), then the store (202, or 503 with `Retry-After`). The
//! answer says only that the delivery is safe; what it means is found out later. A delivery that is
//! known already is accepted again and does nothing twice; an event nobody has heard of is accepted
//! too.
//!
//! The secret belongs to the App and to no repository, so renaming or transferring one changes
//! nothing here. While a secret is being changed, the one before is tried as well.
//!
//! Left out on purpose: a list of GitHub's addresses (the signature is the proof), and any limit on
//! the rate of requests (bodies are bounded in [`body`], connections in the server).

pub mod body;
mod counts;
pub mod door;
pub mod signature;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use secrecy::SecretString;
use serde::de::IgnoredAny;

pub use counts::Counts;
pub use door::{Door, Inbox, Shut, Writer, open};
pub use signature::authenticate;

use crate::clock::Clock;
use crate::domain::model::DeliveryId;
use crate::settings::Live;
use crate::store::{Accepted, NewDelivery};
use crate::telemetry::Meters;

/// Where GitHub is told to deliver, and the address that Apps' frameworks use by habit.
pub const ROUTES: [&str; 2] = ["/webhook", "/api/github/webhooks"];

/// GitHub's signature over the raw bytes.
const SIGNATURE: &str = "x-hub-signature-256";
/// The event's name.
const EVENT: &str = "x-github-event";
/// The delivery's id.
const DELIVERY: &str = "x-github-delivery";

/// When to come again after a 503, in seconds.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("10");

/// Why a request was not accepted.
#[derive(Debug, thiserror::Error)]
enum Rejection {
    #[error("the body is larger than 25 MiB")]
    TooLarge,
    #[error("X-Hub-Signature-256 is missing or malformed: the App's webhook needs a secret")]
    Unsigned,
    #[error(
        "X-Hub-Signature-256 does not fit the body: the secret in the App's settings and \
         COUNTERSIGN_WEBHOOK_SECRET differ"
    )]
    WrongSignature,
    #[error("{0} is missing or malformed")]
    Header(&'static str),
    #[error("the body is not JSON ({0}): the App's webhook must send application/json")]
    NotJson(String),
    #[error("the body broke off")]
    Broken,
    #[error("the body did not come in time")]
    Late,
    #[error("too many bodies are being read")]
    Crowded,
    #[error(transparent)]
    Shut(#[from] Shut),
}

impl Rejection {
    /// In one word, for whoever counts.
    fn word(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Unsigned => "unsigned",
            Self::WrongSignature => "wrong_signature",
            Self::Header(_) => "missing_header",
            Self::NotJson(_) => "not_json",
            Self::Broken => "broken",
            Self::Late => "late",
            Self::Crowded => "crowded",
            Self::Shut(_) => "not_stored",
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unsigned | Self::WrongSignature => StatusCode::UNAUTHORIZED,
            Self::Header(_) | Self::NotJson(_) | Self::Broken => StatusCode::BAD_REQUEST,
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::Crowded | Self::Shut(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = axum::Json(serde_json::json!({ "error": self.to_string() }));
        let mut response = (status, body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}

/// The webhook's handler and what it needs.
pub struct Webhook {
    secrets: Live<Vec<SecretString>>,
    door: Door,
    clock: Clock,
    room: body::Room,
    tally: counts::Tally,
    meters: Meters,
}

impl Webhook {
    /// A webhook that accepts what is signed with one of `secrets` and brings it to `door`.
    pub fn new(secrets: Vec<SecretString>, door: Door, clock: Clock) -> Self {
        Self {
            secrets: Live::new(secrets),
            door,
            clock,
            room: body::Room::new(body::ROOM),
            tally: counts::Tally::default(),
            meters: Meters::default(),
        }
    }

    /// The same webhook, counting what it answers there.
    #[must_use]
    pub fn metered(self, meters: Meters) -> Self {
        Self { meters, ..self }
    }

    /// What deliveries may be signed with, to be replaced.
    pub fn secrets(&self) -> Live<Vec<SecretString>> {
        self.secrets.clone()
    }

    /// How many requests ended how.
    pub fn counts(&self) -> Counts {
        self.tally.read()
    }

    /// The routes: both addresses, POST only, with no other limit on the body than this room's.
    pub fn routes(self: Arc<Self>) -> Router {
        ROUTES
            .iter()
            .fold(Router::new(), |router, path| router.route(path, post(take)))
            .layer(DefaultBodyLimit::disable())
            .with_state(self)
    }

    async fn accept(&self, headers: &HeaderMap, body: Body) -> Result<Accepted, Rejection> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let claim = text(SIGNATURE);
        if signature::claimed(claim).is_none() {
            return Err(match body::measure(headers, body).await? {
                size if size > body::LARGEST => Rejection::TooLarge,
                _ => Rejection::Unsigned,
            });
        }
        let kept = body::read(headers, body, &self.room).await?;
        if !authenticate(&self.secrets.get(), claim, &kept.bytes) {
            return Err(Rejection::WrongSignature);
        }
        let event = text(EVENT)
            .filter(|name| is_event_name(name))
            .ok_or(Rejection::Header("X-GitHub-Event"))?;
        let id = text(DELIVERY)
            .and_then(|id| DeliveryId::parse(id).ok())
            .ok_or(Rejection::Header("X-GitHub-Delivery"))?;
        check_json(&kept.bytes)?;
        let delivery = NewDelivery {
            id,
            event: event.to_owned(),
            body: kept.bytes.clone(),
            at: self.clock.now(),
        };
        Ok(self.door.bring(delivery).await?)
    }
}

/// GitHub's event names are short words with underscores; anything of that kind may come.
fn is_event_name(name: &str) -> bool {
    (1..=100).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether the bytes are JSON, down to the text encoding (which a parser that skips does not check).
fn check_json(body: &[u8]) -> Result<(), Rejection> {
    let text = std::str::from_utf8(body).map_err(|error| Rejection::NotJson(error.to_string()))?;
    serde_json::from_str::<IgnoredAny>(text)
        .map(|_| ())
        .map_err(|error| Rejection::NotJson(error.to_string()))
}

async fn take(State(webhook): State<Arc<Webhook>>, headers: HeaderMap, body: Body) -> Response {
    // For the log only; it proves nothing before the signature does. What is no id is not repeated: anybody
    // could fill the log with it.
    let id = headers.get(DELIVERY).and_then(|id| id.to_str().ok());
    let id = id.and_then(|id| DeliveryId::parse(id).ok());
    let delivery = id.as_ref().map_or("of no id", DeliveryId::as_str);
    let event = headers
        .get(EVENT)
        .and_then(|name| name.to_str().ok())
        .unwrap_or_default();
    match webhook.accept(&headers, body).await {
        Ok(accepted) => {
            let answer = match accepted {
                Accepted::Stored => {
                    webhook.tally.stored();
                    "stored"
                }
                Accepted::Known => {
                    webhook.tally.known();
                    "known"
                }
            };
            webhook.meters.delivery(event, answer);
            tracing::debug!(delivery, ?accepted, "delivery accepted");
            (StatusCode::ACCEPTED, axum::Json(serde_json::json!({}))).into_response()
        }
        Err(rejection) => {
            webhook.tally.rejected(&rejection);
            // Before the signature is known to be right, the event's name is anybody's.
            webhook.meters.delivery("unknown", rejection.word());
            let status = rejection.status().as_u16();
            tracing::warn!(delivery, status, reason = %rejection, "delivery rejected");
            rejection.into_response()
        }
    }
}
