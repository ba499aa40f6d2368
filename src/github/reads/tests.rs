use serde_json::{Value, json};

use super::super::tests::{
    BASE, HEAD, Say, Server, head, number, ok, on, page_of, pull_in, repo, status, threads, tip,
};
use super::*;
use crate::domain::facts::Conclusion;
use crate::domain::facts::RunStatus;
use crate::domain::model::{ActorId, ActorKind, Login};

fn file(name: &str) -> Value {
    json!({
        "filename": name, "status": "modified", "additions": 1, "deletions": 0,
        "patch": "@@ -0,0 +1 @@\n+a",
    })
}

fn commit(sha: &str) -> Value {
    json!({
        "sha": sha, "commit": { "tree": { "sha": BASE } }, "parents": [{ "sha": BASE }],
        "author": null, "committer": { "id": 1, "login": "web-flow", "type": "User" },
    })
}

#[tokio::test]
async fn new_words_and_missing_accounts_do_not_fail_a_parse() {
    let server = Server::start(|seen| {
        on(seen, "/check-runs", || {
            ok(json!({ "total_count": 3, "check_runs": [
                { "id": 1, "name": "a", "head_sha": HEAD, "status": "completed", "conclusion": "vibes", "app": null },
                { "id": 2, "name": "b", "head_sha": HEAD, "status": "dreaming", "conclusion": "success" },
                { "id": 3, "name": "c", "head_sha": HEAD, "status": "completed", "conclusion": null },
            ]}))
        })
    })
    .await;
    let listing = server
        .client
        .check_runs(&repo(), &head())
        .await
        .expect("runs");
    let statuses: Vec<RunStatus> = listing.items.into_iter().map(|run| run.status).collect();
    assert_eq!(
        statuses,
        [
            RunStatus::Completed(Conclusion::Unknown("vibes".into())),
            RunStatus::Unfinished("dreaming".into()),
            RunStatus::Completed(Conclusion::Unknown(String::new())),
        ]
    );
    assert!(listing.complete);
}

#[tokio::test]
async fn paths_and_names_are_percent_encoded() {
    let server = Server::start(|_| None).await;
    let at = tip();
    let _ = server
        .client
        .file_at(&repo(), ".github/a b?#%é.yml", &at)
        .await;
    let base = BaseRef::parse("release/1.0#x+y").expect("a branch");
    let _ = server.client.branch(&repo(), &base).await;
    let _ = server.client.rules(&repo(), &base).await;
    let _ = server.client.may_write(&repo(), &actor(1)).await;
    let _ = server.client.team_members(&repo(), "a/b", "c d").await;
    let lines = server.lines();
    for line in [
        format!("GET /repos/acme/shop/contents/.github/a%20b%3F%23%25%C3%A9.yml?ref={BASE}"),
        "GET /repos/acme/shop/branches/release%2F1.0%23x%2By".into(),
        "GET /repos/acme/shop/rules/branches/release%2F1.0%23x%2By?per_page=100&page=1".into(),
        "GET /repos/acme/shop/collaborators/octo%5Bbot%5D/permission".into(),
        "GET /orgs/a%2Fb/teams/c%20d/members?per_page=100&page=1".into(),
    ] {
        assert!(lines.contains(&line), "{line} in {lines:#?}");
    }
}

