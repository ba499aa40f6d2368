mod alarms;
mod shelf;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use chrono::{DateTime, Duration};
use serde_json::{Value, json};
use shelf::{Shelf, entry};
use tower::ServiceExt;

use super::{Addresses, WebState, github_pages, router, strict};
use crate::clock::Clock;
use crate::domain::facts::PullRequest;
use crate::domain::model::Timestamp;
use crate::settings::Live;
use crate::store::{DeadLetter, InboxCounts};
use crate::web::Scrape;

const TOKEN: &str = "correct horse battery staple";

fn now() -> Timestamp {
    DateTime::parse_from_rfc3339("2026-03-02T10:00:00Z")
        .unwrap()
        .to_utc()
}

fn about() -> crate::watch::About {
    crate::watch::About {
        own_app: crate::domain::model::AppId::new(7).unwrap(),
        sweep_interval: std::time::Duration::from_secs(600),
        shadow: false,
    }
}

fn state(shelf: Shelf) -> WebState {
    let store: Arc<dyn crate::store::Store> = Arc::new(shelf);
    let clock = Clock::manual(now());
    WebState {
        watch: crate::watch::Watch::new(store.clone(), clock, about(), Default::default()),
        store,
        clock: Clock::manual(now()),
        api_token: Live::new(None),
        ready: Arc::new(AtomicBool::new(true)),
        addresses: Addresses {
            public: Some("https://gate.example".into()),
            github: Some("https://github.com".into()),
        },
        budgets: Arc::new(Vec::new),
        scrape: Scrape::default(),
    }
}

