//! Recovery: what was lost is asked for again, and where the App may act is followed by number, whether
//! the delivery that tells of it came or was lost.

use std::fmt::Write as _;

use bytes::Bytes;
use countersign::domain::ledger::Kind;
use countersign::domain::memory::Confirm;
use countersign::domain::model::{DeliveryId, Key, PullNumber};
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::http::{Call, Limits};
use countersign::simulator::{Edits, PullHandle};
use countersign::store::NewDelivery;
use serde_json::json;

use crate::stage::Stage;

/// GitHub keeps no list of deliveries: what is lost stays lost.
fn no_list(stage: &Stage) {
    let plan = FaultPlan::none().with("GET", "/app/hook/deliveries", u32::MAX, Fault::status(404));
    stage.github.set_faults(plan);
}

fn asked_again(stage: &Stage) -> usize {
    stage.github.calls_to("POST", "/attempts").len()
}

fn number(pull: &PullHandle) -> PullNumber {
    PullNumber::new(pull.look(|pull| pull.number).unwrap()).unwrap()
}

async fn landed(stage: &Stage, pull: &PullHandle) {
    assert!(stage.merged(pull), "{}", stage.told(pull).await);
    assert_eq!(stage.merge_calls(), 1);
    assert_eq!(stage.ledger(Kind::Landed).await.len(), 1);
}

/// Whether the App may act in the shop, as far as it knows.
async fn active(stage: &Stage) -> bool {
    let memory = stage.store.repo(stage.repo_id()).await.unwrap();
    memory.value.active
}

/// Some of what the product does in the shop's name; nothing where it leaves it alone.
async fn passes_call(stage: &Stage) -> usize {
    stage.github.clear_calls();
    stage.after(3_600).await;
    let calls = stage.github.calls();
    let acted = calls.iter().filter(|call| call.path.contains("/repos/"));
    acted.count()
}

#[tokio::test]
async fn deliveries_that_failed_are_sent_again_at_the_next_sweep_and_only_then() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "unit")
        .unwrap();
    let lost = stage.github.lose_pending();
    stage.app.sweep().await.unwrap();
    assert_eq!(asked_again(&stage), lost);
    stage.settle().await;
    let sent = stage.github.sent();
    let again: Vec<_> = sent.iter().filter(|sent| sent.again).collect();
    assert_eq!(again.len(), lost);
    assert!(again.iter().all(|sent| sent.status == 202));
    stage.after(3_600).await;
    stage.sweep().await;
    assert_eq!(asked_again(&stage), lost, "what arrived is not asked for");
}

#[tokio::test]
async fn after_an_outage_everything_is_caught_up_at_the_start_oldest_first() {
    let mut stage = Stage::new().await;
    stage.sweep().await;
    stage.github.lose_pending();
    let pull = stage.agent_works_unheard().await;
    stage.clock.advance(chrono::Duration::hours(7));
    stage.restart().await;
    stage.app.sweep().await.unwrap();
    let asked: Vec<u64> = stage
        .github
        .calls_to("POST", "/attempts")
        .iter()
        .filter_map(|call| call.path.split('/').nth(4)?.parse().ok())
        .collect();
    assert!(asked.len() > 3 && asked.is_sorted(), "{asked:?}");
    stage.settle().await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_command_that_was_taken_back_before_it_was_heard_is_not_carried_out_late() {
    let stage = Stage::with_policy(&format!(
        "{}commands: {{ short: true }}\n",
        crate::stage::POLICY
    ))
    .await;
    let pull = stage.open_pull().await;
    let comment = stage.alice.comment(&pull, "/hold wait").unwrap();
    stage.github.lose_pending();
    stage.alice.delete_comment(&stage.shop, comment).unwrap();
    stage.settle().await;
    stage.after(600).await;
    stage.sweep().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
}

#[tokio::test]
async fn a_delivery_that_is_in_the_inbox_is_not_asked_for_whatever_github_thinks() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.alice.retitle(&pull, "Record starts").unwrap();
    let waiting = stage.github.lock().outbox.clone();
    // Stored, and the answer came too late.
    for delivery in &waiting {
        let stored = NewDelivery {
            id: DeliveryId::parse(&delivery.guid).unwrap(),
            event: delivery.event.clone(),
            body: Bytes::from(delivery.payload.to_string()),
            at: stage.clock.now(),
        };
        stage.store.accept(vec![stored]).await.unwrap();
    }
    assert_eq!(stage.github.lose_pending(), waiting.len());
    stage.sweep().await;
    assert_eq!(asked_again(&stage), 0);
}

