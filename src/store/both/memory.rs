//! What is remembered of repositories and commits.
//!
//! A document is loaded whole, changed, and written back if nobody wrote it in between. What must be
//! found without reading documents stands in columns beside them, taken from the document at every
//! write, so that the two cannot tell different stories.

use sqlx::Row;

use super::Db;
use super::rows::{document, in_lower_case, integer, json, micros, read, repo_id};
use crate::domain::memory::{HeadMemory, RepoMemory};
use crate::domain::model::{HeadSha, InstallationId, RepoId, RepoName};
use crate::store::Stored;
pub use crate::store::values::Loaded;

/// What is remembered of a repository.
pub async fn load_repo(db: &mut Db, repo: RepoId) -> Stored<Loaded<RepoMemory>> {
    let row = sqlx::query("select version, document from repos where id = $1")
        .bind(integer(repo.get())?)
        .fetch_optional(db)
        .await?;
    read("what is remembered of a repository", row)
}

/// Writes a repository's document, unless it was written since `version`; tells whether it did.
///
/// A name belongs to the repository that said it last: names change hands, and the delivery that
/// would tell of the former holder's new name may be late or lost. Saying a name *again* claims
/// nothing, or a late word about the former holder would take the name back.
pub async fn save_repo(
    tx: &mut Db,
    repo: RepoId,
    memory: &RepoMemory,
    version: i64,
) -> Stored<bool> {
    let known = memory.repo.as_ref();
    let named = known.map(|known| in_lower_case(&known.name));
    let installation = known
        .map(|known| integer(known.installation.get()))
        .transpose()?;
    let written = sqlx::query(
        "insert into repos (id, version, named, name, installation, active, document) \
         values ($1, $2 + 1, $3, $3, $4, $5, $6) \
         on conflict (id) do update set version = excluded.version, \
         name = case when repos.named is not distinct from excluded.named then repos.name else excluded.name end, \
         named = excluded.named, installation = excluded.installation, \
         active = excluded.active, document = excluded.document \
         where repos.version = $2",
    )
    .bind(integer(repo.get())?)
    .bind(version)
    .bind(named)
    .bind(installation)
    .bind(memory.active)
    .bind(json("what is remembered of a repository", memory)?)
    .execute(&mut *tx)
    .await?;
    if written.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query(
        "update repos set name = null \
         where named = (select name from repos where id = $1) and id <> $1 and name is not null",
    )
    .bind(integer(repo.get())?)
    .execute(tx)
    .await?;
    Ok(true)
}

/// The repository with this name: the one that holds it, or the one that had it last.
pub async fn repo_named(db: &mut Db, name: &RepoName) -> Stored<Option<RepoId>> {
    let row = sqlx::query(
        "select id from repos where named = $1 order by name is null, active desc limit 1",
    )
    .bind(in_lower_case(name))
    .fetch_optional(db)
    .await?;
    row.map(|row| repo_id(&row, "id")).transpose()
}

/// Every repository in which the App may act, by name.
pub async fn active_repos(db: &mut Db) -> Stored<Vec<RepoMemory>> {
    let rows = sqlx::query("select document from repos where active order by named, id")
        .fetch_all(db)
        .await?;
    rows.iter()
        .map(|row| {
            document(
                "what is remembered of a repository",
                row.try_get("document")?,
            )
        })
        .collect()
}

/// Every known repository of an installation.
pub async fn repos_of(db: &mut Db, installation: InstallationId) -> Stored<Vec<RepoId>> {
    let rows = sqlx::query("select id from repos where installation = $1 order by id")
        .bind(integer(installation.get())?)
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| repo_id(row, "id")).collect()
}

/// The repositories of an installation in which the App may act.
pub async fn active_repos_of(db: &mut Db, installation: InstallationId) -> Stored<Vec<RepoId>> {
    let rows = sqlx::query("select id from repos where installation = $1 and active order by id")
        .bind(integer(installation.get())?)
        .fetch_all(db)
        .await?;
    rows.iter().map(|row| repo_id(row, "id")).collect()
}

/// What is remembered of a commit.
pub async fn load_head(db: &mut Db, repo: RepoId, head: &HeadSha) -> Stored<Loaded<HeadMemory>> {
    let row = sqlx::query("select version, document from heads where repo = $1 and head = $2")
        .bind(integer(repo.get())?)
        .bind(head.as_str())
        .fetch_optional(db)
        .await?;
    read("what is remembered of a commit", row)
}

/// Writes a commit's document, unless it was written since `version`; tells whether it did.
pub async fn save_head(
    tx: &mut Db,
    repo: RepoId,
    head: &HeadSha,
    memory: &HeadMemory,
    version: i64,
) -> Stored<bool> {
    let written = sqlx::query(
        "insert into heads (repo, head, version, no_pulls_at, document) \
         values ($1, $2, $3 + 1, $4, $5) \
         on conflict (repo, head) do update set version = excluded.version, \
         no_pulls_at = excluded.no_pulls_at, document = excluded.document \
         where heads.version = $3",
    )
    .bind(integer(repo.get())?)
    .bind(head.as_str())
    .bind(version)
    .bind(memory.no_pulls_at.map(micros))
    .bind(json("what is remembered of a commit", memory)?)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Whether GitHub already said that a commit is no open pull request's head.
pub async fn is_nobodys_head(db: &mut Db, repo: RepoId, head: &HeadSha) -> Stored<bool> {
    let row = sqlx::query(
        "select 1 from heads where repo = $1 and head = $2 and no_pulls_at is not null",
    )
    .bind(integer(repo.get())?)
    .bind(head.as_str())
    .fetch_optional(db)
    .await?;
    Ok(row.is_some())
}
