use serde_json::{Value, json};

use super::super::tests::{HEAD, Say, Server, head, number, ok, on, page, repo, status};
use super::*;
use crate::domain::model::Oid;
use crate::domain::render::check::Button;
use crate::github::Refused;

fn made() -> Option<Say> {
    Some(Say::Json(201, Vec::new(), json!({ "id": 99 })))
}

#[tokio::test]
async fn a_check_is_made_with_its_head_its_id_and_its_buttons() {
    let server = Server::start(|seen| on(seen, "/check-runs", made)).await;
    let mut page = page();
    page.text = "how".into();
    page.buttons = vec![Button {
        label: "Hold",
        description: "Stop this pull request",
        identifier: "hold",
    }];
    let run = server
        .client
        .create_check(&repo(), &head(), "pull:1:42", &page)
        .await;
    assert_eq!(run.map(CheckRunId::get), Ok(99));
    assert_eq!(
        server.seen()[0].body,
        json!({
            "name": "countersign", "head_sha": HEAD, "external_id": "pull:1:42",
            "status": "in_progress",
            "output": { "title": "Waiting", "summary": "| gate |", "text": "how" },
            "actions": [{
                "label": "Hold", "description": "Stop this pull request", "identifier": "hold",
            }],
        })
    );
}

#[tokio::test]
async fn a_finished_check_says_so_and_an_empty_text_is_left_out() {
    let server = Server::start(|seen| on(seen, "/check-runs", || ok(json!({})))).await;
    let mut page = page();
    page.conclusion = Some("success");
    let run = CheckRunId::new(99).expect("an id");
    assert_eq!(
        server.client.update_check(&repo(), run, &page).await,
        Ok(())
    );
    let seen = server.seen().remove(0);
    assert_eq!(seen.line, "PATCH /repos/acme/shop/check-runs/99");
    assert_eq!(
        seen.body,
        json!({
            "status": "completed", "conclusion": "success",
            "output": { "title": "Waiting", "summary": "| gate |" }, "actions": [],
        })
    );
}

#[tokio::test]
async fn a_check_that_was_made_without_an_id_is_an_unknown_outcome() {
    for answer in [
        json!({}),
        json!({ "id": null }),
        json!({ "id": 0 }),
        json!([]),
    ] {
        let server =
            Server::start(move |seen| on(seen, "/check-runs", || ok(answer.clone()))).await;
        let refused = server
            .client
            .create_check(&repo(), &head(), "x", &page())
            .await;
        assert!(refused.expect_err("no id").outcome_unknown());
    }
}

#[tokio::test]
async fn a_conclusion_is_not_lost_over_a_long_explanation() {
    let server = Server::start(|seen| on(seen, "/check-runs", made)).await;
    let mut page = page();
    page.summary = "é".repeat(40_000);
    page.text = "x".repeat(70_000);
    server
        .client
        .create_check(&repo(), &head(), "x", &page)
        .await
        .expect("made");
    let output = server.seen().remove(0).body["output"].take();
    let bytes = |field: &str| output[field].as_str().map(str::len);
    assert_eq!(bytes("summary"), Some(65_534), "cut between two characters");
    assert_eq!(bytes("text"), Some(65_535));
}

#[tokio::test]
async fn a_merge_names_the_head_and_the_method() {
    for (method, word) in [
        (Method::Merge, "merge"),
        (Method::Squash, "squash"),
        (Method::Rebase, "rebase"),
    ] {
        let server = Server::start(|seen| {
            let asked = seen.line == "PUT /repos/acme/shop/pulls/42/merge";
            asked
                .then(|| ok(json!({ "merged": true, "sha": HEAD })))
                .flatten()
        })
        .await;
        let answer = server
            .client
            .merge(&repo(), number(), &head(), method)
            .await;
        let commit = Oid::parse(HEAD).expect("an id");
        assert_eq!(answer, MergeAnswer::Merged(commit));
        let body = json!({ "sha": HEAD, "merge_method": word });
        assert_eq!(server.seen()[0].body, body);
    }
}

#[tokio::test]
async fn a_write_to_an_old_name_goes_to_the_number_once() {
    for redirect in [301, 302, 307, 308] {
        let server = Server::start(move |seen| match seen.line.as_str() {
            "POST /repos/acme/shop/check-runs" => Some(Say::Json(
                redirect,
                vec![("location", "/somewhere/else".into())],
                Value::Null,
            )),
            "POST /repositories/1296269/check-runs" => made(),
            _ => None,
        })
        .await;
        let run = server
            .client
            .create_check(&repo(), &head(), "x", &page())
            .await;
        assert_eq!(run.map(CheckRunId::get), Ok(99));
        let seen = server.seen();
        assert_eq!(seen.len(), 2, "{redirect}");
        assert_eq!(seen[0].body, seen[1].body);
    }
}

#[tokio::test]
async fn a_merge_that_is_redirected_twice_is_gone_and_not_sent_on() {
    let server = Server::start(|seen| {
        seen.line
            .starts_with("PUT ")
            .then(|| status(307, "Moved"))
            .flatten()
    })
    .await;
    let answer = server
        .client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert!(matches!(answer, MergeAnswer::Gone(_)), "{answer:?}");
    assert_eq!(server.lines().len(), 2);
}

#[tokio::test]
async fn a_write_that_is_not_found_is_not_sent_elsewhere() {
    let server = Server::start(|_| None).await;
    let outcome = server
        .client
        .create_check(&repo(), &head(), "x", &page())
        .await;
    assert_eq!(outcome, Err(Refused::NotFound("Not Found".into())));
    assert_eq!(server.lines(), ["POST /repos/acme/shop/check-runs"]);
}

#[tokio::test]
async fn a_merge_that_was_never_sent_is_told_by_what_kept_it() {
    let kept = async |code: u16| {
        let server = Server::start(move |seen| {
            seen.line
                .ends_with("/access_tokens")
                .then(|| status(code, "why"))
                .flatten()
        })
        .await;
        let answer = server
            .client
            .merge(&repo(), number(), &head(), Method::Merge)
            .await;
        assert!(server.lines().is_empty());
        answer
    };
    assert_eq!(kept(401).await, MergeAnswer::Unauthorized("why".into()));
    assert_eq!(kept(403).await, MergeAnswer::Forbidden("why".into()));
    assert_eq!(kept(404).await, MergeAnswer::Forbidden("why".into()));
    assert!(matches!(kept(429).await, MergeAnswer::Limited(_)));
}
