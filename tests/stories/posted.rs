//! Evidence by post: who brings it is proven by GitHub's token for the run or by a key's signature, and
//! nothing that a document says of its author counts.

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use countersign::simulator::Edits;
use serde_json::json;

use crate::desk::{Desk, KEY, MAIN, WORKFLOW, pair, policy, sealed};
use crate::stage::{AFTER, PUBLIC_URL, Stage};

#[tokio::test]
async fn what_a_workflow_at_the_base_branch_posts_countersigns_and_the_gate_merges() {
    let desk = Desk::new().await;
    let (status, body, _) = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!((status, &body["stored"]), (201, &json!(true)), "{body:#}");
    let told = desk.stage.told(&desk.pull).await;
    assert!(desk.stage.merged(&desk.pull), "{told}");
}

#[tokio::test]
async fn what_a_key_of_the_policy_signed_countersigns_and_the_gate_merges() {
    let desk = Desk::new().await;
    let (status, body, _) = desk.signed(&sealed(&desk.good(), &pair())).await;
    assert_eq!(status, 201, "{body:#}");
    assert!(desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn an_envelope_in_url_safe_base64_and_as_plain_json_is_taken() {
    let desk = Desk::new().await;
    let mut envelope = sealed(&desk.good(), &pair());
    let payload = desk.good().0.to_string();
    envelope["payload"] = json!(URL_SAFE_NO_PAD.encode(payload));
    let headers = [("content-type", "application/json")];
    let (status, body, _) = desk.send(&headers, envelope.to_string()).await;
    assert_eq!(status, 201, "{body:#}");
}

#[tokio::test]
async fn a_document_that_says_it_is_another_verifiers_is_its_carriers_alone() {
    let desk = Desk::new().await;
    let mut claims = desk.claims();
    claims["job_workflow_ref"] = json!(format!("acme/shop/.github/workflows/own.yml@{MAIN}"));
    let forged = desk.good().with("/vendor", json!("openai"));
    let forged = forged.with("/verifier", json!("codex"));
    let forged = forged.with("/model", json!("gpt-5-codex"));
    let (status, body, _) = desk.run(&claims, &forged).await;
    assert_eq!(status, 201, "{body:#}");
    desk.nothing_came_of_it().await;
    let said = desk.stage.reasons(&desk.pull, "second_verifier").await;
    assert!(said.contains("another vendor"), "{said}");
}

#[tokio::test]
async fn a_workflow_that_the_policy_does_not_name_may_not_report_whatever_the_document_says() {
    let desk = Desk::new().await;
    let mut claims = desk.claims();
    claims["job_workflow_ref"] = json!(format!("acme/shop/.github/workflows/x.yml@{MAIN}"));
    desk.refused(&claims, &desk.good(), 403, "job_workflow_ref")
        .await;
}

#[tokio::test]
async fn evidence_for_another_head_is_refused_and_does_not_follow_the_pull_request() {
    let desk = Desk::new().await;
    let old = desk.good();
    let edits = Edits::write("src/start.rs", AFTER.replace("push(1)", "push(3)"));
    let agent = &desk.stage.agent;
    agent
        .push(&desk.stage.shop, "agent/start", "Better", edits)
        .unwrap();
    desk.stage.settle().await;
    desk.stage.unit_passes(&desk.pull).await;
    let field = "subject[0].digest.gitCommit";
    desk.refused(&desk.claims(), &old, 403, field).await;
    desk.stage.after(6).await;
    let (status, ..) = desk.signed(&sealed(&old, &pair())).await;
    assert_eq!(status, 403);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn evidence_that_was_posted_for_a_head_does_not_count_for_the_next() {
    let desk = Desk::new().await;
    let weak = desk.good().without("mutation");
    let (status, ..) = desk.run(&desk.claims(), &weak).await;
    assert_eq!(status, 201);
    assert_eq!(
        desk.stage.state(&desk.pull, "second_verifier").await,
        "satisfied"
    );
    let edits = Edits::write("src/start.rs", AFTER.replace("push(1)", "push(3)"));
    let agent = &desk.stage.agent;
    agent
        .push(&desk.stage.shop, "agent/start", "Better", edits)
        .unwrap();
    desk.stage.settle().await;
    desk.stage.unit_passes(&desk.pull).await;
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn another_repositorys_token_and_a_forks_may_not_report() {
    let desk = Desk::new().await;
    let mut claims = desk.claims();
    claims["repository_id"] = json!("99");
    desk.refused(&claims, &desk.good(), 403, "repository_id")
        .await;
    let mallory = desk.stage.github.user("mallory");
    let fork = mallory.fork(&desk.stage.shop).unwrap();
    let claims = desk
        .stage
        .github
        .claims_of(&fork, WORKFLOW, MAIN, PUBLIC_URL);
    assert_ne!(claims["repository_id"], desk.claims()["repository_id"]);
    desk.refused(&claims, &desk.good(), 403, "repository_id")
        .await;
}

#[tokio::test]
async fn a_token_of_one_repository_may_not_report_about_another_one_where_the_app_acts_too() {
    let desk = Desk::new().await;
    let github = &desk.stage.github;
    let other = github.repo("acme/other", &[("README.md", "x\n")]).unwrap();
    other.install_app(&desk.stage.alice).unwrap();
    desk.stage.settle().await;
    let claims = github.claims_of(&other, WORKFLOW, MAIN, PUBLIC_URL);
    desk.refused(&claims, &desk.good(), 403, "subject[0].name")
        .await;
}

#[tokio::test]
async fn an_unpinned_workflow_is_refused_and_told_how_to_pin_it() {
    let desk = Desk::new().await;
    let number = desk.pull.number;
    for place in [
        format!("refs/pull/{number}/merge"),
        "refs/heads/agent/start".to_owned(),
        "refs/tags/v1".to_owned(),
    ] {
        let mut claims = desk.claims();
        claims["job_workflow_ref"] = json!(format!("acme/shop/{WORKFLOW}@{place}"));
        let (status, body, _) = desk.run(&claims, &desk.good()).await;
        assert_eq!(status, 403, "{place}: {body:#}");
        let error = body["error"].as_str().unwrap();
        assert!(error.contains("unpinned workflow"), "{error}");
        assert!(error.contains("uses: OWNER/REPO"), "{error}");
    }
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn a_token_for_another_audience_and_one_that_is_too_old_prove_nothing() {
    let desk = Desk::new().await;
    let mut claims = desk.claims();
    claims["aud"] = json!("https://github.com/acme");
    desk.refused(&claims, &desk.good(), 401, "aud").await;
    let mut claims = desk.claims();
    claims["iss"] = json!("https://token.actions.githubusercontent.com");
    desk.refused(&claims, &desk.good(), 401, "iss").await;
    let claims = desk.claims();
    desk.stage.after(400).await;
    desk.refused(&claims, &desk.good(), 401, "exp").await;
}

#[tokio::test]
async fn a_new_key_is_fetched_once_a_minute_and_its_tokens_count() {
    let desk = Desk::new().await;
    let github = &desk.stage.github;
    let mut document = desk.good().with("/result", json!("rejected"));
    assert_eq!(desk.run(&desk.claims(), &document).await.0, 201);
    assert_eq!(desk.run(&desk.claims(), &document).await.0, 200);
    assert_eq!(github.token_key_reads(), 1);
    github.rotate_token_keys();
    let (status, body, _) = desk.run(&desk.claims(), &document).await;
    assert_eq!(status, 401, "{body:#}");
    assert_eq!(github.token_key_reads(), 1, "not twice in a minute");
    desk.stage.after(61).await;
    document = document.with("/context", json!("exec-2"));
    assert_eq!(desk.run(&desk.claims(), &document).await.0, 201);
    assert_eq!(github.token_key_reads(), 2);
}

#[tokio::test]
async fn known_keys_are_used_while_the_issuer_is_down_and_unknown_ones_wait() {
    let desk = Desk::new().await;
    let github = &desk.stage.github;
    github.fail_token_keys(true);
    let (status, body, headers) = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!(status, 503, "{body:#}");
    assert!(headers.contains_key("retry-after"));
    github.fail_token_keys(false);
    desk.stage.after(61).await;
    let rejected = desk.good().with("/result", json!("rejected"));
    assert_eq!(desk.run(&desk.claims(), &rejected).await.0, 201);
    github.fail_token_keys(true);
    desk.stage.after(7_200).await;
    assert_eq!(desk.run(&desk.claims(), &rejected).await.0, 200);
}

#[tokio::test]
async fn a_token_that_chooses_its_own_algorithm_proves_nothing() {
    let desk = Desk::new().await;
    let claims = URL_SAFE_NO_PAD.encode(desk.claims().to_string());
    let none = URL_SAFE_NO_PAD.encode(json!({ "alg": "none", "kid": "key-0" }).to_string());
    let (status, body, _) = desk
        .with_token(&format!("{none}.{claims}."), &desk.good())
        .await;
    assert_eq!(status, 401, "{body:#}");
    let key = desk.stage.github.token_key();
    let modulus = key["n"].as_str().unwrap();
    for secret in [
        modulus.as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(modulus).unwrap(),
    ] {
        let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::HS256);
        header.kid = Some("key-0".to_owned());
        let secret = jsonwebtoken::EncodingKey::from_secret(&secret);
        let token = jsonwebtoken::encode(&header, &desk.claims(), &secret).unwrap();
        let (status, body, _) = desk.with_token(&token, &desk.good()).await;
        assert_eq!(status, 401, "{body:#}");
        let error = body["error"].as_str().unwrap();
        assert!(error.contains("RS256"), "{error}");
    }
    let good = desk.stage.github.mint(&desk.claims());
    let (head, rest) = good.split_once('.').unwrap();
    let (_, signature) = rest.split_once('.').unwrap();
    let mut other = desk.claims();
    other["repository_id"] = json!("1");
    let other = URL_SAFE_NO_PAD.encode(other.to_string());
    let bent = format!("{head}.{other}.{signature}");
    assert_eq!(desk.with_token(&bent, &desk.good()).await.0, 401);
    assert_eq!(desk.with_token("nonsense", &desk.good()).await.0, 401);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn a_push_run_must_stand_on_the_head_and_a_merge_ref_on_its_own_pull_request() {
    let desk = Desk::new().await;
    let mut claims = desk.claims();
    claims["event_name"] = json!("push");
    desk.refused(&claims, &desk.good(), 403, "sha").await;
    let mut claims = desk.claims();
    claims["ref"] = json!("refs/pull/99/merge");
    desk.refused(&claims, &desk.good(), 403, "ref").await;
    let mut claims = desk.claims();
    claims["event_name"] = json!("push");
    claims["ref"] = json!("refs/heads/agent/start");
    claims["sha"] = json!(desk.pull.head().unwrap());
    assert_eq!(desk.run(&claims, &desk.good()).await.0, 201);
}

#[tokio::test]
async fn the_same_document_again_is_known_and_another_of_the_same_run_is_refused() {
    let desk = Desk::new().await;
    let rejected = desk.good().with("/result", json!("rejected"));
    assert_eq!(desk.run(&desk.claims(), &rejected).await.0, 201);
    assert_eq!(desk.run(&desk.claims(), &rejected).await.0, 200);
    let (status, body, _) = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!(status, 409, "{body:#}");
    assert!(body["error"].as_str().unwrap().contains("context"));
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_ne!(state, "satisfied");
    assert!(!desk.stage.merged(&desk.pull));
}

#[tokio::test]
async fn what_arrived_is_known_when_it_is_posted_again_after_the_merge() {
    let desk = Desk::new().await;
    let envelope = sealed(&desk.good(), &pair());
    assert_eq!(desk.signed(&envelope).await.0, 201);
    assert!(desk.stage.merged(&desk.pull));
    let (status, body, _) = desk.signed(&envelope).await;
    assert_eq!((status, &body["stored"]), (200, &json!(false)), "{body:#}");
    // Another document for the merged head is refused as before, and so is the same from somebody else.
    let other = desk.good().with("/context", json!("exec-2"));
    desk.stage.after(6).await;
    assert_eq!(desk.signed(&sealed(&other, &pair())).await.0, 403);
    desk.stage.after(6).await;
    assert_eq!(desk.run(&desk.claims(), &desk.good()).await.0, 403);
}

#[tokio::test]
async fn a_document_with_faults_is_told_all_of_them_by_their_paths() {
    let desk = Desk::new().await;
    let faulty = desk.good().with("/result", json!("splendid"));
    let faulty = faulty.with("/tests/0/executed", json!("many"));
    let (status, body, _) = desk.run(&desk.claims(), &faulty).await;
    assert_eq!(status, 422, "{body:#}");
    let faults = body["faults"].as_array().unwrap();
    let paths: Vec<_> = faults.iter().map(|fault| fault["path"].clone()).collect();
    assert_eq!(paths, ["predicate.result", "predicate.tests[0].executed"]);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn what_is_too_large_or_no_json_or_nobodys_is_refused() {
    let desk = Desk::new().await;
    let token = format!("Bearer {}", desk.stage.github.mint(&desk.claims()));
    let json = ("content-type", "application/json");
    let large = "x".repeat(2 * 1024 * 1024);
    let (status, ..) = desk.send(&[("authorization", &token), json], large).await;
    assert_eq!(status, 413);
    let form = ("content-type", "application/x-www-form-urlencoded");
    let body = desk.good().0.to_string();
    let (status, ..) = desk
        .send(&[("authorization", &token), form], body.clone())
        .await;
    assert_eq!(status, 415);
    let packed = ("content-encoding", "gzip");
    let (status, told, _) = desk
        .send(&[("authorization", &token), json, packed], body.clone())
        .await;
    assert_eq!(status, 415);
    assert!(told["error"].as_str().unwrap().contains("compressed"));
    let (status, told, headers) = desk.send(&[json], body).await;
    assert_eq!(status, 401);
    assert!(headers.contains_key("www-authenticate"));
    assert!(told["error"].as_str().unwrap().contains("DSSE envelope"));
    let (status, ..) = desk
        .send(&[("authorization", "Basic eDp5"), json], "{}".into())
        .await;
    assert_eq!(status, 401);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn whoever_posts_too_often_is_told_when_to_come_again() {
    let desk = Desk::new().await;
    let rejected = desk.good().with("/result", json!("rejected"));
    for _ in 0..60 {
        let status = desk.run(&desk.claims(), &rejected).await.0;
        assert!(matches!(status, 200 | 201), "{status}");
    }
    let (status, _, headers) = desk.run(&desk.claims(), &rejected).await;
    assert_eq!(
        (status, headers["retry-after"].as_bytes()),
        (429, &b"60"[..])
    );
    desk.stage.after(61).await;
    assert_eq!(desk.run(&desk.claims(), &rejected).await.0, 200);
}

#[tokio::test]
async fn a_signature_of_another_key_or_over_another_document_proves_nothing() {
    let desk = Desk::new().await;
    let stranger = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let (status, body, _) = desk.signed(&sealed(&desk.good(), &stranger)).await;
    assert_eq!(status, 401, "{body:#}");
    let rejected = desk.good().with("/result", json!("rejected"));
    let mut bent = sealed(&rejected, &pair());
    bent["payload"] = json!(STANDARD.encode(desk.good().0.to_string()));
    assert_eq!(desk.signed(&bent).await.0, 401);
    let mut typed = sealed(&desk.good(), &pair());
    typed["payloadType"] = json!("text/plain");
    assert_eq!(desk.signed(&typed).await.0, 422);
    desk.nothing_came_of_it().await;
}

#[tokio::test]
async fn a_key_that_the_policy_names_no_more_speaks_no_more() {
    let desk = Desk::new().await;
    let weak = desk.good().without("mutation");
    assert_eq!(desk.signed(&sealed(&weak, &pair())).await.0, 201);
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_eq!(state, "satisfied");
    let without: Vec<_> = policy().lines().map(str::to_owned).collect();
    let without: Vec<_> = without
        .into_iter()
        .filter(|line| !line.contains(KEY))
        .collect();
    let edits = Edits::write(".github/countersign.yml", without.join("\n") + "\n");
    let alice = &desk.stage.alice;
    alice
        .push(&desk.stage.shop, "main", "Drop a key", edits)
        .unwrap();
    desk.stage.settle().await;
    desk.stage.sweep().await;
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_eq!(state, "waiting");
    let again = weak.with("/context", json!("exec-2"));
    assert_eq!(desk.signed(&sealed(&again, &pair())).await.0, 401);
}

#[tokio::test]
async fn posted_evidence_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("gate.db").display());
    let store = countersign::store::sqlite::Sqlite::open(&url)
        .await
        .unwrap();
    let stage = Stage::build(&policy(), std::sync::Arc::new(store), 1).await;
    let mut desk = Desk::on(stage).await;
    let weak = desk.good().without("mutation");
    assert_eq!(desk.run(&desk.claims(), &weak).await.0, 201);
    let store = countersign::store::sqlite::Sqlite::open(&url)
        .await
        .unwrap();
    desk.stage.store = std::sync::Arc::new(store);
    desk.stage.restart().await;
    desk.restart().await;
    assert_eq!(desk.run(&desk.claims(), &weak).await.0, 200);
    desk.stage.sweep().await;
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_eq!(state, "satisfied");
}

#[tokio::test]
async fn a_workflow_at_a_base_that_is_the_base_no_more_does_not_count() {
    let desk = Desk::new().await;
    let alice = &desk.stage.alice;
    let shop = &desk.stage.shop;
    alice
        .push(
            shop,
            "release",
            "Branch off",
            Edits::none().and_write("R", "1\n"),
        )
        .unwrap();
    let edits = Edits::write(".github/countersign.yml", policy());
    alice.push(shop, "release", "The policy", edits).unwrap();
    alice.retarget(&desk.pull, "release").unwrap();
    desk.stage.settle().await;
    desk.stage.sweep().await;
    let about = |base: &str| {
        let sha = shop.tip(base).unwrap();
        let weak = desk.good().without("mutation");
        weak.with("/base", json!({ "ref": base, "sha": sha }))
    };
    let mut claims = desk.claims();
    let at = format!("acme/shop/{WORKFLOW}@refs/heads/release");
    claims["job_workflow_ref"] = json!(at);
    let (status, body, _) = desk.run(&claims, &about("release")).await;
    assert_eq!(status, 201, "{body:#}");
    let said = desk.stage.reasons(&desk.pull, "second_verifier").await;
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_eq!(state, "satisfied", "{said}");
    // One that claims the later base already, from the branch that is not it any more then.
    let early = about("main").with("/context", json!("exec-2"));
    assert_eq!(desk.run(&claims, &early).await.0, 201);
    alice.retarget(&desk.pull, "main").unwrap();
    desk.stage.settle().await;
    desk.stage.sweep().await;
    let said = desk.stage.reasons(&desk.pull, "second_verifier").await;
    let state = desk.stage.state(&desk.pull, "second_verifier").await;
    assert_eq!(state, "waiting", "{said}");
    assert!(said.contains("no verifier of the policy"), "{said}");
}
