//! GitHub's face: HTTP on loopback over the world.
//!
//! A call is recorded, authenticated, perhaps hit by a fault, routed, and answered the way GitHub
//! answers: errors as `{message, documentation_url, status}`, lists by page with a `Link` header,
//! `ETag` and 304, rate-limit headers, `Date`.

mod auth;
mod reading;
mod reply;
mod writing;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::Value;
use tokio::net::TcpListener;

use super::Simulator;
use super::faults::{Fault, FaultPlan};
use super::world::Refusal;
use reply::Reply;

/// The largest body that is read.
const LARGEST: usize = 1024 * 1024;

/// A call that was made.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Its body; null without one.
    pub body: Value,
    /// How it was answered; 0 when it never was.
    pub status: u16,
}

/// What the face keeps besides the world.
#[derive(Debug, Default)]
pub struct Face {
    tokens: Mutex<auth::Tokens>,
    calls: Mutex<Vec<Call>>,
    faults: Mutex<FaultPlan>,
    first_answers: Mutex<HashMap<String, Value>>,
    used: Mutex<HashMap<String, u64>>,
    /// Where deliveries go, and what became of each.
    pub(super) post: Mutex<super::deliveries::Post>,
}

impl Face {
    /// The fault plan, for changing and reading.
    pub fn faults(&self) -> std::sync::MutexGuard<'_, FaultPlan> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every call so far.
    pub fn calls(&self) -> std::sync::MutexGuard<'_, Vec<Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call as routes see it.
pub(super) struct Asked<'a> {
    /// The method.
    pub method: &'a str,
    /// The path's segments, decoded.
    pub path: Vec<String>,
    /// The query.
    pub query: HashMap<String, String>,
    /// The body.
    pub body: Value,
    /// Who asks.
    pub who: auth::Who,
}

impl Simulator {
    /// Listens on loopback and answers as GitHub would; the API's address.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn serve(&self) -> std::io::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        self.lock().origin.clone_from(&url);
        let routes = Router::new().fallback(answer).with_state(self.clone());
        tokio::spawn(async move {
            // Ends with the runtime: whoever made the simulator has no more use for it then.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(url)
    }

    /// Every API call so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.face.calls().clone()
    }

    /// The calls of a method to paths that end like this (queries aside).
    pub fn calls_to(&self, method: &str, end: &str) -> Vec<Call> {
        let matching = |call: &&Call| {
            let path = call.path.split('?').next().unwrap_or_default();
            call.method == method && path.ends_with(end)
        };
        self.face.calls().iter().filter(matching).cloned().collect()
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        self.face.calls().clear();
    }

    /// From now on things go wrong like this.
    pub fn set_faults(&self, plan: FaultPlan) {
        *self.face.faults() = plan;
    }

    /// What went wrong so far by the plan.
    pub fn faults_fired(&self) -> Vec<String> {
        self.face.faults().fired().to_vec()
    }
}

async fn answer(State(github): State<Simulator>, request: Request<Body>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, LARGEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let method = parts.method.as_str().to_owned();
    let whole = parts
        .uri
        .path_and_query()
        .map_or("/", |it| it.as_str())
        .to_owned();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    let index = {
        let mut calls = github.face.calls();
        calls.push(Call {
            method: method.clone(),
            path: whole.clone(),
            body: body.clone(),
            status: 0,
        });
        calls.len() - 1
    };
    let fault = github.face.faults().of_call(&method, parts.uri.path());
    if fault == Some(Fault::Silence) {
        return std::future::pending().await;
    }
    let reply = github.reply(&parts, &method, &whole, body, fault.as_ref());
    if let Some(call) = github.face.calls().get_mut(index) {
        call.status = reply.status;
    }
    reply.into_http(&parts.headers)
}

impl Simulator {
    fn reply(
        &self,
        parts: &axum::http::request::Parts,
        method: &str,
        whole: &str,
        body: Value,
        fault: Option<&Fault>,
    ) -> Reply {
        match fault {
            Some(Fault::Refuse(status, message)) => {
                return Reply::refused(&Refusal::new(*status, *message));
            }
            Some(Fault::SecondaryLimit(after)) => {
                return Reply::refused(&Refusal::new(
                    403,
                    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
                ))
                .with("retry-after", after.to_string());
            }
            Some(Fault::PrimaryLimit) => {
                let reset = self.lock().now().timestamp() + 60;
                let refusal = Refusal::new(403, "API rate limit exceeded for installation.");
                return Reply::refused(&refusal)
                    .with("x-ratelimit-remaining", "0")
                    .with("x-ratelimit-reset", reset.to_string());
            }
            _ => {}
        }
        let authorization = parts.headers.get(header::AUTHORIZATION);
        let authorization = authorization.and_then(|value| value.to_str().ok());
        let path: Vec<String> = parts
            .uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| {
                percent_encoding::percent_decode_str(part)
                    .decode_utf8_lossy()
                    .into_owned()
            })
            .collect();
        let answered = self.who(authorization).and_then(|who| {
            let asked = Asked {
                method,
                path,
                query: query(parts.uri.query().unwrap_or_default()),
                body,
                who,
            };
            self.route(&asked)
                .map(|reply| reply.paged(&asked, &self.lock().origin, whole))
        });
        let reply = answered.unwrap_or_else(|refusal| Reply::refused(&refusal));
        self.bent(reply, whole, fault)
            .with_limits(&self.count(authorization))
    }

    /// What a fault makes of an answer.
    fn bent(&self, mut reply: Reply, whole: &str, fault: Option<&Fault>) -> Reply {
        let mut first = self
            .face
            .first_answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let earlier = first
            .entry(whole.to_owned())
            .or_insert_with(|| reply.body.clone());
        match fault {
            Some(Fault::DoneThen502) => Reply::refused(&Refusal::new(502, "Server Error")),
            Some(Fault::Stale) if reply.status == 200 => {
                reply.body = earlier.clone();
                reply
            }
            Some(Fault::EmptyList) => reply.shortened(0, true),
            Some(Fault::TruncatedList) => {
                let half = reply.length().unwrap_or(0) / 2;
                reply.shortened(half, false)
            }
            Some(Fault::Nulls) => {
                reply::nulls(&mut reply.body);
                reply
            }
            _ => reply,
        }
    }

    /// How many calls whoever bears this authorisation has made.
    fn count(&self, authorization: Option<&str>) -> reply::Limits {
        let mut used = self
            .face
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let used = used
            .entry(authorization.unwrap_or_default().to_owned())
            .or_default();
        *used += 1;
        reply::Limits {
            used: *used,
            reset: self.lock().now().timestamp() + 3_600,
        }
    }
}

fn query(text: &str) -> HashMap<String, String> {
    let decode = |part: &str| {
        percent_encoding::percent_decode_str(part)
            .decode_utf8_lossy()
            .into_owned()
    };
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}
