//! Was a body signed with one of our secrets?

use hmac::{Hmac, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// What GitHub writes before the digest. The older `X-Hub-Signature` (SHA-1) counts for nothing.
const SCHEME: &str = "sha256=";

/// The digest that an `X-Hub-Signature-256` header claims; `None` where there is none, or it is not 64
/// hex digits behind `sha256=`. Tells without looking at the body whether there is anything to check.
pub fn claimed(header: Option<&str>) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    let digits = header?.strip_prefix(SCHEME)?;
    hex::decode_to_slice(digits, &mut digest).ok()?;
    Some(digest)
}

/// Whether the header proves that the body, byte by byte as it was received, was signed with one of
/// the secrets.
///
/// Every secret is tried and each comparison takes constant time, so how long it takes tells neither
/// which secret fits nor how far a forged digest is right.
pub fn authenticate(secrets: &[SecretString], header: Option<&str>, body: &[u8]) -> bool {
    let Some(digest) = claimed(header) else {
        return false;
    };
    secrets.iter().fold(false, |proved, secret| {
        let fits = Hmac::<Sha256>::new_from_slice(secret.expose_secret().as_bytes())
            .map(|mac| mac.chain_update(body).verify_slice(&digest).is_ok());
        proved | fits.unwrap_or(false)
    })
}
