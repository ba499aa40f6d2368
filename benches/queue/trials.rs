//! What the gate asks of its queue, tried on `graphile_worker`: told, not asserted, so that a later version
//! may answer better.

use std::sync::Arc;
use std::time::Duration;

use chrono::{TimeDelta, Utc};
use graphile_worker::sql::complete_job::complete_job;
use graphile_worker::sql::get_job::get_job;
use graphile_worker::sql::task_identifiers::{TaskDetails, get_tasks_details};
use graphile_worker::{Job, JobKeyMode, TaskHandler};
use sqlx::Row;

use crate::cluster::Cluster;
use crate::measures::fresh;
use crate::seen::Seen;
use crate::theirs::{Pass, SCHEMA, Theirs};
use crate::{Queue, Side};

fn yes(held: bool) -> &'static str {
    if held { "yes" } else { "no" }
}

pub async fn tell(cluster: &Cluster) {
    for mode in [JobKeyMode::Replace, JobKeyMode::PreserveRunAt] {
        let (soon_stays, sooner_wins) = times(cluster, &mode).await;
        println!(
            "{mode}: a time stays when a later one comes: {}; gives way to an earlier one: {}",
            yes(soon_stays),
            yes(sooner_wins)
        );
    }
    let kept = stronger(cluster).await;
    println!("the stronger confirmation wins: {}", yes(kept));
    for side in Side::ALL {
        let (passes, overlaps) = meanwhile(cluster, side).await;
        println!(
            "five wakes during a pass: {passes} passes, {overlaps} of them overlapping ({})",
            side.name()
        );
    }
    let (same, left) = overtaken(cluster).await;
    println!("an overtaken pass and its successor hold the same job id: {same}");
    println!("what the overtaken one completed is still there for the successor: {left}");
}

/// The time that a waiting job has after two wakes.
async fn times(cluster: &Cluster, mode: &JobKeyMode) -> (bool, bool) {
    let theirs = Theirs::open(&fresh(cluster).await, true, false).await;
    let (soon, late) = (Utc::now(), Utc::now() + TimeDelta::hours(1));
    let mut ends = Vec::new();
    for (number, first, second) in [(1, soon, late), (2, late, soon)] {
        for at in [first, second] {
            let mut spec = theirs.spec(number);
            spec.run_at = Some(at);
            spec.job_key_mode = Some(mode.clone());
            let job = Pass { number, confirm: 0 };
            theirs.utils.add_job(job, spec).await.unwrap();
        }
        let key = format!("pull:1:{number}");
        let row = sqlx::query("select run_at from graphile_worker._private_jobs where key = $1")
            .bind(key)
            .fetch_one(theirs.pool())
            .await
            .unwrap();
        let at: chrono::DateTime<Utc> = row.get("run_at");
        ends.push(at < soon + TimeDelta::minutes(1));
    }
    (ends[0], ends[1])
}

/// A waiting pass was to look closely; then a wake comes that asks for less.
async fn stronger(cluster: &Cluster) -> bool {
    let theirs = Theirs::open(&fresh(cluster).await, true, false).await;
    for confirm in [2, 0] {
        let job = Pass { number: 1, confirm };
        theirs.utils.add_job(job, theirs.spec(1)).await.unwrap();
    }
    let row = sqlx::query("select payload::text from graphile_worker._private_jobs")
        .fetch_one(theirs.pool())
        .await
        .unwrap();
    let kept: Pass = serde_json::from_str(row.get("payload")).unwrap();
    kept.confirm == 2
}

async fn meanwhile(cluster: &Cluster, side: Side) -> (usize, usize) {
    let queue = side.open(&fresh(cluster).await).await;
    let seen = Arc::new(Seen::taking(Duration::from_millis(500)));
    let _servers = [
        queue.server(seen.clone()).await,
        queue.server(seen.clone()).await,
    ];
    queue.wake(&[1]).await;
    seen.begun.notified().await;
    for _ in 0..5 {
        queue.wake(&[1]).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    (seen.passes(), seen.overlaps())
}

/// A server stands still, counts as dead, and goes on after another has taken its job: it says that it is
/// done with it, while the other has only begun.
async fn overtaken(cluster: &Cluster) -> (&'static str, &'static str) {
    let theirs = Theirs::open(&fresh(cluster).await, true, false).await;
    let pool = theirs.pool();
    theirs.wake(&[1]).await;
    let mut db = pool.acquire().await.unwrap();
    let names = vec![Pass::IDENTIFIER.to_owned()];
    let details = get_tasks_details(&mut *db, SCHEMA, names).await.unwrap();
    let first = take(&theirs, &details, "still").await;
    sqlx::query("select graphile_worker.recover_dead_worker_jobs(array['still'])")
        .execute(pool)
        .await
        .unwrap();
    let second = take(&theirs, &details, "successor").await;
    complete_job(&mut *db, &first, "still", SCHEMA)
        .await
        .unwrap();
    let row = sqlx::query("select count(*) from graphile_worker._private_jobs")
        .fetch_one(pool)
        .await
        .unwrap();
    let left: i64 = row.get(0);
    (yes(first.id() == second.id()), yes(left == 1))
}

async fn take(theirs: &Theirs, details: &TaskDetails, server: &str) -> Job {
    let mut db = theirs.pool().acquire().await.unwrap();
    let taken = get_job(&mut *db, details, SCHEMA, server, &[], None).await;
    taken.unwrap().expect("a job waits")
}
