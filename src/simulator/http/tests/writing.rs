//! Merging, updating, commenting, labelling over the wire.

use super::*;

#[tokio::test]
async fn a_merge_names_the_head_and_is_answered_with_the_commit() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let path = format!("/pulls/{}/merge", pull.number);
    let moved = shop
        .ask("PUT", &path, json!({ "sha": "0".repeat(40) }))
        .await;
    assert_eq!(moved.status, 409);
    assert!(moved.message().starts_with("Head branch was modified."));
    let odd = shop
        .ask("PUT", &path, json!({ "merge_method": "fast" }))
        .await;
    assert_eq!(odd.status, 422);
    let head = pull.head().unwrap();
    let merged = shop
        .ask(
            "PUT",
            &path,
            json!({ "sha": head, "merge_method": "merge" }),
        )
        .await;
    assert_eq!((merged.status, &merged.body["merged"]), (200, &json!(true)));
    assert_eq!(merged.body["sha"], json!(shop.repo.tip("main").unwrap()));
    let again = shop.ask("PUT", &path, json!({ "sha": head })).await;
    assert_eq!(
        (again.status, again.message()),
        (405, "Pull Request is not mergeable")
    );
    let calls = shop.github.calls_to("PUT", "/merge");
    assert_eq!(calls.len(), 4);
    assert_eq!(calls[2].body["sha"], json!(head));
    assert_eq!(calls[2].status, 200);
    assert_eq!(calls[2].route, "/repos/{owner}/{repo}/pulls/{number}/merge");
    shop.github.clear_calls();
    assert!(shop.github.calls().is_empty());
}

#[tokio::test]
async fn a_branch_is_updated_when_its_head_is_the_expected_one() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let edits = Edits::write("other.txt", "other\n");
    shop.alice.push(&shop.repo, "main", "other", edits).unwrap();
    let path = format!("/pulls/{}/update-branch", pull.number);
    let wrong = json!({ "expected_head_sha": "0".repeat(40) });
    assert_eq!(shop.ask("PUT", &path, wrong).await.status, 422);
    let head = pull.head().unwrap();
    let updated = shop
        .ask("PUT", &path, json!({ "expected_head_sha": head }))
        .await;
    assert_eq!(updated.status, 202);
    assert_ne!(pull.head().unwrap(), head);
}

#[tokio::test]
async fn a_branch_is_deleted_once() {
    let shop = shop().await;
    shop.change("agent/two", "two", "2");
    let path = "/git/refs/heads/agent/two";
    assert_eq!(shop.ask("DELETE", path, Value::Null).await.status, 204);
    let again = shop.ask("DELETE", path, Value::Null).await;
    assert_eq!(
        (again.status, again.message()),
        (422, "Reference does not exist")
    );
}

#[tokio::test]
async fn comments_are_written_changed_reacted_to_and_deleted() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let list = format!("/issues/{}/comments", pull.number);
    let written = shop.ask("POST", &list, json!({ "body": "Held." })).await;
    assert_eq!(written.status, 201);
    assert_eq!(written.body["user"]["login"], "countersign[bot]");
    let one = format!("/issues/comments/{}", written.body["id"]);
    let edited = shop.ask("PATCH", &one, json!({ "body": "Let go." })).await;
    assert_eq!(edited.body["body"], "Let go.");
    let reactions = format!("{one}/reactions");
    let eyes = json!({ "content": "eyes" });
    let first = shop.ask("POST", &reactions, eyes.clone()).await;
    let second = shop.ask("POST", &reactions, eyes).await;
    assert_eq!((first.status, second.status), (201, 200));
    assert_eq!(first.body["id"], second.body["id"]);
    let odd = json!({ "content": "shrug" });
    assert_eq!(shop.ask("POST", &reactions, odd).await.status, 422);
    assert_eq!(shop.get(&list).await.body[0]["reactions"]["eyes"], 1);
    let long = json!({ "body": "x".repeat(65_537) });
    assert_eq!(shop.ask("POST", &list, long).await.status, 422);
    assert_eq!(shop.ask("DELETE", &one, Value::Null).await.status, 204);
    assert_eq!(shop.get(&one).await.status, 404);
}

#[tokio::test]
async fn labels_are_added_listed_and_removed() {
    let shop = shop().await;
    let pull = shop.change("agent/two", "two", "2");
    let path = format!("/issues/{}/labels", pull.number);
    let add = json!({ "labels": ["dispatch", "agent:two"] });
    assert_eq!(shop.ask("POST", &path, add).await.length(), 2);
    assert_eq!(shop.get("/labels").await.length(), 2);
    let listed = shop.get("/issues?labels=dispatch,agent:two").await;
    assert_eq!(listed.body[0]["number"], pull.number);
    assert!(listed.body[0]["pull_request"].is_object());
    let left = shop
        .ask("DELETE", &format!("{path}/agent%3Atwo"), Value::Null)
        .await;
    assert_eq!(left.body[0]["name"], "dispatch");
    let gone = shop
        .ask("DELETE", &format!("{path}/agent%3Atwo"), Value::Null)
        .await;
    assert_eq!((gone.status, gone.message()), (404, "Label does not exist"));
    assert_eq!(shop.get("/issues?labels=agent:two").await.length(), 0);
}

#[tokio::test]
async fn a_body_that_is_not_json_is_400() {
    let shop = shop().await;
    let request = Request::post(format!("{}/repos/acme/shop/check-runs", shop.url))
        .header("authorization", format!("token {}", shop.token))
        .header("user-agent", "a test")
        .body(Full::new(Bytes::from_static(b"{not json")))
        .unwrap();
    let response = shop.client.request(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
}
