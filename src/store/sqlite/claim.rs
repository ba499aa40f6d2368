//! Taking the place of a database that nobody uses.
//!
//! # Properties
//!
//! - **In use is in use, sound or not.** A connection in WAL mode holds a shared lock as long as it is open;
//!   leaving that mode needs an exclusive one. So a running server, also an idle one, is noticed, and one that
//!   starts meanwhile waits. Of a damaged file SQLite only says that it is none; then its locks are looked for
//!   where it keeps them, in the file and in the memory that is shared beside it.
//! - **Nothing is thrown away.** A database is set aside with all that belongs to it: a log that stayed behind
//!   would be taken for the next one's own.
//!
//! What is left out: on systems other than Unix the locks of a damaged file are not looked for; there a file that
//! a program has open cannot be renamed in the first place.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions as _, Connection as _};

use super::backup::{BackupError, Made, at, beside, options};
use super::file::look;
use crate::store::StoreError;

/// What SQLite's files begin with.
const HEADER: &[u8] = b"SQLite format 3\0";

/// What SQLite keeps beside a database, by the ends of its names.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A database that nobody else can use while this is held.
pub struct Claim {
    connection: Option<SqliteConnection>,
    damaged: Option<String>,
    locked: Vec<File>,
}

impl Claim {
    /// Lets go; tells why what was there was no sound database, if it was none.
    pub async fn release(self) -> Option<String> {
        if let Some(connection) = self.connection {
            // Its file has another name by now and all of its log: nothing can fail that matters.
            let _ = connection.close().await;
        }
        drop(self.locked);
        self.damaged
    }
}

/// Takes the database for oneself alone, with all of its log in its file where it is sound.
pub async fn claim(file: &Path) -> Made<Claim> {
    let mut damaged = None;
    if file.exists() && !headed(file)? {
        damaged = Some("its header is none of SQLite's".to_owned());
    } else if file.exists() {
        if let Err(error @ StoreError::Foreign(_)) = look(file).await {
            // Whoever keeps it there did not ask for this.
            return Err(error.into());
        }
        match alone(file).await? {
            Ok(connection) => {
                return Ok(Claim {
                    connection: Some(connection),
                    damaged: None,
                    locked: Vec::new(),
                });
            }
            Err(why) => damaged = Some(why),
        }
    }
    let mut locked = Vec::new();
    for held in [file.to_owned(), beside(file, "-shm")] {
        if held.exists() {
            locked.push(lock(&held, file)?);
        }
    }
    Ok(Claim {
        connection: None,
        damaged,
        locked,
    })
}

/// Whether a file begins as SQLite's do, or is empty. One that does not is not opened: SQLite would write its log
/// into it when it closes it, and then it is not what was found any more.
fn headed(file: &Path) -> Made<bool> {
    let mut begin = Vec::new();
    let opened = at(file, File::open(file))?;
    at(
        file,
        opened.take(HEADER.len() as u64).read_to_end(&mut begin),
    )?;
    Ok(begin.is_empty() || begin == HEADER)
}

/// The only connection to a sound database, or why it is none.
async fn alone(file: &Path) -> Made<Result<SqliteConnection, String>> {
    let unsound = |error: sqlx::Error| match &error {
        sqlx::Error::Database(database) if database.message().contains("locked") => {
            Err(BackupError::InUse(file.to_owned()))
        }
        _ => Ok(Err(error.to_string())),
    };
    let mut db = match options(file).connect().await {
        Ok(db) => db,
        Err(error) => return unsound(error),
    };
    for statement in [
        "pragma locking_mode = exclusive",
        "pragma journal_mode = delete",
        "begin exclusive",
    ] {
        if let Err(error) = sqlx::query(statement).execute(&mut db).await {
            // Not merely dropped: whoever closes a file lets go of every lock that the process has on it.
            let _ = db.close().await;
            return unsound(error);
        }
    }
    Ok(Ok(db))
}

/// Locks a file whole, unless somebody has a lock on a part of it.
fn lock(held: &Path, database: &Path) -> Made<File> {
    let opened = at(held, OpenOptions::new().read(true).write(true).open(held))?;
    #[cfg(unix)]
    {
        use rustix::fs::{FlockOperation, fcntl_lock};
        use rustix::io::Errno;
        match fcntl_lock(&opened, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::ACCESS) => {
                return Err(BackupError::InUse(database.to_owned()));
            }
            Err(error) => return Err(BackupError::Io(held.to_owned(), error.into())),
        }
    }
    #[cfg(not(unix))]
    let _ = database;
    Ok(opened)
}

/// What was set aside: the names it had and has.
pub struct Aside(Vec<(PathBuf, PathBuf)>);

impl Aside {
    /// Gives everything the name it had.
    pub fn put_back(self) -> Made<()> {
        for (was, is) in self.0.into_iter().rev() {
            at(&was, std::fs::rename(&is, &was))?;
        }
        Ok(())
    }

    /// The names under which it is kept.
    pub fn kept(self) -> Vec<PathBuf> {
        self.0.into_iter().map(|(_, is)| is).collect()
    }
}

/// Renames a database, and what lies beside it where that is not in it: whatever of it is there.
pub fn set_aside(claim: &Claim, file: &Path, name: &Path) -> Made<Aside> {
    let mut files = vec![(file.to_owned(), name.to_owned())];
    if claim.connection.is_none() {
        files.extend(BESIDE.map(|ending| (beside(file, ending), beside(name, ending))));
    }
    files.retain(|(was, _)| was.exists());
    if let Some((_, taken)) = files.iter().find(|(_, is)| is.exists()) {
        return Err(BackupError::Exists(taken.clone()));
    }
    let mut aside = Aside(Vec::new());
    for (was, is) in files {
        if let Err(error) = at(&was, std::fs::rename(&was, &is)) {
            aside.put_back()?;
            return Err(error);
        }
        aside.0.push((was, is));
    }
    Ok(aside)
}
