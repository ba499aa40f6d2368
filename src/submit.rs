//! Posting evidence: the client of `POST /evidence`.
//!
//! Who posts proves it in one of the two ways that the server knows ([`Proof`]): by the identity token that
//! GitHub gives a workflow run, asked for anew before each try, or by an ed25519 signature over the document
//! in a DSSE envelope. The document goes out byte for byte as it was given, so that posting it twice is
//! posting the same.
//!
//! **Tried again.** The server knows a document that it has, so trying again changes nothing, and whatever
//! may pass is tried again: no answer, a 5xx, a 429, each [`TRIES`] times at most. Where the server says
//! when to come again, that is kept to, if it is not longer than [`LONGEST`]; otherwise whoever asked is told.
//!
//! **Refusals.** Each becomes a sentence with the server's reason and what to do about it. Neither the token
//! nor the key stands in any of them; the server's words are shown without control characters.
//!
//! **Known.** A document that was stored while its answer got lost is answered "the same" at the next try;
//! then [`Taken::Known`] is said of a document that this very call brought. A run's token is worth something
//! to this server alone (its audience), and is never sent over plain HTTP to another machine.
//!
//! **Left out.** Redirects (the token is for the one who was named), proxies, and a queue on disk: a
//! document that could not be posted is still in its file.

mod key;
mod told;

use std::time::Duration;

use async_trait::async_trait;
use http::Uri;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde_json::Value;

pub use key::{KeyFault, SigningKey};

use crate::domain::evidence::envelope;
use crate::github::Timeouts;
use crate::github::client::ClientError;
use crate::github::line::{Heard, Line};

/// How often a document is posted, or a token asked for, at most.
pub const TRIES: usize = 5;
/// The longest pause that is made before the next try.
pub const LONGEST: Duration = Duration::from_secs(60);
/// The first pause where nobody says how long; each is twice the one before.
const FIRST: Duration = Duration::from_secs(1);
/// The media type of a document.
const DOCUMENT: &str = "application/vnd.in-toto+json";

/// Who posts.
#[derive(Debug)]
pub enum Proof {
    /// A run of a workflow on GitHub Actions.
    Run(Run),
    /// Whoever has this key.
    Key(SigningKey),
}

/// A run of a workflow that may ask for identity tokens.
#[derive(Debug)]
pub struct Run {
    /// `ACTIONS_ID_TOKEN_REQUEST_URL`.
    pub address: String,
    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    pub secret: SecretString,
}

/// A server that takes evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    address: String,
    audience: String,
}

impl Server {
    /// A server by its address, without `/evidence`; tokens are made out to `audience`, or to the address.
    ///
    /// # Errors
    /// What is wrong with the address. It is not repeated: it may hold a password.
    pub fn at(address: &str, audience: Option<&str>) -> Result<Self, Failure> {
        let text = address.trim().trim_end_matches('/');
        let text = text.strip_suffix("/evidence").unwrap_or(text);
        let address = crate::settings::address(text).ok_or_else(|| {
            let text = "the server's address is not of the form https://HOST[:PORT][/PATH]; give the public \
                        address of your Countersign server";
            Failure::Use(text.to_owned())
        })?;
        let audience = audience.map_or_else(|| address.clone(), |one| one.trim().to_owned());
        Ok(Self { address, audience })
    }

    /// Whether what is sent there can be read on the way.
    fn in_the_open(&self) -> bool {
        let uri = self.address.parse::<Uri>().unwrap_or_default();
        let host = uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let here = host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        uri.scheme_str() == Some("http") && !here
    }
}

/// What became of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// It is stored.
    Stored,
    /// The very same was stored already.
    Known,
}

/// Why a document was not taken, each with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// What was asked for cannot be done.
    #[error("{0}")]
    Use(String),
    /// The server said no.
    #[error("{0}")]
    No(String),
    /// The network, GitHub or the server failed, or the server wants us to come again later.
    #[error("{0}")]
    Remote(String),
}

/// Who is told of pauses, and makes them.
#[async_trait]
pub trait Watch: Send + Sync {
    /// The next try comes after this pause, because of that.
    async fn pause(&self, length: Duration, because: &str);
}

/// One try that failed.
enum Setback {
    /// It stays so.
    Final(Failure),
    /// It may pass: what happened, what to do if it does not, and when to come again if somebody said so.
    Passing {
        what: String,
        advice: &'static str,
        again: Option<Duration>,
    },
}

