use serde_json::{Value, json};

use super::super::class::within;
use super::super::tests::{Say, Seen, Server, head, noon, number, page, repo, tip};
use super::super::{MergeAnswer, Reads as _, Writes as _};
use super::*;
use crate::domain::model::{CommentId, InstallationId, Repository};
use crate::domain::policy::Method;

fn is_mint(seen: &Seen) -> bool {
    seen.line.ends_with("/access_tokens")
}

/// What a call is kept away with.
fn kept_away<T: std::fmt::Debug>(answer: Answer<T>) -> Option<i64> {
    let after = answer.err()?.wait()?;
    Some(after.num_seconds())
}

/// A server that says how much is left of the hour, which ends in ten minutes.
async fn with_left(remaining: i64) -> Server {
    Server::start(move |seen| {
        let headers = vec![
            ("x-ratelimit-limit", "5000".to_owned()),
            ("x-ratelimit-remaining", remaining.to_string()),
            (
                "x-ratelimit-reset",
                (noon().timestamp() + 3_600).to_string(),
            ),
            ("x-ratelimit-resource", "core".to_owned()),
        ];
        (!is_mint(seen)).then(|| Say::Json(404, headers, json!({ "message": "Not Found" })))
    })
    .await
}

fn other() -> Repository {
    Repository {
        installation: InstallationId::new(8).expect("an id"),
        ..repo()
    }
}

#[tokio::test]
async fn what_is_left_of_a_low_budget_is_for_merges_and_check_runs() {
    let server = with_left(300).await;
    let client = &server.client;
    let repo = repo();
    let read = || client.team(&repo, "acme", "core");
    assert_eq!(kept_away(read().await), None, "nothing is known yet");
    let sent = server.lines().len();
    // A lower class waits, without a request, and the lower it is the longer.
    let waits = kept_away(read().await).expect("waits");
    let sweeps = kept_away(within(Class::Sweep, read()).await).expect("waits");
    let comment = CommentId::new(5).expect("an id");
    let answers = kept_away(client.react(&repo, comment, "eyes").await).expect("waits");
    assert!(
        answers < waits && waits < sweeps,
        "{answers} {waits} {sweeps}"
    );
    assert_eq!(server.lines().len(), sent);
    // Check runs and merges go on, and the other installation is not meant.
    let check = client.create_check(&repo, &head(), "x", &page()).await;
    assert_eq!(kept_away(check), None);
    assert_eq!(kept_away(within(Class::Merge, read()).await), None);
    let merge = client.merge(&repo, number(), &head(), Method::Merge).await;
    assert!(matches!(merge, MergeAnswer::Gone(_)), "{merge:?}");
    assert_eq!(kept_away(client.team(&other(), "acme", "core").await), None);
    // Who waited as long as was said may call.
    server.clock.advance(Duration::seconds(waits));
    assert_eq!(kept_away(read().await), None);
}

#[tokio::test]
async fn what_is_left_and_who_waits_can_be_told() {
    let server = with_left(300).await;
    assert_eq!(server.client.budgets(), []);
    let _ = server.client.team(&repo(), "acme", "core").await;
    let left = server.client.budgets();
    let ends = noon() + Duration::hours(1);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].hour, Some((300, 5_000, ends)));
    assert!(left[0].passes_wait < left[0].sweeps_wait && left[0].passes_wait.is_some());
    assert_eq!((left[0].held, left[0].resting), (None, None));
    server.clock.advance(Duration::hours(2));
    assert_eq!(server.client.budgets(), []);
}

/// A server that fails for whoever has the first token.
async fn failing_for_one() -> Server {
    Server::start(|seen| {
        let ours = seen.bearer == "Bearer ghs_secret1";
        match (is_mint(seen), ours) {
            (true, _) => None,
            (_, true) => Some(Say::Text(502, "down")),
            _ => Some(Say::Json(
                404,
                Vec::new(),
                json!({ "message": "Not Found" }),
            )),
        }
    })
    .await
}

#[tokio::test]
async fn an_installation_whose_calls_fail_rests_and_no_other_does() {
    let server = failing_for_one().await;
    let client = &server.client;
    for _ in 0..4 {
        let failed = client.commit(&repo(), &tip()).await;
        assert_eq!(failed, Err(Refused::Server(502)));
    }
    let sent = server.lines().len();
    assert_eq!(sent, 12, "each with its further tries");
    let after = Duration::seconds(10);
    for _ in 0..2 {
        let last = client.commit(&repo(), &tip()).await;
        assert_eq!(last, Err(Refused::Resting { after }));
    }
    let sent = sent + 1;
    assert_eq!(server.lines().len(), sent, "no call more");
    let merge = client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert_eq!(merge, MergeAnswer::Limited(after), "surely not sent");
    assert_eq!(server.lines().len(), sent);
    let fine = client.commit(&other(), &tip()).await;
    assert!(matches!(fine, Err(Refused::NotFound(_))), "{fine:?}");
    let resting: Vec<_> = client.budgets().iter().map(|left| left.resting).collect();
    assert_eq!(resting, [Some(noon() + after)]);
    // One call finds out whether it is over.
    server.clock.advance(after);
    let sent = server.lines().len();
    let proof = client.commit(&repo(), &tip()).await;
    let after = Duration::seconds(20);
    assert_eq!(proof, Err(Refused::Resting { after }));
    assert_eq!(server.lines().len(), sent + 1);
}

