//! Evidence that was posted: kept once, durably, and told of.

use super::Place;
use super::given::*;
use crate::domain::evidence::Carrier;
use crate::domain::model::Key;
use crate::store::{EVIDENCE_PER_HEAD, NewEvidence, Placed, Store};

/// A workflow at a branch.
fn workflow(branch: &str) -> Carrier {
    Carrier::Workflow {
        path: ".github/workflows/verify.yml".into(),
        git_ref: format!("refs/heads/{branch}"),
    }
}

/// What a workflow at `main` posts about a head of the shop.
fn posted(digit: char, context: &str, document: &str) -> NewEvidence {
    NewEvidence {
        repo: repo_id(SHOP),
        head: head(digit),
        carrier: workflow("main"),
        context: context.into(),
        document: document.into(),
        at: at(0),
        url: Some("https://github.example/runs/1".into()),
    }
}

async fn place(store: &dyn Store, evidence: &NewEvidence) -> Placed {
    store.post_evidence(evidence).await.unwrap()
}

async fn documents(store: &dyn Store, digit: char) -> Vec<String> {
    let kept = store.posted_evidence(repo_id(SHOP), &head(digit)).await;
    let kept = kept.unwrap().into_iter();
    kept.map(|posted| posted.document).collect()
}

pub async fn a_document_comes_back_as_it_was_posted_with_its_carrier(at_place: &dyn Place) {
    let store = at_place.open().await;
    let new = posted('a', "exec-1", "{\"é\": \"\\u0000 and a\nbreak\"}");
    assert_eq!(place(&*store, &new).await, Placed::Stored);
    let sealed = NewEvidence {
        carrier: Carrier::Key("d7".repeat(32)),
        url: None,
        at: at(5),
        ..posted('a', "exec-1", "{}")
    };
    assert_eq!(place(&*store, &sealed).await, Placed::Stored);
    let kept = store.posted_evidence(repo_id(SHOP), &head('a')).await;
    let kept = kept.unwrap();
    for (kept, new) in kept.iter().zip([&new, &sealed]) {
        assert_eq!(kept.document, new.document);
        assert_eq!(kept.carrier, new.carrier);
        assert_eq!((kept.at, &kept.url), (new.at, &new.url));
    }
    assert_eq!(kept.len(), 2);
}

pub async fn the_same_document_again_is_known_and_kept_once(at_place: &dyn Place) {
    let store = at_place.open().await;
    let new = posted('a', "exec-1", "{}");
    assert_eq!(place(&*store, &new).await, Placed::Stored);
    let later = NewEvidence {
        at: at(9),
        url: None,
        ..new
    };
    assert_eq!(place(&*store, &later).await, Placed::Known);
    let kept = store.posted_evidence(repo_id(SHOP), &head('a')).await;
    let kept = kept.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].at, at(0), "the first stays as it is");
}

pub async fn another_document_of_the_same_run_is_not_kept(at_place: &dyn Place) {
    let store = at_place.open().await;
    place(&*store, &posted('a', "exec-1", "first")).await;
    let second = posted('a', "exec-1", "second");
    assert_eq!(place(&*store, &second).await, Placed::Another);
    // A file is one verifier, whatever branch it was read at.
    let elsewhere = NewEvidence {
        carrier: workflow("release"),
        ..second
    };
    assert_eq!(place(&*store, &elsewhere).await, Placed::Another);
    assert_eq!(documents(&*store, 'a').await, ["first"]);
}

pub async fn another_run_head_repository_or_verifier_is_another_document(at_place: &dyn Place) {
    let store = at_place.open().await;
    place(&*store, &posted('a', "exec-1", "first")).await;
    let again = posted('a', "exec-2", "another run");
    let elsewhere = posted('b', "exec-1", "another head");
    let fork = NewEvidence {
        repo: repo_id(8),
        ..posted('a', "exec-1", "another repository")
    };
    let sealed = NewEvidence {
        carrier: Carrier::Key("d7".repeat(32)),
        ..posted('a', "exec-1", "another verifier")
    };
    let file = NewEvidence {
        carrier: Carrier::Workflow {
            path: ".github/workflows/other.yml".into(),
            git_ref: "refs/heads/main".into(),
        },
        ..posted('a', "exec-1", "another file")
    };
    for new in [again, elsewhere, fork, sealed, file] {
        assert_eq!(
            place(&*store, &new).await,
            Placed::Stored,
            "{}",
            new.document
        );
    }
    let here = ["first", "another run", "another verifier", "another file"];
    assert_eq!(documents(&*store, 'a').await, here);
    assert_eq!(documents(&*store, 'b').await, ["another head"]);
}

