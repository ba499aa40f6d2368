//! The steps of the schema, and whether a database is too new for this program.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{Row as _, SqlSafeStr as _};

use crate::store::Stored;

/// Every step from an empty schema to today's. Steps are added, never changed.
pub fn migrator() -> Migrator {
    let step = |number, name: &'static str, text: &'static str| {
        let text = text.into_sql_str();
        Migration::new(number, name.into(), MigrationType::Simple, text, false)
    };
    let mut migrator = Migrator::with_migrations(vec![
        step(
            1,
            "initial",
            include_str!("../migrations/postgres/0001_initial.sql"),
        ),
        step(
            2,
            "ledger head",
            include_str!("../migrations/postgres/0002_ledger_head.sql"),
        ),
    ]);
    // Steps of the version after this one: they only add, or they raise the floor.
    migrator.set_ignore_missing(true);
    migrator
}

/// Whether nothing was taken away from the schema that this program needs.
pub async fn known(first: &mut PgConnection) -> Stored<bool> {
    let row = sqlx::query("select least from schema_floor where id = 1")
        .fetch_one(first)
        .await?;
    let least: i64 = row.try_get("least")?;
    let newest = migrator().iter().map(|step| step.version).max();
    Ok(newest.unwrap_or_default() >= least)
}
