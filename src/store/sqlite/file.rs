//! Which file an address names, and what stands in it.
//!
//! One reading of an address for the server and for every command: who copies or proves a file must mean the
//! one that the server writes. The path is percent-decoded, as the driver does it, and what stands behind a
//! question mark is not part of it.
//!
//! A file is looked at before anything is written into it: what other programs keep there is theirs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::PATIENCE;
use super::schema::migrator;
use crate::store::{StoreError, Stored};

/// What an address asks for.
pub struct Address {
    /// As the driver understands it.
    pub options: SqliteConnectOptions,
    /// Its file; none where the database is in memory.
    pub file: Option<PathBuf>,
}

/// Reads `sqlite://FILE` or `sqlite::memory:`.
pub fn address(url: &str) -> Result<Address, sqlx::Error> {
    let refused = |why: &str| sqlx::Error::Configuration(why.into());
    if !url.starts_with("sqlite:") {
        // The driver would take it for the name of a file.
        return Err(refused("it does not begin with `sqlite:`"));
    }
    let options = SqliteConnectOptions::from_str(url)?;
    // What the driver knows of this, it does not tell.
    let (path, parameters) = url.split_once('?').unwrap_or((url, ""));
    let in_memory = path.trim_start_matches("sqlite:").trim_start_matches("//") == ":memory:"
        || parameters
            .split('&')
            .any(|one| percent_decode_str(one).decode_utf8_lossy() == "mode=memory");
    let file = (!in_memory).then(|| options.get_filename().to_owned());
    if file.as_deref() == Some(Path::new("")) {
        return Err(refused("it names no file"));
    }
    Ok(Address { options, file })
}

/// The file of an address, `None` for a database in memory.
///
/// # Errors
/// When it is not SQLite's address.
pub fn file_of(url: &str) -> Result<Option<PathBuf>, sqlx::Error> {
    Ok(address(url)?.file)
}

/// The address of a file, whatever it is called.
pub fn url_of(file: &Path) -> String {
    let path = file.display().to_string();
    let path = path.replace('%', "%25").replace('?', "%3F");
    format!("sqlite://{path}")
}

/// What stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: no file, or one without a table.
    Nothing,
    /// A database of this program's, of this version or an older one.
    Ours,
}

/// Looks what stands in a file, and leaves it as it is.
///
/// # Errors
/// [`StoreError::Foreign`] and [`StoreError::Newer`] when it is not for this program, [`StoreError::Open`] when it
/// cannot be read or is damaged.
pub async fn look(file: &Path) -> Stored<Standing> {
    look_as(file, file).await
}

/// As [`look`]; complains of the file as `called`.
pub async fn look_as(file: &Path, called: &Path) -> Stored<Standing> {
    // SQLite itself would leave an empty file where it is asked about none.
    if std::fs::metadata(file).is_ok_and(|found| found.len() == 0) || !file.exists() {
        return Ok(Standing::Nothing);
    }
    let failed = |cause| StoreError::Open {
        url: called.display().to_string(),
        cause,
    };
    let mut db = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(false)
        .busy_timeout(PATIENCE)
        .pragma("query_only", "on")
        .connect()
        .await
        .map_err(failed)?;
    let steps = steps(&mut db).await;
    let _ = db.close().await;
    let Some(steps) = steps.map_err(failed)? else {
        return Ok(Standing::Nothing);
    };
    let ours = migrator();
    let known = |version| ours.iter().find(|step| step.version == version);
    let first = steps
        .first()
        .zip(ours.iter().next())
        .is_some_and(|((version, digest), first)| {
            *version == first.version && *digest == *first.checksum
        });
    let name = || called.display().to_string();
    if !first {
        return Err(StoreError::Foreign(name()));
    }
    if steps.iter().any(|(version, _)| known(*version).is_none()) {
        return Err(StoreError::Newer(name()));
    }
    Ok(Standing::Ours)
}

/// The steps that a schema went through, with their digests; `None` where there is no table at all.
async fn steps(db: &mut SqliteConnection) -> Result<Option<Vec<(i64, Vec<u8>)>>, sqlx::Error> {
    const STEPS: &str = "_sqlx_migrations";
    let tables: Vec<String> = sqlx::query_scalar(
        r"select name from sqlite_master where name not like 'sqlite\_%' escape '\' order by name",
    )
    .fetch_all(&mut *db)
    .await?;
    if tables.is_empty() {
        return Ok(None);
    }
    if !tables.iter().any(|name| name == STEPS) {
        return Ok(Some(Vec::new()));
    }
    let steps: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("select version, checksum from _sqlx_migrations order by version")
            .fetch_all(db)
            .await?;
    // The first thing that is made; whoever made it was cut off before the first step.
    let begun = steps.is_empty() && tables == [STEPS];
    Ok((!begun).then_some(steps))
}

/// Makes an empty file for a new database that only its owner may read: it will hold what deliveries of private
/// repositories say. SQLite gives what it keeps beside it the same rights. A file that is there keeps its own.
pub fn make_private(file: &Path) {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // Where it cannot be made, SQLite says why.
    let _ = options.open(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_the_file_that_the_driver_opens() {
        for (url, file) in [
            ("sqlite://a.db", "a.db"),
            ("sqlite:a.db", "a.db"),
            ("sqlite:///var/a.db?mode=ro", "/var/a.db"),
            ("sqlite:///var/with%20space.db", "/var/with space.db"),
            ("sqlite:///var/a%3Fb%23.db?cache=private", "/var/a?b#.db"),
            ("sqlite:///var/100%.db", "/var/100%.db"),
            ("sqlite:///var/mode=memory.db", "/var/mode=memory.db"),
        ] {
            let read = address(url).unwrap();
            assert_eq!(read.file.as_deref(), Some(Path::new(file)), "{url}");
            assert_eq!(read.options.get_filename(), Path::new(file), "{url}");
        }
        for url in [
            "sqlite::memory:",
            "sqlite://:memory:",
            "sqlite://a.db?mode=memory",
            "sqlite://?cache=shared&mode=%6demory",
        ] {
            assert_eq!(file_of(url).unwrap(), None, "{url}");
        }
        for url in [
            "sqlite://",
            "sqlite:",
            "sqlite://?mode=ro",
            "postgres://a",
            "sqlite://a?b=c",
        ] {
            assert!(file_of(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_address_of_a_file_leads_back_to_it() {
        for name in [
            "/var/a.db",
            "/var/100%/a?b#.db",
            "/var/with%20space and more.db",
        ] {
            let file = Path::new(name);
            assert_eq!(file_of(&url_of(file)).unwrap().as_deref(), Some(file));
        }
    }
}
