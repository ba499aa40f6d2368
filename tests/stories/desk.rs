//! Where stories post evidence: a pull request that lacks nothing else, and who may bring it.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use countersign::domain::evidence::envelope::{MEDIA_TYPE, PAYLOAD_TYPE, pae};
use countersign::simulator::PullHandle;
use http::{HeaderMap, Request};
use serde_json::{Value, json};

use crate::http::Http;
use crate::stage::{Evidence, POLICY, PUBLIC_URL, Stage};

pub const WORKFLOW: &str = ".github/workflows/verify.yml";
pub const MAIN: &str = "refs/heads/main";
/// The first key of RFC 8032, section 7.1: its seed, and its public half.
const SEED: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
pub const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

/// The usual policy, with verifiers that post: a workflow, a key, and the author side's own.
pub fn policy() -> String {
    let verifiers = format!(
        "verifiers:\n  nightly: {{ workflow: {WORKFLOW}, vendor: openai, model: gpt-5-codex }}\n  \
         sealed: {{ key: {KEY}, vendor: google, model: gemini-pro }}\n  \
         own: {{ workflow: .github/workflows/own.yml, vendor: anthropic, model: claude-opus }}\n"
    );
    POLICY.replace("verifiers:\n", &verifiers)
}

/// A pull request that lacks nothing but a second verifier and mutants, and where to post them.
pub struct Desk {
    pub stage: Stage,
    pub pull: PullHandle,
    pub url: String,
    http: Http,
}

impl Desk {
    pub async fn new() -> Self {
        Self::on(Stage::with_policy(&policy()).await).await
    }

    pub async fn on(stage: Stage) -> Self {
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let url = stage.serve_pages("token").await + "/evidence";
        let http = Http::new();
        Self {
            stage,
            pull,
            url,
            http,
        }
    }

    /// The server anew over the same store, as after a restart.
    pub async fn restart(&mut self) {
        self.url = self.stage.serve_pages("token").await + "/evidence";
    }

    pub fn claims(&self) -> Value {
        let github = &self.stage.github;
        github.run_claims(&self.pull, WORKFLOW, MAIN, PUBLIC_URL)
    }

    pub fn good(&self) -> Evidence {
        self.stage.evidence(&self.pull)
    }

    pub async fn send(&self, headers: &[(&str, &str)], body: String) -> (u16, Value, HeaderMap) {
        let mut request = Request::builder().method("POST").uri(&self.url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let (status, headers, body) = self.http.send(request).await.unwrap();
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        (status.as_u16(), body, headers)
    }

    pub async fn with_token(&self, token: &str, document: &Evidence) -> (u16, Value, HeaderMap) {
        let bearer = format!("Bearer {token}");
        let json = "application/vnd.in-toto+json";
        let headers = [("authorization", bearer.as_str()), ("content-type", json)];
        let answer = self.send(&headers, document.0.to_string()).await;
        if token.len() > 20 {
            assert!(!answer.1.to_string().contains(token), "the token is told");
        }
        self.stage.settle().await;
        answer
    }

    /// Posts with these claims.
    pub async fn run(&self, claims: &Value, document: &Evidence) -> (u16, Value, HeaderMap) {
        let token = self.stage.github.mint(claims);
        self.with_token(&token, document).await
    }

    pub async fn signed(&self, envelope: &Value) -> (u16, Value, HeaderMap) {
        let headers = [("content-type", MEDIA_TYPE)];
        let answer = self.send(&headers, envelope.to_string()).await;
        self.stage.settle().await;
        answer
    }

    /// Refused with this status by this claim, and nothing came of it.
    pub async fn refused(&self, claims: &Value, document: &Evidence, status: u16, claim: &str) {
        let (told, body, _) = self.run(claims, document).await;
        assert_eq!((told, &body["claim"]), (status, &json!(claim)), "{body:#}");
        self.nothing_came_of_it().await;
    }

    pub async fn nothing_came_of_it(&self) {
        let state = self.stage.state(&self.pull, "second_verifier").await;
        assert_eq!(state, "waiting");
        assert!(!self.stage.merged(&self.pull));
        assert_eq!(self.stage.merge_calls(), 0);
    }
}

/// The key that the policy names.
pub fn pair() -> Ed25519KeyPair {
    let seed = hex::decode(SEED).unwrap();
    let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
    assert_eq!(hex::encode(pair.public_key().as_ref()), KEY);
    pair
}

/// An envelope around a document.
pub fn sealed(document: &Evidence, by: &Ed25519KeyPair) -> Value {
    let payload = document.0.to_string();
    let signature = by.sign(&pae(PAYLOAD_TYPE, payload.as_bytes()));
    json!({
        "payloadType": PAYLOAD_TYPE,
        "payload": STANDARD.encode(payload),
        "signatures": [{ "keyid": "whatever", "sig": STANDARD.encode(signature.as_ref()) }],
    })
}