#[tokio::test]
async fn mintings_that_fail_are_the_trouble_of_who_they_are_for() {
    let server = Server::start(|seen| {
        let ours = seen.line.contains("/installations/8/");
        (is_mint(seen) && ours).then_some(Say::Text(500, ""))
    })
    .await;
    for _ in 0..3 {
        let _ = server.client.commit(&other(), &tip()).await;
    }
    assert_eq!(server.mintings(), 5);
    let fine = server.client.commit(&repo(), &tip()).await;
    assert!(matches!(fine, Err(Refused::NotFound(_))), "{fine:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_waits_for_any_more_holds_no_place() {
    let server = Server::start(|seen| (!is_mint(seen)).then_some(Say::Silence)).await;
    let admission = &server.client.admission;
    let who = Principal::Installation(repo().installation);
    let admit = || admission.admit(who, Budget::Rest, Class::Read, noon());
    admission.failed(who, End::Hung, noon());
    let places = [admit(), admit(), admit(), admit()].map(|going| going.expect("a place"));
    assert!(matches!(admit(), Err(Refused::Resting { .. })));
    drop(places);
    admit().expect("free again").end(End::Answered, noon());
}

#[test]
fn writes_of_one_installation_are_spaced_and_those_of_two_are_not() {
    let admission = Admission::new(std::time::Duration::from_secs(1));
    let turn = |id| {
        let who = Principal::Installation(InstallationId::new(id).expect("an id"));
        admission
            .turn(who, Class::Check, true, noon())
            .map(|wait| wait.num_seconds())
    };
    let turns: Vec<_> = (0..7).filter_map(|_| turn(1).ok()).collect();
    assert_eq!(turns, [0, 0, 0, 1, 2, 3, 4]);
    assert!(matches!(turn(1), Err(Refused::Limited { .. })));
    assert_eq!(turn(2), Ok(0));
}

/// Every kind of call with every kind of trouble: what is sent how often.
#[tokio::test]
async fn reads_are_tried_again_and_nothing_that_writes_is() {
    for code in [500, 502, 503, 504] {
        let server =
            Server::start(move |seen| (!is_mint(seen)).then_some(Say::Text(code, "<html>"))).await;
        let client = &server.client;
        let refused = Err(Refused::Server(code));
        assert_eq!(client.commit(&repo(), &tip()).await.map(drop), refused);
        assert_eq!(server.lines().len(), 3, "{code}");
        let check = client.create_check(&repo(), &head(), "x", &page()).await;
        assert_eq!(check.map(drop), refused);
        let merge = client
            .merge(&repo(), number(), &head(), Method::Merge)
            .await;
        assert!(matches!(merge, MergeAnswer::Unknown(_)), "{merge:?}");
        assert_eq!(server.lines().len(), 5, "{code}");
        assert!(refused.is_err_and(|refused| refused.outcome_unknown()));
    }
    // Neither is an answer that came whole and cannot be read.
    let server = Server::start(|seen| (!is_mint(seen)).then_some(Say::Text(200, "{"))).await;
    let merge = server
        .client
        .merge(&repo(), number(), &head(), Method::Merge)
        .await;
    assert!(matches!(merge, MergeAnswer::Unknown(_)), "{merge:?}");
    assert_eq!(server.lines().len(), 1);
}

#[tokio::test]
async fn what_is_read_again_unchanged_is_one_call_that_github_does_not_count() {
    let server = Server::start(|seen| {
        let known = seen.headers.contains_key("if-none-match");
        let headers = vec![
            ("etag", "\"a\"".to_owned()),
            ("x-ratelimit-limit", "5000".to_owned()),
            ("x-ratelimit-remaining", "4999".to_owned()),
            ("x-ratelimit-reset", (noon().timestamp() + 60).to_string()),
        ];
        let (status, body) = match known {
            true => (304, Value::Null),
            false => (200, json!({ "id": 9 })),
        };
        (!is_mint(seen)).then_some(Say::Json(status, headers, body))
    })
    .await;
    for _ in 0..3 {
        assert_eq!(server.client.team(&repo(), "acme", "core").await, Ok(true));
    }
    assert_eq!(server.lines().len(), 3);
    let hour = server.client.budgets()[0].hour.map(|hour| hour.0);
    assert_eq!(hour, Some(4_999));
}
