//! What is said in the moment between a promise and its merge: another server hears it, while the one that
//! promised is about to act. Random worlds come to that moment too seldom.

use std::sync::Arc;

use countersign::simulator::PullHandle;

use super::process;
use super::trouble::Trouble;
use super::world::World;

/// A world with two pull requests, the first of which has everything but a report, which is on its way.
async fn about_to_merge() -> (World, PullHandle, PullHandle) {
    let world = World::build(1).await;
    let stage = &world.stage;
    let pull = stage.open_pull().await;
    let other = stage.open_other("agent/other").await;
    stage.unit_passes(&pull).await;
    let (head, report) = (pull.head().unwrap(), stage.evidence(&pull).block());
    let (codex, shop) = (&stage.codex, &stage.shop);
    let said = codex.report(shop, &head, "verification", "success", &report);
    said.unwrap();
    (world, pull, other)
}

/// While the success is published, alice says it on a pull request, and another server hears it.
fn meanwhile(world: &World, pull: &PullHandle, text: &'static str) {
    let stage = &world.stage;
    let (github, store) = (stage.github.clone(), stage.store.clone());
    let (alice, clock) = (stage.alice.clone(), stage.clock.clone());
    let pull = pull.clone();
    world.trouble.before_a_success(Box::pin(async move {
        alice.comment(&pull, text).unwrap();
        github.deliver_all().await;
        let calm = Arc::new(Trouble::default());
        let other = process::product(&github, &store, &clock, &calm);
        other.settle(200).await.unwrap();
    }));
}

#[tokio::test]
async fn nothing_said_meanwhile_it_is_merged() {
    let (mut world, pull, _) = about_to_merge().await;
    world.settle().await;
    assert!(
        world.stage.merged(&pull),
        "{}",
        world.stage.told(&pull).await
    );
}

#[tokio::test]
async fn a_hold_that_another_server_hears_while_the_success_is_published_stops_the_merge() {
    let (mut world, pull, _) = about_to_merge().await;
    meanwhile(&world, &pull, "/hold it is wrong");
    world.settle().await;
    assert_eq!(
        world.stage.merge_calls(),
        0,
        "{}",
        world.stage.told(&pull).await
    );
    assert_eq!(world.stage.outcome(&pull).await, "held");
}

#[tokio::test]
async fn a_freeze_that_another_server_hears_while_the_success_is_published_stops_the_merge() {
    let (mut world, pull, other) = about_to_merge().await;
    meanwhile(&world, &other, "/freeze main a bad deploy");
    world.settle().await;
    assert_eq!(
        world.stage.merge_calls(),
        0,
        "{}",
        world.stage.told(&pull).await
    );
    assert_eq!(world.stage.state(&pull, "not_frozen").await, "waiting");
}
