//! Copies of an SQLite database, made while it is written, and put back.

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqlitePool;

use super::given::*;
use crate::domain::ledger::Verifier;
use crate::store::Store;
use crate::store::sqlite::Sqlite;
use crate::store::sqlite::backup::{BackupError, backup, restore};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    async fn open(&self, name: &str) -> Sqlite {
        open(&self.file(name)).await
    }

    /// Every file in it.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

async fn open(file: &Path) -> Sqlite {
    let url = format!("sqlite://{}", file.display());
    Sqlite::open(&url).await.unwrap()
}

async fn entry(store: &Sqlite, number: u64) {
    let key = format!("effect:{number}");
    let ended = crate::store::Ended::Done(serde_json::Value::Null);
    let entry = Some(draft(SHOP, 1, "happened"));
    store.end(&key, ended, entry, at(0)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_made_while_deliveries_pour_in_is_one_moment_and_can_be_put_back() {
    let folder = Folder::new();
    let store = folder.open("live.db").await;
    for number in 0..50 {
        entry(&store, number).await;
    }
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (begun, mut beginning) = tokio::sync::watch::channel(false);
    let pouring = tokio::spawn({
        let store = store.clone();
        async move {
            let mut number = 0_u64;
            while !*stopped.borrow() {
                // The delivery and the entry that follows from it, one after the other.
                let id = format!("delivery-{number}");
                store.accept(vec![delivery(&id)]).await.unwrap();
                entry(&store, 1_000 + number).await;
                number += 1;
                begun.send_replace(number > 3);
            }
            number
        }
    });
    beginning.wait_for(|begun| *begun).await.unwrap();
    let copy = folder.file("copy.db");
    let proved = backup(&folder.file("live.db"), &copy).await.unwrap();
    stop.send_replace(true);
    let poured = pouring.await.unwrap();
    store.close().await;

    let again = restore(&copy, &folder.file("live.db"), at(7))
        .await
        .unwrap();
    assert_eq!(again.proved.entries, proved.entries);
    let restored = folder.open("live.db").await;
    let arrived = restored.inbox().await.unwrap().waiting;
    let followed = proved.entries - 50;
    assert!(arrived >= 3 && arrived <= poured, "{arrived} of {poured}");
    assert!(
        arrived == followed || arrived == followed + 1,
        "not one moment"
    );
    entry(&restored, 9_999).await;
    let mut verifier = Verifier::default();
    for entry in restored.ledger(None, 0, u32::MAX).await.unwrap() {
        verifier.take(&entry).unwrap();
    }
    let kept = open(&again.kept[0]).await;
    assert_eq!(
        kept.inbox().await.unwrap().waiting,
        poured,
        "the replaced one is whole"
    );
}

#[tokio::test]
async fn nothing_is_overwritten_by_a_copy() {
    let folder = Folder::new();
    folder.open("live.db").await.close().await;
    std::fs::write(folder.file("copy.db"), "mine").unwrap();
    let error = backup(&folder.file("live.db"), &folder.file("copy.db")).await;
    assert!(matches!(error, Err(BackupError::Exists(_))), "{error:?}");
    let kept = std::fs::read_to_string(folder.file("copy.db")).unwrap();
    assert_eq!(kept, "mine");
    let error = backup(&folder.file("gone.db"), &folder.file("other.db")).await;
    assert!(matches!(error, Err(BackupError::Missing(_))), "{error:?}");
    assert_eq!(
        folder.names(),
        ["copy.db", "live.db"],
        "nothing half-made is left"
    );
}

#[tokio::test]
async fn a_database_is_not_replaced_while_a_server_has_it_open_even_an_idle_one() {
    let folder = Folder::new();
    let store = folder.open("live.db").await;
    entry(&store, 1).await;
    let copy = folder.file("copy.db");
    backup(&folder.file("live.db"), &copy).await.unwrap();
    let error = restore(&copy, &folder.file("live.db"), at(7)).await;
    assert!(matches!(error, Err(BackupError::InUse(_))), "{error:?}");
    entry(&store, 2).await;
    store.close().await;
    restore(&copy, &folder.file("live.db"), at(7))
        .await
        .unwrap();
    let restored = folder.open("live.db").await;
    assert_eq!(restored.ledger(None, 0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_copy_that_was_tampered_with_is_not_put_back() {
    let folder = Folder::new();
    let store = folder.open("live.db").await;
    entry(&store, 1).await;
    entry(&store, 2).await;
    let copy = folder.file("copy.db");
    backup(&folder.file("live.db"), &copy).await.unwrap();
    store.close().await;
    let before = std::fs::read(folder.file("live.db")).unwrap();

    let url = format!("sqlite://{}", copy.display());
    let forger = SqlitePool::connect(&url).await.unwrap();
    for statement in [
        "drop trigger ledger_is_not_changed",
        "update ledger set entry = replace(entry, 'happened', 'hindered') where seq = 1",
    ] {
        sqlx::query(statement).execute(&forger).await.unwrap();
    }
    forger.close().await;
    let error = restore(&copy, &folder.file("live.db"), at(7)).await;
    assert!(matches!(error, Err(BackupError::Broken(..))), "{error:?}");

    std::fs::write(&copy, "no database").unwrap();
    let error = restore(&copy, &folder.file("live.db"), at(7)).await;
    assert!(matches!(error, Err(BackupError::Unsound(..))), "{error:?}");
    assert_eq!(std::fs::read(folder.file("live.db")).unwrap(), before);
    assert_eq!(folder.names(), ["copy.db", "live.db"]);
}

/// A database of two entries of which the process was killed, so that its log lies beside it, and a copy of
/// the first of them.
async fn killed(folder: &Folder) -> (PathBuf, PathBuf) {
    let store = folder.open("other.db").await;
    entry(&store, 1).await;
    let copy = folder.file("copy.db");
    backup(&folder.file("other.db"), &copy).await.unwrap();
    // The log holds the second alone: whatever else is in it would heal the file.
    store.close().await;
    let store = folder.open("other.db").await;
    entry(&store, 2).await;
    for ending in ["", "-wal", "-shm"] {
        let from = folder.file(&format!("other.db{ending}"));
        std::fs::copy(from, folder.file(&format!("live.db{ending}"))).unwrap();
    }
    store.close().await;
    std::fs::remove_file(folder.file("other.db")).unwrap();
    (folder.file("live.db"), copy)
}

#[tokio::test]
async fn a_copy_takes_the_place_of_a_damaged_database_which_is_kept_with_its_log() {
    type Damage = fn(&mut Vec<u8>);
    let harms: [(&str, Damage); 3] = [
        ("its header", |bytes| bytes[..16].fill(0)),
        ("its pages", |bytes| {
            for page in bytes.chunks_mut(4_096).skip(1) {
                page.fill(0x5a);
            }
        }),
        ("all of it", |bytes| bytes.clear()),
    ];
    for (harmed, harm) in harms {
        let folder = Folder::new();
        let (live, copy) = killed(&folder).await;
        let mut bytes = std::fs::read(&live).unwrap();
        harm(&mut bytes);
        std::fs::write(&live, &bytes).unwrap();
        let restored = restore(&copy, &live, at(7)).await;
        let restored = restored.unwrap_or_else(|error| panic!("{harmed}: {error}"));
        assert_eq!(restored.proved.entries, 1, "{harmed}");
        let store = open(&live).await;
        assert_eq!(
            store.ledger(None, 0, 10).await.unwrap().len(),
            1,
            "{harmed}"
        );
        store.close().await;
        let kept = std::fs::read(&restored.kept[0]).unwrap();
        if harmed == "its header" {
            assert!(kept == bytes, "as it was found");
            let why = restored.damaged.unwrap();
            assert!(why.contains("header"), "{why}");
            let replaced = "live.db.replaced-20231114T221327000000Z";
            let names = folder.names();
            let expected = ["", "-shm", "-wal"].map(|ending| format!("{replaced}{ending}"));
            assert_eq!(names[2..], expected, "{names:?}");
        }
    }
}

#[tokio::test]
async fn a_copy_takes_the_place_of_a_database_of_which_only_the_log_is_left() {
    let folder = Folder::new();
    let (live, copy) = killed(&folder).await;
    std::fs::remove_file(&live).unwrap();
    let restored = restore(&copy, &live, at(7)).await.unwrap();
    assert_eq!(restored.kept.len(), 2, "{:?}", restored.kept);
    let store = open(&live).await;
    assert_eq!(store.ledger(None, 0, 10).await.unwrap().len(), 1);
}
