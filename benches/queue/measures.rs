//! Wakes added, passes made, how soon a wake becomes a pass, how soon a killed server's pass is made again.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::cluster::Cluster;
use crate::ours::Ours;
use crate::seen::Seen;
use crate::theirs::Theirs;
use crate::{Queue, Side};

/// How long one rate is measured.
const FOR: Duration = Duration::from_secs(2);
/// How often every side takes its turn.
const TURNS: usize = 3;
/// Who adds at the same time.
const ADDING: usize = 8;
/// What takes longer than this never comes.
const PATIENCE: Duration = Duration::from_secs(60);
/// After so much silence a server counts as dead, on both sides.
const SILENCE: Duration = Duration::from_secs(10);

/// A database of its own for every measure.
pub async fn fresh(cluster: &Cluster) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = format!("queue_{}", MADE.fetch_add(1, Ordering::Relaxed));
    let mut db = PgConnection::connect(&cluster.url()).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("create database {name}"));
    sqlx::raw_sql(create).execute(&mut db).await.unwrap();
    cluster.url().replace("/postgres", &format!("/{name}"))
}

/// Which pull request the nth wake is for.
type Numbered = fn(u64) -> u64;

#[allow(clippy::cast_precision_loss, reason = "counts are small")]
fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Of rates measured in turns, the middle one, with the least and the most.
fn told(mut rates: Vec<f64>) -> String {
    rates.sort_by(f64::total_cmp);
    let (least, most) = (rates[0], rates[rates.len() - 1]);
    format!("{:.0}/s ({least:.0} to {most:.0})", rates[rates.len() / 2])
}

/// Has every side take its turn, several times over, and tells what came of it.
async fn in_turns(what: &str, sides: &[Side], measure: impl AsyncFn(Side) -> f64) {
    let mut rates = vec![Vec::new(); sides.len()];
    for _ in 0..TURNS {
        for (side, rates) in sides.iter().zip(&mut rates) {
            rates.push(measure(*side).await);
        }
    }
    for (side, rates) in sides.iter().zip(rates) {
        println!("{what}: {} ({})", told(rates), side.name());
    }
}

/// One transaction after the other, by several at once.
pub async fn adding(cluster: &Cluster) {
    let cases: [(&str, u64, Numbered); 3] = [
        ("wakes of one pull request", 1, |_| 1),
        ("wakes of many pull requests", 1, |nth| nth),
        ("wakes of many, 32 in a transaction", 32, |nth| nth),
    ];
    for (what, at_once, number) in cases {
        in_turns(what, &Side::ALL[..3], async |side| {
            let queue: Arc<dyn Queue> = side.open(&fresh(cluster).await).await.into();
            let (next, began) = (Arc::new(AtomicU64::new(1)), Instant::now());
            let adding = (0..ADDING).map(|_| {
                let (queue, next) = (queue.clone(), next.clone());
                tokio::spawn(async move {
                    while began.elapsed() < FOR {
                        let first = next.fetch_add(at_once, Ordering::Relaxed);
                        let numbers: Vec<u64> = (first..first + at_once).map(number).collect();
                        queue.wake(&numbers).await;
                    }
                })
            });
            for one in adding.collect::<Vec<_>>() {
                one.await.unwrap();
            }
            let added = usize::try_from(next.load(Ordering::Relaxed)).unwrap() - 1;
            rate(added, began.elapsed())
        })
        .await;
    }
}

/// So many pull requests wait; servers start and make their passes.
pub async fn draining(cluster: &Cluster) {
    for (waiting, servers) in [(500, 1), (10_000, 1), (10_000, 3)] {
        let what = format!("{waiting} waiting, {servers} servers");
        in_turns(&what, &Side::ALL, async |side| {
            let url = fresh(cluster).await;
            let queue = side.open_polling(&url, Duration::from_millis(5)).await;
            let numbers: Vec<u64> = (1..=waiting).collect();
            for some in numbers.chunks(500) {
                queue.wake(some).await;
            }
            let seen = Arc::new(Seen::default());
            let mut running = Vec::new();
            let began = Instant::now();
            for _ in 0..servers {
                running.push(queue.server(seen.clone()).await);
            }
            let all = usize::try_from(waiting).unwrap();
            while seen.passes() < all && began.elapsed() < FOR * 3 {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            drop(running);
            assert_eq!(seen.overlaps(), 0, "every key waited once");
            rate(
                seen.passes(),
                seen.last().map_or(PATIENCE, |last| last - began),
            )
        })
        .await;
    }
}

/// One server rests; a pull request is woken.
pub async fn latency(cluster: &Cluster) {
    for side in Side::ALL {
        let queue = side.open(&fresh(cluster).await).await;
        let seen = Arc::new(Seen::default());
        let _server = queue.server(seen.clone()).await;
        let mut times = Vec::new();
        for number in 0..200 {
            // The first ones wait for it to come up.
            tokio::time::sleep(Duration::from_millis(if number == 0 { 1_000 } else { 20 })).await;
            let woken = Instant::now();
            queue.wake(&[number + 1]).await;
            tokio::time::timeout(PATIENCE, seen.begun.notified())
                .await
                .expect("a pass begins");
            times.push(woken.elapsed());
        }
        times.sort_unstable();
        println!(
            "from a wake to its pass: median {:.1} ms, 99 % {:.1} ms ({})",
            times[100].as_secs_f64() * 1_000.0,
            times[198].as_secs_f64() * 1_000.0,
            side.name()
        );
    }
}

/// Opens a side so that a server which is silent for [`SILENCE`] counts as dead.
async fn impatient(side: &str, url: &str) -> Box<dyn Queue> {
    if side == Side::Ours.name() {
        Box::new(Ours::open(url).await.leasing_for(SILENCE))
    } else {
        Box::new(Theirs::open(url, true, false).await.dead_after(SILENCE))
    }
}

/// A child: takes what waits, says so, and holds it until it is killed.
pub async fn hang(side: &str, url: &str) {
    let queue = impatient(side, url).await;
    let seen = Arc::new(Seen::taking(Duration::from_secs(3600)));
    let _server = queue.server(seen.clone()).await;
    seen.begun.notified().await;
    println!("taken");
    std::future::pending::<()>().await;
}

/// A server is killed in the middle of a pass while another rests.
pub async fn recovery(cluster: &Cluster) {
    for side in [Side::Ours, Side::Theirs] {
        let url = fresh(cluster).await;
        let queue = impatient(side.name(), &url).await;
        queue.wake(&[1]).await;
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["hang", side.name(), &url])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while lines.next_line().await.unwrap().expect("it takes the key") != "taken" {}
        let seen = Arc::new(Seen::default());
        let _server = queue.server(seen.clone()).await;
        child.kill().await.unwrap();
        let killed = Instant::now();
        let again = tokio::time::timeout(PATIENCE, seen.begun.notified()).await;
        println!(
            "from kill -9 to the pass again, dead after {SILENCE:?} of silence: {} ({})",
            again.map_or_else(
                |_| "never".into(),
                |()| format!("{:.1} s", killed.elapsed().as_secs_f64())
            ),
            side.name()
        );
    }
}
