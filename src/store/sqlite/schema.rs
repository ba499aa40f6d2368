//! The steps of the schema.

use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// From which step on the database keeps where the ledger's chain ends.
pub const LEDGER_HEAD: i64 = 6;

/// Every step from an empty file to today's schema. Steps are added, never changed: the database keeps
/// a digest of each that it went through, and refuses another text under its number.
pub fn migrator() -> Migrator {
    let step = |number, name: &'static str, text: &'static str| {
        let text = text.into_sql_str();
        Migration::new(number, name.into(), MigrationType::Simple, text, false)
    };
    Migrator::with_migrations(vec![
        step(
            1,
            "initial",
            include_str!("../migrations/sqlite/0001_initial.sql"),
        ),
        step(
            2,
            "dispatch",
            include_str!("../migrations/sqlite/0002_dispatch.sql"),
        ),
        step(
            3,
            "evidence",
            include_str!("../migrations/sqlite/0003_evidence.sql"),
        ),
        step(
            5,
            "notes",
            include_str!("../migrations/sqlite/0005_notes.sql"),
        ),
        step(
            LEDGER_HEAD,
            "ledger head",
            include_str!("../migrations/sqlite/0006_ledger_head.sql"),
        ),
    ])
}
