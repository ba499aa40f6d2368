//! What our App proves itself with: as GitHub's pages hand it out when an App is registered.

use std::sync::OnceLock;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine as _;

use crate::simulator::Unavailable;
use crate::simulator::world::{AppId, World};

/// The App's identity and secrets. The secrets are worth nothing outside this process.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The App's id.
    pub app_id: AppId,
    /// Its name in addresses.
    pub slug: String,
    /// RSA, 2,048 bits, PKCS #8 in PEM.
    pub private_key_pem: String,
    /// The key's public half, PKCS #1 in PEM: what GitHub checks the App's tokens with.
    pub public_key_pem: String,
    /// What deliveries are signed with.
    pub webhook_secret: String,
}

impl Credentials {
    pub(in crate::simulator) fn of(world: &World) -> Result<Self, Unavailable> {
        static KEY: OnceLock<Option<(String, String)>> = OnceLock::new();
        let key = KEY.get_or_init(make_key).as_ref();
        let (private_key_pem, public_key_pem) = key.cloned().ok_or(Unavailable::Key)?;
        let app = world.apps.get(&world.our_app);
        Ok(Self {
            app_id: world.our_app,
            slug: app.map(|app| app.slug.clone()).unwrap_or_default(),
            private_key_pem,
            public_key_pem,
            webhook_secret: format!("a secret of world {}", world.seed()),
        })
    }
}

/// A new private key, RSA, 2,048 bits, PKCS #8 in PEM.
pub(in crate::simulator) fn new_key() -> Option<String> {
    make_key().map(|(private, _)| private)
}

fn make_key() -> Option<(String, String)> {
    let pair = KeyPair::generate(KeySize::Rsa2048).ok()?;
    let private = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).ok()?;
    Some((
        pem("PRIVATE KEY", private.as_ref()),
        pem("RSA PUBLIC KEY", pair.public_key().as_ref()),
    ))
}

fn pem(kind: &str, der: &[u8]) -> String {
    let plain = base64::engine::general_purpose::STANDARD.encode(der);
    let mut text = format!("-----BEGIN {kind}-----\n");
    for (index, letter) in plain.chars().enumerate() {
        if index > 0 && index % 64 == 0 {
            text.push('\n');
        }
        text.push(letter);
    }
    text.push_str(&format!("\n-----END {kind}-----\n"));
    text
}
