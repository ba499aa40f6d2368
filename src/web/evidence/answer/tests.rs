use http_body_util::BodyExt as _;
use serde_json::Value;

use super::*;
use crate::github::Refused;

async fn told(response: Response) -> String {
    let status = response.status();
    let after = response.headers().get(header::RETRY_AFTER).cloned();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    let after = after.map_or(String::new(), |after| {
        format!(", come again in {} s", after.to_str().unwrap())
    });
    format!("{status}{after}\n{body:#}\n")
}

fn claim() -> identity::Refusal {
    identity::Refusal {
        claim: "aud",
        found: "`https://github.com/acme`".into(),
        expected: "`https://gate.example` alone".into(),
    }
}

#[tokio::test]
async fn every_answer_to_posted_evidence_says_what_became_of_it_or_what_to_do() {
    let fault = |path: &str, message: &str| Fault {
        path: path.into(),
        message: message.into(),
    };
    let refusals = [
        Refusal::Nobody,
        Refusal::Token(Unproved::Malformed),
        Refusal::Token(Unproved::Algorithm),
        Refusal::Token(Unproved::UnknownKey),
        Refusal::Token(Unproved::Signature),
        Refusal::Token(Unproved::NoKeys(Refused::Server(502))),
        Refusal::Claim(claim()),
        Refusal::Signature,
        Refusal::Forbidden(claim()),
        Refusal::Faulty(vec![fault("predicate.result", "is `splendid`")]),
        Refusal::Faulty(vec![fault("a", "is missing"), fault("b", "is missing")]),
        Refusal::TooLarge,
        Refusal::Type,
        Refusal::Compressed,
        Refusal::Broken,
        Refusal::Late,
        Refusal::Crowded,
        Refusal::Slow(8),
        Refusal::TooMany(42),
        Refusal::NoAddress,
        Refusal::NoPolicy,
        Refusal::NoPullYet("4f9d21c".into()),
        Refusal::Store,
    ];
    let mut answers = Vec::new();
    for kept in [Placed::Stored, Placed::Known, Placed::Another, Placed::Full] {
        answers.push(told(placed(kept)).await);
    }
    for refusal in refusals {
        answers.push(told(refusal.into_response()).await);
    }
    insta::assert_snapshot!("answers", answers.join("\n"));
}
