//! Opening the database that a command names; `countersign database move`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{Complaint, Ended, Exit};
use crate::store::moving::{self, MoveError, Moved};
use crate::store::postgres::{self, Postgres};
use crate::store::sqlite::{self, Sqlite, Standing};
use crate::store::{Store, StoreError};

/// Where the server keeps its state unless told otherwise.
pub const DEFAULT_URL: &str = "sqlite://countersign.db";
const SETTING: &str = "(--database, COUNTERSIGN_DATABASE_URL)";

/// Opens a database, making what is not there: an SQLite file, or the tables in one of PostgreSQL's.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    if postgres::is_address(url) {
        let store = Postgres::open(url).await.map_err(|error| {
            let hint = match &error {
                StoreError::Foreign(_) | StoreError::Newer(_) => String::new(),
                _ => format!(
                    "; name the server's with postgres://USER:PASSWORD@HOST/DATABASE {SETTING}"
                ),
            };
            Complaint::new(Exit::Usage, format!("{error}{hint}"))
        })?;
        return Ok(Arc::new(store));
    }
    if !url.starts_with("sqlite:") {
        return Err(Complaint::new(
            Exit::Usage,
            format!(
                "the database's address begins with neither sqlite:// nor postgres://; write sqlite://FILE \
                 or postgres://USER:PASSWORD@HOST/DATABASE {SETTING}"
            ),
        ));
    }
    let store = Sqlite::open(url).await.map_err(unusable)?;
    Ok(Arc::new(store))
}

/// What is wrong with an SQLite database, and what to do.
fn unusable(error: StoreError) -> Complaint {
    let hint = match &error {
        StoreError::Newer(_) => "",
        StoreError::Open { cause, .. } if damaged(cause) => {
            "; if it is the server's, it is damaged: `countersign database restore COPY` puts a copy in its place"
        }
        _ => "; name the server's with --database sqlite://FILE",
    };
    Complaint::new(Exit::Usage, format!("{error}{hint}"))
}

/// Whether SQLite calls it no database (26) or malformed (11).
fn damaged(cause: &sqlx::Error) -> bool {
    let code = cause.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| matches!(&*code, "11" | "26"))
}

/// Whether a server keeps its state there. A database in memory is nobody's.
///
/// # Errors
/// When something else is kept there, or it cannot be told.
pub async fn is_there(url: &str) -> Result<bool, Complaint> {
    if postgres::is_address(url) {
        let used = Postgres::is_in_use(url).await;
        return used.map_err(|error| Complaint::new(Exit::Usage, error.to_string()));
    }
    match file_of(url)? {
        None => Ok(false),
        Some(file) => {
            let found = sqlite::look(&file).await.map_err(unusable)?;
            Ok(found == Standing::Ours)
        }
    }
}

/// An address without what may be secret in it.
pub fn shown(url: &str) -> String {
    if url.starts_with("sqlite:") {
        url.to_owned()
    } else {
        postgres::shown(url)
    }
}

/// Opens a database that a server has made, and brings one of an older version up to date; asking about one
/// that is not there is wrong use, and must not leave an empty one behind.
pub async fn existing(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    let named = file_of(url)?.is_some() || postgres::is_address(url);
    if named && !is_there(url).await? {
        return Err(Complaint::new(
            Exit::Usage,
            format!(
                "there is no database of a server at {}: name the server's with --database URL or \
                 COUNTERSIGN_DATABASE_URL",
                shown(url)
            ),
        ));
    }
    open(url).await
}

/// The file of an SQLite address, the one that the server would open; `None` for one in memory and for any
/// other address.
pub fn file_of(url: &str) -> Result<Option<PathBuf>, Complaint> {
    if !url.starts_with("sqlite:") {
        return Ok(None);
    }
    sqlite::file_of(url).map_err(|why| {
        let text = format!(
            "the database's address {} cannot be read: {why}; write sqlite://FILE {SETTING}",
            shown(url)
        );
        Complaint::new(Exit::Usage, text)
    })
}

/// From where, and where to.
#[derive(Debug, Args)]
pub struct MoveArgs {
    /// The SQLite database; it stays as it is.
    #[arg(long, value_name = "sqlite://FILE")]
    from: String,
    /// The PostgreSQL database: there, and empty. The variable keeps its password out of the list of
    /// processes.
    #[arg(
        long,
        env = "COUNTERSIGN_MOVE_TO",
        hide_env_values = true,
        value_name = "postgres://USER:PASSWORD@HOST/DATABASE"
    )]
    to: String,
}

/// Moves everything.
pub async fn move_over(MoveArgs { from, to }: MoveArgs) -> Ended {
    let wrong = |why: String| Complaint::new(Exit::Usage, why);
    match file_of(&from)? {
        // What it would be told after the move would be nowhere in the new database.
        Some(file) if is_there(&from).await? => sqlite::backup::nobody_uses(&file)
            .await
            .map_err(super::backup::told)?,
        Some(file) => {
            return Err(wrong(format!(
                "there is no database in {}: nothing can be moved from it",
                file.display()
            )));
        }
        None => {
            return Err(wrong(
                "--from is no SQLite file: write sqlite://FILE".to_owned(),
            ));
        }
    }
    if !postgres::is_address(&to) {
        let why = "--to is no PostgreSQL database: write postgres://USER:PASSWORD@HOST/DATABASE";
        return Err(wrong(why.to_owned()));
    }
    let moved = moving::everything(&from, &to).await.map_err(|error| {
        let exit = match error {
            MoveError::NotEmpty(_)
            | MoveError::Store(
                StoreError::Foreign(_) | StoreError::Newer(_) | StoreError::Open { .. },
            ) => Exit::Usage,
            MoveError::Broken(_) => Exit::No,
            MoveError::Store(_) | MoveError::Miscounted { .. } => Exit::Internal,
        };
        Complaint::new(exit, error.to_string())
    })?;
    print!("{}", told(&moved, &shown(&to)));
    Ok(Exit::Done)
}

/// What was moved, for the person at the terminal.
fn told(moved: &Moved, to: &str) -> String {
    let mut said = format!("Moved to {to}:\n");
    for (table, rows) in &moved.tables {
        said += &format!("  {table:<12} {rows:>9}\n");
    }
    said += &format!(
        "The ledger's chain was followed in the new database: {} entries.\n\
         Start the server with COUNTERSIGN_DATABASE_URL set to it, and keep the old file until it serves.\n",
        moved.chain
    );
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_says_what_was_moved_and_what_to_do_next() {
        let tables = vec![("deliveries", 1_200), ("ledger", 34)];
        let said = told(&Moved { tables, chain: 34 }, "postgres://db/countersign");
        insta::assert_snapshot!(said, @r"
        Moved to postgres://db/countersign:
          deliveries        1200
          ledger              34
        The ledger's chain was followed in the new database: 34 entries.
        Start the server with COUNTERSIGN_DATABASE_URL set to it, and keep the old file until it serves.
        ");
    }

    #[tokio::test]
    async fn a_file_that_is_not_there_is_not_moved_nor_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none.db");
        let from = format!("sqlite://{}", file.display());
        let to = "postgres://127.0.0.1:1/x".to_owned();
        let refused = move_over(MoveArgs { from, to }).await;
        assert_eq!(refused.unwrap_err().exit, Exit::Usage);
        assert!(!file.exists());
    }
}
