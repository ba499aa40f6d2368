//! The key of who posts: ed25519, in PKCS#8 PEM, as `openssl genpkey -algorithm ed25519` makes it too.

use std::fmt;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::SecretString;

/// A private key. Nothing prints it; [`pem`](Self::pem) is the one way out.
pub struct SigningKey(Ed25519KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey(of {})", self.public())
    }
}

/// Why a text is no key. The text is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyFault {
    /// No such PEM object.
    #[error("it holds no private key in PKCS#8 PEM (`-----BEGIN PRIVATE KEY-----`)")]
    NotPem,
    /// A key that a passphrase protects.
    #[error(
        "its key is protected by a passphrase, which is not asked for: keep the key in a file that only \
         its user may read"
    )]
    Locked,
    /// Some other key.
    #[error("its key is not of the kind ed25519")]
    OtherKind,
    /// The library could not make or write one.
    #[error("no key could be made on this machine")]
    Unmade,
}

impl SigningKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyFault::Unmade`].
    pub fn new() -> Result<Self, KeyFault> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyFault::Unmade)?;
        Ok(Self(pair))
    }

    /// Reads the key out of a PEM text.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(pem: &str) -> Result<Self, KeyFault> {
        if pem.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") {
            return Err(KeyFault::Locked);
        }
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes());
        let der = der.map_err(|_| KeyFault::NotPem)?;
        let pair = Ed25519KeyPair::from_pkcs8(der.secret_pkcs8_der());
        pair.map(Self).map_err(|_| KeyFault::OtherKind)
    }

    /// The key as a PEM text. PKCS#8 v1, which every OpenSSL reads.
    ///
    /// # Errors
    /// [`KeyFault::Unmade`].
    pub fn pem(&self) -> Result<SecretString, KeyFault> {
        let der = self.0.to_pkcs8v1().map_err(|_| KeyFault::Unmade)?;
        let text = STANDARD.encode(der.as_ref());
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
        Ok(SecretString::from(pem))
    }

    /// The public half in the form that a policy's `key:` takes: 64 hex digits.
    pub fn public(&self) -> String {
        hex::encode(self.0.public_key().as_ref())
    }

    /// Signs.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).as_ref().to_vec()
    }
}
