//! The commands that read GitHub and write nothing: the program itself, beside a simulated GitHub.

use std::io::Write;
use std::process::{Command, Stdio};

use countersign::simulator::PullHandle;
use serde_json::Value;

use crate::stage::{POLICY, Stage};

/// What a command answered.
struct Answer {
    code: i32,
    out: String,
    err: String,
}

/// Runs the program with these words; `input` is its standard input.
async fn run(stage: &Stage, words: &[&str], input: &str) -> Answer {
    let credentials = stage.github.app();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command
        .args(words)
        .env_clear()
        .env("COUNTERSIGN_APP_ID", credentials.app_id.to_string())
        .env("COUNTERSIGN_PRIVATE_KEY", &credentials.private_key_pem)
        .env("COUNTERSIGN_GITHUB_API_URL", &stage.api_url)
        .env("COUNTERSIGN_DATABASE_URL", "sqlite::memory:")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // The program proves itself by the clock of this machine.
    stage.github.lock().clock = countersign::clock::Clock::System;
    let input = input.to_owned();
    let output = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        // One that complains at once does not read what it is given.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    });
    let output = output.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Answer {
        code: output.status.code().unwrap(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// How often GitHub was written to, not counting tokens.
fn writes(stage: &Stage) -> usize {
    let calls = stage.github.calls();
    let written = calls
        .iter()
        .filter(|call| call.method != "GET" && !call.path.contains("access_tokens"));
    written.count()
}

fn by_people() -> String {
    POLICY.replace("when: ready", "when: never")
}

async fn ready(stage: &Stage) -> PullHandle {
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    pull
}

#[tokio::test]
async fn simulate_tells_who_would_stand_otherwise_and_writes_nothing() {
    let stage = Stage::with_policy(&by_people()).await;
    ready(&stage).await;
    stage.open_other("agent/other").await;
    let before = writes(&stage);
    let words = ["simulate", "acme/shop", "--policy", "-"];
    let same = run(&stage, &words, &by_people()).await;
    assert_eq!((same.code, same.err.as_str()), (0, ""), "{}", same.out);
    assert_eq!(
        same.out,
        "All 2 open pull requests would stand as they stand now: every gate keeps its state, though its reason may read differently.\n"
    );

    let strict = by_people().replace("count: 1", "count: 2");
    let changed = run(&stage, &words, &strict).await;
    assert_eq!(changed.code, 1, "{}", changed.err);
    assert!(
        changed.out.starts_with(
            "Of 2 open pull requests, 1 would stand otherwise and 1 stays as it is.\n  \
             #1: ready → waiting\n      `second_verifier`: satisfied → waiting: 1 of 2 independent"
        ),
        "{}",
        changed.out
    );
    let elsewhere = [&words[..], &["--base", "other"]].concat();
    let none = run(&stage, &elsewhere, &strict).await;
    assert_eq!(none.out, "No pull request into `other` is open.\n");
    assert_eq!(none.code, 0);
    assert_eq!(writes(&stage), before);
}

#[tokio::test]
async fn simulate_answers_programs_with_json() {
    let stage = Stage::with_policy(&by_people()).await;
    ready(&stage).await;
    let strict = by_people().replace("count: 1", "count: 2");
    let words = ["simulate", "acme/shop", "--policy", "-", "--json"];
    let answer = run(&stage, &words, &strict).await;
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    let change = &json["preview"]["effects"]["changes"][0];
    assert_eq!(change["number"], 1);
    assert_eq!(change["before"], "ready");
    assert_eq!(change["after"], "waiting");
    assert_eq!(change["gates"][0]["gate"], "second_verifier");
    assert_eq!(json["unread"], serde_json::json!([]));
    assert_eq!(answer.code, 1);
}

#[tokio::test]
async fn simulate_reads_what_only_the_new_policy_asks_about() {
    let stage = Stage::with_policy(&by_people()).await;
    ready(&stage).await;
    let more = by_people().replace(
        "gates:\n",
        "gates:\n  approvals: { count: 1, conversations_resolved: true }\n",
    );
    let words = ["simulate", "acme/shop", "--policy", "-"];
    let answer = run(&stage, &words, &more).await;
    assert!(
        answer
            .out
            .contains("`approvals`: not asked for → waiting: "),
        "{}{}",
        answer.out,
        answer.err
    );
}

#[tokio::test]
async fn simulate_says_where_a_policy_is_wrong_and_what_cannot_be_had() {
    let stage = Stage::new().await;
    let words = ["simulate", "acme/shop", "--policy", "-"];
    let wrong = run(&stage, &words, "version: 1\ngats: {}\n").await;
    assert_eq!(wrong.code, 1);
    assert!(
        wrong.out.contains("line 2, column 1: `gats`"),
        "{}",
        wrong.out
    );
    let words = ["simulate", "acme/nowhere", "--policy", "-"];
    let lost = run(&stage, &words, POLICY).await;
    assert_eq!(lost.code, 3, "{}", lost.err);
    let words = ["simulate", "acme", "--policy", "-"];
    assert_eq!(run(&stage, &words, POLICY).await.code, 2);
}

#[tokio::test]
async fn explain_finds_the_organisations_default_by_itself() {
    let stage = Stage::with_policy("").await;
    let files = [(".github/countersign.yml", POLICY)];
    let defaults = stage.github.repo("acme/.github", &files).unwrap();
    defaults.install_app(&stage.alice).unwrap();
    stage.open_pull().await;
    let answer = run(&stage, &["explain", "acme/shop#1"], "").await;
    assert_eq!(answer.code, 1, "{}", answer.err);
    assert!(
        answer
            .out
            .contains("(the organisation's default, acme/.github at "),
        "{}",
        answer.out
    );
}

#[tokio::test]
async fn explain_answers_what_would_be_if_a_verifier_approved() {
    let stage = Stage::with_policy(&by_people()).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let bare = ["explain", "acme/shop#1"];
    let answer = run(&stage, &bare, "").await;
    assert!(!answer.out.contains("hypothetical"), "{}", answer.out);
    let words = [
        "explain",
        "acme/shop#1",
        "--as-if",
        "approved by codex",
        "--as-if",
        "held",
    ];
    let answer = run(&stage, &words, "").await;
    let start =
        "hypothetical: as if approved by codex\nhypothetical: as if held\nacme/shop#1  Held";
    assert!(answer.out.starts_with(start), "{}", answer.out);
    assert!(
        answer.out.contains("codex countersigned "),
        "{}",
        answer.out
    );
    let json = run(&stage, &[&words[..], &["--json"]].concat(), "").await;
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let supposed = serde_json::json!(["approved by codex", "held"]);
    assert_eq!(json["hypothetical"], supposed);
    assert_eq!(json["outcome"], "held");
}

#[tokio::test]
async fn explain_refuses_to_suppose_what_it_does_not_understand() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    let as_if = async |sentence: &str| {
        let words = ["explain", "acme/shop#1", "--as-if", sentence];
        run(&stage, &words, "").await
    };
    let answer = as_if("it is fine").await;
    assert_eq!(answer.code, 2);
    assert!(
        answer.err.contains("\"approved by VERIFIER\""),
        "{}",
        answer.err
    );
    let answer = as_if("approved by codx").await;
    assert_eq!(answer.code, 2);
    assert!(
        answer.err.contains("did you mean `codex`?"),
        "{}",
        answer.err
    );
}

#[tokio::test]
async fn explain_judges_another_commit_as_the_head_and_remembers_nothing_of_it() {
    let stage = Stage::with_policy(&by_people()).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    let first = pull.head().unwrap();
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "More",
            countersign::simulator::Edits::write("README.md", "# More\n"),
        )
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");

    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/gate.db", folder.path().display());
    std::fs::write(folder.path().join("gate.db"), "").unwrap();
    let words = [
        "explain",
        "acme/shop#1",
        "--head",
        &*first,
        "--database",
        &*database,
    ];
    let answer = run(&stage, &words, "").await;
    let start = format!("hypothetical: as if the head were {first}\n");
    assert!(
        answer.out.starts_with(&start),
        "{}{}",
        answer.out,
        answer.err
    );
    assert!(
        answer.out.contains("codex countersigned "),
        "{}",
        answer.out
    );
    let number = countersign::domain::model::PullNumber::new(1).unwrap();
    let store = countersign::store::sqlite::Sqlite::open(&database).await;
    use countersign::store::Store;
    let memory = store.unwrap().pull(stage.repo_id(), number).await.unwrap();
    assert_eq!(memory.value.pull, None);

    let words = ["explain", "acme/shop#1", "--head", &*"0a".repeat(20)];
    let unknown = run(&stage, &words, "").await;
    assert_eq!(unknown.code, 3, "{}", unknown.out);
    assert!(unknown.err.contains("cannot be read"), "{}", unknown.err);
    let words = ["explain", "acme/shop#1", "--head", &first[..7]];
    assert_eq!(run(&stage, &words, "").await.code, 2);
}

#[tokio::test]
async fn explain_says_whose_posted_evidence_only_the_server_could_show() {
    let key = "0a".repeat(32);
    let posting = format!(
        "verifiers:\n  nightly: {{ workflow: .github/workflows/verify.yml, vendor: openai }}\n  \
         sealed: {{ key: {key}, vendor: google }}\n"
    );
    let stage = Stage::with_policy(&by_people().replace("verifiers:\n", &posting)).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let bare = ["explain", "acme/shop#1"];
    let answer = run(&stage, &bare, "").await;
    let last = answer.out.lines().last().unwrap_or_default();
    assert_eq!(
        last,
        "not seen here: evidence that nightly or sealed posted to the server; run this with its --database, \
         or ask it: GET /api/v1/repos/acme/shop/pulls/1",
        "{}{}",
        answer.out,
        answer.err
    );
    let json = run(&stage, &[&bare[..], &["--json"]].concat(), "").await;
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["unseen"], serde_json::json!(["nightly", "sealed"]));

    // What is supposed of one is seen, and counts as a report of its does.
    let words = ["--as-if", "approved by nightly"];
    let answer = run(&stage, &[&bare[..], &words].concat(), "").await;
    assert!(
        answer.out.contains("nightly countersigned "),
        "{}{}",
        answer.out,
        answer.err
    );
    assert!(answer.out.contains("that sealed posted"), "{}", answer.out);

    // With a database there is nothing that could not be seen.
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/gate.db", folder.path().display());
    let made = countersign::store::sqlite::Sqlite::open(&database).await;
    made.unwrap().close().await;
    let words = ["--database", &*database];
    let answer = run(&stage, &[&bare[..], &words].concat(), "").await;
    assert!(answer.out.starts_with("acme/shop#1  "), "{}", answer.err);
    assert!(!answer.out.contains("not seen here"), "{}", answer.out);
    stage.alice.close(&pull).unwrap();
    let closed = run(&stage, &bare, "").await;
    assert!(!closed.out.contains("not seen here"), "{}", closed.out);
}
