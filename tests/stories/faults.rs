//! What comes of each fault for each class of call: one table, a row a fault.
//!
//! In every row the fault meets every call of one kind until everything has settled. Then GitHub is well
//! again, and time goes on to whenever the work is due. The columns are
//!
//! - **sent**: how often the call was made while the fault lasted. A read is asked again at once, twice at
//!   most, where no answer is an answer; whatever writes goes out once.
//! - **meanwhile**: what the pull request is then, and when its next pass is due.
//! - **afterwards**: which calls of the kind were made, what was read before them, and after how many seconds
//!   all was well.
//!
//! And in every row all is well in the end: merged by one merge, one check run that says the right thing.

use std::fmt::Write as _;

use chrono::Duration;
use countersign::simulator::PullHandle;
use countersign::simulator::faults::{Fault, FaultPlan, When};
use countersign::simulator::http::Call;

use crate::stage::Stage;

/// Longer than a client waits for a whole answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(13);
const MINT: &str = "/access_tokens";

/// A class of call: one that stands for it, and how it comes about.
#[derive(Clone, Copy)]
enum Class {
    /// The checks of the head, read before a merge.
    Read,
    /// A published check run is changed.
    Update,
    /// A check run is made; looked for by its external id.
    Create,
    /// The merge; the pull request is read back.
    Merge,
}

impl Class {
    fn call(self) -> (&'static str, &'static str) {
        match self {
            Self::Read => ("GET", "/commits/{+ref}/check-runs"),
            Self::Update => ("PATCH", "/check-runs/{id}"),
            Self::Create => ("POST", "/check-runs"),
            Self::Merge => ("PUT", "/merge"),
        }
    }

    /// What tells afterwards whether it was done.
    fn read_back(self) -> (&'static str, &'static str) {
        match self {
            Self::Read | Self::Create => ("GET", "/commits/{+ref}/check-runs"),
            Self::Update => ("GET", "/check-runs/{id}"),
            Self::Merge => ("GET", "/pulls/{number}"),
        }
    }
}

/// Every fault: its name, which call it meets (the class's own, or the minting of the token), and what.
fn faults() -> Vec<(&'static str, bool, Fault)> {
    vec![
        ("408", false, Fault::status(408)),
        ("429", false, Fault::status(429)),
        ("429, Retry-After 90", false, Fault::ComeBack(429, 90)),
        ("403 secondary, 90", false, Fault::SecondaryLimit(90)),
        ("500", false, Fault::status(500)),
        ("502", false, Fault::status(502)),
        ("502, but done", false, Fault::DoneThen502),
        ("503", false, Fault::status(503)),
        ("503, Retry-After 90", false, Fault::ComeBack(503, 90)),
        ("reset", false, Fault::Reset),
        ("reset, but done", false, Fault::DoneThenReset),
        ("body cut, done", false, Fault::DoneThenCut),
        ("time-out", false, Fault::Silence),
        ("time-out, but done", false, Fault::DoneThenSilence),
        ("token: 429, Retry-After 90", true, Fault::ComeBack(429, 90)),
        ("token: 503, Retry-After 90", true, Fault::ComeBack(503, 90)),
    ]
}

fn is(call: &Call, (method, route): (&str, &str)) -> bool {
    call.method == method && call.route.ends_with(route)
}

/// Settles; whoever waits for an answer that does not come loses patience at once.
async fn settle(stage: &Stage) {
    let impatience = async {
        loop {
            stage.github.silence().await;
            tokio::time::pause();
            tokio::time::advance(PATIENCE).await;
            tokio::time::resume();
        }
    };
    tokio::select! {
        () = stage.settle() => {}
        () = impatience => {}
    }
}

/// A pull request just before the class's call, and the act that brings it about, not delivered yet.
async fn before(class: Class, stage: &Stage) -> PullHandle {
    if matches!(class, Class::Create) {
        stage.clock.advance(Duration::hours(1));
        return stage.offer();
    }
    let pull = stage.open_pull().await;
    if matches!(class, Class::Read | Class::Merge) {
        let evidence = stage.evidence(&pull);
        stage.reports(&stage.codex, &pull, &evidence).await;
    }
    // The token is too old by now, so that each row's first call needs a new one.
    stage.clock.advance(Duration::hours(1));
    let head = pull.head().unwrap();
    let checks = stage.github.actions();
    checks.pass(&stage.shop, &head, "unit").unwrap();
    pull
}

/// Whether everything is as it should be.
async fn well(class: Class, stage: &Stage, pull: &PullHandle) -> bool {
    let check = stage.our_check(&pull.head().unwrap());
    let says = |words: &str| check.as_ref().is_some_and(|c| c.title.contains(words));
    match class {
        Class::Create => says("Waiting for checks"),
        Class::Update => says("Waiting for a second verifier"),
        Class::Read | Class::Merge => stage.outcome(pull).await == "merged",
    }
}

