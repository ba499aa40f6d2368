use super::Place;
use super::given::*;
use crate::domain::facts::PullState;
use crate::domain::memory::{Change, Confirm, HeadMemory, Wake};
use crate::domain::model::Key;
use crate::store::{Absorbed, Store, Versioned};

pub async fn a_head_wakes_every_open_pull_with_it(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(1, 'a')).await;
    know_pull(&*store, open_pull(2, 'a')).await;
    know_pull(&*store, open_pull(3, 'b')).await;
    say(&*store, "one", vec![], vec![Wake::Head(shop, head('a'))]).await;
    let mut woken = drain(&*store, at(0)).await;
    woken.sort();
    assert_eq!(woken, [pull_key(1), pull_key(2)]);
}

pub async fn a_head_without_a_known_pull_wakes_itself_until_github_knew_none(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let mut closed = open_pull(1, 'a');
    closed.state = PullState::Closed;
    know_pull(&*store, closed).await;
    let wake = || vec![Wake::Head(shop, head('a'))];
    say(&*store, "one", vec![], wake()).await;
    assert_eq!(
        drain(&*store, at(0)).await,
        [Key::Head(shop, head('a'))],
        "no open pull request is known, which is not that there is none"
    );

    let none = Versioned {
        value: HeadMemory {
            no_pulls_at: Some(at(0)),
            ..HeadMemory::default()
        },
        version: 0,
    };
    assert!(store.remember_head(shop, &head('a'), &none).await.unwrap());
    say(&*store, "two", vec![], wake()).await;
    assert!(drain(&*store, at(0)).await.is_empty());

    know_pull(&*store, open_pull(2, 'a')).await;
    say(&*store, "three", vec![], wake()).await;
    assert_eq!(drain(&*store, at(0)).await, [pull_key(2)]);
}

pub async fn a_base_wakes_the_open_pulls_into_it(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(1, 'a')).await;
    let mut elsewhere = open_pull(2, 'b');
    elsewhere.base = base("release/1.0");
    know_pull(&*store, elsewhere).await;
    let wake = vec![Wake::Base(shop, base("release/1.0"))];
    say(&*store, "one", vec![], wake).await;
    assert_eq!(drain(&*store, at(0)).await, [pull_key(2)]);
}

pub async fn a_wake_follows_the_changes_of_its_own_delivery(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let opened = Change::Pull(shop, Box::new(open_pull(1, 'a')));
    let wake = vec![Wake::Head(shop, head('a'))];
    say(&*store, "one", vec![opened], wake).await;
    assert_eq!(drain(&*store, at(0)).await, [pull_key(1)]);
}

pub async fn an_installation_wakes_its_active_repositories(place: &dyn Place) {
    let store = place.open().await;
    know_repo(&*store, 1, "acme/a", 3).await;
    know_repo(&*store, 2, "acme/b", 3).await;
    know_repo(&*store, 4, "other/d", 30).await;
    silence(&*store, 2).await;
    let wake = vec![Wake::Installation(installation(3))];
    say(&*store, "one", Vec::new(), wake).await;
    assert_eq!(drain(&*store, at(0)).await, [Key::Repo(repo_id(1))]);
}

/// The App may not act there.
async fn silence(store: &dyn Store, id: u64) {
    let mut memory = store.repo(repo_id(id)).await.unwrap();
    memory.value.active = false;
    assert!(store.remember_repo(repo_id(id), &memory).await.unwrap());
}

pub async fn an_installation_that_is_back_is_back_with_all_its_repositories_and_no_others(
    place: &dyn Place,
) {
    let store = place.open().await;
    for (id, name, installation) in [(1, "acme/a", 3), (4, "other/d", 30)] {
        know_repo(&*store, id, name, installation).await;
        silence(&*store, id).await;
    }
    let wake = || vec![Wake::Installation(installation(3))];
    say(&*store, "one", Vec::new(), wake()).await;
    assert!(drain(&*store, at(0)).await.is_empty());
    assert!(store.active_repos().await.unwrap().is_empty());

    let told = Change::Repo(repository(2, "acme/b", 3));
    let back = Change::InstallationActive(installation(3));
    say(&*store, "two", vec![told, back], wake()).await;
    let mut woken = drain(&*store, at(0)).await;
    woken.sort();
    assert_eq!(woken, [Key::Repo(repo_id(1)), Key::Repo(repo_id(2))]);
}

