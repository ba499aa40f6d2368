//! What the server keeps for itself: a few small documents by name.

use serde_json::Value;
use sqlx::Row;

use super::Db;
use super::rows::{document, json};
use crate::store::{Stored, Versioned};

const WHAT: &str = "a note of the server's own";

/// A note; null at version 0 where there is none.
pub async fn load(db: &mut Db, name: &str) -> Stored<Versioned<Value>> {
    let row = sqlx::query("select version, document from notes where name = $1")
        .bind(name)
        .fetch_optional(db)
        .await?;
    match row {
        None => Ok(Versioned::default()),
        Some(row) => Ok(Versioned {
            value: document(WHAT, row.try_get("document")?)?,
            version: row.try_get("version")?,
        }),
    }
}

/// Writes a note, unless it was written since it was read; tells whether it did.
pub async fn save(tx: &mut Db, name: &str, note: &Versioned<Value>) -> Stored<bool> {
    let written = sqlx::query(
        "insert into notes (name, version, document) values ($1, cast($2 as bigint) + 1, $3) \
         on conflict (name) do update set version = excluded.version, document = excluded.document \
         where notes.version = $2",
    )
    .bind(name)
    .bind(note.version)
    .bind(json(WHAT, &note.value)?)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Writes something of no meaning: whether writing works is told by writing.
pub async fn pulse(tx: &mut Db) -> Stored<()> {
    sqlx::query(
        "insert into notes (name, version, document) values ('pulse', 1, 'null') \
         on conflict (name) do update set version = notes.version + 1",
    )
    .execute(tx)
    .await?;
    Ok(())
}
