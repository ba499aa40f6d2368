//! The issuer of tokens for workflow runs, below `/_services`: its configuration, its keys, and the
//! address at which a run asks for its token.
//!
//! **Properties.** Tokens are signed by keys of the issuer's own (not the App's), RS256, each with a name.
//! After a rotation new tokens bear a new name and the old key is published no more. A story may mint a
//! token with any claims; what stands in a usual one is in [`Simulator::run_claims`].
//!
//! **What is left out.** Overlapping keys, customised subjects, and who may ask: a run that a story grants
//! tokens may ask as often as it likes.

use std::sync::OnceLock;

use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::pipeline;
use crate::simulator::actors::new_key;
use crate::simulator::{PullHandle, RepoHandle, Simulator};

/// Where the issuer is, below the API's address.
const ISSUER: &str = "/_services/token";
/// Where runs ask for their tokens.
const RUNS: &str = "/_services/run";
/// How long a token is good, in seconds.
const LIFE: i64 = 300;

/// What the issuer keeps.
#[derive(Debug, Default)]
pub struct Issuing {
    rotations: usize,
    down: bool,
    key_reads: usize,
    runs: Vec<Value>,
}

impl Issuing {
    fn key_name(&self) -> String {
        format!("key-{}", self.rotations)
    }
}

/// Two keys, made once for the process, that take turns; they take a moment to make.
fn pems() -> &'static [Option<String>; 2] {
    static KEYS: OnceLock<[Option<String>; 2]> = OnceLock::new();
    KEYS.get_or_init(|| [new_key(), new_key()])
}

fn key(turn: usize) -> Option<EncodingKey> {
    let pem = pems().get(turn % 2)?.as_ref()?;
    EncodingKey::from_rsa_pem(pem.as_bytes()).ok()
}

/// A page of the issuer's, where a request is for one.
pub fn page(github: &Simulator, parts: &Parts) -> Option<Response<Full<Bytes>>> {
    let path = parts.uri.path();
    if path == RUNS {
        return Some(hand_out(github, parts));
    }
    let page = path.strip_prefix(ISSUER)?;
    let issuer = format!("{}{ISSUER}", github.lock().origin);
    let mut desk = github.face.desk();
    if desk.issuing.down {
        return Some(answer(503, &json!({ "message": "Service Unavailable" })));
    }
    Some(match page {
        "/.well-known/openid-configuration" => answer(
            200,
            &json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/.well-known/jwks") }),
        ),
        "/.well-known/jwks" => {
            desk.issuing.key_reads += 1;
            let name = desk.issuing.key_name();
            let turn = desk.issuing.rotations;
            drop(desk);
            answer(200, &json!({ "keys": published(turn, &name) }))
        }
        _ => answer(404, &json!({ "message": "Not Found" })),
    })
}

fn published(turn: usize, name: &str) -> Vec<Value> {
    let key = key(turn).and_then(|key| Jwk::from_encoding_key(&key, Algorithm::RS256).ok());
    let key = key.and_then(|key| serde_json::to_value(key).ok());
    key.into_iter()
        .map(|mut key| {
            key["kid"] = json!(name);
            key["use"] = json!("sig");
            key
        })
        .collect()
}

/// `GET $ACTIONS_ID_TOKEN_REQUEST_URL&audience=...` with `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
fn hand_out(github: &Simulator, parts: &Parts) -> Response<Full<Bytes>> {
    let sent = parts.headers.get(header::AUTHORIZATION);
    let sent = sent.and_then(|value| value.to_str().ok());
    let run = sent.and_then(|text| text.strip_prefix("Bearer run-"));
    let run = run.and_then(|text| text.parse::<usize>().ok());
    let claims = {
        let desk = github.face.desk();
        run.and_then(|run| desk.issuing.runs.get(run).cloned())
    };
    let Some(mut claims) = claims else {
        return answer(401, &json!({ "message": "The token is not accepted" }));
    };
    let query = pipeline::query(parts.uri.query().unwrap_or_default());
    let audience = query.iter().find(|(name, _)| name == "audience");
    if let Some((_, audience)) = audience {
        claims["aud"] = json!(audience);
    }
    let token = github.mint(&claims);
    answer(200, &json!({ "count": 1, "value": token }))
}

fn answer(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let kind = header::HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

impl Simulator {
    /// The usual claims of a run of a pull request's workflow that calls the reusable `workflow` at a ref.
    pub fn run_claims(&self, pull: &PullHandle, workflow: &str, at: &str, audience: &str) -> Value {
        let number = pull.number;
        let mut claims = self.claims_of(&pull.repo, workflow, at, audience);
        claims["event_name"] = json!("pull_request");
        claims["ref"] = json!(format!("refs/pull/{number}/merge"));
        claims
    }

    /// The usual claims of a run that was started by hand on the default branch.
    pub fn claims_of(&self, repo: &RepoHandle, workflow: &str, at: &str, audience: &str) -> Value {
        let world = self.lock();
        let now = world.now().timestamp();
        let name = world.repo(repo.id).map(|repo| world.full_name(repo));
        let name = name.unwrap_or_default();
        json!({
            "iss": format!("{}{ISSUER}", world.origin), "aud": audience,
            "iat": now, "nbf": now - 5, "exp": now + LIFE,
            "repository": name, "repository_id": repo.id.to_string(),
            "event_name": "workflow_dispatch", "ref": "refs/heads/main",
            // A run's own commit is never the head of a pull request, but for pushes.
            "sha": "0123456789012345678901234567890123456789",
            "job_workflow_ref": format!("{name}/{workflow}@{at}"),
            "run_id": "4711", "actor": "acme-agent[bot]",
        })
    }

    /// A token with these claims, signed with the issuer's present key; empty when there is no key.
    pub fn mint(&self, claims: &Value) -> String {
        let (turn, name) = {
            let desk = self.face.desk();
            (desk.issuing.rotations, desk.issuing.key_name())
        };
        let mut header = Header::new(Algorithm::RS256);
        header.kid = Some(name);
        let token = key(turn).and_then(|key| jsonwebtoken::encode(&header, claims, &key).ok());
        token.unwrap_or_default()
    }

    /// Lets a run ask for tokens with these claims, whatever audience it wants: the two variables that
    /// Actions sets for a job with `id-token: write`, the address and the secret.
    pub fn grant_tokens(&self, claims: Value) -> (String, String) {
        let origin = self.lock().origin.clone();
        let mut desk = self.face.desk();
        desk.issuing.runs.push(claims);
        let secret = format!("run-{}", desk.issuing.runs.len() - 1);
        (format!("{origin}{RUNS}?api-version=2.0"), secret)
    }

    /// From now on tokens are signed with another key, and the old one is published no more.
    pub fn rotate_token_keys(&self) {
        self.face.desk().issuing.rotations += 1;
    }

    /// Whether the issuer's pages fail.
    pub fn fail_token_keys(&self, down: bool) {
        self.face.desk().issuing.down = down;
    }

    /// How often the issuer's keys were read.
    pub fn token_key_reads(&self) -> usize {
        self.face.desk().issuing.key_reads
    }

    /// The name and the modulus of the present key, as everybody may read it.
    pub fn token_key(&self) -> Value {
        let (turn, name) = {
            let desk = self.face.desk();
            (desk.issuing.rotations, desk.issuing.key_name())
        };
        published(turn, &name)
            .into_iter()
            .next()
            .unwrap_or_default()
    }
}