fn locked(shelf: Shelf) -> WebState {
    WebState {
        api_token: Live::new(Some(TOKEN.into())),
        ..state(shelf)
    }
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

async fn send(state: &WebState, request: Request<Body>) -> Answer {
    let response = strict(router(state.clone()))
        .oneshot(request)
        .await
        .unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    Answer {
        status: parts.status,
        headers: parts.headers,
        body: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

async fn get(state: &WebState, path: &str) -> Answer {
    send(state, Request::get(path).body(Body::empty()).unwrap()).await
}

async fn get_with(state: &WebState, path: &str, name: &str, value: &str) -> Answer {
    let request = Request::get(path).header(name, value);
    send(state, request.body(Body::empty()).unwrap()).await
}

async fn sign_in(state: &WebState, form: &str) -> Answer {
    let request = Request::post("/signin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form.to_owned()));
    send(state, request.unwrap()).await
}

fn pull(number: u64, title: &str) -> PullRequest {
    serde_json::from_value(json!({
        "number": number, "title": title, "body": "", "state": "open", "draft": number == 44,
        "head": "4f9d21c0".repeat(5), "head_ref": "agent/x", "head_repo": 7, "base": "main",
        "author": { "id": 99, "login": "acme-agent[bot]", "kind": "bot" },
        "labels": [], "mergeable": true, "test_merge": null, "changed_files": 3,
        "auto_merge": false, "created_at": now(), "updated_at": now(),
    }))
    .unwrap()
}

fn gate(name: &str, state: &str, reason: &str, on: Value) -> Value {
    json!({
        "name": name, "state": state, "reason": reason, "rests_on": [],
        "since": now() - Duration::minutes(95), "whose_move": on, "next": null, "details": [],
    })
}

fn verdict(number: u64, outcome: &str, title: &str, gates: Vec<Value>) -> Value {
    let moves: Vec<_> = gates
        .iter()
        .map(|gate| gate["whose_move"].clone())
        .filter(|on| *on != json!("nobody"))
        .collect();
    json!({
        "repository": "acme/shop", "number": number, "title": title, "outcome": outcome,
        "reason": "a gate is still open", "head": "4f9d21c0".repeat(5), "base": "main",
        "base_tip": "c3b1a290".repeat(5), "policy": "8e07d5f1".repeat(5), "mode": "enforce",
        "landing": "now", "by_agent": true, "at": now() - Duration::seconds(20),
        "freshness": "confirmed", "snapshot": "a".repeat(64),
        "since": now() - Duration::minutes(95), "whose_move": moves, "gates": gates,
    })
}

fn checks() -> Value {
    let mut checks = gate(
        "checks",
        "satisfied",
        "All 3 required checks passed.",
        json!("nobody"),
    );
    let run = |id: u64, name: &str| {
        json!({
            "what": format!("check run `{name}` by github-actions"),
            "url": format!("https://github.com/acme/shop/runs/{id}"),
        })
    };
    checks["rests_on"] = json!([
        run(11, "unit"),
        run(12, "build (linux)"),
        run(13, "build (macos)")
    ]);
    checks["details"] = json!([
        gate("unit", "satisfied", "It passed.", json!("nobody")),
        gate(
            "build (*)",
            "satisfied",
            "Both that match passed.",
            json!("nobody")
        ),
    ]);
    checks
}

fn second_verifier() -> Value {
    let on = json!({ "verifier": ["codex", "gemini"] });
    let reason = "No independent verifier has countersigned `4f9d21c` yet; 1 must.";
    let mut gate_ = gate("second_verifier", "waiting", reason, on.clone());
    gate_["next"] = json!("ask `codex` or `gemini` to verify this head");
    gate_["details"] = json!([
        gate(
            "codex",
            "waiting",
            "It has not reported on this head.",
            on.clone()
        ),
        gate("gemini", "undetermined", "It was out of quota (14:02).", on),
    ]);
    gate_
}

fn mutation_check() -> Value {
    let reason = "2 of 9 changed hunks in critical files are not shown to be tested.";
    let mut gate_ = gate("mutation_check", "failed", reason, json!("author"));
    gate_["next"] = json!("add a test that fails when `src/start.rs:40` is undone");
    let mut survived = gate(
        "src/start.rs:40-41",
        "failed",
        "`revert_hunk` survived.",
        json!("author"),
    );
    survived["next"] = json!("test what these lines record");
    gate_["details"] = json!([
        survived,
        gate(
            "src/start.rs:88",
            "failed",
            "No mutant touches it.",
            json!("author")
        ),
        gate(
            "src/stop.rs:7",
            "satisfied",
            "Killed by `stops_are_recorded`.",
            json!("nobody")
        ),
    ]);
    gate_
}

fn full() -> Shelf {
    let blocked = verdict(
        41,
        "blocked",
        "Blocked: 2 of 9 changed hunks in critical files are not shown to be tested (2 of 5 gates open)",
        vec![
            gate("not_draft", "satisfied", "It is no draft.", json!("nobody")),
            checks(),
            second_verifier(),
            mutation_check(),
            gate(
                "description",
                "skipped",
                "The policy asks for no section.",
                json!("nobody"),
            ),
        ],
    );
    let waiting = verdict(
        42,
        "waiting",
        "Waiting for a second verifier (1 of 4 gates open)",
        vec![checks(), second_verifier()],
    );
    let mut ready = verdict(43, "ready", "Ready to merge", vec![checks()]);
    ready["whose_move"] = json!(["countersign"]);
    let held = verdict(
        45,
        "held",
        "Held: ada holds it: wait for the release notes (1 of 4 gates open)",
        vec![gate(
            "not_held",
            "waiting",
            "ada holds it: wait",
            json!("maintainer"),
        )],
    );
    let before = |minutes| now() - Duration::minutes(minutes);
    let entries = vec![
        entry(
            3,
            41,
            "verdict",
            before(180),
            json!({
                "outcome": "waiting", "reason": "a gate is still open",
                "gates": [
                    { "gate": "checks", "state": "waiting", "reason": "" },
                    { "gate": "second_verifier", "state": "waiting", "reason": "" },
                ],
            }),
        ),
        entry(
            4,
            41,
            "hold",
            before(170),
            json!({ "hold": { "by": "ada", "reason": "look at the log first" } }),
        ),
        entry(5, 41, "hold", before(150), json!({ "hold": null })),
        entry(
            9,
            41,
            "verdict",
            before(95),
            json!({
                "outcome": "blocked", "reason": "a gate failed",
                "gates": [
                    { "gate": "checks", "state": "satisfied", "reason": "" },
                    { "gate": "mutation_check", "state": "failed", "reason": "" },
                ],
            }),
        ),
    ];
    Shelf {
        pulls: vec![
            (
                pull(41, "Record every execution start before it is acknowledged"),
                Some(blocked),
            ),
            (pull(42, "Retry the outbox with jitter"), Some(waiting)),
            (pull(43, "Name the tenant in every span"), Some(ready)),
            (pull(44, "Draft: <b>split</b> the event store"), None),
            (pull(45, "Drop the legacy importer"), Some(held)),
        ],
        entries,
        inbox: InboxCounts {
            waiting: 2,
            done: 118,
            dead: 1,
        },
        due: None,
        letters: vec![DeadLetter {
            id: crate::domain::model::DeliveryId::parse("5f1c9c1e-1111").unwrap(),
            event: "check_run".into(),
            at: now(),
            why: "a `check_run` delivery without a usable `head_sha`: it is null".into(),
        }],
        repositories: 1,
        dispatch: Default::default(),
        broken: false.into(),
    }
}

#[tokio::test]
async fn the_dashboard_shows_what_is_open_and_whose_move_it_is() {
    let answer = get(&state(full()), "/").await;
    assert_eq!(answer.status, StatusCode::OK);
    insta::assert_snapshot!("dashboard", answer.body);
}

#[tokio::test]
async fn an_empty_dashboard_says_how_to_start() {
    let nothing = get(&state(Shelf::default()), "/").await;
    insta::assert_snapshot!("dashboard_without_repositories", nothing.body);
    let quiet = Shelf {
        repositories: 3,
        ..Shelf::default()
    };
    let quiet = get(&state(quiet), "/").await;
    assert!(
        quiet.body.contains("Countersign watches 3 repositories."),
        "{}",
        quiet.body
    );
}

#[tokio::test]
async fn a_server_whose_credentials_are_not_accepted_says_so_on_the_dashboard() {
    let state = WebState {
        ready: Arc::new(AtomicBool::new(false)),
        ..state(full())
    };
    let answer = get(&state, "/").await;
    assert!(answer.body.contains("GitHub has not accepted this server"));
}

#[tokio::test]
async fn a_pull_request_has_a_page_with_its_gates_and_its_story() {
    let answer = get(&state(full()), "/repos/acme/shop/pulls/41").await;
    assert_eq!(answer.status, StatusCode::OK);
    insta::assert_snapshot!("pull", answer.body);
    let ready = get(&state(full()), "/repos/acme/shop/pulls/43").await;
    assert!(ready.body.contains("Countersign merges it."));
}

#[tokio::test]
async fn a_merge_is_told_in_words_from_intent_to_landing() {
    let commit = "77aa90ff".repeat(5);
    let mut shelf = full();
    shelf.entries = vec![
        entry(
            1,
            43,
            "intent",
            now(),
            json!({ "clearance": {}, "expected_tree": null }),
        ),
        entry(
            2,
            43,
            "outcome",
            now(),
            json!({ "base_moved": "Base branch was modified." }),
        ),
        entry(
            3,
            43,
            "outcome",
            now(),
            json!({ "merged": commit, "found_by": "reading back" }),
        ),
        entry(
            4,
            43,
            "landed",
            now(),
            json!({ "commit": commit, "judged": "as_judged", "how": "exactly what was judged" }),
        ),
        entry(
            5,
            43,
            "freeze",
            now(),
            json!({ "base": "main", "frozen": "#43 landed otherwise" }),
        ),
        entry(
            6,
            43,
            "merged_past_gate",
            now(),
            json!({ "by": { "login": "eve" }, "verdict_before": "blocked" }),
        ),
        entry(
            7,
            43,
            "outcome",
            now(),
            json!({ "a_word_of_tomorrow": "and what it says", "n": 3 }),
        ),
    ];
    let page = get(&state(shelf), "/repos/acme/shop/pulls/43").await.body;
    let story: Vec<_> = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix("<li><span class=\"kind"))
        .map(|line| line.split(" <span class=\"meta\">").next().unwrap())
        .collect();
    insta::assert_snapshot!(story.join("\n"), @r#"
    ">outcome</span> <span>For <code>4f9d21c</code>: a word of tomorrow and what it says; n 3</span>
    failed">past the gate</span> <span><code>4f9d21c</code> was merged by eve, not by Countersign; it was blocked then.</span>
    failed">frozen</span> <span><code>main</code> is frozen: #43 landed otherwise</span>
    satisfied">landed</span> <span><code>4f9d21c</code> landed as <code>77aa90f</code>: exactly what was judged</span>
    satisfied">merged</span> <span>Merged <code>4f9d21c</code> as <code>77aa90f</code>, as was found by reading it back.</span>
    failed">refused</span> <span>GitHub did not merge <code>4f9d21c</code>, since the base had moved: Base branch was modified.</span>
    ">intent</span> <span>Set out to merge <code>4f9d21c</code>.</span>
    "#);
}

#[tokio::test]
async fn a_pull_request_that_nobody_has_judged_yet_is_shown_as_such() {
    let page = get(&state(full()), "/repos/acme/shop/pulls/44").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.body.contains("not judged yet"), "{}", page.body);
    let api = get(&state(full()), "/api/v1/repos/acme/shop/pulls/44").await;
    assert_eq!(api.status, StatusCode::NOT_FOUND);
    assert!(
        api.json()["error"]
            .as_str()
            .unwrap()
            .contains("has not been judged here")
    );
}

#[tokio::test]
async fn a_record_that_this_version_cannot_read_breaks_no_page() {
    let mut shelf = full();
    shelf.pulls[0].1 = Some(json!({ "outcome": "a word of tomorrow" }));
    let state = state(shelf);
    assert_eq!(get(&state, "/").await.status, StatusCode::OK);
    let page = get(&state, "/repos/acme/shop/pulls/41").await;
    assert!(page.body.contains("not judged yet"));
}

#[tokio::test]
async fn the_api_answers_with_the_recorded_verdict_word_for_word() {
    let shelf = full();
    let recorded = shelf.pulls[0].1.clone().unwrap();
    let answer = get(&state(shelf), "/api/v1/repos/ACME/shop/pulls/41").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json(), recorded);
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
}

#[tokio::test]
async fn the_api_lists_what_is_open_with_outcome_and_whose_move() {
    let answer = get(&state(full()), "/api/v1/repos/acme/shop/pulls").await;
    let listed = answer.json();
    insta::assert_snapshot!(format!("{:#}", json!([listed["pulls"][1], listed["pulls"][3]])), @r#"
    [
      {
        "at": "2026-03-02T09:59:40Z",
        "author": "acme-agent[bot]",
        "base": "main",
        "by_agent": true,
        "draft": false,
        "head": "4f9d21c04f9d21c04f9d21c04f9d21c04f9d21c0",
        "headline": "Waiting for a second verifier (1 of 4 gates open)",
        "number": 42,
        "outcome": "waiting",
        "reason": "a gate is still open",
        "since": "2026-03-02T08:25:00Z",
        "title": "Retry the outbox with jitter",
        "whose_move": [
          {
            "verifier": [
              "codex",
              "gemini"
            ]
          }
        ]
      },
      {
        "at": null,
        "author": "acme-agent[bot]",
        "base": "main",
        "by_agent": null,
        "draft": true,
        "head": "4f9d21c04f9d21c04f9d21c04f9d21c04f9d21c0",
        "headline": null,
        "number": 44,
        "outcome": null,
        "reason": null,
        "since": null,
        "title": "Draft: <b>split</b> the event store",
        "whose_move": null
      }
    ]
    "#);
}

#[tokio::test]
async fn the_ledger_is_json_lines_that_can_be_gone_on_with() {
    let mut shelf = full();
    shelf.entries = (1..=2_345)
        .map(|seq| entry(seq, 41, "hold", now(), json!({})))
        .collect();
    let state = state(shelf);
    let seqs = |answer: &Answer| -> Vec<u64> {
        let lines = answer.body.lines();
        let entries = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
        entries
            .map(|entry| entry["seq"].as_u64().unwrap())
            .collect()
    };
    let answer = get(&state, "/api/v1/repos/acme/shop/ledger").await;
    assert_eq!(answer.headers[header::CONTENT_TYPE], "application/x-ndjson");
    assert_eq!(seqs(&answer), (1..=2_345).collect::<Vec<_>>());
    let rest = get(&state, "/api/v1/repos/acme/shop/ledger?after=2340").await;
    assert_eq!(seqs(&rest), [2_341, 2_342, 2_343, 2_344, 2_345]);
    let wrong = get(&state, "/api/v1/repos/acme/shop/ledger?after=last").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(
        wrong.body.starts_with(r#"{"error":"`after` is"#),
        "{}",
        wrong.body
    );
    let nothing = get(&state, "/api/v1/repos/acme/shop/ledger?after=2345").await;
    assert_eq!(
        (nothing.status, nothing.body.as_str()),
        (StatusCode::OK, "")
    );
}

#[tokio::test]
async fn what_is_not_known_is_answered_with_what_to_do() {
    let mut told = Vec::new();
    for path in [
        "/api/v1/repos/acme/nothing/pulls/1",
        "/api/v1/repos/acme/shop/pulls/7",
        "/api/v1/repos/acme/shop/pulls/0",
        "/api/v1/repos/acme/shop/pulls/x",
        "/api/v1/repos/acme/sh%20op/pulls",
        "/api/v1/elsewhere",
    ] {
        let answer = get(&state(full()), path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        told.push(format!(
            "{path}\n  {}",
            answer.json()["error"].as_str().unwrap()
        ));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    /api/v1/repos/acme/nothing/pulls/1
      The repository acme/nothing is not known here. Install the App on it; GitHub tells this server within seconds, and the next sweep finds it in any case.
    /api/v1/repos/acme/shop/pulls/7
      acme/shop#7 has not been judged here. If it was opened just now, ask again in a few seconds; `countersign explain acme/shop#7` reads GitHub itself.
    /api/v1/repos/acme/shop/pulls/0
      "0" is not a pull request's number.
    /api/v1/repos/acme/shop/pulls/x
      "x" is not a pull request's number.
    /api/v1/repos/acme/sh%20op/pulls
      The repository acme/sh op is not known here. Install the App on it; GitHub tells this server within seconds, and the next sweep finds it in any case.
    /api/v1/elsewhere
      There is no such address. Pull requests are at /api/v1/repos/OWNER/REPO/pulls, one of them at /api/v1/repos/OWNER/REPO/pulls/NUMBER; next, dispatch, scorecard and ledger stand beside pulls.
    "#);
    let page = get(&state(full()), "/repos/acme/shop/pulls/7").await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    assert!(page.body.contains("is not known here"), "{}", page.body);
    let nowhere = get(&state(full()), "/nope").await;
    assert_eq!(nowhere.status, StatusCode::NOT_FOUND);
    assert!(nowhere.body.contains("There is no such page."));
    assert!(nowhere.headers.contains_key("content-security-policy"));
}

#[tokio::test]
async fn a_database_that_fails_is_told_without_its_own_words() {
    let broken = || Shelf {
        broken: true.into(),
        ..full()
    };
    for path in [
        "/",
        "/repos/acme/shop/pulls/41",
        "/api/v1/repos/acme/shop/pulls",
        "/api/v1/repos/acme/shop/ledger",
        "/readyz",
    ] {
        let answer = get(&state(broken()), path).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        assert!(
            !answer.body.contains("secrets") && !answer.body.contains("disk"),
            "{}",
            answer.body
        );
    }
    assert_eq!(
        get(&state(broken()), "/healthz").await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_low_budget_is_told_on_the_dashboard_and_by_the_api() {
    let at = |minutes| now() + chrono::Duration::minutes(minutes);
    let low = move || {
        vec![crate::github::Left {
            installation: crate::domain::model::InstallationId::new(7).unwrap(),
            hour: Some((600, 5_000, at(50))),
            passes_wait: Some(at(10)),
            sweeps_wait: Some(at(30)),
            held: None,
            resting: None,
        }]
    };
    let state = WebState {
        budgets: Arc::new(low),
        ..state(full())
    };
    let page = get(&state, "/").await;
    assert!(
        page.body
            .contains("other pull requests wait until 10:10:00 UTC")
    );
    let told = get(&state, "/api/v1/limits").await.json();
    let installation = &told["installations"][0];
    assert_eq!(installation["hour"]["remaining"], 600);
    assert_eq!(installation["passes_wait_until"], "2026-03-02T10:10:00Z");
    let locked = locked(full());
    let refused = get(&locked, "/api/v1/limits").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn readiness_names_what_is_missing() {
    let state = WebState {
        ready: Arc::new(AtomicBool::new(false)),
        ..state(full())
    };
    let answer = get(&state, "/readyz").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.json()["database"], true);
    assert!(
        answer.json()["reasons"][0]
            .as_str()
            .unwrap()
            .contains("the server's log")
    );
    state
        .ready
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let answer = get(&state, "/readyz").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.json()["reasons"], json!([]));
}

#[tokio::test]
async fn every_answer_forbids_scripts_frames_and_guessed_types() {
    let state = locked(full());
    for path in [
        "/",
        "/healthz",
        "/readyz",
        "/assets/style.css",
        "/api/v1/x",
        "/nowhere",
    ] {
        let answer = get(&state, path).await;
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'; form-action 'self'"));
        assert!(policy.contains("base-uri 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(
            answer.headers[header::X_CONTENT_TYPE_OPTIONS],
            "nosniff",
            "{path}"
        );
        assert_eq!(
            answer.headers[header::REFERRER_POLICY],
            "no-referrer",
            "{path}"
        );
    }
}

#[tokio::test]
async fn foreign_text_stays_text_and_only_web_addresses_are_links() {
    let mut shelf = full();
    shelf.pulls[0].0.title = "<script>alert(1)</script>".into();
    let verdict = shelf.pulls[0].1.as_mut().unwrap();
    verdict["title"] = json!("Blocked: \"><img src=x>");
    verdict["gates"][1]["rests_on"] = json!([
        { "what": "<i>run</i>", "url": "javascript:alert(1)" },
        { "what": "fine", "url": "https://ci.example/\"onmouseover=\"x" },
    ]);
    verdict["gates"][1]["name"] = json!("\"><svg onload=x>");
    let state = state(shelf);
    for path in ["/", "/repos/acme/shop/pulls/41"] {
        let body = get(&state, path).await.body;
        for bad in [
            "<script",
            "<img",
            "<svg",
            "<i>",
            "javascript:",
            "\"onmouseover",
        ] {
            assert!(!body.contains(bad), "{bad} on {path}");
        }
    }
}

#[tokio::test]
async fn with_a_token_nothing_of_a_repository_is_shown_without_it() {
    let state = locked(full());
    for path in ["/", "/repos/acme/shop/pulls/41"] {
        let answer = get(&state, path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert!(answer.body.contains("COUNTERSIGN_API_TOKEN"));
        assert!(!answer.body.contains("execution start"));
    }
    for path in [
        "/api/v1/repos/acme/shop/pulls",
        "/api/v1/repos/acme/none/pulls",
        "/api/v1/x",
    ] {
        let answer = get(&state, path).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(
            answer.headers[header::WWW_AUTHENTICATE]
                .to_str()
                .unwrap()
                .starts_with("Bearer")
        );
    }
    for wrong in ["Bearer wrong", "Bearer ", "Basic Y29ycmVjdA==", TOKEN] {
        let answer = get_with(
            &state,
            "/api/v1/repos/acme/shop/pulls",
            "authorization",
            wrong,
        )
        .await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    let bearer = format!("bearer {TOKEN}");
    for path in ["/", "/api/v1/repos/acme/shop/pulls"] {
        let answer = get_with(&state, path, "authorization", &bearer).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
    }
    for path in ["/healthz", "/readyz", "/assets/style.css"] {
        assert_eq!(get(&state, path).await.status, StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn a_person_signs_in_once_and_lands_where_they_wanted() {
    let state = locked(full());
    let form = get(&state, "/repos/acme/shop/pulls/41").await.body;
    assert!(
        form.contains(r#"name="to" value="/repos/acme/shop/pulls/41""#),
        "{form}"
    );
    let answer = sign_in(
        &state,
        "token=correct+horse+battery+staple&to=/repos/acme/shop/pulls/41",
    )
    .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(
        answer.headers[header::LOCATION],
        "/repos/acme/shop/pulls/41"
    );
    let set = answer.headers[header::SET_COOKIE]
        .to_str()
        .unwrap()
        .to_owned();
    for part in [
        "HttpOnly",
        "SameSite=Strict",
        "Secure",
        "Path=/",
        "Max-Age=43200",
    ] {
        assert!(set.contains(part), "{set}");
    }
    assert!(!set.contains("correct"), "the token is not in the cookie");
    let cookie = format!("other=1; {}", set.split(';').next().unwrap());
    assert_eq!(
        get_with(&state, "/", "cookie", &cookie).await.status,
        StatusCode::OK
    );

    let forged = cookie.replace("countersign=1", "countersign=2");
    assert_eq!(
        get_with(&state, "/", "cookie", &forged).await.status,
        StatusCode::UNAUTHORIZED
    );
    let renewed = WebState {
        api_token: Live::new(Some("another".into())),
        ..state.clone()
    };
    assert_eq!(
        get_with(&renewed, "/", "cookie", &cookie).await.status,
        StatusCode::UNAUTHORIZED
    );
    state.clock.advance(Duration::hours(12));
    assert_eq!(
        get_with(&state, "/", "cookie", &cookie).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn a_wrong_token_sets_nothing_and_the_form_leads_nowhere_else() {
    let state = locked(full());
    let answer = sign_in(&state, "token=wrong&to=/repos/acme/shop/pulls/41").await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert!(answer.headers.get(header::SET_COOKIE).is_none());
    assert!(answer.body.contains("That is not the server"));
    for to in [
        "https://evil.example/",
        "//evil.example",
        "/repos/../\\evil.example",
        "/%0d%0aX:y",
        "",
    ] {
        let form = format!("token=correct+horse+battery+staple&to={to}");
        let answer = sign_in(&state, &form).await;
        assert_eq!(answer.headers[header::LOCATION], "/", "{to}");
    }
}

#[tokio::test]
async fn signing_out_takes_the_cookie_away() {
    let request = Request::post("/signout").body(Body::empty()).unwrap();
    let answer = send(&locked(full()), request).await;
    let set = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(
        set.starts_with("countersign=;") && set.contains("Max-Age=0"),
        "{set}"
    );
}

#[test]
fn pages_of_a_github_are_found_from_its_api() {
    assert_eq!(
        github_pages("https://api.github.com/"),
        "https://github.com"
    );
    assert_eq!(
        github_pages("https://ghe.example/api/v3"),
        "https://ghe.example"
    );
    assert_eq!(
        github_pages("http://127.0.0.1:4000"),
        "http://127.0.0.1:4000"
    );
}