#[tokio::test]
async fn no_more_deliveries_are_asked_for_at_once_than_a_server_takes() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    for n in 0..130 {
        stage.alice.retitle(&pull, &format!("Title {n}")).unwrap();
    }
    assert!(stage.github.lose_pending() >= 130);
    stage.app.sweep().await.unwrap();
    assert_eq!(asked_again(&stage), 50);
    // More than a page of failures: the cursor leads to the older ones.
    assert!(stage.github.calls_to("GET", "/app/hook/deliveries").len() >= 2);
    stage.settle().await;
    stage.sweep().await;
    stage.sweep().await;
    assert!(asked_again(&stage) >= 130);
    let failed: Vec<_> = {
        let sent = stage.github.sent();
        let arrived = |guid: &str| {
            sent.iter()
                .any(|one| one.delivery.guid == guid && one.status == 202)
        };
        let guids = sent.iter().map(|one| one.delivery.guid.clone());
        guids.filter(|guid| !arrived(guid)).collect()
    };
    assert_eq!(failed, Vec::<String>::new());
}

#[tokio::test]
async fn a_server_in_shadow_asks_for_no_delivery() {
    let mut stage = Stage::new().await;
    stage.shadow().await;
    stage.agent_works_unheard().await;
    stage.sweep().await;
    assert_eq!(asked_again(&stage), 0);
}

#[tokio::test]
async fn a_github_without_a_list_of_deliveries_is_swept_all_the_same() {
    let stage = Stage::new().await;
    no_list(&stage);
    let pull = stage.agent_works_unheard().await;
    assert!(stage.app.sweep().await.is_ok());
    stage.settle().await;
    assert_eq!(asked_again(&stage), 0);
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_list_of_deliveries_that_cannot_be_read_stops_nothing_else() {
    let stage = Stage::new().await;
    let plan = FaultPlan::none().with("GET", "/app/hook/deliveries", u32::MAX, Fault::status(502));
    stage.github.set_faults(plan);
    let pull = stage.agent_works_unheard().await;
    assert!(stage.app.sweep().await.is_err());
    stage.settle().await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_check_whose_delivery_is_lost_for_good_is_found_though_the_pull_request_looks_the_same() {
    let stage = Stage::new().await;
    no_list(&stage);
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.sweep().await;
    let head = pull.head().unwrap();
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "unit")
        .unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_hold_in_the_second_of_the_opening_is_found_by_the_list_though_its_delivery_is_lost() {
    let stage = Stage::new().await;
    no_list(&stage);
    let pull = stage.open_pull().await;
    stage.alice.comment(&pull, "/hold not on a Friday").unwrap();
    stage.github.lose_pending();
    // The list alone, without a turn: the times in it say that nothing changed.
    let list = [(Key::Repo(stage.repo_id()), Confirm::IfNeeded)];
    stage.store.wake(&list, stage.clock.now()).await.unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "held");
}

#[tokio::test]
async fn a_hold_from_before_the_first_pass_is_heard_by_that_pass_though_every_delivery_is_lost() {
    let stage = Stage::new().await;
    no_list(&stage);
    let pull = stage.offer();
    stage.qualifies(&pull);
    stage.alice.comment(&pull, "/hold not on a Friday").unwrap();
    stage.github.lose_pending();
    stage.clock.advance(chrono::Duration::seconds(300));
    let list = [(Key::Repo(stage.repo_id()), Confirm::IfNeeded)];
    stage.store.wake(&list, stage.clock.now()).await.unwrap();
    stage.settle().await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.outcome(&pull).await, "held");
}

