//! `countersign setup`, the real program, against a simulated GitHub: once through a browser, once
//! stopped.

use std::path::Path;
use std::process::Stdio;

use countersign::clock::Clock;
use countersign::domain::model::AppId;
use countersign::github::auth::AppKey;
use countersign::github::{Client, ClientOptions, Reads, Timeouts};
use countersign::simulator::{Options, Simulator};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::{drive, is_sound};

/// The program, waiting for its visitor.
struct Setup {
    program: Child,
    said: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Setup {
    async fn start(api: &str, folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("COUNTERSIGN_") {
                command.env_remove(name);
            }
        }
        let mut program = command
            .args(["setup", "--github-api-url", api])
            .args(["--public-url", "https://gate.example"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(program.stdout.take().unwrap()).lines();
        let address = loop {
            let line = said.next_line().await.unwrap();
            let line = line.expect("it tells its address");
            if line.trim().starts_with("http://127.0.0.1:") {
                break line.trim().to_owned();
            }
        };
        Self {
            program,
            said,
            address,
        }
    }

    /// How it ended: its exit code, and what it said since its address.
    async fn end(mut self) -> (Option<i32>, String) {
        let mut text = String::new();
        while let Some(line) = self.said.next_line().await.unwrap() {
            text.push_str(&line);
            text.push('\n');
        }
        let ended = self.program.wait_with_output().await.unwrap();
        text.push_str(&String::from_utf8(ended.stderr).unwrap());
        (ended.status.code(), text)
    }
}

fn github() -> Simulator {
    let options = Options {
        clock: Clock::System,
        seed: 11,
    };
    Simulator::new(options).unwrap()
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_registers_the_app_with_two_clicks_and_the_stored_key_proves_it() {
    let github = github();
    let api = github.serve().await.unwrap();
    let folder = TempDir::new().unwrap();
    let setup = Setup::start(&api, folder.path()).await;
    let Some(seen) = drive("setup.mjs", &[&setup.address]).await else {
        return;
    };
    assert_eq!(seen["errors"], serde_json::json!([]));
    let pages = seen["told"].as_array().unwrap();
    assert_eq!(pages.len(), 9);
    for page in pages {
        let (name, text) = (
            page["name"].as_str().unwrap(),
            page["text"].as_str().unwrap(),
        );
        if name == "github" {
            assert_eq!(page["proposed"], "Countersign");
            assert!(text.contains("merge_queues: read"), "{text}");
            continue;
        }
        is_sound(page);
        assert_eq!(page["status"], serde_json::json!([]), "{name}");
        let words = match name.ends_with("registered") {
            true => "Gate of Acme is yours",
            false => "Deliveries will go to https://gate.example/webhook",
        };
        assert!(text.contains(words), "{name}: {text}");
    }
    let install = format!("{api}/apps/gate-of-acme/installations/new");
    assert_eq!(seen["install"], install.as_str());

    let (code, said) = setup.end().await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("\"Gate of Acme\" is registered") && said.contains(&install),
        "{said}"
    );
    let credentials = github.app();
    assert!(
        !said.contains(&credentials.webhook_secret) && !said.contains("KEY-----"),
        "{said}"
    );
    let key = folder.path().join("countersign.private-key.pem");
    let env = folder.path().join(".env");
    assert_eq!(
        files(folder.path()),
        [".env", "countersign.private-key.pem"]
    );
    #[cfg(unix)]
    for file in [&key, &env] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let set: Vec<(String, String)> = dotenvy::from_path_iter(&env)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let path = key.canonicalize().unwrap().display().to_string();
    let id = credentials.app_id.to_string();
    for (name, value) in [
        ("COUNTERSIGN_APP_ID", id.as_str()),
        ("COUNTERSIGN_PRIVATE_KEY_PATH", &path),
        ("COUNTERSIGN_WEBHOOK_SECRET", &credentials.webhook_secret),
        ("COUNTERSIGN_PUBLIC_URL", "https://gate.example"),
        ("COUNTERSIGN_GITHUB_API_URL", &api),
    ] {
        assert!(set.contains(&(name.to_owned(), value.to_owned())), "{name}");
    }
    let client = Client::new(ClientOptions {
        api_url: api,
        app_id: AppId::new(credentials.app_id).unwrap(),
        key: AppKey::read(&std::fs::read_to_string(&key).unwrap()).unwrap(),
        clock: Clock::System,
        timeouts: Timeouts::default(),
    });
    let app = client.unwrap().app().await.unwrap();
    assert_eq!(app.id.get(), credentials.app_id);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_it_and_leaves_nothing_behind() {
    let github = github();
    let api = github.serve().await.unwrap();
    for signal in ["-INT", "-TERM"] {
        let folder = TempDir::new().unwrap();
        let setup = Setup::start(&api, folder.path()).await;
        let id = setup.program.id().unwrap().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().await;
        assert!(sent.unwrap().success());
        let (code, said) = setup.end().await;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("stopped; nothing was stored"), "{said}");
        assert_eq!(files(folder.path()), [] as [&str; 0]);
    }
}
