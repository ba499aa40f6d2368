//! A webhook delivery that waits to be sent.

use serde_json::Value;

use super::{InstallationId, RepoId, Time};

/// One webhook request for our App, not yet signed.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The id under which `GET /app/hook/deliveries` lists it; each redelivery gets another.
    pub id: u64,
    /// `X-GitHub-Delivery`; the same again when it is redelivered.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`, where it has one.
    pub action: Option<String>,
    /// Through which installation it is sent.
    pub installation: Option<InstallationId>,
    /// About which repository.
    pub repo: Option<RepoId>,
    /// The body.
    pub payload: Value,
    /// When it was queued.
    pub at: Time,
}
