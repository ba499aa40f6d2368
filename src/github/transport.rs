//! One request, one answer, over octocrab's raw layer.
//!
//! octocrab brings the connection pool, TLS and the request's frame; its typed models and everything
//! it does unasked stay out, because each of them was seen to go wrong for a program that writes:
//!
//! - its default retry sends a POST that was answered 502 four times within milliseconds: off;
//! - its redirects turn a POST answered 301 into a GET, and go to any host: the feature is not
//!   compiled in; see [`Transport::onward`];
//! - it has no time-outs: connecting, silence on the connection and the whole answer have one each;
//! - its own authorisation goes to `api.github.com` only, and mints a token for each of ten concurrent
//!   cold calls: it has none here, the header is set per call from [`Tokens`](super::tokens::Tokens);
//! - its ETag cache is keyed by address alone, so that one installation can be served what another
//!   may see: it has none here, [`Shelves`](super::kept::Shelves) are keyed by who asks;
//! - its base address is prefixed to addresses that do not begin with it, which breaks GraphQL on
//!   Enterprise Server (`/api/graphql` beside `/api/v3`): it is given the bare host, and every address
//!   here is whole.
//!
//! The one thing sent again underneath is a request that a dying pooled connection never began to
//! carry; hyper vouches for that, and GitHub has seen nothing of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Builder;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Limited};
use octocrab::OctoBody;
use octocrab::service::middleware::retry::RetryConfig;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::carrier::{self, Carrier};
use super::client::{ClientError, Timeouts};
use super::{Answer, Refused};
use crate::telemetry::{Meters, calls};

/// No answer that is used here comes near it; a server gone mad does not fill the memory.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// An answer as it came.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The way to one GitHub.
pub(super) struct Transport {
    crab: octocrab::Octocrab,
    rest: String,
    graphql: String,
    whole: Duration,
    pub meters: Meters,
}

impl Transport {
    /// Must be called within a Tokio runtime: octocrab starts a task that feeds the connection pool.
    pub fn new(api_url: &str, timeouts: &Timeouts) -> Result<Self, ClientError> {
        let (host, rest) = address(api_url)?;
        let graphql = graphql_beside(&rest);
        let build = |error: octocrab::Error| ClientError::Build(root_cause(&error));
        let crab = octocrab::Octocrab::builder()
            .base_uri(host)
            .map_err(build)?
            .add_retry_config(RetryConfig::None)
            .set_connect_timeout(Some(timeouts.connect))
            .set_read_timeout(Some(timeouts.read))
            .set_write_timeout(Some(timeouts.read))
            .build()
            .map_err(build)?;
        Ok(Self {
            crab,
            rest,
            graphql,
            whole: timeouts.whole,
            meters: Meters::default(),
        })
    }

    /// The same way without a network. Must be called within a Tokio runtime.
    pub fn over(
        api_url: &str,
        timeouts: &Timeouts,
        carrier: Arc<dyn Carrier>,
    ) -> Result<Self, ClientError> {
        let (_, rest) = address(api_url)?;
        Ok(Self {
            crab: carrier::crab(carrier),
            graphql: graphql_beside(&rest),
            rest,
            whole: timeouts.whole,
            meters: Meters::default(),
        })
    }

    /// The whole address of a REST path, which begins with a slash and is percent-encoded.
    pub fn rest(&self, path: &str) -> String {
        format!("{}{path}", self.rest)
    }

    /// The address of GraphQL.
    pub fn graphql(&self) -> String {
        self.graphql.clone()
    }

    /// Where a redirect leads, if that is below this very API: the token is for no other server. A
    /// `Location` may be whole or only a path.
    pub fn onward(&self, reply: &Reply) -> Option<String> {
        let location = reply.headers.get(header::LOCATION)?.to_str().ok()?;
        let api: Uri = self.rest.parse().ok()?;
        let to: Uri = location.parse().ok()?;
        let here = match to.authority() {
            Some(_) => (to.scheme(), to.authority()) == (api.scheme(), api.authority()),
            None => location.starts_with('/') && !location.starts_with("//"),
        };
        let root = api.path().trim_end_matches('/');
        let below = to.path().strip_prefix(root)?.starts_with('/');
        let path = to.path_and_query()?.as_str().strip_prefix(root)?;
        (here && below).then(|| self.rest(path))
    }

