//! One server: the real binary in a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use rustix::process::{Pid, Signal, kill_process};

use crate::http_client::Http;
use crate::town::Town;

/// A running server; killed with its value.
pub struct Server {
    pub address: SocketAddr,
    folder: tempfile::TempDir,
    process: Child,
}

impl Server {
    /// Starts one, and waits until it is ready.
    pub async fn start(town: &Town, database: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let app = town.github.app();
        let key = folder.path().join("key.pem");
        std::fs::write(&key, &app.private_key_pem).unwrap();
        // A port that was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_countersign"))
            .args(["serve", "--listen", &address.to_string()])
            .current_dir(folder.path())
            .env_clear()
            .env("COUNTERSIGN_APP_ID", app.app_id.to_string())
            .env("COUNTERSIGN_PRIVATE_KEY_PATH", &key)
            .env("COUNTERSIGN_WEBHOOK_SECRET", &app.webhook_secret)
            .env("COUNTERSIGN_GITHUB_API_URL", &town.api_url)
            .env("COUNTERSIGN_DATABASE_URL", database)
            .env("COUNTERSIGN_SWEEP_INTERVAL", "30s")
            .stderr(Stdio::from(log))
            .spawn()
            .unwrap();
        let server = Self {
            address,
            folder,
            process,
        };
        server.ready().await;
        server
    }

    async fn ready(&self) {
        let http = Http::new();
        for _ in 0..300 {
            let request = Request::get(format!("http://{}/readyz", self.address));
            let answer = http.send(request.body(Body::empty()).unwrap()).await;
            if answer.is_some_and(|(status, _, _)| status == StatusCode::OK) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the server does not come up:\n{}", self.log());
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Ends it without a warning.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// What it logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
