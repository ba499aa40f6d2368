//! The real binary as a service manager treats it: signals, and what they must not lose.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "support/http.rs"]
#[allow(dead_code, reason = "other tests use the rest of the client")]
mod http_client;
#[path = "serving/keeping.rs"]
mod keeping;
#[path = "support/relay.rs"]
mod relay;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use axum::body::Body;
use countersign::clock::Clock;
use countersign::domain::memory::Confirm;
use countersign::domain::model::{Key, RepoId};
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, Options, Permission, Simulator};
use countersign::store::Store as _;
use countersign::store::sqlite::Sqlite;
use hmac::{Hmac, Mac};
use http::{Request, StatusCode};
use http_client::Http;
use relay::{Line, Relay};
use rustix::process::{Pid, Signal, kill_process};
use sha2::Sha256;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

/// A running `countersign serve`, in a folder of its own with a `.env` file.
struct Server {
    folder: tempfile::TempDir,
    github: Simulator,
    app_id: u64,
    api_url: String,
    address: SocketAddr,
    process: Child,
    log: Lines<BufReader<ChildStderr>>,
    /// What of the log was read.
    heard: String,
    deliveries: u32,
}

impl Server {
    async fn start(secrets: &str) -> Self {
        Self::start_with(secrets, |_| ()).await
    }

    /// Starts it over a GitHub on which something is already.
    async fn start_with(secrets: &str, prepare: impl FnOnce(&Simulator)) -> Self {
        let mut server = Self::begun(secrets, 0, prepare).await;
        server.says("swept").await;
        server
    }

    /// Starts it as the App whose number is so much larger than that of the one GitHub knows, and waits for
    /// nothing.
    async fn begun(secrets: &str, off: u64, prepare: impl FnOnce(&Simulator)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let github = Simulator::new(Options {
            clock: Clock::System,
            seed: 1,
        })
        .unwrap();
        let api_url = github.serve().await.unwrap();
        prepare(&github);
        let app = github.app();
        let (app_id, key) = (app.app_id + off, app.private_key_pem.clone());
        std::fs::write(folder.path().join("key.pem"), key).unwrap();
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        write_env(folder.path(), app_id, &api_url, secrets);
        let mut process = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args([
                "serve",
                "--listen",
                &address.to_string(),
                "--log-format",
                "json",
            ])
            .current_dir(folder.path())
            .env_clear()
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        Self {
            folder,
            github,
            app_id,
            api_url,
            address,
            process,
            log,
            heard: String::new(),
            deliveries: 0,
        }
    }

