//! What a pull request that changes the policy would do to the others, told on its own check run.

use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Edits, Permission, PullHandle};

use crate::stage::{POLICY, Stage};

const PATH: &str = ".github/countersign.yml";
const HEADING: &str = "### What this policy change would do";

/// Merged by people, so that what is ready stays open.
fn by_people() -> String {
    POLICY.replace("when: ready", "when: never")
}

/// A pull request of alice's that does this to the policy.
async fn changes_policy(stage: &Stage, edits: Edits) -> PullHandle {
    stage
        .alice
        .push(&stage.shop, "stricter", "Change the policy", edits)
        .unwrap();
    let pull = stage
        .alice
        .open_pull(&stage.shop, "stricter", "main", "Change the policy")
        .unwrap();
    stage.settle().await;
    pull
}

async fn text(stage: &Stage, pull: &PullHandle) -> String {
    // A page that changed in wording alone is held back for a while.
    stage.after(60).await;
    stage.our_check(&pull.head().unwrap()).unwrap().text
}

/// The section, without what stands around it.
async fn section(stage: &Stage, pull: &PullHandle) -> String {
    let text = text(stage, pull).await;
    let (_, section) = text.split_once(HEADING).expect("a section");
    let (section, _) = section.split_once("```json").unwrap();
    section.trim().to_owned()
}

#[tokio::test]
async fn a_stricter_policy_says_who_would_wait_and_is_judged_by_the_old_one() {
    let stage = Stage::with_policy(&by_people()).await;
    let ready = stage.open_pull().await;
    stage.clear(&ready).await;
    assert_eq!(stage.outcome(&ready).await, "ready");
    let waiting = stage.open_other("agent/other").await;
    assert_eq!(stage.outcome(&waiting).await, "waiting");

    let strict = by_people().replace("count: 1", "count: 2");
    let pull = changes_policy(&stage, Edits::write(PATH, &*strict)).await;
    let said = section(&stage, &pull).await;
    assert!(
        said.contains("Of 2 other open pull requests into `main`, 1 would stand otherwise and 1 stays as it is."),
        "{said}"
    );
    assert!(said.contains("- #1: ready → waiting\n"), "{said}");
    assert!(
        said.contains("  - `second_verifier`: satisfied → waiting: 1 of 2 independent"),
        "{said}"
    );
    assert!(!said.contains("#2"), "{said}");
    // Its own gates are the old policy's.
    let own = stage.reasons(&pull, "second_verifier").await;
    assert!(own.starts_with("No independent verifier"), "{own}");
}

#[tokio::test]
async fn a_policy_that_does_not_validate_is_told_by_line_and_column() {
    let stage = Stage::new().await;
    let wrong = POLICY.replace("  checks:", "  cheks:");
    let pull = changes_policy(&stage, Edits::write(PATH, &*wrong)).await;
    let said = section(&stage, &pull).await;
    assert!(said.contains("does not validate"), "{said}");
    assert!(said.contains("- line 11, column 3: "), "{said}");
    assert_eq!(stage.outcome(&pull).await, "waiting");
}

#[tokio::test]
async fn a_change_that_mends_a_broken_policy_says_what_it_would_let_go_on() {
    let stage = Stage::with_policy("version: 1\ngates: {}\n").await;
    let other = stage.open_pull().await;
    stage.clear(&other).await;
    let pull = changes_policy(&stage, Edits::write(PATH, &*by_people())).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let said = section(&stage, &pull).await;
    assert!(said.contains("- #1: blocked → "), "{said}");
    assert!(said.contains("`policy`: failed → satisfied"), "{said}");
}

#[tokio::test]
async fn a_policy_that_is_taken_away_or_moved_leaves_nothing_to_judge_by() {
    for edits in [Edits::remove(PATH), Edits::rename(PATH, "old.yml")] {
        let stage = Stage::new().await;
        let other = stage.open_pull().await;
        let pull = changes_policy(&stage, edits).await;
        let said = section(&stage, &pull).await;
        assert!(said.contains("The file would be gone"), "{said}");
        assert!(said.contains("- #1: waiting → ignored"), "{said}");
        assert_eq!(stage.outcome(&other).await, "waiting");
    }
}

#[tokio::test]
async fn a_pull_request_that_leaves_the_policy_alone_says_nothing_of_the_sort() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    assert!(!text(&stage, &pull).await.contains(HEADING));
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_said_and_read_again() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    // The policy at the base's tip is known; the one at the head is not.
    let refused = Fault::Refuse(500, "Server Error");
    let plan = FaultPlan::none().with("GET", "/contents/", 500, refused);
    stage.github.set_faults(plan);
    let strict = POLICY.replace("count: 1", "count: 2");
    let pull = changes_policy(&stage, Edits::write(PATH, &*strict)).await;
    let said = section(&stage, &pull).await;
    assert!(said.contains("could not be read"), "{said}");
    stage.github.set_faults(FaultPlan::none());
    stage.after(120).await;
    stage.sweep().await;
    let said = section(&stage, &pull).await;
    assert!(said.contains("The one other open pull request"), "{said}");
}

