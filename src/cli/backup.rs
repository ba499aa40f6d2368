//! `countersign database backup|restore|move`.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::ledger::DatabaseArg;
use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::store::sqlite::backup::{self, BackupError, Proved};

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
            let proved = backup::backup(from, &file).await.map_err(told)?;
            println!("{}: {}", file.display(), what(proved));
        }
        DatabaseCommand::Restore { file, database } => {
            let to = file_of(database.url())?;
            let now = Clock::System.now();
            let (proved, replaced) = backup::restore(&file, to, now).await.map_err(told)?;
            println!("{}: {}", to.display(), what(proved));
            if let Some(replaced) = replaced {
                println!("What stood there is kept as {}.", replaced.display());
            }
        }
        DatabaseCommand::Move(args) => return database::move_over(args).await,
    }
    Ok(Exit::Done)
}

fn file_of(url: &str) -> Result<&Path, Complaint> {
    database::file_of(url).ok_or_else(|| {
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

fn told(error: BackupError) -> Complaint {
    let exit = match &error {
        BackupError::Exists(_) | BackupError::Missing(_) | BackupError::InUse(_) => Exit::Usage,
        BackupError::Unsound(..) | BackupError::Newer(_) | BackupError::Broken(..) => Exit::No,
        BackupError::Io(..) => Exit::Internal,
    };
    Complaint::new(exit, error.to_string())
}
