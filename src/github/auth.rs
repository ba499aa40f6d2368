//! Who we are: the App's private key, and the short-lived assertion (JWT) signed with it.
//!
//! Operators paste the key through shells, `.env` files, container settings and secret stores, and
//! each of those mangles line breaks in its own way. A key that lost them still *looks* right, and
//! what fails is the first call to GitHub, much later and with a misleading text. So every form a key
//! is known to arrive in is understood here, and a text that is none of them is refused at the start
//! with a sentence that says what it seems to be instead.
//!
//! The key is read once. It is wiped when it is dropped, and has no way into `Debug`, logs or errors. Signing
//! is the dearest thing a call in the App's own name does, so an assertion is said again for a while.

use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::Duration;
use http::HeaderMap;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Serialize;

use crate::domain::model::{AppId, Timestamp};

/// `iat` lies this many seconds in the past: GitHub refuses assertions from its future, and hosts
/// with a clock a little fast are common.
const ISSUED_BEFORE: i64 = 60;
/// `exp` lies this many seconds ahead. GitHub allows ten minutes; a clock a little fast must still
/// stay below.
const EXPIRES_AFTER: i64 = 540;
/// For so many seconds an assertion is said again: short of its life, so that what is sent last is good yet.
const SAID_AGAIN: std::ops::Range<i64> = 0..60;
/// A difference of the clocks below this is not worth naming.
const SKEW_NAMED_FROM: i64 = 30;

/// Why a text is not the App's private key. The text itself is never repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing was given.
    #[error("the private key is empty")]
    Empty,
    /// A file's name instead of its content.
    #[error(
        "this is the path of a key file, not a key: give the path as COUNTERSIGN_PRIVATE_KEY_PATH"
    )]
    Path,
    /// Some other PEM object.
    #[error(
        "this is a PEM text, but of a {0}, and not the RSA PRIVATE KEY that GitHub lets an App's \
         owner download"
    )]
    OtherPem(String),
    /// The key is protected by a pass phrase.
    #[error("the private key is encrypted; GitHub's keys are not: download a new one")]
    Encrypted,
    /// Begins as PEM and does not end as PEM.
    #[error("the private key is cut off: its `-----END {0}-----` line is missing")]
    CutOff(String),
    /// Between the PEM lines stands something that is no base64.
    #[error("the private key is damaged: what stands between its PEM lines is not base64")]
    Damaged,
    /// Neither PEM nor base64 of PEM.
    #[error(
        "the private key is neither PEM (`-----BEGIN RSA PRIVATE KEY-----`) nor the base64 of such \
         a text"
    )]
    Unknown,
    /// The outer form is right and the key is not.
    #[error("the private key has the right form, but cannot sign: {0}")]
    Unusable(String),
}

/// The App's private key, proved to be able to sign.
pub struct AppKey {
    key: EncodingKey,
    said: Mutex<Option<Said>>,
}

/// An assertion, in whose name and when it was signed.
struct Said {
    app: AppId,
    at: i64,
    assertion: SecretString,
}

/// Each clone is the same key and has said nothing yet.
impl Clone for AppKey {
    fn clone(&self) -> Self {
        Self::of(self.key.clone())
    }
}

impl std::fmt::Debug for AppKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AppKey([hidden])")
    }
}

#[derive(Serialize)]
struct Claims {
    iat: i64,
    exp: i64,
    iss: String,
}