/// So many pull requests, of which the deliveries tell.
async fn open_many(stage: &Stage, many: usize) {
    for n in 0..many {
        let branch = format!("agent/{n}");
        let edits = Edits::write(&format!("docs/{n}.md"), "text");
        stage
            .agent
            .push(&stage.shop, &branch, "Text", edits)
            .unwrap();
        stage
            .agent
            .open_pull(&stage.shop, &branch, "main", "Text")
            .unwrap();
        if n % 50 == 49 {
            stage.settle().await;
        }
    }
    stage.settle().await;
}

/// A sweep ten minutes later, and all that follows from it: how many calls, and how many of them GitHub
/// took from the installation's hour.
async fn swept(stage: &Stage) -> (usize, usize) {
    stage.clock.advance(chrono::Duration::seconds(600));
    stage.app.settle(100_000).await.unwrap();
    stage.github.clear_calls();
    stage.app.sweep().await.unwrap();
    stage.app.settle(100_000).await.unwrap();
    let calls = stage.github.calls();
    let counted = |call: &&Call| call.status != 304 && !call.path.starts_with("/app/");
    (calls.len(), calls.iter().filter(counted).count())
}

#[tokio::test]
async fn a_second_sweep_over_what_did_not_change_takes_nothing_from_the_budget() {
    let stage = Stage::new().await;
    no_list(&stage);
    stage.github.set_limits(Limits {
        hourly: 100_000,
        ..Limits::default()
    });
    // With the next hour they hold.
    stage.after(3_700).await;
    let many = std::env::var("COUNTERSIGN_SWEEP_PULLS").map_or(60, |text| text.parse().unwrap());
    open_many(&stage, many).await;
    let mut told = String::new();
    for sweep in ["first", "second", "third"] {
        let (calls, counted) = swept(&stage).await;
        writeln!(told, "{sweep}: {calls} calls, {counted} of them counted").unwrap();
    }
    println!("{many} open: {told}");
    if many == 60 {
        insta::assert_snapshot!(told, @r"
        first: 425 calls, 242 of them counted
        second: 285 calls, 0 of them counted
        third: 285 calls, 0 of them counted
        ");
    }
    assert!(
        told.contains("third") && told.matches(" 0 of them").count() == 2,
        "{told}"
    );
}

#[tokio::test]
async fn a_sweep_over_many_reads_some_in_turn_and_all_of_them_within_a_few_sweeps() {
    let stage = Stage::new().await;
    no_list(&stage);
    let many = std::env::var("COUNTERSIGN_SWEEP_PULLS").map_or(130, |text| text.parse().unwrap());
    open_many(&stage, many).await;
    // Whoever is known by deliveries alone is read whole once; from then on the times in the list tell.
    stage.app.sweep().await.unwrap();
    stage.app.settle(100_000).await.unwrap();
    let mut read = std::collections::BTreeSet::new();
    for _ in 0..many / 40 + 1 {
        swept(&stage).await;
        let calls = stage.github.calls();
        println!("{} calls for {many} open pull requests", calls.len());
        assert!(calls.len() < 40 * 12 + many / 100, "{}", calls.len());
        let pulls = calls.iter().filter_map(|call| {
            let wanted = call.route == "/repos/{owner}/{repo}/pulls/{number}";
            wanted.then(|| call.path.clone())
        });
        read.extend(pulls);
    }
    assert_eq!(read.len(), many, "each had its turn");
}

#[tokio::test]
async fn a_repository_that_was_taken_out_unheard_is_left_alone_until_it_comes_back() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.deselect(&stage.alice).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(!active(&stage).await);
    stage.clear(&pull).await;
    assert_eq!(passes_call(&stage).await, 0);
    stage.shop.install_app(&stage.alice).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_repository_that_was_taken_out_is_left_alone_at_once() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    stage.shop.deselect(&stage.alice).unwrap();
    stage.settle().await;
    assert!(!active(&stage).await);
    assert_eq!(passes_call(&stage).await, 0);
}

