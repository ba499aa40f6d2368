//! What GitHub answers to a merge, and what people do meanwhile: each answer is told, none stops anybody else.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fate, Fault, FaultPlan, When};
use countersign::simulator::world::MergeRequest;
use countersign::simulator::{Edits, PullHandle};

use crate::stage::Stage;

/// A pull request that lacks its check only: when `unit` passes, it is merged.
async fn almost_ready(stage: &Stage) -> PullHandle {
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    pull
}

/// One beside it, which asks for no mutants and conflicts with nothing.
async fn another(stage: &Stage) -> PullHandle {
    let edits = Edits::write("docs/words.md", "# Words\n");
    let (shop, agent) = (&stage.shop, &stage.agent);
    agent.push(shop, "agent/words", "Words", edits).unwrap();
    let opened = agent.open_pull(shop, "agent/words", "main", "Words");
    stage.settle().await;
    let pull = opened.unwrap();
    let evidence = stage.evidence(&pull).without("mutation");
    stage.reports(&stage.codex, &pull, &evidence).await;
    pull
}

#[tokio::test]
async fn whatever_github_answers_to_a_merge_is_told_not_hammered_and_keeps_no_other_from_merging() {
    let answers = [
        (403, "Resource not accessible by integration"),
        (404, "Not Found"),
        (405, "At least 1 approving review is required"),
        (
            409,
            "Head branch was modified. Review and try the merge again.",
        ),
        (422, "Update is not a fast forward"),
        (500, "Server Error"),
        (503, "Service Unavailable"),
        (418, "I am a teapot"),
    ];
    for (status, words) in answers {
        let stage = Stage::new().await;
        let pull = almost_ready(&stage).await;
        let other = another(&stage).await;
        let number = pull.look(|pull| pull.number).unwrap();
        let path = format!("/pulls/{number}/merge");
        let refuse = Fault::Refuse(status, words);
        let plan = FaultPlan::none().with("PUT", &path, u32::MAX, refuse);
        stage.github.set_faults(plan);
        stage.unit_passes(&pull).await;
        stage.unit_passes(&other).await;
        assert!(
            stage.merged(&other),
            "{status} {}",
            stage.told(&other).await
        );
        for _ in 0..20 {
            stage.after(180).await;
        }
        assert!(!stage.merged(&pull));
        let calls = stage.github.calls_to("PUT", &path).len();
        assert!(
            (1..=30).contains(&calls),
            "{status}: {calls} calls in an hour"
        );
        if status != 418 && status < 500 {
            let said = stage.reasons(&pull, "landing").await;
            assert!(said.contains(words), "{status} {said}");
            let check = stage.our_check(&pull.head().unwrap()).unwrap();
            assert_eq!(check.conclusion, None, "{status} {check:?}");
        }
        // What hindered it is gone.
        stage.github.set_faults(FaultPlan::none());
        stage.after(3_700).await;
        assert!(stage.merged(&pull), "{status} {}", stage.told(&pull).await);
        assert_eq!(stage.ledger(Kind::Landed).await.len(), 2, "{status}");
    }
}

#[tokio::test]
async fn what_somebody_merged_during_the_call_is_merged_and_not_tried_again() {
    for heard in [true, false] {
        let stage = Stage::new().await;
        let pull = almost_ready(&stage).await;
        let other = another(&stage).await;
        let number = pull.look(|pull| pull.number).unwrap();
        let (repo, alice) = (stage.shop.id, stage.alice.principal());
        stage.github.before_next_merge(move |world| {
            let merged = world.merge(repo, number, alice, &MergeRequest::default());
            merged.unwrap();
        });
        if !heard {
            let lost = FaultPlan::none().with_delivery("pull_request", When::Always, Fate::Lost);
            stage.github.set_faults(lost);
        }
        stage.unit_passes(&pull).await;
        let calls = stage.github.calls_to("PUT", "/merge");
        assert_eq!((calls.len(), calls[0].status), (1, 405), "{heard}");
        stage.github.set_faults(FaultPlan::none());
        stage.after(600).await;
        stage.sweep().await;
        assert_eq!(stage.outcome(&pull).await, "merged", "{heard}");
        assert_eq!(stage.merge_calls(), 1);
        assert_eq!(stage.ledger(Kind::MergedPastGate).await.len(), 1);
        stage.unit_passes(&other).await;
        assert!(stage.merged(&other), "{}", stage.told(&other).await);
    }
}

#[tokio::test]
async fn a_hold_that_comes_after_the_merge_is_told_since_when_it_is_merged_and_changes_no_result() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(stage.merged(&pull));
    let head = pull.head().unwrap();
    let before = stage.our_check(&head).unwrap();
    let comment = stage
        .says(&stage.alice, &pull, "/countersign hold wait a moment")
        .await;
    assert_eq!(stage.reactions(comment), ["-1"]);
    let number = pull.look(|pull| pull.number).unwrap();
    let answers = stage.answers(number);
    let answer = answers.last().expect("who holds too late is told");
    assert!(answer.contains("this is merged since 20"), "{answer}");
    stage.alice.press(&stage.shop, before.id, "hold").unwrap();
    stage.settle().await;
    stage.after(600).await;
    stage.sweep().await;
    let after = stage.our_check(&head).unwrap();
    assert_eq!(after.conclusion.as_deref(), Some("success"));
    assert_eq!((after.id, after.title), (before.id, before.title));
    assert_eq!(stage.outcome(&pull).await, "merged");
}

#[tokio::test]
async fn a_draft_that_nobody_told_of_is_seen_before_anything_merges() {
    let stage = Stage::new().await;
    let pull = almost_ready(&stage).await;
    stage.agent.convert_to_draft(&pull).unwrap();
    stage.github.lose_pending();
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "not_draft").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn green_pull_requests_land_one_by_one_where_each_must_contain_the_base_it_lands_on() {
    let policy =
        crate::stage::POLICY.replace("when: ready\n", "when: ready\n  up_to_date: required\n");
    let stage = Stage::with_policy(&policy).await;
    let (one, two) = (almost_ready(&stage).await, another(&stage).await);
    for pull in [&one, &two] {
        let head = pull.head().unwrap();
        let actions = stage.github.actions();
        actions.pass(&stage.shop, &head, "unit").unwrap();
    }
    // Both are green against the base that stands; only one of them lands on it.
    stage.settle().await;
    stage.after(600).await;
    let landed = [stage.merged(&one), stage.merged(&two)];
    assert_eq!(landed.iter().filter(|landed| **landed).count(), 1);
    let left = if landed[0] { &two } else { &one };
    assert_eq!(stage.state(left, "up_to_date").await, "failed");
    let check = stage.our_check(&left.head().unwrap()).unwrap();
    assert_ne!(check.conclusion.as_deref(), Some("success"));
    // Its checks run again on what contains the other.
    stage.agent.update_branch(left).unwrap();
    stage.settle().await;
    assert_eq!(stage.state(left, "checks").await, "waiting");
    let evidence = match landed[0] {
        true => stage.evidence(left).without("mutation"),
        false => stage.evidence(left),
    };
    stage.unit_passes(left).await;
    stage.reports(&stage.codex, left, &evidence).await;
    assert!(stage.merged(left), "{}", stage.told(left).await);
    assert_eq!(stage.merge_calls(), 2);
}
