//! Sending deliveries: signed over the raw bytes, once, with ten seconds to answer. What fails is
//! recorded and never sent again by itself; a redelivery bears the same GUID.

use std::sync::PoisonError;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hmac::{Hmac, Mac};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use sha2::Sha256;

use super::Simulator;
use super::faults::Fate;
use super::payload;
use super::world::{Delivery, Done, Refusal};

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the pump looks for deliveries.
const PUMP: Duration = Duration::from_millis(15);

/// Where deliveries go, and what became of each.
#[derive(Debug, Default)]
pub struct Post {
    webhook: Option<String>,
    sent: Vec<Sent>,
}

/// One attempt to deliver.
#[derive(Debug, Clone)]
pub struct Sent {
    /// What.
    pub delivery: Delivery,
    /// The answer's status; 0 when there was none.
    pub status: u16,
    /// Whether it was a redelivery.
    pub again: bool,
}

impl Simulator {
    fn post(&self) -> std::sync::MutexGuard<'_, Post> {
        self.face
            .post
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on deliveries go to this address.
    pub fn set_webhook(&self, url: impl Into<String>) {
        self.post().webhook = Some(url.into());
    }

    /// Sends everything that waits, as the fault plan lets it; tells how many were sent.
    pub async fn deliver_all(&self) -> usize {
        let mut sent = 0;
        let mut late = Vec::new();
        loop {
            let waiting = self.lock().take_deliveries();
            if waiting.is_empty() {
                break;
            }
            for delivery in waiting {
                let fate = self.face.faults().of_delivery(&delivery.event);
                match fate {
                    Fate::Sent => sent += self.send(&delivery, false).await,
                    Fate::Doubled => {
                        sent += self.send(&delivery, false).await;
                        sent += self.send(&delivery, false).await;
                    }
                    Fate::Lost => self.note(&delivery, 0, false),
                    Fate::Late => late.push(delivery),
                }
            }
        }
        // Late ones come in the opposite order: the last shall be first.
        for delivery in late.iter().rev() {
            sent += self.send(delivery, false).await;
        }
        sent
    }

    /// Loses everything that waits: recorded as failed.
    pub fn lose_pending(&self) -> usize {
        let waiting = self.lock().take_deliveries();
        for delivery in &waiting {
            self.note(delivery, 0, false);
        }
        waiting.len()
    }

    /// Every attempt so far, oldest first.
    pub fn sent(&self) -> Vec<Sent> {
        self.post().sent.clone()
    }

    /// Sends a recorded delivery again, as GitHub does when it is asked to.
    ///
    /// # Errors
    /// 404 for one that was never tried.
    pub async fn redeliver(&self, id: u64) -> Done<()> {
        let known = self
            .post()
            .sent
            .iter()
            .find(|sent| sent.delivery.id == id)
            .cloned();
        let mut delivery = known.ok_or_else(Refusal::not_found)?.delivery;
        delivery.id = self.lock().next_id("delivery");
        self.send(&delivery, true).await;
        Ok(())
    }

    /// Sends deliveries as they come, until the returned task is dropped or aborted.
    pub fn pump(&self) -> tokio::task::JoinHandle<()> {
        let github = self.clone();
        tokio::spawn(async move {
            loop {
                github.deliver_all().await;
                tokio::time::sleep(PUMP).await;
            }
        })
    }

    /// The request for a delivery, signed.
    pub fn request(&self, delivery: &Delivery, url: &str) -> Option<Request<Body>> {
        let body = delivery.payload.to_string();
        let secret = self.app().webhook_secret.as_bytes();
        let mut code = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        code.update(body.as_bytes());
        let signature = hex::encode(code.finalize().into_bytes());
        Request::post(url)
            .header("content-type", "application/json")
            .header("user-agent", "GitHub-Hookshot/5f1c2d3")
            .header("x-github-event", &delivery.event)
            .header("x-github-delivery", &delivery.guid)
            .header("x-github-hook-id", "401234567")
            .header(
                "x-github-hook-installation-target-id",
                self.app().app_id.to_string(),
            )
            .header("x-github-hook-installation-target-type", "integration")
            .header("x-hub-signature-256", format!("sha256={signature}"))
            .body(Body::from(body))
            .ok()
    }

    async fn send(&self, delivery: &Delivery, again: bool) -> usize {
        let Some(url) = self.post().webhook.clone() else {
            self.note(delivery, 0, again);
            return 0;
        };
        let client: Client<HttpConnector, Body> =
            Client::builder(TokioExecutor::new()).build_http();
        let answered = match self.request(delivery, &url) {
            None => None,
            Some(request) => match tokio::time::timeout(PATIENCE, client.request(request)).await {
                Ok(Ok(response)) => Some(response.status().as_u16()),
                Ok(Err(_)) | Err(_) => None,
            },
        };
        self.note(delivery, answered.unwrap_or(0), again);
        1
    }

    fn note(&self, delivery: &Delivery, status: u16, again: bool) {
        self.post().sent.push(Sent {
            delivery: delivery.clone(),
            status,
            again,
        });
    }

    /// What `GET /app/hook/deliveries` lists, newest first.
    pub(super) fn listed_deliveries(&self) -> Vec<Value> {
        let sent = self.sent();
        sent.iter()
            .rev()
            .map(|sent| {
                json!({
                    "id": sent.delivery.id,
                    "guid": sent.delivery.guid,
                    "delivered_at": payload::time(sent.delivery.at),
                    "redelivery": sent.again,
                    "duration": 0.1,
                    "status": if (200..300).contains(&sent.status) { "OK" } else { "failed" },
                    "status_code": sent.status,
                    "event": sent.delivery.event,
                    "action": sent.delivery.action,
                    "installation_id": sent.delivery.installation,
                    "repository_id": sent.delivery.repo,
                })
            })
            .collect()
    }
}
