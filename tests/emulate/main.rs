//! The product against a GitHub emulator that nobody here wrote: npm `emulate`.
//!
//! Users verify by review, checks count by name, the policy stands in the repository, and webhooks are
//! the emulator's own. What the emulator lacks (commit statuses, a branch's rules, the repositories of
//! an installation, the pull requests of a commit) a shim in front of it answers as a GitHub without
//! any would; everything else goes through untouched.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

#[path = "../support/http.rs"]
mod http_client;
mod peer;

use std::sync::Arc;

use countersign::app::{App, Parts};
use countersign::clock::Clock;
use countersign::domain::model::AppId;
use countersign::github::auth::AppKey;
use countersign::github::{Client, ClientOptions, Timeouts};
use countersign::store::Store;
use countersign::store::sqlite::Sqlite;
use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use peer::{Peer, packages};

const POLICY: &str = "\
version: 1
agents:
  authors: [acme-agent]
  vendor: anthropic
  model: claude-opus
verifiers:
  codex: { user: codex, vendor: openai, model: gpt-5-codex }
gates:
  checks:
    required: [unit]
  second_verifier:
    count: 1
  mutation_check:
    critical: ['src/**']
merge:
  when: ready
";

/// The evidence a verifier reports for a head: tests ran, and the one changed line was shown to be
/// tested.
fn evidence(base: &Value, head: &str, tree: &str) -> String {
    let document = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "acme/shop", "digest": { "gitCommit": head } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": {
            "result": "approved",
            "base": { "ref": "main", "sha": base },
            "context": "exec-1",
            "sandbox": { "executes": true, "writes": true },
            "tests": [{ "command": "cargo test", "executed": 3, "passed": 3, "failed": 0,
                        "skipped": 0, "exit_code": 0, "against": [] }],
            "mutation": {
                "tool": "by hand", "baseline": { "executed": 3, "exit_code": 0 },
                "mutants": [{ "id": "m1", "path": "src/start.rs", "start_line": 1, "end_line": 1,
                              "kind": "revert_hunk", "status": "killed",
                              "killed_by": ["it_starts"] }],
                "restored_tree": tree,
            },
        },
    });
    format!("Verified.\n\n```countersign\n{document}\n```\n")
}

/// The server under test, in this process, on a port of its own.
struct Server {
    store: Arc<dyn Store>,
    stop: watch::Sender<bool>,
    running: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(listener: TcpListener, api_url: &str, key: &str) -> Self {
        let client = Client::new(ClientOptions {
            api_url: api_url.to_owned(),
            app_id: AppId::new(peer::APP_ID).unwrap(),
            key: AppKey::read(key).unwrap(),
            clock: Clock::System,
            timeouts: Timeouts::default(),
        });
        let client = Arc::new(client.unwrap());
        let store: Arc<dyn Store> = Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
        let app = App::new(Parts {
            store: store.clone(),
            reads: client.clone(),
            writes: client,
            clock: Clock::System,
            own_app: AppId::new(peer::APP_ID).unwrap(),
            webhook_secrets: vec![peer::SECRET.into()],
            api_token: None,
            addresses: countersign::web::Addresses::default(),
            sweep_interval: std::time::Duration::from_secs(3600),
            shadow: false,
            meters: Default::default(),
        });
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(app.run(listener, stopped));
        Self {
            store,
            stop,
            running,
        }
    }

    async fn stop(self) {
        self.stop.send(true).unwrap();
        self.running.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_countersigned_and_merged_on_an_emulated_github() {
    let Some(packages) = packages() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = format!("http://{}/webhook", listener.local_addr().unwrap());
    let peer = Peer::start(&packages, &webhook).await;
    let alice = async |method, path: &str, body| peer.call(method, path, "tok_alice", body).await;
    let agent = async |method, path: &str, body| peer.call(method, path, "tok_agent", body).await;
    alice(
        Method::PUT,
        "/contents/.github/countersign.yml",
        Some(peer::file("policy", POLICY, "main")),
    )
    .await;
    let server = Server::start(listener, &peer.shim_url, &peer.key_pem).await;

    // An agent opens a pull request; its check goes green.
    let main = alice(Method::GET, "/git/ref/heads/main", None).await["object"]["sha"].clone();
    let branch = json!({ "ref": "refs/heads/agent/one", "sha": main });
    agent(Method::POST, "/git/refs", Some(branch)).await;
    let start = peer::file("start", "pub fn start() {}\n", "agent/one");
    agent(Method::PUT, "/contents/src/start.rs", Some(start)).await;
    let pull = json!({ "title": "Start", "head": "agent/one", "base": "main", "body": "" });
    let pull = agent(Method::POST, "/pulls", Some(pull)).await;
    let head = pull["head"]["sha"].as_str().unwrap().to_owned();
    let run =
        json!({ "name": "unit", "head_sha": head, "status": "completed", "conclusion": "success" });
    agent(Method::POST, "/check-runs", Some(run)).await;
    let page = peer
        .our_check(&head, |run| run["output"]["title"].is_string())
        .await;
    assert_eq!(page["status"], "in_progress", "{page:#}");
    assert_eq!(peer.pull(1).await["merged"], false);

    // The agent reviews itself: evidence from nobody the policy names.
    let commit = alice(Method::GET, &format!("/git/commits/{head}"), None).await;
    let tree = commit["tree"]["sha"].as_str().unwrap().to_owned();
    let review = json!({ "event": "COMMENT", "body": evidence(&main, &head, &tree) });
    agent(Method::POST, "/pulls/1/reviews", Some(review.clone())).await;
    // The second verifier reviews with the same words: now they count.
    peer.call(Method::POST, "/pulls/1/reviews", "tok_codex", Some(review))
        .await;
    let merged = peer
        .until(
            "it is merged",
            || peer.pull(1),
            |pull| pull["merged"] == true,
        )
        .await;

    let landed = merged["merge_commit_sha"].as_str().unwrap();
    let landed = alice(Method::GET, &format!("/git/commits/{landed}"), None).await;
    let parents: Vec<_> = landed["parents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| &p["sha"])
        .collect();
    assert_eq!(
        parents,
        [&main, &Value::from(head.clone())],
        "base tip and the cleared head"
    );
    let page = peer
        .our_check(&head, |run| run["conclusion"] == "success")
        .await;
    assert!(
        page["output"]["title"].as_str().unwrap().contains("Ready"),
        "{page:#}"
    );
    peer.until(
        "the landing is on record",
        || landings(&server.store),
        |kinds| {
            kinds
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(|kind| kind == "landed"))
        },
    )
    .await;
    server.stop().await;
}

/// The kinds of the ledger's entries so far.
async fn landings(store: &Arc<dyn Store>) -> Value {
    let entries = store.ledger(None, 0, 1_000).await.unwrap();
    entries.iter().map(|entry| json!(entry.kind)).collect()
}
