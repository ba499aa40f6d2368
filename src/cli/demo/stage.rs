//! Where the story plays: both servers, one repository, and who acts in it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::app::{App, Parts};
use crate::clock::Clock;
use crate::domain::model::{AppId, PullNumber, RepoId};
use crate::github::auth::AppKey;
use crate::github::{Client, ClientOptions, Timeouts};
use crate::simulator::deliveries::Pump;
use crate::simulator::world::Repo;
use crate::simulator::{Actor, Options, Permission, PullHandle, RepoHandle, Simulator};
use crate::store::Store;
use crate::store::sqlite::{Sqlite, url_of};
use crate::submit::SigningKey;

/// How long a step waits for its expected state after the last change that was seen: a loaded machine is slow,
/// a story that is stuck stands still.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a verdict may take to be published; one that changes only wording is held back.
const PUBLISHED: Duration = Duration::from_secs(1);
/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// The policy of the story, but for the one verifier that signs with a key ([`Stage::policy`]).
const POLICY: &str = "\
version: 1
agents:
  authors: ['acme-agent[bot]']
  vendor: anthropic
  model: claude-opus
verifiers:
  codex:  { app: codex-verify,  vendor: openai,    model: gpt-5-codex }
  claude: { app: claude-verify, vendor: anthropic, model: claude-opus }
gates:
  checks:
    required: [unit]
  second_verifier:
    count: 1
    independence: vendor
  mutation_check:
    critical: ['src/**']
merge:
  when: ready
  base_branches: [main]
dispatch:
  labels: [dispatch]
  max_open_prs: 8
  sections: [Trap, Proof]
owners: [olga]
";

/// What `src/start.rs` is at first.
pub const BEFORE: &str = "\
/// Starts an execution.
pub fn start(log: &mut Vec<u64>, id: u64) {
    log.retain(|known| *known != id);
}
";

/// What makes a crate of it.
const CRATE: &str =
    "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// The tests it has at first.
pub const TESTS: &str = "\
use shop::start::start;

#[test]
fn a_start_leaves_the_others_alone() {
    let mut log = vec![1];
    start(&mut log, 2);
    assert!(log.contains(&1));
}
";

/// Both servers and who acts.
pub struct Stage {
    pub github: Simulator,
    pub github_url: String,
    pub dashboard: String,
    pub store: Arc<dyn Store>,
    /// What the base branch carries.
    pub policy: String,
    /// The key of the verifier `desk`, with which whoever watches may post evidence.
    pub desk: SigningKey,
    pub shop: RepoHandle,
    pub agent: Actor,
    pub alice: Actor,
    pub olga: Actor,
    pub mallory: Actor,
    pub codex: Actor,
    pub claude: Actor,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    pump: Pump,
    folder: TempDir,
}

