//! Every example delivery that GitHub's own SDK publishes is understood or explained.
//!
//! The examples are the npm package `@octokit/webhooks-examples`: real payloads of all events, old and
//! new. They are looked for in the folder named by `COUNTERSIGN_WEBHOOK_EXAMPLES`, else under
//! `target/npm`, where npm puts them when they are not there yet.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "support/http.rs"]
#[allow(dead_code, reason = "other tests use the rest of the client")]
mod http_client;
#[path = "support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use axum::body::Body;
use axum::http::Request;
use countersign::domain::event::{Event, read};
use countersign::domain::memory::{Meaning, meaning};
use countersign::domain::model::AppId;
use countersign::simulator::world::Delivery;
use http_client::Http;
use serde_json::{Value, json};
use stage::Stage;

const PACKAGE: &str = "@octokit/webhooks-examples";
const VERSION: &str = "7.6.1";
/// What the package holds in this version.
const EXAMPLES: usize = 329;

/// The events the App subscribes to of which something follows.
const USED: [&str; 15] = [
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "merge_group",
    "ping",
    "pull_request",
    "pull_request_review",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
    "workflow_run",
];

/// The package's folder; fetched once, however many tests ask.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(folder);

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("COUNTERSIGN_WEBHOOK_EXAMPLES") {
        return folder.into();
    }
    let prefix = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/npm");
    let folder = prefix.join("node_modules").join(PACKAGE);
    if !folder.exists() {
        let done = Command::new("npm")
            .args([
                "install",
                "--no-save",
                "--no-audit",
                "--no-fund",
                "--prefix",
            ])
            .arg(&prefix)
            .arg(format!("{PACKAGE}@{VERSION}"))
            .status()
            .expect(
                "npm is needed to fetch the examples; or name them in COUNTERSIGN_WEBHOOK_EXAMPLES",
            );
        assert!(done.success(), "npm could not fetch {PACKAGE}: {done}");
    }
    folder
}

/// Every example with its event's name, as it was published.
fn published() -> Vec<(String, Value)> {
    let file = FOLDER.join("api.github.com/index.json");
    let text = std::fs::read_to_string(&file).expect("the package holds its index");
    let events: Vec<Value> = serde_json::from_str(&text).expect("the index is JSON");
    let mut examples = Vec::new();
    for event in events {
        let name = event["name"].as_str().expect("an event has a name");
        for example in event["examples"].as_array().expect("an event has examples") {
            examples.push((name.to_owned(), example.clone()));
        }
    }
    examples
}

/// Every example as an App receives it. Some were recorded by a repository's own webhook; an App's
/// deliveries name the installation.
fn examples() -> Vec<(String, Value)> {
    let mut examples = published();
    for (_, example) in &mut examples {
        let body = example.as_object_mut().expect("a delivery is an object");
        body.entry("installation").or_insert(json!({"id": 1}));
    }
    examples
}

fn understood(name: &str, example: &Value) -> Event {
    read(name, example.to_string().as_bytes())
        .unwrap_or_else(|unreadable| panic!("{unreadable}: {example}"))
}

fn follows(event: &Event) -> Meaning {
    let own_app = AppId::new(1).expect("not zero");
    meaning(
        event,
        own_app,
        "2030-01-01T00:00:00Z".parse().expect("a date"),
    )
}

#[tokio::test]
async fn every_example_posted_to_a_running_server_is_accepted_and_ends_processed_or_explained() {
    let stage = Stage::new().await;
    let url = stage.github.webhook().expect("the stage's server listens");
    let http = Http::new();
    let before = stage.store.inbox().await.unwrap();
    for (nth, (event, payload)) in published().iter().enumerate() {
        let delivery = Delivery {
            id: 1_000_000 + nth as u64,
            guid: format!("00000000-0000-4000-8000-{nth:012}"),
            event: event.clone(),
            action: None,
            installation: None,
            repo: None,
            payload: payload.clone(),
            at: stage.clock.now(),
        };
        let signed = stage.github.signed(&delivery);
        let mut request = Request::post(&url);
        for (name, value) in &signed.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(signed.body)).unwrap();
        let (status, _, answer) = http.send(request).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(status, 202, "{event}: {answer}");
    }
    stage.settle().await;
    let after = stage.store.inbox().await.unwrap();
    let dead = stage.store.dead_letters(1_000).await.unwrap();
    assert_eq!(after.waiting, 0);
    assert_eq!(after.done - before.done, EXAMPLES as u64, "{dead:#?}");
    assert_eq!(dead.len(), 0, "{dead:#?}");
}

#[test]
fn every_example_is_understood_or_explained() {
    let examples = examples();
    assert_eq!(examples.len(), EXAMPLES);
    for (name, example) in &examples {
        let event = understood(name, example);
        if let Event::Other { why } = &event {
            assert!(!why.is_empty());
        }
        assert!(!follows(&event).note.is_empty(), "{name}: {event:?}");
    }
}

#[test]
fn every_example_of_an_event_in_use_means_something_unless_it_is_about_a_tag() {
    let mut seen = std::collections::BTreeMap::new();
    for (name, example) in examples() {
        if !USED.contains(&name.as_str()) {
            continue;
        }
        match understood(&name, &example) {
            Event::Other { why } => {
                let expected = match name.as_str() {
                    "push" => example["ref"]
                        .as_str()
                        .is_some_and(|name| name.starts_with("refs/tags/")),
                    // Pinned, assigned and the like: what changes no dispatch.
                    "issues" => why.contains("is not known here"),
                    _ => false,
                };
                assert!(expected, "{name}: {why}");
            }
            _ => *seen.entry(name).or_insert(0) += 1,
        }
    }
    insta::assert_debug_snapshot!(seen, @r#"
    {
        "check_run": 9,
        "check_suite": 9,
        "installation": 7,
        "installation_repositories": 3,
        "issue_comment": 9,
        "issues": 14,
        "merge_group": 2,
        "ping": 4,
        "pull_request": 29,
        "pull_request_review": 4,
        "pull_request_review_thread": 3,
        "push": 2,
        "repository": 13,
        "status": 4,
        "workflow_run": 5,
    }
    "#);
}

#[test]
fn what_happened_in_a_repository_always_teaches_the_repository() {
    for (name, example) in examples() {
        let event = understood(&name, &example);
        let changes = follows(&event).changes;
        if example["repository"].is_object() && !matches!(event, Event::Other { .. } | Event::Ping)
        {
            assert!(!changes.is_empty(), "{name}: {event:?}");
        }
    }
}
