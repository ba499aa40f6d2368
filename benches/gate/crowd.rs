//! What grows with the number of open pull requests, and what does not: a delivery with its pass, the pages,
//! the first look at the metrics, and letting go of what is old.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use countersign::domain::model::{HeadSha, PullNumber};
use countersign::store::Versioned;
use countersign::sweep::retention::Retention;

use crate::server::get;
use crate::stage::Stage;
use crate::{millis, run};

const OPEN: [u64; 4] = [10, 1_000, 10_000, 100_000];
const DELIVERIES: u32 = 300;
const A_MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

pub fn measure() -> Vec<String> {
    OPEN.into_iter().map(|open| run(among(open))).collect()
}

async fn among(open: u64) -> String {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
    surround(&stage, number, open).await;
    let delivery = one_delivery(&stage, &pull.head().unwrap()).await;
    let served = stage.serve_without_address().await;
    let address = served.strip_prefix("http://").unwrap().parse().unwrap();
    let dashboard = looked(address, "/").await;
    let list = looked(address, "/api/v1/repos/acme/shop/pulls").await;
    let metrics = looked(address, "/metrics").await;
    let began = Instant::now();
    let retention = Retention::new(stage.store.clone(), stage.clock.clone(), A_MONTH);
    retention.prune().await.unwrap();
    format!(
        "among {open} open pull requests: a delivery and its pass {}, the dashboard {}, a list {}, the first look at the metrics {}, letting go of nothing {}",
        millis(delivery),
        millis(dashboard),
        millis(list),
        millis(metrics),
        millis(began.elapsed()),
    )
}

/// From the delivery's arrival to the end of the pass that it wakes; the mean of many.
async fn one_delivery(stage: &Stage, head: &str) -> Duration {
    let mut took = Duration::ZERO;
    for _ in 0..DELIVERIES {
        let actions = stage.github.actions();
        actions.pass(&stage.shop, head, "lint").unwrap();
        // Posting is the simulator's work, and measured by itself.
        stage.github.deliver_all().await;
        let began = Instant::now();
        let made = stage.app.settle(100).await.unwrap();
        took += began.elapsed();
        assert!(made > 0);
    }
    took / DELIVERIES
}

async fn looked(address: SocketAddr, path: &str) -> Duration {
    let began = Instant::now();
    let page = get(address, path).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{path}: {page:.200}");
    began.elapsed()
}

/// Remembers others like it, each with a head of its own.
async fn surround(stage: &Stage, number: PullNumber, open: u64) {
    let repo = stage.repo_id();
    let pattern = stage.store.pull(repo, number).await.unwrap().value;
    let head = pattern.pull.as_ref().unwrap().head.clone();
    let of_head = stage.store.head(repo, &head).await.unwrap().value;
    for nth in 1..open {
        let other = PullNumber::new(1_000_000 + nth).unwrap();
        let head = HeadSha::parse(&format!("{nth:040x}")).unwrap();
        let mut memory = pattern.clone();
        let pull = memory.pull.as_mut().unwrap();
        pull.number = other;
        pull.head = head.clone();
        let memory = Versioned {
            value: memory,
            version: 0,
        };
        let written = stage.store.remember_pull(repo, other, &memory).await;
        assert!(written.unwrap());
        let of_head = Versioned {
            value: of_head.clone(),
            version: 0,
        };
        stage
            .store
            .remember_head(repo, &head, &of_head)
            .await
            .unwrap();
    }
}
