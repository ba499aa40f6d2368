//! Whether a delivery costs the same among ten open pull requests and among ten thousand.

use std::time::{Duration, Instant};

use countersign::domain::model::{HeadSha, PullNumber};
use countersign::store::Versioned;

use crate::run;
use crate::stage::Stage;

const DELIVERIES: u32 = 300;

pub fn measure() -> Vec<String> {
    run(async {
        let (few, many) = (one_delivery(10).await, one_delivery(10_000).await);
        vec![format!(
            "a delivery and the pass that follows: {few:.1?} among 10 open pull requests, {many:.1?} among 10,000 ({:.2} times)",
            many.as_secs_f64() / few.as_secs_f64()
        )]
    })
}

/// From the delivery's arrival to the end of the pass that it wakes; the mean of many.
async fn one_delivery(open: u64) -> Duration {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
    surround(&stage, number, open).await;
    let head = pull.head().unwrap();
    let mut took = Duration::ZERO;
    for _ in 0..DELIVERIES {
        let actions = stage.github.actions();
        actions.pass(&stage.shop, &head, "lint").unwrap();
        // Posting is the simulator's work, and measured by itself.
        stage.github.deliver_all().await;
        let began = Instant::now();
        let made = stage.app.settle(100).await.unwrap();
        took += began.elapsed();
        assert!(made > 0);
    }
    took / DELIVERIES
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
