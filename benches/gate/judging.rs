//! Judging snapshots, and passes over remembered facts: the product alone, without a call to GitHub.

use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign::domain::facts::Snapshot;
use countersign::domain::memory::Confirm;
use countersign::domain::model::{Key, PullNumber};
use countersign::domain::verdict::decide;
use countersign::gather::Gather;

use crate::stage::{self, Stage};
use crate::{per_second, runtime};

const AT_LEAST: Duration = Duration::from_secs(2);

pub fn measure() -> Vec<String> {
    runtime().block_on(async {
        let stage = Stage::new().await;
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
        let snapshot = snapshot(&stage, number).await;
        let mut lines = vec![judge(&snapshot, 10), judge(&snapshot, 10_000)];
        lines.push(passes(&stage, number).await);
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

async fn passes(stage: &Stage, number: PullNumber) -> String {
    let key = Key::Pull(stage.repo_id(), number);
    stage.github.clear_calls();
    let (began, mut made) = (Instant::now(), 0);
    while began.elapsed() < AT_LEAST {
        let wake = [(key.clone(), Confirm::IfNeeded)];
        stage.store.wake(&wake, stage.clock.now()).await.unwrap();
        assert!(stage.app.step().await.unwrap().is_some());
        made += 1;
    }
    let rate = per_second(made, began.elapsed());
    let calls = stage.github.calls().len();
    format!("passes over remembered facts, one after another: {rate} ({calls} calls to GitHub)")
}
