use super::Place;
use super::given::*;
use crate::domain::facts::PullState;
use crate::domain::memory::{HeadMemory, PullMemory, PullRecord, RepoMemory};
use crate::store::{Finish, Store, Versioned};

pub async fn nothing_is_remembered_at_first(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    assert_eq!(store.repo(shop).await.unwrap(), Versioned::default());
    assert_eq!(
        store.pull(shop, number(1)).await.unwrap(),
        Versioned::default()
    );
    assert_eq!(
        store.head(shop, &head('a')).await.unwrap(),
        Versioned::default()
    );
    assert_eq!(
        store.record(shop, number(1)).await.unwrap(),
        PullRecord::default()
    );
    assert!(store.active_repos().await.unwrap().is_empty());
    assert!(store.open_pulls(None).await.unwrap().is_empty());
    assert_eq!(store.repo_named(&name("acme/shop")).await.unwrap(), None);
}

pub async fn a_document_comes_back_with_its_version(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let mut repo = Versioned {
        value: repo_memory(SHOP, "acme/shop", 3),
        version: 0,
    };
    assert!(store.remember_repo(shop, &repo).await.unwrap());
    let back = store.repo(shop).await.unwrap();
    assert_eq!((&back.value, back.version), (&repo.value, 1));

    repo = back;
    repo.value.active = false;
    assert!(store.remember_repo(shop, &repo).await.unwrap());
    let back = store.repo(shop).await.unwrap();
    assert_eq!((back.value.active, back.version), (false, 2));

    let pull = Versioned {
        value: pull_memory(open_pull(1, 'a')),
        version: 0,
    };
    assert!(store.remember_pull(shop, number(1), &pull).await.unwrap());
    let back = store.pull(shop, number(1)).await.unwrap();
    assert_eq!((back.value, back.version), (pull.value, 1));

    let mut commit = Versioned::<HeadMemory>::default();
    let run = green(5, 'a');
    commit.value.runs.insert(run.id, run);
    commit.value.no_pulls_at = Some(at(5));
    assert!(
        store
            .remember_head(shop, &head('a'), &commit)
            .await
            .unwrap()
    );
    let back = store.head(shop, &head('a')).await.unwrap();
    assert_eq!((back.value, back.version), (commit.value, 1));
}

pub async fn whoever_read_before_a_change_writes_nothing(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(1, 'a')).await;
    let read = store.pull(shop, number(1)).await.unwrap();
    know_pull(&*store, open_pull(1, 'b')).await;

    assert!(!store.remember_pull(shop, number(1), &read).await.unwrap());

    let now = store.pull(shop, number(1)).await.unwrap();
    assert_eq!(now.value.pull.unwrap().head, head('b'));
    assert_eq!(
        store.pulls_with_head(shop, &head('b')).await.unwrap(),
        [number(1)]
    );
    let stale = Versioned::<HeadMemory>::default();
    assert!(store.remember_head(shop, &head('a'), &stale).await.unwrap());
    assert!(!store.remember_head(shop, &head('a'), &stale).await.unwrap());
}

pub async fn two_who_remember_something_new_do_not_overwrite_each_other(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let one = Versioned {
        value: repo_memory(SHOP, "acme/shop", 3),
        version: 0,
    };
    let other = Versioned {
        value: repo_memory(SHOP, "acme/other", 3),
        version: 0,
    };
    assert!(store.remember_repo(shop, &one).await.unwrap());
    assert!(!store.remember_repo(shop, &other).await.unwrap());
    assert_eq!(store.repo(shop).await.unwrap().value, one.value);
    assert_eq!(store.repo_named(&name("acme/other")).await.unwrap(), None);
}

pub async fn a_repository_is_found_by_its_name_without_case(place: &dyn Place) {
    let store = place.open().await;
    know_repo(&*store, SHOP, "Acme/Shop", 3).await;
    let found = store.repo_named(&name("aCME/sHOP")).await.unwrap();
    assert_eq!(found, Some(repo_id(SHOP)));
}

async fn rename(store: &dyn Store, id: u64, to: &str) {
    let mut memory = store.repo(repo_id(id)).await.unwrap();
    memory.value.repo = Some(repository(id, to, 3));
    assert!(store.remember_repo(repo_id(id), &memory).await.unwrap());
}

pub async fn a_renamed_repository_is_found_by_its_new_name_only(place: &dyn Place) {
    let store = place.open().await;
    know_repo(&*store, SHOP, "acme/shop", 3).await;
    rename(&*store, SHOP, "acme/store").await;
    let old = store.repo_named(&name("acme/shop")).await.unwrap();
    let new = store.repo_named(&name("acme/store")).await.unwrap();
    assert_eq!((old, new), (None, Some(repo_id(SHOP))));
}

