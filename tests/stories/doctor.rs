//! The doctor, over HTTP against a simulated GitHub in which one thing is wrong; and both commands as
//! the programs that people run.

use std::process::Output;
use std::sync::Arc;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use base64::Engine as _;
use countersign::clock::Clock;
use countersign::domain::doctor::facts::{Asked, Database, Facts, Settings};
use countersign::domain::doctor::{self, Diagnosis, Manifest, State};
use countersign::domain::model::{AppId, RepoName};
use countersign::github::auth::AppKey;
use countersign::github::{Client, ClientOptions, Reads, Timeouts};
use countersign::inspect::{self, Given, Scope};
use countersign::simulator::faults::{Fault, FaultPlan, When};
use countersign::simulator::world::HookSettings;
use countersign::simulator::{Edits, Options, Simulator};

use crate::lint::{policy, require_ours, stage as fitting};
use crate::stage::{self, Stage};

const MANIFEST: &str = include_str!("../../app-manifest.yml");

/// What is known before GitHub is asked, on a machine where nothing is wrong.
fn given(stage: &Stage) -> Given {
    let webhook = stage.github.webhook().unwrap();
    Given {
        manifest: Manifest::read(MANIFEST).unwrap(),
        settings: Settings {
            wrong: Vec::new(),
            public_url: webhook.strip_suffix("/webhook").map(str::to_owned),
            api_token: true,
            shadow: false,
        },
        key: Asked::Known(()),
        standing: Vec::new(),
        database: Database::Absent {
            url: "sqlite://gate.db".to_owned(),
            folder: true,
        },
    }
}

async fn facts(stage: &Stage, scope: Scope) -> Facts {
    let reads: Arc<dyn Reads> = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    inspect::server(given(stage), Some(reads), &scope).await
}

async fn look(stage: &Stage) -> Diagnosis {
    doctor::judge(&facts(stage, Scope::All).await)
}

/// What is neither fine nor a note, a line each.
fn open(found: &Diagnosis) -> Vec<String> {
    let checks = found.sections.iter().flat_map(|section| &section.checks);
    checks
        .filter(|check| !matches!(check.state, State::Ok | State::Note))
        .map(|check| format!("{} {}: {}", check.state.word(), check.name, check.seen))
        .collect()
}

async fn assert_only(stage: &Stage, expected: &str) {
    let open = open(&look(stage).await);
    assert_eq!(open.len(), 1, "{open:#?}");
    assert!(open[0].starts_with(expected), "{open:#?}");
}

#[tokio::test]
async fn the_simulators_app_asks_for_exactly_what_the_manifest_names() {
    let stage = Stage::new().await;
    let manifest = Manifest::read(MANIFEST).unwrap();
    let client = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    let app = client.introduce().await.app.unwrap();
    assert_eq!(app.permissions, manifest.permissions);
    assert_eq!(app.events, manifest.events);
}

#[tokio::test]
async fn a_server_that_is_set_up_well_has_nothing_open() {
    let stage = fitting().await;
    let found = look(&stage).await;
    assert_eq!(open(&found), Vec::<String>::new());
    let titles: Vec<_> = found
        .sections
        .iter()
        .map(|one| one.title.as_str())
        .collect();
    let all = [
        "Settings",
        "GitHub App",
        "Webhook",
        "Database",
        "Installations",
        "acme/shop",
    ];
    assert_eq!(titles, all);
}

#[tokio::test]
async fn a_permission_and_an_event_that_the_app_does_not_ask_for_are_problems() {
    let stage = fitting().await;
    {
        let mut world = stage.github.lock();
        let own = world.our_app;
        let app = world.apps.get_mut(&own).unwrap();
        app.permissions
            .insert("actions".to_owned(), "read".to_owned());
        app.events.remove("merge_group");
    }
    let open = open(&look(&stage).await);
    assert_eq!(
        open,
        [
            "problem permissions: it does not ask for `actions: write`",
            "problem events: it did not subscribe to `merge_group`",
        ]
    );
}

