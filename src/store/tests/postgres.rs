//! The suite on PostgreSQL, each test in a schema of its own.
//!
//! `COUNTERSIGN_TEST_POSTGRES` names a database in which schemas may be made. Without it these tests do
//! nothing, unless `COUNTERSIGN_TEST_ALL` says that everything is to be run: then they fail.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::Place;
use super::given::*;
use crate::domain::ledger::Verifier;
use crate::domain::memory::PullRecord;
use crate::store::moving::{self, MoveError};
use crate::store::postgres::Postgres;
use crate::store::sqlite::Sqlite;
use crate::store::{Finish, Store, StoreError, Versioned};

/// A schema that goes with the test.
struct InSchema {
    server: String,
    schema: String,
}

impl InSchema {
    /// `None` where there is no PostgreSQL to test with.
    fn new() -> Option<Self> {
        let Ok(server) = std::env::var("COUNTERSIGN_TEST_POSTGRES") else {
            assert!(
                std::env::var_os("COUNTERSIGN_TEST_ALL").is_none(),
                "set COUNTERSIGN_TEST_POSTGRES to a database in which schemas may be made"
            );
            return None;
        };
        let schema = format!("test_{}", uuid::Uuid::new_v4().simple());
        let place = Self { server, schema };
        place.order(format!("create schema {}", place.schema));
        Some(place)
    }

    fn url(&self) -> String {
        let Self { server, schema } = self;
        format!("{server}?options=-csearch_path%3D{schema}&application_name={schema}")
    }

    /// Ends every connection of this schema's servers: each names the schema in its application's name.
    fn cut(&self) {
        self.order(format!(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = '{}'",
            self.schema
        ));
    }

    /// Runs a statement from outside of any runtime: the end of a test has none to wait in.
    fn order(&self, statement: String) {
        let server = self.server.clone();
        let ordered = std::thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap()
                .block_on(async {
                    let mut connection = PgConnection::connect(&server).await.unwrap();
                    connection.execute(AssertSqlSafe(statement)).await.unwrap();
                });
        });
        ordered.join().unwrap();
    }
}

impl Drop for InSchema {
    fn drop(&mut self) {
        self.order(format!("drop schema {} cascade", self.schema));
    }
}

#[async_trait]
impl Place for InSchema {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Postgres::open(&self.url()).await.unwrap())
    }
}

mod in_a_schema {
    use super::*;

    every_sentence!(match InSchema::new() {
        Some(place) => place,
        None => return,
    });
}

// What only a database that several servers share can be asked.

#[tokio::test]
async fn two_servers_that_write_at_once_make_one_sound_chain() {
    let Some(place) = InSchema::new() else { return };
    let (one, other) = (place.open().await, place.open().await);
    let write = |store: Arc<dyn Store>, n: u64| async move {
        for at in 0..20 {
            store
                .set_freeze(
                    repo_id(n),
                    &base("main"),
                    (at % 2 == 0).then(|| freeze("outage")),
                    draft(n, 1, "froze or thawed"),
                    super::given::at(at),
                )
                .await
                .unwrap();
        }
    };
    tokio::join!(
        write(one.clone(), 1),
        write(other.clone(), 2),
        write(one.clone(), 3),
        write(other, 4)
    );
    let mut verifier = Verifier::default();
    for entry in one.ledger(None, 0, 1000).await.unwrap() {
        verifier.take(&entry).unwrap();
    }
    assert_eq!(verifier.followed(), 80);
}

#[tokio::test]
async fn of_two_servers_each_takes_other_keys_and_none_twice() {
    let Some(place) = InSchema::new() else { return };
    let (one, other) = (place.open().await, place.open().await);
    for n in 1..=20 {
        wake(&*one, pull_key(n), at(0)).await;
    }
    let (mine, theirs) = tokio::join!(drain(&*one, at(1)), drain(&*other, at(1)));
    let mut all: Vec<_> = mine.into_iter().chain(theirs).collect();
    all.sort();
    let mut expected: Vec<_> = (1..=20).map(pull_key).collect();
    expected.sort();
    assert_eq!(all, expected);
}