pub async fn a_name_that_changed_hands_leads_to_its_new_holder(place: &dyn Place) {
    let store = place.open().await;
    // The delivery that would tell of the rename of 9 is late.
    know_repo(&*store, 9, "acme/shop", 3).await;
    know_repo(&*store, 5, "acme/shop", 3).await;
    let found = store.repo_named(&name("acme/shop")).await.unwrap();
    assert_eq!(found, Some(repo_id(5)));
    // And back again, once the new holder gave it up.
    rename(&*store, 5, "acme/other").await;
    let found = store.repo_named(&name("acme/shop")).await.unwrap();
    assert_eq!(found, Some(repo_id(9)));
}

pub async fn a_late_word_about_a_former_holder_does_not_take_the_name_back(place: &dyn Place) {
    let store = place.open().await;
    know_repo(&*store, 9, "acme/shop", 3).await;
    know_repo(&*store, 5, "acme/shop", 3).await;
    let mut former = store.repo(repo_id(9)).await.unwrap();
    former.value.active = false;
    assert!(store.remember_repo(repo_id(9), &former).await.unwrap());
    let found = store.repo_named(&name("acme/shop")).await.unwrap();
    assert_eq!(found, Some(repo_id(5)));
}

pub async fn only_active_repositories_are_listed(place: &dyn Place) {
    let store = place.open().await;
    know_repo(&*store, 2, "acme/b", 3).await;
    know_repo(&*store, 1, "acme/a", 3).await;
    let gone = Versioned {
        value: RepoMemory {
            active: false,
            ..repo_memory(3, "acme/c", 3)
        },
        version: 0,
    };
    store.remember_repo(repo_id(3), &gone).await.unwrap();
    let listed = store.active_repos().await.unwrap();
    let listed: Vec<_> = listed
        .into_iter()
        .filter_map(|memory| memory.repo)
        .map(|repo| repo.id)
        .collect();
    assert_eq!(listed, [repo_id(1), repo_id(2)]);
}

pub async fn open_pulls_are_found_by_their_present_head(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(2, 'a')).await;
    know_pull(&*store, open_pull(1, 'a')).await;
    know_pull(&*store, open_pull(3, 'b')).await;
    let found = store.pulls_with_head(shop, &head('a')).await.unwrap();
    assert_eq!(found, [number(1), number(2)]);

    know_pull(&*store, open_pull(2, 'c')).await;
    let mut closed = open_pull(1, 'a');
    closed.state = PullState::Closed;
    know_pull(&*store, closed).await;

    assert!(
        store
            .pulls_with_head(shop, &head('a'))
            .await
            .unwrap()
            .is_empty()
    );
    let moved = store.pulls_with_head(shop, &head('c')).await.unwrap();
    assert_eq!(moved, [number(2)]);
    let elsewhere = store.pulls_with_head(repo_id(8), &head('b')).await.unwrap();
    assert!(elsewhere.is_empty());
}

pub async fn the_overview_shows_open_pulls_oldest_first_with_their_records(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_repo(&*store, SHOP, "acme/shop", 3).await;
    know_repo(&*store, 8, "acme/other", 3).await;
    know_pull(&*store, open_pull(2, 'b')).await;
    know_pull(&*store, open_pull(1, 'a')).await;
    let mut merged = open_pull(3, 'c');
    merged.state = PullState::Closed;
    know_pull(&*store, merged).await;
    let elsewhere = Versioned {
        value: pull_memory(open_pull(9, 'd')),
        version: 0,
    };
    store
        .remember_pull(repo_id(8), number(9), &elsewhere)
        .await
        .unwrap();
    // Of a repository that nobody named yet.
    store
        .remember_pull(
            repo_id(99),
            number(1),
            &Versioned {
                value: PullMemory::default(),
                version: 0,
            },
        )
        .await
        .unwrap();

    wake(&*store, pull_key(1), at(0)).await;
    let lease = take(&*store, at(0)).await;
    let record = PullRecord {
        verdict: Some(serde_json::json!({ "outcome": "waiting" })),
        disagreements: 2,
        ..PullRecord::default()
    };
    store
        .save_record(&lease, &record, Vec::new(), at(0))
        .await
        .unwrap();
    store
        .finish(lease, Finish::Done { again: None }, at(0))
        .await
        .unwrap();

    let all = store.open_pulls(None).await.unwrap();
    let shown: Vec<_> = all
        .iter()
        .map(|row| (row.name.to_string(), row.pull.number))
        .collect();
    let shop_name = || "acme/shop".to_owned();
    assert_eq!(
        shown,
        [
            (shop_name(), number(1)),
            (shop_name(), number(2)),
            ("acme/other".to_owned(), number(9)),
        ]
    );
    assert_eq!(all[0].record, record);
    assert_eq!(all[1].record, PullRecord::default());
    let one = store.open_pulls(Some(shop)).await.unwrap();
    assert_eq!(one.len(), 2);
    assert_eq!(one[0].pull, open_pull(1, 'a'));
}
