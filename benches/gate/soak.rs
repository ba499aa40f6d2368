//! What the release program holds while two hundred thousand deliveries go through it: its memory, its open
//! files, its database.
//!
//! In rounds. Between two of them every pull request gets a new commit, the inbox is drained, and what is
//! kept of deliveries is made a month older, so that the server lets go of it as if months had passed: after
//! some rounds the database must stop growing. Only ages are changed from outside.

use std::time::{Duration, Instant};

use countersign::simulator::Edits;
use countersign::simulator::http::Limits;

use crate::deliveries::{self, Posting};
use crate::place::{Kind, Place};
use crate::run;
use crate::server::{Server, get};
use crate::stage::{POLICY, Stage};

const ROUNDS: u64 = 10;
const A_ROUND: u64 = 20_000;
const CONNECTIONS: usize = 16;
const A_MONTH: i64 = 31 * 24 * 60 * 60 * 1_000_000;
/// What takes longer than this has gone wrong.
const PATIENCE: Duration = Duration::from_secs(300);

pub fn measure() -> Vec<String> {
    let kinds = [Kind::Sqlite, Kind::Postgres { servers: 1 }];
    kinds
        .into_iter()
        .filter_map(|kind| run(soak(kind)))
        .flatten()
        .collect()
}

async fn soak(kind: Kind) -> Option<Vec<String>> {
    let place = Place::new(kind)?;
    let stage = Stage::build(POLICY, place.store().await, 1).await;
    let requests = deliveries::requests(&stage, 10 * 1_024).await;
    // The program lives by the real clock.
    stage.clock.advance(chrono::Utc::now() - stage.clock.now());
    stage.github.set_limits(Limits {
        hourly: 100_000_000,
        ..Limits::default()
    });
    let mut server = Server::start(&stage, &place, "30s");
    let address = server.address;
    until(|| async move {
        let said = get(address, "/readyz").await.unwrap_or_default();
        said.starts_with("HTTP/1.1 200")
    })
    .await;
    stage
        .github
        .set_webhook(format!("http://{}/webhook", address));
    let post = Posting::new(requests, &[address]);
    let mut lines = vec![format!("{}:", kind.name())];
    let began = Instant::now();
    for round in 1..=ROUNDS {
        let times = post
            .all(CONNECTIONS, move |begun| begun < round * A_ROUND)
            .await;
        stage.github.clear_calls();
        commits(&stage, round).await;
        until(|| drained(&stage)).await;
        assert!(server.lives(), "the server ended");
        let (kept, ahead) = place.size();
        lines.push(format!(
            "after {} ({:.0} s): resident {} MB, {} open files, database {kept} MB and {ahead} MB ahead of it",
            round * A_ROUND,
            began.elapsed().as_secs_f64(),
            server.resident(),
            server.open_files(),
        ));
        assert!(!times.is_empty());
        // Some more came by GitHub.
        age(&place, kind, round * A_ROUND * 2).await;
    }
    let inbox = stage.store.inbox().await.unwrap();
    lines.push(format!(
        "at the end: {} wait, {} are dead letters, {} ids are kept",
        inbox.waiting, inbox.dead, inbox.done
    ));
    Some(lines)
}

/// Every pull request gets another commit, and GitHub tells of it.
async fn commits(stage: &Stage, round: u64) {
    for nth in 0..deliveries::PULLS {
        let edits = Edits::write("src/other.rs", format!("pub const ROUND: u64 = {round};\n"));
        let branch = format!("agent/{nth}");
        stage
            .agent
            .push(&stage.shop, &branch, "Another round", edits)
            .unwrap();
    }
    stage.github.deliver_all().await;
}

async fn drained(stage: &Stage) -> bool {
    let figures = stage.store.figures().await.unwrap();
    stage.store.inbox().await.unwrap().waiting == 0 && figures.leased == 0
}

async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < PATIENCE, "it takes too long");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Makes every delivery a month older; in slices, as nothing that the server does is one large transaction.
async fn age(place: &Place, kind: Kind, last: u64) {
    const SLICE: u64 = 1_000;
    let statement = "update deliveries set at = at - $1 where seq > $2 and seq <= $2 + $3";
    let slices = (0..=last).step_by(usize::try_from(SLICE).unwrap());
    let slices = slices.map(|from| (i64::try_from(from).unwrap(), i64::try_from(SLICE).unwrap()));
    match kind {
        Kind::Sqlite => {
            let database = sqlx::SqlitePool::connect(&place.url()).await.unwrap();
            for (from, many) in slices {
                let query = sqlx::query(statement).bind(A_MONTH).bind(from).bind(many);
                query.execute(&database).await.unwrap();
            }
        }
        Kind::Postgres { .. } => {
            let database = sqlx::PgPool::connect(&place.url()).await.unwrap();
            for (from, many) in slices {
                let query = sqlx::query(statement).bind(A_MONTH).bind(from).bind(many);
                query.execute(&database).await.unwrap();
            }
        }
    }
}
