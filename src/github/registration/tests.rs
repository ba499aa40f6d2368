use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::ExposeSecret;

use super::super::tests::{Say, Server, status};
use super::*;

fn given() -> Value {
    json!({
        "id": 200_001, "slug": "countersign", "name": "Countersign",
        "html_url": "https://github.com/apps/countersign", "pem": "a key",
        "webhook_secret": "a secret", "client_id": "Iv1", "client_secret": "another",
    })
}

fn registrar(server: &Server) -> Registrar {
    let timeouts = Timeouts {
        pauses: [Duration::ZERO; 2],
        ..Timeouts::default()
    };
    let api = format!("http://{}/api/v3", server.address);
    Registrar::new(&api, &timeouts, server.clock.clone()).expect("a registrar")
}

async fn answering(value: Value) -> Answer<Registered> {
    let server = Server::start(move |_| Some(Say::Json(201, Vec::new(), value.clone()))).await;
    registrar(&server).exchange("c0de").await
}

#[tokio::test]
async fn a_code_is_exchanged_in_nobodys_name_and_is_one_segment_of_the_path() {
    let server = Server::start(|_| Some(Say::Json(201, Vec::new(), given()))).await;
    let app = registrar(&server).exchange("a/../b?c").await;
    let app = app.expect("an App");
    assert_eq!(app.id.get(), 200_001);
    assert_eq!(app.private_key.expose_secret(), "a key");
    let secret = app.webhook_secret.as_ref().map(ExposeSecret::expose_secret);
    assert_eq!(secret, Some("a secret"));
    let seen = server.seen();
    assert_eq!(
        seen[0].line,
        "POST /api/v3/app-manifests/a%2F..%2Fb%3Fc/conversions"
    );
    assert_eq!((seen[0].bearer.as_str(), &seen[0].body), ("", &Value::Null));
    let shown = format!("{app:?}");
    assert!(!shown.contains("a key") && !shown.contains("a secret"));
}

#[tokio::test]
async fn a_failure_and_silence_are_tried_again_and_a_refusal_is_not() {
    for (first, calls, found) in [
        (status(502, "Bad Gateway"), 2, true),
        (status(408, "Request Timeout"), 2, true),
        (status(404, "Not Found"), 1, false),
        (status(422, "Validation Failed"), 1, false),
        (status(429, "Too many"), 1, false),
    ] {
        let count = AtomicUsize::new(0);
        let server = Server::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0 => first.clone(),
            _ => Some(Say::Json(201, Vec::new(), given())),
        })
        .await;
        let answer = registrar(&server).exchange("c0de").await;
        assert_eq!(answer.is_ok(), found, "{answer:?}");
        assert_eq!(server.seen().len(), calls, "{answer:?}");
    }
    let server = Server::start(|_| status(500, "Oops")).await;
    let answer = registrar(&server).exchange("c0de").await;
    assert_eq!(answer.err(), Some(Refused::Server(500)));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn an_answer_without_key_or_id_is_told_by_name_and_never_repeated() {
    for name in ["id", "pem"] {
        let mut value = given();
        value[name] = json!({ "unexpected": "a key" });
        let refused = answering(value).await.expect_err("a refusal");
        let told = refused.to_string();
        assert!(told.contains(&format!("`{name}`")), "{told}");
        assert!(!told.contains("a key"), "{told}");
    }
}

#[tokio::test]
async fn a_key_is_not_lost_for_want_of_anything_else() {
    let bare = json!({ "id": 200_001, "pem": "a key", "webhook_secret": null });
    let app = answering(bare).await.expect("an App");
    assert!(app.webhook_secret.is_none() && app.html_url.is_none());
    let mut value = given();
    value["html_url"] = json!("javascript:alert(1)");
    assert_eq!(answering(value).await.expect("an App").html_url, None);
}

#[test]
fn the_manifest_is_the_file_with_the_addresses_of_this_setup() {
    let asked = Asked::read().expect("the file is sound");
    let manifest = asked.manifest("http://127.0.0.1:9/created", Some("https://gate.example"));
    insta::assert_snapshot!(format!("{manifest:#}"));
    let bare = asked.manifest("http://127.0.0.1:9/created", None);
    assert_eq!(
        bare["hook_attributes"],
        json!({ "url": NO_WEBHOOK, "active": false })
    );
    assert_eq!(bare["url"], asked.url);
}
