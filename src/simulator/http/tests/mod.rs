//! What GitHub's face shows, asked over real HTTP.

mod auth;
mod checks;
mod deliveries;
mod faults;
mod lists;
mod reading;
mod registering;
mod writing;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use crate::clock::Clock;
use crate::simulator::faults::{Fate, Fault, FaultPlan, When};
use crate::simulator::world::*;
use crate::simulator::{Actor, Edits, Options, PullHandle, RepoHandle, Simulator};

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// A shop, its people, our App installed, and a caller with a token.
struct Shop {
    github: Simulator,
    clock: Clock,
    alice: Actor,
    agent: Actor,
    repo: RepoHandle,
    url: String,
    token: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The address of another page.
    fn link(&self, rel: &str) -> Option<String> {
        let wanted = format!("rel=\"{rel}\"");
        let mut links = self.header("link").split(", ");
        let link = links.find(|link| link.ends_with(&wanted))?;
        let (address, _) = link.strip_prefix('<')?.split_once('>')?;
        Some(address.to_owned())
    }

    fn length(&self) -> usize {
        self.body.as_array().unwrap().len()
    }
}

async fn shop() -> Shop {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = Clock::manual(start);
    let options = Options {
        clock: clock.clone(),
        seed: 5,
    };
    let github = Simulator::new(options).unwrap();
    let url = github.serve().await.unwrap();
    let (alice, agent) = (github.user("alice"), github.user("acme-agent"));
    let files = [
        ("poem.txt", POEM),
        (".github/workflows/verify.yml", "on: {}\n"),
    ];
    let repo = github.repo("acme/shop", &files).unwrap();
    repo.allow(&alice, Permission::Admin).unwrap();
    repo.allow(&agent, Permission::Write).unwrap();
    repo.install_app(&alice).unwrap();
    github.lock().take_deliveries();
    let mut shop = Shop {
        client: Client::builder(TokioExecutor::new()).build_http(),
        token: String::new(),
        github,
        clock,
        alice,
        agent,
        repo,
        url,
    };
    shop.token = shop.mint().await.body["token"].as_str().unwrap().to_owned();
    shop.github.clear_calls();
    shop
}

impl Shop {
    async fn send(&self, request: http::request::Builder, body: Value) -> Option<Answer> {
        let bytes = match body {
            Value::Null => Bytes::new(),
            body => Bytes::from(body.to_string()),
        };
        let request = request.header("user-agent", "a test");
        let request = request.body(Full::new(bytes)).unwrap();
        let response = self.client.request(request).await.ok()?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        })
    }

    /// A call with some credential; the path may be a whole address.
    async fn try_as(&self, who: &str, method: &str, path: &str, body: Value) -> Option<Answer> {
        let address = match path.starts_with("http") {
            true => path.to_owned(),
            false => format!("{}{path}", self.url),
        };
        let method: Method = method.parse().unwrap();
        let request = Request::builder().method(method).uri(address);
        let request = request.header("authorization", format!("Bearer {who}"));
        self.send(request, body).await
    }

    async fn ask_as(&self, who: &str, method: &str, path: &str, body: Value) -> Answer {
        self.try_as(who, method, path, body)
            .await
            .expect("an answer")
    }

    /// A call about the shop, with the installation's token.
    async fn ask(&self, method: &str, rest: &str, body: Value) -> Answer {
        let path = match rest.starts_with("http") {
            true => rest.to_owned(),
            false => format!("/repos/acme/shop{rest}"),
        };
        self.ask_as(&self.token, method, &path, body).await
    }

    async fn get(&self, rest: &str) -> Answer {
        self.ask("GET", rest, Value::Null).await
    }

    /// A JWT whose times are given in seconds from now.
    fn jwt(&self, issued: i64, expires: i64) -> String {
        let now = self.clock.now().timestamp();
        let iss = self.github.app().app_id.to_string();
        self.sign(&json!({ "iat": now + issued, "exp": now + expires, "iss": iss }))
    }

    fn sign(&self, claims: &Value) -> String {
        let key = EncodingKey::from_rsa_pem(self.github.app().private_key_pem.as_bytes());
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), claims, &key.unwrap()).unwrap()
    }

    async fn as_app(&self, method: &str, path: &str) -> Answer {
        self.ask_as(&self.jwt(-60, 540), method, path, Value::Null)
            .await
    }

    async fn mint(&self) -> Answer {
        let id = self.repo.installation().unwrap();
        self.as_app("POST", &format!("/app/installations/{id}/access_tokens"))
            .await
    }

    /// The agent changes a word of the poem and opens a pull request.
    fn change(&self, branch: &str, from: &str, to: &str) -> PullHandle {
        let edits = Edits::write("poem.txt", POEM.replace(from, to));
        self.agent.push(&self.repo, branch, to, edits).unwrap();
        self.agent
            .open_pull(&self.repo, branch, "main", to)
            .unwrap()
    }

    /// Something that listens for deliveries: answers each with a status, and keeps what came.
    async fn listen(&self, status: u16) -> Received {
        let received = Received::default();
        let keep = received.clone();
        let routes =
            axum::Router::new().fallback(move |headers: HeaderMap, body: Bytes| async move {
                keep.0.lock().unwrap().push((headers, body));
                http::StatusCode::from_u16(status).unwrap()
            });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        self.github
            .set_webhook(format!("http://{}/webhook", listener.local_addr().unwrap()));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        received
    }
}

#[derive(Clone, Default)]
struct Received(std::sync::Arc<std::sync::Mutex<Vec<(HeaderMap, Bytes)>>>);

impl Received {
    /// `X-GitHub-Delivery` of each, in order.
    fn guids(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        let guid = |(headers, _): &(HeaderMap, Bytes)| {
            headers["x-github-delivery"].to_str().unwrap().to_owned()
        };
        all.iter().map(guid).collect()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}
