//! `countersign serve`: the server.

mod signals;

use std::sync::Arc;

use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::stops::Stops;
use super::{Complaint, Ended, Exit, database};
use crate::app::{App, Parts};
use crate::clock::Clock;
use crate::github::auth::AppKey;
use crate::github::{Client, ClientOptions, Timeouts};
use crate::settings::again::Again;
use crate::settings::{self, CredentialArgs, Credentials, ServeArgs, Settings, env_file};
use crate::telemetry::{self, Meters};
use crate::web::{self, Addresses};

/// What is said at the start, and whenever the token goes.
const OPEN_TO_ALL: &str =
    "COUNTERSIGN_API_TOKEN is not set: whoever reaches this address sees the dashboard";

/// Runs the server until it is told to stop.
pub async fn run(args: ServeArgs) -> Ended {
    let held = env_file::read().unwrap_or_default();
    let again = Again::new(args.clone(), held);
    let settings = Settings::from_args(args)
        .map_err(|complaints| Complaint::new(Exit::Usage, settings::report(&complaints)))?;
    let _unsent = telemetry::init(&settings.log, settings.log_format)
        .map_err(|error| Complaint::new(Exit::Usage, error.to_string()))?;
    let meters = Meters::default();
    let client = client_of(&settings.credentials, Clock::System)?.metered(meters.clone());
    let client = Arc::new(client);
    let store = database::open(&settings.database_url).await?;
    let listener = TcpListener::bind(settings.listen).await.map_err(|error| {
        Complaint::new(
            Exit::Usage,
            format!(
                "cannot listen on {}: {error}; choose another address with COUNTERSIGN_LISTEN",
                settings.listen
            ),
        )
    })?;
    tracing::info!(
        listen = %settings.listen,
        github = settings.credentials.github_api_url,
        shadow = settings.shadow,
        "serving"
    );
    if settings.api_token.is_none() {
        tracing::warn!("{OPEN_TO_ALL}");
    }
    let app = App::new(Parts {
        store,
        reads: client.clone(),
        writes: client.clone(),
        clock: Clock::System,
        own_app: settings.credentials.app_id,
        webhook_secrets: settings.webhook_secrets,
        addresses: Addresses {
            github: Some(web::github_pages(&settings.credentials.github_api_url)),
            public: settings.public_url,
        },
        api_token: settings.api_token,
        sweep_interval: settings.sweep_interval,
        shadow: settings.shadow,
        meters,
    })
    .keeping(settings.retention);
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(signals::stop(Stops::listen(), stop));
    #[cfg(unix)]
    signals::renew(again, app.keys(), client, |settings| {
        client_of(&settings.credentials, Clock::System).map_err(|complaint| complaint.text)
    });
    app.run(listener, stopped).await;
    Ok(Exit::Done)
}

/// A client as the App that a command was told of.
pub fn client(args: &CredentialArgs) -> Result<Client, Complaint> {
    let credentials = Credentials::from_args(args.clone())
        .map_err(|complaints| Complaint::new(Exit::Usage, settings::report(&complaints)))?;
    client_of(&credentials, Clock::System)
}

fn client_of(credentials: &Credentials, clock: Clock) -> Result<Client, Complaint> {
    let key = AppKey::read(credentials.private_key.expose_secret())
        .map_err(|error| Complaint::new(Exit::Usage, error.to_string()))?;
    Client::new(ClientOptions {
        api_url: credentials.github_api_url.clone(),
        app_id: credentials.app_id,
        key,
        clock,
        timeouts: Timeouts::default(),
    })
    .map_err(|error| {
        let text = format!("COUNTERSIGN_GITHUB_API_URL cannot be used: {error}");
        Complaint::new(Exit::Usage, text)
    })
}
