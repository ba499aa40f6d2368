//! What people see, and who goes on, when GitHub's limits run low.

use countersign::simulator::PullHandle;
use countersign::simulator::http::Limits;

use crate::stage::Stage;

/// Leaves a tenth of the hour's budget, which is too little for a pass that promises nothing.
fn low(stage: &Stage) {
    let calls = stage.github.calls();
    // Who opens a repository is asked in the App's own name.
    let ours = |path: &str| path.starts_with("/repos/") && !path.ends_with("/installation");
    let counted = calls.iter().filter(|call| {
        call.status != 304 && (ours(&call.path) || call.path.starts_with("/repositories/"))
    });
    let used = u64::try_from(counted.count()).unwrap();
    stage.github.set_limits(Limits {
        hourly: used * 10 / 9 + 2,
        ..Limits::default()
    });
}

fn said(stage: &Stage, pull: &PullHandle) -> (String, Option<String>) {
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    (check.title, check.conclusion)
}

async fn low_budgets(stage: &Stage) -> Vec<String> {
    let alarms = stage.app.alarms().await.into_iter();
    let low = alarms.filter(|alarm| alarm.kind.word() == "low_budget");
    low.map(|alarm| alarm.what).collect()
}

fn publications(stage: &Stage) -> usize {
    let calls = stage.github.calls();
    let writes = calls.iter().filter(|call| call.method != "GET");
    writes
        .filter(|call| call.path.contains("/check-runs"))
        .count()
}

#[tokio::test]
async fn who_waits_for_githubs_limit_is_told_on_the_check_run_once_and_until_when() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    low(&stage);
    stage
        .says(&stage.alice, &pull, "/countersign recheck")
        .await;
    let told = publications(&stage);
    let (title, conclusion) = said(&stage, &pull);
    assert_eq!(conclusion, None);
    insta::assert_snapshot!(
        title,
        @"GitHub's limit for this installation is used up until 14:29 UTC; merges go first"
    );
    let summary = stage.our_check(&pull.head().unwrap()).unwrap().summary;
    insta::assert_snapshot!(
        summary.lines().next().unwrap(),
        @"GitHub lets an App ask so many questions an hour. What is left of this hour is kept for merges, so this pull request is looked at again at 14:29 UTC, by itself. Below is what was known of it before."
    );
    // Nothing is told twice, however often it is tried.
    stage.after(30).await;
    stage
        .says(&stage.alice, &pull, "/countersign recheck")
        .await;
    assert_eq!(publications(&stage), told);
    // With the next hour it goes on by itself.
    stage.after(3_700).await;
    let (title, _) = said(&stage, &pull);
    assert!(title.starts_with("Waiting for checks"), "{title}");
}

#[tokio::test]
async fn a_low_budget_is_an_alarm_before_it_is_used_up_and_until_the_next_hour() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    for other in 1..12 {
        stage.open_other(&format!("agent/other-{other}")).await;
    }
    assert_eq!(low_budgets(&stage).await, [""; 0]);
    low(&stage);
    stage
        .says(&stage.alice, &pull, "/countersign recheck")
        .await;
    let told = low_budgets(&stage).await;
    insta::assert_snapshot!(
        told.join("\n"),
        @"Of 23 calls that GitHub allows installation 50000002 in this hour, 2 are left; the next hour begins at 2026-09-21 15:13 UTC."
    );
    // The sweep is kept back, which is no news.
    assert!(stage.app.sweep().await.is_err());
    assert_eq!(low_budgets(&stage).await, told);
    stage.github.set_limits(Limits::default());
    stage.after(3_700).await;
    stage.sweep().await;
    assert_eq!(low_budgets(&stage).await, [""; 0]);
}
