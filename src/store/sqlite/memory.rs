//! What is remembered and kept: documents, with the columns that find them.

use serde::de::DeserializeOwned;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::rows::{corrupt, document, id, json};
use super::work;
use crate::domain::facts::{Freeze, PullState};
use crate::domain::memory::{
    Change, Confirm, HeadMemory, PullMemory, PullRecord, RepoMemory, Wake,
};
use crate::domain::model::{
    BaseRef, HeadSha, InstallationId, Key, PullNumber, RepoId, RepoName, Timestamp,
};
use crate::store::{PullRow, Stored, Versioned};

/// Applies one change to the document it is about.
pub async fn apply(tx: &mut SqliteConnection, change: &Change) -> Stored<()> {
    match change {
        Change::Repo(repo) | Change::RepoSeen(repo) => apply_to_repo(tx, repo.id, change).await,
        Change::RepoInactive(repo) | Change::Tip { repo, .. } => {
            apply_to_repo(tx, *repo, change).await
        }
        Change::InstallationActive(installation, _) => {
            for repo in repos_of(tx, *installation).await? {
                apply_to_repo(tx, repo, change).await?;
            }
            Ok(())
        }
        Change::Pull(repo, pull) => apply_to_pull(tx, *repo, pull.number, change).await,
        Change::Review(repo, number, _)
        | Change::Comment(repo, number, _)
        | Change::CommentGone(repo, number, _)
        | Change::Hold(repo, number, _)
        | Change::Unhold(repo, number) => apply_to_pull(tx, *repo, *number, change).await,
        Change::Run(repo, run) => apply_to_head(tx, *repo, &run.head, change).await,
        Change::SuiteRerun(repo, head, _) | Change::Status(repo, head, _) => {
            apply_to_head(tx, *repo, head, change).await
        }
        Change::Workflow(repo, run) => apply_to_head(tx, *repo, &run.head, change).await,
    }
}

async fn apply_to_repo(tx: &mut SqliteConnection, repo: RepoId, change: &Change) -> Stored<()> {
    let mut memory = repo_in(&mut *tx, repo).await?;
    memory.value.apply(change);
    save_repo(tx, repo, &memory.value, memory.version).await?;
    Ok(())
}

async fn apply_to_pull(
    tx: &mut SqliteConnection,
    repo: RepoId,
    number: PullNumber,
    change: &Change,
) -> Stored<()> {
    let mut memory = pull_in(&mut *tx, repo, number).await?;
    memory.value.apply(change);
    save_pull(tx, repo, number, &memory.value, memory.version).await?;
    Ok(())
}

async fn apply_to_head(
    tx: &mut SqliteConnection,
    repo: RepoId,
    head: &HeadSha,
    change: &Change,
) -> Stored<()> {
    let mut memory = head_in(&mut *tx, repo, head).await?;
    memory.value.apply(change);
    save_head(tx, repo, head, &memory.value, memory.version).await?;
    Ok(())
}

/// Resolves a wake to keys and marks them.
pub async fn wake(
    tx: &mut SqliteConnection,
    wake: &Wake,
    confirm: Confirm,
    now: Timestamp,
) -> Stored<()> {
    let keys = match wake {
        Wake::Key(key) => vec![key.clone()],
        Wake::Base(repo, base) => pulls_into(tx, *repo, base)
            .await?
            .into_iter()
            .map(|number| Key::Pull(*repo, number))
            .collect(),
        Wake::Installation(installation) => repos_of(tx, *installation)
            .await?
            .into_iter()
            .map(Key::Repo)
            .collect(),
        Wake::Head(repo, head) => keys_of_head(tx, *repo, head).await?,
    };
    for key in &keys {
        work::wake(tx, key, confirm, now).await?;
    }
    Ok(())
}

