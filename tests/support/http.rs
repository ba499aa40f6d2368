//! A few lines to speak HTTP with, independent of the product's own client.

use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// A client that keeps connections.
#[derive(Clone)]
pub struct Http(Client<HttpConnector, Body>);

impl Http {
    pub fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// Sends a request as it is; the answer's body is read whole.
    pub async fn send(&self, request: Request<Body>) -> Option<(StatusCode, HeaderMap, Vec<u8>)> {
        let response = self.0.request(request).await.ok()?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some((parts.status, parts.headers, body.to_vec()))
    }

    /// Sends JSON, reads JSON.
    pub async fn json(
        &self,
        method: Method,
        url: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Option<(StatusCode, Value)> {
        let mut request = Request::builder().method(method).uri(url);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = match body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let (status, _, body) = self.send(request.body(body).unwrap()).await?;
        Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}
