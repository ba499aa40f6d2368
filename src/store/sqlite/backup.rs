//! Copies of the database: made while a server writes it, proved, and put back.
//!
//! # Properties
//!
//! - **A copy is one moment.** `VACUUM INTO` reads one snapshot; the server writes on meanwhile, and what it
//!   commits later is not in the copy. Its log grows until the copy is made.
//! - **A copy that has its name was proved.** It is written under another name, checked whole (SQLite's own
//!   check, and the ledger's chain from its first entry), put on the disk, and only then named. An existing
//!   file is never overwritten.
//! - **Nobody's database is replaced under him.** A connection in WAL mode holds a shared lock as long as it
//!   is open; leaving that mode needs an exclusive one. So a running server, also an idle one, is noticed,
//!   and one that starts meanwhile waits. What was replaced is kept beside under a name with the time.
//!
//! What is left out: a copy goes to a file on this machine; taking it elsewhere is for other programs. What
//! happened after the copy was made is not known after it was put back. GitHub's deliveries of that time are
//! not sent again by themselves; the sweep at the start finds what changed.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tempfile::NamedTempFile;

use super::migrator;
use super::rows::document;
use crate::domain::ledger::{Broken, Entry, Verifier};
use crate::domain::model::Timestamp;
use crate::store::StoreError;

/// How long a lock of somebody who is just looking is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a proved database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proved {
    /// Entries in its ledger.
    pub entries: u64,
    /// Its size.
    pub bytes: u64,
}

/// Why a copy was not made or not put back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Nothing is overwritten.
    #[error("{0} exists already and is not overwritten: choose another name")]
    Exists(PathBuf),
    /// There is nothing to copy.
    #[error("there is no file {0}")]
    Missing(PathBuf),
    /// A server works with the database.
    #[error("{0} is in use: stop the server first (and whatever else has it open)")]
    InUse(PathBuf),
    /// It is no sound database of this program.
    #[error("{0} is not a sound database of Countersign: {1}")]
    Unsound(PathBuf, String),
    /// A newer version wrote it.
    #[error("{0} was written by a newer version of Countersign: use that version")]
    Newer(PathBuf),
    /// The chain of its ledger is broken.
    #[error("{0}: {1}; `countersign ledger verify` tells more")]
    Broken(PathBuf, Broken),
    /// The file system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

type Made<T> = Result<T, BackupError>;

fn at<T>(path: &Path, outcome: io::Result<T>) -> Made<T> {
    outcome.map_err(|error| BackupError::Io(path.to_owned(), error))
}

fn unsound<E: std::fmt::Display>(path: &Path) -> impl Fn(E) -> BackupError {
    move |error| BackupError::Unsound(path.to_owned(), error.to_string())
}

fn folder(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(PATIENCE)
}

/// Copies the database in `from` to the new file `to`, while others read and write it.
///
/// # Errors
/// [`BackupError`]; then there is no file `to` that was not there before.
pub async fn backup(from: &Path, to: &Path) -> Made<Proved> {
    if !from.exists() {
        return Err(BackupError::Missing(from.to_owned()));
    }
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    // SQLite writes into an empty file; this one is readable by its owner alone.
    let part = at(to, NamedTempFile::new_in(folder(to)))?;
    let name = part.path().to_string_lossy().into_owned();
    let mut db = options(from).connect().await.map_err(unsound(from))?;
    sqlx::query("vacuum into $1")
        .bind(name)
        .execute(&mut db)
        .await
        .map_err(unsound(from))?;
    db.close().await.map_err(unsound(from))?;
    let proved = prove(part.path()).await?;
    keep(part, to)?;
    Ok(proved)
}

