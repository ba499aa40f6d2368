//! Requests as GitHub sends them, and as it never would.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream;
use hmac::{Hmac, Mac};
use http::{Request, Response as HttpResponse};
use http_body_util::BodyExt;
use proptest::prelude::*;
use sha2::Sha256;
use tokio::sync::{Notify, Semaphore};
use tower::ServiceExt;

use super::*;
use crate::store::{StoreError, Stored};

const SECRET: &str = "it's a secret to everybody";
const PREVIOUS: &str = "the one before";

/// An inbox in memory: knows ids, fails when told to, and commits only while the gate is open.
struct FakeInbox {
    seen: Mutex<HashSet<String>>,
    bodies: Mutex<Vec<Bytes>>,
    groups: Mutex<Vec<usize>>,
    failures: AtomicUsize,
    gate: Semaphore,
}

impl FakeInbox {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            seen: Mutex::default(),
            bodies: Mutex::default(),
            groups: Mutex::default(),
            failures: AtomicUsize::new(0),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
        })
    }

    /// An inbox that commits nothing until its gate is opened.
    fn shut() -> Arc<Self> {
        let inbox = Self::new();
        inbox.gate.forget_permits(Semaphore::MAX_PERMITS);
        inbox
    }

    fn stored(&self) -> usize {
        self.bodies.lock().unwrap().len()
    }
}

#[async_trait]
impl Inbox for FakeInbox {
    async fn accept(&self, deliveries: Vec<NewDelivery>) -> Stored<Vec<Accepted>> {
        let _permit = self.gate.acquire().await;
        let fails = self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
        if fails.is_ok() {
            return Err(StoreError::Database(sqlx::Error::PoolTimedOut));
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        self.groups.lock().unwrap().push(deliveries.len());
        Ok(deliveries
            .into_iter()
            .map(|delivery| {
                if seen.insert(delivery.id.to_string()) {
                    self.bodies.lock().unwrap().push(delivery.body);
                    Accepted::Stored
                } else {
                    Accepted::Known
                }
            })
            .collect())
    }
}

/// A webhook with its writer running.
struct World {
    inbox: Arc<FakeInbox>,
    webhook: Arc<Webhook>,
    arrived: Arc<Notify>,
}

impl World {
    fn new() -> Self {
        Self::with(FakeInbox::new())
    }

    fn with(inbox: Arc<FakeInbox>) -> Self {
        let arrived = Arc::new(Notify::new());
        let (door, writer) = open(Arc::clone(&inbox), Arc::clone(&arrived));
        tokio::spawn(writer.run());
        let secrets = vec![SECRET.into(), PREVIOUS.into()];
        Self {
            inbox,
            webhook: Arc::new(Webhook::new(secrets, door, Clock::System)),
            arrived,
        }
    }

    async fn send(&self, request: Request<Body>) -> HttpResponse<Body> {
        let routes = Arc::clone(&self.webhook).routes();
        routes.oneshot(request).await.unwrap()
    }

