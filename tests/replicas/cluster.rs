//! A PostgreSQL of the test's own on loopback, which may be restarted without disturbing anybody.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The cluster; ends with its value.
pub struct Cluster {
    home: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
    waits: bool,
}

impl Cluster {
    /// Lays one out and starts it. `None` where PostgreSQL is not installed. It does not wait for the disk:
    /// no test cuts the power.
    pub fn start() -> Option<Self> {
        Self::start_that_waits(false)
    }

    /// One that waits for the disk, or does not.
    pub fn start_that_waits(waits: bool) -> Option<Self> {
        let programs = programs()?;
        let home = tempfile::tempdir().unwrap();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let cluster = Self {
            home,
            programs,
            port,
            waits,
        };
        if rustix::process::getuid().is_root() {
            let owned = Command::new("chown")
                .arg("nobody")
                .arg(cluster.home.path())
                .status();
            assert!(owned.unwrap().success());
        }
        cluster.run(
            "initdb",
            &[
                "-U",
                "countersign",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
            ],
        );
        cluster.control("start");
        Some(cluster)
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("postgres://countersign@127.0.0.1:{}/postgres", self.port)
    }

    /// Ends it and starts it anew; whatever was open is cut.
    pub fn restart(&self) {
        self.control("restart");
    }

    fn control(&self, verb: &str) {
        let waits = if self.waits { "" } else { "-F " };
        let options = format!(
            "{waits}-p {} -k {} -c listen_addresses=127.0.0.1 -c max_connections=200",
            self.port,
            self.home.path().display()
        );
        let log = self.home.path().join("log");
        self.run(
            "pg_ctl",
            &[
                "-w",
                "-m",
                "fast",
                "-l",
                log.to_str().unwrap(),
                "-o",
                &options,
                verb,
            ],
        );
    }

    /// One of its programs, as somebody who is not root: it refuses to run as that.
    fn run(&self, program: &str, args: &[&str]) {
        let program = self.programs.join(program);
        let mut command = if rustix::process::getuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
            command.arg(program);
            command
        } else {
            Command::new(program)
        };
        command
            .current_dir("/")
            .arg("-D")
            .arg(self.home.path().join("data"))
            .args(args)
            .stdout(Stdio::null());
        assert!(command.status().unwrap().success(), "{command:?}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.control("stop");
        } else {
            let pid = std::fs::read_to_string(self.home.path().join("data/postmaster.pid"));
            if let Some(pid) = pid.unwrap_or_default().lines().next() {
                let _ = Command::new("kill").args(["-QUIT", pid]).status();
            }
        }
    }
}

/// Where the newest PostgreSQL's programs are: Debian has them in no PATH.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<_> = versions
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|programs| programs.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}
