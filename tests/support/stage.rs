//! A stage for stories: a simulated GitHub over real HTTP, the product stepped by hand beside it, one
//! repository, and the people and Apps who act in it.

use std::sync::Arc;
use std::time::Duration;

use countersign::app::{App, Parts};
use countersign::clock::Clock;
use countersign::domain::ledger::{Entry, Kind};
use countersign::domain::model::{AppId, PullNumber, RepoId};
use countersign::github::auth::AppKey;
use countersign::github::{Client, ClientOptions, Timeouts};
use countersign::simulator::{
    Actor, Edits, Options, Permission, PullHandle, RepoHandle, Simulator,
};
use countersign::store::Store;
use countersign::store::postgres::Postgres;
use countersign::store::sqlite::Sqlite;
use countersign::telemetry::Meters;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};
use tokio::net::TcpListener;

/// The policy that stories start from.
pub const POLICY: &str = "\
version: 1
agents:
  authors: ['acme-agent[bot]']
  branches: ['agent/**']
  vendor: anthropic
  model: claude-opus
verifiers:
  codex: { app: codex-verify, vendor: openai, model: gpt-5-codex }
  twin: { app: claude-verify, vendor: anthropic, model: claude-opus }
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
  others: ready
  base_branches: [main]
";

/// The file before it.
pub const BEFORE: &str = "pub fn start(runs: &mut Vec<u32>) {\n    runs.clear();\n}\n";
/// The agent's change: one critical line, line 2.
pub const AFTER: &str = "pub fn start(runs: &mut Vec<u32>) {\n    runs.push(1);\n}\n";

/// The address that the product believes it has: what tokens are made out to.
pub const PUBLIC_URL: &str = "https://gate.example";

/// More passes than any story needs: a story that reaches it does not settle.
const MOST_PASSES: usize = 200;

/// A store that nobody else has: SQLite in memory, or a schema of the PostgreSQL that
/// `COUNTERSIGN_STORIES_ON` names, a database to throw away: its schemas stay.
pub async fn an_empty_store() -> Arc<dyn Store> {
    let Ok(server) = std::env::var("COUNTERSIGN_STORIES_ON") else {
        return Arc::new(Sqlite::open("sqlite::memory:").await.unwrap());
    };
    let schema = format!("story_{}", uuid::Uuid::new_v4().simple());
    let mut connection = PgConnection::connect(&server).await.unwrap();
    let order = AssertSqlSafe(format!("create schema {schema}"));
    connection.execute(order).await.unwrap();
    let url = format!("{server}?options=-csearch_path%3D{schema}");
    Arc::new(Postgres::open(&url).await.unwrap())
}

/// The stage.
pub struct Stage {
    pub github: Simulator,
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    pub app: App,
    pub shop: RepoHandle,
    pub alice: Actor,
    pub agent: Actor,
    pub codex: Actor,
    pub twin: Actor,
    pub api_url: String,
}

impl Stage {
    /// A stage with the usual policy.
    pub async fn new() -> Self {
        Self::with_policy(POLICY).await
    }

    /// A stage with another policy; an empty one commits none.
    pub async fn with_policy(policy: &str) -> Self {
        Self::build(policy, an_empty_store().await, 1).await
    }

    /// A stage whose store is a file, as a server's is.
    pub async fn on_file(folder: &std::path::Path) -> Self {
        let url = format!("sqlite://{}", folder.join("gate.db").display());
        let store = Arc::new(Sqlite::open(&url).await.unwrap());
        Self::build(POLICY, store, 1).await
    }

    /// A stage on a store of its own, from a seed.
    pub async fn build(policy: &str, store: Arc<dyn Store>, seed: u64) -> Self {
        let start = chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap();
        Self::build_at(policy, store, seed, Clock::manual(start)).await
    }

