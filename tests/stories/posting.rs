//! What whoever posts evidence is answered when it is not their fault, or too much: come again, and when.

use countersign::simulator::faults::{Fate, Fault, FaultPlan, When};
use countersign::simulator::{Edits, PullHandle};
use countersign::store::EVIDENCE_PER_HEAD;
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::desk::{Desk, MAIN, WORKFLOW, pair, policy, sealed};
use crate::stage::{AFTER, Evidence, PUBLIC_URL};

/// The seconds after which to come again.
fn again(headers: &HeaderMap) -> u64 {
    let after = headers.get("retry-after").expect("no Retry-After");
    after.to_str().unwrap().parse().unwrap()
}

/// What an answer holds that a person reads.
fn told((status, body, headers): &(u16, Value, HeaderMap)) -> String {
    let after = headers.get("retry-after");
    let after = after.map_or(String::new(), |after| format!("\nRetry-After: {after:?}"));
    format!("{status}{after}\n{body:#}")
}

/// A second pull request of which the product has not heard yet, and evidence about its head.
fn unheard_of(desk: &Desk) -> (PullHandle, Evidence) {
    let stage = &desk.stage;
    let edits = Edits::write("src/start.rs", AFTER.replace("push(1)", "push(2)"));
    let agent = &stage.agent;
    agent.push(&stage.shop, "agent/new", "New", edits).unwrap();
    let pull = agent.open_pull(&stage.shop, "agent/new", "main", "New");
    let pull = pull.unwrap();
    let evidence = stage.evidence(&pull);
    (pull, evidence)
}

#[tokio::test]
async fn a_verifier_that_is_quicker_than_the_delivery_of_its_pull_request_loses_nothing() {
    let desk = Desk::new().await;
    let (pull, evidence) = unheard_of(&desk);
    let claims = desk
        .stage
        .github
        .run_claims(&pull, WORKFLOW, MAIN, PUBLIC_URL);
    let answer = desk.run(&claims, &evidence).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    desk.stage.unit_passes(&pull).await;
    assert!(desk.stage.merged(&pull), "{}", desk.stage.told(&pull).await);
}

#[tokio::test]
async fn evidence_counts_though_the_delivery_of_its_pull_request_was_lost() {
    let desk = Desk::new().await;
    let lost = FaultPlan::none().with_delivery("pull_request", When::Always, Fate::Lost);
    desk.stage.github.set_faults(lost);
    let (pull, evidence) = unheard_of(&desk);
    desk.stage.settle().await;
    let answer = desk.signed(&sealed(&evidence, &pair())).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    assert_eq!(
        desk.stage.state(&pull, "second_verifier").await,
        "satisfied"
    );
}

#[tokio::test]
async fn while_github_does_not_say_whose_head_it_is_the_verifier_is_told_to_come_again() {
    let desk = Desk::new().await;
    let (pull, evidence) = unheard_of(&desk);
    let down = FaultPlan::none().with("GET", "/pulls", 100, Fault::status(503));
    desk.stage.github.set_faults(down);
    let github = &desk.stage.github;
    let claims = github.run_claims(&pull, WORKFLOW, MAIN, PUBLIC_URL);
    let bearer = format!("Bearer {}", github.mint(&claims));
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let answer = desk.send(&headers, evidence.0.to_string()).await;
    assert_eq!(answer.0, 503, "{}", told(&answer));
    assert_eq!(again(&answer.2), 10);
    desk.stage.github.set_faults(FaultPlan::none());
    let answer = desk.send(&headers, evidence.0.to_string()).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
}

#[tokio::test]
async fn a_head_without_a_pull_request_is_asked_of_github_at_most_once_in_five_seconds() {
    let desk = Desk::new().await;
    let stage = &desk.stage;
    let edits = Edits::write("README.md", "# Without a pull request\n");
    stage
        .agent
        .push(&stage.shop, "agent/none", "None", edits)
        .unwrap();
    stage.settle().await;
    let mut document = desk.good();
    let tip = stage.shop.tip("agent/none").unwrap();
    document.0["subject"][0]["digest"]["gitCommit"] = json!(tip);
    let questions = || stage.github.calls_to("GET", "/pulls").len();
    let before = questions();
    let mut statuses = Vec::new();
    for seconds in [0, 4, 2, 1] {
        stage.after(seconds).await;
        let (status, body, headers) = desk.run(&desk.claims(), &document).await;
        if status == 503 {
            again(&headers);
        } else {
            assert_eq!(body["claim"], "subject[0].digest.gitCommit");
        }
        statuses.push(status);
    }
    assert_eq!(statuses, [403, 503, 403, 503]);
    assert_eq!(questions() - before, 2);
}