async fn due(stage: &Stage) -> String {
    match stage.store.next_due().await.unwrap() {
        Some(due) => format!("{} s", (due - stage.clock.now()).num_seconds()),
        None => "never".to_owned(),
    }
}

/// Calls of the class, the read that tells of them, and mintings that fail, in few words.
fn told(class: Class, calls: &[Call]) -> String {
    let mut words: Vec<(&str, usize)> = Vec::new();
    for call in calls {
        let word = match () {
            () if is(call, class.call()) => call.method.as_str(),
            () if is(call, class.read_back()) => "read",
            () if matches!(class, Class::Create) && is(call, Class::Update.call()) => "PATCH",
            () if call.path.ends_with(MINT) && call.status >= 400 => "mint",
            () => continue,
        };
        match words.last_mut() {
            Some((last, times)) if *last == word => *times += 1,
            _ => words.push((word, 1)),
        }
    }
    let words = words.iter().map(|(word, times)| match times {
        1 => (*word).to_owned(),
        times => format!("{word} x{times}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

async fn row(class: Class, meets_mint: bool, fault: &Fault) -> String {
    let stage = Stage::new().await;
    let pull = before(class, &stage).await;
    let (method, path) = match meets_mint {
        true => ("POST", MINT),
        false => class.call(),
    };
    let plan = FaultPlan::none().when(method, path, When::Always, fault.clone());
    stage.github.set_faults(plan);
    stage.github.clear_calls();
    settle(&stage).await;
    let sent = told(class, &stage.github.calls());
    let meanwhile = format!("{}, {}", stage.outcome(&pull).await, due(&stage).await);
    stage.github.set_faults(FaultPlan::none());
    stage.github.clear_calls();
    let begun = stage.clock.now();
    let mut rounds = 0;
    while let Some(due) = stage.store.next_due().await.unwrap() {
        if rounds > 0 && well(class, &stage, &pull).await {
            break;
        }
        let wait = (due - stage.clock.now()).max(Duration::zero());
        stage.clock.advance(wait);
        settle(&stage).await;
        rounds += 1;
        assert!(rounds < 10, "{fault:?}: {}", stage.told(&pull).await);
    }
    let well = well(class, &stage, &pull).await;
    assert!(well, "{fault:?}: {}", stage.told(&pull).await);
    let waited = (stage.clock.now() - begun).num_seconds();
    let afterwards = match told(class, &stage.github.calls()) {
        calls if calls.is_empty() => "-".to_owned(),
        calls => format!("{calls}; {waited} s"),
    };
    sound(class, &stage, &pull, fault).await;
    format!("{sent} | {meanwhile} | {afterwards}")
}

/// What holds whatever the fault was.
async fn sound(class: Class, stage: &Stage, pull: &PullHandle, fault: &Fault) {
    let head = pull.head().unwrap();
    let id = stage.repo_id().get();
    let runs = {
        let world = stage.github.lock();
        let ours = world.our_app;
        let repo = world.repo(id).unwrap();
        let runs = repo.check_runs.values();
        runs.filter(|run| run.app == ours && run.head == head)
            .count()
    };
    assert_eq!(runs, 1, "{fault:?}: one check run");
    if matches!(class, Class::Read | Class::Merge) {
        let landed = stage
            .ledger(countersign::domain::ledger::Kind::Landed)
            .await;
        assert_eq!(landed.len(), 1, "{fault:?}");
        assert_eq!(landed[0].body["judged"], "as_judged", "{fault:?}");
    }
}

async fn table(class: Class) -> String {
    let mut table = "fault | sent | meanwhile, due in | afterwards\n".to_owned();
    for (name, meets_mint, fault) in faults() {
        let row = row(class, meets_mint, &fault).await;
        writeln!(table, "{name} | {row}").unwrap();
    }
    table
}

#[tokio::test]
async fn a_read_is_asked_again_where_nothing_was_answered_and_nowhere_else() {
    insta::assert_snapshot!(table(Class::Read).await, @r"
    fault | sent | meanwhile, due in | afterwards
    408 | GET x3 | undetermined, 2 s | GET; 2 s
    429 | GET | waiting, 60 s | GET; 60 s
    429, Retry-After 90 | GET | waiting, 90 s | GET; 90 s
    403 secondary, 90 | GET | waiting, 90 s | GET; 90 s
    500 | GET x3 | undetermined, 2 s | GET; 2 s
    502 | GET x3 | undetermined, 2 s | GET; 2 s
    502, but done | GET x3 | undetermined, 2 s | GET; 2 s
    503 | GET x3 | undetermined, 2 s | GET; 2 s
    503, Retry-After 90 | GET | waiting, 90 s | GET; 90 s
    reset | GET x3 | undetermined, 2 s | GET; 2 s
    reset, but done | GET x3 | undetermined, 2 s | GET; 2 s
    body cut, done | GET x3 | undetermined, 2 s | GET; 2 s
    time-out | GET x2 | undetermined, 10 s | GET; 10 s
    time-out, but done | GET x2 | undetermined, 10 s | GET; 10 s
    token: 429, Retry-After 90 | mint | waiting, 90 s | GET; 90 s
    token: 503, Retry-After 90 | mint | waiting, 90 s | GET; 90 s
    ");
}

#[tokio::test]
async fn a_write_that_may_be_repeated_goes_out_once_a_pass_and_again_with_the_next() {
    insta::assert_snapshot!(table(Class::Update).await, @r"
    fault | sent | meanwhile, due in | afterwards
    408 | PATCH | waiting, 2 s | PATCH; 2 s
    429 | PATCH | waiting, 60 s | PATCH; 60 s
    429, Retry-After 90 | PATCH | waiting, 90 s | PATCH; 90 s
    403 secondary, 90 | PATCH | waiting, 90 s | PATCH; 90 s
    500 | PATCH | waiting, 2 s | PATCH; 2 s
    502 | PATCH | waiting, 2 s | PATCH; 2 s
    502, but done | PATCH | waiting, 2 s | PATCH; 2 s
    503 | PATCH | waiting, 2 s | PATCH; 2 s
    503, Retry-After 90 | PATCH | waiting, 2 s | PATCH; 90 s
    reset | PATCH | waiting, 2 s | PATCH; 2 s
    reset, but done | PATCH | waiting, 2 s | PATCH; 2 s
    body cut, done | PATCH | waiting, 2 s | PATCH; 2 s
    time-out | PATCH | waiting, 2 s | PATCH; 2 s
    time-out, but done | PATCH | waiting, 2 s | PATCH; 2 s
    token: 429, Retry-After 90 | mint | waiting, 90 s | PATCH; 90 s
    token: 503, Retry-After 90 | mint | waiting, 90 s | PATCH; 90 s
    ");
}

#[tokio::test]
async fn a_write_that_must_not_be_doubled_is_looked_for_before_it_is_repeated() {
    insta::assert_snapshot!(table(Class::Create).await, @r"
    fault | sent | meanwhile, due in | afterwards
    408 | POST | waiting, 2 s | read, POST; 2 s
    429 | POST | waiting, 60 s | POST; 60 s
    429, Retry-After 90 | POST | waiting, 90 s | POST; 90 s
    403 secondary, 90 | POST | waiting, 90 s | POST; 90 s
    500 | POST | waiting, 2 s | read, POST; 2 s
    502 | POST | waiting, 2 s | read, POST; 2 s
    502, but done | POST | waiting, 2 s | read, PATCH; 2 s
    503 | POST | waiting, 2 s | read, POST; 2 s
    503, Retry-After 90 | POST | waiting, 2 s | read, POST; 90 s
    reset | POST | waiting, 2 s | read, POST; 2 s
    reset, but done | POST | waiting, 2 s | read, PATCH; 2 s
    body cut, done | POST | waiting, 2 s | read, PATCH; 2 s
    time-out | POST | waiting, 2 s | read, POST; 2 s
    time-out, but done | POST | waiting, 2 s | read, PATCH; 2 s
    token: 429, Retry-After 90 | mint | none, 90 s | POST; 90 s
    token: 503, Retry-After 90 | mint | none, 90 s | POST; 93 s
    ");
}

#[tokio::test]
async fn a_merge_is_never_repeated_before_the_pull_request_was_read_back() {
    insta::assert_snapshot!(table(Class::Merge).await, @r"
    fault | sent | meanwhile, due in | afterwards
    408 | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    429 | read, PUT | ready, 60 s | read, PUT; 60 s
    429, Retry-After 90 | read, PUT | ready, 90 s | read, PUT; 90 s
    403 secondary, 90 | read, PUT | ready, 90 s | read, PUT; 90 s
    500 | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    502 | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    502, but done | read, PUT, read | merged, never | -
    503 | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    503, Retry-After 90 | read, PUT | ready, 90 s | read, PUT; 90 s
    reset | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    reset, but done | read, PUT, read | merged, never | -
    body cut, done | read, PUT, read | merged, never | -
    time-out | read, PUT, read, PUT | ready, 4 s | read, PUT; 4 s
    time-out, but done | read, PUT, read | merged, never | -
    token: 429, Retry-After 90 | mint | waiting, 90 s | read, PUT; 90 s
    token: 503, Retry-After 90 | mint | waiting, 90 s | read, PUT; 90 s
    ");
}