/// B146: what the account has not granted is named, and so is each thing that could not be read for it.
#[tokio::test]
async fn new_permissions_that_an_account_has_not_accepted_are_a_problem_by_name() {
    let stage = fitting().await;
    let manifest = Manifest::read(MANIFEST).unwrap();
    let granted: Vec<(&str, &str)> = manifest
        .permissions
        .iter()
        .filter(|(name, _)| *name != "members")
        .map(|(name, level)| (name.as_str(), level.as_str()))
        .collect();
    stage.shop.grant_app(&stage.alice, &granted).unwrap();
    let open = open(&look(&stage).await);
    assert!(
        open.contains(&"problem installation: `acme` has not granted `members: read`".to_owned()),
        "{open:#?}"
    );
    assert!(
        open.iter()
            .any(|one| one
                .starts_with("unknown policy: line 22, owners[1]: could not look: the team")),
        "{open:#?}"
    );
    assert_eq!(open.len(), 2, "{open:#?}");
}

#[tokio::test]
async fn a_suspended_installation_is_a_warning_and_its_repositories_are_not_asked_for() {
    let stage = fitting().await;
    stage.shop.suspend_app(&stage.alice, true).unwrap();
    assert_only(&stage, "warning installation: `acme` suspended the App").await;
}

#[tokio::test]
async fn a_webhook_that_goes_elsewhere_or_is_not_as_the_server_needs_it_is_a_problem() {
    let stage = fitting().await;
    let right = stage.github.webhook().unwrap();
    let given = given(&stage);
    stage.github.set_webhook("https://old.example/webhook");
    stage.github.lock().behaviour.hook = HookSettings {
        content_type: "form".to_owned(),
        insecure_ssl: "1".to_owned(),
        secret: false,
    };
    let reads: Arc<dyn Reads> = stage::client(&stage.github, &stage.api_url, stage.clock.clone());
    let facts = inspect::server(given, Some(reads), &Scope::All).await;
    let open = open(&doctor::judge(&facts));
    assert_eq!(open.len(), 4, "{open:#?}");
    assert_eq!(
        open[0],
        format!(
            "problem address: GitHub sends to https://old.example/webhook, and this server listens at {right}"
        )
    );
    for (line, word) in open[1..]
        .iter()
        .zip(["content type", "certificates", "secret"])
    {
        assert!(line.starts_with(&format!("problem {word}:")), "{line}");
    }
}

#[tokio::test]
async fn deliveries_that_do_not_arrive_are_a_problem_and_once_they_do_again_a_warning() {
    let stage = fitting().await;
    let right = stage.github.webhook().unwrap();
    // A path that nobody serves.
    stage.github.set_webhook(format!("{right}/old"));
    stage.github.lock().ping();
    stage.github.deliver_all().await;
    stage.github.set_webhook(right);
    let open = open(&look(&stage).await);
    assert_eq!(open.len(), 1, "{open:#?}");
    assert!(
        open[0].starts_with("problem deliveries: ") && open[0].ends_with("status 404"),
        "{open:#?}"
    );
    stage.github.lock().ping();
    stage.github.deliver_all().await;
    assert_only(&stage, "warning deliveries: ").await;
}

#[tokio::test]
async fn an_app_that_was_never_sent_anything_is_a_warning() {
    let options = Options {
        clock: Clock::System,
        seed: 1,
    };
    let github = Simulator::new(options).unwrap();
    let api_url = github.serve().await.unwrap();
    let client = stage::client(&github, &api_url, Clock::System);
    assert!(client.deliveries().await.unwrap().items.is_empty());
}

/// B198: the one text for a wrong id, a wrong key and a wrong clock becomes three.
#[tokio::test]
async fn a_wrong_app_id_a_key_of_another_app_and_a_wrong_clock_are_told_apart() {
    let stage = fitting().await;
    let own = stage.github.app();
    // A key that is sound, and not this App's.
    let other = key_of_nobody();
    let key = own.private_key_pem.as_str();
    let cases = [
        (
            own.app_id + 1,
            key,
            0,
            "problem app: GitHub knows no App of this id",
        ),
        (
            own.app_id,
            other.as_str(),
            0,
            "problem app: GitHub does not take the private key as this App's",
        ),
        (
            own.app_id,
            key,
            95,
            "problem clock: this machine's clock is 95 s ahead of GitHub's",
        ),
        (
            own.app_id,
            key,
            -1_000,
            "problem clock: this machine's clock is 1000 s behind GitHub's",
        ),
    ];
    for (id, key, ahead, expected) in cases {
        let now = stage.clock.now() + chrono::Duration::seconds(ahead);
        let client = Client::new(ClientOptions {
            api_url: stage.api_url.clone(),
            app_id: AppId::new(id).unwrap(),
            key: AppKey::read(key).unwrap(),
            clock: Clock::manual(now),
            timeouts: Timeouts::default(),
        });
        let reads: Arc<dyn Reads> = Arc::new(client.unwrap());
        let facts = inspect::server(given(&stage), Some(reads), &Scope::All).await;
        let open = open(&doctor::judge(&facts));
        assert!(open[0].starts_with(expected), "{expected}: {open:#?}");
    }
}

