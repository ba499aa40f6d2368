//! GitHub as the issuer of tokens for workflow runs: its published keys, and whether a token was signed
//! with one.
//!
//! - **RS256 alone.** The algorithm is ours to choose, not the token's: `none`, or an HMAC over the public
//!   key, is refused before any key is looked at.
//! - **Keys are kept.** A known key costs no question. Keys are read again when they are old, and for a key
//!   that is not known (they rotate), at most once a minute whatever strangers invent. While they cannot
//!   be read, the last good ones stay.
//! - **One question at a time**; whoever waits for its answer uses it. Tokens with a known key do not wait.
//!
//! The claims are judged in `domain::evidence::identity`; here nothing is said but who signed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::Value;
use tokio::sync::Mutex;

use super::carrier::Carrier;
use super::client::{ClientError, Timeouts};
use super::quota::Principal;
use super::transport::Transport;
use super::{Answer, Reads, Refused};
use crate::clock::Clock;
use crate::domain::model::Timestamp;

/// How long keys are used without asking whether they are still the keys.
const FRESH: chrono::Duration = chrono::Duration::hours(1);
/// How often keys are asked for at most.
const PAUSE: chrono::Duration = chrono::Duration::minutes(1);
/// No token of GitHub's comes near this many bytes.
const LONGEST_TOKEN: usize = 16 * 1024;

/// The issuer that stands in the tokens of the GitHub whose API is here.
pub fn address(api_url: &str) -> String {
    let api_url = api_url.trim().trim_end_matches('/');
    if api_url.eq_ignore_ascii_case("https://api.github.com") {
        return "https://token.actions.githubusercontent.com".to_owned();
    }
    let host = api_url.strip_suffix("/api/v3").unwrap_or(api_url);
    format!("{host}/_services/token")
}

/// A public key of the issuer's: RSA, its parts in url-safe base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SigningKey {
    /// Its name in tokens.
    pub id: String,
    /// The modulus.
    pub modulus: String,
    /// The exponent.
    pub exponent: String,
}

/// The way to the issuer.
pub(super) struct Published {
    transport: Transport,
    issuer: String,
}

impl Published {
    /// Must be called within a Tokio runtime.
    pub fn new(api_url: &str, timeouts: &Timeouts) -> Result<Self, ClientError> {
        let issuer = address(api_url);
        Ok(Self {
            transport: Transport::new(&issuer, timeouts)?,
            issuer,
        })
    }

    /// The same way without a network.
    pub fn over(
        api_url: &str,
        timeouts: &Timeouts,
        carrier: Arc<dyn Carrier>,
    ) -> Result<Self, ClientError> {
        let issuer = address(api_url);
        Ok(Self {
            transport: Transport::over(&issuer, timeouts, carrier)?,
            issuer,
        })
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The keys, from where the issuer's configuration says they are, if that is below the issuer itself;
    /// else from where GitHub has them.
    pub async fn keys(&self, now: Timestamp) -> Answer<Vec<SigningKey>> {
        let configuration = self.transport.rest("/.well-known/openid-configuration");
        let configuration = match self.read(&configuration, now).await {
            Ok(value) => value,
            Err(Refused::NotFound(_)) => Value::Null,
            Err(refused) => return Err(refused),
        };
        let below = self.transport.rest("/");
        let told = configuration["jwks_uri"].as_str();
        let told = told.filter(|address| address.starts_with(&below));
        let usual = self.transport.rest("/.well-known/jwks");
        let set = self.read(told.unwrap_or(&usual), now).await?;
        let listed = set["keys"].as_array().ok_or_else(|| {
            Refused::Unreadable("GitHub's list of signing keys has no `keys`".into())
        })?;
        Ok(listed.iter().filter_map(signing_key).collect())
    }

    async fn read(&self, address: &str, now: Timestamp) -> Answer<Value> {
        let get = http::Method::GET;
        let reply = self.transport.send(&get, address, None, None, None).await?;
        reply.accept(Principal::App, now)
    }
}

/// A key that tokens may be signed with; others in the list are not ours to use.
fn signing_key(value: &Value) -> Option<SigningKey> {
    let text = |name: &str| value[name].as_str();
    let is = |name: &str, expected: &str| text(name).is_none_or(|text| text == expected);
    if text("kty") != Some("RSA") || !is("use", "sig") || !is("alg", "RS256") {
        return None;
    }
    Some(SigningKey {
        id: text("kid")?.to_owned(),
        modulus: text("n")?.to_owned(),
        exponent: text("e")?.to_owned(),
    })
}

/// Why a token proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproved {
    /// It is no token.
    #[error("the token cannot be read: it is no JSON web token of GitHub's")]
    Malformed,
    /// Signed by other means than GitHub's.
    #[error("the token is not signed with RS256")]
    Algorithm,
    /// Signed with a key that GitHub does not publish.
    #[error("the token is signed with a key that GitHub does not publish")]
    UnknownKey,
    /// Not signed with the key it names.
    #[error("the token's signature does not hold")]
    Signature,
    /// GitHub's keys could not be read, so nothing can be said.
    #[error("GitHub's signing keys could not be read: {0}")]
    NoKeys(Refused),
}

