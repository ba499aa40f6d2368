//! `/metrics`, read as a scraper would.

use std::collections::BTreeMap;

use axum::body::Body;
use countersign::simulator::faults::{Fault, FaultPlan};
use http::{Request, StatusCode};
use tower::ServiceExt as _;

use crate::stage::Stage;

/// A scrape, taken apart: every series and its value.
struct Scraped {
    text: String,
    series: BTreeMap<String, f64>,
}

impl Scraped {
    fn value(&self, series: &str) -> f64 {
        *self
            .series
            .get(series)
            .unwrap_or_else(|| panic!("{series} is not in:\n{}", self.text))
    }

    /// Names, kinds and help texts.
    fn families(&self) -> String {
        let mut lines: Vec<_> = self
            .text
            .lines()
            .filter(|line| line.starts_with('#'))
            .collect();
        lines.sort_by_key(|line| line.split(' ').nth(2));
        lines.join("\n")
    }
}

async fn scrape(stage: &Stage) -> Scraped {
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let response = stage.app.routes().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await;
    let text = String::from_utf8(bytes.unwrap().to_vec()).unwrap();
    let mut series = BTreeMap::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect(line);
        let value = value.parse().expect(line);
        assert_eq!(series.insert(name.to_owned(), value), None, "twice: {name}");
    }
    Scraped { text, series }
}

#[tokio::test]
async fn a_scraper_sees_a_pull_request_go_from_delivery_to_merge() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.settle().await;
    let open = scrape(&stage).await;
    let waiting = r#"countersign_pull_requests{repository="acme/shop",outcome="waiting"}"#;
    assert_eq!(open.value(waiting), 1.0);
    let agents = r#"countersign_agent_pull_requests{repository="acme/shop"}"#;
    assert_eq!(open.value(agents), 1.0);
    let verifier = r#"countersign_gates{gate="second_verifier",state="waiting"}"#;
    assert_eq!(open.value(verifier), 1.0);
    let opened = r#"countersign_deliveries_total{event="pull_request",answer="stored"}"#;
    assert!(open.value(opened) >= 1.0);

    stage.clear(&pull).await;
    stage.settle().await;
    assert!(stage.merged(&pull));
    stage.after(60).await;
    let merged = scrape(&stage).await;
    let by_us = r#"countersign_merges_total{by="countersign"}"#;
    assert_eq!(merged.value(by_us), 1.0);
    assert_eq!(merged.value(waiting), 0.0, "an old number does not stay");
    assert!(merged.value(r#"countersign_passes_total{about="pull",outcome="done"}"#) >= 2.0);
    assert!(merged.value(r#"countersign_github_requests_total{method="PUT",status="200"}"#) >= 1.0);
    assert_eq!(merged.value("countersign_inbox_oldest_age_seconds"), 0.0);
    assert_eq!(
        merged.value(r#"countersign_inbox_deliveries{state="waiting"}"#),
        0.0
    );
    assert!(merged.value("countersign_database_bytes") > 10_000.0);
    let installation = installation(&stage);
    let calls = |class: &str, answer: &str| {
        let labels = format!(r#"installation="{installation}",class="{class}",answer="{answer}""#);
        merged.value(&format!("countersign_github_calls_total{{{labels}}}"))
    };
    assert!(calls("merge", "ok") >= 2.0, "the merge and its reads");
    assert!(calls("check", "ok") >= 2.0);
    assert!(calls("read", "ok") >= 2.0);
    let again = scrape(&stage).await;
    assert_eq!(again.value(by_us), 1.0, "the ledger is counted once");
    let head = stage.open_other("other").await.head().unwrap();
    for series in again.series.keys() {
        assert!(
            !series.contains(&head) && !series.contains("number="),
            "{series}"
        );
    }
    let document = include_str!("../../deploy/README.md");
    for line in again.text.lines() {
        if let Some(family) = line.strip_prefix("# TYPE countersign_") {
            let name = family.split(' ').next().unwrap();
            assert!(
                document.contains(&format!("`countersign_{name}`")),
                "deploy/README.md lacks {name}"
            );
        }
    }
    insta::assert_snapshot!(again.families());
}

fn installation(stage: &Stage) -> u64 {
    let calls = stage.github.calls();
    let minting = calls
        .iter()
        .find_map(|call| call.path.strip_suffix("/access_tokens"));
    let id = minting.and_then(|path| path.rsplit('/').next());
    id.unwrap().parse().unwrap()
}

#[tokio::test]
async fn refusals_to_merge_are_counted_by_their_reason_and_once() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.github.base_is_modified(2);
    stage.clear(&pull).await;
    for _ in 0..10 {
        stage.after(30).await;
    }
    assert!(stage.merged(&pull));
    let moved = r#"countersign_merge_refusals_total{reason="base_moved"}"#;
    for _ in 0..2 {
        assert_eq!(scrape(&stage).await.value(moved), 2.0);
    }
    let refused = format!(
        r#"countersign_github_calls_total{{installation="{}",class="merge",answer="refused"}}"#,
        installation(&stage)
    );
    assert_eq!(scrape(&stage).await.value(&refused), 2.0);
}

#[tokio::test]
async fn calls_that_were_limited_failed_or_kept_back_are_told_apart() {
    let stage = Stage::new().await;
    let plan = FaultPlan::none()
        .with("POST", "/check-runs", 1, Fault::status(502))
        .at("POST", "/check-runs", 2, Fault::SecondaryLimit(90));
    stage.github.set_faults(plan);
    let pull = stage.open_pull().await;
    stage.after(2).await;
    stage.unit_passes(&pull).await;
    let scraped = scrape(&stage).await;
    let installation = installation(&stage);
    let mut told = Vec::new();
    for answer in ["failed", "limited", "kept_back"] {
        let labels = format!(r#"installation="{installation}",class="check",answer="{answer}""#);
        let series = format!("countersign_github_calls_total{{{labels}}}");
        told.push(scraped.value(&series) as u32);
    }
    assert_eq!(told[..2], [1, 1]);
    assert!(told[2] >= 1, "the limit keeps the next one back: {told:?}");
}

#[tokio::test]
async fn whoever_scrapes_a_server_with_a_token_needs_it() {
    let stage = Stage::new().await;
    let address = stage.serve_pages("a long token").await;
    let http = crate::http::Http::new();
    let ask = |token: Option<&str>| {
        let mut request = Request::get(format!("{address}/metrics"));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        http.send(request.body(Body::empty()).unwrap())
    };
    let status = |answer: Option<(StatusCode, _, _)>| answer.unwrap().0;
    assert_eq!(status(ask(None).await), StatusCode::UNAUTHORIZED);
    assert_eq!(status(ask(Some("another")).await), StatusCode::UNAUTHORIZED);
    assert_eq!(status(ask(Some("a long token")).await), StatusCode::OK);
}
