//! One request, one answer.
//!
//! octocrab carries the bytes; its typed models and its retries stay out of the way. Its models refuse
//! what they do not know (a new conclusion, a null user), its default retry would send a refused POST
//! four times. Authorisation is set per request, by this room's own tokens: octocrab's installation
//! clients mint one token per clone, and send none at all when a page address names another host.
//!
//! Reads are tried again when GitHub failed or did not answer; writes never. After GitHub has said that
//! a limit is used up, nothing more is sent for that installation until the limit has passed: the
//! callers are told so at once, and come back later.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, header};
use http_body_util::BodyExt;
use octocrab::service::middleware::retry::RetryConfig;
use octocrab::{OctoBody, Octocrab};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use super::auth::{AppKey, Token, Tokens};
use super::meaning::{self, Raw};
use super::{Answer, Refused};
use crate::clock::Clock;
use crate::domain::model::{AppId, InstallationId, Timestamp};

/// The largest answer that is read. GitHub's own largest are a few MiB.
const LARGEST: usize = 32 * 1024 * 1024;
/// How often a read is sent in all.
const READ_TRIES: u32 = 3;

/// Bounds on how long GitHub is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// To connect.
    pub connect: Duration,
    /// For one answer, from the first byte sent to the last received.
    pub answer: Duration,
    /// Between two tries of a read.
    pub between: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            between: Duration::from_millis(250),
        }
    }
}

/// As whom a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum As {
    /// The App itself, by JWT.
    App,
    /// One of its installations, by token.
    Installation(InstallationId),
}

/// Sends requests.
pub struct Transport {
    http: Octocrab,
    api_url: String,
    app: AppId,
    key: AppKey,
    clock: Clock,
    patience: Patience,
    tokens: Tokens,
    brakes: Mutex<HashMap<As, Timestamp>>,
}

impl Transport {
    /// A transport to the API at this address.
    ///
    /// # Errors
    /// What octocrab says of the address.
    pub fn new(
        api_url: &str,
        app: AppId,
        key: AppKey,
        clock: Clock,
        patience: Patience,
    ) -> Result<Self, octocrab::Error> {
        let http = Octocrab::builder()
            .base_uri(api_url)?
            .add_retry_config(RetryConfig::None)
            .set_connect_timeout(Some(patience.connect))
            .set_read_timeout(Some(patience.answer))
            .set_write_timeout(Some(patience.answer))
            .build()?;
        Ok(Self {
            http,
            api_url: api_url.trim_end_matches('/').to_owned(),
            app,
            key,
            clock,
            patience,
            tokens: Tokens::default(),
            brakes: Mutex::default(),
        })
    }

    /// The time by which tokens and limits are measured.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The address of GraphQL: beside `/api/v3` on an Enterprise Server, below the root elsewhere.
    pub fn graphql_url(&self) -> String {
        match self.api_url.strip_suffix("/v3") {
            Some(root) => format!("{root}/graphql"),
            None => format!("{}/graphql", self.api_url),
        }
    }