    /// A stage that keeps this time.
    pub async fn build_at(policy: &str, store: Arc<dyn Store>, seed: u64, clock: Clock) -> Self {
        let options = Options {
            clock: clock.clone(),
            seed,
        };
        let github = Simulator::new(options).unwrap();
        // GitHub knows at once whether it merges; one story is about the time when it does not.
        github.lock().behaviour.mergeable_null_reads = 0;
        let api_url = github.serve().await.unwrap();
        let app = product(&github, &api_url, store.clone(), clock.clone()).await;
        let stage = Self::set_up(policy, github, app, store, clock, api_url);
        stage.settle().await;
        stage
    }

    /// A repository and people, before a product that may run anywhere.
    pub fn set_up(
        policy: &str,
        github: Simulator,
        app: App,
        store: Arc<dyn Store>,
        clock: Clock,
        api_url: String,
    ) -> Self {
        let alice = github.user("alice");
        let agent = github.other_app("acme-agent");
        let codex = github.other_app("codex-verify");
        let twin = github.other_app("claude-verify");
        let mut files = vec![("src/start.rs", BEFORE), ("README.md", "# Shop\n")];
        if !policy.is_empty() {
            files.push((".github/countersign.yml", policy));
        }
        let shop = github.repo("acme/shop", &files).unwrap();
        shop.allow(&alice, Permission::Admin).unwrap();
        for app in [&agent, &codex, &twin] {
            shop.allow(app, Permission::Write).unwrap();
        }
        shop.install_app(&alice).unwrap();
        Self {
            github,
            clock,
            store,
            app,
            shop,
            alice,
            agent,
            codex,
            twin,
            api_url,
        }
    }

    /// The product anew over the same store, as after a restart.
    pub async fn restart(&mut self) {
        let (api, store) = (self.api_url.clone(), self.store.clone());
        self.app = product(&self.github, &api, store, self.clock.clone()).await;
    }

    /// The product once more over the same store, to be run.
    pub fn another(&self) -> App {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        App::new(parts(&self.github, &self.api_url, store, clock))
    }

    /// The product anew over the same store, writing nothing to GitHub.
    pub async fn shadow(&mut self) {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let parts = Parts {
            shadow: true,
            ..parts(&self.github, &self.api_url, store, clock)
        };
        self.app = App::new(parts);
        self.app.open_inbox();
        let address = serve(&self.app).await;
        self.github.set_webhook(format!("{address}/webhook"));
    }

    /// Serves pages and API over the same store to who has the token; tells where.
    pub async fn serve_pages(&self, token: &str) -> String {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let parts = Parts {
            api_token: Some(token.into()),
            ..parts(&self.github, &self.api_url, store, clock)
        };
        serve(&App::new(parts)).await
    }

    /// The same by a server that was not told its own address.
    pub async fn serve_without_address(&self) -> String {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let mut parts = parts(&self.github, &self.api_url, store, clock);
        parts.addresses.public = None;
        serve(&App::new(parts)).await
    }

    /// Delivers what waits, understands it, and makes every pass that is due, until nothing is.
    pub async fn settle(&self) {
        loop {
            let sent = self.github.deliver_all().await;
            let made = self.app.settle(MOST_PASSES).await.unwrap();
            assert!(made < MOST_PASSES, "it does not settle");
            if sent + made == 0 {
                return;
            }
        }
    }

    /// Lets time pass, then settles.
    pub async fn after(&self, seconds: i64) {
        self.clock.advance(chrono::Duration::seconds(seconds));
        self.settle().await;
    }

    /// The periodic sweep, then what follows from it.
    pub async fn sweep(&self) {
        self.app.sweep().await.unwrap();
        self.settle().await;
    }

    /// The agent opens its pull request: one critical line changes.
    pub async fn open_pull(&self) -> PullHandle {
        let pull = self.offer();
        self.settle().await;
        pull
    }

    /// As [`Stage::open_pull`], and nothing of it is heard yet.
    pub fn offer(&self) -> PullHandle {
        let edits = Edits::write("src/start.rs", AFTER);
        self.agent
            .push(&self.shop, "agent/start", "Record every start", edits)
            .unwrap();
        self.agent
            .open_pull(&self.shop, "agent/start", "main", "Record every start")
            .unwrap()
    }

