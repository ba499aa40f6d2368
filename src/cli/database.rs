//! Opening the database that a command names.

use std::path::Path;
use std::sync::Arc;

use super::{Complaint, Exit};
use crate::store::Store;
use crate::store::sqlite::Sqlite;

/// Where the server keeps its state unless told otherwise.
pub const DEFAULT_URL: &str = "sqlite://countersign.db";

/// Opens a database, making it if it is not there.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    if !url.starts_with("sqlite:") {
        let scheme = url.split(':').next().unwrap_or_default();
        return Err(Complaint::new(
            Exit::Usage,
            format!(
                "the database `{scheme}`: this version keeps its state in SQLite only; write sqlite://FILE \
                 (--database, COUNTERSIGN_DATABASE_URL)"
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

/// Opens a database that a server has made; asking about one that is not there is wrong use, and must
/// not leave an empty file behind.
pub async fn existing(url: &str) -> Result<Arc<dyn Store>, Complaint> {
    if file_of(url).is_some_and(|file| !file.exists()) {
        return Err(Complaint::new(
            Exit::Usage,
            format!(
                "there is no database at {url}: name the server's with --database URL or \
                 COUNTERSIGN_DATABASE_URL"
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
