//! What the server does when it gets a signal.
//!
//! SIGTERM and Ctrl-C stop it: no request and no pass is begun any more, and those in hand may end within
//! their bounds. A second one ends it at once, for who does not want to wait: deliveries are durable, and
//! what was begun is read back by the next start.
//!
//! SIGHUP reads keys, secrets and the API token again. It is all or nothing: where anything is wrong, or
//! GitHub does not know the new private key, what stands stays, and the log says why. A key that stands
//! already is not tried again: whatever GitHub makes of it, the other secrets need not wait for that.

use std::sync::Arc;

use secrecy::ExposeSecret;
use tokio::sync::watch;

use crate::app::Keys;
use crate::cli::Exit;
use crate::cli::stops::Stops;
use crate::github::auth::AppKey;
use crate::github::{Client, Reads, Refused};
use crate::settings::again::Again;
use crate::settings::{self, Settings, env_file};

/// Says when to stop, and ends the process when it is told so twice.
pub async fn stop(mut stops: Stops, stop: watch::Sender<bool>) {
    stops.next().await;
    tracing::info!(
        "stopping: requests and passes in hand are finished first; another signal stops at once"
    );
    let _ = stop.send(true);
    stops.next().await;
    tracing::warn!("stopped at once: what was begun is looked at again by the next start");
    std::process::exit(i32::from(Exit::Internal.code()));
}

/// Reads keys and secrets again at every SIGHUP. The listener is made before the server is told to be
/// serving: unheard, this signal ends a process.
#[cfg(unix)]
pub fn renew(
    again: Again,
    keys: Keys,
    client: Arc<Client>,
    candidate: impl Fn(&Settings) -> Result<Client, String> + Send + Sync + 'static,
) {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangups = match signal(SignalKind::hangup()) {
        Ok(hangups) => hangups,
        Err(error) => {
            tracing::warn!(%error, "SIGHUP cannot be heard: new keys need a restart");
            return;
        }
    };
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            match read(&again, &client, &candidate).await {
                Ok((settings, key)) => {
                    let same = client.signs_with(&key);
                    client.renew_key(key);
                    if settings.api_token.is_none() {
                        tracing::warn!("{}", super::OPEN_TO_ALL);
                    }
                    keys.api_token.set(settings.api_token);
                    keys.webhook_secrets.set(settings.webhook_secrets);
                    match same {
                        true => tracing::info!(
                            "webhook secrets and API token were read again; the private key is the same as \
                             before and was not tried at GitHub"
                        ),
                        false => tracing::info!(
                            "the private key, webhook secrets and API token were read again"
                        ),
                    }
                }
                Err(why) => tracing::error!(
                    why,
                    "keys and secrets could not be read again: those that stand stay"
                ),
            }
        }
    });
}

#[cfg(unix)]
async fn read(
    again: &Again,
    present: &Client,
    candidate: &(impl Fn(&Settings) -> Result<Client, String> + Send + Sync + 'static),
) -> Result<(Settings, AppKey), String> {
    let holds = env_file::read().map_err(|error| error.to_string())?;
    let settings = again
        .read(&holds)
        .map_err(|complaints| settings::report(&complaints))?;
    let key = AppKey::read(settings.credentials.private_key.expose_secret())
        .map_err(|error| error.to_string())?;
    if present.signs_with(&key) {
        return Ok((settings, key));
    }
    let client = candidate(&settings)?;
    match client.app().await {
        Ok(_) => {}
        Err(Refused::Unauthorized(why)) => {
            return Err(format!("GitHub does not know the private key: {why}"));
        }
        // That it does not answer says nothing of the key.
        Err(refused) => tracing::warn!(%refused, "the private key could not be tried at GitHub"),
    }
    Ok((settings, key))
}
