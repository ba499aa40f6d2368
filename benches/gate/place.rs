//! Where the product keeps its state while it is measured: a file of SQLite, or a PostgreSQL that the bench
//! starts for itself. Both wait for the disk.

use std::path::Path;
use std::sync::Arc;

use countersign::store::Store;
use countersign::store::postgres::Postgres;
use countersign::store::sqlite::Sqlite;

use crate::cluster::Cluster;

/// What is measured: a store, and how many equal servers work on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres { servers: usize },
}

impl Kind {
    pub const ALL: [Self; 3] = [
        Self::Sqlite,
        Self::Postgres { servers: 1 },
        Self::Postgres { servers: 3 },
    ];

    pub fn servers(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres { servers } => servers,
        }
    }

    pub fn name(self) -> String {
        match self {
            Self::Sqlite => "SQLite".into(),
            Self::Postgres { servers: 1 } => "PostgreSQL".into(),
            Self::Postgres { servers } => format!("PostgreSQL, {servers} servers"),
        }
    }
}

/// A database that goes with its value.
pub struct Place {
    folder: tempfile::TempDir,
    cluster: Option<Cluster>,
}

impl Place {
    /// `None` where PostgreSQL is not installed.
    pub fn new(kind: Kind) -> Option<Self> {
        let cluster = match kind {
            Kind::Sqlite => None,
            Kind::Postgres { .. } => Some(Cluster::start_that_waits(true)?),
        };
        let folder = tempfile::tempdir().unwrap();
        Some(Self { folder, cluster })
    }

    pub fn url(&self) -> String {
        match &self.cluster {
            Some(cluster) => cluster.url(),
            None => format!("sqlite://{}", self.folder.path().join("gate.db").display()),
        }
    }

    /// A folder that goes with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The store of one more server.
    pub async fn store(&self) -> Arc<dyn Store> {
        match &self.cluster {
            Some(cluster) => Arc::new(Postgres::open(&cluster.url()).await.unwrap()),
            None => Arc::new(Sqlite::open(&self.url()).await.unwrap()),
        }
    }

    /// Megabytes of the database's files and of what is written ahead of them.
    pub fn size(&self) -> (u64, u64) {
        let megabytes = |path: &Path| size(path).div_ceil(1_048_576);
        match &self.cluster {
            Some(cluster) => (
                megabytes(&cluster.data().join("base")),
                megabytes(&cluster.data().join("pg_wal")),
            ),
            None => (
                megabytes(&self.folder().join("gate.db")),
                megabytes(&self.folder().join("gate.db-wal")),
            ),
        }
    }
}

/// Bytes below a path; what goes away meanwhile counts for nothing.
fn size(path: &Path) -> u64 {
    let Ok(about) = std::fs::metadata(path) else {
        return 0;
    };
    if about.is_file() {
        return about.len();
    }
    let Ok(inside) = std::fs::read_dir(path) else {
        return 0;
    };
    inside.flatten().map(|entry| size(&entry.path())).sum()
}
