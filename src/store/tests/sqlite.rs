//! The suite on SQLite, and what only SQLite can be asked.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::sqlite::SqlitePool;

use super::Place;
use super::given::*;
use crate::domain::ledger::Verifier;
use crate::domain::memory::{Change, PullRecord, Wake};
use crate::store::sqlite::Sqlite;
use crate::store::{Finish, Store, StoreError};

/// A file in a folder that goes with the test.
struct OnFile(tempfile::TempDir);

impl OnFile {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn url(&self) -> String {
        url(self.0.path())
    }
}

fn url(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("countersign.db").display())
}

#[async_trait]
impl Place for OnFile {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Sqlite::open(&self.url()).await.unwrap())
    }
}

mod on_a_file {
    use super::*;

    every_sentence!(OnFile::new());
}

#[tokio::test]
async fn an_understood_delivery_leaves_no_more_room_taken_than_its_id_needs() {
    const MANY: u64 = 400;
    let place = OnFile::new();
    let store = place.open().await;
    let used = async || {
        let figures = store.figures().await.unwrap();
        figures.bytes - figures.free_bytes
    };
    let before = used().await;
    for nth in 0..MANY {
        let mut large = delivery(&format!("00000000-0000-4000-8000-{nth:012}"));
        large.body = vec![b'x'; 8_000 + usize::try_from(nth % 7).unwrap() * 600].into();
        store.accept(vec![large]).await.unwrap();
    }
    let full = used().await - before;
    assert!(full > MANY * 8_000, "{full}");
    for waiting in store.waiting(u32::MAX).await.unwrap() {
        let done = understood(Vec::new(), Vec::new());
        store.absorb(waiting.seq, done, at(1)).await.unwrap();
    }
    let each = (used().await - before) / MANY;
    assert!(each < 400, "{each} bytes for each");
}

/// What a killed process leaves: the files as they are now, without anything that closing would do.
fn killed(place: &OnFile) -> OnFile {
    let image = OnFile::new();
    for file in ["countersign.db", "countersign.db-wal"] {
        let from = place.0.path().join(file);
        if from.exists() {
            std::fs::copy(from, image.0.path().join(file)).unwrap();
        }
    }
    image
}

#[tokio::test]
async fn whatever_was_answered_is_there_after_a_kill() {
    let place = OnFile::new();
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let change = Change::Run(shop, green(1, 'a'));
    say(&*store, "one", vec![change], vec![Wake::Key(pull_key(1))]).await;
    store.accept(vec![delivery("two")]).await.unwrap();
    let lease = take(&*store, at(0)).await;
    let record = PullRecord {
        disagreements: 3,
        ..PullRecord::default()
    };
    let entries = vec![draft(SHOP, 1, "decided")];
    store
        .save_record(&lease, &record, entries, at(1))
        .await
        .unwrap();

    let image = killed(&place);
    drop(store);
    let store = image.open().await;

    let waiting = store.waiting(10).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].delivery.id.as_str(), "two");
    assert_eq!(
        store.head(shop, &head('a')).await.unwrap().value.runs.len(),
        1
    );
    assert_eq!(store.record(shop, number(1)).await.unwrap(), record);
    assert_eq!(store.ledger(None, 0, 9).await.unwrap().len(), 1);
    assert!(nothing_due(&*store, at(59)).await);
    let taken_over = take(&*store, at(60)).await;
    assert_eq!((taken_over.key(), taken_over.attempt()), (&pull_key(1), 1));
}

