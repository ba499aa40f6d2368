//! The suite on PostgreSQL, each test in a schema of its own.
//!
//! `COUNTERSIGN_TEST_POSTGRES` names a database in which schemas may be made. Without it these tests do
//! nothing, unless `COUNTERSIGN_TEST_ALL` says that everything is to be run: then they fail.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::Place;
use crate::store::Store;
use crate::store::postgres::Postgres;

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
        format!("{}?options=-csearch_path%3D{}", self.server, self.schema)
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
