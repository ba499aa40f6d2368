use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::tests::{
    BASE, Say, Seen, Server, head, noon, number, ok, on, page, pull_in, repo, status, threads, tip,
};
use super::super::{MergeAnswer, Reads as _, Writes as _, auth};
use super::*;
use crate::domain::model::CheckRunId;
use crate::domain::policy::Method as MergeMethod;

/// A redirect to there.
fn moved(status: u16, to: impl Into<String>) -> Option<Say> {
    let location = vec![("location", to.into())];
    Some(Say::Json(status, location, Value::Null))
}

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

#[tokio::test]
async fn a_repository_is_found_by_a_name_it_had_before() {
    for code in [301, 302, 307, 308] {
        let server = Server::start(move |seen| match seen.line.as_str() {
            "GET /repos/acme/shop/installation" => moved(code, "/repositories/1/installation"),
            "GET /repositories/1/installation" => ok(json!({ "id": 7 })),
            "GET /repos/acme/shop" => moved(code, "/repositories/1"),
            "GET /repositories/1" => ok(json!({ "id": 1, "full_name": "acme/store" })),
            _ => None,
        })
        .await;
        let found = server.client.repository(&repo().name).await;
        let found = found.expect("a repository");
        assert_eq!(found.name.to_string(), "acme/store");
        let seen = server.seen();
        assert_eq!(seen.len(), 4);
        assert_eq!(seen[0].bearer, seen[1].bearer, "in the same name");
        assert_eq!(seen[2].bearer, seen[3].bearer, "in the same name");
    }
}

#[tokio::test]
async fn a_known_repositorys_redirect_is_asked_about_and_not_followed() {
    let status = |context: &str| json!({ "id": 1, "context": context, "state": "success" });
    let one = move |context: &str| ok(json!({ "total_count": 1, "statuses": [status(context)] }));
    let server = Server::start(move |seen| match seen.line.split('?').next() {
        Some("GET /repositories/1296269") => {
            ok(json!({ "id": 1_296_269, "full_name": "acme/store" }))
        }
        Some(line) if line.starts_with("GET /repos/acme/shop/") => {
            moved(301, "/repositories/666/status")
        }
        Some(line) if line.starts_with("GET /repos/acme/store/") => one("ours"),
        Some("GET /repositories/666/status") => one("theirs"),
        _ => None,
    })
    .await;
    let statuses = server.client.statuses(&repo(), &head()).await;
    let statuses = statuses.expect("statuses");
    assert_eq!(statuses.items[0].context, "ours");
    assert_eq!(server.lines().len(), 3);
}

#[tokio::test]
async fn no_redirect_leads_to_another_server() {
    let other = Server::start(|_| ok(json!({ "id": 7 }))).await;
    let there = format!("http://{}/app", other.address);
    let server = Server::start(move |seen| {
        let minting = seen.line.ends_with("/access_tokens");
        if minting { None } else { moved(301, &there) }
    })
    .await;
    let refused = [
        server.client.app().await.map(drop),
        server.client.pull(&repo(), number()).await.map(drop),
        server
            .client
            .open_conversations(&repo(), number())
            .await
            .map(drop),
        server
            .client
            .create_check(&repo(), &head(), "x", &page())
            .await
            .map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(Refused::NotFound(_))), "{refused:?}");
    }
    assert_eq!((other.lines().len(), other.mintings()), (0, 0));
}

#[tokio::test]
async fn a_redirect_in_a_circle_ends() {
    let server = Server::start(|_| moved(302, "/app")).await;
    let outcome = server.client.app().await;
    assert!(matches!(outcome, Err(Refused::NotFound(_))), "{outcome:?}");
    assert_eq!(server.lines().len(), 1 + MOST_REDIRECTS);
}

#[tokio::test]
async fn a_redirected_write_never_becomes_a_read() {
    for code in [301, 302, 303, 307, 308] {
        let server = Server::start(move |seen| {
            let minting = seen.line.ends_with("/access_tokens");
            if minting {
                None
            } else {
                moved(code, "/repositories/9/elsewhere")
            }
        })
        .await;
        let (client, repo) = (&server.client, repo());
        let run = CheckRunId::new(1).expect("an id");
        let made = client.create_check(&repo, &head(), "x", &page()).await;
        let changed = client.update_check(&repo, run, &page()).await;
        let merged = client
            .merge(&repo, number(), &head(), MergeMethod::Merge)
            .await;
        assert!(made.is_err() && changed.is_err(), "{made:?} {changed:?}");
        assert!(!matches!(merged, MergeAnswer::Merged(_)), "{merged:?}");
        for line in server.lines() {
            let write = ["POST ", "PATCH ", "PUT "]
                .iter()
                .any(|verb| line.starts_with(verb));
            assert!(
                write && !line.contains("/repositories/9/"),
                "{code}: {line}"
            );
        }
    }
}

