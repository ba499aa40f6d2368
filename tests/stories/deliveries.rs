//! Deliveries: lost, doubled, late, unreadable; and the places where the App may not act for a while.

use axum::body::Body;
use countersign::app::App;
use countersign::domain::ledger::Kind;
use countersign::domain::model::DeliveryId;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::{MergeMethod, PullHandle};
use countersign::store::NewDelivery;
use http::Request;
use serde_json::json;
use tower::ServiceExt as _;

use crate::stage::{Stage, product};

async fn landed_once(stage: &Stage, pull: &PullHandle) {
    assert!(stage.merged(pull), "{}", stage.told(pull).await);
    assert_eq!(stage.outcome(pull).await, "merged");
    assert_eq!(stage.merge_calls(), 1);
    assert_eq!(stage.ledger(Kind::Landed).await.len(), 1);
    assert!(stage.ledger(Kind::MergedPastGate).await.is_empty());
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("success"));
}

/// Everything that makes a pull request ready happens, and nothing is delivered yet.
fn everything_at_once(stage: &Stage) -> PullHandle {
    let pull = stage.offer();
    stage.qualifies(&pull);
    pull
}

#[tokio::test]
async fn whatever_was_lost_one_sweep_makes_good() {
    let stage = Stage::new().await;
    let pull = everything_at_once(&stage);
    assert!(stage.github.lose_pending() > 3);
    stage.settle().await;
    assert!(!stage.merged(&pull));
    stage.sweep().await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn what_happened_before_the_app_was_installed_is_judged_when_it_is() {
    let stage = Stage::new().await;
    stage.shop.uninstall_app(&stage.alice).unwrap();
    stage.settle().await;
    let pull = everything_at_once(&stage);
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.merge_calls(), 0);
    stage.shop.install_app(&stage.alice).unwrap();
    stage.settle().await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_delivery_that_comes_twice_does_nothing_the_second_time() {
    let stage = Stage::new().await;
    let pull = everything_at_once(&stage);
    {
        let mut world = stage.github.lock();
        let twice: Vec<_> = world.outbox.iter().cloned().collect();
        world.outbox.extend(twice);
    }
    stage.settle().await;
    landed_once(&stage, &pull).await;
    let created = stage.github.calls_to("POST", "/check-runs").len();
    let sent: Vec<u64> = {
        let sent = stage.github.sent();
        sent.iter().map(|sent| sent.delivery.id).collect()
    };
    for id in sent {
        stage.github.redeliver(id).unwrap();
        stage.github.deliver_all().await;
    }
    stage.settle().await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.github.calls_to("POST", "/check-runs").len(), created);
}

/// Both of two servers over one store hear what is sent, and step by step they do what follows.
async fn both_go_on(stage: &Stage, other: &App, addresses: &[String; 2]) {
    let mut told = 0;
    for _ in 0..60 {
        stage.github.set_webhook(addresses[0].clone());
        stage.github.deliver_all().await;
        let sent = stage.github.sent();
        let new: Vec<_> = sent[told..].iter().filter(|sent| !sent.again).collect();
        stage.github.set_webhook(addresses[1].clone());
        for sent in new {
            stage.github.redeliver(sent.delivery.id).unwrap();
        }
        stage.github.deliver_all().await;
        told = stage.github.sent().len();
        let (one, two) = tokio::join!(stage.app.settle(1), other.settle(1));
        one.unwrap();
        two.unwrap();
        stage.clock.advance(chrono::Duration::seconds(1));
    }
}

#[tokio::test]
async fn two_servers_that_both_hear_everything_say_and_do_it_once() {
    let stage = Stage::new().await;
    let one = stage.github.webhook().unwrap();
    let (store, clock) = (stage.store.clone(), stage.clock.clone());
    let other = product(&stage.github, &stage.api_url, store, clock).await;
    let addresses = [one, stage.github.webhook().unwrap()];
    let pull = stage.offer();
    both_go_on(&stage, &other, &addresses).await;
    let asked = "/countersign hold a moment\n\n/countersign status";
    stage.alice.comment(&pull, asked).unwrap();
    stage.qualifies(&pull);
    both_go_on(&stage, &other, &addresses).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    let number = pull.look(|pull| pull.number).unwrap();
    assert_eq!(stage.answers(number).len(), 1);
    stage.alice.comment(&pull, "/countersign unhold").unwrap();
    both_go_on(&stage, &other, &addresses).await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.github.calls_to("POST", "/check-runs").len(), 1);
    assert_eq!(
        stage.answers(number).len(),
        1,
        "told anew, not written anew"
    );
    assert_eq!(stage.ledger(Kind::Hold).await.len(), 2);
    let guids: std::collections::BTreeSet<_> = {
        let sent = stage.github.sent();
        sent.iter().map(|sent| sent.delivery.guid.clone()).collect()
    };
    let inbox = stage.store.inbox().await.unwrap();
    assert_eq!(
        inbox.done + inbox.waiting,
        u64::try_from(guids.len()).unwrap()
    );
}

