//! What must not go wrong when answers fail, deliveries come in another order, and people are quick.

use chrono::Duration;
use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{Actor, Edits, Permission, PullHandle};

use crate::stage::{POLICY, Stage};

/// The usual policy, with an owner, in which merges are asked for.
fn asked_for() -> String {
    let policy = POLICY.replace("when: ready", "when: requested");
    format!("{policy}owners: [olga]\n")
}

/// A stage with such a policy, a writer, an owner and an open pull request.
async fn cast(policy: &str) -> (Stage, Actor, Actor, PullHandle) {
    let stage = Stage::with_policy(policy).await;
    let (olga, bob) = (stage.github.user("olga"), stage.github.user("bob"));
    stage.shop.publish().unwrap();
    for who in [&olga, &bob] {
        stage.shop.allow(who, Permission::Write).unwrap();
    }
    let pull = stage.open_pull().await;
    (stage, bob, olga, pull)
}

/// Calls fail like this until further notice.
fn fails(stage: &Stage, method: &str, path: &str, status: u16) {
    let plan = FaultPlan::none().with(method, path, 1_000, Fault::status(status));
    stage.github.set_faults(plan);
}

fn push_more(stage: &Stage, text: &str) {
    let edits = Edits::write("README.md", text);
    let pushed = stage.agent.push(&stage.shop, "agent/start", "More", edits);
    pushed.unwrap();
}

/// Everything but comments is delivered and looked at.
async fn all_but_comments(stage: &Stage) {
    let other = |delivery: &_| !is_comment(delivery);
    stage.github.deliver_where(other).await;
    stage.app.settle(200).await.unwrap();
}

fn is_comment(delivery: &countersign::simulator::world::Delivery) -> bool {
    delivery.event == "issue_comment"
}

/// One comment is delivered and heard before everything that waits.
async fn first(stage: &Stage, comment: u64) {
    let this = |delivery: &countersign::simulator::world::Delivery| {
        is_comment(delivery) && delivery.payload["comment"]["id"] == comment
    };
    assert_eq!(stage.github.deliver_where(this).await, 1);
    stage.app.settle(200).await.unwrap();
}

#[tokio::test]
async fn a_request_that_is_heard_late_does_not_undo_what_was_said_after_it() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.unit_passes(&pull).await;
    // The first comment's author cannot be looked up, the second one's can.
    fails(&stage, "GET", "/collaborators/bob/permission", 503);
    stage.says(&bob, &pull, "/merge").await;
    stage.clock.advance(Duration::seconds(5));
    let second = stage.says(&stage.alice, &pull, "/unmerge").await;
    stage.github.set_faults(FaultPlan::none());
    stage.after(60).await;
    stage.clear(&pull).await;
    assert_eq!(stage.reactions(second), ["+1"]);
    assert!(!stage.merged(&pull), "the last word was not to merge");
}

#[tokio::test]
async fn a_letting_go_whose_delivery_is_late_does_not_end_a_later_hold() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.clear(&pull).await;
    bob.comment(&pull, "/unhold\n/merge").unwrap();
    stage.clock.advance(Duration::seconds(5));
    let later = bob.comment(&pull, "/hold wait").unwrap();
    first(&stage, later).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert!(!stage.merged(&pull));
}

#[tokio::test]
async fn a_push_that_is_heard_of_before_the_comment_voids_what_it_asks() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.clock.advance(Duration::seconds(60));
    let comment = bob.comment(&pull, "/merge").unwrap();
    stage.clock.advance(Duration::seconds(2));
    push_more(&stage, "# Another shop\n");
    all_but_comments(&stage).await;
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.reactions(comment), ["-1"]);
    assert!(!stage.merged(&pull), "nobody who asked saw this head");
}

#[tokio::test]
async fn a_push_within_the_second_of_the_comment_voids_what_it_asks() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.clock.advance(Duration::seconds(60));
    let comment = bob.comment(&pull, "/merge").unwrap();
    push_more(&stage, "# Another shop\n");
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.reactions(comment), ["-1"]);
    assert!(!stage.merged(&pull), "nobody who asked saw this head");
}

#[tokio::test]
async fn a_hold_that_is_heard_hours_late_is_not_given_up_at_the_first_failure() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    let comment = bob.comment(&pull, "/hold it is wrong").unwrap();
    // The server was down, and comes back while GitHub still stumbles.
    stage.clock.advance(Duration::hours(3));
    fails(&stage, "GET", "/permission", 503);
    stage.settle().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    stage.github.set_faults(FaultPlan::none());
    stage.after(60).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(stage.reactions(comment), ["+1"]);
}