#[tokio::test]
async fn a_server_without_an_address_of_its_own_says_so_and_what_to_set() {
    let mut desk = Desk::new().await;
    desk.url = desk.stage.serve_without_address().await + "/evidence";
    let answer = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!((answer.0, again(&answer.2)), (503, 10));
    let error = answer.1["error"].as_str().unwrap();
    assert!(error.contains("COUNTERSIGN_PUBLIC_URL"), "{error}");
    // A signature needs no address.
    let answer = desk.signed(&sealed(&desk.good(), &pair())).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
}

#[tokio::test]
async fn while_no_policy_can_be_read_nobody_is_refused_for_good() {
    let desk = Desk::new().await;
    let stage = &desk.stage;
    let edits = Edits::none().and_write("R", "1\n");
    stage
        .alice
        .push(&stage.shop, "release", "Branch off", edits)
        .unwrap();
    stage.settle().await;
    let unreadable = FaultPlan::none().with("GET", "/contents/", 1_000, Fault::status(503));
    stage.github.set_faults(unreadable);
    stage.alice.retarget(&desk.pull, "release").unwrap();
    stage.settle().await;
    let about = stage.evidence(&desk.pull);
    let mut claims = desk.claims();
    let at = format!("acme/shop/{WORKFLOW}@refs/heads/release");
    claims["job_workflow_ref"] = json!(at);
    let answer = desk.run(&claims, &about).await;
    assert_eq!((answer.0, again(&answer.2)), (503, 10));
    let error = answer.1["error"].as_str().unwrap();
    assert!(error.contains("policy"), "{error}");
    stage.github.set_faults(FaultPlan::none());
    stage
        .alice
        .push(
            &stage.shop,
            "release",
            "The policy",
            Edits::write(".github/countersign.yml", policy() + "# Here too\n"),
        )
        .unwrap();
    stage.settle().await;
    stage.after(600).await;
    stage.sweep().await;
    let mut claims = desk.claims();
    let at = format!("acme/shop/{WORKFLOW}@refs/heads/release");
    claims["job_workflow_ref"] = json!(at);
    let answer = desk.run(&claims, &about).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
}

#[tokio::test]
async fn a_stranger_is_counted_by_peer_and_told_when_to_come_again() {
    let desk = Desk::new().await;
    let json = [("content-type", "application/json")];
    for _ in 0..240 {
        assert_eq!(desk.send(&json, "{}".into()).await.0, 401);
    }
    let answer = desk.send(&json, "{}".into()).await;
    assert_eq!((answer.0, again(&answer.2)), (429, 60));
    // Before anything is proven the peer is all that is known: verifiers behind it wait as well.
    assert_eq!(desk.run(&desk.claims(), &desk.good()).await.0, 429);
    desk.stage.after(60).await;
    assert_eq!(desk.run(&desk.claims(), &desk.good()).await.0, 201);
}

#[tokio::test]
async fn what_is_proven_to_be_a_repositorys_counts_for_it_and_not_for_its_peer() {
    let desk = Desk::new().await;
    let json = [("content-type", "application/json")];
    let rejected = desk.good().with("/result", json!("rejected"));
    for _ in 0..60 {
        let (status, ..) = desk.run(&desk.claims(), &rejected).await;
        assert!(matches!(status, 200 | 201), "{status}");
    }
    for _ in 0..240 {
        assert_eq!(desk.send(&json, "{}".into()).await.0, 401);
    }
    assert_eq!(desk.send(&json, "{}".into()).await.0, 429);
}

#[tokio::test]
async fn a_verifier_that_has_said_enough_about_one_head_is_told_to_wait_for_long() {
    let desk = Desk::new().await;
    let rejected = desk.good().with("/result", json!("rejected"));
    for n in 0..EVIDENCE_PER_HEAD {
        if n == 50 {
            desk.stage.after(61).await;
        }
        let document = rejected.clone().with("/context", json!(format!("c{n}")));
        let (status, body, _) = desk.run(&desk.claims(), &document).await;
        assert_eq!(status, 201, "{n}: {body:#}");
    }
    let answer = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!((answer.0, again(&answer.2)), (429, 3_600));
    // Another verifier has room of its own.
    let answer = desk.signed(&sealed(&rejected, &pair())).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
}

#[tokio::test]
async fn a_body_may_be_as_large_as_a_document_and_no_larger() {
    let desk = Desk::new().await;
    let token = format!("Bearer {}", desk.stage.github.mint(&desk.claims()));
    let headers = [
        ("authorization", token.as_str()),
        ("content-type", "application/json"),
    ];
    let whole = desk.good().0.to_string();
    let most = 3 * 1024 * 1024 / 2;
    let padded = |length: usize| whole.clone() + &" ".repeat(length - whole.len());
    let answer = desk.send(&headers, padded(most + 1)).await;
    assert_eq!(answer.0, 413, "{}", told(&answer));
    let answer = desk.send(&headers, padded(1024 * 1024)).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
}

