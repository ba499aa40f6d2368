//! Sending deliveries: signed over the raw bytes, once, with ten seconds to answer.
//!
//! GitHub sends nothing again by itself. A delivery that fails is listed as failed
//! (`GET /app/hook/deliveries`) and stays so, until somebody asks for a redelivery, which bears the same
//! GUID. Nothing is sent over 25 MB, and such a delivery is not even listed.
//!
//! **How to use it.** Acts fill the world's outbox; nothing leaves it by itself. A story calls
//! [`Simulator::deliver_all`] where it wants the news to arrive, [`Simulator::deliver_where`] to choose,
//! [`Simulator::lose_pending`] to lose them. The demo starts a [`Pump`] instead. The fault plan is asked
//! about each delivery once.
//!
//! **Known race.** What the receiver does with a delivery after its answer goes on beside the next one,
//! as in the real world: `deliver_all` returns when the outbox is empty *then*.

use std::collections::BTreeSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hmac::{Hmac, Mac};
use http::Request;
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Map, Value, json};
use sha2::Sha256;
use tokio::task::JoinHandle;

use super::Simulator;
use super::faults::Fate;
use super::http::{Acquaintance, Face};
use super::payload;
use super::world::{Delivery, Done, Refusal, Time, World};

/// How long an answer is awaited.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the pump looks into the outbox.
const PUMP: Duration = Duration::from_millis(20);
/// The largest payload that is sent.
const LARGEST: usize = 25 * 1024 * 1024;
/// How much of an answer is kept.
const KEPT: usize = 64 * 1024;
const HOOK: u64 = 1;

/// Where deliveries go, and what became of each.
#[derive(Debug, Default)]
pub struct Post {
    webhook: Option<String>,
    receiver: Option<Receiver>,
    sent: Vec<Sent>,
    /// Kept back until deliveries are next sent.
    late: Vec<Delivery>,
    /// The ids of those that somebody asked for again.
    again: BTreeSet<u64>,
}

/// The answer's status and body, if there is one.
pub type Received = BoxFuture<'static, Option<(u16, String)>>;

/// Who takes deliveries without a network.
#[derive(Clone)]
struct Receiver(Arc<dyn Fn(Signed) -> Received + Send + Sync>);

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Receiver")
    }
}

/// One attempt to deliver.
#[derive(Debug, Clone)]
pub struct Sent {
    /// What.
    pub delivery: Delivery,
    /// When, by the world's clock.
    pub at: Time,
    /// The answer's status; 0 when there was none.
    pub status: u16,
    /// How it went, in GitHub's words: `OK`, `timed out`, ...
    pub outcome: String,
    /// The start of the answer's body.
    pub answer: String,
    /// Whether it was a redelivery.
    pub again: bool,
}

/// A delivery as it goes over the wire.
#[derive(Debug, Clone)]
pub struct Signed {
    /// Its headers, names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Its body; the signature holds for these very bytes.
    pub body: Bytes,
}