    /// Sends one request, once, in the name of who has the token or assertion `secret`; in nobody's name
    /// without one. Whatever status comes back is an answer. With `unless`, an answer that has this `ETag`
    /// is not sent again, and the status is 304.
    ///
    /// # Errors
    /// [`Refused::NoAnswer`] alone: after a write, the outcome is unknown.
    pub async fn send(
        &self,
        method: &Method,
        address: &str,
        secret: Option<&SecretString>,
        body: Option<&Value>,
        unless: Option<&HeaderValue>,
    ) -> Answer<Reply> {
        calls::called();
        let begun = tokio::time::Instant::now();
        let outcome = self
            .in_time(self.exchange(method.clone(), address, secret, body, unless))
            .await;
        let status = outcome.as_ref().ok().map(|reply| reply.status.as_u16());
        self.meters
            .request(method.as_str(), status, begun.elapsed());
        let address = loggable(address, secret);
        match &outcome {
            Ok(reply) => tracing::debug!(%method, address, status = reply.status.as_u16(), "asked"),
            Err(refused) => tracing::debug!(%method, address, %refused, "asked in vain"),
        }
        outcome
    }

    /// As [`send`](Self::send), but posts a text as it is, said to be of this kind.
    ///
    /// # Errors
    /// [`Refused::NoAnswer`] alone.
    pub async fn post_text(
        &self,
        address: &str,
        secret: Option<&SecretString>,
        kind: &str,
        text: &str,
    ) -> Answer<Reply> {
        let unsendable = |_| Refused::NoAnswer("the request cannot be sent".into());
        let request = framed(Method::POST, address, secret)?
            .header(header::CONTENT_TYPE, kind)
            .body(OctoBody::from(text.to_owned()))
            .map_err(unsendable)?;
        self.in_time(self.carry(request)).await
    }

    async fn in_time(&self, exchange: impl Future<Output = Answer<Reply>>) -> Answer<Reply> {
        match tokio::time::timeout(self.whole, exchange).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Refused::NoAnswer(format!(
                "nothing whole within {} s",
                self.whole.as_secs_f32()
            ))),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        address: &str,
        secret: Option<&SecretString>,
        body: Option<&Value>,
        unless: Option<&HeaderValue>,
    ) -> Answer<Reply> {
        let mut request = framed(method, address, secret)?;
        if let Some(etag) = unless {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        let lost = |error: octocrab::Error| Refused::NoAnswer(root_cause(&error));
        let request = self.crab.build_request(request, body).map_err(lost)?;
        self.carry(request).await
    }

    async fn carry(&self, request: Request<OctoBody>) -> Answer<Reply> {
        let lost = |error: octocrab::Error| Refused::NoAnswer(root_cause(&error));
        let (parts, body) = self.crab.execute(request).await.map_err(lost)?.into_parts();
        let body = Limited::new(body, LARGEST_ANSWER)
            .collect()
            .await
            .map_err(|error| Refused::NoAnswer(root_cause(error.as_ref())))?;
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body: body.to_bytes(),
        })
    }
}

/// Where GraphQL is, beside a REST API.
fn graphql_beside(rest: &str) -> String {
    match rest.strip_suffix("/api/v3") {
        Some(enterprise) => format!("{enterprise}/api/graphql"),
        None => format!("{rest}/graphql"),
    }
}

/// A request without its body: to whom, and in whose name.
fn framed(method: Method, address: &str, secret: Option<&SecretString>) -> Answer<Builder> {
    let request = Request::builder()
        .method(method)
        .uri(address)
        .header(header::ACCEPT, "application/vnd.github+json");
    let Some(secret) = secret else {
        return Ok(request);
    };
    let bearer = HeaderValue::from_str(&format!("Bearer {}", secret.expose_secret()));
    let mut bearer =
        bearer.map_err(|_| Refused::NoAnswer("the token cannot be sent in a header".into()))?;
    bearer.set_sensitive(true);
    Ok(request.header(header::AUTHORIZATION, bearer))
}

/// What logs may say of an address. What is asked in nobody's name is proved by the address alone.
fn loggable<'a>(address: &'a str, secret: Option<&SecretString>) -> &'a str {
    secret.map_or("[hidden]", |_| address)
}

