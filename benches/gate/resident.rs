//! How much memory the server holds with a thousand open pull requests: the release program itself,
//! after its sweep at the start, with its dashboard looked at.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersign::simulator::Edits;
use countersign::simulator::http::Limits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::run;
use crate::stage::Stage;

const OPEN: usize = 1_000;
/// What takes longer than this has gone wrong.
const PATIENCE: Duration = Duration::from_secs(120);

pub fn measure() -> Vec<String> {
    run(async {
        let stage = Stage::new().await;
        let mut heads = Vec::new();
        for nth in 0..OPEN {
            let edits = Edits::write(&format!("src/part_{nth}.rs"), "pub fn part() {}\n");
            let branch = format!("agent/{nth}");
            let title = format!("Part {nth}");
            stage
                .agent
                .push(&stage.shop, &branch, &title, edits)
                .unwrap();
            let pull = stage.agent.open_pull(&stage.shop, &branch, "main", &title);
            heads.push(pull.unwrap().head().unwrap());
        }
        // What the stage's own product would have been told is not for the program.
        stage.github.lose_pending();
        // The program lives by the real clock.
        let real = chrono::Utc::now();
        stage.clock.advance(real - stage.clock.now());
        stage.github.clear_calls();
        stage.github.set_limits(Limits {
            hourly: 1_000_000,
            ..Limits::default()
        });
        let folder = tempfile::tempdir().unwrap();
        let began = Instant::now();
        let mut server = Server::start(&stage, folder.path());
        for head in &heads {
            while stage.our_check(head).is_none() {
                assert!(began.elapsed() < PATIENCE, "the sweep does not end");
                assert!(
                    server.child.try_wait().unwrap().is_none(),
                    "the server ended"
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let swept = began.elapsed().as_secs_f64();
        let calls = stage.github.calls().len();
        let after_sweep = server.resident();
        for _ in 0..20 {
            server.get("/").await;
        }
        let looked = server.resident();
        vec![
            format!(
                "first sweep of {OPEN} open pull requests: {swept:.1} s, {calls} calls to GitHub"
            ),
            format!(
                "resident after it: {after_sweep} MB; after looking at the dashboard: {looked} MB"
            ),
        ]
    })
}

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(stage: &Stage, folder: &std::path::Path) -> Self {
        let app = stage.github.app();
        let key = folder.join("key.pem");
        std::fs::write(&key, &app.private_key_pem).unwrap();
        // Bound and given up again: the port is free for the moment that the server needs to take it.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let database = format!("sqlite://{}", folder.join("gate.db").display());
        let child = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("serve")
            .env("COUNTERSIGN_APP_ID", app.app_id.to_string())
            .env("COUNTERSIGN_PRIVATE_KEY_PATH", &key)
            .env("COUNTERSIGN_WEBHOOK_SECRET", &app.webhook_secret)
            .env("COUNTERSIGN_GITHUB_API_URL", &stage.api_url)
            .env("COUNTERSIGN_DATABASE_URL", database)
            .env("COUNTERSIGN_LISTEN", address.to_string())
            .env("COUNTERSIGN_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address }
    }

    /// Megabytes.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse::<u64>().unwrap() / 1_024
    }

    async fn get(&self, path: &str) {
        let mut stream = tokio::net::TcpStream::connect(self.address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
