//! A line to one address that belongs to no API of GitHub's: the one where a workflow run asks for its
//! identity token, and a Countersign server's.
//!
//! The same transport as for GitHub, and so the same time-outs, limits and silence about redirects: none is
//! followed, since what is sent proves who sends it. Nothing is tried again in here, and a status is given
//! as it came: what it means is the caller's to know.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri, header};
use secrecy::SecretString;

use super::Refused;
use super::client::{ClientError, Timeouts};
use super::transport::{Reply, Transport};

/// A line to one address.
pub struct Line {
    transport: Transport,
    address: String,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Debug)]
pub struct Heard {
    /// The status.
    pub status: u16,
    /// When to come again, where it is told in seconds.
    pub again: Option<Duration>,
    /// Where a redirect leads; it is not followed.
    pub location: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl From<Reply> for Heard {
    fn from(reply: Reply) -> Self {
        let text = |headers: &HeaderMap, name| {
            let value = headers.get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let again = text(&reply.headers, header::RETRY_AFTER);
        let again = again.and_then(|text| text.trim().parse().ok());
        Self {
            status: reply.status.as_u16(),
            again: again.map(Duration::from_secs),
            location: text(&reply.headers, header::LOCATION),
            body: reply.body,
        }
    }
}

impl Line {
    /// Connects to nobody yet. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`ClientError`] when the address is none, or the HTTP client cannot be built.
    pub fn to(address: &str, timeouts: &Timeouts) -> Result<Self, ClientError> {
        let unusable = || ClientError::Address("it is not an address".to_owned());
        let uri: Uri = address.parse().map_err(|_| unusable())?;
        let scheme = uri.scheme_str().ok_or_else(unusable)?;
        let host = uri.authority().ok_or_else(unusable)?;
        Ok(Self {
            transport: Transport::new(&format!("{scheme}://{host}"), timeouts)?,
            address: address.to_owned(),
        })
    }

    /// Asks, once.
    ///
    /// # Errors
    /// Why no answer came.
    pub async fn ask(&self, secret: &SecretString) -> Result<Heard, String> {
        let sent = self
            .transport
            .send(&Method::GET, &self.address, Some(secret), None, None);
        sent.await.map(Heard::from).map_err(why)
    }

    /// Posts a text of some kind, once.
    ///
    /// # Errors
    /// Why no answer came; the text may have arrived all the same.
    pub async fn post(
        &self,
        secret: Option<&SecretString>,
        kind: &str,
        text: &str,
    ) -> Result<Heard, String> {
        let sent = self.transport.post_text(&self.address, secret, kind, text);
        sent.await.map(Heard::from).map_err(why)
    }
}

/// Without the name of whom was not asked.
fn why(refused: Refused) -> String {
    match refused {
        Refused::NoAnswer(why) => why,
        other => other.to_string(),
    }
}
