//! Who asks, and what they may: the App by its JWT, an installation by a token that lives an hour.
//!
//! Time is the world's clock, never the machine's, so that a story can let a token expire or make a
//! client's clock run ahead. The refusals are GitHub's, word for word where its words are known:
//! clients tell a skewed clock from a wrong key by nothing else.
//!
//! **What is left out.** Users' tokens, OAuth, fine-grained personal tokens, and Apps other than ours:
//! those act in stories by [`actors`](super::actors), not over HTTP.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::actors::Credentials;
use super::world::{Done, Installation, InstallationId, Refusal, Repo, RepoId, Time, World};

/// How long an installation token lives.
const TOKEN_LIFE: chrono::Duration = chrono::Duration::hours(1);
/// How far ahead a JWT may expire, in seconds.
const JWT_AHEAD: i64 = 600;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody that is known.
    Nobody,
    /// Our App itself, by its JWT.
    App,
    /// One of its installations, by a token.
    Installation(Token),
}

/// An installation token, as it was minted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Of which installation.
    pub installation: InstallationId,
    /// When it stops being accepted.
    pub expires_at: Time,
    /// What it was narrowed to; all that the installation has when it was not.
    pub permissions: Option<BTreeMap<String, String>>,
    /// The repositories it was narrowed to.
    pub repos: Option<BTreeSet<RepoId>>,
}

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: anybody may ask.
    Nothing,
    /// The App's JWT.
    App,
    /// An installation's token, whatever it may do.
    Installation,
    /// A token with one of these permissions to read.
    Read(&'static [&'static str]),
    /// A token with one of these permissions to write.
    Write(&'static [&'static str]),
}

impl Needs {
    /// `X-Accepted-GitHub-Permissions`: what would do, for routes that need a permission.
    pub fn told(self) -> Option<String> {
        let (names, level) = match self {
            Self::Read(names) => (names, "read"),
            Self::Write(names) => (names, "write"),
            Self::Nothing | Self::App | Self::Installation => return None,
        };
        let each: Vec<String> = names.iter().map(|name| format!("{name}={level}")).collect();
        Some(each.join("; "))
    }
}

/// The tokens that were handed out.
#[derive(Debug, Default)]
pub struct Tokens {
    issued: HashMap<String, Token>,
    count: u64,
}

impl Tokens {
    /// Hands out a token. Its text follows from the seed and how many there were before.
    pub fn issue(&mut self, seed: u64, token: Token) -> String {
        self.count += 1;
        let from = format!("{seed} {} {}", token.installation, self.count);
        let digest = hex::encode(Sha256::digest(from));
        let text = format!("ghs_{}", digest.get(..36).unwrap_or(&digest));
        self.issued.insert(text.clone(), token);
        text
    }

    fn find(&self, text: &str) -> Option<&Token> {
        self.issued.get(text)
    }
}

/// Reads an `Authorization` header.
///
/// # Errors
/// 401 for what is not accepted (any more); 403 for a suspended installation.
pub fn identify(
    world: &World,
    credentials: &Credentials,
    tokens: &Tokens,
    header: Option<&str>,
) -> Done<Caller> {
    let Some(header) = header else {
        return Ok(Caller::Nobody);
    };
    let (scheme, secret) = header.split_once(' ').ok_or_else(bad_credentials)?;
    let known = ["bearer", "token"];
    if !known.contains(&scheme.to_ascii_lowercase().as_str()) {
        return Err(bad_credentials());
    }
    let secret = secret.trim();
    if secret.matches('.').count() == 2 {
        check_jwt(credentials, secret, world.now())?;
        return Ok(Caller::App);
    }
    let token = tokens.find(secret).ok_or_else(bad_credentials)?;
    if token.expires_at <= world.now() {
        return Err(bad_credentials());
    }
    let there = world.installations.get(&token.installation);
    refuse_if_suspended(there.ok_or_else(bad_credentials)?)?;
    Ok(Caller::Installation(token.clone()))
}

fn bad_credentials() -> Refusal {
    Refusal::new(401, "Bad credentials")
}

fn refuse_if_suspended(installation: &Installation) -> Done<()> {
    match installation.suspended {
        None => Ok(()),
        Some(_) => Err(Refusal::new(403, "This installation has been suspended")),
    }
}

