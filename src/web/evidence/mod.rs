//! `POST /evidence`: takes documents from workflows and key holders.
//!
//! Who brings a document proves it in one of two ways: by the token that GitHub gives a workflow run
//! (`Authorization: Bearer`, the body is the document), or by a signature (the body is a DSSE envelope).
//! What the document says of its author is not read. In this order, so that a stranger costs little and
//! learns nothing: rate of the peer (429), size (413), proof (401), repository and rate of the repository
//! (403, 429), the document (422), whether this carrier may speak about that head (403), then the store.
//!
//! **Whose rate.** Before anything is proven only the peer's address tells one sender from another, and
//! behind a proxy all senders share it. So what is proven to come from a repository's workflow or key
//! counts for that repository and is given back to the peer: verifiers at work use up nobody else's rate.
//! What is left: a stranger behind the same proxy can use up the peer's, and then whoever may post waits
//! out the minute that `Retry-After` tells. The same holds for bodies that come slowly: an address may have a
//! quarter of those that are read at once. A proxy that takes a body whole before it passes it on lets no
//! stranger hold that quarter.
//!
//! **Quicker than a webhook.** A verifier may post before the delivery that tells of its pull request, or
//! though that delivery was lost. So a head of which no pull request is known is asked of GitHub here and
//! now, and only its word refuses the document. Two such questions about one head lie [`ASKED`] apart; who
//! posts in between is told to come again, never that there is no pull request.
//!
//! **Durable, then answered.** 201 means that the document is on the disk and the pull requests with its
//! head are woken. Whether it counts is judged by every pass anew: a key that the policy drops, a workflow
//! whose branch is the base no more, speak no longer.
//!
//! **Known.** Which policy names the carrier is taken from memory. A policy that changed within the last
//! moments may refuse what a second try is granted; nothing is counted by that, either way.
//!
//! **Left out.** A list of addresses that may post (the proof is the token), and `X-Forwarded-For` (whoever
//! sends it may write anything into it).

mod answer;
mod proof;
mod rate;
mod share;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde_json::Value;
use tokio::sync::Notify;

use answer::Refusal;
use rate::Rate;
use share::{Full, Shares};

use super::Addresses;
use super::server::Peer;
use crate::clock::Clock;
use crate::domain::evidence::envelope;
use crate::domain::model::{AppId, RepoId};
use crate::gather::Gather;
use crate::github::Reads;
use crate::github::issuer::Issuer;
use crate::store::{NewEvidence, Placed, Store};
use crate::sweep::Sweep;

/// The largest body: the largest document in base64, with its signatures.
const LARGEST: usize = 3 * 1024 * 1024 / 2;
/// A body that is too large is read on up to here, so that its sender sees the answer.
const DRAIN: usize = 8 * 1024 * 1024;
/// A body must come within this.
const WITHIN: Duration = Duration::from_secs(20);
/// How many bodies are read at once.
const BODIES: usize = 32;
/// How many of those from one address.
const BODIES_OF_ONE: usize = BODIES / 4;
/// How often one peer may post in a minute.
const BY_PEER: u32 = 240;
/// How often the workflows and keys of one repository may post in a minute.
const BY_REPOSITORY: u32 = 60;
/// How long GitHub's word that no open pull request has a head is not asked for again.
const ASKED: chrono::Duration = chrono::Duration::seconds(5);

/// A document whose sender is proven.
enum Admitted {
    /// It may be kept.
    New(NewEvidence),
    /// It is kept already.
    Kept,
}

/// Takes documents.
pub struct Posting {
    store: Arc<dyn Store>,
    clock: Clock,
    gather: Gather,
    issuer: Issuer,
    sweep: Sweep,
    addresses: Addresses,
    woken: Arc<Notify>,
    bodies: Shares,
    peers: Rate<IpAddr>,
    repositories: Rate<RepoId>,
}

impl Posting {
    /// Asks nobody anything yet.
    pub fn new(
        store: Arc<dyn Store>,
        reads: Arc<dyn Reads>,
        clock: Clock,
        own_app: AppId,
        addresses: Addresses,
        woken: Arc<Notify>,
    ) -> Self {
        Self {
            gather: Gather::new(store.clone(), reads.clone(), clock.clone(), own_app),
            sweep: Sweep::new(store.clone(), reads.clone(), clock.clone()),
            issuer: Issuer::new(reads, clock.clone()),
            store,
            clock,
            addresses,
            woken,
            bodies: Shares::new(BODIES, BODIES_OF_ONE),
            peers: Rate::new(BY_PEER),
            repositories: Rate::new(BY_REPOSITORY),
        }
    }

