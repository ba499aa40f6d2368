//! Proving who we are: the App's key, its JWT, installation tokens.
//!
//! A JWT is signed for every call that needs one (they are cheap and live ten minutes at most); `iat`
//! lies a minute back, since hosts' clocks run ahead of GitHub's now and then. Installation tokens live
//! an hour and are minted by GitHub, so they are kept, renewed five minutes early, and minted once for
//! all who wait: the lock of an installation is held while its token is fetched.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::Mutex;

use crate::domain::model::{AppId, InstallationId, Timestamp};

/// How far back a JWT is dated, and how far ahead it expires; GitHub allows ten minutes in all.
const BACKDATED: i64 = 60;
const LASTS: i64 = 540;
/// An installation token is renewed this long before it expires.
const EARLY: chrono::Duration = chrono::Duration::minutes(5);

/// Why a text is not an App's private key. Never holds any of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the private key cannot be used: {0}")]
pub struct BadKey(String);

/// The App's private key.
#[derive(Clone)]
pub struct AppKey(EncodingKey);

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppKey(hidden)")
    }
}

impl AppKey {
    /// Reads a key as people paste it: PEM, PEM whose line breaks became `\n`, PEM in quotes or with
    /// CRLF, base64 of any of these.
    ///
    /// # Errors
    /// [`BadKey`] says which form was seen and what is wrong with it.
    pub fn read(text: &str) -> Result<Self, BadKey> {
        let pem = pem_of(text)?;
        EncodingKey::from_rsa_pem(pem.as_bytes())
            .map(Self)
            .map_err(|error| {
                BadKey(format!(
                    "the PEM block holds no usable RSA key ({error}); download a fresh one from the \
                     App's settings page"
                ))
            })
    }

    /// A JWT that proves to be the App, for a few minutes from `now`.
    ///
    /// # Errors
    /// [`BadKey`] when the key cannot sign.
    pub fn jwt(&self, app: AppId, now: Timestamp) -> Result<String, BadKey> {
        #[derive(Serialize)]
        struct Claims {
            iat: i64,
            exp: i64,
            iss: String,
        }
        let claims = Claims {
            iat: now.timestamp() - BACKDATED,
            exp: now.timestamp() + LASTS,
            iss: app.to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.0)
            .map_err(|error| BadKey(format!("it cannot sign: {error}")))
    }
}

fn pem_of(text: &str) -> Result<String, BadKey> {
    let text = text.trim().trim_matches(['"', '\'']).trim();
    if text.is_empty() {
        return Err(BadKey("it is empty".into()));
    }
    let text = if text.contains("-----BEGIN") {
        text.to_owned()
    } else {
        let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        STANDARD
            .decode(packed)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .filter(|text| text.contains("-----BEGIN"))
            .ok_or_else(|| {
                BadKey(
                    "it is neither PEM (`-----BEGIN ...`) nor the base64 of PEM; paste the whole \
                     .pem file that GitHub gave you"
                        .into(),
                )
            })?
    };
    Ok(text
        .replace("\\r", "")
        .replace("\\n", "\n")
        .replace('\r', ""))
}

/// A token of an installation.
#[derive(Clone)]
pub struct Token {
    /// The secret.
    pub secret: SecretString,
    /// When GitHub stops accepting it.
    pub expires_at: Timestamp,
}

impl Token {
    fn good_at(&self, now: Timestamp) -> bool {
        now + EARLY < self.expires_at
    }
}

type Slot = Arc<Mutex<Option<Token>>>;

/// The tokens of all installations.
#[derive(Default)]
pub struct Tokens {
    slots: std::sync::Mutex<HashMap<InstallationId, Slot>>,
}

impl Tokens {
    /// A token that is good for a while, minted by `mint` if there is none. Whoever else wants one
    /// meanwhile waits for the same.
    ///
    /// # Errors
    /// What `mint` says; the next caller tries again.
    pub async fn get<E>(
        &self,
        installation: InstallationId,
        now: Timestamp,
        mint: impl Future<Output = Result<Token, E>>,
    ) -> Result<Token, E> {
        let slot = self.slot(installation);
        let mut held = slot.lock().await;
        if let Some(token) = held.as_ref().filter(|token| token.good_at(now)) {
            return Ok(token.clone());
        }
        let token = mint.await?;
        *held = Some(token.clone());
        Ok(token)
    }

    /// Forgets a token that GitHub does not accept any more.
    pub async fn forget(&self, installation: InstallationId) {
        *self.slot(installation).lock().await = None;
    }

    fn slot(&self, installation: InstallationId) -> Slot {
        let mut slots = self
            .slots
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        slots.entry(installation).or_default().clone()
    }
}