fn check_jwt(credentials: &Credentials, jwt: &str, now: Time) -> Done<()> {
    #[derive(Deserialize)]
    struct Claims {
        iss: Value,
        #[serde(default)]
        iat: Value,
        #[serde(default)]
        exp: Value,
    }
    let undecodable = || Refusal::new(401, "A JSON web token could not be decoded");
    let key = DecodingKey::from_rsa_pem(credentials.public_key_pem.as_bytes());
    let mut rules = Validation::new(Algorithm::RS256);
    // The library would judge by the machine's clock; ours is the world's.
    rules.validate_exp = false;
    rules.validate_aud = false;
    rules.required_spec_claims.clear();
    let claims = jsonwebtoken::decode::<Claims>(jwt, &key.map_err(|_| undecodable())?, &rules)
        .map_err(|_| undecodable())?
        .claims;
    let issuer = match &claims.iss {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    if issuer != Some(credentials.app_id) {
        return Err(Refusal::new(404, "Integration not found"));
    }
    let now = now.timestamp();
    if claims.iat.as_i64().is_none_or(|issued| issued > now) {
        let text = "'Issued at' claim ('iat') must be an Integer representing the time that the \
                    assertion was issued";
        return Err(Refusal::new(401, text));
    }
    let expires = claims.exp.as_i64().filter(|expires| *expires > now);
    let Some(expires) = expires else {
        let text = "'Expiration time' claim ('exp') must be a numeric value representing the \
                    future time at which the assertion expires";
        return Err(Refusal::new(401, text));
    };
    if expires > now + JWT_AHEAD {
        let text = "'Expiration time' claim ('exp') is too far in the future";
        return Err(Refusal::new(401, text));
    }
    Ok(())
}

/// What a token request (`POST /app/installations/{id}/access_tokens`) comes to.
///
/// # Errors
/// 404 for another App's installation; 403 for a suspended one; 422 when more is asked for than the
/// installation has.
pub fn token_for(world: &World, id: InstallationId, body: &Value) -> Done<Token> {
    let there = world.installations.get(&id);
    let there = there.filter(|there| there.app == world.our_app);
    let there = there.ok_or_else(Refusal::not_found)?;
    refuse_if_suspended(there)?;
    Ok(Token {
        installation: id,
        expires_at: world.now() + TOKEN_LIFE,
        permissions: narrowed_permissions(there, body)?,
        repos: narrowed_repos(world, there, body)?,
    })
}

fn narrowed_permissions(
    there: &Installation,
    body: &Value,
) -> Done<Option<BTreeMap<String, String>>> {
    let Some(asked) = body["permissions"].as_object() else {
        return Ok(None);
    };
    let mut narrowed = BTreeMap::new();
    for (name, level) in asked {
        let level = level.as_str().unwrap_or_default();
        if !reaches(there.permissions.get(name), rank(level)) {
            let text = "The permissions requested are not granted to this installation.";
            return Err(Refusal::new(422, text));
        }
        narrowed.insert(name.clone(), level.to_owned());
    }
    Ok(Some(narrowed))
}

fn narrowed_repos(
    world: &World,
    there: &Installation,
    body: &Value,
) -> Done<Option<BTreeSet<RepoId>>> {
    let ids = body["repository_ids"].as_array();
    let names = body["repositories"].as_array();
    if ids.is_none() && names.is_none() {
        return Ok(None);
    }
    let covered = world.covered(there);
    let find = |wanted: &Value| {
        covered
            .iter()
            .find(|repo| {
                Some(repo.id) == wanted.as_u64() || Some(repo.name.as_str()) == wanted.as_str()
            })
            .map(|repo| repo.id)
            .ok_or_else(|| {
                let text = "There is at least one repository that does not exist or is not \
                            accessible to the parent installation.";
                Refusal::new(422, text)
            })
    };
    let wanted = ids.into_iter().chain(names).flatten();
    wanted.map(find).collect::<Done<_>>().map(Some)
}

fn rank(level: &str) -> u8 {
    match level {
        "read" => 1,
        "write" => 2,
        "admin" => 3,
        _ => 0,
    }
}

fn reaches(granted: Option<&String>, least: u8) -> bool {
    granted.is_some_and(|level| rank(level) >= least)
}

/// Refuses a caller who is not what a route needs, as far as that is clear without a repository.
///
/// # Errors
/// 401.
pub fn admit(caller: &Caller, needs: Needs) -> Done<()> {
    match (needs, caller) {
        (Needs::Nothing, _) | (Needs::App, Caller::App) => Ok(()),
        (Needs::App, _) => Err(Refusal::new(401, "A JSON web token could not be decoded")),
        (_, Caller::Installation(_)) => Ok(()),
        (_, Caller::App) => Err(bad_credentials()),
        (_, Caller::Nobody) => Err(Refusal::new(401, "Requires authentication")),
    }
}

/// Refuses a token that lacks every one of the permissions that would do.
///
/// # Errors
/// 403 "Resource not accessible by integration".
pub fn permit(world: &World, token: &Token, needs: Needs) -> Done<()> {
    let (names, least) = match needs {
        Needs::Read(names) => (names, 1),
        Needs::Write(names) => (names, 2),
        Needs::Nothing | Needs::App | Needs::Installation => return Ok(()),
    };
    let there = world.installations.get(&token.installation);
    let there = there.ok_or_else(bad_credentials)?;
    // A token never has more than its installation has now, nor than it was minted with.
    let has = |name: &&&str| {
        let narrowed = token.permissions.as_ref();
        (**name == "metadata" && least == 1)
            || (reaches(there.permissions.get(**name), least)
                && narrowed.is_none_or(|only| reaches(only.get(**name), least)))
    };
    if names.iter().any(|name| has(&name)) {
        Ok(())
    } else {
        Err(inaccessible())
    }
}

fn inaccessible() -> Refusal {
    Refusal::new(403, "Resource not accessible by integration")
}

/// Lets a token into a repository. What a public one shows everybody needs no permission; its settings
/// do.
///
/// # Errors
/// 404 for a private repository it does not reach (GitHub does not tell that it exists); 403 for want
/// of a permission.
pub fn enter(world: &World, token: &Token, repo: &Repo, needs: Needs) -> Done<()> {
    let there = world.installations.get(&token.installation);
    let there = there.ok_or_else(bad_credentials)?;
    let selected = token.repos.as_ref();
    let reached = selected.is_none_or(|only| only.contains(&repo.id))
        && world.covered(there).iter().any(|one| one.id == repo.id);
    let shown = match needs {
        Needs::Read(names) => !repo.private && !names.contains(&"administration"),
        Needs::Nothing | Needs::App | Needs::Installation | Needs::Write(_) => false,
    };
    match (reached, shown) {
        (_, true) => Ok(()),
        (true, false) => permit(world, token, needs),
        (false, false) if repo.private => Err(Refusal::not_found()),
        (false, false) => Err(inaccessible()),
    }
}
