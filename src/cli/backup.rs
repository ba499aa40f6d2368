//! `countersign database backup|restore|move`.

use std::io;
use std::path::PathBuf;

use clap::Subcommand;

use super::ledger::DatabaseArg;
use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::store::StoreError;
use crate::store::sqlite::backup::{self, BackupError, Proved, Restored};

/// What can be done with the database as a whole.
#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Copy the database to a new file while the server runs, and prove the copy.
    Backup {
        /// The new file; nothing is overwritten.
        file: PathBuf,
        #[command(flatten)]
        database: DatabaseArg,
    },
    /// Put a copy in the place of the database; the server must be stopped. What is replaced is kept beside
    /// it.
    Restore {
        /// The copy; it stays as it is.
        file: PathBuf,
        #[command(flatten)]
        database: DatabaseArg,
    },
    /// Move everything from SQLite to an empty PostgreSQL database, all or nothing. Stop the server first.
    Move(database::MoveArgs),
}

/// Runs it.
pub async fn run(command: DatabaseCommand) -> Ended {
    match command {
        DatabaseCommand::Backup { file, database } => {
            let from = file_of(database.url())?;
            let proved = backup::backup(&from, &file);
            let proved = proved.await.map_err(told_of_database)?;
            println!("{}: {}", file.display(), what(proved));
        }
        DatabaseCommand::Restore { file, database } => {
            let to = file_of(database.url())?;
            let now = Clock::System.now();
            let restored = backup::restore(&file, &to, now).await.map_err(told)?;
            println!("{}: {}", to.display(), what(restored.proved));
            print!("{}", replaced(&restored));
        }
        DatabaseCommand::Move(args) => return database::move_over(args).await,
    }
    Ok(Exit::Done)
}

fn file_of(url: &str) -> Result<PathBuf, Complaint> {
    database::file_of(url)?.ok_or_else(|| {
        let text = "this copies SQLite files only: name the server's with --database sqlite://FILE; \
                    for PostgreSQL use pg_dump and pg_restore";
        Complaint::new(Exit::Usage, text)
    })
}

fn what(proved: Proved) -> String {
    format!(
        "{} bytes, sound; {} ledger entries, the chain holds.",
        proved.bytes, proved.entries
    )
}

/// What became of what stood there.
fn replaced(restored: &Restored) -> String {
    let names: Vec<_> = restored
        .kept
        .iter()
        .map(|name| name.display().to_string())
        .collect();
    match &restored.damaged {
        _ if names.is_empty() => String::new(),
        None => format!("What stood there is kept as {}.\n", names.join(", ")),
        Some(why) => format!(
            "What stood there was damaged ({why}); it is kept as {}.\n",
            names.join(", ")
        ),
    }
}

/// A complaint about the file that the person named as the copy, or about the database.
pub(super) fn told(error: BackupError) -> Complaint {
    let exit = match &error {
        BackupError::Exists(_)
        | BackupError::Missing(_)
        | BackupError::NoFolder(_)
        | BackupError::Empty(_)
        | BackupError::InUse(_)
        | BackupError::Store(_) => Exit::Usage,
        BackupError::Io(_, error) if misnamed(error) => Exit::Usage,
        BackupError::Unsound(..) | BackupError::Broken(..) => Exit::No,
        BackupError::Io(..) => Exit::Internal,
    };
    Complaint::new(exit, error.to_string())
}

/// Whether another name, or other rights, would have done.
fn misnamed(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::NotFound
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::PermissionDenied
            | Kind::ReadOnlyFilesystem
            | Kind::InvalidFilename
    )
}

/// As [`told`], of what is copied: where there is nothing to copy, the database is another.
fn told_of_database(error: BackupError) -> Complaint {
    let named = matches!(
        error,
        BackupError::Missing(_)
            | BackupError::Empty(_)
            | BackupError::Store(StoreError::Foreign(_))
    );
    let damaged = matches!(error, BackupError::Unsound(..));
    let mut complaint = told(error);
    if named {
        complaint.text += "; name the server's with --database URL or COUNTERSIGN_DATABASE_URL";
    }
    if damaged {
        complaint.text += "; `countersign database restore COPY` puts an earlier copy in its place";
    }
    complaint
}