impl AppKey {
    /// Reads a key in any form it is known to arrive in: PEM (PKCS#1 or PKCS#8); PEM whose line breaks
    /// became `\n`, CRLF, spaces or nothing; any of these in quotes; the base64 of any of these.
    ///
    /// # Errors
    /// [`KeyError`] says what the text seems to be instead.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let text = unquoted(text);
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        let pem = if text.contains("-----BEGIN") {
            normal_pem(text)?
        } else {
            let inner = decoded(text).and_then(|bytes| String::from_utf8(bytes).ok());
            match inner {
                Some(inner) if inner.contains("-----BEGIN") => normal_pem(unquoted(&inner))?,
                _ if looks_like_a_path(text) => return Err(KeyError::Path),
                _ => return Err(KeyError::Unknown),
            }
        };
        let pem = SecretString::from(pem);
        let key = EncodingKey::from_rsa_pem(pem.expose_secret().as_bytes()).map_err(unusable)?;
        let key = Self::of(key);
        // GitHub is not asked; this only proves that the bytes are a private key.
        key.sign(0, 0, "proof".to_owned())?;
        Ok(key)
    }

    /// The assertion with which the App names itself, good for some minutes from `now`.
    ///
    /// # Errors
    /// [`KeyError::Unusable`]; cannot happen for a key that was read, short of lack of memory.
    pub(super) fn assertion(&self, app: AppId, now: Timestamp) -> Result<SecretString, KeyError> {
        let now = now.timestamp();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back makes the last one an assertion from the future.
        if let Some(last) = &*said
            && last.app == app
            && SAID_AGAIN.contains(&now.saturating_sub(last.at))
        {
            return Ok(last.assertion.clone());
        }
        let signed = self.sign(now - ISSUED_BEFORE, now + EXPIRES_AFTER, app.to_string())?;
        *said = Some(Said {
            app,
            at: now,
            assertion: signed.clone(),
        });
        Ok(signed)
    }

    fn of(key: EncodingKey) -> Self {
        Self {
            key,
            said: Mutex::default(),
        }
    }

    /// Whether the other one is the same key: it signs the same alike, whatever form it was read from.
    pub(super) fn is(&self, other: &Self) -> bool {
        let proof = |key: &Self| key.sign(0, 0, "proof".to_owned()).ok();
        let (ours, theirs) = (proof(self), proof(other));
        matches!((ours, theirs), (Some(ours), Some(theirs)) if ours.expose_secret() == theirs.expose_secret())
    }

    fn sign(&self, iat: i64, exp: i64, iss: String) -> Result<SecretString, KeyError> {
        let claims = Claims { iat, exp, iss };
        jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &self.key)
            .map(SecretString::from)
            .map_err(unusable)
    }
}

fn unusable(error: jsonwebtoken::errors::Error) -> KeyError {
    KeyError::Unusable(error.to_string())
}

/// What to say of our clock after GitHub refused an assertion of ours, if it is off. `headers` are
/// those of the refusal.
pub(super) fn clock_skew(headers: &HeaderMap, now: Timestamp) -> Option<String> {
    let theirs = server_time(headers)?;
    let ahead = now.signed_duration_since(theirs).num_seconds();
    (ahead.abs() > SKEW_NAMED_FROM).then(|| {
        let direction = if ahead > 0 { "ahead of" } else { "behind" };
        format!(
            "this machine's clock is {} s {direction} GitHub's: set it right",
            ahead.abs()
        )
    })
}

/// The `Date` header.
pub(super) fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(http::header::DATE)?.to_str().ok()?;
    let date = chrono::DateTime::parse_from_rfc2822(date).ok()?;
    Some(date.to_utc())
}

/// How long a token that ends at `expires` may still be used: GitHub's are replaced five minutes
/// before their end, so that no call starts with a token that dies on the way.
pub(super) fn is_fresh(expires: Timestamp, now: Timestamp) -> bool {
    expires.signed_duration_since(now) > Duration::minutes(5)
}

fn unquoted(text: &str) -> &str {
    let mut text = text.trim();
    for quote in ['"', '\''] {
        if let Some(inner) = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
        {
            text = inner.trim();
        }
    }
    text
}

fn looks_like_a_path(text: &str) -> bool {
    !text.contains('\n') && (text.ends_with(".pem") || text.starts_with(['/', '~', '.']))
}

/// Base64 as people have it: either alphabet, padded or not, wrapped or not.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    [alphabet::STANDARD, alphabet::URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, lenient).decode(&text).ok())
}

/// Takes a PEM text apart and writes it anew, so that it does not matter what became of its lines.
fn normal_pem(text: &str) -> Result<String, KeyError> {
    let text = text
        .replace("\\r", "\r")
        .replace("\\n", "\n")
        .replace("\\\n", "\n");
    let after = text
        .split_once("-----BEGIN ")
        .map(|(_, after)| after)
        .ok_or(KeyError::Unknown)?;
    let (label, after) = after.split_once("-----").ok_or(KeyError::Unknown)?;
    let label = label.trim();
    match label {
        "RSA PRIVATE KEY" | "PRIVATE KEY" => {}
        "ENCRYPTED PRIVATE KEY" => return Err(KeyError::Encrypted),
        // The label is text of the operator's; a short one is worth showing, and no secret.
        other => return Err(KeyError::OtherPem(other.chars().take(40).collect())),
    }
    let (body, _) = after
        .split_once(&format!("-----END {label}-----"))
        .ok_or_else(|| KeyError::CutOff(label.to_owned()))?;
    if body.contains("ENCRYPTED") {
        return Err(KeyError::Encrypted);
    }
    let bytes = decoded(body).ok_or(KeyError::Damaged)?;
    let body = base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    Ok(pem)
}

#[cfg(test)]
pub(super) mod tests;
