//! The acknowledgement of the same signed deliveries by this product and by an App on Probot, in turns.
//!
//! The two do not promise the same: what Probot has acknowledged is lost with its process, what this product
//! has acknowledged is on the disk, and passes run meanwhile. Probot's App does nothing with a delivery.
//! Both are programs of their own; whoever posts shares the machine with them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::deliveries::{self, Posting};
use crate::place::{Kind, Place};
use crate::server::Server;
use crate::stage::{POLICY, Stage};
use crate::{millis, per_second, quantile, run};

const VERSION: &str = "14.3.2";
const CONNECTIONS: usize = 64;
const TURNS: usize = 3;
const FOR: Duration = Duration::from_secs(5);

pub fn measure() -> Vec<String> {
    match installed() {
        Some(folder) => [10, 25]
            .into_iter()
            .flat_map(|size| run(turns(folder.clone(), size)))
            .collect(),
        None => vec!["not measured: npm could not install Probot".into()],
    }
}

/// Where Probot is, by npm.
fn installed() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/probot");
    std::fs::create_dir_all(&folder).ok()?;
    std::fs::write(folder.join("package.json"), "{}").ok()?;
    let install = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .arg("--prefix")
        .arg(&folder)
        .arg(format!("probot@{VERSION}"))
        .stdout(Stdio::null())
        .status();
    install.ok()?.success().then_some(folder)
}

async fn turns(folder: PathBuf, kilobytes: usize) -> Vec<String> {
    let place = Place::new(Kind::Sqlite).unwrap();
    let stage = Stage::build(POLICY, place.store().await, 1).await;
    let requests = deliveries::requests(&stage, kilobytes * 1_024).await;
    stage.clock.advance(chrono::Utc::now() - stage.clock.now());
    let ours = Server::start(&stage, &place, "10m");
    let theirs = Probot::start(&stage, &place, &folder);
    let sides = [ours.address, theirs.address].map(|address| {
        listening(address);
        Posting::new(requests.clone(), &[address])
    });
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (side, times) in sides.iter().zip(&mut times) {
            let began = Instant::now();
            times.extend(side.all(CONNECTIONS, move |_| began.elapsed() < FOR).await);
        }
    }
    let took = FOR * u32::try_from(TURNS).unwrap();
    let names = ["this product, durable", "Probot, doing nothing"];
    let mut lines: Vec<String> = names
        .iter()
        .zip(&mut times)
        .map(|(name, times)| {
            let rate = per_second(times.len() as u64, took);
            let (median, worst) = (quantile(times, 0.5), quantile(times, 0.99));
            format!(
                "deliveries of {kilobytes} KB acknowledged by {name}: {rate}, median {}, 99 % {}",
                millis(median),
                millis(worst)
            )
        })
        .collect();
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let ratio = times[0].len() as f64 / times[1].len() as f64;
    lines.push(format!("ours to theirs: {ratio:.2}"));
    lines
}

/// Waits until somebody listens there.
fn listening(address: SocketAddr) {
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < Duration::from_secs(30), "nobody listens");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A running App on Probot; killed with its value.
struct Probot {
    child: Child,
    address: SocketAddr,
}

impl Probot {
    fn start(stage: &Stage, place: &Place, folder: &Path) -> Self {
        let app = stage.github.app();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new("node")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/gate/probot.mjs"))
            .env("NODE_ENV", "production")
            .env("PROBOT_FOLDER", folder)
            .env("PORT", address.port().to_string())
            .env("APP_ID", app.app_id.to_string())
            .env("KEY_PATH", place.folder().join("key.pem"))
            .env("SECRET", &app.webhook_secret)
            .spawn()
            .unwrap();
        Self { child, address }
    }
}

impl Drop for Probot {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
