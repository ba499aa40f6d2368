//! The policy: read at the base branch's tip, and from nowhere else.

use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, PullHandle};

use crate::stage::{POLICY, Stage};

const PATH: &str = ".github/countersign.yml";
/// A policy that would let the agent's pull request pass once `unit` does.
const LAX: &str = "\
version: 1
agents: { authors: ['acme-agent[bot]'] }
gates: { checks: { required: [unit] } }
merge: { when: ready, others: ready, base_branches: [main] }
";

async fn commit_policy(stage: &Stage, text: &str) {
    let edits = Edits::write(PATH, text);
    stage
        .alice
        .push(&stage.shop, "main", "Change the policy", edits)
        .unwrap();
    stage.settle().await;
}

fn title(stage: &Stage, pull: &PullHandle) -> String {
    let check = stage.our_check(&pull.head().unwrap());
    check.expect("a check of ours").title
}

#[tokio::test]
async fn a_pull_request_cannot_bring_its_own_policy() {
    let stage = Stage::new().await;
    stage
        .agent
        .push(
            &stage.shop,
            "agent/start",
            "Make it easier",
            Edits::write(PATH, LAX),
        )
        .unwrap();
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_on_another_branch_counts_for_nothing() {
    let stage = Stage::new().await;
    stage
        .alice
        .push(&stage.shop, "lax", "Another", Edits::write(PATH, LAX))
        .unwrap();
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    // Into the branch with the lax policy that policy itself does not merge.
    stage.agent.retarget(&pull, "lax").unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn an_invalid_policy_stops_every_merge_and_says_which_line() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    commit_policy(&stage, &POLICY.replace("  checks:", "  cheks:")).await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let said = stage.reasons(&pull, "policy").await;
    assert!(said.contains("line 11"), "{said}");
    assert!(said.contains("cheks"), "{said}");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(check.title.contains("does not validate"), "{check:?}");
    assert!(check.summary.contains("line 11"), "{check:?}");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_mended_policy_lets_go_on_what_the_broken_one_stopped() {
    let stage = Stage::with_policy("version: 1\ngates: {}\n").await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    commit_policy(&stage, POLICY).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn a_mended_policy_is_seen_also_when_its_push_was_never_heard_of() {
    let stage = Stage::with_policy("version: 1\ngates: {}\n").await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    let edits = Edits::write(PATH, POLICY);
    stage
        .alice
        .push(&stage.shop, "main", "Mend it", edits)
        .unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_stricter_policy_on_the_base_counts_at_once() {
    let stage = Stage::with_policy(LAX).await;
    let pull = stage.open_pull().await;
    let edits = Edits::write(PATH, POLICY);
    stage
        .alice
        .push(&stage.shop, "main", "Be strict", edits)
        .unwrap();
    // Nobody heard of that push either; the check is what wakes the pull request.
    stage.github.lose_pending();
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn where_there_is_no_policy_nothing_is_said_and_nothing_done() {
    let stage = Stage::with_policy("").await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert!(stage.our_check(&pull.head().unwrap()).is_none());
    let writes = stage.github.calls();
    let written = writes
        .iter()
        .find(|call| call.method != "GET" && !call.path.contains("access_tokens"));
    assert!(written.is_none(), "{written:?}");
}

#[tokio::test]
async fn a_policy_that_is_taken_away_takes_back_what_was_said() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage
        .alice
        .push(&stage.shop, "main", "No more", Edits::remove(PATH))
        .unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert!(title(&stage, &pull).starts_with("Not judged: there is no policy"));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_that_observes_says_what_would_be_and_never_merges() {
    let policy = POLICY.replace("version: 1", "version: 1\nmode: observe");
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
    assert!(
        check.title.starts_with("Observed only, would be: Waiting"),
        "{check:?}"
    );

    stage.clear(&pull).await;
    stage.after(600).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("neutral"));
    assert!(
        check
            .title
            .starts_with("Observed only, would be: Ready to merge"),
        "{check:?}"
    );
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_may_leave_the_merge_to_people() {
    let policy = POLICY.replace("when: ready", "when: never");
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(
        stage.outcome(&pull).await,
        "ready",
        "{}",
        stage.told(&pull).await
    );
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_not_the_absence_of_one() {
    let stage = Stage::with_policy(LAX).await;
    let refused = Fault::Refuse(500, "Server Error");
    let plan = FaultPlan::none().with("GET", "/contents/", 500, refused);
    // The base moves, so the policy must be read anew.
    stage
        .alice
        .push(&stage.shop, "main", "Be strict", Edits::write(PATH, POLICY))
        .unwrap();
    stage.github.set_faults(plan);
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "undetermined");
    let said = stage.reasons(&pull, "policy").await;
    assert!(said.contains("could not be read"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
}

#[tokio::test]
async fn a_merge_asked_for_into_a_branch_that_the_policy_does_not_name_never_happens() {
    let stage = Stage::with_policy(LAX).await;
    let lab = stage.agent.branch(&stage.shop, "lab", "main");
    lab.unwrap();
    let pull = stage.open_pull().await;
    stage.agent.retarget(&pull, "lab").unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    stage.says(&stage.alice, &pull, "/merge").await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "ignored");
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_policy_that_was_switched_off_merges_nothing_though_its_push_was_never_heard_of() {
    for off in [
        LAX.replace("version: 1", "version: 1\nmode: observe"),
        LAX.replace("when: ready", "when: never"),
    ] {
        let stage = Stage::with_policy(LAX).await;
        let pull = stage.open_pull().await;
        let edits = Edits::write(PATH, off);
        stage
            .alice
            .push(&stage.shop, "main", "Stop", edits)
            .unwrap();
        stage.github.lose_pending();
        stage.unit_passes(&pull).await;
        assert_eq!(stage.outcome(&pull).await, "ready");
        assert_eq!(stage.merge_calls(), 0);
    }
}

#[tokio::test]
async fn one_misspelt_key_stops_merging_and_loosens_nothing_else() {
    let policy = POLICY.replace("  mutation_check:", "  mutaton_check:");
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let said = stage.reasons(&pull, "policy").await;
    assert!(said.contains("mutation_check"), "{said}");
    assert!(said.contains("line 16"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
    stage.says(&stage.alice, &pull, "/merge").await;
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn what_one_condition_allows_another_may_still_forbid() {
    // Each one alone stands in the way of what all the others allow.
    let lacking = |key: &str, value: &str| LAX.replace(key, value);
    let cases = [
        (LAX.to_owned(), true),
        (
            lacking("base_branches: [main]", "base_branches: [lab]"),
            false,
        ),
        (lacking("[unit]", "[unit, lint]"), false),
        (lacking("when: ready", "when: requested"), false),
        (lacking("version: 1", "version: 1\nmode: observe"), false),
    ];
    for (policy, merges) in cases {
        let stage = Stage::with_policy(&policy).await;
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        assert_eq!(stage.merged(&pull), merges, "{policy}");
    }
}

#[tokio::test]
async fn commands_that_contradict_one_another_end_in_the_safe_one() {
    let stage = Stage::with_policy(LAX).await;
    let pull = stage.open_pull().await;
    stage.says(&stage.alice, &pull, "/merge\n/hold").await;
    stage.unit_passes(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert!(title(&stage, &pull).to_lowercase().contains("held"));
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_check_run_that_was_found_again_is_not_made_twice_though_its_update_is_refused() {
    let stage = Stage::new().await;
    let refused = Fault::Refuse(403, "You have exceeded a secondary rate limit.");
    let plan = FaultPlan::none()
        .with("POST", "/check-runs", 1, Fault::DoneThen502)
        .with("PATCH", "/check-runs/", 1, refused);
    stage.github.set_faults(plan);
    let pull = stage.open_pull().await;
    // What was made without an answer is found, and says something else by now.
    stage.agent.convert_to_draft(&pull).unwrap();
    for _ in 0..5 {
        stage.after(300).await;
    }
    assert_eq!(stage.github.faults_fired().len(), 2);
    assert_eq!(stage.github.calls_to("POST", "/check-runs").len(), 1);
    let head = pull.head().unwrap();
    assert!(stage.our_check(&head).is_some());
}

#[tokio::test]
async fn nothing_is_announced_that_did_not_change() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    // Now it is known as well that it merges without conflicts.
    stage.after(60).await;
    stage.sweep().await;
    let number = pull.look(|pull| pull.number).unwrap();
    let made = || stage.github.calls_to("POST", "/check-runs").len();
    let published = || made() + stage.github.calls_to("PATCH", "/check-runs").len();
    let (before, first) = (published(), made());
    for label in ["a", "b"] {
        stage.alice.label(&stage.shop, number, label).unwrap();
        stage.alice.comment(&pull, "Nice work.").unwrap();
        stage.alice.describe(&pull, label).unwrap();
        stage.settle().await;
        stage.after(60).await;
        stage.sweep().await;
    }
    assert_eq!(published(), before);
    // A push says everything anew, once, in the new head's check, and nothing in comments.
    let edits = Edits::write("README.md", "# The shop\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.after(60).await;
    assert_eq!(made(), first + 1);
    assert_eq!(stage.answers(number), [""; 0]);
}