#[tokio::test]
async fn a_call_that_is_dropped_half_way_leaves_nothing_and_harms_nobody() {
    let place = OnFile::new();
    let store = place.open().await;
    for polls in 1..40 {
        let group = vec![
            delivery(&format!("a{polls}")),
            delivery(&format!("b{polls}")),
        ];
        let mut call = Box::pin(store.accept(group));
        for _ in 0..polls {
            if futures::poll!(&mut call).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        // Whole or not at all, and the connection serves the next.
        let waiting = store.waiting(1_000).await.unwrap();
        let came = |id: &str| waiting.iter().any(|w| w.delivery.id.as_str() == id);
        let (a, b) = (format!("a{polls}"), format!("b{polls}"));
        assert_eq!(came(&a), came(&b));
        store
            .accept(vec![delivery(&format!("c{polls}"))])
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn two_processes_on_one_file_share_the_work_and_keep_one_chain() {
    let place = OnFile::new();
    let (one, other) = (place.open().await, place.open().await);
    for n in 1..=4 {
        wake(&*one, pull_key(n), at(0)).await;
    }
    let mut keys = Vec::new();
    for store in [&one, &other, &one, &other] {
        let lease = take(&**store, at(0)).await;
        let entries = vec![draft(SHOP, 1, "decided")];
        store
            .save_record(&lease, &PullRecord::default(), entries, at(0))
            .await
            .unwrap();
        keys.push(lease.key().clone());
        let done = Finish::Done { again: None };
        store.finish(lease, done, at(0)).await.unwrap();
    }
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 4);
    let entries = other.ledger(None, 0, 9).await.unwrap();
    let mut verifier = Verifier::default();
    for entry in &entries {
        verifier.take(entry).unwrap();
    }
    assert_eq!(verifier.followed(), 4);
}

#[tokio::test]
async fn the_database_itself_refuses_to_change_the_ledger() {
    let place = OnFile::new();
    let store = place.open().await;
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    let entries = vec![draft(SHOP, 1, "decided")];
    store
        .save_record(&lease, &PullRecord::default(), entries, at(0))
        .await
        .unwrap();
    let bypass = SqlitePool::connect(&place.url()).await.unwrap();
    for statement in [
        "update ledger set entry = '{}'",
        "delete from ledger",
        "update ledger_head set seq = 0",
        "delete from ledger_head",
    ] {
        let refused = sqlx::query(statement).execute(&bypass).await.unwrap_err();
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
    bypass.close().await;
}

#[tokio::test]
async fn what_cannot_be_read_back_is_an_error_that_says_what() {
    let place = OnFile::new();
    let store = place.open().await;
    know_repo(&*store, SHOP, "acme/shop", 3).await;
    let bypass = SqlitePool::connect(&place.url()).await.unwrap();
    sqlx::query("update repos set document = '{\"repo\":1'")
        .execute(&bypass)
        .await
        .unwrap();
    bypass.close().await;
    let refused = store.repo(repo_id(SHOP)).await.unwrap_err();
    let StoreError::Corrupt { what, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(what, "what is remembered of a repository");
}

#[tokio::test]
async fn every_way_to_a_key_uses_an_index() {
    let place = OnFile::new();
    let _store = place.open().await;
    let bypass = SqlitePool::connect(&place.url()).await.unwrap();
    for (statement, index) in [
        (
            "explain query plan select key from work where coalesce(lease_until, due) <= 1 \
             order by coalesce(lease_until, due), fence limit 1",
            "work_ready",
        ),
        (
            "explain query plan select number from pulls \
             where repo = 1 and head = 'a' and open = 1 order by number",
            "pulls_head",
        ),
        (
            "explain query plan select number from pulls \
             where repo = 1 and base = 'a' and open = 1 order by number",
            "pulls_base",
        ),
        (
            "explain query plan select id from repos where installation = 1 order by id",
            "repos_installation",
        ),
        (
            "explain query plan select seq from deliveries where state = 'waiting' \
             order by seq limit 1",
            "deliveries_waiting",
        ),
    ] {
        let plan: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(statement).fetch_all(&bypass).await.unwrap();
        let plan: Vec<_> = plan.into_iter().map(|(.., step)| step).collect();
        let plan = plan.join("; ");
        assert!(plan.contains(index), "{statement}: {plan}");
        assert!(!plan.contains("TEMP B-TREE"), "{statement}: {plan}");
    }
    bypass.close().await;
}

#[tokio::test]
async fn an_address_of_another_database_is_refused_and_makes_no_file() {
    let refused = Sqlite::open("postgres://localhost/countersign").await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("postgres://localhost/countersign"),
        "{refused}"
    );
    assert!(!Path::new("postgres:").exists());
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_named() {
    let place = OnFile::new();
    let folder = place.0.path().join("nowhere");
    let refused = Sqlite::open(&url(&folder)).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Open { .. }), "{refused}");
    assert!(refused.to_string().contains("nowhere/countersign.db"));
}

#[tokio::test]
async fn a_database_in_memory_serves_reads_and_writes_and_nobody_else() {
    let one = Sqlite::open("sqlite::memory:").await.unwrap();
    let other = Sqlite::open("sqlite::memory:").await.unwrap();
    one.accept(vec![delivery("one")]).await.unwrap();
    assert_eq!(one.waiting(9).await.unwrap().len(), 1);
    assert!(other.waiting(9).await.unwrap().is_empty());
    one.ping().await.unwrap();
}

#[tokio::test]
async fn a_closed_store_refuses_and_its_file_holds_everything() {
    let place = OnFile::new();
    let store = Sqlite::open(&place.url()).await.unwrap();
    store.accept(vec![delivery("one")]).await.unwrap();
    store.close().await;
    assert!(store.ping().await.is_err());
    let wal = place.0.path().join("countersign.db-wal");
    assert!(
        !wal.exists(),
        "the last to close folds the log into the file"
    );
    let store = place.open().await;
    assert_eq!(store.waiting(9).await.unwrap().len(), 1);
}

/// What lets a forger write the ledger.
const UNGUARD: &str = "drop trigger ledger_is_not_changed; drop trigger ledger_is_not_shortened;";

async fn ended(store: &dyn Store, effect: &str) {
    let done = crate::store::Ended::Done(serde_json::Value::Null);
    let entry = Some(draft(SHOP, 1, effect));
    store.end(effect, done, entry, at(0)).await.unwrap();
}

async fn forge(place: &OnFile, statements: &'static str) {
    let bypass = SqlitePool::connect(&place.url()).await.unwrap();
    for statement in [UNGUARD, statements] {
        sqlx::raw_sql(statement).execute(&bypass).await.unwrap();
    }
    bypass.close().await;
}

#[tokio::test]
async fn the_next_entry_follows_the_last_that_was_written_and_not_the_last_that_is_left() {
    for forgery in [
        "delete from ledger where seq > 1",
        "update ledger set hash = '00' where seq = 3",
    ] {
        let place = OnFile::new();
        let store = place.open().await;
        for effect in ["one", "two", "three"] {
            ended(&*store, effect).await;
        }
        let before = store.ledger(None, 0, 9).await.unwrap();
        forge(&place, forgery).await;
        ended(&*store, "four").await;
        let after = store.ledger(None, 3, 9).await.unwrap();
        assert_eq!((after.len(), after[0].seq), (1, 4), "{forgery}");
        assert_eq!(after[0].prev, before[2].hash, "{forgery}");
        let proved = store.prove_ledger(Verifier::default()).await.unwrap();
        let broken = proved.unwrap_err();
        assert!(broken.seq > 1, "{forgery}: {broken}");
    }
}

#[tokio::test]
async fn a_row_that_says_something_else_than_its_entry_is_not_shown_as_anybodys() {
    let place = OnFile::new();
    let store = place.open().await;
    ended(&*store, "one").await;
    forge(&place, "update ledger set repo = 999").await;
    let shown = store.ledger(Some(repo_id(999)), 0, 9).await;
    assert!(
        matches!(shown, Err(StoreError::Corrupt { .. })),
        "{shown:?}"
    );
}

#[tokio::test]
async fn a_database_of_an_older_version_keeps_its_chain_and_from_then_on_its_end() {
    let place = OnFile::new();
    let store = place.open().await;
    ended(&*store, "one").await;
    ended(&*store, "two").await;
    drop(store);
    forge(
        &place,
        "drop trigger ledger_head_follows; drop table ledger_head; \
         delete from _sqlx_migrations where version = 6",
    )
    .await;
    let store = place.open().await;
    let proved = store.prove_ledger(Verifier::default()).await.unwrap();
    assert_eq!(proved.unwrap().followed(), 2);
    ended(&*store, "three").await;
    let proved = store.prove_ledger(Verifier::default()).await.unwrap();
    assert_eq!(proved.unwrap().followed(), 3);
    let bypass = SqlitePool::connect(&place.url()).await.unwrap();
    sqlx::raw_sql("delete from ledger where seq = 3")
        .execute(&bypass)
        .await
        .unwrap();
    bypass.close().await;
    let proved = store.prove_ledger(Verifier::default()).await.unwrap();
    assert_eq!(proved.unwrap_err().seq, 3);
}