/// A key of nobody's App.
fn key_of_nobody() -> String {
    let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let private = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
    let text = base64::engine::general_purpose::STANDARD.encode(private.as_ref());
    format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n")
}

#[tokio::test]
async fn a_github_that_fails_makes_things_unknown_and_never_fine() {
    let stage = fitting().await;
    for (route, expected) in [
        ("/app", "unknown app: could not ask GitHub who we are"),
        (
            "/app/hook/config",
            "unknown webhook: could not look at the webhook's settings",
        ),
        (
            "/app/hook/deliveries",
            "unknown deliveries: could not look at the recent deliveries",
        ),
        (
            "/app/installations",
            "unknown installation: could not look at the installations",
        ),
        (
            "/installation/repositories",
            "unknown repositories: could not look at the repositories of `acme`",
        ),
        (
            "/contents/",
            "unknown policy: could not look at .github/countersign.yml on `main`",
        ),
    ] {
        let plan = FaultPlan::none().when("GET", route, When::Always, Fault::status(502));
        stage.github.set_faults(plan);
        let found = look(&stage).await;
        let open = open(&found);
        assert!(
            open.iter().any(|one| one.starts_with(expected)),
            "{route}: {open:#?}"
        );
        assert_eq!(found.count(State::Problem), 0, "{route}: {open:#?}");
    }
}

#[tokio::test]
async fn a_repository_without_a_policy_or_with_a_broken_one_is_told() {
    let stage = Stage::with_policy("").await;
    require_ours(&stage, Some(stage.github.app().app_id));
    assert_only(
        &stage,
        "warning policy: there is no .github/countersign.yml on `main`",
    )
    .await;
    let edits = Edits::write(
        ".github/countersign.yml",
        "version: 1\ngates: { cheks: { required: [a] } }\n",
    );
    stage
        .alice
        .push(&stage.shop, "main", "A policy", edits)
        .unwrap();
    stage.settle().await;
    assert_only(
        &stage,
        "problem policy: .github/countersign.yml on `main` does not validate (1 problem)",
    )
    .await;
}

#[tokio::test]
async fn every_repository_is_looked_at_unless_one_is_asked_for() {
    let stage = fitting().await;
    let other = stage
        .github
        .repo("acme/other", &[("README.md", "# Other\n")])
        .unwrap();
    other.install_app(&stage.alice).unwrap();
    let all = facts(&stage, Scope::All).await;
    let names: Vec<_> = all
        .repositories
        .iter()
        .map(|one| one.name.to_string())
        .collect();
    assert_eq!(names, ["acme/shop", "acme/other"]);
    let name = |name: &str| Scope::One(RepoName::parse(name).unwrap());
    let one = facts(&stage, name("acme/other")).await;
    assert_eq!(one.repositories.len(), 1);
    assert_eq!(one.repositories[0].name.to_string(), "acme/other");
    let gone = doctor::judge(&facts(&stage, name("acme/gone")).await);
    let open = open(&gone);
    assert!(
        open[0].starts_with("problem repositories: could not look at the repository `acme/gone`"),
        "{open:#?}"
    );
}