#[derive(Default)]
struct Known {
    keys: HashMap<String, DecodingKey>,
    read_at: Option<Timestamp>,
    tried_at: Option<Timestamp>,
    trouble: Option<Refused>,
}

/// Tells whether GitHub signed a token.
pub struct Issuer {
    reads: Arc<dyn Reads>,
    clock: Clock,
    known: RwLock<Known>,
    asking: Mutex<()>,
}

impl Issuer {
    /// Asks nobody anything yet.
    pub fn new(reads: Arc<dyn Reads>, clock: Clock) -> Self {
        Self {
            reads,
            clock,
            known: RwLock::default(),
            asking: Mutex::default(),
        }
    }

    /// The issuer that must stand in the token.
    pub fn name(&self) -> &str {
        self.reads.token_issuer()
    }

    /// The claims of a token that GitHub signed. Whether they say what they must is not looked at.
    ///
    /// # Errors
    /// Why nobody knows who made the token.
    pub async fn claims(&self, token: &str) -> Result<Value, Unproved> {
        if token.len() > LONGEST_TOKEN {
            return Err(Unproved::Malformed);
        }
        let header = jsonwebtoken::decode_header(token).map_err(|_| not_signed(token))?;
        if header.alg != Algorithm::RS256 {
            return Err(Unproved::Algorithm);
        }
        let key = self.key(&header.kid.ok_or(Unproved::UnknownKey)?).await?;
        let mut rules = Validation::new(Algorithm::RS256);
        // Dates and audiences are judged by our own clock, with the rest of the claims.
        rules.validate_exp = false;
        rules.validate_aud = false;
        rules.required_spec_claims.clear();
        jsonwebtoken::decode::<Value>(token, &key, &rules)
            .map(|token| token.claims)
            .map_err(|_| Unproved::Signature)
    }

    async fn key(&self, id: &str) -> Result<DecodingKey, Unproved> {
        if let Some(key) = self.fresh(id) {
            return Ok(key);
        }
        let _asking = self.asking.lock().await;
        // Whoever asked meanwhile may have found it.
        if let Some(key) = self.fresh(id) {
            return Ok(key);
        }
        let now = self.clock.now();
        if self.look(|known| known.tried_at.is_none_or(|at| at + PAUSE <= now)) {
            let read = self.reads.signing_keys().await;
            self.learn(read, now);
        }
        self.look(|known| match (known.keys.get(id), &known.trouble) {
            (Some(key), _) => Ok(key.clone()),
            (None, Some(refused)) => Err(Unproved::NoKeys(refused.clone())),
            (None, None) => Err(Unproved::UnknownKey),
        })
    }

    fn fresh(&self, id: &str) -> Option<DecodingKey> {
        let now = self.clock.now();
        self.look(|known| {
            known.read_at.filter(|at| *at + FRESH > now)?;
            known.keys.get(id).cloned()
        })
    }

    fn look<T>(&self, with: impl FnOnce(&Known) -> T) -> T {
        with(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn learn(&self, read: Answer<Vec<SigningKey>>, now: Timestamp) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.tried_at = Some(now);
        match read {
            Ok(keys) => {
                let usable = keys.into_iter().filter_map(|key| {
                    let made = DecodingKey::from_rsa_components(&key.modulus, &key.exponent);
                    Some((key.id, made.ok()?))
                });
                known.keys = usable.collect();
                known.read_at = Some(now);
                known.trouble = None;
            }
            Err(refused) => {
                tracing::warn!(%refused, "GitHub's signing keys could not be read");
                known.trouble = Some(refused);
            }
        }
    }
}

/// Why a header cannot be read: an algorithm that is none of the library's (`none`, for one), or no token
/// at all.
fn not_signed(token: &str) -> Unproved {
    use base64::Engine as _;
    let head = token.split('.').next().unwrap_or_default();
    let head = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(head);
    let head = head
        .ok()
        .and_then(|head| serde_json::from_slice(&head).ok());
    match head {
        Some(Value::Object(head)) if head.contains_key("alg") => Unproved::Algorithm,
        _ => Unproved::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_issuer_follows_from_the_api_address() {
        for (api, issuer) in [
            (
                "https://api.github.com/",
                "https://token.actions.githubusercontent.com",
            ),
            (
                "https://ghe.example:8443/api/v3",
                "https://ghe.example:8443/_services/token",
            ),
            ("http://127.0.0.1:9", "http://127.0.0.1:9/_services/token"),
        ] {
            assert_eq!(address(api), issuer);
        }
    }

    #[test]
    fn only_keys_to_sign_with_are_taken() {
        let good = json!({ "kty": "RSA", "kid": "a", "n": "AQ", "e": "AQAB", "use": "sig", "alg": "RS256" });
        assert_eq!(signing_key(&good).map(|key| key.id), Some("a".to_owned()));
        for (name, value) in [("kty", "EC"), ("use", "enc"), ("alg", "RS512")] {
            let mut other = good.clone();
            other[name] = json!(value);
            assert_eq!(signing_key(&other), None, "{name}");
        }
    }
}
