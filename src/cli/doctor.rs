//! `countersign doctor`: is this server set up so that the gate works? Reads, and writes nothing.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use secrecy::ExposeSecret;

use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::domain::alarms;
use crate::domain::doctor::facts::{
    Asked, Database, Refusal, Settings as Told, Standing, WrongSetting,
};
use crate::domain::doctor::{self, Diagnosis, Manifest, State};
use crate::domain::ledger::Verifier;
use crate::domain::model::{AppId, RepoName};
use crate::domain::render::diagnosis;
use crate::github::auth::AppKey;
use crate::github::{Client, ClientOptions, Reads, Timeouts};
use crate::inspect::{self, Given, Scope};
use crate::settings::{Credentials, ServeArgs, Settings};
use crate::watch::{self, About};

/// The one list of permissions and events.
const MANIFEST: &str = include_str!("../../app-manifest.yml");
/// How often a server sweeps unless it is told otherwise: how old a page may be hangs on it.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// What to look at. Every setting of `serve` is a flag here too, so that what is looked at is what the
/// server would be told.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Look at this repository alone.
    #[arg(long, value_name = "OWNER/REPO", value_parser = super::policy::parse_repo)]
    repo: Option<RepoName>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: ServeArgs,
}

/// Runs it: 0 where nothing is a problem, 1 where something is, 3 where nothing is but something could
/// not be looked at.
pub async fn run(args: DoctorArgs) -> Ended {
    let internal = |error: String| Complaint::new(Exit::Internal, error);
    let manifest = Manifest::read(MANIFEST).map_err(internal)?;
    // Credentials may be fine where other settings are not: as much as can be is looked at.
    let credentials = Credentials::from_args(args.settings.credentials.clone()).ok();
    let (settings, url) = told(args.settings);
    let (key, reads) = match &credentials {
        None => (Asked::NotAsked, None),
        Some(credentials) => client(credentials),
    };
    let database = match &url {
        Some(url) => examined(url).await,
        None => Database::NotAsked,
    };
    let standing = match (&database, &credentials) {
        (Database::Sound { url, .. }, Some(credentials)) => {
            standing(url, credentials.app_id, settings.shadow).await
        }
        _ => Vec::new(),
    };
    let given = Given {
        manifest,
        settings,
        key,
        database,
        standing,
    };
    let scope = args.repo.map_or(Scope::All, Scope::One);
    let facts = inspect::server(given, reads, &scope).await;
    let found = doctor::judge(&facts);
    if args.json {
        println!("{}", json(&found)?);
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print!("{}", diagnosis::diagnosis(&found, colour));
    }
    Ok(exit(&found))
}

fn exit(found: &Diagnosis) -> Exit {
    if found.count(State::Problem) > 0 {
        Exit::No
    } else if found.count(State::Unknown) > 0 {
        Exit::Remote
    } else {
        Exit::Done
    }
}

fn json(found: &Diagnosis) -> Result<String, Complaint> {
    let value = serde_json::json!({
        "problems": found.count(State::Problem),
        "warnings": found.count(State::Warning),
        "unknown": found.count(State::Unknown),
        "sections": found.sections,
    });
    serde_json::to_string_pretty(&value)
        .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))
}

/// The settings as far as they are looked at, and the database they name.
fn told(args: ServeArgs) -> (Told, Option<String>) {
    let database = args.database_url.clone();
    let public = args.public_url.clone();
    match Settings::from_args(args) {
        Ok(settings) => (
            Told {
                wrong: Vec::new(),
                public_url: settings.public_url,
                api_token: settings.api_token.is_some(),
                shadow: settings.shadow,
            },
            Some(settings.database_url),
        ),
        Err(complaints) => {
            // One wrong setting hides no other: what has no complaint is as it was given.
            let sound = |setting| complaints.iter().all(|one| one.setting != setting);
            let url = sound("COUNTERSIGN_DATABASE_URL").then(|| match &database {
                Some(url) if !url.expose_secret().trim().is_empty() => {
                    url.expose_secret().trim().to_owned()
                }
                _ => database::DEFAULT_URL.to_owned(),
            });
            let public = public.filter(|_| sound("COUNTERSIGN_PUBLIC_URL"));
            let public = public.map(|url| url.trim().trim_end_matches('/').to_owned());
            let wrong = complaints.iter().map(|complaint| WrongSetting {
                setting: complaint.setting.to_owned(),
                problem: complaint.problem.clone(),
                remedy: complaint.remedy.clone(),
            });
            let settings = Told {
                wrong: wrong.collect(),
                public_url: public.filter(|url| !url.is_empty()),
                ..Told::default()
            };
            (settings, url)
        }
    }
}

/// Whether the key can sign, and a way to ask GitHub where it can.
fn client(credentials: &Credentials) -> (Asked<()>, Option<Arc<dyn Reads>>) {
    let key = match AppKey::read(credentials.private_key.expose_secret()) {
        Ok(key) => key,
        Err(error) => return (Asked::Refused(Refusal::Other, error.to_string()), None),
    };
    let client = Client::new(ClientOptions {
        api_url: credentials.github_api_url.clone(),
        app_id: credentials.app_id,
        key,
        clock: Clock::System,
        timeouts: Timeouts::default(),
    });
    match client {
        Ok(client) => (Asked::Known(()), Some(Arc::new(client))),
        Err(error) => {
            let why = format!("COUNTERSIGN_GITHUB_API_URL cannot be used: {error}");
            (Asked::Refused(Refusal::Other, why), None)
        }
    }
}

/// What stands still on the server, as far as its database tells. Who may merge past the gate is looked at
/// on GitHub itself, below. What cannot be read has just been complained of.
async fn standing(url: &str, own_app: AppId, shadow: bool) -> Vec<Standing> {
    let Ok(store) = database::open(url).await else {
        return Vec::new();
    };
    let about = About {
        own_app,
        sweep_interval: SWEEP_INTERVAL,
        shadow,
    };
    let facts = watch::read(&*store, Clock::System.now(), about, None).await;
    let raised = facts.map(|facts| alarms::raise(&facts)).unwrap_or_default();
    raised
        .into_iter()
        .filter(|alarm| alarm.kind != alarms::Kind::Advisory)
        .map(|alarm| Standing {
            kind: alarm.kind.word(),
            what: alarm.what,
            mend: alarm.mend,
        })
        .collect()
}

/// Opens the database and follows its ledger. One that is not there is not made; one that an older
/// version wrote is brought up to date, as by every command that opens it.
async fn examined(url: &str) -> Database {
    let file = match database::file_of(url) {
        Ok(file) => file,
        Err(complaint) => return Database::Unusable(complaint.text),
    };
    if let Some(file) = file.filter(|file| !file.exists()) {
        let folder = file.parent().filter(|folder| *folder != Path::new(""));
        return Database::Absent {
            url: url.to_owned(),
            folder: folder.is_none_or(Path::exists),
        };
    }
    match database::is_there(url).await {
        Ok(true) => {}
        Ok(false) => {
            return Database::Absent {
                url: database::shown(url),
                folder: true,
            };
        }
        Err(complaint) => return Database::Unusable(complaint.text),
    }
    let store = match database::open(url).await {
        Ok(store) => store,
        Err(complaint) => return Database::Unusable(complaint.text),
    };
    match store.prove_ledger(Verifier::default()).await {
        Ok(Ok(verifier)) => Database::Sound {
            url: database::shown(url),
            entries: verifier.followed(),
        },
        Ok(Err(broken)) => Database::BrokenChain(broken.to_string()),
        Err(error) => Database::Unusable(format!("the ledger cannot be read: {error}")),
    }
}
