//! A scripted GitHub on a local port, and how the client behaves towards one that misbehaves.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use chrono::TimeDelta;
use serde_json::{Value, json};

use super::auth::tests::key;
use super::client::{Client, ClientOptions, Timeouts};
use super::*;
use crate::clock::Clock;
use crate::domain::model::{AppId, RepoId, Timestamp};

pub(in crate::github) const HEAD: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
pub(in crate::github) const BASE: &str = "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc";

/// A request as the server saw it.
#[derive(Debug, Clone)]
pub(in crate::github) struct Seen {
    /// `GET /path?query`.
    pub line: String,
    /// The `Authorization` header.
    pub bearer: String,
    pub headers: axum::http::HeaderMap,
    pub body: Value,
}

/// What the server says.
#[derive(Debug, Clone)]
pub(in crate::github) enum Say {
    /// An answer.
    Json(u16, Vec<(&'static str, String)>, Value),
    /// A body that is no JSON.
    Text(u16, &'static str),
    /// Nothing, ever.
    Silence,
}

pub(in crate::github) fn ok(value: Value) -> Option<Say> {
    Some(Say::Json(200, Vec::new(), value))
}

pub(in crate::github) fn status(status: u16, message: &str) -> Option<Say> {
    Some(Say::Json(status, Vec::new(), json!({ "message": message })))
}

/// Says something to requests whose first line holds `part`, and leaves the others open.
pub(in crate::github) fn on(
    seen: &Seen,
    part: &str,
    say: impl FnOnce() -> Option<Say>,
) -> Option<Say> {
    if seen.line.contains(part) {
        say()
    } else {
        None
    }
}

type Script = dyn Fn(&Seen) -> Option<Say> + Send + Sync;

/// A server that follows a script. What the script leaves open: tokens are minted, anything else is
/// not found.
pub(in crate::github) struct Server {
    pub client: Client,
    pub clock: Clock,
    pub address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub(in crate::github) fn noon() -> Timestamp {
    chrono::DateTime::from_timestamp(1_750_000_000, 0).expect("a time")
}

impl Server {
    pub async fn start(script: impl Fn(&Seen) -> Option<Say> + Send + Sync + 'static) -> Self {
        Self::below("", script).await
    }

    /// A server whose API stands below a path, as Enterprise Server's does.
    pub async fn below(
        path: &str,
        script: impl Fn(&Seen) -> Option<Say> + Send + Sync + 'static,
    ) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let minted = Arc::new(AtomicU64::new(0));
        let clock = Clock::manual(noon());
        let state = (script, Arc::clone(&seen), minted, clock.clone());
        let app = axum::Router::new().fallback(move |request: Request<Body>| {
            let (script, seen, minted, clock) = state.clone();
            async move { answer(request, &*script, &seen, &minted, &clock).await }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        let client = Client::new(ClientOptions {
            api_url: format!("http://{address}{path}"),
            app_id: AppId::new(4_711).expect("an id"),
            key: key(),
            clock: clock.clone(),
            timeouts: Timeouts {
                pauses: [Duration::ZERO; 2],
                between_writes: Duration::ZERO,
                ..Timeouts::default()
            },
        })
        .expect("a client");
        Self {
            client,
            clock,
            address,
            seen,
            serving,
        }
    }

    /// Every request so far but the mintings.
    pub fn seen(&self) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| !is_mint(seen)).cloned().collect()
    }

    /// Their first lines.
    pub fn lines(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.line).collect()
    }

    pub fn mintings(&self) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().filter(|seen| is_mint(seen)).count()
    }
}

fn http_date(time: Timestamp) -> String {
    time.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn is_mint(seen: &Seen) -> bool {
    seen.line.ends_with("/access_tokens")
}

async fn answer(
    request: Request<Body>,
    script: &Script,
    seen: &Mutex<Vec<Seen>>,
    minted: &AtomicU64,
    clock: &Clock,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20)
        .await
        .unwrap_or_default();
    let bearer = parts.headers.get("authorization");
    let request = Seen {
        line: format!("{} {}", parts.method, parts.uri),
        bearer: bearer
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_owned(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    seen.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(request.clone());
    let said = script(&request).unwrap_or_else(|| {
        if is_mint(&request) {
            let number = minted.fetch_add(1, Ordering::SeqCst) + 1;
            let ends = clock.now() + TimeDelta::hours(1);
            let token = json!({
                "token": format!("ghs_secret{number}"),
                "expires_at": ends.to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
            });
            Say::Json(201, Vec::new(), token)
        } else {
            Say::Json(404, Vec::new(), json!({ "message": "Not Found" }))
        }
    });
    let (status, headers, body) = match said {
        Say::Json(status, headers, value) => (status, headers, value.to_string()),
        Say::Text(status, text) => (status, Vec::new(), text.to_owned()),
        Say::Silence => std::future::pending().await,
    };
    let mut response = Response::builder().status(status);
    if headers.iter().all(|(name, _)| *name != "date") {
        // hyper would tell the machine's time, and the test's clock stands still.
        response = response.header("date", http_date(clock.now()));
    }
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(Body::from(body)).expect("a response")
}

pub(in crate::github) fn repo() -> Repository {
    Repository {
        id: RepoId::new(1_296_269).expect("an id"),
        name: RepoName::parse("acme/shop").expect("a name"),
        installation: InstallationId::new(7).expect("an id"),
        default_branch: None,
    }
}

pub(in crate::github) fn head() -> HeadSha {
    HeadSha::parse(HEAD).expect("an id")
}

pub(in crate::github) fn tip() -> Oid {
    Oid::parse(BASE).expect("an id")
}

pub(in crate::github) fn number() -> PullNumber {
    PullNumber::new(42).expect("a number")
}

pub(in crate::github) fn page() -> CheckPage {
    CheckPage {
        conclusion: None,
        title: "Waiting".into(),
        summary: "| gate |".into(),
        text: String::new(),
        buttons: Vec::new(),
    }
}

pub(in crate::github) fn run(id: u64) -> Value {
    json!({
        "id": id, "name": "unit", "head_sha": HEAD, "status": "completed",
        "conclusion": "success", "app": { "id": 15368, "slug": "github-actions" },
    })
}

pub(in crate::github) fn pull_in(repo_id: u64, number: u64) -> Value {
    json!({
        "id": number + 1_000, "number": number, "state": "open", "title": "t", "body": null,
        "draft": false, "user": null,
        "head": { "sha": HEAD, "ref": "agent/x", "repo": null },
        "base": { "sha": BASE, "ref": "main", "repo": { "id": repo_id } },
        "mergeable": null, "changed_files": 301,
        "created_at": "2025-06-01T00:00:00Z", "updated_at": "2025-06-01T00:00:00Z",
    })
}

/// The number that a request's query gives for `page`.
pub(in crate::github) fn page_of(seen: &Seen) -> u64 {
    let (_, after) = seen.line.rsplit_once("page=").expect("a page");
    after.parse().expect("a number")
}

pub(in crate::github) fn threads(total: u64, resolved: &[bool], next: Option<&str>) -> Option<Say> {
    let nodes: Vec<Value> = resolved
        .iter()
        .map(|is| json!({ "isResolved": is }))
        .collect();
    ok(
        json!({ "data": { "repository": { "pullRequest": { "reviewThreads": {
            "totalCount": total, "nodes": nodes,
            "pageInfo": { "hasNextPage": next.is_some(), "endCursor": next },
        }}}}}),
    )
}

async fn app_is(server: &Server) -> Answer<AppRef> {
    server.client.app().await
}

#[tokio::test]
async fn a_write_that_is_answered_502_goes_out_once() {
    let server = Server::start(|seen| {
        seen.line
            .contains("/repos/")
            .then_some(Say::Text(502, "<html>"))
    })
    .await;
    let outcome = server
        .client
        .create_check(&repo(), &head(), "x", &page())
        .await;
    assert_eq!(outcome, Err(Refused::Server(502)));
    let run = CheckRunId::new(1).expect("an id");
    let outcome = server.client.update_check(&repo(), run, &page()).await;
    assert_eq!(outcome, Err(Refused::Server(502)));
    let merge = server
        .client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert!(matches!(merge, MergeAnswer::Unknown(_)), "{merge:?}");
    assert_eq!(
        server.lines(),
        [
            "POST /repos/acme/shop/check-runs",
            "PATCH /repos/acme/shop/check-runs/1",
            "PUT /repos/acme/shop/pulls/42/merge",
        ]
    );
}

#[tokio::test]
async fn a_read_is_tried_again_twice_and_no_more() {
    let server = Server::start(|_| status(503, "down")).await;
    assert_eq!(app_is(&server).await, Err(Refused::Server(503)));
    assert_eq!(server.lines().len(), 3);
}

/// A server that gave up waiting (408) does not say what it did, as one that failed does not.
#[tokio::test]
async fn a_server_that_gave_up_waiting_is_asked_again_and_no_write_goes_out_twice() {
    let slow = |seen: &Seen| match is_mint(seen) {
        true => None,
        false => status(408, "too slow"),
    };
    let server = Server::start(slow).await;
    assert!(matches!(app_is(&server).await, Err(Refused::NoAnswer(_))));
    assert_eq!(server.lines().len(), 3);
    let server = Server::start(slow).await;
    let reads = || {
        server
            .lines()
            .into_iter()
            .filter(|line| !line.contains("access_tokens"))
    };
    let (repo, head, page) = (repo(), head(), page());
    let read = server.client.commit(&repo, &tip()).await;
    assert_eq!(read, Err(Refused::NoAnswer("too slow".into())));
    assert_eq!(reads().count(), 3);
    let written = server.client.create_check(&repo, &head, "x", &page).await;
    assert!(matches!(written, Err(Refused::NoAnswer(_))));
    let merge = server.client.merge(&repo, number(), &head, Method::Merge);
    let merged = merge.await;
    assert!(matches!(merged, MergeAnswer::Unknown(_)), "{merged:?}");
    assert_eq!(reads().count(), 5);
}

#[tokio::test]
async fn a_read_that_was_answered_for_good_is_not_tried_again() {
    for code in [401, 403, 404, 409, 422] {
        let server = Server::start(move |_| status(code, "no")).await;
        assert!(app_is(&server).await.is_err());
        assert_eq!(server.lines().len(), 1, "{code}");
    }
}

#[tokio::test]
async fn ten_concurrent_cold_calls_mint_one_token() {
    let server = Server::start(|_| None).await;
    let (repo, commit) = (repo(), tip());
    let calls = (0..10).map(|_| server.client.commit(&repo, &commit));
    futures::future::join_all(calls).await;
    assert_eq!(server.mintings(), 1);
    let first = server.seen();
    assert!(first.iter().all(|seen| seen.bearer == "Bearer ghs_secret1"));
}

#[tokio::test]
async fn all_who_wait_for_a_failing_minting_share_its_refusal() {
    let server = Server::start(|seen| is_mint(seen).then_some(Say::Text(500, ""))).await;
    let (repo, head) = (repo(), head());
    let page = page();
    let calls = (0..10).map(|_| server.client.create_check(&repo, &head, "x", &page));
    let outcomes = futures::future::join_all(calls).await;
    assert!(
        outcomes
            .iter()
            .all(|outcome| *outcome == Err(Refused::Server(500)))
    );
    assert_eq!((server.mintings(), server.lines().len()), (1, 0));
}

#[tokio::test]
async fn a_token_is_used_until_five_minutes_before_its_end() {
    let server = Server::start(|_| None).await;
    for (minutes, mintings) in [(0, 1), (54, 1), (1, 2), (10, 2)] {
        server.clock.advance(TimeDelta::minutes(minutes));
        let _ = server.client.commit(&repo(), &tip()).await;
        assert_eq!(server.mintings(), mintings, "after {minutes} more minutes");
    }
}

#[tokio::test]
async fn each_installation_has_a_token_of_its_own() {
    let server = Server::start(|_| None).await;
    let mut other = repo();
    other.installation = InstallationId::new(8).expect("an id");
    let _ = server.client.commit(&repo(), &tip()).await;
    let _ = server.client.commit(&other, &tip()).await;
    let bearers: Vec<String> = server.seen().into_iter().map(|seen| seen.bearer).collect();
    assert!(bearers.contains(&"Bearer ghs_secret1".to_owned()));
    assert!(bearers.contains(&"Bearer ghs_secret2".to_owned()));
}

#[tokio::test]
async fn a_token_that_is_refused_is_replaced_once() {
    let server = Server::start(|seen| match seen.bearer.as_str() {
        "Bearer ghs_secret1" => status(401, "Bad credentials"),
        "Bearer ghs_secret2" => ok(json!({ "permission": "read" })),
        _ => None,
    })
    .await;
    let actor = actor();
    assert_eq!(server.client.may_write(&repo(), &actor).await, Ok(false));
    assert_eq!((server.mintings(), server.lines().len()), (2, 2));

    let server = Server::start(|seen| (!is_mint(seen)).then(|| status(401, "no")).flatten()).await;
    let outcome = server.client.may_write(&repo(), &actor).await;
    assert_eq!(outcome, Err(Refused::Unauthorized("no".into())));
    assert_eq!((server.mintings(), server.lines().len()), (2, 2));
}

fn actor() -> Actor {
    Actor {
        id: crate::domain::model::ActorId::new(583_231).expect("an id"),
        login: crate::domain::model::Login::new("octo[bot]"),
        kind: crate::domain::model::ActorKind::Bot,
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_answer_ends_with_the_time_out_and_leaves_a_write_unknown() {
    let server = Server::start(|seen| (!is_mint(seen)).then_some(Say::Silence)).await;
    let merge = server
        .client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert!(matches!(merge, MergeAnswer::Unknown(_)), "{merge:?}");
    assert_eq!(server.lines().len(), 1);
    let read = server.client.commit(&repo(), &tip()).await;
    assert!(matches!(read, Err(Refused::NoAnswer(_))), "{read:?}");
    // A third try would outlast the pass.
    assert_eq!(server.lines().len(), 1 + 2);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_gives_no_answer() {
    let server = Server::start(|_| None).await;
    server.serving.abort();
    let options = |port| ClientOptions {
        api_url: format!("http://127.0.0.1:{port}"),
        app_id: AppId::new(1).expect("an id"),
        key: key(),
        clock: Clock::manual(noon()),
        timeouts: Timeouts {
            pauses: [Duration::ZERO; 2],
            between_writes: Duration::ZERO,
            ..Timeouts::default()
        },
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let client = Client::new(options(port)).expect("a client");
    let outcome = client.app().await;
    let Err(Refused::NoAnswer(why)) = outcome else {
        panic!("{outcome:?}")
    };
    assert!(why.contains("refused"), "{why}");
}

#[tokio::test]
async fn a_limit_brakes_the_installation_and_nobody_else() {
    let server = Server::start(|seen| {
        (!is_mint(seen) && seen.bearer == "Bearer ghs_secret1").then(|| {
            let headers = vec![("retry-after", "30".to_owned())];
            Say::Json(
                403,
                headers,
                json!({ "message": "You have exceeded a secondary rate limit" }),
            )
        })
    })
    .await;
    let limited = |seconds| {
        Err(Refused::Limited {
            after: TimeDelta::seconds(seconds),
        })
    };
    assert_eq!(server.client.commit(&repo(), &tip()).await, limited(30));
    server.clock.advance(TimeDelta::seconds(10));
    assert_eq!(server.client.commit(&repo(), &tip()).await, limited(20));
    let merge = server
        .client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert_eq!(merge, MergeAnswer::Limited(TimeDelta::seconds(20)));
    let conversations = server.client.open_conversations(&repo(), number()).await;
    assert_eq!(
        conversations,
        Err(Refused::Limited {
            after: TimeDelta::seconds(20)
        })
    );
    assert_eq!(server.lines().len(), 1, "nothing was sent meanwhile");

    let mut other = repo();
    other.installation = InstallationId::new(8).expect("an id");
    let elsewhere = server.client.commit(&other, &tip()).await;
    assert!(
        matches!(elsewhere, Err(Refused::NotFound(_))),
        "{elsewhere:?}"
    );

    server.clock.advance(TimeDelta::seconds(20));
    let before = server.lines().len();
    assert_eq!(server.client.commit(&repo(), &tip()).await, limited(30));
    assert_eq!(server.lines().len(), before + 1, "the time had passed");
}

#[tokio::test]
async fn a_limit_that_a_query_meets_lasts_as_its_headers_say_though_the_status_is_200() {
    let reset = (noon() + TimeDelta::minutes(20)).timestamp().to_string();
    let used_up = ("RATE_LIMIT", "API rate limit already exceeded");
    let behaviour = ("", "You have exceeded a secondary rate limit.");
    // What is left of the budget may be more than nothing, and less than the query costs.
    let left = ("x-ratelimit-remaining", "3".to_owned());
    let cases = [
        (used_up, ("x-ratelimit-reset", reset.clone()), 1_200, false),
        (behaviour, ("retry-after", "90".to_owned()), 90, true),
        (behaviour, ("x-ratelimit-reset", reset), 60, true),
    ];
    for ((kind, message), named, seconds, all) in cases {
        let headers = vec![left.clone(), named];
        let errors = json!({ "errors": [{ "type": kind, "message": message }] });
        let said = Say::Json(200, headers, errors);
        let server = Server::start(move |seen| on(seen, "graphql", || Some(said.clone()))).await;
        let shop = repo();
        let count = || server.client.open_conversations(&shop, number());
        let after = TimeDelta::seconds(seconds);
        assert_eq!(count().await, Err(Refused::Limited { after }));
        server.clock.advance(after - TimeDelta::seconds(1));
        let after = TimeDelta::seconds(1);
        assert_eq!(count().await, Err(Refused::Limited { after }));
        assert_eq!(
            server.lines().len(),
            1,
            "{message}: none goes out meanwhile"
        );
        // A limit on behaviour is about every call, a used-up budget about queries.
        let read = server.client.commit(&repo(), &tip()).await;
        let kept_back = matches!(read, Err(Refused::Limited { .. }));
        assert_eq!(kept_back, all, "{read:?}");
        server.clock.advance(after);
        let before = server.lines().len();
        assert!(count().await.is_err());
        assert_eq!(server.lines().len(), before + 1, "it is asked again");
    }
}

#[tokio::test]
async fn a_suspended_or_removed_installation_is_told_as_such() {
    for (code, words) in [
        (403, "This installation has been suspended"),
        (404, "Not Found"),
    ] {
        let server =
            Server::start(move |seen| is_mint(seen).then(|| status(code, words)).flatten()).await;
        let outcome = server.client.commit(&repo(), &tip()).await;
        assert_eq!(outcome, Err(Refused::Inactive(words.into())));
        assert_eq!(server.lines().len(), 0);
    }
}

#[tokio::test]
async fn a_wrong_clock_is_named_when_the_apps_assertion_is_refused() {
    let server = Server::start(|_| {
        let date = http_date(noon() - TimeDelta::minutes(11));
        Some(Say::Json(
            401,
            vec![("date", date)],
            json!({ "message": "'Expiration time' claim is too far in the future" }),
        ))
    })
    .await;
    let refused = app_is(&server).await.expect_err("refused").to_string();
    insta::assert_snapshot!(refused, @"GitHub refused the credentials (401): 'Expiration time' claim is too far in the future; this machine's clock is 660 s ahead of GitHub's: set it right");
}

#[tokio::test]
async fn no_secret_is_in_debug_or_in_any_error() {
    let server =
        Server::start(|seen| (!is_mint(seen)).then_some(Say::Text(200, "ghs_ but no JSON"))).await;
    let mut texts = vec![];
    let refused = server
        .client
        .commit(&repo(), &tip())
        .await
        .expect_err("unreadable");
    texts.extend([refused.to_string(), format!("{refused:?}")]);
    texts.push(format!("{:?}", server.client));

    let odd = Server::start(|seen| {
        is_mint(seen).then(|| Say::Json(201, Vec::new(), json!({ "token": ["ghs_secret"] })))
    })
    .await;
    let refused = odd
        .client
        .commit(&repo(), &tip())
        .await
        .expect_err("unreadable");
    texts.extend([refused.to_string(), format!("{refused:?}")]);

    let bad = Server::start(|seen| {
        is_mint(seen).then(|| Say::Json(201, Vec::new(), json!({ "token": "ghs_\nsecret" })))
    })
    .await;
    let refused = bad
        .client
        .commit(&repo(), &tip())
        .await
        .expect_err("unsendable");
    texts.extend([refused.to_string(), format!("{refused:?}")]);
    for text in texts {
        assert!(!text.contains("secret"), "{text}");
        assert!(!text.contains("PRIVATE"), "{text}");
    }
    insta::assert_debug_snapshot!(
        format!("{:?}", server.client).split("127.0.0.1").next(),
        @r#"
    Some(
        "Client { api: \"http://",
    )
    "#
    );
}
