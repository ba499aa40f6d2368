//! Three servers on one PostgreSQL, and what happens to servers and databases.
//!
//! The real binary, three times, behind a front that hands deliveries out in turn. While pull requests are
//! opened, checked, verified, held and rejected, one server is killed, one stands still for longer than its
//! leases last and then goes on, and the database is started anew. In the end every pull request must be where
//! it belongs, with one merge call, one check run and one answer, and no delivery lost.
//!
//! It runs against the machine's clock: leases of another process last as long as they last. Whoever waits
//! here waits for a state, for as many looks as are surely enough. Without optimisation it would take too long
//! and is left out; `COUNTERSIGN_PULLS` and `COUNTERSIGN_DELIVERIES` make it larger. Without PostgreSQL it is
//! left out, unless `COUNTERSIGN_TEST_ALL` is set.
#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

mod cluster;
mod front;
#[path = "../support/http.rs"]
#[allow(dead_code, reason = "other tests use the rest of the client")]
mod http_client;
mod server;
#[path = "../support/stage.rs"]
#[allow(dead_code, reason = "other tests use the rest of the stage")]
mod stage;
mod town;

use std::process::Command;
use std::time::{Duration, Instant};

use cluster::Cluster;
use countersign::store::Store;
use countersign::store::postgres::Postgres;
use front::Front;
use rustix::process::Signal;
use server::Server;
use town::Town;

/// How often the end is looked for, a second apart, before it counts as never coming.
const LOOKS: usize = 600;

fn number(name: &str, otherwise: usize) -> usize {
    let told = std::env::var(name).ok();
    told.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// What happens to the machines, at which tenth of the deliveries.
const HAPPENINGS: [(usize, Happening); 4] = [
    (2, Happening::Killed),
    (4, Happening::Stopped),
    (6, Happening::DatabaseRestarted),
    (8, Happening::Replaced),
];

#[derive(Debug, Clone, Copy)]
enum Happening {
    Killed,
    Stopped,
    DatabaseRestarted,
    Replaced,
}

/// All machines there are.
struct Machines {
    cluster: Cluster,
    front: Front,
    servers: Vec<Server>,
}

impl Machines {
    async fn add(&mut self, town: &Town) {
        let server = Server::start(town, &self.cluster.url()).await;
        self.front.add(server.address);
        self.servers.push(server);
    }

    async fn meet(&mut self, happening: Happening, town: &Town) {
        match happening {
            Happening::Killed => self.servers[0].kill(),
            Happening::Stopped => self.servers[1].signal(Signal::STOP),
            Happening::DatabaseRestarted => self.cluster.restart(),
            Happening::Replaced => self.add(town).await,
        }
    }

    fn logs(&self) -> String {
        let logs = self.servers.iter().map(|server| {
            let log = server.log();
            let lines: Vec<&str> = log
                .lines()
                .filter(|line| line.contains("WARN") || line.contains("ERROR"))
                .collect();
            lines[lines.len().saturating_sub(15)..].join("\n")
        });
        logs.collect::<Vec<_>>().join("\n--\n")
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(debug_assertions, ignore = "it takes too long without optimisation")]
async fn servers_die_and_stand_still_and_the_database_restarts_and_every_pull_request_ends_right() {
    let Some(cluster) = Cluster::start() else {
        let all = std::env::var_os("COUNTERSIGN_TEST_ALL").is_some();
        assert!(!all, "PostgreSQL is not installed");
        eprintln!("left out: PostgreSQL is not installed");
        return;
    };
    let deliveries = number("COUNTERSIGN_DELIVERIES", 20_000);
    let town = Town::build(number("COUNTERSIGN_PULLS", 500)).await;
    let (front, webhook) = Front::open().await;
    town.github.set_webhook(webhook);
    let mut machines = Machines {
        cluster,
        front,
        servers: Vec::new(),
    };
    for _ in 0..3 {
        machines.add(&town).await;
    }
    let store = Postgres::open(&machines.cluster.url()).await.unwrap();
    let began = Instant::now();
    let told = |what: &str| {
        let (seconds, sent) = (began.elapsed().as_secs_f64(), town.sent());
        eprintln!("{seconds:>6.1} s, {sent:>6} deliveries: {what}");
    };

    let mut happenings = HAPPENINGS.into_iter().peekable();
    for round in 0.. {
        town.act(round);
        town.github.deliver_all().await;
        let sent = town.sent();
        while let Some((_, happening)) =
            happenings.next_if(|(tenth, _)| sent * 10 >= tenth * deliveries)
        {
            machines.meet(happening, &town).await;
            told(&format!("{happening:?}"));
        }
        if sent >= deliveries && town.is_told(round + 1) {
            break;
        }
    }
    told("everything is delivered");
    rest(&town, &store, &machines).await;
    told("every pull request is where it belongs");

    // The one that stood still goes on with what it had in hand.
    machines.servers[1].signal(Signal::CONT);
    machines.front.add(machines.servers[1].address);
    town.act(usize::MAX);
    rest(&town, &store, &machines).await;
    told("also after the one that stood still went on");
    let again = town.github.sent().iter().filter(|sent| sent.again).count();
    let calls = town.github.calls().len();
    eprintln!("{calls} calls to GitHub, {again} deliveries sent again");
    let verified = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args([
            "ledger",
            "verify",
            "--database-url",
            &machines.cluster.url(),
        ])
        .status();
    assert!(verified.unwrap().success(), "the ledger's chain is whole");
}

/// Waits until nothing is to be done any more and everything is right.
async fn rest(town: &Town, store: &Postgres, machines: &Machines) {
    for _ in 0..LOOKS {
        town.github.deliver_all().await;
        let waiting = store.inbox().await.map(|inbox| inbox.waiting);
        if town.wrong().is_empty()
            && town.lost().is_empty()
            && waiting.is_ok_and(|waiting| waiting == 0)
        {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!(
        "it does not come to rest.\n{}\n{} lost\n{:?}\n{}",
        town.wrong().join("\n"),
        town.lost().len(),
        store.inbox().await,
        machines.logs()
    );
}