#[tokio::test]
async fn an_installation_that_was_removed_unheard_is_left_alone() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    stage.shop.uninstall_app(&stage.alice).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(!active(&stage).await);
    assert_eq!(passes_call(&stage).await, 0);
}

#[tokio::test]
async fn an_installation_that_was_suspended_unheard_is_left_alone_without_being_asked() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    stage.shop.suspend_app(&stage.alice, true).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(!active(&stage).await);
    assert_eq!(passes_call(&stage).await, 0);
}

#[tokio::test]
async fn a_late_word_of_a_suspension_that_is_over_is_not_asked_for() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.suspend_app(&stage.alice, true).unwrap();
    stage.github.lose_pending();
    stage.shop.suspend_app(&stage.alice, false).unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(asked_again(&stage), 0);
    assert!(active(&stage).await);
    stage.clear(&pull).await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_repository_that_was_archived_unheard_is_left_alone_and_goes_on_when_it_is_not() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.archive(&stage.alice, true).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(!active(&stage).await);
    assert_eq!(passes_call(&stage).await, 0);
    stage.shop.archive(&stage.alice, false).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(active(&stage).await);
    stage.clear(&pull).await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn a_repository_that_was_deleted_is_left_alone_heard_or_unheard() {
    for heard in [true, false] {
        let stage = Stage::new().await;
        stage.open_pull().await;
        let id = stage.repo_id();
        stage.shop.delete(&stage.alice).unwrap();
        if !heard {
            stage.github.lose_pending();
            stage.app.sweep().await.unwrap();
        }
        stage.settle().await;
        assert!(!stage.store.repo(id).await.unwrap().value.active);
        assert_eq!(passes_call(&stage).await, 0);
    }
}

/// Transfers the shop to bob, who has the App.
async fn moved(stage: &Stage) {
    let bob = stage.github.user("bob");
    stage.shop.transfer(&stage.alice, &bob).unwrap();
    stage.shop.install_app(&bob).unwrap();
}

#[tokio::test]
async fn a_repository_that_moved_keeps_its_records_and_is_opened_by_its_new_installation() {
    for heard in [true, false] {
        let stage = Stage::new().await;
        let pull = stage.open_pull().await;
        stage.unit_passes(&pull).await;
        let old = stage.shop.installation().unwrap();
        let ledger = stage.store.ledger_of(stage.repo_id(), number(&pull)).await;
        let before = ledger.unwrap().len();
        assert!(before > 0);
        moved(&stage).await;
        assert_ne!(stage.shop.installation().unwrap(), old);
        if !heard {
            stage.github.lose_pending();
            stage.app.sweep().await.unwrap();
        }
        stage.settle().await;
        let memory = stage.store.repo(stage.repo_id()).await.unwrap().value;
        let repo = memory.repo.unwrap();
        assert_eq!(repo.name.to_string(), "bob/shop");
        assert_eq!(repo.installation.get(), stage.shop.installation().unwrap());
        let mut evidence = stage.evidence(&pull);
        evidence.0["subject"][0]["name"] = json!("bob/shop");
        stage.reports(&stage.codex, &pull, &evidence).await;
        landed(&stage, &pull).await;
        let ledger = stage.store.ledger_of(stage.repo_id(), number(&pull)).await;
        assert!(ledger.unwrap().len() > before, "one history");
    }
}

#[tokio::test]
async fn a_repository_that_moved_out_of_reach_is_left_alone() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    let carol = stage.github.user("carol");
    stage.shop.transfer(&stage.alice, &carol).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    assert!(!active(&stage).await);
    assert_eq!(passes_call(&stage).await, 0);
}

