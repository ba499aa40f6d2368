//! `/metrics`, read as a scraper would.

use std::collections::BTreeMap;

use axum::body::Body;
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
    let again = scrape(&stage).await;
    assert_eq!(again.value(by_us), 1.0, "the ledger is counted once");
    let head = stage.open_other("other").await.head().unwrap();
    for series in again.series.keys() {
        assert!(
            !series.contains(&head) && !series.contains("number="),
            "{series}"
        );
    }
    insta::assert_snapshot!(again.families());
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