pub async fn evidence_is_told_in_the_order_in_which_it_came(at_place: &dyn Place) {
    let store = at_place.open().await;
    for (context, time) in [("c", 30), ("a", 20), ("b", 10)] {
        let new = NewEvidence {
            at: at(time),
            ..posted('a', context, context)
        };
        assert_eq!(place(&*store, &new).await, Placed::Stored);
    }
    assert_eq!(documents(&*store, 'a').await, ["c", "a", "b"]);
}

pub async fn a_verifier_that_said_enough_about_a_head_is_full_and_no_other_is(
    at_place: &dyn Place,
) {
    let store = at_place.open().await;
    for n in 0..EVIDENCE_PER_HEAD {
        let new = posted('a', &format!("exec-{n}"), "{}");
        assert_eq!(place(&*store, &new).await, Placed::Stored);
    }
    let more = posted('a', "one more", "{}");
    assert_eq!(place(&*store, &more).await, Placed::Full);
    // What is kept is known still, and others have room of their own.
    let first = posted('a', "exec-0", "{}");
    assert_eq!(place(&*store, &first).await, Placed::Known);
    let sealed = NewEvidence {
        carrier: Carrier::Key("d7".repeat(32)),
        ..more.clone()
    };
    assert_eq!(place(&*store, &sealed).await, Placed::Stored);
    let next_head = posted('b', "one more", "{}");
    assert_eq!(place(&*store, &next_head).await, Placed::Stored);
    let kept = documents(&*store, 'a').await.len() as u64;
    assert_eq!(kept, EVIDENCE_PER_HEAD + 1);
}

pub async fn a_kept_document_wakes_the_pulls_with_its_head_also_when_it_was_known(
    at_place: &dyn Place,
) {
    let store = at_place.open().await;
    know_repo(&*store, SHOP, "acme/shop", 3).await;
    know_pull(&*store, open_pull(1, 'a')).await;
    know_pull(&*store, open_pull(2, 'a')).await;
    know_pull(&*store, open_pull(3, 'b')).await;
    let both = [pull_key(1), pull_key(2)];
    let new = posted('a', "exec-1", "{}");
    for expected in [Placed::Stored, Placed::Known] {
        assert_eq!(place(&*store, &new).await, expected);
        assert_eq!(drain(&*store, at(1)).await, both, "{expected:?}");
    }
    let another = posted('a', "exec-1", "another");
    assert_eq!(place(&*store, &another).await, Placed::Another);
    assert_eq!(drain(&*store, at(1)).await, [], "nothing came of it");
}

pub async fn evidence_for_a_head_without_a_known_pull_wakes_the_head(at_place: &dyn Place) {
    let store = at_place.open().await;
    know_repo(&*store, SHOP, "acme/shop", 3).await;
    place(&*store, &posted('a', "exec-1", "{}")).await;
    let woken = drain(&*store, at(1)).await;
    assert_eq!(woken, [Key::Head(repo_id(SHOP), head('a'))]);
}

pub async fn evidence_is_there_after_a_restart_and_still_known(at_place: &dyn Place) {
    let store = at_place.open().await;
    place(&*store, &posted('a', "exec-1", "first")).await;
    place(&*store, &posted('a', "exec-2", "second")).await;
    drop(store);
    let store = at_place.open().await;
    assert_eq!(documents(&*store, 'a').await, ["first", "second"]);
    let again = posted('a', "exec-1", "first");
    assert_eq!(place(&*store, &again).await, Placed::Known);
    let third = posted('a', "exec-3", "third");
    assert_eq!(place(&*store, &third).await, Placed::Stored);
    let all = ["first", "second", "third"];
    assert_eq!(documents(&*store, 'a').await, all);
}

pub async fn of_two_who_post_at_once_one_is_first_and_the_other_is_told(at_place: &dyn Place) {
    let store = at_place.open().await;
    for round in 0..10 {
        let context = format!("exec-{round}");
        let post = |document: &str| {
            let (store, new) = (store.clone(), posted('a', &context, document));
            tokio::spawn(async move { store.post_evidence(&new).await.unwrap() })
        };
        let (one, other) = (post("one"), post("other"));
        let mut placed = [one.await.unwrap(), other.await.unwrap()];
        placed.sort_by_key(|placed| *placed != Placed::Stored);
        assert_eq!(placed, [Placed::Stored, Placed::Another]);
        let (one, again) = (post("one"), post("one"));
        let placed = [one.await.unwrap(), again.await.unwrap()];
        assert!(!placed.contains(&Placed::Stored), "{placed:?}");
    }
    assert_eq!(documents(&*store, 'a').await.len(), 10);
}
