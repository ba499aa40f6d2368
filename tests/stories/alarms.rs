//! Alarms: what stands still and should not is told while it lasts, and no longer.

use std::cell::RefCell;
use std::io::Write;

use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::{BranchProtection, RequiredCheck};

use crate::stage::Stage;

async fn alarms(stage: &Stage) -> Vec<&'static str> {
    let alarms = stage.app.alarms().await;
    alarms.iter().map(|alarm| alarm.kind.word()).collect()
}

#[tokio::test]
async fn what_is_ready_and_cannot_be_merged_raises_an_alarm_that_ends_with_the_merge() {
    let stage = Stage::new().await;
    let plan = FaultPlan::none().with(
        "PUT",
        "/repos/{owner}/{repo}/pulls/{number}/merge",
        u32::MAX,
        Fault::status(405),
    );
    stage.github.set_faults(plan);
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert!(!alarms(&stage).await.contains(&"not_merged"));
    stage.after(1_200).await;
    assert!(alarms(&stage).await.contains(&"not_merged"));
    stage.github.set_faults(FaultPlan::none());
    stage.after(3_600).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert!(!alarms(&stage).await.contains(&"not_merged"));
}

#[tokio::test]
async fn a_gate_that_nobody_is_held_to_is_told_as_advice_until_github_requires_it() {
    let stage = Stage::new().await;
    stage.open_pull().await;
    stage.sweep().await;
    assert_eq!(alarms(&stage).await, ["advisory"]);
    let ours = stage.github.app().app_id;
    let required = RequiredCheck {
        context: "countersign".to_owned(),
        app: Some(ours),
    };
    let protection = BranchProtection {
        checks: vec![required],
        ..BranchProtection::default()
    };
    stage.shop.protect("main", protection).unwrap();
    stage.sweep().await;
    assert_eq!(alarms(&stage).await, [""; 0]);
}

#[tokio::test]
async fn credentials_that_are_refused_raise_an_alarm_that_ends_when_they_are_taken() {
    let stage = Stage::new().await;
    let plan = FaultPlan::none().with("GET", "/app/installations", u32::MAX, Fault::status(401));
    stage.github.set_faults(plan);
    assert!(stage.app.sweep().await.is_err());
    assert!(alarms(&stage).await.contains(&"credentials"));
    stage.github.set_faults(FaultPlan::none());
    stage.sweep().await;
    assert!(!alarms(&stage).await.contains(&"credentials"));
}

#[tokio::test]
async fn work_that_nobody_takes_up_raises_an_alarm_that_ends_when_it_is_done() {
    let stage = Stage::new().await;
    stage.app.sweep().await.unwrap();
    stage.clock.advance(chrono::Duration::minutes(11));
    assert_eq!(alarms(&stage).await, ["stalled"]);
    stage.settle().await;
    assert!(!alarms(&stage).await.contains(&"stalled"));
}

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The log of whichever thread writes it: each story has its own.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Keeps what the watch logs from now on. For all threads: one that logs without a listener may have
/// its lines shut off for the others.
fn listen() {
    let lines = tracing_subscriber::fmt()
        .with_env_filter("countersign::watch=info")
        .with_writer(|| Log)
        .without_time()
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(lines).unwrap();
    tracing::callsite::rebuild_interest_cache();
}

#[tokio::test]
async fn the_log_tells_of_an_alarm_once_when_it_begins_and_once_when_it_ends() {
    let stage = Stage::new().await;
    listen();
    stage.app.sweep().await.unwrap();
    for _ in 0..3 {
        stage.clock.advance(chrono::Duration::minutes(11));
        assert_eq!(alarms(&stage).await, ["stalled"]);
    }
    stage.settle().await;
    for _ in 0..2 {
        assert_eq!(alarms(&stage).await, [""; 0]);
    }
    let log = String::from_utf8(LOG.take()).unwrap();
    insta::assert_snapshot!(log, @r#"
     WARN countersign::watch: alarm kind="stalled" about="" what="No pass has taken up the work that is due: pull requests are not judged." mend="See that the server runs; if it does, look at its log for passes that hang or a database that fails, and restart it."
     INFO countersign::watch: the alarm is over kind="stalled" about=""
    "#);
}