#[tokio::test]
async fn deliveries_in_the_wrong_order_lead_to_the_same_end() {
    let stage = Stage::new().await;
    let pull = everything_at_once(&stage);
    {
        let mut world = stage.github.lock();
        let mut waiting: Vec<_> = world.outbox.drain(..).collect();
        waiting.reverse();
        world.outbox.extend(waiting);
    }
    stage.settle().await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_success_that_comes_late_does_not_hide_the_failure_that_came_after_it() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    let run = actions.start_check(&stage.shop, &head, "unit").unwrap();
    actions.complete(&stage.shop, run, "success").unwrap();
    let early = stage.github.lock().take_deliveries();
    stage.clock.advance(chrono::Duration::seconds(30));
    actions.complete(&stage.shop, run, "failure").unwrap();
    stage.settle().await;
    stage.github.lock().outbox.extend(early);
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert_eq!(stage.outcome(&pull).await, "blocked");
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn a_delivery_that_cannot_be_understood_stops_no_other() {
    let stage = Stage::new().await;
    let pull = everything_at_once(&stage);
    {
        let mut world = stage.github.lock();
        for delivery in world.outbox.iter_mut() {
            if delivery.event == "pull_request" {
                delivery.payload["pull_request"] = json!(7);
            }
        }
    }
    stage.settle().await;
    let dead = stage.store.dead_letters(10).await.unwrap();
    assert!(!dead.is_empty());
    // The check's delivery leads to the pull request all the same.
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn whichever_deliveries_go_astray_the_sweep_leads_to_the_same_end() {
    for seed in 1..=6 {
        let stage = Stage::new().await;
        stage.github.set_faults(FaultPlan::random(seed, 0, 300));
        let pull = stage.open_pull().await;
        stage.clear(&pull).await;
        stage.github.set_faults(FaultPlan::none());
        stage.sweep().await;
        landed_once(&stage, &pull).await;
    }
}

#[tokio::test]
async fn a_suspended_app_does_nothing_and_goes_on_when_it_may_again() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.suspend_app(&stage.alice, true).unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    stage.github.clear_calls();
    stage.after(3_600).await;
    stage.sweep().await;
    let calls = stage.github.calls();
    let acted = calls.iter().find(|call| call.path.contains("/repos/"));
    assert!(acted.is_none(), "{acted:?}");
    assert!(!stage.merged(&pull));

    stage.shop.suspend_app(&stage.alice, false).unwrap();
    stage.settle().await;
    landed_once(&stage, &pull).await;
}

/// Has GitHub say something about the App's reach, and takes those deliveries from their way.
fn taken_from_the_way(stage: &Stage, say: impl FnOnce()) -> Vec<(String, serde_json::Value)> {
    stage.github.lose_pending();
    say();
    let mut world = stage.github.lock();
    let taken: Vec<_> = world.outbox.drain(..).collect();
    taken
        .into_iter()
        .map(|one| (one.event, one.payload))
        .collect()
}

/// Old deliveries reach the server by an id that it does not know.
async fn sent_again(stage: &Stage, old: Vec<(String, serde_json::Value)>) {
    let again = old
        .into_iter()
        .enumerate()
        .map(|(at, (event, body))| NewDelivery {
            id: DeliveryId::parse(&format!("0000000{at}-1111-2222-3333-444444444444")).unwrap(),
            event,
            body: body.to_string().into(),
            at: stage.clock.now(),
        });
    stage.store.accept(again.collect()).await.unwrap();
}

#[tokio::test]
async fn an_old_word_that_the_app_may_not_act_is_asked_of_github_and_not_believed() {
    type Act = fn(&Stage);
    let acts: [(Act, Act); 4] = [
        (
            |stage| {
                stage
                    .shop
                    .suspend_app(&stage.alice, true)
                    .map(drop)
                    .unwrap()
            },
            |stage| {
                stage
                    .shop
                    .suspend_app(&stage.alice, false)
                    .map(drop)
                    .unwrap()
            },
        ),
        (
            |stage| stage.shop.deselect(&stage.alice).map(drop).unwrap(),
            |stage| stage.shop.install_app(&stage.alice).map(drop).unwrap(),
        ),
        (
            |stage| stage.shop.archive(&stage.alice, true).map(drop).unwrap(),
            |stage| stage.shop.archive(&stage.alice, false).map(drop).unwrap(),
        ),
        (
            |stage| stage.shop.rename(&stage.alice, "store").map(drop).unwrap(),
            |stage| stage.shop.rename(&stage.alice, "shop").map(drop).unwrap(),
        ),
    ];
    for (act, undo) in acts {
        let stage = Stage::new().await;
        let pull = stage.open_pull().await;
        let old = taken_from_the_way(&stage, || act(&stage));
        assert!(!old.is_empty());
        taken_from_the_way(&stage, || undo(&stage));
        sent_again(&stage, old.clone()).await;
        stage.settle().await;
        stage.clear(&pull).await;
        landed_once(&stage, &pull).await;
        let repo = stage.store.repo(stage.repo_id()).await.unwrap().value;
        assert_eq!(repo.repo.unwrap().name.to_string(), "acme/shop", "{old:?}");
    }
}

#[tokio::test]
async fn a_word_that_the_app_may_not_act_is_asked_about_until_github_answers() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    let active = async || {
        stage
            .store
            .repo(stage.repo_id())
            .await
            .unwrap()
            .value
            .active
    };
    stage.shop.archive(&stage.alice, true).unwrap();
    let gateway = Fault::Refuse(502, "Bad Gateway");
    let plan = FaultPlan::none().with("GET", "/installation", 1_000, gateway);
    stage.github.set_faults(plan);
    stage.settle().await;
    assert!(active().await, "nobody confirmed it");
    stage.github.set_faults(FaultPlan::none());
    stage.after(600).await;
    assert!(!active().await);
}