#[tokio::test]
async fn moved_and_renamed_in_one_go_is_the_same_repository() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    moved(&stage).await;
    stage.shop.rename(&stage.alice, "store").unwrap();
    // The deliveries come in the wrong order.
    {
        let mut world = stage.github.lock();
        let mut waiting: Vec<_> = world.outbox.drain(..).collect();
        waiting.reverse();
        world.outbox.extend(waiting);
    }
    stage.settle().await;
    stage.sweep().await;
    let memory = stage.store.repo(stage.repo_id()).await.unwrap().value;
    assert_eq!(memory.repo.unwrap().name.to_string(), "bob/store");
    let mut evidence = stage.evidence(&pull);
    evidence.0["subject"][0]["name"] = json!("bob/store");
    stage.reports(&stage.codex, &pull, &evidence).await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn half_a_list_of_repositories_takes_nothing_away() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let plan = FaultPlan::none().with("GET", "/installation/repositories", 1, Fault::TruncatedList);
    stage.github.set_faults(plan);
    stage.sweep().await;
    assert!(active(&stage).await);
    stage.clear(&pull).await;
    landed(&stage, &pull).await;
}

#[tokio::test]
async fn permissions_that_were_granted_later_let_what_waited_for_them_go_on_heard_or_unheard() {
    for heard in [true, false] {
        let stage = Stage::new().await;
        let installation = stage.shop.installation().unwrap();
        let all = {
            let world = stage.github.lock();
            world.installations[&installation].permissions.clone()
        };
        let mut fewer = all.clone();
        fewer.remove("statuses");
        let grant = |some: &std::collections::BTreeMap<String, String>| {
            let pairs: Vec<_> = some.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            stage.shop.grant_app(&stage.alice, &pairs).unwrap();
        };
        grant(&fewer);
        stage.settle().await;
        stage.sweep().await;
        let pull = stage.open_pull().await;
        stage.clear(&pull).await;
        assert!(!stage.merged(&pull), "statuses cannot be read");
        grant(&all);
        if !heard {
            stage.github.lose_pending();
            stage.app.sweep().await.unwrap();
        }
        stage.settle().await;
        landed(&stage, &pull).await;
    }
}

#[tokio::test]
async fn one_account_that_cannot_be_read_stops_no_other() {
    let stage = Stage::new().await;
    let bob = stage.github.user("bob");
    let files = [("src/start.rs", "pub fn start() {}\n")];
    let other = stage.github.repo("bob/other", &files).unwrap();
    other.install_app(&bob).unwrap();
    stage.settle().await;
    let pull = stage.agent_works_unheard().await;
    // The first token that is minted is bob's or acme's: either way the other one is swept.
    let broken = other.installation().unwrap();
    let path = format!("/app/installations/{broken}/access_tokens");
    stage.after(7_200).await;
    let plan = FaultPlan::none().with("POST", &path, u32::MAX, Fault::status(500));
    stage.github.set_faults(plan);
    assert!(stage.app.sweep().await.is_err());
    stage.settle().await;
    landed(&stage, &pull).await;
    let id = other.look(|repo| repo.id).unwrap();
    let id = countersign::domain::model::RepoId::new(id).unwrap();
    assert!(
        stage.store.repo(id).await.unwrap().value.active,
        "not read, not left"
    );
}

impl Stage {
    /// Everything that makes a pull request ready happens, and every delivery about it fails.
    async fn agent_works_unheard(&self) -> PullHandle {
        let pull = self.offer();
        let (head, evidence) = (pull.head().unwrap(), self.evidence(&pull).block());
        self.github
            .actions()
            .pass(&self.shop, &head, "unit")
            .unwrap();
        self.codex
            .report(&self.shop, &head, "verification", "success", &evidence)
            .unwrap();
        assert!(self.github.lose_pending() > 3);
        pull
    }
}