    /// Reads a path; what is not a success is a refusal. Tried again when GitHub failed or did not
    /// answer.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn get(&self, who: As, path: &str) -> Answer<Raw> {
        self.read(who, Method::GET, path, None).await
    }

    /// A query by GraphQL: a POST in form, a read in effect.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn query(&self, who: As, query: &Value) -> Answer<Raw> {
        self.read(who, Method::POST, &self.graphql_url(), Some(query))
            .await
    }

    async fn read(&self, who: As, method: Method, path: &str, body: Option<&Value>) -> Answer<Raw> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.send(who, method.clone(), path, body).await;
            let answer = answer.and_then(|raw| self.success(who, raw));
            match answer {
                Err(Refused::Server(_) | Refused::NoAnswer(_)) if tries < READ_TRIES => {
                    tokio::time::sleep(self.patience.between * tries).await;
                }
                // A token may be taken back before it expires; a fresh one settles whether it was that.
                Err(Refused::Unauthorized(_)) if tries == 1 => match who {
                    As::Installation(installation) => self.tokens.forget(installation).await,
                    As::App => return answer,
                },
                answer => return answer,
            }
        }
    }

    /// Writes once. The raw answer is the caller's to understand; the error says whether anything may
    /// have happened.
    ///
    /// # Errors
    /// [`Refused`] where there is no answer at all, and for limits.
    pub async fn write(&self, who: As, method: Method, path: &str, body: &Value) -> Answer<Raw> {
        let raw = self.send(who, method, path, Some(body)).await?;
        if let Some(after) = meaning::limit(&raw, self.now()) {
            self.brake(who, after);
        }
        Ok(raw)
    }

    /// The answer if it is a success, else what it means.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn success(&self, who: As, raw: Raw) -> Answer<Raw> {
        if raw.status.is_success() {
            return Ok(raw);
        }
        let refused = meaning::refusal(&raw, self.now());
        if let Refused::Limited { after } = &refused {
            self.brake(who, *after);
        }
        Err(refused)
    }

    async fn send(&self, who: As, method: Method, path: &str, body: Option<&Value>) -> Answer<Raw> {
        let authorization = match who {
            As::App => self.jwt()?,
            As::Installation(installation) => self.token(installation).await?,
        };
        self.exchange(who, &authorization, method, path, body).await
    }

    fn jwt(&self) -> Answer<SecretString> {
        let jwt = self.key.jwt(self.app, self.now());
        jwt.map(SecretString::from)
            .map_err(|error| Refused::Unauthorized(error.to_string()))
    }

    async fn token(&self, installation: InstallationId) -> Answer<SecretString> {
        let mint = self.mint(installation);
        let token = self.tokens.get(installation, self.now(), mint).await?;
        Ok(token.secret)
    }

    /// `POST /app/installations/{id}/access_tokens`. An installation that is gone answers 404.
    async fn mint(&self, installation: InstallationId) -> Answer<Token> {
        #[derive(Deserialize)]
        struct Minted {
            token: String,
            expires_at: Timestamp,
        }
        let path = format!("/app/installations/{installation}/access_tokens");
        let jwt = self.jwt()?;
        let raw = self
            .exchange(As::App, &jwt, Method::POST, &path, None)
            .await
            .and_then(|raw| self.success(As::App, raw));
        let raw = raw.map_err(|refused| match refused {
            Refused::NotFound(why) => Refused::Inactive(why),
            refused => refused,
        })?;
        let minted: Minted = serde_json::from_slice(&raw.body)
            .map_err(|_| Refused::Unreadable("the answer to a token request".into()))?;
        Ok(Token {
            secret: SecretString::from(minted.token),
            expires_at: minted.expires_at,
        })
    }

    async fn exchange(
        &self,
        who: As,
        authorization: &SecretString,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer<Raw> {
        self.braked(who)?;
        let request = self.request(authorization, method, path, body)?;
        let exchange = async {
            let response = self
                .http
                .send(request)
                .await
                .map_err(|error| Refused::NoAnswer(plain(&error)))?;
            let (parts, body) = response.into_parts();
            let body = http_body_util::Limited::new(body, LARGEST)
                .collect()
                .await
                .map_err(|error| Refused::NoAnswer(error.to_string()))?;
            Ok(Raw {
                status: parts.status,
                headers: parts.headers,
                body: body.to_bytes(),
            })
        };
        tokio::time::timeout(self.patience.answer, exchange)
            .await
            .unwrap_or_else(|_| Err(Refused::NoAnswer("time-out".into())))
    }

    fn request(
        &self,
        authorization: &SecretString,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Answer<Request<OctoBody>> {
        let impossible = |error: &dyn std::fmt::Display| Refused::Invalid {
            status: 0,
            message: format!("the request cannot be written: {error}"),
        };
        let url = if path.starts_with('/') {
            format!("{}{path}", self.api_url)
        } else {
            path.to_owned()
        };
        let bearer = format!("Bearer {}", authorization.expose_secret());
        let mut bearer = HeaderValue::from_str(&bearer).map_err(|error| impossible(&error))?;
        bearer.set_sensitive(true);
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Bytes::from(body.to_string())
            }
            None => Bytes::new(),
        };
        request
            .body(OctoBody::from(body))
            .map_err(|error| impossible(&error))
    }

    fn brake(&self, who: As, after: chrono::Duration) {
        let until = self.now() + after;
        let mut brakes = self.brakes.lock().unwrap_or_else(PoisonError::into_inner);
        let held = brakes.entry(who).or_insert(until);
        *held = until.max(*held);
    }

    fn braked(&self, who: As) -> Answer<()> {
        let now = self.now();
        let mut brakes = self.brakes.lock().unwrap_or_else(PoisonError::into_inner);
        match brakes.get(&who) {
            Some(until) if *until > now => Err(Refused::Limited {
                after: *until - now,
            }),
            Some(_) => {
                brakes.remove(&who);
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// An error and its causes in one line, without octocrab's backtrace.
fn plain(error: &octocrab::Error) -> String {
    let mut text = String::new();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() {
        text.push_str("the connection failed");
    }
    text.chars().take(300).collect()
}
