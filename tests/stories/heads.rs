//! Heads and bases: a verdict speaks for one head, into one base, and for nothing else.

use countersign::domain::ledger::Kind;
use countersign::simulator::Edits;
use countersign::simulator::world::Change;
use serde_json::json;

use crate::stage::{AFTER, Stage};

const LATER: &str = "pub fn start(runs: &mut Vec<u32>) {\n    runs.push(2);\n}\n";

#[tokio::test]
async fn a_push_between_clearance_and_merge_is_refused_and_the_gate_starts_again() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let judged = pull.head().unwrap();
    let (repo, agent) = (stage.shop.id, stage.agent.clone());
    stage.github.before_next_merge(move |world| {
        let tip = world.tip(repo, "agent/start").unwrap();
        let change = Change::Write {
            path: "src/start.rs".into(),
            content: LATER.into(),
        };
        let pushed = world.commit(Some(&tip), agent.id, &[change], "One more thing");
        let pushed = pushed.unwrap();
        world
            .move_branch(repo, "agent/start", Some(&pushed), agent.principal(), false)
            .unwrap();
    });
    stage.clear(&pull).await;

    let head = pull.head().unwrap();
    assert_ne!(head, judged);
    assert!(!stage.merged(&pull));
    let calls = stage.github.calls_to("PUT", "/merge");
    assert_eq!(calls.len(), 1, "{}", stage.told(&pull).await);
    assert_eq!(
        (calls[0].status, &calls[0].body["sha"]),
        (409, &json!(judged))
    );
    assert_eq!(stage.verdict(&pull).await["head"], json!(head));
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(stage.state(&pull, "checks").await, "waiting");
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    let check = stage.our_check(&head).expect("published on the new head");
    assert_eq!(check.conclusion, None, "{check:?}");

    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    let calls = stage.github.calls_to("PUT", "/merge");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[1].body["sha"], json!(head));
    assert_eq!(stage.ledger(Kind::Landed).await.len(), 1);
}

#[tokio::test]
async fn a_lost_delivery_of_a_push_is_made_good_by_the_sweep() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let old = pull.head().unwrap();
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Two",
            Edits::write("src/start.rs", LATER),
        )
        .unwrap();
    assert!(stage.github.lose_pending() > 0);
    stage.settle().await;
    assert_eq!(stage.verdict(&pull).await["head"], json!(old));

    stage.sweep().await;
    let head = pull.head().unwrap();
    assert_eq!(stage.verdict(&pull).await["head"], json!(head));
    assert!(stage.our_check(&head).is_some());
    stage.clear(&pull).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

/// B076: whoever commits chooses a commit's date, and the platform may stop telling when it was pushed. What came
/// later is told by the order in which it was heard of alone.
#[tokio::test]
async fn the_dates_that_commits_bear_order_nothing() {
    let long_ago = "1971-01-01T00:00:00Z".parse().unwrap();
    let far_off = "2099-12-31T23:59:59Z".parse().unwrap();
    for (first, second) in [(far_off, long_ago), (long_ago, far_off)] {
        let stage = Stage::new().await;
        stage.github.date_commits(first);
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let (judged, evidence) = (pull.head().unwrap(), stage.evidence(&pull));
        stage.github.date_commits(second);
        let (edits, branch) = (Edits::write("src/start.rs", LATER), "agent/start");
        let pushed = stage.agent.push(&stage.shop, branch, "Two", edits);
        pushed.unwrap();
        let (codex, told) = (&stage.codex, evidence.block());
        let report = codex.report(&stage.shop, &judged, "verification", "success", &told);
        report.unwrap();
        stage.settle().await;
        let head = pull.head().unwrap();
        assert_eq!(stage.verdict(&pull).await["head"], json!(head));
        assert!(!stage.merged(&pull), "by evidence of an older head");
        stage.clear(&pull).await;
        assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
        let calls = stage.github.calls_to("PUT", "/merge");
        assert_eq!(calls.last().unwrap().body["sha"], json!(head));
    }
}

#[tokio::test]
async fn what_was_verified_of_one_head_merges_no_other_though_the_push_was_never_heard_of() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let (judged, evidence) = (pull.head().unwrap(), stage.evidence(&pull));
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Two",
            Edits::write("src/start.rs", LATER),
        )
        .unwrap();
    stage.github.lose_pending();
    // The verifier reports on the head it looked at; nothing told of another.
    stage
        .codex
        .report(
            &stage.shop,
            &judged,
            "verification",
            "success",
            &evidence.block(),
        )
        .unwrap();
    stage.settle().await;

    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
    let head = pull.head().unwrap();
    assert_eq!(stage.verdict(&pull).await["head"], json!(head));
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let judged = stage.our_check(&judged).unwrap();
    assert_ne!(judged.conclusion.as_deref(), Some("success"));
}

#[tokio::test]
async fn a_report_in_a_comment_about_an_older_head_does_not_speak_for_the_new_one() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let old = pull.head().unwrap();
    let evidence = stage.evidence(&pull);
    stage.codex.comment(&pull, &evidence.block()).unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "satisfied");

    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Two",
            Edits::write("src/start.rs", LATER),
        )
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    let said = stage.reasons(&pull, "second_verifier").await;
    let words = format!("it is about {}, which is not the head", &old[..7]);
    assert!(said.contains(&words), "{said}");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_retarget_widens_the_difference_and_voids_what_was_verified() {
    let stage = Stage::new().await;
    let lower = Edits::write("src/hidden.rs", "pub fn hidden() {}\n");
    stage
        .agent
        .push(&stage.shop, "lower", "The lower part", lower)
        .unwrap();
    stage
        .agent
        .branch(&stage.shop, "agent/start", "lower")
        .unwrap();
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Upper",
            Edits::write("src/start.rs", AFTER),
        )
        .unwrap();
    let pull = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "lower", "Upper")
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");

    let lower = stage.shop.tip("lower").unwrap();
    let base = json!({ "ref": "lower", "sha": lower });
    let evidence = stage.evidence(&pull).with("/base", base);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.unit_passes(&pull).await;
    stage.agent.retarget(&pull, "main").unwrap();
    stage.settle().await;

    assert!(!stage.merged(&pull));
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let said = stage.reasons(&pull, "second_verifier").await;
    let words = "it was made against `lower`, and the base is `main` now";
    assert!(said.contains(words), "{said}");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn updating_the_branch_carries_no_review_over_to_the_new_head() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let old = pull.head().unwrap();
    let report = stage.evidence(&pull).block();
    stage
        .codex
        .review(
            &pull,
            countersign::simulator::ReviewState::Approved,
            &report,
        )
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "satisfied");

    let edits = Edits::write("README.md", "# The shop\n");
    stage
        .alice
        .push(&stage.shop, "main", "Say which", edits)
        .unwrap();
    stage.settle().await;
    stage.alice.update_branch(&pull).unwrap();
    stage.settle().await;
    let head = pull.head().unwrap();
    assert_ne!(head, old);
    // GitHub now says that the review is of the new head.
    let moved = stage.shop.look(|repo| {
        let mut reviews = repo.reviews.values();
        reviews.all(|review| review.commit_id == head)
    });
    assert!(moved.unwrap());

    stage.unit_passes(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
}