    /// The check `unit` passes on the pull request's head.
    pub async fn unit_passes(&self, pull: &PullHandle) {
        let head = pull.head().unwrap();
        self.github
            .actions()
            .pass(&self.shop, &head, "unit")
            .unwrap();
        self.settle().await;
    }

    /// All that lets the pull request be merged happens at GitHub, and nobody is told yet.
    pub fn qualifies(&self, pull: &PullHandle) {
        let (head, report) = (pull.head().unwrap(), self.evidence(pull).block());
        let actions = self.github.actions();
        actions.pass(&self.shop, &head, "unit").unwrap();
        let (codex, shop) = (&self.codex, &self.shop);
        codex
            .report(shop, &head, "verification", "success", &report)
            .unwrap();
    }

    /// A verifier reports in a check run.
    pub async fn reports(&self, verifier: &Actor, pull: &PullHandle, evidence: &Evidence) {
        let head = pull.head().unwrap();
        let text = evidence.block();
        verifier
            .report(&self.shop, &head, "verification", "success", &text)
            .unwrap();
        self.settle().await;
    }

    /// Good evidence for the pull request's head: tests ran, the changed line's mutant was killed.
    pub fn evidence(&self, pull: &PullHandle) -> Evidence {
        let head = pull.head().unwrap();
        let tree = self.tree_of(&head);
        let main = self.shop.tip("main").unwrap();
        evidence(("acme/shop", &head), (&main, &tree), "src/start.rs")
    }

    pub fn tree_of(&self, commit: &str) -> String {
        let world = self.github.lock();
        let commit = world.pool.commit(commit).unwrap();
        commit.tree.clone()
    }

    pub fn repo_id(&self) -> RepoId {
        RepoId::new(self.shop.look(|repo| repo.id).unwrap()).unwrap()
    }

    /// The verdict on record.
    pub async fn verdict(&self, pull: &PullHandle) -> Value {
        let number = PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap();
        let record = self.store.record(self.repo_id(), number).await.unwrap();
        record.verdict.unwrap_or(Value::Null)
    }

    /// The outcome on record.
    pub async fn outcome(&self, pull: &PullHandle) -> String {
        let verdict = self.verdict(pull).await;
        verdict["outcome"].as_str().unwrap_or("none").to_owned()
    }

    /// The verdict on record in a few lines, for failing tests.
    pub async fn told(&self, pull: &PullHandle) -> String {
        let verdict = self.verdict(pull).await;
        let gates = verdict["gates"].as_array().cloned().unwrap_or_default();
        let lines = gates
            .iter()
            .map(|gate| format!("{} {}: {}\n", gate["state"], gate["name"], gate["reason"]));
        let calls = self.github.calls();
        let calls = calls.iter().rev().take(15).rev();
        let calls = calls.map(|call| format!("{} {} {}\n", call.status, call.method, call.path));
        format!("{} ({})\n", verdict["outcome"], verdict["freshness"])
            + &lines.collect::<String>()
            + &calls.collect::<String>()
    }

    /// One gate of the verdict on record.
    pub async fn gate(&self, pull: &PullHandle, name: &str) -> Value {
        let verdict = self.verdict(pull).await;
        let gates = verdict["gates"].as_array().cloned().unwrap_or_default();
        let found = gates.into_iter().find(|gate| gate["name"] == name);
        found.unwrap_or_else(|| panic!("no gate {name} in {verdict:#}"))
    }

    /// The state of one gate of the verdict on record.
    pub async fn state(&self, pull: &PullHandle, name: &str) -> String {
        let gate = self.gate(pull, name).await;
        gate["state"].as_str().unwrap_or_default().to_owned()
    }