pub async fn many_wakes_of_one_delivery_are_one_pass_with_the_strongest_confirmation(
    place: &dyn Place,
) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(1, 'a')).await;
    store.accept(vec![delivery("one")]).await.unwrap();
    let seq = store.waiting(1).await.unwrap()[0].seq;
    let absorbed = Absorbed::Done {
        changes: Vec::new(),
        wakes: vec![
            (Wake::Head(shop, head('a')), Confirm::IfNeeded),
            (Wake::Key(pull_key(1)), Confirm::Always),
            (Wake::Base(shop, base("main")), Confirm::IfNeeded),
        ],
        note: String::new(),
    };
    store.absorb(seq, absorbed, at(5)).await.unwrap();
    assert!(nothing_due(&*store, at(4)).await);
    let lease = take(&*store, at(5)).await;
    assert_eq!(
        (lease.key(), lease.confirm()),
        (&pull_key(1), Confirm::Always)
    );
    assert!(nothing_due(&*store, at(6)).await);
}

pub async fn changes_of_one_delivery_are_one_version(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let changes = vec![
        Change::Run(shop, green(1, 'a')),
        Change::Run(shop, green(2, 'a')),
        Change::Run(shop, green(3, 'b')),
    ];
    say(&*store, "one", changes, vec![]).await;
    let first = store.head(shop, &head('a')).await.unwrap();
    assert_eq!((first.value.runs.len(), first.version), (2, 1));
    let second = store.head(shop, &head('b')).await.unwrap();
    assert_eq!((second.value.runs.len(), second.version), (1, 1));
}

pub async fn a_repeated_delivery_does_not_void_what_a_pass_read(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    let change = || vec![Change::Run(shop, green(1, 'a'))];
    say(&*store, "one", change(), vec![]).await;
    let mut read = store.head(shop, &head('a')).await.unwrap();
    say(&*store, "two", change(), vec![]).await;
    read.value.no_pulls_at = Some(at(1));
    assert!(store.remember_head(shop, &head('a'), &read).await.unwrap());
}

pub async fn a_delivery_voids_what_a_pass_read_before_it(place: &dyn Place) {
    let store = place.open().await;
    let shop = repo_id(SHOP);
    know_pull(&*store, open_pull(1, 'a')).await;
    let read = store.pull(shop, number(1)).await.unwrap();
    let mut pushed = open_pull(1, 'b');
    pushed.updated_at = at(2_000);
    let change = vec![Change::Pull(shop, Box::new(pushed.clone()))];
    say(&*store, "one", change, vec![]).await;
    assert!(!store.remember_pull(shop, number(1), &read).await.unwrap());
    let now = store.pull(shop, number(1)).await.unwrap();
    assert_eq!(now.value.pull, Some(pushed));
}

pub async fn what_a_dead_letter_said_is_not_applied(place: &dyn Place) {
    let store = place.open().await;
    store.accept(vec![delivery("one")]).await.unwrap();
    let seq = store.waiting(1).await.unwrap()[0].seq;
    let dead = Absorbed::Dead { why: "no".into() };
    store.absorb(seq, dead, at(0)).await.unwrap();
    // Who understood it after all, but came too late, applies nothing either.
    let shop = repo_id(SHOP);
    let late = understood(
        vec![Change::Run(shop, green(1, 'a'))],
        vec![Wake::Key(pull_key(1))],
    );
    store.absorb(seq, late, at(0)).await.unwrap();
    assert_eq!(store.head(shop, &head('a')).await.unwrap().version, 0);
    assert!(nothing_due(&*store, at(10)).await);
}