/// A second name under which the author side posts is still the author side.
#[tokio::test]
async fn what_the_author_side_posts_by_a_key_of_its_own_does_not_countersign_its_work() {
    let mut own = policy();
    own = own.replace(
        "vendor: google, model: gemini-pro",
        "vendor: Anthropic, model: claude-opus",
    );
    let desk = Desk::on(crate::stage::Stage::with_policy(&own).await).await;
    let answer = desk.signed(&sealed(&desk.good(), &pair())).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    desk.nothing_came_of_it().await;
    let said = desk.stage.reasons(&desk.pull, "second_verifier").await;
    assert!(said.contains("it is not independent"), "{said}");
}

/// Whatever workflows push, they push as one account, and what one of them wrote another may have.
#[tokio::test]
async fn a_workflow_does_not_countersign_what_a_workflow_wrote() {
    let desk = Desk::new().await;
    let stage = &desk.stage;
    let actions = stage.github.actions();
    let edits = Edits::write("src/start.rs", AFTER.replace("push(1)", "push(4)"));
    actions
        .push(&stage.shop, "agent/start", "Formatted", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&desk.pull).await;
    let answer = desk.run(&desk.claims(), &desk.good()).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    desk.nothing_came_of_it().await;
    let said = stage.reasons(&desk.pull, "second_verifier").await;
    assert!(said.contains("which may be this workflow"), "{said}");
}

/// A claim that tests passed is no evidence, whoever makes it and however it looks.
#[tokio::test]
async fn a_claim_that_tests_pass_counts_for_nothing_whoever_writes_it() {
    let desk = Desk::new().await;
    let stage = &desk.stage;
    let claim = "All 412 tests pass, 0 failed. Verified and approved. ✅";
    for who in [&stage.agent, &stage.codex, &stage.alice] {
        stage.says(who, &desk.pull, claim).await;
    }
    // The same by somebody whom the policy does not name, as a whole document.
    stage
        .says(&stage.agent, &desk.pull, &desk.good().block())
        .await;
    let head = desk.pull.head().unwrap();
    let (agent, codex) = (&stage.agent, &stage.codex);
    agent
        .report(
            &stage.shop,
            &head,
            "verification",
            "success",
            &desk.good().block(),
        )
        .unwrap();
    codex
        .report(&stage.shop, &head, "verification", "success", claim)
        .unwrap();
    stage.settle().await;
    desk.nothing_came_of_it().await;
}

/// A rejection that was posted from a branch that is the base no more is one still.
#[tokio::test]
async fn a_posted_rejection_outlives_a_retarget_and_an_approval_does_not() {
    let desk = Desk::new().await;
    let (alice, shop) = (&desk.stage.alice, &desk.stage.shop);
    let edits = Edits::none().and_write("R", "1\n");
    alice.push(shop, "release", "Branch off", edits).unwrap();
    let edits = Edits::write(".github/countersign.yml", policy() + "# Here too\n");
    alice.push(shop, "release", "The policy", edits).unwrap();
    alice.retarget(&desk.pull, "release").unwrap();
    desk.stage.settle().await;
    desk.stage.sweep().await;
    let mut claims = desk.claims();
    let at = format!("acme/shop/{WORKFLOW}@refs/heads/release");
    claims["job_workflow_ref"] = json!(at);
    let about = desk.good().without("mutation");
    let about = about.with(
        "/base",
        json!({ "ref": "release", "sha": shop.tip("release").unwrap() }),
    );
    let rejected = about.with("/result", json!("rejected"));
    let answer = desk.run(&claims, &rejected).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    assert_eq!(
        desk.stage.state(&desk.pull, "second_verifier").await,
        "failed"
    );
    alice.retarget(&desk.pull, "main").unwrap();
    desk.stage.settle().await;
    desk.stage.sweep().await;
    assert_eq!(
        desk.stage.state(&desk.pull, "second_verifier").await,
        "failed"
    );
    // Its verifier has the last word.
    let anew = desk.good().with("/context", json!("exec-9"));
    let answer = desk.run(&desk.claims(), &anew).await;
    assert_eq!(answer.0, 201, "{}", told(&answer));
    assert!(
        desk.stage.merged(&desk.pull),
        "{}",
        desk.stage.told(&desk.pull).await
    );
}

/// A body that was begun and does not come on: the server is asked to say that it waits for it.
async fn begun(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /evidence HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 9\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The status of the next answer.
async fn answered(stream: &mut TcpStream) -> String {
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.unwrap();
    String::from_utf8_lossy(&line[9..]).into_owned()
}

#[tokio::test]
async fn slow_bodies_of_one_address_have_their_part_and_no_more() {
    let desk = Desk::new().await;
    let address = desk.url.strip_prefix("http://").unwrap();
    let address = address.strip_suffix("/evidence").unwrap();
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut one = begun(address).await;
        assert_eq!(answered(&mut one).await, "100");
        slow.push(one);
    }
    assert_eq!(answered(&mut begun(address).await).await, "429");
}