    /// What one gate says: its reason, then the reasons of its details, a line each.
    pub async fn reasons(&self, pull: &PullHandle, name: &str) -> String {
        fn collect(gate: &Value, lines: &mut Vec<String>) {
            lines.push(gate["reason"].as_str().unwrap_or_default().to_owned());
            for detail in gate["details"].as_array().into_iter().flatten() {
                collect(detail, lines);
            }
        }
        let mut lines = Vec::new();
        collect(&self.gate(pull, name).await, &mut lines);
        lines.join("\n")
    }

    /// Everything that the policy asks for is brought: the check passes, a verifier countersigns.
    pub async fn clear(&self, pull: &PullHandle) {
        self.unit_passes(pull).await;
        let evidence = self.evidence(pull);
        self.reports(&self.codex, pull, &evidence).await;
    }

    /// Somebody comments on the pull request, and everything that follows is done; answers the comment.
    pub async fn says(&self, who: &Actor, pull: &PullHandle, text: &str) -> u64 {
        let comment = who.comment(pull, text).unwrap();
        self.settle().await;
        comment
    }

    /// Our reactions to a comment.
    pub fn reactions(&self, comment: u64) -> Vec<String> {
        let id = self.repo_id().get();
        let world = self.github.lock();
        let repo = world.repo(id).unwrap();
        let comment = repo.comments.get(&comment);
        let given = comment.map(|comment| comment.reactions.iter());
        given
            .into_iter()
            .flatten()
            .map(|(_, _, content)| content.clone())
            .collect()
    }

    /// What our App wrote on an issue or pull request, oldest first.
    pub fn answers(&self, number: u64) -> Vec<String> {
        let id = self.repo_id().get();
        let world = self.github.lock();
        let ours = world.our_app;
        let repo = world.repo(id).unwrap();
        let comments = repo.comments.values();
        comments
            .filter(|comment| comment.number == number && comment.app == Some(ours))
            .map(|comment| comment.body.clone())
            .collect()
    }

    /// How often GitHub was asked to merge.
    pub fn merge_calls(&self) -> usize {
        self.github.calls_to("PUT", "/merge").len()
    }

    /// Another pull request of the agent's that changes the same critical line, from another branch.
    pub async fn open_other(&self, branch: &str) -> PullHandle {
        let text = AFTER.replace("push(1)", "push(2)");
        let edits = Edits::write("src/start.rs", text);
        let title = "Record every start, otherwise";
        self.agent.push(&self.shop, branch, title, edits).unwrap();
        let opened = self.agent.open_pull(&self.shop, branch, "main", title);
        self.settle().await;
        opened.unwrap()
    }

    /// Our newest check run on a head: status, conclusion, title.
    pub fn our_check(&self, head: &str) -> Option<OurCheck> {
        let id = self.repo_id().get();
        let world = self.github.lock();
        let ours = world.our_app;
        let repo = world.repo(id).unwrap();
        let runs = repo.check_runs.values();
        let newest = runs
            .filter(|run| run.app == ours && run.head == head)
            .max_by_key(|run| run.id)?;
        Some(OurCheck {
            id: newest.id,
            conclusion: newest.conclusion.clone(),
            title: newest.output.title.clone().unwrap_or_default(),
            summary: newest.output.summary.clone().unwrap_or_default(),
            text: newest.output.text.clone().unwrap_or_default(),
        })
    }

    pub fn merged(&self, pull: &PullHandle) -> bool {
        pull.look(|pull| pull.merged()).unwrap()
    }

    /// The ledger's entries of one kind.
    pub async fn ledger(&self, kind: Kind) -> Vec<Entry> {
        let entries = self.store.ledger(None, 0, 10_000).await.unwrap();
        entries
            .into_iter()
            .filter(|entry| entry.kind == kind)
            .collect()
    }
}

/// What our check run says.
#[derive(Debug)]
pub struct OurCheck {
    pub id: u64,
    pub conclusion: Option<String>,
    pub title: String,
    pub summary: String,
    pub text: String,
}

