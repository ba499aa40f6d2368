//! What a merge rested on, for programs that know nothing of Countersign.

use countersign::domain::attest::{Attestor, Origin, SUMMARY, TEST_RESULT};
use countersign::domain::ledger::Kind;
use countersign::domain::model::RepoName;
use serde_json::{Value, json};

use crate::stage::Stage;

async fn statements(stage: &Stage) -> Vec<Value> {
    let repo = RepoName::parse("acme/shop").unwrap();
    let origin = Origin {
        repo: &repo,
        github: "https://github.com",
        server: Some("https://gate.example"),
    };
    let mut attestor = Attestor::default();
    let entries = stage.store.ledger(None, 0, 10_000).await.unwrap();
    entries
        .iter()
        .flat_map(|entry| attestor.take(entry, origin))
        .collect()
}

#[tokio::test]
async fn a_merge_is_told_as_a_verification_summary_that_names_policy_evidence_and_ledger_entry() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    stage.unit_passes(&pull).await;
    assert!(statements(&stage).await.is_empty(), "nothing landed yet");
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert!(stage.merged(&pull));

    let told = statements(&stage).await;
    assert_eq!(told.len(), 1);
    let summary = &told[0];
    assert_eq!(summary["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(summary["predicateType"], SUMMARY);
    let tip = stage.shop.tip("main").unwrap();
    assert_eq!(summary["subject"][0]["digest"]["gitCommit"], json!(tip));
    assert_eq!(summary["subject"][0]["annotations"]["head"], json!(head));
    let predicate = &summary["predicate"];
    assert_eq!(predicate["verifier"]["id"], "https://gate.example");
    assert_eq!(predicate["verificationResult"], "PASSED");
    assert_eq!(predicate["verifiedLevels"], json!(["COUNTERSIGNED"]));
    assert_eq!(
        predicate["resourceUri"],
        "git+https://github.com/acme/shop@refs/heads/main"
    );
    let inputs = predicate["inputAttestations"].as_array().unwrap();
    let landed = &stage.ledger(Kind::Landed).await[0];
    assert_eq!(inputs[0]["digest"]["sha256"], json!(landed.hash));
    assert_eq!(inputs[1]["name"], "approved by codex");
    let policy = &predicate["policy"];
    let gates = predicate["gates"].as_array().unwrap();
    assert!(gates.iter().any(|gate| gate["gate"] == "second_verifier"));
    let blob = policy["digest"]["gitBlob"].as_str().unwrap();
    assert_eq!(blob.len(), 40);
}

#[tokio::test]
async fn a_report_that_only_ran_tests_is_told_as_a_test_result_too() {
    let policy = "version: 1\nagents: { authors: [\"acme-agent[bot]\"], vendor: anthropic, model: claude-opus }\n\
                  verifiers: { codex: { app: codex-verify, vendor: openai, model: gpt-5-codex } }\n\
                  gates: { second_verifier: { count: 1, independence: vendor } }\n";
    let stage = Stage::with_policy(policy).await;
    let pull = stage.open_pull().await;
    let mut evidence = stage.evidence(&pull);
    evidence.0["predicate"]["mutation"] = Value::Null;
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    let told = statements(&stage).await;
    assert_eq!(told.len(), 2);
    assert_eq!(told[1]["predicateType"], TEST_RESULT);
    assert_eq!(told[1]["predicate"]["result"], "PASSED");
    let run = &told[1]["predicate"]["configuration"][0];
    assert_eq!(run["name"], "cargo test");
    assert_eq!(run["annotations"]["executed"], 12);
    assert_eq!(
        told[1]["subject"][0]["digest"]["gitCommit"],
        json!(pull.head().unwrap())
    );
}
