//! Copies of the database: made while a server writes it, proved, and put back.
//!
//! # Properties
//!
//! - **A copy is one moment.** `VACUUM INTO` reads one snapshot; the server writes on meanwhile, and what it
//!   commits later is not in the copy. Its log grows until the copy is made.
//! - **A copy that has its name was proved.** It is written under another name, checked whole (SQLite's own
//!   check, and the ledger's chain from its first entry), put on the disk, and only then named. An existing
//!   file is never overwritten.
//! - **Nobody's database is replaced under him** ([`claim`]), and a damaged one is no reason to refuse: that
//!   is when a copy is needed. What was replaced is kept beside, with its log, under a name with the time.
//!
//! What is left out: a copy goes to a file on this machine; taking it elsewhere is for other programs. What
//! happened after the copy was made is not known after it was put back. GitHub's deliveries of that time are
//! not sent again by themselves; the sweep at the start finds what changed.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::NamedTempFile;

use super::file::{Standing, look_as};
use super::schema::LEDGER_HEAD;
use super::{claim, ledger};
use crate::domain::ledger::{Broken, Verifier};
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

/// Whether nobody else has the database open at this moment; a server may be started in the next.
///
/// # Errors
/// [`BackupError::InUse`] when somebody has, and the file system's.
pub async fn nobody_uses(file: &Path) -> Result<(), BackupError> {
    claim::claim(file).await?.release().await;
    Ok(())
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
    /// There is no folder to put it in.
    #[error("there is no folder {0}")]
    NoFolder(PathBuf),
    /// A server works with the database.
    #[error("{0} is in use: stop the server first (and whatever else has it open)")]
    InUse(PathBuf),
    /// It is no sound database of this program.
    #[error("{0} is not a sound database of Countersign: {1}")]
    Unsound(PathBuf, String),
    /// It is not this program's, or a newer version's, or cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It holds nothing, so there is nothing to copy.
    #[error("{0} is empty: there is no database in it")]
    Empty(PathBuf),
    /// The chain of its ledger is broken.
    #[error("{0}: {1}; `countersign ledger verify` tells more")]
    Broken(PathBuf, Broken),
    /// The file system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

pub(super) type Made<T> = Result<T, BackupError>;

pub(super) fn at<T>(path: &Path, outcome: io::Result<T>) -> Made<T> {
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

pub(super) fn beside(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

pub(super) fn options(file: &Path) -> SqliteConnectOptions {
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
    file(from)?;
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    ours(from, from).await?;
    // SQLite writes into an empty file; this one is readable by its owner alone.
    let part = begun(to)?;
    let name = part.path().to_string_lossy().into_owned();
    let mut db = options(from).connect().await.map_err(unsound(from))?;
    sqlx::query("vacuum into $1")
        .bind(name)
        .execute(&mut db)
        .await
        .map_err(unsound(from))?;
    db.close().await.map_err(unsound(from))?;
    let proved = prove(part.path(), from).await?;
    keep(part, to)?;
    Ok(proved)
}

/// What came of a restoring.
#[derive(Debug)]
pub struct Restored {
    /// What is there now.
    pub proved: Proved,
    /// Under which names is kept what stood there: the database first, then what lay beside it.
    pub kept: Vec<PathBuf>,
    /// Why what stood there was no sound database, if it was none.
    pub damaged: Option<String>,
}

/// Puts the copy `from` in the place of the database in `to`, be that sound, damaged or gone; what stood there
/// is kept under another name.
///
/// # Errors
/// [`BackupError`]; then the database is the one it was.
pub async fn restore(from: &Path, to: &Path, now: Timestamp) -> Made<Restored> {
    file(from)?;
    // The copy of the copy is what is proved: it is what will be used.
    let part = begun(to)?;
    at(from, std::fs::copy(from, part.path()))?;
    ours(part.path(), from).await?;
    let proved = prove(part.path(), from).await?;
    let claim = claim::claim(to).await?;
    let ending = format!(".replaced-{}", now.format("%Y%m%dT%H%M%S%6fZ"));
    let aside = claim::set_aside(&claim, to, &beside(to, &ending))?;
    if let Err(error) = keep(part, to) {
        // Better the old one than none.
        aside.put_back()?;
        return Err(error);
    }
    // Only now: until here the lock kept a server from opening the old file.
    let damaged = claim.release().await;
    Ok(Restored {
        proved,
        kept: aside.kept(),
        damaged,
    })
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

/// Whether a database is for this program. Complains of it as `called`.
async fn ours(file: &Path, called: &Path) -> Made<()> {
    match look_as(file, called).await {
        Ok(Standing::Ours) => Ok(()),
        Ok(Standing::Nothing) => Err(BackupError::Empty(called.to_owned())),
        Err(StoreError::Open { cause, .. }) => Err(unsound(called)(cause)),
        Err(error) => Err(error.into()),
    }
}

/// A file without a name beside the one that it will have, for its owner alone.
fn begun(to: &Path) -> Made<NamedTempFile> {
    let folder = folder(to);
    if !folder.is_dir() {
        return Err(BackupError::NoFolder(folder.to_owned()));
    }
    // What it says of its own name would tell nobody anything.
    let begun = NamedTempFile::new_in(folder).map_err(|error| error.kind().into());
    at(folder, begun)
}

/// There must be a file.
fn file(path: &Path) -> Made<()> {
    let found = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::Missing(path.to_owned()));
        }
        found => at(path, found)?,
    };
    if found.is_dir() {
        return at(path, Err(io::ErrorKind::IsADirectory.into()));
    }
    Ok(())
}

/// Reads a database whole: its pages, its tables, its ledger from the first entry. Complains of it as `called`.
async fn prove(file: &Path, called: &Path) -> Made<Proved> {
    // Not opened to be read alone: then SQLite would leave its log beside it.
    let mut db = options(file)
        .pragma("query_only", "on")
        .connect()
        .await
        .map_err(unsound(called))?;
    let said: Vec<String> = sqlx::query_scalar("pragma integrity_check")
        .fetch_all(&mut db)
        .await
        .map_err(unsound(called))?;
    if said != ["ok"] {
        let why = said.into_iter().next().unwrap_or_default();
        return Err(BackupError::Unsound(called.to_owned(), why));
    }
    let version: Option<i64> = sqlx::query_scalar("select max(version) from _sqlx_migrations")
        .fetch_one(&mut db)
        .await
        .map_err(unsound(called))?;
    let mut verifier = Verifier::default();
    let followed = if version >= Some(LEDGER_HEAD) {
        let followed = ledger::follow(&mut db, verifier).await;
        followed.map_err(unsound(called))?
    } else {
        let followed = ledger::follow_entries(&mut db, &mut verifier).await;
        followed.map_err(unsound(called))?.map(|()| verifier)
    };
    let verifier = followed.map_err(|broken| BackupError::Broken(called.to_owned(), broken))?;
    db.close().await.map_err(unsound(called))?;
    let bytes = at(file, std::fs::metadata(file))?.len();
    Ok(Proved {
        entries: verifier.followed(),
        bytes,
    })
}