#[tokio::test]
async fn what_was_found_is_found_again_only_after_a_while_or_for_another_head() {
    let stage = Stage::with_policy(&by_people()).await;
    let strict = by_people().replace("count: 1", "count: 2");
    let pull = changes_policy(&stage, Edits::write(PATH, &*strict)).await;
    let reads = |pull: &PullHandle| {
        let at = format!("ref={}", pull.head().unwrap());
        let calls = stage.github.calls();
        let at_head = calls.iter().filter(|call| call.path.ends_with(&at));
        at_head
            .filter(|call| call.path.contains("/contents/"))
            .count()
    };
    assert_eq!(reads(&pull), 1);
    let other = stage.open_pull().await;
    stage.clear(&other).await;
    stage.unit_passes(&pull).await;
    assert_eq!(reads(&pull), 1);
    assert!(
        section(&stage, &pull)
            .await
            .contains("No other pull request")
    );
    stage.after(600).await;
    stage.sweep().await;
    assert_eq!(reads(&pull), 2);
    let said = section(&stage, &pull).await;
    assert!(said.contains("- #2: ready → waiting"), "{said}");

    let same = by_people().replace("count: 1", "count: 1 # as ever");
    let edits = Edits::write(PATH, &*same);
    stage
        .alice
        .push(&stage.shop, "stricter", "Never mind", edits)
        .unwrap();
    stage.settle().await;
    assert_eq!(reads(&pull), 1);
    let said = section(&stage, &pull).await;
    assert!(said.contains("would stand as it stands now"), "{said}");
}

#[tokio::test]
async fn the_others_cost_no_call() {
    let stage = Stage::with_policy(&by_people()).await;
    for branch in ["agent/a", "agent/b", "agent/c"] {
        stage.open_other(branch).await;
    }
    let before = stage.github.calls().len();
    let strict = by_people().replace("count: 1", "count: 2");
    let pull = changes_policy(&stage, Edits::write(PATH, &*strict)).await;
    let calls = stage.github.calls();
    let others = calls.iter().skip(before).filter(|call| {
        let about = |n: u64| call.path.contains(&format!("/pulls/{n}"));
        about(1) || about(2) || about(3)
    });
    assert_eq!(others.count(), 0);
    let said = section(&stage, &pull).await;
    assert!(
        said.contains("Of 3 other open") || said.contains("All 3 other open"),
        "{said}"
    );
}

#[tokio::test]
async fn of_a_crowd_a_hundred_are_looked_at_and_the_rest_is_counted() {
    let stage = Stage::with_policy(&by_people()).await;
    for number in 0..103 {
        let branch = format!("agent/{number}");
        let file = format!("docs/{number}.md");
        let edits = Edits::write(&file, "text");
        stage
            .agent
            .push(&stage.shop, &branch, "Write", edits)
            .unwrap();
        let opened = stage.agent.open_pull(&stage.shop, &branch, "main", "Write");
        opened.unwrap();
    }
    stage.settle().await;
    let strict = by_people().replace("count: 1", "count: 2");
    let pull = changes_policy(&stage, Edits::write(PATH, &*strict)).await;
    let said = section(&stage, &pull).await;
    assert!(
        said.contains("All 100 other open pull requests into `main` would stand as they stand now: every gate keeps its state, though its reason may read differently. 3 more were not looked at."),
        "{said}"
    );
}

#[tokio::test]
async fn a_change_of_the_organisations_default_says_whom_it_concerns_besides() {
    let stage = Stage::new().await;
    let files = [(PATH, POLICY)];
    let defaults = stage.github.repo("acme/.github", &files).unwrap();
    defaults.allow(&stage.alice, Permission::Admin).unwrap();
    defaults.install_app(&stage.alice).unwrap();
    stage.settle().await;
    let edits = Edits::write(PATH, POLICY.replace("count: 1", "count: 2"));
    let (alice, title) = (&stage.alice, "Be strict");
    alice.push(&defaults, "strict", title, edits).unwrap();
    let pull = alice.open_pull(&defaults, "strict", "main", title).unwrap();
    stage.settle().await;
    let head = pull.head().unwrap();
    let id = defaults.look(|repo| repo.id).unwrap();
    let text = {
        let world = stage.github.lock();
        let repo = world.repo(id).unwrap();
        let ours = world.our_app;
        let mut runs = repo.check_runs.values();
        let run = runs.rfind(|run| run.app == ours && run.head == head);
        run.unwrap().output.text.clone().unwrap()
    };
    assert!(
        text.contains("the organisation's default as well"),
        "{text}"
    );
    let here = stage.open_pull().await;
    assert!(!self::text(&stage, &here).await.contains("default as well"));
}
