//! Order and repetition do not matter, as far as that is promised.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// What happened, and the same heard in another order with repetitions.
fn heard(happened: Vec<Change>) -> impl Strategy<Value = (Vec<Change>, Vec<Change>)> {
    let count = happened.len();
    let order = Just((0..count).collect::<Vec<_>>()).prop_shuffle();
    (order, vec(0..count, 0..=count)).prop_flat_map(move |(order, again)| {
        let happened = happened.clone();
        let all: Vec<usize> = order.into_iter().chain(again).collect();
        Just(all).prop_shuffle().prop_map(move |all| {
            let heard = all.iter().map(|at| happened[*at].clone()).collect();
            (happened.clone(), heard)
        })
    })
}

/// As far as it is promised: everything but the text of what was edited and its first digest.
fn promised(mut memory: PullMemory) -> PullMemory {
    memory.head_since = None;
    memory.review_texts.clear();
    for review in memory.reviews.values_mut().filter(|review| review.edited) {
        review.body.clear();
    }
    for comment in memory
        .comments
        .values_mut()
        .filter(|comment| comment.edited)
    {
        comment.body.clear();
    }
    memory
}

fn pull_story() -> Vec<Change> {
    vec![
        pull_change(pull(1, 1)),
        pull_change(pull(2, 2)),
        pull_change(pull(3, 3)),
        review_change(review(80, ReviewState::Approved, EVIDENCE, false)),
        review_change(Review {
            head: None,
            head_told: false,
            ..review(80, ReviewState::Approved, "taken out", true)
        }),
        review_change(review(81, ReviewState::ChangesRequested, "", false)),
        review_change(Review {
            head: None,
            head_told: false,
            ..review(81, ReviewState::Dismissed, "", false)
        }),
        comment_change(comment(1, EVIDENCE, false)),
        comment_change(comment(2, EVIDENCE, false)),
        comment_change(comment(2, "taken out", true)),
        comment_change(comment(3, EVIDENCE, false)),
        Change::CommentGone(repo_id(), number(3), CommentId::new(3).unwrap()),
        comment_change(comment(4, "nothing", false)),
        pull_change(merged(4)),
    ]
}

fn head_story() -> Vec<Change> {
    vec![
        run_change(run(60, unfinished("queued"), None)),
        run_change(run(60, unfinished("in_progress"), None)),
        run_change(run(60, success(), Some(5))),
        run_change(rerun(60, 5)),
        run_change(run(60, RunStatus::Completed(Conclusion::Failure), Some(9))),
        run_change(run(61, success(), Some(6))),
        run_change(rerun(61, 6)),
        status(1, "a", StatusState::Pending),
        status(2, "a", StatusState::Failure),
        status(3, "a", StatusState::Success),
        status(4, "b", StatusState::Error),
        workflow(9, 1),
        workflow(9, 2),
        workflow(8, 1),
    ]
}

/// A branch that is created, moves on and on, is deleted and made anew.
fn branch_story() -> Vec<Change> {
    let mut story = vec![push(0, 1)];
    story.extend((1..8).map(|tip| push(tip, tip + 1)));
    story
}

proptest! {
    #[test]
    fn any_order_and_repetition_leaves_the_same_pull_request((happened, heard) in heard(pull_story())) {
        prop_assert_eq!(promised(pulled(&heard)), promised(pulled(&happened)));
    }

    #[test]
    fn any_order_and_repetition_leaves_the_same_commit((happened, heard) in heard(head_story())) {
        prop_assert_eq!(headed(&heard), headed(&happened));
    }

    #[test]
    fn any_order_and_repetition_leaves_the_same_tip_and_policy((happened, heard) in heard(branch_story())) {
        let known = |changes: &[Change]| {
            let mut memory = RepoMemory::default();
            memory.apply(&Change::Repo(repository()));
            let policy = PolicyText { tip: oid(2), file: None };
            memory.bases.entry(base("main")).or_default().policy = Some(policy);
            changes.iter().for_each(|change| memory.apply(change));
            let base = memory.bases.remove(&base("main")).unwrap();
            (base.tip, base.policy)
        };
        prop_assert_eq!(known(&heard), known(&happened));
        prop_assert_eq!(known(&heard).0, Some(oid(8)));
    }

    #[test]
    fn what_was_lost_never_makes_the_rest_newer_than_it_is(kept in proptest::sample::subsequence(pull_story(), 0..14)) {
        let memory = pulled(&kept);
        let newest = kept.iter().filter_map(|change| match change {
            Change::Pull(_, pull) => Some(pull.updated_at),
            _ => None,
        }).max();
        prop_assert_eq!(memory.pull.map(|pull| pull.updated_at), newest);
    }
}