/// A command run as people run it, against a simulated GitHub.
async fn run(stage: &Stage, folder: &std::path::Path, words: &[&str]) -> Output {
    let credentials = stage.github.app();
    let public = stage.github.webhook().unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .args(words)
        .env_clear()
        .current_dir(folder)
        .env("COUNTERSIGN_APP_ID", credentials.app_id.to_string())
        .env("COUNTERSIGN_PRIVATE_KEY", &credentials.private_key_pem)
        .env("COUNTERSIGN_WEBHOOK_SECRET", &credentials.webhook_secret)
        .env("COUNTERSIGN_API_TOKEN", "a token")
        .env("COUNTERSIGN_GITHUB_API_URL", &stage.api_url)
        .env(
            "COUNTERSIGN_PUBLIC_URL",
            public.trim_end_matches("/webhook"),
        );
    command.output().await.unwrap()
}

/// A stage whose GitHub keeps the machine's time, as a program of its own does.
async fn on_machine_time() -> Stage {
    let store = countersign::store::sqlite::Sqlite::open("sqlite::memory:").await;
    let stage = Stage::build_at(&policy(), Arc::new(store.unwrap()), 1, Clock::System).await;
    stage.github.team("acme", "owners", &[&stage.alice]);
    require_ours(&stage, Some(stage.github.app().app_id));
    let head = stage.shop.tip("main").unwrap();
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "unit")
        .unwrap();
    for verifier in [&stage.codex, &stage.twin] {
        verifier.pass(&stage.shop, &head, "verification").unwrap();
    }
    stage.settle().await;
    stage
}

/// What differs from run to run, made alike: addresses, ids, how many deliveries there were.
fn alike(stage: &Stage, output: &[u8]) -> String {
    let text = String::from_utf8(output.to_vec()).unwrap();
    let webhook = stage.github.webhook().unwrap();
    let sent = stage.github.sent().len();
    text.replace(webhook.trim_end_matches("/webhook"), "https://gate.example")
        .replace(&stage.github.app().app_id.to_string(), "APP")
        .replace(&format!("{sent} of the last {sent}"), "N of the last N")
        .replace("differ by 1 s", "differ by 0 s")
}

#[tokio::test]
async fn the_doctor_as_a_command_says_everything_and_ends_by_what_it_found() {
    let stage = on_machine_time().await;
    let folder = tempfile::tempdir().unwrap();
    let done = run(&stage, folder.path(), &["doctor"]).await;
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    insta::assert_snapshot!(alike(&stage, &done.stdout), @r"
    Settings
      ok       settings     every setting is there and well formed
      ok       private key  the private key can sign

    GitHub App
      ok       clock        this machine's clock and GitHub's differ by 0 s
      ok       app          GitHub knows us as `countersign` (App APP)
      ok       permissions  it asks for all 10 permissions of `app-manifest.yml`
      ok       events       it subscribed to all 14 events of `app-manifest.yml`

    Webhook
      ok       address     GitHub sends to https://gate.example/webhook
      ok       deliveries  N of the last N arrived (100 %)

    Database
      note     database  sqlite://countersign.db is not there yet: the server makes it when it first starts

    Installations
      ok       installation  `acme` granted all that is needed

    acme/shop
      ok       policy         .github/countersign.yml on `main` is valid; it enforces
      ok       merge methods  the repository allows merge, squash, rebase
      ok       gate           GitHub requires the check `countersign` on `main`, from this App alone

    Nothing is wrong.
    ");
    assert_eq!(done.status.code(), Some(0));
    // It only looks: no database is left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    require_ours(&stage, stage.codex.app);
    let done = run(
        &stage,
        folder.path(),
        &["doctor", "--repo", "acme/shop", "--json"],
    )
    .await;
    assert_eq!(done.status.code(), Some(1));
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["problems"], 1, "{told:#}");

    stage.github.set_faults(FaultPlan::none().when(
        "GET",
        "/app",
        When::Always,
        Fault::status(502),
    ));
    let done = run(&stage, folder.path(), &["doctor"]).await;
    assert_eq!(done.status.code(), Some(3));
    let done = run(&stage, folder.path(), &["doctor", "--repo", "shop"]).await;
    assert_eq!(done.status.code(), Some(2));
}