impl Stage {
    /// Starts everything.
    pub async fn build(listener: TcpListener) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("countersign-demo-")
            .tempdir()?;
        let desk = SigningKey::new()?;
        let policy = policy(&desk);
        let clock = Clock::System;
        let github = Simulator::new(Options {
            clock: clock.clone(),
            seed: 1,
        })?;
        let github_url = github.serve().await?;
        let store: Arc<dyn Store> = Arc::new(Sqlite::open(&database(folder.path())).await?);
        let dashboard = format!("http://{}", listener.local_addr()?);
        github.set_webhook(format!("{dashboard}/webhook"));
        let app = product(&github, &github_url, store.clone())?;
        let (stop, stopped) = watch::channel(false);
        let server = tokio::spawn(app.run(listener, stopped));
        let owner = github.user("alice");
        let files = [
            ("README.md", "# Shop\n"),
            ("Cargo.toml", CRATE),
            (".gitignore", "/target\n/Cargo.lock\n"),
            ("src/lib.rs", "//! A shop.\npub mod start;\n"),
            ("src/start.rs", BEFORE),
            ("tests/start.rs", TESTS),
            (".github/countersign.yml", &policy),
        ];
        let shop = github.repo("acme/shop", &files)?;
        shop.allow(&owner, Permission::Admin)?;
        shop.publish()?;
        let olga = github.user("olga");
        shop.allow(&olga, Permission::Write)?;
        let mallory = github.user("mallory");
        let apps =
            ["acme-agent", "codex-verify", "claude-verify"].map(|slug| github.other_app(slug));
        for app in &apps {
            shop.allow(app, Permission::Write)?;
        }
        shop.install_app(&owner)?;
        let [agent, codex, claude] = apps;
        let pump = github.pump();
        Ok(Self {
            github,
            github_url,
            dashboard,
            store,
            policy,
            desk,
            shop,
            agent,
            alice: owner,
            olga,
            mallory,
            codex,
            claude,
            stop,
            server,
            pump,
            folder,
        })
    }

    /// Where the server's database is, and what is laid out for whoever watches. It goes with the demo.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The verdict on record once it is as wanted, and how long that took; `None` when it does not
    /// come.
    pub async fn verdict(
        &self,
        pull: &PullHandle,
        wanted: impl Fn(&Value) -> bool,
    ) -> Option<(Value, Duration)> {
        let number = pull
            .look(|pull| pull.number)
            .ok()
            .and_then(PullNumber::new)?;
        let repo = self.shop.look(|repo| repo.id).ok().and_then(RepoId::new)?;
        let began = Instant::now();
        let (mut changed, mut last) = (began, None);
        while changed.elapsed() < PATIENCE {
            let verdict = self.store.record(repo, number).await.ok()?.verdict;
            if let Some(verdict) = verdict.clone().filter(|verdict| wanted(verdict)) {
                return Some((verdict, began.elapsed()));
            }
            if verdict != last {
                (changed, last) = (Instant::now(), verdict);
            }
            tokio::time::sleep(LOOK).await;
        }
        None
    }

    /// The title of our check run on the pull request's head, as GitHub shows it once it is up to date
    /// with the verdict.
    pub async fn title(&self, pull: &PullHandle, verdict: &Value) -> Option<String> {
        let number = pull
            .look(|pull| pull.number)
            .ok()
            .and_then(PullNumber::new)?;
        let repo = self.shop.look(|repo| repo.id).ok().and_then(RepoId::new)?;
        let began = Instant::now();
        while began.elapsed() < PUBLISHED {
            let record = self.store.record(repo, number).await.ok()?;
            let at = record.published.map(|published| json!(published.at));
            if at.is_some_and(|at| at.as_str() >= verdict["at"].as_str()) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        self.shown_title(&pull.head().ok()?)
    }

    fn shown_title(&self, head: &str) -> Option<String> {
        let id = self.shop.look(|repo| repo.id).ok()?;
        let world = self.github.lock();
        let repo = world.repo(id).ok()?;
        let ours = repo.check_runs.values();
        let ours = ours.filter(|run| run.app == world.our_app && run.head == head);
        ours.max_by_key(|run| run.id)?.output.title.clone()
    }

    /// Waits until something about the repository is so; tells whether it came about.
    pub async fn until(&self, so: impl Fn(&Repo) -> bool) -> bool {
        wait_for(|| self.shop.look(&so).unwrap_or(false)).await
    }

    /// What our App wrote on an issue or pull request last.
    pub fn last_answer(&self, number: u64) -> Option<String> {
        let ours = self.github.lock().our_app;
        let look = |repo: &Repo| {
            let comments = repo.comments.values();
            let written =
                comments.filter(|comment| comment.number == number && comment.app == Some(ours));
            written
                .max_by_key(|comment| comment.id)
                .map(|comment| comment.body.clone())
        };
        self.shop.look(look).ok().flatten()
    }

    /// The text of our check run on a head.
    pub fn shown_text(&self, head: &str) -> Option<String> {
        let ours = self.github.lock().our_app;
        let look = |repo: &Repo| {
            let runs = repo.check_runs.values();
            let newest = runs
                .filter(|run| run.app == ours && run.head == head)
                .max_by_key(|run| run.id)?;
            newest.output.text.clone()
        };
        self.shop.look(look).ok().flatten()
    }

    /// Ends both servers.
    pub async fn stop(self) {
        drop(self.pump);
        // The server may have ended by itself; then nobody listens.
        let _ = self.stop.send(true);
        let _ = self.server.await;
    }
}

/// The address of the database in a folder.
pub fn database(folder: &Path) -> String {
    url_of(&folder.join("countersign.db"))
}

fn policy(desk: &SigningKey) -> String {
    let desk = format!("  desk:   {{ key: '{}', vendor: google }}\n", desk.public());
    POLICY.replace("gates:\n", &format!("{desk}gates:\n"))
}

/// Waits until something is so; tells whether it came about.
pub async fn wait_for(so: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if so() {
            return true;
        }
        tokio::time::sleep(LOOK).await;
    }
    false
}

fn product(github: &Simulator, api_url: &str, store: Arc<dyn Store>) -> anyhow::Result<App> {
    let credentials = github.app();
    let own_app = AppId::new(credentials.app_id)
        .ok_or_else(|| anyhow::anyhow!("the simulated App has no id"))?;
    let client = Arc::new(Client::new(ClientOptions {
        api_url: api_url.to_owned(),
        app_id: own_app,
        key: AppKey::read(&credentials.private_key_pem)?,
        clock: Clock::System,
        timeouts: Timeouts::default(),
    })?);
    Ok(App::new(Parts {
        store,
        reads: client.clone(),
        writes: client,
        clock: Clock::System,
        own_app,
        webhook_secrets: vec![credentials.webhook_secret.clone().into()],
        api_token: None,
        addresses: crate::web::Addresses::default(),
        sweep_interval: Duration::from_secs(600),
        shadow: false,
        meters: Default::default(),
    }))
}
