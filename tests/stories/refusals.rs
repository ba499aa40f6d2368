//! What GitHub does not let us do, or shows us a part of: told for what it is, and no end of anything.

use countersign::simulator::faults::{Fault, FaultPlan, When};
use countersign::simulator::{Actor, Edits, Permission, PullHandle};

use crate::stage::{AFTER, POLICY, Stage};

/// GitHub's words where it lets nobody create anything for a while.
const NO_CONTENT: &str = "You have exceeded a secondary rate limit and have been temporarily blocked from \
                          content creation. Please retry your request again later.";

fn writer(stage: &Stage, login: &str) -> Actor {
    let who = stage.github.user(login);
    stage.shop.allow(&who, Permission::Write).unwrap();
    who
}

fn number(pull: &PullHandle) -> u64 {
    pull.look(|pull| pull.number).unwrap()
}

#[tokio::test]
async fn an_answer_that_a_limit_on_new_content_keeps_back_is_written_when_it_is_over_and_once() {
    for (limit, seconds) in [
        (Fault::Refuse(403, NO_CONTENT), 60),
        (Fault::SecondaryLimit(90), 90),
    ] {
        let stage = Stage::new().await;
        let pull = stage.open_pull().await;
        let plan = FaultPlan::none().with("POST", "/comments", 1, limit);
        stage.github.set_faults(plan);
        let asked = "/countersign status";
        stage.says(&stage.alice, &pull, asked).await;
        let written = || stage.github.calls_to("POST", "/comments").len();
        assert_eq!((stage.answers(number(&pull)).len(), written()), (0, 1));
        stage.after(seconds - 1).await;
        assert_eq!(written(), 1, "nothing is tried before its time");
        stage.after(2).await;
        assert_eq!((stage.answers(number(&pull)).len(), written()), (1, 2));
        stage.after(600).await;
        assert_eq!(written(), 2);
    }
}

#[tokio::test]
async fn a_gate_that_may_not_read_its_facts_names_the_permission_that_is_missing() {
    let stage = Stage::new().await;
    let installation = stage.shop.installation().unwrap();
    let mut granted = {
        let world = stage.github.lock();
        world.installations[&installation].permissions.clone()
    };
    granted.remove("statuses");
    let pairs = granted.iter().map(|(a, b)| (a.as_str(), b.as_str()));
    let pairs: Vec<_> = pairs.collect();
    stage.shop.grant_app(&stage.alice, &pairs).unwrap();
    stage.settle().await;
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
    assert_eq!(stage.state(&pull, "checks").await, "undetermined");
    let gate = stage.gate(&pull, "checks").await;
    insta::assert_snapshot!(
        gate["reason"].as_str().unwrap(),
        @"Whether `unit` passed is not known: the commit statuses could not be read: GitHub refused for want of permission (403): Resource not accessible by integration; that needs the permission statuses=read."
    );
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert!(check.summary.contains("statuses=read"), "{}", check.summary);
}

#[tokio::test]
async fn a_maintainer_whose_right_may_not_be_looked_up_is_not_turned_away_and_is_heard_later() {
    let policy = POLICY.replace("when: ready", "when: requested");
    let stage = Stage::with_policy(&policy).await;
    let bob = writer(&stage, "bob");
    let pull = stage.open_pull().await;
    let plan = FaultPlan::none().when("GET", "/permission", When::Always, Fault::status(403));
    stage.github.set_faults(plan);
    let comment = stage.says(&bob, &pull, "/merge").await;
    stage.clear(&pull).await;
    assert_eq!(stage.reactions(comment), [""; 0], "neither yes nor no");
    assert!(!stage.merged(&pull));
    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_change_that_is_too_large_is_blocked_in_plain_sight_until_an_owner_lets_it_through() {
    let policy = POLICY.replace(
        "merge:\n",
        "  size: { max_changed_lines: 500 }\nowners: [olga]\nmerge:\n",
    );
    let stage = Stage::with_policy(&policy).await;
    let (bob, olga) = (writer(&stage, "bob"), writer(&stage, "olga"));
    let mut edits = Edits::write("src/start.rs", AFTER);
    for file in 0..600 {
        edits = edits.and_write(&format!("docs/{file}.md"), "text\n");
    }
    let pushed = stage.agent.push(&stage.shop, "agent/start", "Much", edits);
    pushed.unwrap();
    let opened = stage
        .agent
        .open_pull(&stage.shop, "agent/start", "main", "Much");
    let pull = opened.unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    let title = "Blocked: 602 lines changed, and the policy allows 500";
    assert!(check.title.starts_with(title), "{}", check.title);
    let waiver = "/override size accepted_risk generated texts";
    let comment = stage.says(&bob, &pull, waiver).await;
    assert_eq!(stage.reactions(comment), ["-1"], "he is no owner");
    stage.after(3_700).await;
    assert!(!stage.merged(&pull), "it does not go by itself");
    let comment = stage.says(&olga, &pull, waiver).await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}
