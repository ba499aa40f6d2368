//! The release program itself, in a process of its own.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::place::Place;
use crate::stage::Stage;

/// A running server; killed with its value.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts one on a stage's GitHub.
    pub fn start(stage: &Stage, place: &Place, sweep_interval: &str) -> Self {
        let app = stage.github.app();
        let key = place.folder().join("key.pem");
        std::fs::write(&key, &app.private_key_pem).unwrap();
        // Bound and given up again: the port is free for the moment that the server needs to take it.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .arg("serve")
            .env("COUNTERSIGN_APP_ID", app.app_id.to_string())
            .env("COUNTERSIGN_PRIVATE_KEY_PATH", &key)
            .env("COUNTERSIGN_WEBHOOK_SECRET", &app.webhook_secret)
            .env("COUNTERSIGN_GITHUB_API_URL", &stage.api_url)
            .env("COUNTERSIGN_DATABASE_URL", place.url())
            .env("COUNTERSIGN_SWEEP_INTERVAL", sweep_interval)
            .env("COUNTERSIGN_LISTEN", address.to_string())
            .env("COUNTERSIGN_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, address }
    }

    /// Whether it runs.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Megabytes.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse::<u64>().unwrap() / 1_024
    }

    /// How many files and connections it has open.
    pub fn open_files(&self) -> usize {
        let folder = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        folder.unwrap().count()
    }
}

/// Looks at a page; its answer, head and all, or nothing where nobody listens yet.
pub async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    Some(String::from_utf8_lossy(&answer).into_owned())
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