#[tokio::test]
async fn a_hold_is_not_given_up_by_a_clock_that_is_set_between_two_tries() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    fails(&stage, "GET", "/permission", 503);
    stage.says(&bob, &pull, "/hold it is wrong").await;
    stage.after(7_200).await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    stage.github.set_faults(FaultPlan::none());
    stage.after(60).await;
    assert_eq!(stage.outcome(&pull).await, "held");
}

#[tokio::test]
async fn a_hold_outlives_hours_in_which_github_took_us_for_nobody() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    fails(&stage, "POST", "/access_tokens", 401);
    // The token of before is of no use any more.
    stage.clock.advance(Duration::hours(2));
    let comment = stage.says(&bob, &pull, "/hold it is wrong").await;
    for _ in 0..40 {
        stage.after(300).await;
    }
    stage.github.set_faults(FaultPlan::none());
    stage.after(3_600).await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.reactions(comment), ["+1"]);
}

#[tokio::test]
async fn while_the_comments_cannot_be_read_nothing_merges_past_a_lost_hold() {
    let only_checks = "version: 1\ngates: { checks: { required: [unit] } }\nmerge: { when: requested, others: ready, base_branches: [main] }\n";
    let (stage, bob, _, pull) = cast(only_checks).await;
    stage.says(&bob, &pull, "/merge").await;
    stage.clock.advance(Duration::seconds(5));
    bob.comment(&pull, "/hold it is wrong").unwrap();
    stage.github.lose_pending();
    fails(&stage, "GET", "/comments", 503);
    stage.unit_passes(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    stage.github.set_faults(FaultPlan::none());
    stage.after(60).await;
    assert_eq!(stage.outcome(&pull).await, "held");
}

#[tokio::test]
async fn what_was_asked_for_does_not_come_back_with_its_base() {
    let policy = asked_for().replace("[main]", "[main, next]");
    let (stage, bob, olga, pull) = cast(&policy).await;
    stage.unit_passes(&pull).await;
    stage.alice.branch(&stage.shop, "next", "main").unwrap();
    stage.settle().await;
    let waiver = "/override second_verifier accepted_risk hotfix";
    stage.says(&bob, &pull, "/merge").await;
    stage.says(&olga, &pull, waiver).await;
    for base in ["next", "main"] {
        stage.clock.advance(Duration::seconds(5));
        stage.agent.retarget(&pull, base).unwrap();
        stage.settle().await;
    }
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "another base voids a request");
}

#[tokio::test]
async fn what_was_asked_for_does_not_come_back_with_a_reopened_pull_request_or_an_old_head() {
    let (stage, bob, _, pull) = cast(&asked_for()).await;
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    stage.clock.advance(Duration::seconds(5));
    bob.close(&pull).unwrap();
    stage.settle().await;
    stage.clock.advance(Duration::seconds(5));
    stage.agent.reopen(&pull).unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "closing it was a no");
    stage.says(&bob, &pull, "/hold").await;
    stage.says(&bob, &pull, "/merge").await;
    let old = pull.head().unwrap();
    stage.clock.advance(Duration::seconds(5));
    push_more(&stage, "# Another shop\n");
    stage.settle().await;
    stage.clock.advance(Duration::seconds(5));
    let back = stage.agent.reset_branch(&stage.shop, "agent/start", &old);
    back.unwrap();
    stage.settle().await;
    stage.says(&bob, &pull, "/unhold").await;
    assert_eq!(pull.head().unwrap(), old);
    assert!(!stage.merged(&pull), "another push voids a request");
}

#[tokio::test]
async fn a_freeze_whose_author_cannot_be_looked_up_stops_its_own_pull_request() {
    let policy = asked_for().replace("[olga]", "['@acme/owners']");
    let (stage, bob, olga, pull) = cast(&policy).await;
    stage.github.team("acme", "owners", &[&olga]);
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    fails(&stage, "GET", "/members", 503);
    stage.says(&olga, &pull, "/freeze main a bad deploy").await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.ledger(Kind::Freeze).await.len(), 0);
}

#[tokio::test]
async fn a_thaw_whose_delivery_is_late_does_not_end_a_later_freeze() {
    let (stage, _, olga, pull) = cast(&asked_for()).await;
    let thaw = olga.comment(&pull, "/thaw main").unwrap();
    stage.clock.advance(Duration::seconds(5));
    let freeze = olga.comment(&pull, "/freeze main a bad deploy").unwrap();
    first(&stage, freeze).await;
    stage.settle().await;
    assert_eq!(stage.state(&pull, "not_frozen").await, "waiting");
    // The pass that hears the freeze reads the earlier comment too, and hears both in their order.
    assert_eq!(stage.reactions(thaw), ["+1"]);
    stage.says(&olga, &pull, "/thaw main").await;
    assert_eq!(stage.state(&pull, "not_frozen").await, "satisfied");
}