#[tokio::test]
async fn each_read_names_the_version_of_the_api() {
    let app = || ok(json!({ "id": 4_711, "slug": "countersign" }));
    let server = Server::start(move |seen| on(seen, "/app", app)).await;
    server.client.app().await.expect("an App");
    for seen in server.seen() {
        assert_eq!(seen.headers["x-github-api-version"], "2022-11-28");
        assert_eq!(seen.headers["accept"], "application/vnd.github+json");
        assert!(seen.headers.contains_key("user-agent"));
    }
}

/// Two pages of statuses that never change, as GitHub tells them: a 304 brings no body and no `Link`.
fn unchanging(seen: &Seen) -> Option<Say> {
    let path = seen.line.strip_prefix("GET ")?;
    let second = path.contains("page=2");
    let etag = if second { "\"second\"" } else { "\"first\"" };
    if seen
        .headers
        .get("if-none-match")
        .is_some_and(|known| known == etag)
    {
        let headers = vec![("etag", format!("W/{etag}"))];
        return Some(Say::Json(304, headers, Value::Null));
    }
    let mut headers = vec![("etag", etag.to_owned())];
    if !second {
        headers.push(("link", format!("<{path}&page=2>; rel=\"next\"")));
    }
    let ids: std::ops::Range<u64> = if second { 100..150 } else { 0..100 };
    // A list does not say whether each can be merged.
    let listed = |id: u64| {
        let mut pull = pull_in(1_296_269, id + 1);
        let fields = pull.as_object_mut().expect("an object");
        fields.remove("mergeable");
        pull
    };
    let pulls: Vec<_> = ids.map(listed).collect();
    Some(Say::Json(200, headers, json!(pulls)))
}

#[tokio::test]
async fn what_did_not_change_is_read_whole_from_what_is_kept() {
    let server = Server::start(unchanging).await;
    let first = server.client.open_pulls(&repo()).await.expect("a list");
    assert_eq!((first.items.len(), first.complete), (150, true));
    let again = server.client.open_pulls(&repo()).await.expect("a list");
    assert_eq!(again, first);
    let shown: Vec<_> = server
        .seen()
        .iter()
        .map(|seen| seen.headers.get("if-none-match").cloned())
        .collect();
    assert_eq!(shown.len(), 4);
    assert!(shown[..2].iter().all(Option::is_none), "{shown:?}");
    assert!(shown[2..].iter().all(Option::is_some), "{shown:?}");
}

#[tokio::test]
async fn one_installation_is_never_served_what_another_was_told() {
    let server = Server::start(unchanging).await;
    server.client.open_pulls(&repo()).await.expect("a list");
    let mut other = repo();
    other.installation = InstallationId::new(8).expect("an id");
    server.client.open_pulls(&other).await.expect("a list");
    for seen in server.seen() {
        assert!(!seen.headers.contains_key("if-none-match"), "{}", seen.line);
    }
}

#[tokio::test]
async fn an_unchanged_that_speaks_of_another_answer_is_asked_again_plainly() {
    let server = Server::start(|seen| {
        let etag = |etag: &str| vec![("etag", etag.to_owned())];
        match (
            seen.line.starts_with("GET "),
            seen.headers.get("if-none-match"),
        ) {
            (false, _) => None,
            (true, Some(_)) => Some(Say::Json(304, etag("\"b\""), Value::Null)),
            (true, None) => Some(Say::Json(200, etag("\"a\""), json!([]))),
        }
    })
    .await;
    for _ in 0..2 {
        server.client.open_pulls(&repo()).await.expect("a list");
    }
    assert_eq!(server.lines().len(), 3);
}

/// A server that mints, answers one read, and hangs up on the write that comes next on the same
/// connection. Tells the first lines of what it was sent.
async fn hanging_up() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&lines);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let noted = Arc::clone(&noted);
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(read @ 1..) = socket.read(&mut buffer).await {
                    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let line = text.lines().next().unwrap_or_default().to_owned();
                    let body = if line.contains("/access_tokens") {
                        r#"{"token":"ghs_1","expires_at":"2100-01-01T00:00:00Z"}"#
                    } else {
                        r#"{"permission":"read"}"#
                    };
                    let hangs_up = line.starts_with("PUT ");
                    noted.lock().expect("no panic").push(line);
                    if hangs_up {
                        return;
                    }
                    let length = body.len();
                    let answer =
                        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
                    let _ = socket.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    (format!("http://{address}"), lines)
}

#[tokio::test]
async fn a_merge_whose_connection_dies_is_not_sent_again() {
    let (api_url, lines) = hanging_up().await;
    let client = Client::new(ClientOptions {
        api_url,
        app_id: AppId::new(1).expect("an id"),
        key: auth::tests::key(),
        clock: Clock::manual(noon()),
        timeouts: Timeouts::default(),
    })
    .expect("a client");
    let _ = client.commit(&repo(), &tip()).await;
    let merge = client
        .merge(&repo(), number(), &head(), MergeMethod::Merge)
        .await;
    assert!(matches!(merge, MergeAnswer::Unknown(_)), "{merge:?}");
    let lines = lines.lock().expect("no panic");
    let merges = lines.iter().filter(|line| line.starts_with("PUT "));
    assert_eq!(merges.count(), 1, "{lines:?}");
}