/// Sends deliveries as they come, until it is dropped.
#[derive(Debug)]
#[must_use = "the pump stops when it is dropped"]
pub struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Face {
    pub(in crate::simulator) fn post(&self) -> MutexGuard<'_, Post> {
        self.post.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Simulator {
    /// From now on deliveries go to this address.
    pub fn set_webhook(&self, url: impl Into<String>) {
        self.face.post().webhook = Some(url.into());
    }

    /// From now on deliveries are handed over without a network.
    pub fn set_receiver(&self, receiver: impl Fn(Signed) -> Received + Send + Sync + 'static) {
        self.face.post().receiver = Some(Receiver(Arc::new(receiver)));
    }

    /// Where deliveries go.
    pub fn webhook(&self) -> Option<String> {
        self.face.post().webhook.clone()
    }

    /// Sends everything that waits, oldest first unless the fault plan says otherwise, until nothing
    /// does; how many requests were made. Without an address nothing is sent and everything waits on.
    pub async fn deliver_all(&self) -> usize {
        let mut sent = self.deliver_late().await;
        if !self.has_webhook() {
            return sent;
        }
        loop {
            let waiting = self.lock().take_deliveries();
            if waiting.is_empty() {
                return sent;
            }
            sent += self.carry(waiting).await;
        }
    }

    /// Sends those that wait and are wanted, oldest first; the others wait on.
    pub async fn deliver_where(&self, wanted: impl Fn(&Delivery) -> bool) -> usize {
        if !self.has_webhook() {
            return 0;
        }
        let now = {
            let mut world = self.lock();
            let waiting = world.take_deliveries();
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|delivery| wanted(delivery));
            world.outbox.extend(later);
            now
        };
        self.carry(now).await
    }

    fn has_webhook(&self) -> bool {
        let post = self.face.post();
        post.webhook.is_some() || post.receiver.is_some()
    }

    /// Sends those that the fault plan kept back; [`Simulator::deliver_all`] begins with them.
    pub async fn deliver_late(&self) -> usize {
        if !self.has_webhook() {
            return 0;
        }
        let late = std::mem::take(&mut self.face.post().late);
        let mut sent = 0;
        for delivery in &late {
            sent += self.send(delivery).await;
        }
        sent
    }

    /// Loses everything that waits: listed as failed, never sent again by itself. How many.
    pub fn lose_pending(&self) -> usize {
        let mut lost = std::mem::take(&mut self.face.post().late);
        lost.extend(self.lock().take_deliveries());
        for delivery in &lost {
            self.lose(delivery);
        }
        lost.len()
    }

    /// Every attempt so far, oldest first.
    pub fn sent(&self) -> Vec<Sent> {
        self.face.post().sent.clone()
    }

    /// Asks for a recorded delivery again, as a person or the API does: it waits under its old GUID and
    /// a new id.
    ///
    /// # Errors
    /// 404 for an id that was never tried.
    pub fn redeliver(&self, id: u64) -> Done<()> {
        let mut world = self.lock();
        self.face.post().queue_again(&mut world, id)
    }

    /// Sends deliveries as they come, in the background.
    pub fn pump(&self) -> Pump {
        let github = Acquaintance::of(self);
        Pump(tokio::spawn(async move {
            // Acts are plain calls that wake nobody, so that the pump looks from time to time.
            while let Some(github) = github.meet() {
                github.deliver_all().await;
                drop(github);
                tokio::time::sleep(PUMP).await;
            }
        }))
    }

    /// A delivery as it goes over the wire, for whoever hands it over without a network.
    pub fn signed(&self, delivery: &Delivery) -> Signed {
        let body = Bytes::from(delivery.payload.to_string());
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", "GitHub-Hookshot/5f1c2d3".to_owned()),
            ("accept", "*/*".to_owned()),
            ("x-github-event", delivery.event.clone()),
            ("x-github-delivery", delivery.guid.clone()),
            ("x-github-hook-id", HOOK.to_string()),
            (
                "x-github-hook-installation-target-id",
                self.app().app_id.to_string(),
            ),
            (
                "x-github-hook-installation-target-type",
                "integration".to_owned(),
            ),
        ];
        let secret = self.app().webhook_secret.as_bytes();
        // HMAC takes keys of any length: this cannot fail.
        if let Ok(mut code) = Hmac::<Sha256>::new_from_slice(secret) {
            code.update(&body);
            let signature = hex::encode(code.finalize().into_bytes());
            headers.push(("x-hub-signature-256", format!("sha256={signature}")));
        }
        Signed { headers, body }
    }

    /// Sends a batch as the fault plan lets it.
    async fn carry(&self, batch: Vec<Delivery>) -> usize {
        let mut sent = 0;
        for (mut delivery, fate) in self.arranged(batch) {
            match fate {
                Fate::Sent | Fate::Overtaken => sent += self.send(&delivery).await,
                Fate::Doubled => {
                    sent += self.send(&delivery).await;
                    delivery.id = self.lock().next_id("delivery");
                    sent += self.send(&delivery).await;
                }
                Fate::Lost => self.lose(&delivery),
                Fate::Late => self.face.post().late.push(delivery),
            }
        }
        sent
    }

    /// Each delivery with its fate; those that are overtaken stand behind some that came after them.
    fn arranged(&self, batch: Vec<Delivery>) -> Vec<(Delivery, Fate)> {
        self.face.faults(|plan| {
            let size = batch.len();
            let mut placed: Vec<(usize, Delivery, Fate)> = Vec::with_capacity(size);
            for (place, delivery) in batch.into_iter().enumerate() {
                let fate = plan.of_delivery(&delivery.event);
                let behind = match fate {
                    Fate::Overtaken => {
                        let after = size - place;
                        place + 1 + plan.choose("overtaken", delivery.id, after)
                    }
                    _ => place,
                };
                placed.push((behind, delivery, fate));
            }
            // Of two in one place the one that was overtaken goes second.
            placed.sort_by_key(|(place, _, fate)| (*place, *fate == Fate::Overtaken));
            let fated = |(_, delivery, fate)| (delivery, fate);
            placed.into_iter().map(fated).collect()
        })
    }

    async fn send(&self, delivery: &Delivery) -> usize {
        let (url, receiver) = {
            let post = self.face.post();
            (
                post.webhook.clone().unwrap_or_default(),
                post.receiver.clone(),
            )
        };
        if url.is_empty() && receiver.is_none() {
            self.note(delivery, 0, "failed to connect to host", String::new());
            return 0;
        }
        let signed = self.signed(delivery);
        if signed.body.len() > LARGEST {
            return 0;
        }
        let answer = match receiver {
            Some(Receiver(receive)) => receive(signed),
            None => async move { exchange(&url, signed).await }.boxed(),
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Some((status, answer))) if (200..300).contains(&status) => {
                self.note(delivery, status, "OK", answer);
            }
            Ok(Some((status, answer))) => {
                let outcome = format!("Invalid HTTP Response: {status}");
                self.note(delivery, status, &outcome, answer);
            }
            Ok(None) => self.note(delivery, 0, "failed to connect to host", String::new()),
            Err(_) => self.note(delivery, 0, "timed out", String::new()),
        }
        1
    }

    fn lose(&self, delivery: &Delivery) {
        self.note(delivery, 0, "timed out", String::new());
    }

    fn note(&self, delivery: &Delivery, status: u16, outcome: &str, answer: String) {
        let at = self.lock().now();
        let mut post = self.face.post();
        let again = post.again.contains(&delivery.id);
        post.sent.push(Sent {
            delivery: delivery.clone(),
            at,
            status,
            outcome: outcome.to_owned(),
            answer,
            again,
        });
    }
}

