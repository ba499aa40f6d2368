//! Pushes, and what they tell of the policy.

use super::*;

#[test]
fn a_push_tells_before_and_after_and_the_absence_of_either() {
    let moved = |more| match read("push", &push(more)) {
        Event::Push {
            branch,
            before,
            after,
            policy_untouched,
            ..
        } => (
            branch.to_string(),
            before.is_some(),
            after.is_some(),
            policy_untouched,
        ),
        event => panic!("{event:?}"),
    };
    assert_eq!(moved(json!({})), ("main".to_owned(), true, true, true));
    assert_eq!(
        moved(json!({ "before": NOTHING })),
        ("main".to_owned(), false, true, false)
    );
    assert_eq!(
        moved(json!({ "after": NOTHING, "commits": [] })),
        ("main".to_owned(), true, false, false)
    );
    assert_eq!(moved(json!({ "ref": "refs/heads/agent/1" })).0, "agent/1");
    insta::assert_snapshot!(why("push", &push(json!({ "ref": "refs/tags/v1" }))),
        @"`refs/tags/v1` moved, which is not a branch");
}

#[test]
fn the_policy_is_surely_untouched_only_if_every_commit_is_listed_and_none_names_it() {
    let untouched = |more| match read("push", &push(more)) {
        Event::Push {
            policy_untouched, ..
        } => policy_untouched,
        event => panic!("{event:?}"),
    };
    let listed = |commit: Value| json!({ "commits": [commit] });
    assert!(untouched(json!({})));
    assert!(!untouched(json!({ "forced": true })));
    assert!(!untouched(json!({ "forced": null })));
    assert!(!untouched(json!({ "commits": null })));
    assert!(!untouched(json!({ "commits": [] })));
    assert!(
        !untouched(listed(
            json!({ "id": A, "added": [], "modified": [], "removed": [] })
        )),
        "cut before the tip"
    );
    assert!(
        !untouched(listed(json!({ "id": B, "modified": [], "removed": [] }))),
        "files not told"
    );
    for place in ["added", "modified", "removed"] {
        for path in [".github/countersign.yml", ".github"] {
            let mut commit = json!({ "id": B, "added": [], "modified": [], "removed": [] });
            commit[place] = json!([path]);
            assert!(!untouched(listed(commit)), "{place} {path}");
        }
    }
    let near = json!({ "id": B, "added": [".github/countersign.yml.bak", ".git"], "modified": [], "removed": [] });
    assert!(untouched(listed(near)));
    let many: Vec<Value> = (0..2048)
        .map(|_| json!({ "id": B, "added": [], "modified": [], "removed": [] }))
        .collect();
    assert!(
        !untouched(json!({ "commits": many })),
        "the list may be cut"
    );
}