    async fn status(&self, request: Request<Body>) -> u16 {
        self.send(request).await.status().as_u16()
    }
}

fn sign(secret: &str, body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    format!(
        "sha256={}",
        hex::encode(mac.chain_update(body).finalize().into_bytes())
    )
}

/// A request with every header GitHub sends; headers named in `but` are replaced, or left out if empty.
fn request(id: &str, body: impl Into<Bytes>, but: &[(&str, &str)]) -> Request<Body> {
    let body = body.into();
    let signature = sign(SECRET, &body);
    let mut headers = vec![
        ("content-type", "application/json"),
        (EVENT, "ping"),
        (DELIVERY, id),
        (SIGNATURE, signature.as_str()),
    ];
    headers.retain(|(name, _)| but.iter().all(|(other, _)| other != name));
    headers.extend(but.iter().filter(|(_, value)| !value.is_empty()));
    let mut request = Request::post("/webhook");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    request.body(Body::from(body)).unwrap()
}

async fn text(response: HttpResponse<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_signed_delivery_is_stored_and_answered_with_an_empty_object() {
    let world = World::new();
    let response = world.send(request("d-1", "{\"zen\":1}", &[])).await;
    assert_eq!(response.status(), 202);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(text(response).await, "{}");
    assert_eq!(world.inbox.bodies.lock().unwrap()[0], "{\"zen\":1}");
    world.arrived.notified().await;
    assert_eq!(world.webhook.counts().stored, 1);
}

#[tokio::test]
async fn both_addresses_take_deliveries_and_only_by_post() {
    let world = World::new();
    for (at, path) in ROUTES.iter().enumerate() {
        let mut post = request(&format!("d-{at}"), "{}", &[]);
        *post.uri_mut() = path.parse().unwrap();
        assert_eq!(world.status(post).await, 202, "{path}");
        let get = Request::get(*path).body(Body::empty()).unwrap();
        assert_eq!(world.status(get).await, 405, "{path}");
    }
}

#[tokio::test]
async fn an_unknown_event_is_stored_like_any_other() {
    let world = World::new();
    assert_eq!(
        world
            .status(request("d-1", "{}", &[(EVENT, "sponsorship")]))
            .await,
        202
    );
    assert_eq!(world.inbox.stored(), 1);
}

#[tokio::test]
async fn a_delivery_that_is_known_is_accepted_and_stored_once() {
    let world = World::new();
    assert_eq!(world.status(request("d-1", "{}", &[])).await, 202);
    assert_eq!(world.status(request("d-1", "{}", &[])).await, 202);
    assert_eq!(world.inbox.stored(), 1);
    assert_eq!(world.webhook.counts().known, 1);
}

#[tokio::test]
async fn two_copies_that_arrive_together_are_both_accepted_and_stored_once() {
    let world = World::with(FakeInbox::shut());
    let copies = futures::future::join(
        world.status(request("d-1", "{}", &[])),
        world.status(request("d-1", "{}", &[])),
    );
    let open = async {
        tokio::task::yield_now().await;
        world.inbox.gate.add_permits(1);
    };
    let ((first, second), ()) = futures::future::join(copies, open).await;
    assert_eq!((first, second, world.inbox.stored()), (202, 202, 1));
}

#[tokio::test]
async fn what_is_unsigned_or_wrongly_signed_is_refused_before_anything_else_is_looked_at() {
    let world = World::new();
    let good = sign(SECRET, b"{}");
    let cases = [
        ("missing", ""),
        ("empty", " "),
        ("short", "sha256=abcd"),
        ("not hex", &format!("sha256={}", "z".repeat(64))),
        ("too long", &format!("{good}00")),
        ("without its scheme", &good["sha256=".len()..]),
        (
            "of the old scheme",
            "sha1=a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        ),
        ("of another secret", &sign("guess", b"{}")),
        ("of another body", &sign(SECRET, b"{ }")),
        ("of the empty secret", &sign("", b"{}")),
    ];
    for (case, signature) in cases {
        // Neither a missing header nor a broken body shows to whoever cannot sign.
        let but = [(SIGNATURE, signature), (EVENT, ""), (DELIVERY, "")];
        assert_eq!(
            world.status(request("d-1", "{}", &but)).await,
            401,
            "{case}"
        );
    }
    let old = [
        (SIGNATURE, ""),
        (
            "x-hub-signature",
            "sha1=a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
        ),
    ];
    assert_eq!(world.status(request("d-1", "{}", &old)).await, 401);
    let counts = world.webhook.counts();
    assert_eq!(
        (counts.unsigned, counts.wrong_signature, counts.stored),
        (8, 3, 0)
    );
}

#[tokio::test]
async fn the_secret_before_is_accepted_while_it_is_being_changed() {
    let world = World::new();
    let but = [(SIGNATURE, sign(PREVIOUS, b"{}"))];
    let but: Vec<_> = but
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(world.status(request("d-1", "{}", &but)).await, 202);
}

#[tokio::test]
async fn a_signed_request_without_event_or_id_is_told_what_is_missing() {
    let world = World::new();
    for (header, name) in [(EVENT, "X-GitHub-Event"), (DELIVERY, "X-GitHub-Delivery")] {
        for value in ["", "two words"] {
            let response = world.send(request("d-1", "{}", &[(header, value)])).await;
            assert_eq!(response.status(), 400);
            assert!(text(response).await.contains(name));
        }
    }
}

#[tokio::test]
async fn a_signed_body_that_is_not_json_is_refused_and_the_remedy_named() {
    let world = World::new();
    let bodies: [&[u8]; 5] = [b"", b"payload=%7B%7D", b"{", b"{}{}", b"{\"a\":\"\xff\"}"];
    for body in bodies {
        let response = world.send(request("d-1", body, &[])).await;
        assert_eq!(response.status(), 400, "{body:?}");
        assert!(text(response).await.contains("application/json"));
    }
    assert_eq!(world.webhook.counts().not_json, 5);
}

#[tokio::test]
async fn emoji_and_line_separators_are_hashed_as_bytes() {
    let world = World::new();
    let bodies = [
        "{\"comment\":{\"body\":\"ship it 🚢\u{2028}now\"}}",
        "{\"comment\":{\"body\":\"\\ud83d\\ude80 escaped\"}}",
    ];
    for (at, body) in bodies.into_iter().enumerate() {
        assert_eq!(
            world.status(request(&format!("d-{at}"), body, &[])).await,
            202
        );
        assert_eq!(world.inbox.bodies.lock().unwrap()[at], body);
    }
}

#[tokio::test]
async fn a_body_is_authentic_as_it_was_sent_and_not_as_a_parser_would_write_it_again() {
    let world = World::new();
    let sent = "{ \"b\" : 1.0e2, \"a\":\"\\u0041\\/\" , \"n\": 12345678901234567890 }\n";
    let again = serde_json::from_str::<serde_json::Value>(sent)
        .unwrap()
        .to_string();
    let signature = sign(SECRET, sent.as_bytes());
    let but = [(SIGNATURE, signature.as_str())];
    assert_eq!(world.status(request("d-1", sent, &but)).await, 202);
    assert_eq!(world.status(request("d-2", again, &but)).await, 401);
}

/// A body of this size that announces no length, in pieces.
fn streamed(whole: &Bytes) -> Body {
    let size = whole.len();
    let pieces: Vec<_> = (0..size)
        .step_by(1 << 20)
        .map(|from| Ok::<_, std::io::Error>(whole.slice(from..size.min(from + (1 << 20)))))
        .collect();
    Body::from_stream(stream::iter(pieces))
}

/// JSON of exactly this size.
fn json_of(size: usize) -> Bytes {
    let mut whole = vec![b' '; size];
    whole[..2].copy_from_slice(b"{}");
    whole.into()
}

fn streamed_request(id: &str, body: &Bytes, signature: &str) -> Request<Body> {
    Request::post("/webhook")
        .header(EVENT, "push")
        .header(DELIVERY, id)
        .header(SIGNATURE, signature)
        .body(streamed(body))
        .unwrap()
}

#[tokio::test]
async fn the_largest_delivery_is_taken_and_one_byte_more_is_not_even_without_a_length() {
    let world = World::new();
    let largest = json_of(body::LARGEST);
    let signature = sign(SECRET, &largest);
    let request = streamed_request("d-1", &largest, &signature);
    assert_eq!(world.status(request).await, 202);
    let request = streamed_request("d-2", &json_of(body::LARGEST + 1), &signature);
    assert_eq!(world.status(request).await, 413);
    assert_eq!(world.inbox.stored(), 1);
    assert_eq!(world.webhook.counts().too_large, 1);
}

#[tokio::test]
async fn a_length_that_is_too_large_is_refused_without_reading_what_nobody_has_sent() {
    let world = World::new();
    let never = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let signature = format!("sha256={}", "0".repeat(64));
    for (length, expect) in [("27000000", Some("100-continue")), ("99999999999", None)] {
        for signature in [Some(&signature), None] {
            let mut request = Request::post("/webhook").header("content-length", length);
            if let Some(expect) = expect {
                request = request.header("expect", expect);
            }
            if let Some(signature) = signature {
                request = request.header(SIGNATURE, signature);
            }
            assert_eq!(world.status(request.body(never()).unwrap()).await, 413);
        }
    }
}

#[tokio::test]
async fn an_unsigned_body_is_measured_and_not_kept() {
    let world = World::new();
    for (size, status) in [(body::LARGEST + 1, 413), (body::LARGEST, 401)] {
        let request = Request::post("/webhook").body(streamed(&json_of(size)));
        assert_eq!(world.status(request.unwrap()).await, status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_in_time_is_given_up() {
    let world = World::new();
    let drip = stream::iter([Ok::<_, std::io::Error>(Bytes::from("{"))]).chain(stream::pending());
    let request = Request::post("/webhook")
        .header(SIGNATURE, sign(SECRET, b"{}"))
        .body(Body::from_stream(drip))
        .unwrap();
    assert_eq!(world.status(request).await, 408);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_stored() {
    let world = World::new();
    let broken = stream::iter([Ok(Bytes::from("{}")), Err(std::io::Error::other("gone"))]);
    let request = Request::post("/webhook")
        .header(SIGNATURE, sign(SECRET, b"{}"))
        .body(Body::from_stream(broken))
        .unwrap();
    assert_eq!(world.status(request).await, 400);
    assert_eq!(world.inbox.stored(), 0);
}

#[tokio::test]
async fn bodies_in_hand_together_are_bounded() {
    let (room, headers) = (body::Room::new(10), HeaderMap::new());
    let read = |size: usize| body::read(&headers, Body::from(vec![b' '; size]), &room);
    let first = read(6).await.unwrap();
    assert!(matches!(read(5).await, Err(Rejection::Crowded)));
    let second = read(4).await.unwrap();
    drop(first);
    assert!(read(6).await.is_ok(), "there is room again");
    drop(second);
}

#[tokio::test]
async fn a_failing_store_is_said_aloud_and_the_delivery_can_come_again() {
    let world = World::new();
    world.inbox.failures.store(1, Ordering::SeqCst);
    let response = world.send(request("d-1", "{}", &[])).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "10");
    insta::assert_snapshot!(text(response).await, @r#"{"error":"the store failed"}"#);
    assert_eq!(world.status(request("d-1", "{}", &[])).await, 202);
    assert_eq!(world.inbox.stored(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_not_waited_for_longer_than_github_waits() {
    let world = World::with(FakeInbox::shut());
    let before = tokio::time::Instant::now();
    let response = world.send(request("d-1", "{}", &[])).await;
    assert_eq!(response.status(), 503);
    assert!(before.elapsed() < Duration::from_secs(10));
}

fn delivery(id: usize) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::parse(&format!("d-{id}")).unwrap(),
        event: "ping".to_owned(),
        body: Bytes::from("{}"),
        at: Clock::System.now(),
    }
}

#[tokio::test]
async fn what_arrives_during_a_commit_is_committed_together_in_groups_of_bounded_size() {
    let inbox = FakeInbox::shut();
    let (door, writer) = open(Arc::clone(&inbox), Arc::new(Notify::new()));
    let work = async {
        let opened = async {
            tokio::task::yield_now().await;
            inbox.gate.add_permits(100);
        };
        futures::future::join(writer.run(), opened).await;
    };
    let bring = async {
        let all = (0..100).map(|id| door.bring(delivery(id)));
        let answers = futures::future::join_all(all).await;
        drop(door);
        answers
    };
    let (answers, ()) = futures::future::join(bring, work).await;
    assert!(answers.iter().all(|answer| *answer == Ok(Accepted::Stored)));
    assert_eq!(*inbox.groups.lock().unwrap(), [32, 32, 32, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_said_aloud() {
    let inbox = FakeInbox::shut();
    let (door, _writer) = open(Arc::clone(&inbox), Arc::new(Notify::new()));
    let answers =
        futures::future::join_all((0..=door::QUEUE).map(|id| door.bring(delivery(id)))).await;
    assert_eq!(
        answers
            .iter()
            .filter(|answer| **answer == Err(Shut::Full))
            .count(),
        1
    );
    assert_eq!(
        answers
            .iter()
            .filter(|answer| **answer == Err(Shut::Slow))
            .count(),
        door::QUEUE
    );
}

#[tokio::test]
async fn after_the_writer_is_gone_nothing_is_accepted() {
    let (door, writer) = open(FakeInbox::new(), Arc::new(Notify::new()));
    drop(writer);
    assert_eq!(door.bring(delivery(1)).await, Err(Shut::Closed));
}

#[tokio::test]
async fn what_was_brought_before_the_end_is_still_committed() {
    let inbox = FakeInbox::new();
    let (door, writer) = open(Arc::clone(&inbox), Arc::new(Notify::new()));
    let brought = async move { door.bring(delivery(1)).await };
    let (answer, ()) = futures::future::join(brought, writer.run()).await;
    assert_eq!((answer, inbox.stored()), (Ok(Accepted::Stored), 1));
}

#[tokio::test]
async fn what_the_rejected_are_told_helps_and_holds_no_secret() {
    let told = [
        Rejection::TooLarge,
        Rejection::Unsigned,
        Rejection::WrongSignature,
        Rejection::Header("X-GitHub-Event"),
        Rejection::NotJson("expected value at line 1 column 1".to_owned()),
        Rejection::Broken,
        Rejection::Late,
        Rejection::Crowded,
        Rejection::Shut(Shut::Full),
    ]
    .map(|rejection| format!("{} {rejection}", rejection.status().as_u16()))
    .join("\n");
    insta::assert_snapshot!(told, @"
    413 the body is larger than 25 MiB
    401 X-Hub-Signature-256 is missing or malformed: the App's webhook needs a secret
    401 X-Hub-Signature-256 does not fit the body: the secret in the App's settings and COUNTERSIGN_WEBHOOK_SECRET differ
    400 X-GitHub-Event is missing or malformed
    400 the body is not JSON (expected value at line 1 column 1): the App's webhook must send application/json
    400 the body broke off
    408 the body did not come in time
    503 too many bodies are being read
    503 too many deliveries wait to be stored
    ");
}

proptest! {
    #[test]
    fn any_bytes_signed_with_either_secret_are_authentic(body: Vec<u8>, previous: bool) {
        let secrets = [SECRET.into(), PREVIOUS.into()];
        let secret = if previous { PREVIOUS } else { SECRET };
        prop_assert!(authenticate(&secrets, Some(&sign(secret, &body)), &body));
    }

    #[test]
    fn a_change_of_one_bit_anywhere_makes_it_a_forgery(
        body in proptest::collection::vec(any::<u8>(), 1..200),
        at: proptest::sample::Index,
        bit in 0u8..8,
        in_signature: bool,
    ) {
        let secrets = [SECRET.into(), PREVIOUS.into()];
        let signature = sign(SECRET, &body);
        if in_signature {
            let mut digest = signature::claimed(Some(&signature)).unwrap();
            digest[at.index(32)] ^= 1 << bit;
            let forged = format!("sha256={}", hex::encode(digest));
            prop_assert!(!authenticate(&secrets, Some(&forged), &body));
        } else {
            let mut forged = body.clone();
            forged[at.index(body.len())] ^= 1 << bit;
            prop_assert!(!authenticate(&secrets, Some(&signature), &forged));
        }
    }

    #[test]
    fn no_header_text_at_all_is_taken_for_a_signature_by_accident(header: String, body: Vec<u8>) {
        prop_assert!(!authenticate(&[SECRET.into()], Some(&header), &body));
        prop_assert!(!authenticate(&[], Some(&sign(SECRET, &body)), &body));
    }
}
