//! What only who holds the connections can bring about.

use super::{Sqlite, url_of};
use crate::domain::model::DeliveryId;
use crate::store::{NewDelivery, Store};

fn delivery(nth: u32, size: usize) -> NewDelivery {
    NewDelivery {
        id: DeliveryId::parse(&format!("00000000-0000-4000-8000-{nth:012}")).unwrap(),
        event: "ping".to_owned(),
        body: vec![b'x'; size].into(),
        at: chrono::DateTime::UNIX_EPOCH,
    }
}

async fn open(folder: &tempfile::TempDir) -> Sqlite {
    let file = folder.path().join("countersign.db");
    Sqlite::open(&url_of(&file)).await.unwrap()
}

#[tokio::test]
async fn after_a_transaction_that_the_disk_took_back_everything_is_written_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    // What SQLite does by itself where the disk is full or fails; the driver does not hear of it.
    let mut tx = store.write().await.unwrap();
    sqlx::query("rollback").execute(&mut *tx).await.unwrap();
    drop(tx);
    for nth in 1..4 {
        let kept = store.accept(vec![delivery(nth, 100)]).await;
        assert!(kept.is_ok(), "{nth}: {kept:?}");
    }
    store.ping().await.unwrap();
    assert_eq!(store.waiting(10).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_database_that_takes_nothing_does_not_answer_though_it_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    store.ping().await.unwrap();
    let mut writer = store.writer.acquire().await.unwrap();
    sqlx::query("pragma query_only = on")
        .execute(&mut *writer)
        .await
        .unwrap();
    drop(writer);
    assert!(store.waiting(1).await.is_ok());
    assert!(store.ping().await.is_err());
}
