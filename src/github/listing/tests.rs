use serde_json::json;

use super::super::Reads as _;
use super::super::tests::{
    HEAD, Say, Server, head, number, ok, on, page_of, pull_in, repo, run, status,
};
use super::*;
use crate::domain::model::BaseRef;

#[test]
fn a_link_header_is_believed_before_the_length_of_a_page() {
    assert!(is_last(30, None));
    assert!(!is_last(PER_PAGE, None));
    assert!(is_last(PER_PAGE, Some(false)));
    assert!(!is_last(30, Some(true)));
    assert!(!is_last(0, Some(true)));
}

#[test]
fn an_answer_that_is_no_list_is_not_an_empty_one() {
    for (value, shape) in [
        (json!(null), Shape::Bare),
        (json!({}), Shape::Bare),
        (json!({ "total_count": 0 }), Shape::Counted("check_runs")),
        (json!({ "check_runs": null }), Shape::Counted("check_runs")),
        (json!([]), Shape::Counted("check_runs")),
    ] {
        assert!(taken(value.clone(), shape).is_err(), "{value}");
    }
}

#[test]
fn an_unreadable_item_leaves_the_list_incomplete() {
    let convert = |value: Value| value.as_u64().ok_or_else(|| unreadable("a number", "no"));
    let list = converted(
        Listing::whole(vec![json!(1), json!("x"), json!(2)]),
        convert,
    );
    assert_eq!((list.items, list.complete), (vec![1, 2], false));
    let list = converted(Listing::whole(vec![json!(1)]), convert);
    assert_eq!((list.items, list.complete), (vec![1], true));
}

/// A server whose head has `there` check runs, told of as `total`, and no `Link` header.
async fn with_runs(there: u64, total: u64) -> Server {
    Server::start(move |seen| {
        if !seen.line.contains("/check-runs") {
            return None;
        }
        let from = (page_of(seen) - 1) * 100;
        let runs: Vec<Value> = (from + 1..=there.min(from + 100)).map(run).collect();
        ok(json!({ "total_count": total, "check_runs": runs }))
    })
    .await
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    for (there, pages) in [(0, 1), (30, 1), (99, 1), (100, 2), (101, 2), (250, 3)] {
        let server = with_runs(there, there).await;
        let listing = server
            .client
            .check_runs(&repo(), &head())
            .await
            .expect("runs");
        assert_eq!(listing.items.len() as u64, there);
        assert!(listing.complete, "{there}");
        assert_eq!(server.lines().len(), pages, "{there}");
    }
}

#[tokio::test]
async fn page_two_is_asked_for_by_number_and_with_authorisation() {
    let server = with_runs(101, 101).await;
    server
        .client
        .check_runs(&repo(), &head())
        .await
        .expect("runs");
    let seen = server.seen();
    assert_eq!(
        seen[1].line,
        format!("GET /repos/acme/shop/commits/{HEAD}/check-runs?filter=all&per_page=100&page=2")
    );
    assert_eq!(seen[1].bearer, "Bearer ghs_secret1");
}

#[tokio::test]
async fn a_list_that_is_shorter_or_longer_than_its_total_is_not_whole() {
    for total in [29, 31] {
        let server = with_runs(30, total).await;
        let listing = server
            .client
            .check_runs(&repo(), &head())
            .await
            .expect("runs");
        assert!(!listing.complete, "{total}");
    }
    let server =
        Server::start(|seen| on(seen, "/check-runs", || ok(json!({ "check_runs": [] })))).await;
    let listing = server
        .client
        .check_runs(&repo(), &head())
        .await
        .expect("runs");
    assert!(!listing.complete, "no total at all");
}

#[tokio::test]
async fn a_list_beyond_the_cap_is_not_whole() {
    let server = with_runs(3_001, 3_001).await;
    let listing = server
        .client
        .check_runs(&repo(), &head())
        .await
        .expect("runs");
    assert_eq!((listing.items.len(), listing.complete), (3_000, false));
    assert_eq!(server.lines().len(), MOST_PAGES);
}

#[tokio::test]
async fn a_next_page_that_is_announced_is_read_although_this_one_is_short() {
    let server = Server::start(|seen| {
        seen.line.contains("/reviews").then(|| {
            let page = page_of(seen);
            let link = "<http://elsewhere.example/?page=2>; rel=\"next\"".to_owned();
            let headers = if page == 1 {
                vec![("link", link)]
            } else {
                vec![]
            };
            Say::Json(200, headers, json!([{ "id": page, "state": "APPROVED" }]))
        })
    })
    .await;
    let listing = server
        .client
        .reviews(&repo(), number())
        .await
        .expect("reviews");
    assert_eq!((listing.items.len(), listing.complete), (2, true));
}

#[tokio::test]
async fn an_item_that_two_pages_show_is_one_item() {
    let server = Server::start(|seen| {
        seen.line.contains("/check-runs").then(|| {
            let from = if page_of(seen) == 1 { 1 } else { 100 };
            let runs: Vec<Value> = (from..=from + 99).map(run).collect();
            let link = "<x>; rel=\"last\"".to_owned();
            let headers = if from == 100 {
                vec![("link", link)]
            } else {
                vec![]
            };
            Say::Json(
                200,
                headers,
                json!({ "total_count": 200, "check_runs": runs }),
            )
        })
    })
    .await;
    let listing = server
        .client
        .check_runs(&repo(), &head())
        .await
        .expect("runs");
    assert_eq!((listing.items.len(), listing.complete), (199, false));
}

#[tokio::test]
async fn a_page_that_fails_fails_the_list() {
    let server = Server::start(|seen| {
        let is_runs = seen.line.contains("/check-runs");
        is_runs.then(|| match page_of(seen) {
            1 => ok(json!({ "total_count": 101, "check_runs": (1..=100).map(run).collect::<Vec<_>>() })),
            _ => status(403, "Resource not accessible by integration"),
        })
        .flatten()
    })
    .await;
    let outcome = server.client.check_runs(&repo(), &head()).await;
    assert!(matches!(outcome, Err(Refused::Forbidden(_))), "{outcome:?}");
}

#[tokio::test]
async fn one_unreadable_pull_request_does_not_hide_the_others() {
    let server = Server::start(|seen| {
        on(seen, "/pulls?", || {
            let mut odd = pull_in(1_296_269, 2);
            odd["head"]["sha"] = json!("short");
            ok(json!([pull_in(1_296_269, 1), odd, pull_in(1_296_269, 3)]))
        })
    })
    .await;
    let listing = server
        .client
        .open_pulls(&repo())
        .await
        .expect("pull requests");
    let numbers: Vec<u64> = listing.items.iter().map(|pull| pull.number.get()).collect();
    assert_eq!((numbers, listing.complete), (vec![1, 3], false));
}

#[tokio::test]
async fn half_a_list_of_rules_or_members_is_none() {
    let server = Server::start(|seen| {
        let endless = seen.line.contains("/rules/") || seen.line.contains("/members");
        endless.then(|| {
            let link = "<x>; rel=\"next\"".to_owned();
            let page = page_of(seen);
            Say::Json(
                200,
                vec![("link", link)],
                json!([
                    { "type": "deletion", "id": page, "login": "a" },
                ]),
            )
        })
    })
    .await;
    let base = BaseRef::parse("main").expect("a branch");
    assert!(server.client.rules(&repo(), &base).await.is_err());
    assert!(
        server
            .client
            .team_members(&repo(), "acme", "owners")
            .await
            .is_err()
    );
}
