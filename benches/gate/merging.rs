//! What a merged pull request costs GitHub, and how long the last gate's delivery takes to become a
//! merge request.

use std::time::{Duration, Instant};

use countersign::simulator::PullHandle;

use crate::deliveries::Running;
use crate::place::{Kind, Place};
use crate::stage::{POLICY, Stage};
use crate::{millis, quantile, run};

const CHECKS: usize = 20;
const MERGES: usize = 40;

pub fn measure() -> Vec<String> {
    run(async {
        let mut lines = calls().await;
        for kind in Kind::ALL {
            lines.extend(latency(kind).await);
        }
        lines
    })
}

/// A life in which every check reports by itself, and is looked at.
async fn calls() -> Vec<String> {
    let names: Vec<String> = (0..CHECKS).map(|nth| format!("check {nth}")).collect();
    let policy = POLICY.replace("[unit]", &format!("[{}]", names.join(", ")));
    let stage = Stage::with_policy(&policy).await;
    stage.github.clear_calls();
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    for name in &names {
        let actions = stage.github.actions();
        actions.pass(&stage.shop, &head, name).unwrap();
        stage.settle().await;
    }
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.after(5).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    let calls = stage.github.calls();
    let mut lines = vec![format!(
        "calls to GitHub for a merged pull request with {CHECKS} checks: {}",
        calls.len()
    )];
    lines.extend(calls.iter().map(|call| {
        let path = call.path.split('?').next().unwrap_or_default();
        format!("    {} {path}", call.method)
    }));
    lines
}

async fn latency(kind: Kind) -> Option<String> {
    let place = Place::new(kind)?;
    let stage = Stage::build(POLICY, place.store().await, 1).await;
    let running = Running::several(&stage, &place, kind.servers()).await;
    let mut times = Vec::new();
    for nth in 0..MERGES {
        let text = format!("pub fn start(runs: &mut Vec<u32>) {{\n    runs.push({nth});\n}}\n");
        let branch = format!("agent/{nth}");
        let edits = countersign::simulator::Edits::write("src/start.rs", text);
        stage
            .agent
            .push(&stage.shop, &branch, "Change", edits)
            .unwrap();
        let pull = stage
            .agent
            .open_pull(&stage.shop, &branch, "main", "Change")
            .unwrap();
        let head = pull.head().unwrap();
        let block = stage.evidence(&pull).block();
        let codex = &stage.codex;
        codex
            .report(&stage.shop, &head, "verification", "success", &block)
            .unwrap();
        stage.github.deliver_all().await;
        running[0]
            .until(
                &stage,
                |check| check.title.contains("Waiting for checks"),
                &head,
            )
            .await;
        times.push(merge(&stage, &pull).await);
    }
    for server in running {
        server.stop().await;
    }
    let median = millis(quantile(&mut times, 0.5));
    let worst = millis(quantile(&mut times, 0.99));
    Some(format!(
        "{}: from the last gate's delivery to the merge request: median {median}, 99 % {worst}",
        kind.name()
    ))
}

/// The last gate reports; how long until GitHub is asked to merge.
async fn merge(stage: &Stage, pull: &PullHandle) -> Duration {
    let before = stage.merge_calls();
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    actions.pass(&stage.shop, &head, "unit").unwrap();
    let began = Instant::now();
    let posting = stage.github.deliver_all();
    let merging = async {
        while stage.merge_calls() == before {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        began.elapsed()
    };
    tokio::join!(posting, merging).1
}
