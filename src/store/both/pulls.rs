//! Pull requests: what is remembered of them, what passes keep about them, and what stops a branch.
//!
//! The overview reads one narrow column, not the documents: a document holds the whole diff.

use sqlx::Row;

use super::memory::Loaded;
use super::rows::{document, integer, json, micros, pull_number, read, repo_id, text};
use super::{Db, DbRow, sql};
use crate::domain::facts::{Freeze, PullState};
use crate::domain::memory::{PullMemory, PullRecord, RepoMemory};
use crate::domain::model::{BaseRef, HeadSha, Key, PullNumber, RepoId};
use crate::store::{PullRow, StoreError, Stored};

const DOCUMENT: &str = "what is remembered of a pull request";
const RECORD: &str = "what passes keep about a pull request";

/// What is remembered of a pull request.
pub async fn load(db: &mut Db, repo: RepoId, number: PullNumber) -> Stored<Loaded<PullMemory>> {
    let row = sqlx::query("select version, document from pulls where repo = $1 and number = $2")
        .bind(integer(repo.get())?)
        .bind(integer(number.get())?)
        .fetch_optional(db)
        .await?;
    read(DOCUMENT, row)
}

/// Writes a pull request's document, unless it was written since `version`; tells whether it did.
pub async fn save(
    tx: &mut Db,
    repo: RepoId,
    number: PullNumber,
    memory: &PullMemory,
    version: i64,
) -> Stored<bool> {
    let pull = memory.pull.as_ref();
    let written = sqlx::query(
        "insert into pulls (repo, number, version, head, base, open, created, pull, document) \
         values ($1, $2, $3 + 1, $4, $5, $6, $7, $8, $9) \
         on conflict (repo, number) do update set version = excluded.version, \
         head = excluded.head, base = excluded.base, open = excluded.open, \
         created = excluded.created, pull = excluded.pull, document = excluded.document \
         where pulls.version = $3",
    )
    .bind(integer(repo.get())?)
    .bind(integer(number.get())?)
    .bind(version)
    .bind(pull.map(|pull| pull.head.as_str()))
    .bind(pull.map(|pull| text(pull.base.as_str())))
    .bind(pull.is_some_and(|pull| pull.state == PullState::Open))
    .bind(pull.map(|pull| micros(pull.created_at)))
    .bind(pull.map(|pull| json(DOCUMENT, pull)).transpose()?)
    .bind(json(DOCUMENT, memory)?)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Open pull requests with a head.
pub async fn with_head(db: &mut Db, repo: RepoId, head: &HeadSha) -> Stored<Vec<PullNumber>> {
    let rows = sqlx::query(sql::WITH_HEAD)
        .bind(integer(repo.get())?)
        .bind(head.as_str())
        .fetch_all(db)
        .await?;
    rows.iter().map(pull_number).collect()
}

/// Open pull requests into a base.
pub async fn into_base(db: &mut Db, repo: RepoId, base: &BaseRef) -> Stored<Vec<PullNumber>> {
    let rows = sqlx::query(sql::INTO_BASE)
        .bind(integer(repo.get())?)
        .bind(text(base.as_str()))
        .fetch_all(db)
        .await?;
    rows.iter().map(pull_number).collect()
}

/// Open pull requests of one repository or of all, oldest first, with what passes keep about them.
pub async fn open(db: &mut Db, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
    let only = repo.map(|repo| integer(repo.get())).transpose()?;
    let rows = sqlx::query(sql::OPEN).bind(only).fetch_all(db).await?;
    let rows = rows.iter().map(open_row).collect::<Stored<Vec<_>>>()?;
    Ok(rows.into_iter().flatten().collect())
}

/// `None` for a pull request of a repository whose name nobody told yet: it cannot be shown, and the
/// next pass learns the name.
fn open_row(row: &DbRow) -> Stored<Option<PullRow>> {
    let known: RepoMemory = document(
        "what is remembered of a repository",
        row.try_get("repo_document")?,
    )?;
    let Some(known) = known.repo else {
        return Ok(None);
    };
    let record: Option<&str> = row.try_get("record")?;
    Ok(Some(PullRow {
        repo: repo_id(row, "repo")?,
        name: known.name,
        pull: document(DOCUMENT, row.try_get("pull")?)?,
        record: record
            .map(|text| document(RECORD, text))
            .transpose()?
            .unwrap_or_default(),
    }))
}

/// What passes keep about a pull request.
pub async fn record(db: &mut Db, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
    let row = sqlx::query("select document from records where repo = $1 and number = $2")
        .bind(integer(repo.get())?)
        .bind(integer(number.get())?)
        .fetch_optional(db)
        .await?;
    let record = row
        .map(|row| document(RECORD, row.try_get("document")?))
        .transpose()?;
    Ok(record.unwrap_or_default())
}

/// Writes what a pass over a pull request decided.
pub async fn save_record(tx: &mut Db, key: &Key, record: &PullRecord) -> Stored<()> {
    let Key::Pull(repo, number) = key else {
        return Err(StoreError::NoRecord(key.clone()));
    };
    sqlx::query(
        "insert into records (repo, number, document) values ($1, $2, $3) \
         on conflict (repo, number) do update set document = excluded.document",
    )
    .bind(integer(repo.get())?)
    .bind(integer(number.get())?)
    .bind(json(RECORD, record)?)
    .execute(tx)
    .await?;
    Ok(())
}

/// The freeze on a base branch.
pub async fn freeze(db: &mut Db, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
    let row = sqlx::query("select document from freezes where repo = $1 and base = $2")
        .bind(integer(repo.get())?)
        .bind(text(base.as_str()))
        .fetch_optional(db)
        .await?;
    row.map(|row| document("a freeze", row.try_get("document")?))
        .transpose()
}

/// Freezes a base branch, or thaws it.
pub async fn set_freeze(
    tx: &mut Db,
    repo: RepoId,
    base: &BaseRef,
    freeze: Option<&Freeze>,
) -> Stored<()> {
    let repo = integer(repo.get())?;
    let set = match freeze {
        Some(freeze) => sqlx::query(
            "insert into freezes (repo, base, document) values ($1, $2, $3) \
             on conflict (repo, base) do update set document = excluded.document",
        )
        .bind(repo)
        .bind(text(base.as_str()))
        .bind(json("a freeze", freeze)?),
        None => sqlx::query("delete from freezes where repo = $1 and base = $2")
            .bind(repo)
            .bind(text(base.as_str())),
    };
    set.execute(tx).await?;
    Ok(())
}