    /// Waits for a line of the log.
    async fn says(&mut self, text: &str) -> String {
        while let Some(line) = self.log.next_line().await.unwrap() {
            if line.contains(text) {
                return line;
            }
            self.heard.push_str(&line);
            self.heard.push('\n');
        }
        let heard = &self.heard;
        panic!("the server ended without saying {text:?}:\n{heard}");
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    fn rewrite(&self, secrets: &str) {
        write_env(self.folder.path(), self.app_id, &self.api_url, secrets);
    }

    /// Tells the server to stop while it holds a delivery of which the end is missing: the connection, and
    /// that end.
    async fn stopped_with_half_a_delivery(&mut self) -> (TcpStream, String) {
        let request = delivery(1, "first");
        let (begin, end) = request.split_at(request.len() - 5);
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        // An answer on a later connection shows that the earlier one was taken.
        self.deliveries = 1;
        assert_eq!(self.deliver("first").await, StatusCode::ACCEPTED);
        self.signal(Signal::TERM);
        self.says("stopping").await;
        (stream, end.to_owned())
    }

    /// Delivers something new, signed with a secret.
    async fn deliver(&mut self, secret: &str) -> StatusCode {
        self.deliveries += 1;
        let request = delivery(self.deliveries, secret);
        let request = request.replace("HOST", &self.address.to_string());
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        status(&mut stream).await
    }

    /// Whether it says that it is ready, and all that it says.
    async fn ready(&self) -> (StatusCode, String) {
        let request = Request::get(format!("http://{}/readyz", self.address));
        let request = request.body(Body::empty()).unwrap();
        let (status, _, body) = Http::new().send(request).await.unwrap();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    async fn look(&self, token: &str) -> StatusCode {
        let request = Request::get(format!("http://{}/", self.address))
            .header("authorization", format!("Bearer {token}"))
            .body(Body::empty())
            .unwrap();
        Http::new().send(request).await.unwrap().0
    }
}

fn write_env(folder: &Path, app_id: u64, api_url: &str, secrets: &str) {
    let text =
        format!("COUNTERSIGN_APP_ID={app_id}\nCOUNTERSIGN_GITHUB_API_URL={api_url}\n{secrets}\n");
    std::fs::write(folder.join(".env"), text).unwrap();
}

/// A request that closes its connection, whole.
fn delivery(number: u32, secret: &str) -> String {
    let body = format!("{{\"zen\":\"{number}\"}}");
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    format!(
        "POST /webhook HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\
         Content-Type: application/json\r\nX-GitHub-Event: ping\r\n\
         X-GitHub-Delivery: 00000000-0000-4000-8000-{number:012}\r\n\
         X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn status(stream: &mut TcpStream) -> StatusCode {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let code = answer.split(' ').nth(1).expect("an answer");
    code.parse().unwrap()
}

const FIRST: &str = "COUNTERSIGN_PRIVATE_KEY_PATH=key.pem\nCOUNTERSIGN_WEBHOOK_SECRET=first\n\
                     COUNTERSIGN_API_TOKEN=one";

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_changed_without_a_restart_and_without_a_delivery_lost() {
    let mut server = Server::start(FIRST).await;
    assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    assert_eq!(server.deliver("second").await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.look("one").await, StatusCode::OK);

    server.rewrite(
        "COUNTERSIGN_PRIVATE_KEY_PATH=key.pem\nCOUNTERSIGN_WEBHOOK_SECRET=second\n\
         COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS=first\nCOUNTERSIGN_API_TOKEN=two",
    );
    server.signal(Signal::HUP);
    server.says("were read again").await;
    assert_eq!(server.deliver("second").await, StatusCode::ACCEPTED);
    assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    assert_eq!(server.look("two").await, StatusCode::OK);
    assert_eq!(server.look("one").await, StatusCode::UNAUTHORIZED);

    let last = "COUNTERSIGN_WEBHOOK_SECRET=second\nCOUNTERSIGN_API_TOKEN=two";
    server.rewrite(&format!("COUNTERSIGN_PRIVATE_KEY_PATH=key.pem\n{last}"));
    server.signal(Signal::HUP);
    server.says("were read again").await;
    assert_eq!(server.deliver("first").await, StatusCode::UNAUTHORIZED);
    assert_eq!(server.deliver("second").await, StatusCode::ACCEPTED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_does_not_wait_for_github_to_know_the_key_that_stands_already() {
    let mut server = Server::start(FIRST).await;
    let unknown = Fault::Refuse(401, "Bad credentials");
    let plan = FaultPlan::none().with("GET", "/app", 1_000, unknown);
    server.github.set_faults(plan);
    // The same key in another form.
    let path = server.folder.path().join("key.pem");
    let key = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, key.replace('\n', "\r\n")).unwrap();
    server.rewrite(&FIRST.replace("first", "second"));
    server.signal(Signal::HUP);
    let line = server.says("read again").await;
    assert!(line.contains("the private key is the same"), "{line}");
    assert_eq!(server.deliver("second").await, StatusCode::ACCEPTED);
    assert_eq!(server.deliver("first").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_keys_with_anything_wrong_leave_the_old_ones_and_the_log_says_why() {
    let mut server = Server::start(FIRST).await;
    let second = FIRST.replace("first", "second");
    for (wrong, why) in [
        (second.replace("key.pem", "gone.pem"), "gone.pem"),
        (second.replace("=second", "=\" second\""), "white space"),
        ("COUNTERSIGN_API_TOKEN=one".to_owned(), "is not set"),
        (format!("{second}\nno line of this kind"), ".env"),
    ] {
        server.rewrite(&wrong);
        server.signal(Signal::HUP);
        let line = server.says("those that stand stay").await;
        assert!(line.contains(why), "{line}");
        assert!(!line.contains("second"), "no secret in {line}");
        assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    }
    std::fs::write(server.folder.path().join("key.pem"), "no key").unwrap();
    server.rewrite(&second);
    server.signal(Signal::HUP);
    let line = server.says("those that stand stay").await;
    assert!(line.contains("private key"), "{line}");
    assert_eq!(server.deliver("second").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_in_hand_is_stored_when_the_server_is_told_to_stop() {
    let mut server = Server::start(FIRST).await;
    let (mut stream, end) = server.stopped_with_half_a_delivery().await;
    stream.write_all(end.as_bytes()).await.unwrap();
    assert_eq!(status(&mut stream).await, StatusCode::ACCEPTED);
    let ended = server.process.wait().await.unwrap();
    assert_eq!(ended.code(), Some(0));
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_told_to_stop_is_alive_and_not_ready() {
    let mut server = Server::start(FIRST).await;
    let mut asked = Vec::new();
    for path in ["/readyz", "/healthz"] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        asked.push(stream);
    }
    // An answer on a later connection shows that the earlier ones were taken.
    assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    server.signal(Signal::TERM);
    server.says("stopping").await;
    // It was told when it listens no more.
    while TcpStream::connect(server.address).await.is_ok() {}
    let mut answers = Vec::new();
    for mut stream in asked {
        stream.write_all(b"\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answers.push(answer);
    }
    assert!(answers[0].starts_with("HTTP/1.1 503"), "{}", answers[0]);
    assert!(answers[0].contains("told to stop"), "{}", answers[0]);
    assert!(answers[1].starts_with("HTTP/1.1 200"), "{}", answers[1]);
    assert_eq!(server.process.wait().await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_the_server_while_a_request_hangs() {
    let mut server = Server::start(FIRST).await;
    let (_stream, _) = server.stopped_with_half_a_delivery().await;
    server.signal(Signal::TERM);
    server.says("at once").await;
    let ended = server.process.wait().await.unwrap();
    assert_eq!(ended.code(), Some(4));
}

/// A repository with one open pull request.
fn open_pull(github: &Simulator) {
    open_pull_beside(github, &[]);
}

/// The same in a repository with these files besides.
fn open_pull_beside(github: &Simulator, files: &[(&str, &str)]) {
    let alice = github.user("alice");
    let files = [&[("README.md", "# Shop\n")], files].concat();
    let shop = github.repo("acme/shop", &files).unwrap();
    shop.allow(&alice, Permission::Admin).unwrap();
    shop.install_app(&alice).unwrap();
    let edits = Edits::write("README.md", "# Our shop\n");
    alice.push(&shop, "ours", "Say whose", edits).unwrap();
    alice.open_pull(&shop, "ours", "main", "Say whose").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_pass_logs_says_which_pass_it_was() {
    let mut server = Server::start_with(FIRST, open_pull).await;
    let line = loop {
        let line = server.says("a pass was made").await;
        if line.contains("\"pull:") {
            break line;
        }
    };
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let span = &line["span"];
    assert_eq!(span["name"], "pass");
    assert_eq!(span["number"], 1);
    assert_eq!(span["attempt"], 0);
    assert_eq!(span["outcome"], "done");
    assert_eq!(span["head"].as_str().unwrap().len(), 40);
    assert!(span["key"].as_str().unwrap().ends_with(":1"));
    assert!(span["calls"].as_u64().unwrap() > 0);
    assert!(span["installation"].as_u64().unwrap() > 0);
    assert!(span["seconds"].as_f64().unwrap() > 0.0);
}

/// Deliveries that came while no server ran are lost, and GitHub sends none of them again.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_looks_at_everything_when_it_starts() {
    let policy = "version: 1\ngates: { checks: { required: [unit] } }\n";
    let policy = (".github/countersign.yml", policy);
    let prepare = |github: &Simulator| open_pull_beside(github, &[policy]);
    let mut server = Server::start_with(FIRST, prepare).await;
    while !server.says("a pass was made").await.contains("\"pull:") {}
    let world = server.github.lock();
    let repo = world.repos.values().next().unwrap();
    let runs = repo.check_runs.values();
    let ours = runs.filter(|run| run.app == world.our_app);
    assert_eq!(ours.count(), 1, "it is judged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_github_does_not_know_is_not_ready_and_says_why_and_keeps_what_it_is_sent() {
    let mut server = Server::begun(FIRST, 1, |_| ()).await;
    let line = server.says("not ready").await;
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    insta::assert_snapshot!(
        line["refused"].as_str().unwrap(),
        @"GitHub knows no such thing (404): Integration not found"
    );
    insta::assert_snapshot!(
        line["hint"].as_str().unwrap(),
        @"GitHub knows no App of this id: is COUNTERSIGN_APP_ID right?"
    );
    let (status, said) = server.ready().await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let reason = "GitHub has not accepted the App's credentials yet";
    assert!(said.contains(reason), "{said}");
    assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_tells_what_stands_still_on_a_server() {
    let mut server = Server::start(FIRST).await;
    server.signal(Signal::TERM);
    assert_eq!(server.process.wait().await.unwrap().code(), Some(0));
    let alarms = async || {
        let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(["doctor", "--json"])
            .current_dir(server.folder.path())
            .env_clear()
            .output()
            .await
            .unwrap();
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let sections = found["sections"].as_array().unwrap();
        let alarms = sections.iter().find(|one| one["title"] == "Alarms");
        alarms.map(|alarms| alarms["checks"].clone())
    };
    assert_eq!(alarms().await, None);
    let file = server.folder.path().join("countersign.db");
    let url = format!("sqlite://{}", file.display());
    let work = (Key::Repo(RepoId::new(1).unwrap()), Confirm::IfNeeded);
    let an_hour_ago = Clock::System.now() - chrono::Duration::hours(1);
    let store = Sqlite::open(&url).await.unwrap();
    store.wake(&[work], an_hour_ago).await.unwrap();
    let told = alarms().await.unwrap();
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told[0]["name"], "stalled");
    assert_eq!(told[0]["state"], "warning");
    assert!(
        told[0]["seen"]
            .as_str()
            .unwrap()
            .starts_with("No pass has taken up the work")
    );
    assert!(
        told[0]["mend"]
            .as_str()
            .unwrap()
            .starts_with("See that the server runs")
    );
}

/// A collector that keeps what it is sent, and what the server is to be told of it.
#[cfg(feature = "otlp")]
async fn collector() -> (String, tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>) {
    let (sent, received) = tokio::sync::mpsc::unbounded_channel();
    let take = async move |body: axum::body::Bytes| sent.send(body.to_vec()).unwrap();
    let routes = axum::Router::new().route("/v1/traces", axum::routing::post(take));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let told = format!("{FIRST}\nOTEL_EXPORTER_OTLP_ENDPOINT=http://{address}");
    (told, received)
}

#[cfg(feature = "otlp")]
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_gets_the_spans_of_deliveries_and_passes_the_last_ones_when_the_server_stops() {
    let (told, mut received) = collector().await;
    let mut server = Server::start_with(&told, open_pull).await;
    server.says("a pass was made").await;
    assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    server.signal(Signal::TERM);
    assert!(server.process.wait().await.unwrap().success());
    let mut spans = Vec::new();
    while let Ok(body) = received.try_recv() {
        spans.extend(body);
    }
    let spans = String::from_utf8_lossy(&spans);
    for said in [
        "service.name",
        "delivery",
        "00000000-0000-4000-8000-000000000001",
        "ping",
        "pass",
        "outcome",
        "installation",
    ] {
        assert!(spans.contains(said), "{said} is missing: {spans:?}");
    }
}

#[cfg(not(feature = "otlp"))]
#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_the_collectors_protocol_says_so_where_a_collector_is_named() {
    let told = format!("{FIRST}\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9");
    let server = Server::start(&told).await;
    assert!(server.heard.contains("--features otlp"), "{}", server.heard);
}

/// Gives an order to the database that tests may use.
async fn order(url: &str, statement: String) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection.execute(AssertSqlSafe(statement)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_postgresql_is_out_of_reach_is_not_ready_until_it_is_back() {
    let Ok(database) = std::env::var("COUNTERSIGN_TEST_POSTGRES") else {
        let all = std::env::var_os("COUNTERSIGN_TEST_ALL").is_some();
        assert!(!all, "set COUNTERSIGN_TEST_POSTGRES");
        return;
    };
    let schema = format!("serving_{}", uuid::Uuid::new_v4().simple());
    order(&database, format!("create schema {schema}")).await;
    let (before, after) = database.split_once('@').expect("a user");
    let (place, name) = after.split_once('/').expect("a database");
    let relay = Relay::to(place.to_owned()).await;
    let url = format!(
        "{before}@{}/{name}?options=-csearch_path%3D{schema}",
        relay.address
    );
    let mut server = Server::start(&format!("{FIRST}\nCOUNTERSIGN_DATABASE_URL={url}")).await;
    assert_eq!(server.ready().await.0, StatusCode::OK);
    for line in [Line::Cut, Line::Silent] {
        relay.set(line);
        let (status, told) = server.ready().await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{line:?}: {told}");
        assert!(told.contains("the database does not answer"), "{told}");
        assert!(!told.contains(&schema), "nothing of the database: {told}");
        relay.set(Line::Open);
        let (status, told) = server.ready().await;
        assert_eq!(status, StatusCode::OK, "after {line:?}: {told}");
        assert_eq!(server.deliver("first").await, StatusCode::ACCEPTED);
    }
    server.signal(Signal::TERM);
    server.process.wait().await.unwrap();
    order(&database, format!("drop schema {schema} cascade")).await;
}
