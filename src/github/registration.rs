//! Registering the App: the manifest that is sent to GitHub's page, and the exchange of the code that
//! comes back from there for the App's credentials.
//!
//! The manifest itself is posted by a person's browser; only the exchange
//! (`POST /app-manifests/{code}/conversions`) is a call of ours, and the only one that is made in
//! nobody's name: the code is the proof. A code is good once and for an hour. The exchange is tried
//! again after a 5xx or no answer, because asking twice changes nothing: a code that was used up by the
//! answer that got lost is a 404 the second time, and nothing is lost that was not lost before.
//!
//! [`Asked`] is `app-manifest.yml`, the one list of permissions and events, as it stands in the source.
//!
//! From GitHub's documentation ("Registering a GitHub App from a manifest") and from what its page was
//! seen to refuse: `hook_attributes` without `url` is refused even when the webhook is off, and events
//! without `hook_attributes` are refused too. So an App whose address is not known yet is given
//! [`NO_WEBHOOK`], switched off.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{ClientError, Timeouts};
use super::quota::Principal;
use super::reads::encoded;
use super::transport::Transport;
use super::{Answer, Refused};
use crate::clock::Clock;
use crate::domain::model::AppId;

/// Stands for a webhook's address where there is none yet; nothing is ever sent there.
pub const NO_WEBHOOK: &str = "https://example.com/webhook";
/// GitHub takes no longer name for an App.
pub const LONGEST_NAME: usize = 34;

const MANIFEST: &str = include_str!("../../app-manifest.yml");

/// What the App asks for, as `app-manifest.yml` has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Asked {
    /// The proposed name.
    pub name: String,
    /// The App's homepage.
    pub url: String,
    /// Permission to level: `checks` to `write`.
    #[serde(rename = "default_permissions")]
    pub permissions: BTreeMap<String, String>,
    /// The events it subscribes to.
    #[serde(rename = "default_events")]
    pub events: Vec<String>,
}

impl Asked {
    /// Reads the file that was built in.
    ///
    /// # Errors
    /// What is wrong with it; a test sees to it that nothing is.
    pub fn read() -> Result<Self, String> {
        serde_saphyr::from_str(MANIFEST).map_err(|error| format!("app-manifest.yml: {error}"))
    }

    /// The manifest to post: the person comes back to `redirect_url`; deliveries go below `public_url`,
    /// or nowhere while there is none. The homepage is the server, where it has an address.
    pub fn manifest(&self, redirect_url: &str, public_url: Option<&str>) -> Value {
        let hook = match public_url {
            Some(public) => json!({ "url": format!("{public}/webhook"), "active": true }),
            None => json!({ "url": NO_WEBHOOK, "active": false }),
        };
        json!({
            "name": self.name,
            "url": public_url.unwrap_or(&self.url),
            "hook_attributes": hook,
            "redirect_url": redirect_url,
            "public": false,
            "default_permissions": self.permissions,
            "default_events": self.events,
        })
    }
}

/// A registered App, with what it proves itself with. GitHub tells its secrets this once.
#[derive(Debug)]
pub struct Registered {
    /// Its id.
    pub id: AppId,
    /// Its name in addresses.
    pub slug: Option<String>,
    /// The name that the person chose.
    pub name: Option<String>,
    /// Its page, an `http` or `https` address.
    pub html_url: Option<String>,
    /// Its private key, in PEM.
    pub private_key: SecretString,
    /// What deliveries are signed with; GitHub leaves it out where it made no webhook.
    pub webhook_secret: Option<SecretString>,
}

/// Exchanges codes.
pub struct Registrar {
    transport: Transport,
    pauses: [Duration; 2],
    clock: Clock,
}

impl std::fmt::Debug for Registrar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registrar")
            .field("api", &self.transport.rest(""))
            .finish_non_exhaustive()
    }
}

impl Registrar {
    /// Asks nobody anything yet. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// [`ClientError`] when the address cannot be used or the HTTP client cannot be built.
    pub fn new(api_url: &str, timeouts: &Timeouts, clock: Clock) -> Result<Self, ClientError> {
        Ok(Self {
            transport: Transport::new(api_url, timeouts)?,
            pauses: timeouts.pauses,
            clock,
        })
    }

    /// `POST /app-manifests/{code}/conversions`.
    ///
    /// # Errors
    /// [`Refused::NotFound`] for a code that is used, too old or nobody's.
    pub async fn exchange(&self, code: &str) -> Answer<Registered> {
        let path = format!("/app-manifests/{}/conversions", encoded(code));
        let address = self.transport.rest(&path);
        let mut pauses = self.pauses.iter();
        loop {
            let sent = self
                .transport
                .send(&Method::POST, &address, None, None, None)
                .await;
            // Nothing of ours can be wrong with the credentials: there are none.
            let accepted = sent.and_then(|reply| reply.accept(Principal::App, self.clock.now()));
            match accepted {
                Ok(value) => return registered(&value),
                Err(refused @ (Refused::Server(_) | Refused::NoAnswer(_))) => match pauses.next() {
                    Some(pause) => tokio::time::sleep(*pause).await,
                    None => return Err(refused),
                },
                Err(refused) => return Err(refused),
            }
        }
    }
}

/// Read by hand: what a parser complains of, it repeats, and here nothing may be. Nothing but the key and
/// the id is insisted on: this answer comes once, and a key must not be lost for want of a link.
fn registered(value: &Value) -> Answer<Registered> {
    let text = |name: &str| {
        let text = value[name].as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let missing = |name| Refused::Unreadable(format!("the new App's `{name}` is missing"));
    let id = value["id"].as_u64().and_then(AppId::new);
    Ok(Registered {
        id: id.ok_or_else(|| missing("id"))?,
        private_key: text("pem").ok_or_else(|| missing("pem"))?.into(),
        slug: text("slug"),
        name: text("name"),
        html_url: text("html_url").filter(|text| is_address(text)),
        webhook_secret: text("webhook_secret").map(Into::into),
    })
}

/// It becomes a link on a page, and a link can be more than an address.
fn is_address(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

#[cfg(test)]
mod tests;