/// An evidence document, for bending.
#[derive(Debug, Clone)]
pub struct Evidence(pub Value);

impl Evidence {
    /// With one part changed: a JSON pointer below `predicate`.
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let path = format!("/predicate{pointer}");
        match self.0.pointer_mut(&path) {
            Some(place) => *place = value,
            None => {
                let (parent, name) = path.rsplit_once('/').unwrap();
                self.0.pointer_mut(parent).unwrap()[name] = value;
            }
        }
        self
    }

    /// Without one part.
    pub fn without(mut self, name: &str) -> Self {
        self.0["predicate"].as_object_mut().unwrap().remove(name);
        self
    }

    /// As Markdown.
    pub fn block(&self) -> String {
        format!("The report.\n\n```countersign\n{}\n```\n", self.0)
    }
}

/// Good evidence for a repository's head, with the tip of its base and the head's tree: tests ran, and the
/// mutant of line 2 of that file was killed.
pub fn evidence((name, head): (&str, &str), (main, tree): (&str, &str), changed: &str) -> Evidence {
    Evidence(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": name, "digest": { "gitCommit": head } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": {
            "result": "approved",
            "base": { "ref": "main", "sha": main },
            "context": "exec-1",
            "sandbox": { "executes": true, "writes": true },
            "tests": [{ "command": "cargo test", "executed": 12, "passed": 12, "failed": 0,
                        "exit_code": 0, "against": ["postgres:15"] }],
            "mutation": {
                "tool": "countersign", "baseline": { "executed": 12, "exit_code": 0 },
                "mutants": [{ "id": "m1", "path": changed, "start_line": 2,
                              "end_line": 2, "kind": "revert_hunk", "status": "killed",
                              "killed_by": ["starts_are_recorded"] }],
                "restored_tree": tree,
            },
        },
    }))
}

/// The product's client of a simulated GitHub.
pub fn client(github: &Simulator, api_url: &str, clock: Clock) -> Arc<Client> {
    Arc::new(counting_client(github, api_url, clock))
}

fn counting_client(github: &Simulator, api_url: &str, clock: Clock) -> Client {
    let credentials = github.app();
    let client = Client::new(ClientOptions {
        api_url: api_url.to_owned(),
        app_id: AppId::new(credentials.app_id).unwrap(),
        key: AppKey::read(&credentials.private_key_pem).unwrap(),
        clock,
        timeouts: Timeouts {
            pauses: [Duration::ZERO; 2],
            between_writes: Duration::ZERO,
            ..Timeouts::default()
        },
    });
    client.unwrap()
}

/// What the product over a simulated GitHub is made of.
fn parts(github: &Simulator, api_url: &str, store: Arc<dyn Store>, clock: Clock) -> Parts {
    let credentials = github.app();
    let meters = Meters::default();
    let client = counting_client(github, api_url, clock.clone()).metered(meters.clone());
    let client = Arc::new(client);
    Parts {
        store,
        reads: client.clone(),
        writes: client,
        clock,
        own_app: AppId::new(credentials.app_id).unwrap(),
        webhook_secrets: vec![credentials.webhook_secret.clone().into()],
        api_token: None,
        addresses: countersign::web::Addresses {
            public: Some(PUBLIC_URL.to_owned()),
            github: None,
        },
        sweep_interval: Duration::from_secs(600),
        shadow: false,
        meters,
    }
}

/// The product over a simulated GitHub, its webhook on a port of its own.
pub async fn product(
    github: &Simulator,
    api_url: &str,
    store: Arc<dyn Store>,
    clock: Clock,
) -> App {
    let mut app = App::new(parts(github, api_url, store, clock));
    app.open_inbox();
    let address = serve(&app).await;
    github.set_webhook(format!("{address}/webhook"));
    app
}

/// Serves a product's routes; tells where.
#[allow(clippy::disallowed_methods, reason = "a test is no pure room")]
async fn serve(app: &App) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let routes = app.routes();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}
