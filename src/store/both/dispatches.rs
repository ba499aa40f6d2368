//! What is told of issues, and what passes keep about dispatches.

use sqlx::Row;

use super::Db;
use super::memory::Loaded;
use super::rows::{document, integer, json, read};
use crate::domain::dispatch::Record;
use crate::domain::memory::IssuesMemory;
use crate::domain::model::{Key, RepoId};
use crate::store::{StoreError, Stored};

const TOLD: &str = "what is told of a repository's issues";
const RECORD: &str = "what passes keep about dispatches";

/// What deliveries told of a repository's issues.
pub async fn load_issues(db: &mut Db, repo: RepoId) -> Stored<Loaded<IssuesMemory>> {
    let row = sqlx::query("select version, document from issues where repo = $1")
        .bind(integer(repo.get())?)
        .fetch_optional(db)
        .await?;
    read(TOLD, row)
}

/// Writes it, unless it was written since `version`; tells whether it did.
pub async fn save_issues(
    tx: &mut Db,
    repo: RepoId,
    memory: &IssuesMemory,
    version: i64,
) -> Stored<bool> {
    let written = sqlx::query(
        "insert into issues (repo, version, document) values ($1, $2 + 1, $3) \
         on conflict (repo) do update set version = excluded.version, \
         document = excluded.document where issues.version = $2",
    )
    .bind(integer(repo.get())?)
    .bind(version)
    .bind(json(TOLD, memory)?)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// What passes keep about the dispatches of a repository.
pub async fn record(db: &mut Db, repo: RepoId) -> Stored<Record> {
    let row = sqlx::query("select document from dispatches where repo = $1")
        .bind(integer(repo.get())?)
        .fetch_optional(db)
        .await?;
    let record = row
        .map(|row| document(RECORD, row.try_get("document")?))
        .transpose()?;
    Ok(record.unwrap_or_default())
}

/// Writes what a pass over a repository's dispatches decided.
pub async fn save_record(tx: &mut Db, key: &Key, record: &Record) -> Stored<()> {
    let Key::Dispatch(repo) = key else {
        return Err(StoreError::NoRecord(key.clone()));
    };
    sqlx::query(
        "insert into dispatches (repo, document) values ($1, $2) \
         on conflict (repo) do update set document = excluded.document",
    )
    .bind(integer(repo.get())?)
    .bind(json(RECORD, record)?)
    .execute(tx)
    .await?;
    Ok(())
}
