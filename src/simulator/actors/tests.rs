use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};

use super::*;
use crate::clock::Clock;
use crate::simulator::{Options, Simulator};

fn github(seed: u64) -> Simulator {
    let start = chrono::DateTime::from_timestamp(1_750_000_000, 0).unwrap();
    let clock = Clock::manual(start);
    Simulator::new(Options { clock, seed }).unwrap()
}

#[test]
fn the_apps_key_signs_tokens_that_its_public_half_verifies() {
    let github = github(1);
    let app = github.app();
    let key = EncodingKey::from_rsa_pem(app.private_key_pem.as_bytes()).unwrap();
    let claims = serde_json::json!({ "iss": app.app_id.to_string(), "exp": 4_000_000_000_u64 });
    let token = jsonwebtoken::encode(&Header::new(Algorithm::RS256), &claims, &key).unwrap();
    let public = DecodingKey::from_rsa_pem(app.public_key_pem.as_bytes()).unwrap();
    let read = jsonwebtoken::decode::<serde_json::Value>(
        &token,
        &public,
        &Validation::new(Algorithm::RS256),
    )
    .unwrap();
    assert_eq!(read.claims["iss"], app.app_id.to_string());
    assert!(
        app.private_key_pem
            .starts_with("-----BEGIN PRIVATE KEY-----\n")
    );
}

#[test]
fn the_same_seed_clock_and_acts_give_the_same_deliveries() {
    let story = |seed| {
        let github = github(seed);
        github.lock().behaviour.addresses = std::env::var_os("LEAN").is_none();
        let alice = github.user("alice");
        let shop = github.repo("acme/shop", &[("a", "1\n")]).unwrap();
        shop.install_app(&alice).unwrap();
        alice
            .push(&shop, "b", "two", Edits::write("a", "2\n"))
            .unwrap();
        let pull = alice.open_pull(&shop, "b", "main", "Two").unwrap();
        pull.read().unwrap();
        let mut world = github.lock();
        world
            .take_deliveries()
            .into_iter()
            .map(|delivery| (delivery.guid, delivery.event, delivery.payload))
            .collect::<Vec<_>>()
    };
    assert_eq!(story(7), story(7));
    assert_ne!(story(7), story(8));
}

#[test]
fn only_apps_report_check_runs() {
    let github = github(1);
    let alice = github.user("alice");
    let shop = github.repo("acme/shop", &[("a", "1\n")]).unwrap();
    let head = shop.tip("main").unwrap();
    assert_eq!(alice.pass(&shop, &head, "unit").unwrap_err().status, 403);
    assert!(github.actions().pass(&shop, &head, "unit").is_ok());
    let codex = github.other_app("codex-verify");
    assert_eq!(codex.login, "codex-verify[bot]");
}

#[test]
fn any_git_program_can_clone_a_repository_of_the_story() {
    let github = github(1);
    let shop = github
        .repo("acme/shop", &[("src/lib.rs", "fn one() {}\n")])
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let cloned = std::process::Command::new("git")
        .args(["clone", "--quiet"])
        .arg(shop.path().unwrap())
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(cloned.success());
    let text = std::fs::read_to_string(folder.path().join("src/lib.rs")).unwrap();
    assert_eq!(text, "fn one() {}\n");
}
