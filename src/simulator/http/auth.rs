//! Who asks: the App by its JWT, an installation by a token that lives an hour. And what it may.

use std::collections::HashMap;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;

use crate::simulator::Simulator;
use crate::simulator::world::{Done, InstallationId, Refusal, RepoId, Time, World};

/// How long an installation token lives, in seconds.
const TOKEN_LIFE: i64 = 3_600;
/// How far ahead a JWT may expire, in seconds.
const JWT_LIFE: i64 = 600;

/// Tokens that were handed out.
#[derive(Debug, Default)]
pub struct Tokens {
    issued: HashMap<String, (InstallationId, Time)>,
    count: u64,
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Nobody.
    Anybody,
    /// The App itself.
    App,
    /// One of its installations.
    Installation(InstallationId),
}

impl Simulator {
    /// Reads an `Authorization` header.
    pub(super) fn who(&self, authorization: Option<&str>) -> Done<Who> {
        let bad = || Refusal::new(401, "Bad credentials");
        let Some(text) = authorization else {
            return Ok(Who::Anybody);
        };
        let (scheme, secret) = text.split_once(' ').ok_or_else(bad)?;
        if !scheme.eq_ignore_ascii_case("bearer") && !scheme.eq_ignore_ascii_case("token") {
            return Err(bad());
        }
        if secret.matches('.').count() == 2 {
            return self.app_of(secret).map(|()| Who::App);
        }
        let issued = {
            let tokens = self.face.tokens.lock();
            let tokens = tokens.unwrap_or_else(std::sync::PoisonError::into_inner);
            tokens.issued.get(secret).copied()
        };
        let (installation, expires) = issued.ok_or_else(bad)?;
        let world = self.lock();
        let known = world.installations.get(&installation).ok_or_else(bad)?;
        if expires <= world.now() {
            return Err(bad());
        }
        if known.suspended.is_some() {
            return Err(Refusal::new(403, "This installation has been suspended"));
        }
        Ok(Who::Installation(installation))
    }

    fn app_of(&self, jwt: &str) -> Done<()> {
        #[derive(Deserialize)]
        struct Claims {
            iat: i64,
            exp: i64,
            iss: serde_json::Value,
        }
        let unreadable = || Refusal::new(401, "A JSON web token could not be decoded");
        let key = DecodingKey::from_rsa_pem(self.app().public_key_pem.as_bytes());
        let mut validation = Validation::new(Algorithm::RS256);
        // Time is the world's, not this machine's: it is compared below.
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let claims =
            jsonwebtoken::decode::<Claims>(jwt, &key.map_err(|_| unreadable())?, &validation)
                .map_err(|_| unreadable())?
                .claims;
        let now = self.lock().now().timestamp();
        let issuer = match &claims.iss {
            serde_json::Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        };
        if issuer != Some(self.app().app_id) {
            return Err(Refusal::new(401, "Integration not found"));
        }
        if claims.iat > now {
            let text = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
            return Err(Refusal::new(401, text));
        }
        if claims.exp <= now || claims.exp > now + JWT_LIFE {
            let text = "'Expiration time' claim ('exp') is too far in the future";
            return Err(Refusal::new(401, text));
        }
        Ok(())
    }

    /// Hands out a token for an installation.
    pub(super) fn mint(&self, installation: InstallationId) -> Done<(String, Time)> {
        let world = self.lock();
        let known = world.installations.get(&installation);
        let known = known.filter(|known| known.app == world.our_app);
        let known = known.ok_or_else(Refusal::not_found)?;
        if known.suspended.is_some() {
            return Err(Refusal::new(403, "This installation has been suspended"));
        }
        let expires = world.now() + chrono::Duration::seconds(TOKEN_LIFE);
        let mut tokens = self
            .face
            .tokens
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        tokens.count += 1;
        let token = format!("ghs_{installation}_{}", tokens.count);
        tokens.issued.insert(token.clone(), (installation, expires));
        Ok((token, expires))
    }
}

/// Refuses an installation that cannot see a repository (404) or lacks a permission (403).
pub(super) fn allowed(
    world: &World,
    who: Who,
    repo: RepoId,
    permission: &str,
    level: &str,
) -> Done<InstallationId> {
    let Who::Installation(id) = who else {
        return Err(Refusal::new(401, "Requires authentication"));
    };
    let installation = world
        .installations
        .get(&id)
        .ok_or_else(Refusal::not_found)?;
    if !world
        .covered(installation)
        .iter()
        .any(|covered| covered.id == repo)
    {
        return Err(Refusal::not_found());
    }
    let granted = installation.permissions.get(permission).map(String::as_str);
    let enough = match (granted, level) {
        (Some("write" | "admin"), _) | (Some("read"), "read") => true,
        (None, "read") => permission == "metadata",
        _ => false,
    };
    if enough {
        Ok(id)
    } else {
        Err(Refusal::new(403, "Resource not accessible by integration"))
    }
}