#[tokio::test]
async fn a_file_is_absent_only_where_its_commit_can_be_read() {
    let with_commit = |there: bool| {
        Server::start(move |seen| {
            let asked = seen.line.contains("/git/commits/") && there;
            asked
                .then(|| ok(json!({ "sha": BASE, "tree": { "sha": BASE }, "parents": [] })))
                .flatten()
        })
    };
    let server = with_commit(true).await;
    assert_eq!(
        server.client.file_at(&repo(), "x.yml", &tip()).await,
        Ok(None)
    );
    let server = with_commit(false).await;
    let outcome = server.client.file_at(&repo(), "x.yml", &tip()).await;
    assert!(matches!(outcome, Err(Refused::NotFound(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_commit_that_is_not_the_one_asked_for_is_refused() {
    let server = Server::start(|seen| {
        let asked = seen.line.contains("/git/commits/");
        asked
            .then(|| ok(json!({ "sha": HEAD, "tree": { "sha": BASE }, "parents": [] })))
            .flatten()
    })
    .await;
    let outcome = server.client.commit(&repo(), &tip()).await;
    assert!(
        matches!(outcome, Err(Refused::Unreadable(_))),
        "{outcome:?}"
    );
}

/// A comparison of `files` files; the pull request lists `listed` and stands at `now`.
async fn compared(files: usize, listed: usize, now: &'static str) -> Server {
    Server::start(move |seen| {
        let name = |number: usize| file(&format!("src/{number}.rs"));
        if seen.line.contains("/compare/") {
            return ok(json!({
                "base_commit": { "sha": BASE }, "merge_base_commit": { "sha": BASE },
                "total_commits": 1, "commits": [commit(HEAD)],
                "files": (0..files).map(name).collect::<Vec<_>>(),
            }));
        }
        if seen.line.contains("/files") {
            let from = (page_of(seen) as usize - 1) * 100;
            let page: Vec<Value> = (from..listed.min(from + 100)).map(name).collect();
            return ok(json!(page));
        }
        let mut pull = pull_in(1_296_269, 42);
        pull["head"]["sha"] = json!(now);
        seen.line.ends_with("/pulls/42").then(|| ok(pull)).flatten()
    })
    .await
}

async fn files_of(server: &Server) -> (usize, bool) {
    let comparison = server
        .client
        .compare(&repo(), number(), &tip(), &head())
        .await;
    let files = comparison.expect("a comparison").files;
    (files.items.len(), files.complete)
}

#[tokio::test]
async fn a_comparison_that_is_cut_is_completed_from_the_pull_request() {
    assert_eq!(files_of(&compared(299, 0, HEAD).await).await, (299, true));
    assert_eq!(files_of(&compared(300, 300, HEAD).await).await, (300, true));
    assert_eq!(
        files_of(&compared(300, 2_999, HEAD).await).await,
        (2_999, true)
    );
}

#[tokio::test]
async fn a_list_of_three_thousand_files_may_hide_more() {
    assert_eq!(
        files_of(&compared(300, 3_000, HEAD).await).await,
        (3_000, false)
    );
    assert_eq!(
        files_of(&compared(300, 3_400, HEAD).await).await,
        (3_000, false)
    );
}

#[tokio::test]
async fn a_list_of_files_of_another_head_or_base_is_not_whole() {
    assert_eq!(
        files_of(&compared(300, 400, BASE).await).await,
        (400, false)
    );
    assert_eq!(
        files_of(&compared(300, 299, HEAD).await).await,
        (299, false)
    );
}

#[tokio::test]
async fn the_commits_of_a_comparison_are_read_to_their_total() {
    for (total, complete) in [(150, true), (151, false)] {
        let server = Server::start(move |seen| {
            if !seen.line.contains("/compare/") {
                return None;
            }
            let from = (page_of(seen) - 1) * 100;
            let commits: Vec<Value> = (from + 1..=150.min(from + 100))
                .map(|number| commit(&format!("{number:040x}")))
                .collect();
            ok(json!({
                "merge_base_commit": { "sha": BASE }, "total_commits": total,
                "commits": commits, "files": [],
            }))
        })
        .await;
        let comparison = server
            .client
            .compare(&repo(), number(), &tip(), &head())
            .await;
        let commits = comparison.expect("a comparison").commits;
        assert_eq!((commits.items.len(), commits.complete), (150, complete));
    }
}

#[tokio::test]
async fn a_comparison_without_files_or_against_another_base_is_refused() {
    for (field, value) in [
        ("files", Value::Null),
        ("base_commit", json!({ "sha": HEAD })),
        ("merge_base_commit", Value::Null),
    ] {
        let mut answer = json!({
            "base_commit": { "sha": BASE }, "merge_base_commit": { "sha": BASE },
            "total_commits": 1, "commits": [commit(HEAD)], "files": [],
        });
        answer[field] = value;
        let server = Server::start(move |seen| on(seen, "/compare/", || ok(answer.clone()))).await;
        let outcome = server
            .client
            .compare(&repo(), number(), &tip(), &head())
            .await;
        assert!(
            matches!(outcome, Err(Refused::Unreadable(_))),
            "{field}: {outcome:?}"
        );
    }
}

fn actor(id: u64) -> Actor {
    Actor {
        id: ActorId::new(id).expect("an id"),
        login: Login::new("octo[bot]"),
        kind: ActorKind::Bot,
    }
}

#[tokio::test]
async fn a_permission_is_yes_no_or_cannot_tell() {
    let asked = async |answer: Value| {
        let server = Server::start(move |seen| {
            let asked = seen.line.ends_with("/permission");
            asked.then(|| ok(answer.clone())).flatten()
        })
        .await;
        server.client.may_write(&repo(), &actor(5)).await
    };
    let user = json!({ "id": 5, "login": "octo[bot]" });
    for (word, answer) in [
        ("admin", true),
        ("maintain", true),
        ("write", true),
        ("triage", false),
        ("read", false),
        ("none", false),
    ] {
        let told = asked(json!({ "permission": word, "user": user })).await;
        assert_eq!(told, Ok(answer), "{word}");
    }
    for unclear in [
        json!({ "permission": "owner", "user": user }),
        json!({ "permission": null, "user": user }),
        json!({ "permission": "admin", "user": null }),
        json!({ "permission": "admin", "user": { "id": 6, "login": "octo[bot]" } }),
    ] {
        let told = asked(unclear.clone()).await;
        assert!(
            matches!(told, Err(Refused::Unreadable(_))),
            "{unclear}: {told:?}"
        );
    }
}

#[tokio::test]
async fn open_conversations_are_counted_over_all_pages() {
    let server = Server::start(|seen| {
        let asked = seen.line.contains("graphql");
        asked
            .then(|| match seen.body["variables"]["after"].as_str() {
                None => threads(5, &[true, false, true], Some("c1")),
                Some(_) => threads(5, &[false, false], None),
            })
            .flatten()
    })
    .await;
    assert_eq!(
        server.client.open_conversations(&repo(), number()).await,
        Ok(3)
    );
}

#[tokio::test]
async fn conversations_that_cannot_be_counted_whole_are_not_resolved() {
    let gone = json!({ "data": { "repository": { "pullRequest": null } } });
    let foreign = json!({ "data": { "repository": { "databaseId": 666, "pullRequest": {
        "reviewThreads": {
            "totalCount": 0, "nodes": [], "pageInfo": { "hasNextPage": false } } } } } });
    let partial = json!({
        "errors": [{ "type": "FORBIDDEN", "message": "no" }],
        "data": { "repository": { "pullRequest": { "reviewThreads": {
            "totalCount": 0, "nodes": [], "pageInfo": { "hasNextPage": false } } } } },
    });
    for answer in [
        threads(3, &[true], None),
        threads(9, &[true], Some("again")),
        ok(gone),
        ok(foreign),
        ok(partial),
        ok(json!([])),
        ok(json!(null)),
        status(200, "?"),
    ] {
        let said = format!("{answer:?}");
        let server = Server::start(move |seen| on(seen, "graphql", || answer.clone())).await;
        let outcome = server.client.open_conversations(&repo(), number()).await;
        assert!(outcome.is_err(), "{said}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_repository_is_found_through_its_installation() {
    let found = |suspended: Value| {
        Server::start(move |seen| match seen.line.as_str() {
            "GET /repos/acme/shop/installation" => {
                assert!(seen.bearer.starts_with("Bearer ey"), "the App's assertion");
                ok(json!({ "id": 7, "suspended_at": suspended }))
            }
            "GET /repos/acme/shop" => ok(json!({
                "id": 1_296_269, "full_name": "acme/shop", "default_branch": "main",
            })),
            _ => None,
        })
    };
    let mut expected = repo();
    expected.default_branch = BaseRef::parse("main").ok();
    let server = found(Value::Null).await;
    assert_eq!(server.client.repository(&repo().name).await, Ok(expected));
    let server = found(json!("2025-01-01T00:00:00Z")).await;
    let outcome = server.client.repository(&repo().name).await;
    assert!(matches!(outcome, Err(Refused::Inactive(_))), "{outcome:?}");
}

#[tokio::test]
async fn suspended_installations_are_told_as_such_and_archived_repositories_left_out() {
    let server = Server::start(|seen| {
        if seen.line.starts_with("GET /app/installations?") {
            return ok(json!([
                { "id": 7, "permissions": {}, "suspended_at": null },
                { "id": 8, "permissions": {}, "suspended_at": "2025-01-01T00:00:00Z" },
            ]));
        }
        seen.line
            .starts_with("GET /installation/repositories?")
            .then(|| {
                ok(json!({ "total_count": 2, "repositories": [
                    { "id": 1, "full_name": "acme/old", "archived": true },
                    { "id": 2, "name": "new", "owner": { "login": "acme" }, "archived": false },
                ]}))
            })
            .flatten()
    })
    .await;
    let seven = InstallationId::new(7).expect("an id");
    let granted = server.client.granted().await.expect("installations");
    let suspended: Vec<_> = granted.items.iter().map(|one| one.suspended).collect();
    assert_eq!(suspended, [false, true]);
    let repositories = server
        .client
        .repositories(seven)
        .await
        .expect("repositories");
    assert!(repositories.complete);
    let names: Vec<String> = repositories
        .items
        .iter()
        .map(|found| found.name.to_string())
        .collect();
    assert_eq!(names, ["acme/new"]);
}

#[tokio::test]
async fn only_open_pull_requests_of_this_repository_with_exactly_this_head_are_told() {
    let server = Server::start(|seen| {
        on(seen, &format!("/commits/{HEAD}/pulls"), || {
            let mut closed = pull_in(1_296_269, 2);
            closed["state"] = json!("closed");
            let mut older = pull_in(1_296_269, 3);
            older["head"]["sha"] = json!(BASE);
            ok(json!([
                pull_in(666, 9),
                closed,
                older,
                pull_in(1_296_269, 4)
            ]))
        })
    })
    .await;
    let listing = server
        .client
        .pulls_with_head(&repo(), &head())
        .await
        .expect("pull requests");
    let numbers: Vec<u64> = listing.items.iter().map(|pull| pull.number.get()).collect();
    assert_eq!((numbers, listing.complete), (vec![4], true));
}

/// What every read makes of one and the same answer: the name of the read, and whether it took it.
async fn every_read(answer: Say) -> Vec<(&'static str, Result<Option<bool>, Refused>)> {
    let server = Server::start(move |seen| {
        let is_mint = seen.line.ends_with("/access_tokens");
        (!is_mint).then(|| answer.clone())
    })
    .await;
    let (client, repo, head, number, at) = (&server.client, repo(), head(), number(), tip());
    let base = BaseRef::parse("main").expect("a branch");
    fn whole<T>(answer: Answer<Listing<T>>) -> Result<Option<bool>, Refused> {
        answer.map(|listing| Some(listing.complete))
    }
    fn taken<T>(answer: Answer<T>) -> Result<Option<bool>, Refused> {
        answer.map(|_| None)
    }
    vec![
        ("app", taken(client.app().await)),
        ("granted", whole(client.granted().await)),
        (
            "repositories",
            whole(client.repositories(repo.installation).await),
        ),
        ("repository", taken(client.repository(&repo.name).await)),
        ("open_pulls", whole(client.open_pulls(&repo).await)),
        ("pull", taken(client.pull(&repo, number).await)),
        (
            "pulls_with_head",
            whole(client.pulls_with_head(&repo, &head).await),
        ),
        ("branch", taken(client.branch(&repo, &base).await)),
        ("rules", taken(client.rules(&repo, &base).await)),
        ("file_at", taken(client.file_at(&repo, "x", &at).await)),
        ("check_runs", whole(client.check_runs(&repo, &head).await)),
        ("statuses", whole(client.statuses(&repo, &head).await)),
        (
            "workflow_runs",
            whole(client.workflow_runs(&repo, &head).await),
        ),
        ("reviews", whole(client.reviews(&repo, number).await)),
        ("comments", whole(client.comments(&repo, number).await)),
        (
            "open_conversations",
            taken(client.open_conversations(&repo, number).await),
        ),
        (
            "team_members",
            taken(client.team_members(&repo, "acme", "owners").await),
        ),
        (
            "compare",
            taken(client.compare(&repo, number, &at, &head).await),
        ),
        ("commit", taken(client.commit(&repo, &at).await)),
        ("may_write", taken(client.may_write(&repo, &actor(1)).await)),
    ]
}

#[tokio::test]
async fn no_refusal_is_ever_taken_for_a_fact() {
    for code in [
        301, 304, 400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503,
    ] {
        for (read, outcome) in every_read(status(code, "no").expect("an answer")).await {
            assert!(outcome.is_err(), "{read} took a {code}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn no_empty_or_odd_success_is_ever_taken_for_a_fact() {
    let json = |value: Value| Say::Json(200, Vec::new(), value);
    for odd in [
        json(Value::Null),
        json(json!({})),
        json(json!({ "total_count": 0 })),
        json(json!("words")),
        Say::Text(200, ""),
        Say::Text(200, "<html>"),
        Say::Text(200, "[{\"id\": 1"),
    ] {
        for (read, outcome) in every_read(odd.clone()).await {
            assert!(outcome.is_err(), "{read} took {odd:?}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_list_of_nothings_is_not_whole() {
    let odd = Say::Json(200, Vec::new(), json!([null, {}, "x", 5]));
    for (read, outcome) in every_read(odd).await {
        assert_ne!(outcome, Ok(Some(true)), "{read}");
        let is_list = matches!(outcome, Ok(Some(false)));
        assert!(is_list || outcome.is_err(), "{read}: {outcome:?}");
    }
}
