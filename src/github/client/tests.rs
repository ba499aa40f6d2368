use super::super::Reads as _;
use super::super::tests::{
    BASE, Say, Server, head, number, ok, on, pull_in, repo, status, threads, tip,
};
use super::*;

#[tokio::test]
async fn an_enterprise_servers_path_is_kept_and_graphql_stands_beside_it() {
    let server = Server::below("/api/v3", |seen| {
        on(seen, "graphql", || threads(1, &[true], None))
    })
    .await;
    let _ = server.client.commit(&repo(), &tip()).await;
    assert_eq!(
        server.client.open_conversations(&repo(), number()).await,
        Ok(0)
    );
    let lines = server.lines();
    assert_eq!(
        lines[0],
        format!("GET /api/v3/repos/acme/shop/git/commits/{BASE}")
    );
    assert_eq!(lines.last().map(String::as_str), Some("POST /api/graphql"));
}

/// A server on which `acme/shop` is called `acme/store` now, and the old name answers `old`.
async fn renamed(old: Option<Say>) -> Server {
    Server::start(move |seen| match seen.line.as_str() {
        "GET /repositories/1296269" => {
            ok(json!({ "id": 1_296_269, "full_name": "acme/store", "owner": null }))
        }
        "GET /repos/acme/store/pulls/42" => ok(pull_in(1_296_269, 42)),
        "GET /repos/acme/shop/pulls/42" => old.clone(),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn a_renamed_repository_is_found_by_its_number() {
    for old in [None, status(301, "Moved Permanently"), status(307, "Moved")] {
        let server = renamed(old).await;
        let pull = server
            .client
            .pull(&repo(), number())
            .await
            .expect("a pull request");
        assert_eq!(pull.number, number());
        assert_eq!(server.lines().len(), 3);
    }
}

#[tokio::test]
async fn another_repository_under_the_freed_name_is_not_taken_for_ours() {
    let server = renamed(ok(pull_in(666, 42))).await;
    server.client.pull(&repo(), number()).await.expect("ours");
    assert_eq!(
        server.lines().last().map(String::as_str),
        Some("GET /repos/acme/store/pulls/42")
    );

    let server = Server::start(|seen| match seen.line.as_str() {
        "GET /repos/acme/shop/pulls/42" => ok(pull_in(666, 42)),
        line if line.contains("/pulls?") => ok(json!([pull_in(666, 42)])),
        _ => None,
    })
    .await;
    let outcome = server.client.pull(&repo(), number()).await;
    assert!(matches!(outcome, Err(Refused::NotFound(_))), "{outcome:?}");
    let outcome = server.client.open_pulls(&repo()).await;
    assert!(matches!(outcome, Err(Refused::NotFound(_))), "{outcome:?}");
}

#[tokio::test]
async fn where_repositories_cannot_be_asked_for_by_number_the_first_answer_stands() {
    let server = Server::start(|_| None).await;
    let outcome = server.client.statuses(&repo(), &head()).await;
    assert_eq!(outcome, Err(Refused::NotFound("Not Found".into())));
}
