//! Another way to GitHub than a network: whoever holds both ends carries requests over by hand.
//!
//! Random worlds run by the ten thousand. There, sockets cost more than everything that is looked at, and
//! make the order of things the machine's. A carrier takes the place of the connection alone: addresses,
//! tokens, time-outs, refusals and what may be sent twice stay as they are.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};

/// What octocrab calls itself over a network.
const NAME: HeaderValue = HeaderValue::from_static("octocrab");

/// Carries requests.
#[async_trait]
pub trait Carrier: Send + Sync {
    /// Carries one request over and its answer back.
    ///
    /// # Errors
    /// Why there is no answer. As over a network, the request may have been heard.
    async fn carry(&self, request: Request<Bytes>) -> Result<Response<Bytes>, String>;
}

/// octocrab over a carrier. Must be called within a Tokio runtime.
pub(super) fn crab(carrier: Arc<dyn Carrier>) -> Octocrab {
    let service = tower::service_fn(move |request: Request<OctoBody>| {
        let carrier = carrier.clone();
        async move {
            let (mut parts, body) = request.into_parts();
            parts.headers.entry(header::USER_AGENT).or_insert(NAME);
            let body = body.collect().await.map_err(tower::BoxError::from)?;
            let request = Request::from_parts(parts, body.to_bytes());
            let answer = carrier.carry(request).await;
            answer
                .map(|answer| answer.map(Full::new))
                .map_err(tower::BoxError::from)
        }
    });
    let built = OctocrabBuilder::new_empty()
        .with_service(service)
        .with_auth(AuthState::None)
        .build();
    match built {
        Ok(crab) => crab,
        Err(never) => match never {},
    }
}
