//! Opening the database that a command names.

use std::path::Path;
use std::sync::Arc;

use super::{Complaint, Exit};
use crate::store::Store;
use crate::store::postgres::{self, Postgres};
use crate::store::sqlite::Sqlite;

/// Where the server keeps its state unless told otherwise.
pub const DEFAULT_URL: &str = "sqlite://countersign.db";
const SETTING: &str = "(--database, COUNTERSIGN_DATABASE_URL)";

/// Opens a database, making what is not there: an SQLite file, or the tables in one of PostgreSQL's.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    if postgres::is_address(url) {
        let store = Postgres::open(url).await.map_err(|error| {
            Complaint::new(
                Exit::Usage,
                format!("{error}; name the server's with postgres://USER:PASSWORD@HOST/DATABASE {SETTING}"),
            )
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
    let store = Sqlite::open(url).await.map_err(|error| {
        Complaint::new(
            Exit::Usage,
            format!("{error}; name the server's with --database sqlite://FILE"),
        )
    })?;
    Ok(Arc::new(store))
}

/// Whether a server keeps its state there. A database in memory is nobody's.
pub async fn is_there(url: &str) -> Result<bool, Complaint> {
    if postgres::is_address(url) {
        let used = Postgres::is_in_use(url).await;
        return used.map_err(|error| Complaint::new(Exit::Usage, error.to_string()));
    }
    Ok(file_of(url).is_some_and(Path::exists))
}

/// An address without what may be secret in it.
pub fn shown(url: &str) -> String {
    if url.starts_with("sqlite:") {
        url.to_owned()
    } else {
        postgres::shown(url)
    }
}

/// Opens a database that a server has made; asking about one that is not there is wrong use, and must
/// not leave an empty one behind.
pub async fn existing(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    let named = file_of(url).is_some() || postgres::is_address(url);
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

/// The file of an SQLite address, `None` for one in memory.
pub fn file_of(url: &str) -> Option<&Path> {
    let rest = url.strip_prefix("sqlite:")?;
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let path = path.split('?').next().unwrap_or(path);
    (path != ":memory:" && !path.is_empty()).then(|| Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sqlite_address_names_its_file() {
        assert_eq!(file_of("sqlite://a.db"), Some(Path::new("a.db")));
        assert_eq!(
            file_of("sqlite:///var/a.db?mode=ro"),
            Some(Path::new("/var/a.db"))
        );
        assert_eq!(file_of("sqlite::memory:"), None);
    }
}