#[tokio::test]
async fn a_server_whose_lease_another_overtook_writes_nothing() {
    let Some(place) = InSchema::new() else { return };
    let (paused, next) = (place.open().await, place.open().await);
    know_pull(&*paused, open_pull(1, 'a')).await;
    wake(&*paused, pull_key(1), at(0)).await;
    let lease = take(&*paused, at(0)).await;
    // Past its end, by the clock of the next.
    let _taken = take(&*next, at(3_600)).await;
    let entries = vec![draft(1, 1, "late")];
    let record = PullRecord::default();
    let late = paused
        .save_record(&lease, &record, entries, at(3_600))
        .await;
    assert!(matches!(late, Err(StoreError::Overtaken(_))), "{late:?}");
    let begun = paused
        .begin(&lease, "merge", serde_json::json!({}), None, at(1))
        .await;
    assert!(matches!(begun, Err(StoreError::Overtaken(_))), "{begun:?}");
    assert!(paused.ledger(None, 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_wake_rings_at_the_other_servers() {
    let Some(place) = InSchema::new() else { return };
    let (one, other) = (place.open().await, place.open().await);
    // The first answer only says that it listens now.
    other.woken_elsewhere().await.unwrap();
    wake(&*one, pull_key(1), at(0)).await;
    other.woken_elsewhere().await.unwrap();
    assert_eq!(take(&*other, at(1)).await.key(), &pull_key(1));
}

#[tokio::test]
async fn a_server_whose_connections_are_all_cut_goes_on_and_has_lost_nothing() {
    let Some(place) = InSchema::new() else { return };
    let store = place.open().await;
    store.woken_elsewhere().await.unwrap();
    store.accept(vec![delivery("before")]).await.unwrap();
    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    place.cut();
    // A read is made again by the store; a transaction begins on another connection, or is asked for again.
    assert_eq!(store.waiting(10).await.unwrap().len(), 1);
    store.accept(vec![delivery("after")]).await.unwrap();
    assert_eq!(store.inbox().await.unwrap().waiting, 2);
    store.woken_elsewhere().await.unwrap();
    let done = Finish::Done { again: None };
    store.finish(lease, done, at(1)).await.unwrap();
    assert!(nothing_due(&*store, at(1)).await);
}

#[tokio::test]
async fn a_password_is_not_in_what_is_said_of_a_database_that_cannot_be_reached() {
    let refused = Postgres::open("postgres://ann:hunter2@127.0.0.1:1/x").await;
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("postgres://127.0.0.1:1/x"), "{said}");
    assert!(said.contains("refused"), "the cause is said: {said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[tokio::test]
async fn a_server_of_the_version_before_goes_on_beside_the_next_until_the_floor_is_raised() {
    let Some(place) = InSchema::new() else { return };
    let before = place.open().await;
    let schema = &place.schema;
    // The next version's step: it adds a column with a default.
    place.order(format!(
        "alter table {schema}.pulls add column added text not null default ''; \
         insert into {schema}._sqlx_migrations (version, description, success, checksum, execution_time) \
         values (3, 'next', true, '', 0)"
    ));
    know_repo(&*before, SHOP, "acme/shop", 1).await;
    know_pull(&*before, open_pull(1, 'a')).await;
    know_pull(&*place.open().await, open_pull(2, 'b')).await;
    assert_eq!(before.open_pulls(None).await.unwrap().len(), 2);
    place.order(format!("update {schema}.schema_floor set least = 3"));
    let refused = Postgres::open(&place.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Newer(_)), "{refused}");
}

#[tokio::test]
async fn everything_moves_from_sqlite_once_and_goes_on_there() {
    let Some(place) = InSchema::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let from = format!(
        "sqlite://{}",
        folder.path().join("countersign.db").display()
    );
    let old = Sqlite::open(&from).await.unwrap();
    know_repo(&old, SHOP, "acme/shop", 1).await;
    know_pull(&old, open_pull(1, 'a')).await;
    say(&old, "understood", Vec::new(), Vec::new()).await;
    old.accept(vec![delivery("waits")]).await.unwrap();
    for n in 1..=120 {
        old.set_freeze(
            repo_id(SHOP),
            &base("main"),
            Some(freeze("outage")),
            draft(SHOP, n, "froze"),
            at(1),
        )
        .await
        .unwrap();
    }
    let note = Versioned {
        value: serde_json::json!("kept"),
        version: 0,
    };
    old.write_note("sweep", &note).await.unwrap();
    wake(&old, pull_key(1), at(0)).await;
    let lease = take(&old, at(0)).await;
    old.close().await;

    let moved = moving::everything(&from, &place.url()).await.unwrap();
    assert_eq!(moved.chain, 120);
    let rows = |table| {
        moved
            .tables
            .iter()
            .find(|(name, _)| *name == table)
            .unwrap()
            .1
    };
    assert_eq!(
        (rows("deliveries"), rows("ledger"), rows("pulls")),
        (2, 120, 1)
    );

    let new = place.open().await;
    assert_eq!(
        new.waiting(10).await.unwrap()[0].delivery.body,
        delivery("waits").body
    );
    let counts = new.inbox().await.unwrap();
    assert_eq!((counts.waiting, counts.done), (1, 1));
    assert_eq!(new.open_pulls(None).await.unwrap().len(), 1);
    assert_eq!(new.note("sweep").await.unwrap().value, note.value);
    assert!(
        new.freeze(repo_id(SHOP), &base("main"))
            .await
            .unwrap()
            .is_some()
    );
    // Numbers go on: of deliveries, of leases, of the chain.
    new.accept(vec![delivery("later")]).await.unwrap();
    assert!(nothing_due(&*new, at(1)).await);
    let taken = take(&*new, at(3_600)).await;
    assert!(taken.fence > lease.fence);
    new.set_freeze(
        repo_id(SHOP),
        &base("main"),
        None,
        draft(SHOP, 1, "thawed"),
        at(2),
    )
    .await
    .unwrap();
    let mut verifier = Verifier::default();
    for entry in new.ledger(None, 0, 1_000).await.unwrap() {
        verifier.take(&entry).unwrap();
    }
    assert_eq!(verifier.followed(), 121);

    let again = moving::everything(&from, &place.url()).await.unwrap_err();
    assert!(matches!(again, MoveError::NotEmpty(_)), "{again}");
}

#[tokio::test]
async fn an_entry_that_is_gone_from_the_end_is_missed_also_after_another_followed() {
    let Some(place) = InSchema::new() else { return };
    let store = place.open().await;
    let ended = async |effect: &str| {
        let done = crate::store::Ended::Done(serde_json::Value::Null);
        let entry = Some(draft(SHOP, 1, effect));
        store.end(effect, done, entry, at(0)).await.unwrap();
    };
    for effect in ["one", "two", "three"] {
        ended(effect).await;
    }
    let proved = store.prove_ledger(Verifier::default()).await.unwrap();
    assert_eq!(proved.unwrap().followed(), 3);
    let schema = &place.schema;
    place.order(format!(
        "alter table {schema}.ledger disable trigger all; delete from {schema}.ledger where seq > 1; \
         alter table {schema}.ledger enable trigger all"
    ));
    for trial in ["while it is the end", "after another followed"] {
        let proved = store.prove_ledger(Verifier::default()).await.unwrap();
        assert!(proved.unwrap_err().seq > 1, "{trial}");
        ended(trial).await;
    }
}

#[tokio::test]
async fn a_schema_in_which_another_program_keeps_its_steps_is_refused() {
    let Some(place) = InSchema::new() else { return };
    let schema = &place.schema;
    place.order(format!(
        "create table {schema}._sqlx_migrations (version bigint primary key, description text not null, \
         installed_on timestamptz not null default now(), success boolean not null, \
         checksum bytea not null, execution_time bigint not null); \
         insert into {schema}._sqlx_migrations (version, description, success, checksum, execution_time) \
         values (1, 'theirs', true, 'x', 0)"
    ));
    let refused = Postgres::open(&place.url()).await.unwrap_err();
    assert!(matches!(refused, StoreError::Foreign(_)), "{refused}");
}