/// Splits an API address into its bare host and its whole form without a slash at the end.
fn address(api_url: &str) -> Result<(String, String), ClientError> {
    let wrong = |why: &str| ClientError::Address(why.to_owned());
    let whole = api_url.trim().trim_end_matches('/');
    let uri: Uri = whole
        .parse()
        .map_err(|_| wrong("it is not an address such as https://api.github.com"))?;
    let scheme = uri
        .scheme_str()
        .filter(|scheme| matches!(*scheme, "https" | "http"))
        .ok_or_else(|| wrong("it must begin with https://"))?;
    let authority = uri
        .authority()
        .ok_or_else(|| wrong("it names no host"))?
        .as_str();
    if authority.contains('@') {
        return Err(wrong(
            "it holds credentials; the App's key is the only one used",
        ));
    }
    if uri.query().is_some() {
        return Err(wrong("it must not hold a query"));
    }
    Ok((format!("{scheme}://{authority}"), whole.to_owned()))
}

/// The innermost cause, which is what an operator can act on ("connection refused"); octocrab's outer
/// layers repeat it, with a backtrace.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_address_is_taken_with_or_without_a_path_and_slash() {
        let ok = |text| address(text).expect("an address");
        let github = ("https://api.github.com", "https://api.github.com");
        assert_eq!(
            ok("https://api.github.com/"),
            (github.0.into(), github.1.into())
        );
        assert_eq!(
            ok("https://ghe.example:8443/api/v3/"),
            (
                "https://ghe.example:8443".into(),
                "https://ghe.example:8443/api/v3".into()
            )
        );
    }

    #[test]
    fn an_address_that_would_send_a_token_astray_is_refused() {
        for text in [
            "",
            "api.github.com",
            "ftp://api.github.com",
            "https://me:secret@ghe.example",
            "https://ghe.example/?a=b",
            "/api/v3",
        ] {
            let error = address(text).expect_err(text).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_address_that_is_itself_the_proof_stands_in_no_log() {
        let secret = SecretString::from("ghs_1");
        assert_eq!(loggable("/app-manifests/c0de", None), "[hidden]");
        assert_eq!(loggable("/app", Some(&secret)), "/app");
    }

    #[tokio::test]
    async fn a_redirect_is_followed_below_the_same_api_alone() {
        let onward = |api: &str, location: &str| {
            let mut reply = Reply {
                status: StatusCode::MOVED_PERMANENTLY,
                headers: HeaderMap::new(),
                body: Bytes::new(),
            };
            let location = location.parse().expect("a header's value");
            reply.headers.insert(header::LOCATION, location);
            let transport = Transport::new(api, &Timeouts::default()).expect("a transport");
            transport.onward(&reply)
        };
        let (github, server) = ("https://api.github.com", "https://ghe.example/api/v3");
        for (api, location, whole) in [
            (
                github,
                "https://api.github.com/repositories/1?a=b",
                "/repositories/1?a=b",
            ),
            (github, "/repositories/1", "/repositories/1"),
            (
                server,
                "https://ghe.example/api/v3/repositories/1",
                "/repositories/1",
            ),
            (server, "/api/v3/repositories/1", "/repositories/1"),
        ] {
            let whole = format!("{api}{whole}");
            assert_eq!(onward(api, location), Some(whole), "{location}");
        }
        for (api, location) in [
            (github, "https://elsewhere.example/repositories/1"),
            (github, "http://api.github.com/repositories/1"),
            (github, "https://api.github.com:8443/repositories/1"),
            (
                github,
                "https://api.github.com@elsewhere.example/repositories/1",
            ),
            (
                github,
                "https://api.github.com.elsewhere.example/repositories/1",
            ),
            (github, "//elsewhere.example/repositories/1"),
            (github, "repositories/1"),
            (github, ""),
            (server, "https://ghe.example/login"),
            (server, "/api/v33/repositories/1"),
        ] {
            assert_eq!(onward(api, location), None, "{location}");
        }
    }

    #[tokio::test]
    async fn graphql_stands_beside_the_rest_api_of_an_enterprise_server() {
        let at = |url| {
            Transport::new(url, &Timeouts::default())
                .expect("a transport")
                .graphql()
        };
        assert_eq!(
            at("https://api.github.com"),
            "https://api.github.com/graphql"
        );
        assert_eq!(
            at("https://ghe.example/api/v3/"),
            "https://ghe.example/api/graphql"
        );
    }
}
