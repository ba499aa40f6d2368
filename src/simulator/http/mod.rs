//! GitHub's face: its REST API on loopback, over the world.
//!
//! One call goes through the same steps whatever it asks for (see `pipeline`): it is written down, may
//! meet a fault, is authenticated, counted against its limit, routed, let into the repository or not,
//! handled, cut into pages, compared with the caller's `ETag`. The routes are data (`routes`): what a
//! call needs stands beside its pattern. Handlers see the world under its lock, and are plain functions.
//!
//! **Properties.** The time in every header and expiry is the world's. Nothing outlives the simulator:
//! dropping its last handle ends the server and cuts its connections. A call is handled whole before
//! the next one is, so that a story's acts and a client's calls are always in *some* order.
//!
//! Beside the API stand the few pages on which an App is registered (`site`), and the issuer of tokens for
//! workflow runs (`issuer`); they are no API calls and are not written down as such.
//!
//! **What is left out.** TLS, HTTP/2, GraphQL beyond one query, users' tokens, the limit of 100 calls
//! at once (no two calls are ever handled at once), `Last-Modified`.

mod app;
mod asked;
mod checks;
mod code;
mod compare;
mod conversation;
mod graphql;
mod issuer;
mod issues;
mod limits;
mod manifest;
mod pipeline;
mod pulls;
mod reply;
mod repos;
mod routes;
mod site;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::Simulator;
use super::auth::Tokens;
use super::deliveries::Post;
use super::faults::FaultPlan;
use super::world::World;

pub use limits::Limits;
use limits::Quotas;
pub use pipeline::Outcome;
use reply::Reply;

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Its method.
    pub method: String,
    /// Path and query, as they came.
    pub path: String,
    /// The pattern of its route, like `/repos/{owner}/{repo}/pulls/{number}`; empty for unknown ones.
    pub route: String,
    /// Its body; null without one.
    pub body: Value,
    /// How the caller saw it answered; 0 when it was not answered.
    pub status: u16,
}

/// What the face keeps besides the world. Locked for moments only; whoever holds the world may lock it,
/// never the other way round.
#[derive(Debug, Default)]
pub struct Face {
    desk: Mutex<Desk>,
    /// Where deliveries go, and what became of each.
    pub(super) post: Mutex<Post>,
    server: Mutex<Option<Server>>,
    /// Rings when a call is not going to be answered.
    silent: Notify,
}

/// What lies on the face's desk.
#[derive(Debug, Default)]
struct Desk {
    tokens: Tokens,
    quotas: Quotas,
    calls: Vec<Call>,
    faults: FaultPlan,
    first_answers: HashMap<String, Reply>,
    codes: site::Codes,
    issuing: issuer::Issuing,
}

#[derive(Debug)]
struct Server {
    url: String,
    listening: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Face {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the fault plan, or carries it on.
    pub(super) fn faults<T>(&self, with: impl FnOnce(&mut FaultPlan) -> T) -> T {
        with(&mut self.desk().faults)
    }
}

/// A simulator that may be gone by the time it is needed: what background tasks hold.
#[derive(Debug, Clone)]
pub(super) struct Acquaintance {
    world: Weak<Mutex<World>>,
    face: Weak<Face>,
    credentials: super::Credentials,
}

impl Acquaintance {
    pub(super) fn of(github: &Simulator) -> Self {
        Self {
            world: Arc::downgrade(&github.world),
            face: Arc::downgrade(&github.face),
            credentials: github.credentials.clone(),
        }
    }

    pub(super) fn meet(&self) -> Option<Simulator> {
        Some(Simulator {
            world: self.world.upgrade()?,
            face: self.face.upgrade()?,
            credentials: self.credentials.clone(),
        })
    }
}

impl Simulator {
    /// Listens on a free port of loopback; answers the API's address, which from now on stands in every
    /// address GitHub prints. Served again, it is the same address. Ends when the last handle on this
    /// simulator is dropped.
    ///
    /// # Errors
    /// When no port can be had.
    pub async fn serve(&self) -> std::io::Result<String> {
        if let Some(server) = self.server().as_ref() {
            return Ok(server.url.clone());
        }
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        self.lock().origin.clone_from(&url);
        let listening = tokio::spawn(pipeline::listen(listener, Acquaintance::of(self)));
        *self.server() = Some(Server {
            url: url.clone(),
            listening,
        });
        Ok(url)
    }

    fn server(&self) -> MutexGuard<'_, Option<Server>> {
        self.face
            .server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Every API call so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.face.desk().calls.clone()
    }

    /// The calls of a method (`*` for all) whose path, without its query, ends like this.
    pub fn calls_to(&self, method: &str, end: &str) -> Vec<Call> {
        let wanted = |call: &&Call| {
            let path = call.path.split('?').next().unwrap_or_default();
            (method == "*" || call.method == method) && path.ends_with(end)
        };
        self.face
            .desk()
            .calls
            .iter()
            .filter(wanted)
            .cloned()
            .collect()
    }

    /// Forgets the calls so far.
    pub fn clear_calls(&self) {
        self.face.desk().calls.clear();
    }

    /// From now on things go wrong like this.
    pub fn set_faults(&self, plan: FaultPlan) {
        self.face.desk().faults = plan;
    }

    /// What went wrong so far by the plan, oldest first: for the message of a failing test.
    pub fn faults_fired(&self) -> Vec<String> {
        self.face.desk().faults.fired().to_vec()
    }

    /// Ends when a call met silence, or did since this was last asked: who keeps the time then lets the
    /// caller's patience end.
    pub async fn silence(&self) {
        self.face.silent.notified().await;
    }

    /// From now on these limits hold.
    pub fn set_limits(&self, limits: Limits) {
        self.face.desk().quotas.limits = limits;
    }
}