/// The open pull requests with a head; the head itself while GitHub was not asked about it.
async fn keys_of_head(tx: &mut SqliteConnection, repo: RepoId, head: &HeadSha) -> Stored<Vec<Key>> {
    let rows = sqlx::query(HEAD_PULLS)
        .bind(id(repo.get())?)
        .bind(head.as_str())
        .fetch_all(&mut *tx)
        .await?;
    if !rows.is_empty() {
        let numbers = rows.iter().map(number_of);
        return numbers.map(|number| Ok(Key::Pull(repo, number?))).collect();
    }
    let asked = head_in(tx, repo, head).await?.value.no_pulls_at.is_some();
    Ok(if asked {
        Vec::new()
    } else {
        vec![Key::Head(repo, head.clone())]
    })
}

const HEAD_PULLS: &str =
    "select number from pulls where repo = $1 and head = $2 and open = 1 order by number";

fn number_of(row: &SqliteRow) -> Stored<PullNumber> {
    let number: i64 = row.try_get("number")?;
    u64::try_from(number)
        .ok()
        .and_then(PullNumber::new)
        .ok_or_else(|| corrupt("a pull request's number", number))
}

fn repo_of(row: &SqliteRow, column: &str) -> Stored<RepoId> {
    let repo: i64 = row.try_get(column)?;
    u64::try_from(repo)
        .ok()
        .and_then(RepoId::new)
        .ok_or_else(|| corrupt("a repository's id", repo))
}

async fn pulls_into(
    tx: &mut SqliteConnection,
    repo: RepoId,
    base: &BaseRef,
) -> Stored<Vec<PullNumber>> {
    let rows = sqlx::query("select number from pulls where repo = $1 and base = $2 and open = 1")
        .bind(id(repo.get())?)
        .bind(base.as_str())
        .fetch_all(tx)
        .await?;
    rows.iter().map(number_of).collect()
}

async fn repos_of(tx: &mut SqliteConnection, installation: InstallationId) -> Stored<Vec<RepoId>> {
    let rows = sqlx::query("select id from repos where installation = $1")
        .bind(id(installation.get())?)
        .fetch_all(tx)
        .await?;
    rows.iter().map(|row| repo_of(row, "id")).collect()
}

fn versioned<T: DeserializeOwned + Default>(
    what: &str,
    row: Option<SqliteRow>,
) -> Stored<Versioned<T>> {
    match row {
        None => Ok(Versioned {
            value: T::default(),
            version: 0,
        }),
        Some(row) => Ok(Versioned {
            value: document(what, row.try_get("document")?)?,
            version: row.try_get("version")?,
        }),
    }
}

async fn repo_in<'e>(
    db: impl sqlx::SqliteExecutor<'e>,
    repo: RepoId,
) -> Stored<Versioned<RepoMemory>> {
    let row = sqlx::query("select version, document from repos where id = $1")
        .bind(id(repo.get())?)
        .fetch_optional(db)
        .await?;
    versioned("a repository", row)
}

async fn pull_in<'e>(
    db: impl sqlx::SqliteExecutor<'e>,
    repo: RepoId,
    number: PullNumber,
) -> Stored<Versioned<PullMemory>> {
    let row = sqlx::query("select version, document from pulls where repo = $1 and number = $2")
        .bind(id(repo.get())?)
        .bind(id(number.get())?)
        .fetch_optional(db)
        .await?;
    versioned("a pull request", row)
}

async fn head_in<'e>(
    db: impl sqlx::SqliteExecutor<'e>,
    repo: RepoId,
    head: &HeadSha,
) -> Stored<Versioned<HeadMemory>> {
    let row = sqlx::query("select version, document from heads where repo = $1 and head = $2")
        .bind(id(repo.get())?)
        .bind(head.as_str())
        .fetch_optional(db)
        .await?;
    versioned("a commit", row)
}

/// What is remembered of a repository.
pub async fn repo(pool: &SqlitePool, repo: RepoId) -> Stored<Versioned<RepoMemory>> {
    repo_in(pool, repo).await
}

/// What is remembered of a pull request.
pub async fn pull(
    pool: &SqlitePool,
    repo: RepoId,
    number: PullNumber,
) -> Stored<Versioned<PullMemory>> {
    pull_in(pool, repo, number).await
}