#[tokio::test]
async fn a_suspension_that_was_never_told_is_noticed_and_its_end_too() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.suspend_app(&stage.alice, true).unwrap();
    stage.github.lose_pending();
    stage.clear(&pull).await;
    stage.after(600).await;
    assert!(!stage.merged(&pull));
    stage.shop.suspend_app(&stage.alice, false).unwrap();
    stage.github.lose_pending();
    stage.sweep().await;
    stage.after(600).await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_renamed_repository_goes_on_by_its_id() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.shop.rename(&stage.alice, "store").unwrap();
    stage.settle().await;
    let mut evidence = stage.evidence(&pull);
    evidence.0["subject"][0]["name"] = json!("acme/store");
    stage.reports(&stage.codex, &pull, &evidence).await;
    landed_once(&stage, &pull).await;
    assert_eq!(stage.verdict(&pull).await["repository"], "acme/store");
}

#[tokio::test]
async fn a_rename_that_was_never_told_is_learned_by_the_sweep() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.shop.rename(&stage.alice, "store").unwrap();
    stage.github.lose_pending();
    let mut evidence = stage.evidence(&pull);
    evidence.0["subject"][0]["name"] = json!("acme/store");
    stage.reports(&stage.codex, &pull, &evidence).await;
    // The old name still leads to the repository; what it is called is not known yet.
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    stage.sweep().await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn what_was_verified_under_another_name_must_be_verified_again() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.shop.rename(&stage.alice, "store").unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(
        said.contains("it is about another repository than acme/store"),
        "{said}"
    );
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn an_archived_repository_is_left_alone() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.shop.archive(&stage.alice, true).unwrap();
    stage.settle().await;
    stage.github.clear_calls();
    stage.after(3_600).await;
    stage.sweep().await;
    assert_eq!(stage.merge_calls(), 0);
    assert!(!stage.merged(&pull));
    stage.shop.archive(&stage.alice, false).unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    landed_once(&stage, &pull).await;
}

#[tokio::test]
async fn a_merged_pull_request_is_not_merged_again_by_a_late_success() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    stage.alice.merge(&pull, MergeMethod::Merge).unwrap();
    stage.clear(&pull).await;
    stage.sweep().await;
    assert_eq!(stage.merge_calls(), 0);
    assert_eq!(stage.ledger(Kind::MergedPastGate).await.len(), 1);
}

#[tokio::test]
async fn every_answer_of_the_server_carries_strict_headers_whoever_is_refused() {
    let stage = Stage::new().await;
    let ask = async |method: &str, path: &str| {
        let request = Request::builder().method(method).uri(path);
        let request = request.body(Body::from("{}")).unwrap();
        stage.app.routes().oneshot(request).await.unwrap()
    };
    for (method, path, status) in [
        ("POST", "/webhook", 401),
        ("GET", "/webhook", 405),
        ("POST", "/evidence", 401),
        ("GET", "/evidence", 405),
        ("GET", "/", 200),
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/nowhere", 404),
        ("DELETE", "/healthz", 405),
        ("GET", "/metrics", 200),
    ] {
        let answer = ask(method, path).await;
        assert_eq!(answer.status().as_u16(), status, "{method} {path}");
        let told = |name: &str| {
            answer
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap())
        };
        let strict = told("x-content-type-options") == Some("nosniff")
            && told("referrer-policy") == Some("no-referrer")
            && told("cache-control").is_some()
            && told("content-security-policy")
                .is_some_and(|policy| policy.contains("default-src 'none'"));
        assert!(strict, "{method} {path}: {:?}", answer.headers());
    }
}