    /// The route, with no other limit on the body than this room's.
    pub fn routes(self) -> Router {
        Router::new()
            .route("/evidence", post(take))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::new(self))
    }

    async fn accept(&self, request: Request) -> Result<Placed, Refusal> {
        let (parts, body) = request.into_parts();
        let peer = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let now = self.clock.now();
        self.peers.take(peer, now).map_err(Refusal::TooMany)?;
        let text = self.body(peer, &parts.headers, body).await?;
        let admitted = match bearer(&parts.headers)? {
            Some(token) => self.by_token(peer, token, text).await?,
            None => self.by_signature(peer, &parts.headers, &text).await?,
        };
        let evidence = match admitted {
            Admitted::New(evidence) => evidence,
            Admitted::Kept => return Ok(Placed::Known),
        };
        let placed = self.store.post_evidence(&evidence).await?;
        self.woken.notify_one();
        tracing::info!(
            repo = %evidence.repo,
            head = %evidence.head,
            carrier = ?evidence.carrier,
            ?placed,
            "evidence posted"
        );
        Ok(placed)
    }

    async fn by_token(
        &self,
        peer: IpAddr,
        token: &str,
        document: String,
    ) -> Result<Admitted, Refusal> {
        let claims = self.proven(token).await?;
        self.of_workflow(peer, &claims, document).await
    }

    async fn by_signature(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
        text: &str,
    ) -> Result<Admitted, Refusal> {
        let value: Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) if says(headers, envelope::MEDIA_TYPE) => {
                return Err(Refusal::not_json(&error));
            }
            Err(_) => return Err(Refusal::Nobody),
        };
        if !says(headers, envelope::MEDIA_TYPE) && !envelope::is_envelope(&value) {
            return Err(Refusal::Nobody);
        }
        envelope::is_unambiguous(text).map_err(|fault| Refusal::Faulty(vec![fault]))?;
        let envelope = envelope::Envelope::read(&value).map_err(Refusal::Faulty)?;
        self.of_key(peer, envelope).await
    }

    /// Counts for the repository what was proven to be its own, and for the peer no more.
    fn count(&self, peer: IpAddr, repo: RepoId) -> Result<(), Refusal> {
        self.peers.give_back(&peer);
        let counted = self.repositories.take(repo, self.clock.now());
        counted.map_err(Refusal::TooMany)
    }

    async fn body(&self, peer: IpAddr, headers: &HeaderMap, body: Body) -> Result<String, Refusal> {
        check_type(headers)?;
        let _slot = self.bodies.take(peer)?;
        let read = tokio::time::timeout(WITHIN, whole(body)).await;
        let bytes = read.unwrap_or(Err(Refusal::Late))?;
        String::from_utf8(bytes.into()).map_err(|error| Refusal::not_json(&error))
    }
}

impl From<Full> for Refusal {
    fn from(full: Full) -> Self {
        match full {
            Full::Together => Self::Crowded,
            Full::Alone => Self::Slow(BODIES_OF_ONE),
        }
    }
}

/// What the body is, if the sender says so, must be JSON of some kind, as it is: what unfolds to more than
/// was sent is not read here.
fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    let mut encodings = encodings.map(|value| value.as_bytes().trim_ascii());
    if encodings.any(|value| !value.is_empty() && !value.eq_ignore_ascii_case(b"identity")) {
        return Err(Refusal::Compressed);
    }
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let kind = value.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    match kind == "application/json" || kind.ends_with("+json") {
        true => Ok(()),
        false => Err(Refusal::Type),
    }
}

fn says(headers: &HeaderMap, kind: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let value = value.and_then(|value| value.to_str().ok());
    let value = value.and_then(|value| value.split(';').next());
    value.is_some_and(|value| value.trim().eq_ignore_ascii_case(kind))
}

/// The token, if one was sent.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let value = value.to_str().map_err(|_| Refusal::Nobody)?;
    let (scheme, token) = value.split_once(' ').ok_or(Refusal::Nobody)?;
    match scheme.eq_ignore_ascii_case("bearer") {
        true => Ok(Some(token.trim())),
        false => Err(Refusal::Nobody),
    }
}

async fn whole(body: Body) -> Result<Bytes, Refusal> {
    let mut body = Limited::new(body, DRAIN);
    let mut bytes = Vec::new();
    let mut total = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.is::<LengthLimitError>() {
            true => Refusal::TooLarge,
            false => Refusal::Broken,
        })?;
        if let Ok(data) = frame.into_data() {
            total += data.len();
            if total <= LARGEST {
                bytes.extend_from_slice(&data);
            }
        }
    }
    match total > LARGEST {
        true => Err(Refusal::TooLarge),
        false => Ok(bytes.into()),
    }
}

async fn take(State(posting): State<Arc<Posting>>, request: Request) -> Response {
    match posting.accept(request).await {
        Ok(placed) => answer::placed(placed),
        Err(refusal) => {
            let status = refusal.status();
            match status {
                StatusCode::SERVICE_UNAVAILABLE => {
                    tracing::warn!(%refusal, "evidence could not be taken");
                }
                _ => tracing::info!(status = status.as_u16(), %refusal, "evidence refused"),
            }
            refusal.into_response()
        }
    }
}