/// What is remembered of a commit.
pub async fn head(
    pool: &SqlitePool,
    repo: RepoId,
    head: &HeadSha,
) -> Stored<Versioned<HeadMemory>> {
    head_in(pool, repo, head).await
}

/// Writes a repository's document if nobody wrote it since `version`.
pub async fn save_repo(
    tx: &mut SqliteConnection,
    repo: RepoId,
    memory: &RepoMemory,
    version: i64,
) -> Stored<bool> {
    let known = memory.repo.as_ref();
    let installation = known.map(|repo| id(repo.installation.get())).transpose()?;
    let name = known.map(|repo| repo.name.to_string().to_ascii_lowercase());
    let written = sqlx::query(
        "insert into repos (id, name, installation, active, version, document) \
         select $1, $2, $3, $4, 1, $5 where $6 = 0 or exists (select 1 from repos where id = $1) \
         on conflict (id) do update set name = excluded.name, installation = excluded.installation, \
         active = excluded.active, version = version + 1, document = excluded.document \
         where version = $6",
    )
    .bind(id(repo.get())?)
    .bind(name)
    .bind(installation)
    .bind(memory.active)
    .bind(json("a repository", memory)?)
    .bind(version)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Writes a pull request's document if nobody wrote it since `version`.
pub async fn save_pull(
    tx: &mut SqliteConnection,
    repo: RepoId,
    number: PullNumber,
    memory: &PullMemory,
    version: i64,
) -> Stored<bool> {
    let pull = memory.pull.as_ref();
    let written = sqlx::query(
        "insert into pulls (repo, number, head, base, open, version, document) \
         select $1, $2, $3, $4, $5, 1, $6 \
         where $7 = 0 or exists (select 1 from pulls where repo = $1 and number = $2) \
         on conflict (repo, number) do update set head = excluded.head, base = excluded.base, \
         open = excluded.open, version = version + 1, document = excluded.document \
         where version = $7",
    )
    .bind(id(repo.get())?)
    .bind(id(number.get())?)
    .bind(pull.map(|pull| pull.head.as_str()))
    .bind(pull.map(|pull| pull.base.as_str()))
    .bind(pull.is_some_and(|pull| pull.state == PullState::Open))
    .bind(json("a pull request", memory)?)
    .bind(version)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Writes a commit's document if nobody wrote it since `version`.
pub async fn save_head(
    tx: &mut SqliteConnection,
    repo: RepoId,
    head: &HeadSha,
    memory: &HeadMemory,
    version: i64,
) -> Stored<bool> {
    let written = sqlx::query(
        "insert into heads (repo, head, version, document) \
         select $1, $2, 1, $3 \
         where $4 = 0 or exists (select 1 from heads where repo = $1 and head = $2) \
         on conflict (repo, head) do update set version = version + 1, \
         document = excluded.document where version = $4",
    )
    .bind(id(repo.get())?)
    .bind(head.as_str())
    .bind(json("a commit", memory)?)
    .bind(version)
    .execute(tx)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// The repository that bears this name now.
pub async fn repo_named(pool: &SqlitePool, name: &RepoName) -> Stored<Option<RepoId>> {
    let row = sqlx::query("select id from repos where name = $1 order by active desc, id desc")
        .bind(name.to_string().to_ascii_lowercase())
        .fetch_optional(pool)
        .await?;
    row.map(|row| repo_of(&row, "id")).transpose()
}

/// Every repository in which the App may act.
pub async fn active_repos(pool: &SqlitePool) -> Stored<Vec<RepoMemory>> {
    let rows = sqlx::query("select document from repos where active = 1 order by name")
        .fetch_all(pool)
        .await?;
    rows.iter()
        .map(|row| document("a repository", row.try_get("document")?))
        .collect()
}

/// Open pull requests with a head.
pub async fn pulls_with_head(
    pool: &SqlitePool,
    repo: RepoId,
    head: &HeadSha,
) -> Stored<Vec<PullNumber>> {
    let rows = sqlx::query(HEAD_PULLS)
        .bind(id(repo.get())?)
        .bind(head.as_str())
        .fetch_all(pool)
        .await?;
    rows.iter().map(number_of).collect()
}

/// Open pull requests of one repository or of all, with what passes keep about them.
pub async fn open_pulls(pool: &SqlitePool, repo: Option<RepoId>) -> Stored<Vec<PullRow>> {
    let only = repo.map(|repo| id(repo.get())).transpose()?;
    let rows = sqlx::query(
        "select pulls.repo, pulls.document as pull, records.document as record, \
         repos.document as repo_document from pulls \
         join repos on repos.id = pulls.repo \
         left join records on records.repo = pulls.repo and records.number = pulls.number \
         where pulls.open = 1 and ($1 is null or pulls.repo = $1) \
         order by repos.name, pulls.number",
    )
    .bind(only)
    .fetch_all(pool)
    .await?;
    let mut pulls = Vec::with_capacity(rows.len());
    for row in &rows {
        let memory: PullMemory = document("a pull request", row.try_get("pull")?)?;
        let repo: RepoMemory = document("a repository", row.try_get("repo_document")?)?;
        let record: Option<&str> = row.try_get("record")?;
        // A pull request of a repository that was never named cannot be shown or acted on.
        let (Some(pull), Some(known)) = (memory.pull, repo.repo) else {
            continue;
        };
        pulls.push(PullRow {
            repo: repo_of(row, "repo")?,
            name: known.name,
            pull,
            record: record
                .map_or_else(|| Ok(PullRecord::default()), |r| document("a record", r))?,
        });
    }
    Ok(pulls)
}

/// What passes keep about a pull request.
pub async fn record(pool: &SqlitePool, repo: RepoId, number: PullNumber) -> Stored<PullRecord> {
    let row = sqlx::query("select document from records where repo = $1 and number = $2")
        .bind(id(repo.get())?)
        .bind(id(number.get())?)
        .fetch_optional(pool)
        .await?;
    row.map_or_else(
        || Ok(PullRecord::default()),
        |row| document("a record", row.try_get("document")?),
    )
}

/// Writes what a pass decided.
pub async fn save_record(tx: &mut SqliteConnection, key: &Key, record: &PullRecord) -> Stored<()> {
    let Key::Pull(repo, number) = key else {
        return Err(corrupt("a record's key", key));
    };
    sqlx::query(
        "insert into records (repo, number, document) values ($1, $2, $3) \
         on conflict (repo, number) do update set document = excluded.document",
    )
    .bind(id(repo.get())?)
    .bind(id(number.get())?)
    .bind(json("a record", record)?)
    .execute(tx)
    .await?;
    Ok(())
}

/// The freeze on a base branch.
pub async fn freeze(pool: &SqlitePool, repo: RepoId, base: &BaseRef) -> Stored<Option<Freeze>> {
    let row = sqlx::query("select document from freezes where repo = $1 and base = $2")
        .bind(id(repo.get())?)
        .bind(base.as_str())
        .fetch_optional(pool)
        .await?;
    row.map(|row| document("a freeze", row.try_get("document")?))
        .transpose()
}

/// Freezes a base branch, or thaws it.
pub async fn set_freeze(
    tx: &mut SqliteConnection,
    repo: RepoId,
    base: &BaseRef,
    freeze: Option<&Freeze>,
) -> Stored<()> {
    let repo = id(repo.get())?;
    match freeze {
        Some(freeze) => sqlx::query(
            "insert into freezes (repo, base, document) values ($1, $2, $3) \
             on conflict (repo, base) do update set document = excluded.document",
        )
        .bind(repo)
        .bind(base.as_str())
        .bind(json("a freeze", freeze)?),
        None => sqlx::query("delete from freezes where repo = $1 and base = $2")
            .bind(repo)
            .bind(base.as_str()),
    }
    .execute(tx)
    .await?;
    Ok(())
}