/// Posts a document. Must be called within a Tokio runtime.
///
/// # Errors
/// [`Failure`].
pub async fn submit(
    document: &str,
    server: &Server,
    proof: &Proof,
    watch: &dyn Watch,
) -> Result<Taken, Failure> {
    if matches!(proof, Proof::Run(_)) && server.in_the_open() {
        let text = "the server's address begins with http://, where everybody on the way could read this \
                    run's identity token: give its https:// address";
        return Err(Failure::Use(text.to_owned()));
    }
    let (mut tried, mut pause) = (0, FIRST);
    loop {
        tried += 1;
        let (what, advice, again) = match once(document, server, proof).await {
            Ok(taken) => return Ok(taken),
            Err(Setback::Final(failure)) => return Err(failure),
            Err(Setback::Passing {
                what,
                advice,
                again,
            }) => (what, advice, again),
        };
        if let Some(again) = again.filter(|again| *again > LONGEST) {
            let minutes = again.as_secs().div_ceil(60);
            return Err(Failure::Remote(format!(
                "{what}\nIt says to come again in {minutes} min, which is not waited for. {advice}."
            )));
        }
        if tried >= TRIES {
            return Err(Failure::Remote(format!(
                "{what}\nTried {TRIES} times. {advice}."
            )));
        }
        watch.pause(again.unwrap_or(pause), &what).await;
        pause *= 2;
    }
}

async fn once(document: &str, server: &Server, proof: &Proof) -> Result<Taken, Setback> {
    let address = format!("{}/evidence", server.address);
    let line = line(&address).map_err(|error| Setback::Final(unusable("the server", error)))?;
    let sent = match proof {
        Proof::Run(run) => {
            let token = token(run, &server.audience).await?;
            line.post(Some(&token), DOCUMENT, document).await
        }
        Proof::Key(key) => {
            let envelope = envelope::seal(document, &key.public(), |bytes| key.sign(bytes));
            let text = envelope.to_string();
            line.post(None, envelope::MEDIA_TYPE, &text).await
        }
    };
    let heard = sent.map_err(|why| Setback::Passing {
        what: format!("the server at {} did not answer: {why}", server.address),
        advice: "See that the address is right and the server runs; the document is not lost, and posting \
                 it twice does no harm",
        again: None,
    })?;
    match heard.status {
        201 if told::is_ours(&heard.body) => Ok(Taken::Stored),
        200 if told::is_ours(&heard.body) => Ok(Taken::Known),
        _ => Err(told::setback(&heard, server, proof, document.len())),
    }
}

/// `GET $ACTIONS_ID_TOKEN_REQUEST_URL&audience=...`.
async fn token(run: &Run, audience: &str) -> Result<SecretString, Setback> {
    let audience = utf8_percent_encode(audience, NON_ALPHANUMERIC);
    let joint = match run.address.contains('?') {
        true => '&',
        false => '?',
    };
    let address = format!("{}{joint}audience={audience}", run.address);
    let service = "ACTIONS_ID_TOKEN_REQUEST_URL";
    let line = line(&address).map_err(|error| Setback::Final(unusable(service, error)))?;
    let passing = |what: String, again| Setback::Passing {
        what,
        advice: "GitHub's token service fails at times; run the job again",
        again,
    };
    let heard = line.ask(&run.secret).await.map_err(|why| {
        let what = format!("GitHub did not answer when asked for this run's identity token: {why}");
        passing(what, None)
    })?;
    let Heard { status, again, .. } = heard;
    let said = format!("GitHub gave no identity token for this run ({status})");
    if status == 429 || status >= 500 {
        return Err(passing(said, again));
    }
    let answer: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
    match answer["value"].as_str().filter(|_| status == 200) {
        Some(token) => Ok(SecretString::from(token.to_owned())),
        None => Err(Setback::Final(Failure::Remote(format!(
            "{said}: see that the job has `permissions: {{ id-token: write }}`, and that it is still the job \
             that was started: what it asks with ends with it"
        )))),
    }
}

fn line(address: &str) -> Result<Line, ClientError> {
    // The server itself may have to ask GitHub first, and a document can be large.
    let timeouts = Timeouts {
        read: Duration::from_secs(40),
        whole: Duration::from_secs(60),
        ..Timeouts::default()
    };
    Line::to(address, &timeouts)
}

fn unusable(whose: &str, error: ClientError) -> Failure {
    match error {
        ClientError::Address(why) => {
            Failure::Use(format!("the address of {whose} cannot be used: {why}"))
        }
        ClientError::Build(_) => Failure::Use(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