/// Puts the copy `from` in the place of the database in `to`; tells under which name the replaced one is
/// kept, if there was one.
///
/// # Errors
/// [`BackupError`]; then the database is the one it was.
pub async fn restore(from: &Path, to: &Path, now: Timestamp) -> Made<(Proved, Option<PathBuf>)> {
    if !from.exists() {
        return Err(BackupError::Missing(from.to_owned()));
    }
    // The copy of the copy is what is proved: it is what will be used.
    let part = at(to, NamedTempFile::new_in(folder(to)))?;
    at(from, std::fs::copy(from, part.path()))?;
    let proved = prove(part.path()).await.map_err(|error| match error {
        BackupError::Unsound(_, why) => BackupError::Unsound(from.to_owned(), why),
        BackupError::Newer(_) => BackupError::Newer(from.to_owned()),
        BackupError::Broken(_, broken) => BackupError::Broken(from.to_owned(), broken),
        other => other,
    })?;
    if !to.exists() {
        let log = beside(to, "-wal");
        if log.exists() {
            // It would be taken for the restored database's own.
            return Err(BackupError::Exists(log));
        }
        keep(part, to)?;
        return Ok((proved, None));
    }
    let claim = claim(to).await?;
    let ending = format!(".replaced-{}", now.format("%Y%m%dT%H%M%S%6fZ"));
    let replaced = beside(to, &ending);
    if replaced.exists() {
        return Err(BackupError::Exists(replaced));
    }
    at(&replaced, std::fs::rename(to, &replaced))?;
    if let Err(error) = keep(part, to) {
        // Better the old one than none.
        at(to, std::fs::rename(&replaced, to))?;
        return Err(error);
    }
    // Only now: until here the lock kept a server from opening the old file.
    claim.close().await.map_err(unsound(&replaced))?;
    Ok((proved, Some(replaced)))
}

/// Takes the database for oneself alone, with all of its log in its file.
async fn claim(file: &Path) -> Made<SqliteConnection> {
    let in_use = |error: sqlx::Error| match &error {
        sqlx::Error::Database(database) if database.message().contains("locked") => {
            BackupError::InUse(file.to_owned())
        }
        _ => BackupError::Unsound(file.to_owned(), error.to_string()),
    };
    let mut db = options(file).connect().await.map_err(in_use)?;
    for statement in [
        "pragma locking_mode = exclusive",
        "pragma journal_mode = delete",
        "begin exclusive",
    ] {
        sqlx::query(statement)
            .execute(&mut db)
            .await
            .map_err(in_use)?;
    }
    Ok(db)
}

/// Puts a file on the disk under its name, which must be free.
fn keep(part: NamedTempFile, to: &Path) -> Made<()> {
    at(to, part.as_file().sync_all())?;
    match part.persist_noclobber(to) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(BackupError::Exists(to.to_owned()));
        }
        Err(error) => return Err(BackupError::Io(to.to_owned(), error.error)),
    }
    let folder = folder(to);
    let opened = at(folder, OpenOptions::new().read(true).open(folder))?;
    at(folder, File::sync_all(&opened))
}

/// Reads a database whole: its pages, its tables, its ledger from the first entry.
async fn prove(file: &Path) -> Made<Proved> {
    let mut db = options(file)
        .read_only(true)
        .connect()
        .await
        .map_err(unsound(file))?;
    let said: Vec<String> = sqlx::query_scalar("pragma integrity_check")
        .fetch_all(&mut db)
        .await
        .map_err(unsound(file))?;
    if said != ["ok"] {
        let why = said.into_iter().next().unwrap_or_default();
        return Err(BackupError::Unsound(file.to_owned(), why));
    }
    let version: Option<i64> = sqlx::query_scalar("select max(version) from _sqlx_migrations")
        .fetch_one(&mut db)
        .await
        .map_err(unsound(file))?;
    let newest = migrator().iter().map(|step| step.version).max();
    if version > newest {
        return Err(BackupError::Newer(file.to_owned()));
    }
    let entries = follow(&mut db, file).await?;
    db.close().await.map_err(unsound(file))?;
    let bytes = at(file, std::fs::metadata(file))?.len();
    Ok(Proved { entries, bytes })
}

async fn follow(db: &mut SqliteConnection, file: &Path) -> Made<u64> {
    let mut verifier = Verifier::default();
    let mut rows = sqlx::query("select entry from ledger order by seq").fetch(db);
    while let Some(row) = rows.try_next().await.map_err(unsound(file))? {
        let text: &str = row.try_get("entry").map_err(unsound(file))?;
        let entry: Entry =
            document("a ledger entry", text).map_err(|error: StoreError| unsound(file)(error))?;
        verifier
            .take(&entry)
            .map_err(|broken| BackupError::Broken(file.to_owned(), broken))?;
    }
    Ok(verifier.followed())
}