#[tokio::test]
async fn a_key_whose_line_breaks_were_lost_is_usable_and_one_cut_off_is_told() {
    let stage = on_machine_time().await;
    let folder = tempfile::tempdir().unwrap();
    let key = stage.github.app().private_key_pem.clone();
    let flag = |key: &str| format!("--private-key={key}");
    for mangled in [
        key.replace('\n', "\\n"),
        key.replace('\n', "\r\n"),
        format!("\"{}\"", key.replace('\n', " ")),
    ] {
        let words = ["doctor", &flag(&mangled)];
        let done = run(&stage, folder.path(), &words).await;
        let told = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            told.contains("ok       private key  the private key can sign"),
            "{told}"
        );
        assert_eq!(done.status.code(), Some(0), "{told}");
    }
    let cut = flag(&key[..key.len() / 2]);
    let done = run(&stage, folder.path(), &["doctor", &cut]).await;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        told.contains("problem  private key  the private key is cut off"),
        "{told}"
    );
    assert!(!told.contains(&key[100..140]), "{told}");
    assert_eq!(done.status.code(), Some(1));
}

#[tokio::test]
async fn the_doctor_follows_the_ledger_of_the_database_it_is_told_of() {
    let stage = on_machine_time().await;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("gate.db").display());
    countersign::store::sqlite::Sqlite::open(&url)
        .await
        .unwrap()
        .close()
        .await;
    let flag = format!("--database-url={url}");
    let done = run(&stage, folder.path(), &["doctor", &flag]).await;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        told.contains("gate.db opens, its schema is today's, 0 ledger entries hold"),
        "{told}"
    );
    std::fs::write(folder.path().join("other.db"), "this is no database").unwrap();
    let done = run(
        &stage,
        folder.path(),
        &["doctor", "--database-url=sqlite://other.db"],
    )
    .await;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(told.contains("problem  database"), "{told}");
    assert_eq!(done.status.code(), Some(1));
    // A wrong setting hides neither the database nor GitHub.
    let done = run(
        &stage,
        folder.path(),
        &["doctor", "--listen=nowhere", &flag],
    )
    .await;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        told.contains("problem  setting      COUNTERSIGN_LISTEN is not an IP address"),
        "{told}"
    );
    assert!(
        told.contains("gate.db opens") && told.contains("GitHub knows us"),
        "{told}"
    );
}

#[tokio::test]
async fn a_policy_is_checked_against_its_repository_as_a_command() {
    let stage = on_machine_time().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yml");
    let check = ["policy", "check", "policy.yml", "--repo", "acme/shop"];
    std::fs::write(&file, policy()).unwrap();
    let done = run(&stage, folder.path(), &check).await;
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert!(
        String::from_utf8_lossy(&done.stdout)
            .ends_with("\nAgainst acme/shop, by the tip of `main`:\nNothing is wrong.\n")
    );
    assert_eq!(done.status.code(), Some(0));

    std::fs::write(&file, policy().replace("name: unit", "name: Unit")).unwrap();
    let done = run(&stage, folder.path(), &check).await;
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        told.contains("policy.yml:12:16: error: nobody ever reported `Unit`"),
        "{told}"
    );
    assert_eq!(done.status.code(), Some(1));
    let done = run(&stage, folder.path(), &[&check[..], &["--json"]].concat()).await;
    let told: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told["valid"], true);
    assert_eq!(told["findings"][0]["severity"], "error");
    assert_eq!(told["findings"][0]["line"], 12);
    assert_eq!(done.status.code(), Some(1));

    // What GitHub does not answer is not fine.
    std::fs::write(&file, policy()).unwrap();
    stage.github.set_faults(FaultPlan::none().when(
        "GET",
        "/teams/",
        When::Always,
        Fault::status(502),
    ));
    let done = run(&stage, folder.path(), &check).await;
    assert!(
        String::from_utf8_lossy(&done.stdout).contains("could not look: the team `@acme/owners`")
    );
    assert_eq!(done.status.code(), Some(3));
    let done = run(
        &stage,
        folder.path(),
        &["policy", "check", "policy.yml", "--repo", "acme/gone"],
    )
    .await;
    assert_eq!(done.status.code(), Some(3));

    // A file that is wrong by itself is not held against anything.
    std::fs::write(&file, "version: 1\n").unwrap();
    let done = run(&stage, folder.path(), &check).await;
    assert!(
        String::from_utf8_lossy(&done.stdout).contains("nothing would merge under this policy")
    );
    assert_eq!(done.status.code(), Some(1));
}
