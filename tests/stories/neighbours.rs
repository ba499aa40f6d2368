//! One installation's trouble is its own: the server at work by itself, with two accounts.
//!
//! Time stands still, so no call that hangs is ever given up and no pass cut off: whatever is done is done
//! beside them. For a clock that is paused leaps when everybody waits, somebody here never does. Whoever waits
//! for a state looks again as often as is surely enough.

use countersign::simulator::Edits;
use countersign::simulator::faults::{Fault, FaultPlan, When};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::stage::Stage;

/// More looks than anything here needs.
const LOOKS: usize = 5_000;
/// More pull requests than passes are made at once.
const MANY: usize = 24;
/// What one account may have of those, while nobody else wants any.
const HALF: u64 = 8;

/// The server, at work by itself on the stage's store.
async fn at_work(stage: &Stage) -> watch::Sender<bool> {
    let (stop, stopping) = watch::channel(false);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    stage
        .github
        .set_webhook(format!("http://{address}/webhook"));
    tokio::spawn(stage.another().run(listener, stopping));
    stop
}

/// Another account, whose repository has many pull requests of which nobody has heard.
async fn neighbour(stage: &Stage) {
    let bob = stage.github.user("bob");
    let files = [("src/start.rs", "pub fn start() {}\n")];
    let other = stage.github.repo("bob/other", &files).unwrap();
    other.install_app(&bob).unwrap();
    let write = countersign::simulator::Permission::Write;
    other.allow(&stage.agent, write).unwrap();
    stage.settle().await;
    for n in 0..MANY {
        let (branch, file) = (format!("agent/{n}"), format!("docs/{n}.md"));
        let edits = Edits::write(&file, "text");
        stage.agent.push(&other, &branch, "Text", edits).unwrap();
        let opened = stage.agent.open_pull(&other, &branch, "main", "Text");
        opened.unwrap();
    }
}

async fn leased(stage: &Stage) -> u64 {
    stage.store.figures().await.unwrap().leased
}

#[tokio::test]
async fn while_every_call_of_one_installation_hangs_the_pull_requests_of_another_are_merged() {
    let stage = Stage::new().await;
    neighbour(&stage).await;
    let hang = FaultPlan::none().when("*", "/repos/bob/other/", When::Always, Fault::Silence);
    stage.github.set_faults(hang);
    stage.github.clear_calls();
    tokio::time::pause();
    tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    let _stop = at_work(&stage).await;
    stage.github.deliver_all().await;
    let (mut held, mut unchanged) = (0, 0);
    for _ in 0..LOOKS {
        let now = leased(&stage).await;
        unchanged = if now == held { unchanged + 1 } else { 0 };
        held = now;
        if held >= HALF && unchanged > LOOKS / 10 {
            break;
        }
    }
    assert!(held >= HALF, "its passes hang: {held}");

    let pull = stage.offer();
    let (head, evidence) = (pull.head().unwrap(), stage.evidence(&pull).block());
    let checks = stage.github.actions();
    checks.pass(&stage.shop, &head, "unit").unwrap();
    let reported = stage
        .codex
        .report(&stage.shop, &head, "verification", "success", &evidence);
    reported.unwrap();
    for _ in 0..LOOKS {
        if stage.merged(&pull) {
            break;
        }
        stage.github.deliver_all().await;
        leased(&stage).await;
    }
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert!(leased(&stage).await >= HALF, "and its passes hang still");
    let calls = stage.github.calls();
    let mut others = calls
        .iter()
        .filter(|call| call.path.contains("/bob/other/"));
    assert!(others.all(|call| call.status == 0), "none was answered");
}