/// One request over a connection of its own: GitHub's deliveries come from many hosts.
async fn exchange(url: &str, signed: Signed) -> Option<(u16, String)> {
    let mut request = Request::post(url);
    for (name, value) in signed.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(signed.body)).ok()?;
    let client = Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(0)
        .build_http();
    let response = client.request(request).await.ok()?;
    let status = response.status().as_u16();
    let answer = Limited::new(response.into_body(), KEPT).collect().await;
    let answer = answer.map(|answer| answer.to_bytes()).unwrap_or_default();
    Some((status, String::from_utf8_lossy(&answer).into_owned()))
}

impl Post {
    /// Where deliveries go.
    pub(super) fn webhook(&self) -> Option<&str> {
        self.webhook.as_deref()
    }

    /// Queues a recorded delivery once more.
    pub(super) fn queue_again(&mut self, world: &mut World, id: u64) -> Done<()> {
        let known = self.sent.iter().find(|sent| sent.delivery.id == id);
        let mut delivery = known.ok_or_else(Refusal::not_found)?.delivery.clone();
        delivery.id = world.next_id("delivery");
        self.again.insert(delivery.id);
        world.outbox.push_back(delivery);
        Ok(())
    }

    /// A page of what was tried, newest first, from below a cursor; and the cursor of the next page.
    pub(super) fn page(
        &self,
        world: &World,
        below: Option<usize>,
        size: usize,
    ) -> (Vec<Value>, Option<usize>) {
        let end = below.unwrap_or(self.sent.len()).min(self.sent.len());
        let start = end.saturating_sub(size);
        let shown = self.sent.get(start..end).unwrap_or_default();
        let listed = shown.iter().rev().map(|sent| sent.listed(world));
        (listed.collect(), (start > 0).then_some(start))
    }

    /// One attempt with everything about it.
    pub(super) fn whole(&self, world: &World, id: u64) -> Option<Value> {
        let sent = self.sent.iter().find(|sent| sent.delivery.id == id)?;
        let mut value = sent.listed(world);
        let headers = [
            ("X-GitHub-Event", &sent.delivery.event),
            ("X-GitHub-Delivery", &sent.delivery.guid),
        ];
        let headers: Map<String, Value> = headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        value["url"] = json!(self.webhook);
        value["request"] = json!({ "headers": headers, "payload": sent.delivery.payload });
        value["response"] = json!({ "headers": {}, "payload": sent.answer });
        Some(value)
    }
}

impl Sent {
    fn listed(&self, world: &World) -> Value {
        let delivery = &self.delivery;
        json!({
            "id": delivery.id,
            "guid": delivery.guid,
            "delivered_at": payload::time(self.at),
            "redelivery": self.again,
            "duration": 0.1,
            "status": self.outcome,
            "status_code": self.status,
            "event": delivery.event,
            "action": delivery.action,
            "installation_id": delivery.installation,
            "repository_id": delivery.repo,
            "throttled_at": null,
            "url": format!("{}/app/hook/deliveries/{}", world.origin, delivery.id),
        })
    }
}
