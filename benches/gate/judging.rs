//! Judging snapshots, and passes over remembered facts: the product alone, without a call to GitHub.

use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign::domain::facts::Snapshot;
use countersign::domain::memory::Confirm;
use countersign::domain::model::{Key, PullNumber};
use countersign::domain::verdict::decide;
use countersign::gather::Gather;

use crate::place::{Kind, Place};
use crate::stage::{self, POLICY, Stage};
use crate::{per_second, run};

const AT_LEAST: Duration = Duration::from_secs(2);
const PULLS: usize = 50;
/// As many as the server makes.
const AT_ONCE: usize = 8;

pub fn measure() -> Vec<String> {
    run(async {
        let stage = Stage::new().await;
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
        let snapshot = snapshot(&stage, number).await;
        let mut lines = vec![judge(&snapshot, 10), judge(&snapshot, 10_000)];
        for kind in Kind::ALL {
            lines.extend(passes(kind).await);
        }
        lines
    })
}

async fn snapshot(stage: &Stage, number: PullNumber) -> Snapshot {
    let reads = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    let own_app = countersign::domain::model::AppId::new(stage.github.app().app_id).unwrap();
    let gather = Gather::new(stage.store.clone(), reads, stage.clock.clone(), own_app);
    let kept = gather.kept(stage.repo_id(), number).await.unwrap().unwrap();
    gather.confirmed(&kept).await.unwrap().snapshot
}

fn judge(snapshot: &Snapshot, open: usize) -> String {
    let snapshots = vec![snapshot.clone(); open];
    let (began, mut judged) = (Instant::now(), 0);
    while began.elapsed() < AT_LEAST {
        for snapshot in &snapshots {
            black_box(decide(black_box(snapshot)));
        }
        judged += open as u64;
    }
    let rate = per_second(judged, began.elapsed());
    format!("verdicts on {open} open pull requests: {rate}")
}

/// Passes over remembered facts, as servers make them: several at once.
async fn passes(kind: Kind) -> Option<String> {
    let place = Place::new(kind)?;
    let stage = Stage::build(POLICY, place.store().await, 1).await;
    let mut keys = Vec::new();
    for nth in 0..PULLS {
        let pull = stage.open_other(&format!("agent/{nth}")).await;
        let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
        keys.push((Key::Pull(stage.repo_id(), number), Confirm::IfNeeded));
    }
    let mut apps = Vec::new();
    for _ in 0..kind.servers() {
        let store = place.store().await;
        apps.push(stage::product(&stage.github, &stage.api_url, store, stage.clock.clone()).await);
    }
    stage.github.clear_calls();
    let (began, mut made) = (Instant::now(), 0);
    while began.elapsed() < AT_LEAST {
        stage.store.wake(&keys, stage.clock.now()).await.unwrap();
        let passes = apps.iter().flat_map(|app| (0..AT_ONCE).map(move |_| app));
        let passes = passes.map(|app| async move {
            let mut made = 0;
            while app.step().await.unwrap().is_some() {
                made += 1;
            }
            made
        });
        made += futures::future::join_all(passes).await.iter().sum::<u64>();
    }
    let rate = per_second(made, began.elapsed());
    let calls = stage.github.calls().len();
    Some(format!(
        "{}: passes over remembered facts: {rate} ({calls} calls to GitHub)",
        kind.name()
    ))
}
