use serde_json::{Value, json};

use super::*;
use crate::domain::evidence::parse;
use crate::domain::testing::{self, head};

const ISSUER: &str = "https://token.actions.githubusercontent.com";
const AUDIENCE: &str = "https://gate.example";
const NOW: i64 = 1_790_000_000;
const PINNED: &str = "acme/shop/.github/workflows/verify.yml@refs/heads/main";

fn now() -> Timestamp {
    chrono::DateTime::from_timestamp(NOW, 0).unwrap()
}

fn repo() -> Repository {
    testing::snapshot().repo
}

/// A token of a run that was started on the base branch.
fn token() -> Value {
    json!({
        "iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 300, "nbf": NOW - 5, "iat": NOW - 5,
        "repository_id": repo().id.to_string(), "repository": "acme/shop",
        "event_name": "workflow_dispatch", "ref": "refs/heads/main",
        "sha": "f".repeat(40), "job_workflow_ref": PINNED, "run_id": "77",
    })
}

fn with(changes: Value) -> Claims {
    let mut token = token();
    for (name, value) in changes.as_object().unwrap() {
        token[name] = value.clone();
    }
    Claims::read(&token)
}

fn document(name: &str, digit: char) -> Statement {
    let text = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": name, "digest": { "gitCommit": head(digit) } }],
        "predicateType": "urn:countersign:verification:v1",
        "predicate": { "result": "approved", "context": "exec-1" },
    });
    parse::document(&text.to_string()).unwrap()
}

fn unproved(changes: Value) -> Refusal {
    with(changes).prove(ISSUER, AUDIENCE, now()).unwrap_err()
}

/// Pull request 1 into `main` with a head of `a`s.
fn pulls() -> Vec<PullRequest> {
    let mut pull = testing::pull();
    pull.head = head('a');
    vec![pull]
}

fn refused(changes: Value) -> Refusal {
    let name = repo().name.to_string();
    let mut claims = token();
    claims["repository"] = json!(name);
    let pinned = format!("{name}/.github/workflows/verify.yml@refs/heads/main");
    claims["job_workflow_ref"] = json!(pinned);
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let pulls = pulls();
    let admitted = Claims::read(&claims).admit(&repo(), &document(&name, 'a'), &pulls);
    admitted.map(|(ran, _)| ran).unwrap_err()
}

#[test]
fn a_good_token_is_proven_and_a_slash_at_the_end_of_the_audience_is_none_of_it() {
    with(json!({})).prove(ISSUER, AUDIENCE, now()).unwrap();
    let slash = format!("{AUDIENCE}/");
    with(json!({})).prove(ISSUER, &slash, now()).unwrap();
    with(json!({ "aud": [slash] }))
        .prove(ISSUER, AUDIENCE, now())
        .unwrap();
}

#[test]
fn every_claim_that_proves_who_asks_is_looked_at() {
    assert_eq!(
        unproved(json!({ "iss": "https://evil.example" })).claim,
        "iss"
    );
    assert_eq!(unproved(json!({ "iss": null })).claim, "iss");
    assert_eq!(
        unproved(json!({ "aud": "https://other.example" })).claim,
        "aud"
    );
    assert_eq!(unproved(json!({ "aud": [] })).claim, "aud");
    let both = json!({ "aud": [AUDIENCE, "https://other.example"] });
    assert_eq!(unproved(both).claim, "aud");
    assert_eq!(unproved(json!({ "exp": NOW - SKEW })).claim, "exp");
    assert_eq!(unproved(json!({ "exp": null })).claim, "exp");
    assert_eq!(unproved(json!({ "nbf": NOW + SKEW + 1 })).claim, "nbf");
    assert_eq!(unproved(json!({ "iat": NOW + SKEW + 1 })).claim, "iat");
}

#[test]
fn clocks_may_differ_by_a_minute() {
    with(json!({ "exp": NOW - SKEW + 1, "nbf": NOW + SKEW }))
        .prove(ISSUER, AUDIENCE, now())
        .unwrap();
}

#[test]
fn only_a_branch_that_a_gate_protects_vouches_for_a_workflow() {
    let name = repo().name.to_string();
    let file = format!("{name}/.github/workflows/verify.yml");
    for place in [
        "@refs/pull/1/merge",
        "@refs/tags/main",
        "@refs/heads/agent/start",
        "@refs/heads/main/x",
        "@ffffffffffffffffffffffffffffffffffffffff",
        "",
    ] {
        let refusal = refused(json!({ "job_workflow_ref": format!("{file}{place}") }));
        assert_eq!(refusal.claim, "job_workflow_ref", "{place}");
        assert!(refusal.expected.contains("Pin it"), "{refusal}");
    }
}

#[test]
fn another_repositorys_workflow_vouches_for_nothing() {
    let place = "acme/tools/.github/workflows/verify.yml@refs/heads/main";
    let refusal = refused(json!({ "job_workflow_ref": place }));
    assert!(refusal.expected.contains("itself"), "{refusal}");
}

#[test]
fn each_event_names_the_head_in_its_own_way() {
    let number = pulls()[0].number;
    let merge = format!("refs/pull/{number}/merge");
    for (event, git_ref, sha, wrong) in [
        ("pull_request", merge.as_str(), "f", None),
        ("pull_request", "refs/pull/99/merge", "f", Some("ref")),
        ("pull_request", "refs/heads/main", "a", Some("ref")),
        ("push", "refs/heads/agent/start", "a", None),
        ("push", "refs/heads/agent/start", "f", Some("sha")),
        ("pull_request_target", "refs/heads/main", "f", None),
        ("workflow_run", "refs/heads/main", "f", None),
        ("schedule", "refs/heads/main", "f", None),
        ("issue_comment", "refs/heads/main", "f", Some("event_name")),
        ("", "refs/heads/main", "f", Some("event_name")),
    ] {
        let name = repo().name.to_string();
        let mut claims = token();
        claims["repository"] = json!(name);
        claims["job_workflow_ref"] = json!(format!(
            "{name}/.github/workflows/verify.yml@refs/heads/main"
        ));
        claims["event_name"] = json!(event);
        claims["ref"] = json!(git_ref);
        claims["sha"] = json!(sha.repeat(40));
        let pulls = pulls();
        let admitted = Claims::read(&claims).admit(&repo(), &document(&name, 'a'), &pulls);
        let found = admitted.err().map(|refusal| refusal.claim);
        assert_eq!(found, wrong, "{event} {git_ref}");
    }
}

#[test]
fn a_document_about_something_else_is_refused_by_its_field() {
    let name = repo().name.to_string();
    let refusal = about(&document("acme/other", 'a'), &name, &pulls()).unwrap_err();
    assert_eq!(refusal.claim, "subject[0].name");
    let refusal = about(&document(&name, 'a'), &name, &[]).unwrap_err();
    assert_eq!(refusal.claim, "subject[0].digest.gitCommit");
    about(&document(&name.to_uppercase(), 'a'), &name, &pulls()).unwrap();
}

#[test]
fn the_base_and_the_default_branch_are_protected_and_nothing_that_is_named_like_them() {
    let base = BaseRef::parse("release").unwrap();
    let default = BaseRef::parse("main").unwrap();
    let protected = |git_ref: &str| is_protected(git_ref, Some(&base), Some(&default));
    assert!(protected("refs/heads/release"));
    assert!(protected("refs/heads/main"));
    for other in [
        "main",
        "refs/tags/main",
        "refs/heads/main2",
        "refs/heads/agent/main",
    ] {
        assert!(!protected(other), "{other}");
    }
    assert!(!is_protected("refs/heads/main", Some(&base), None));
}
