//! What the suite stores: small facts, and names short enough to read in a test.

use bytes::Bytes;
use chrono::Duration;
use serde_json::json;

use crate::domain::facts::{CheckRun, Conclusion, Freeze, PullRequest, PullState, RunStatus};
use crate::domain::ledger::{Draft, Kind};
use crate::domain::memory::{Change, Confirm, PullMemory, RepoMemory, Wake};
use crate::domain::model::{
    BaseRef, CheckRunId, DeliveryId, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName,
    Repository, SuiteId, Timestamp,
};
use crate::store::{Absorbed, Lease, NewDelivery, Store, Versioned};

/// The repository that most tests are about.
pub const SHOP: u64 = 7;
/// How long leases of tests last.
pub const TTL: Duration = Duration::seconds(60);

/// So many seconds after the tests' beginning.
pub fn at(seconds: i64) -> Timestamp {
    chrono::DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

pub fn repo_id(id: u64) -> RepoId {
    RepoId::new(id).unwrap()
}

pub fn number(number: u64) -> PullNumber {
    PullNumber::new(number).unwrap()
}

pub fn installation(id: u64) -> InstallationId {
    InstallationId::new(id).unwrap()
}

/// The commit whose id repeats this digit.
pub fn head(digit: char) -> HeadSha {
    HeadSha::parse(&digit.to_string().repeat(40)).unwrap()
}

pub fn base(name: &str) -> BaseRef {
    BaseRef::parse(name).unwrap()
}

pub fn name(text: &str) -> RepoName {
    RepoName::parse(text).unwrap()
}

/// Pull request `n` of the shop, as a key.
pub fn pull_key(n: u64) -> Key {
    Key::Pull(repo_id(SHOP), number(n))
}

pub fn repository(id: u64, text: &str, through: u64) -> Repository {
    Repository {
        id: repo_id(id),
        name: name(text),
        installation: installation(through),
        default_branch: Some(base("main")),
    }
}

/// An active repository, not yet stored.
pub fn repo_memory(id: u64, text: &str, through: u64) -> RepoMemory {
    RepoMemory {
        repo: Some(repository(id, text, through)),
        active: true,
        ..RepoMemory::default()
    }
}

/// An open pull request into `main`.
pub fn open_pull(n: u64, digit: char) -> PullRequest {
    PullRequest {
        number: number(n),
        title: format!("Change {n}"),
        body: String::new(),
        state: PullState::Open,
        draft: false,
        head: head(digit),
        head_ref: format!("agent/{n}"),
        head_repo: Some(repo_id(SHOP)),
        base: base("main"),
        author: None,
        labels: Vec::new(),
        mergeable: None,
        test_merge: None,
        changed_files: Some(1),
        auto_merge: false,
        created_at: at(i64::try_from(n).unwrap()),
        updated_at: at(1_000),
    }
}

/// What is remembered of a pull request of which nothing but its fields is known.
pub fn pull_memory(pull: PullRequest) -> PullMemory {
    PullMemory {
        pull: Some(pull),
        ..PullMemory::default()
    }
}

/// A check run on a commit that succeeded.
pub fn green(id: u64, digit: char) -> CheckRun {
    CheckRun {
        id: CheckRunId::new(id).unwrap(),
        name: "unit".into(),
        app: None,
        head: head(digit),
        status: RunStatus::Completed(Conclusion::Success),
        suite: SuiteId::new(1),
        external_id: None,
        completed_at: Some(at(10)),
        url: None,
        output_text: None,
        output_title: None,
    }
}

pub fn freeze(reason: &str) -> Freeze {
    Freeze {
        reason: reason.into(),
        by: "alice".into(),
        since: at(0),
    }
}

/// A ledger entry about pull request `n` of a repository.
pub fn draft(repo: u64, n: u64, said: &str) -> Draft {
    Draft {
        at: at(0),
        kind: Kind::Verdict,
        repo: repo_id(repo),
        number: PullNumber::new(n),
        head: Some(head('a')),
        body: json!({ "said": said }),
    }
}

/// A delivery with this id.
pub fn delivery(id: &str) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::parse(id).unwrap(),
        event: "check_run".into(),
        body: Bytes::from(format!("{{\"id\":\"{id}\"}}")),
        at: at(0),
    }
}

/// What follows from a delivery that was understood.
pub fn understood(changes: Vec<Change>, wakes: Vec<Wake>) -> Absorbed {
    Absorbed::Done {
        changes,
        wakes: wakes
            .into_iter()
            .map(|wake| (wake, Confirm::IfNeeded))
            .collect(),
        note: "understood".into(),
    }
}

/// Has a new delivery say this.
pub async fn say(store: &dyn Store, id: &str, changes: Vec<Change>, wakes: Vec<Wake>) {
    store.accept(vec![delivery(id)]).await.unwrap();
    let waiting = store.waiting(1).await.unwrap();
    let seq = waiting[0].seq;
    store
        .absorb(seq, understood(changes, wakes), at(0))
        .await
        .unwrap();
}

/// Remembers a repository that was not known.
pub async fn know_repo(store: &dyn Store, id: u64, text: &str, through: u64) {
    let memory = Versioned {
        value: repo_memory(id, text, through),
        version: 0,
    };
    assert!(store.remember_repo(repo_id(id), &memory).await.unwrap());
}

/// Remembers a pull request of the shop, whatever was remembered before.
pub async fn know_pull(store: &dyn Store, pull: PullRequest) {
    let n = pull.number;
    let mut memory = store.pull(repo_id(SHOP), n).await.unwrap();
    memory.value.pull = Some(pull);
    assert!(
        store
            .remember_pull(repo_id(SHOP), n, &memory)
            .await
            .unwrap()
    );
}

/// Wakes one key, without asking for confirmation.
pub async fn wake(store: &dyn Store, key: Key, not_before: Timestamp) {
    store
        .wake(&[(key, Confirm::IfNeeded)], not_before)
        .await
        .unwrap();
}

/// Takes the next key, which must be there.
pub async fn take(store: &dyn Store, now: Timestamp) -> Lease {
    let lease = store.lease(now, TTL).await.unwrap();
    lease.expect("a key was due")
}

/// Whether no key may be taken.
pub async fn nothing_due(store: &dyn Store, now: Timestamp) -> bool {
    store.lease(now, TTL).await.unwrap().is_none()
}

/// Every key that may be taken, in the order in which it is, each pass done at once.
pub async fn drain(store: &dyn Store, now: Timestamp) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(lease) = store.lease(now, TTL).await.unwrap() {
        keys.push(lease.key().clone());
        store
            .finish(lease, crate::store::Finish::Done { again: None }, now)
            .await
            .unwrap();
    }
    keys
}
