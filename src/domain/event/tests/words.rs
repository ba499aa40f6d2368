//! Reviews and comments: what they are bound to, and what an edit does.

use super::*;

#[test]
fn a_review_is_bound_to_the_commit_that_was_looked_at() {
    let head = |more| read_review(more).head;
    assert_eq!(head(json!({})).unwrap().as_str(), A);
    // The head moved while somebody was still reading the older commit.
    assert_eq!(
        head(json!({ "pull_request": { "head": { "sha": B } } }))
            .unwrap()
            .as_str(),
        A
    );
    assert_eq!(
        head(json!({ "review": { "commit_id": null } }))
            .unwrap()
            .as_str(),
        A
    );
    // Later deliveries may show a commit to which GitHub moved the review.
    assert_eq!(
        head(json!({ "action": "dismissed", "review": { "state": "dismissed" } })),
        None
    );
    assert_eq!(
        read_review(json!({ "review": { "state": "CHANGES_REQUESTED" } })).state,
        ReviewState::ChangesRequested
    );
}

#[test]
fn an_edit_counts_where_evidence_may_have_been_touched() {
    let edited = |text: &str, from: Value| {
        read_comment(json!({ "action": "edited", "comment": { "body": text }, "changes": from }))
            .edited
    };
    assert!(
        edited(FENCE, json!({ "body": { "from": "typo" } })),
        "evidence slipped in"
    );
    assert!(
        edited("gone", json!({ "body": { "from": FENCE } })),
        "evidence taken out"
    );
    assert!(
        edited("text", json!({ "body": {} })),
        "nobody says what it was"
    );
    assert!(!edited("a typo", json!({ "body": { "from": "a tpyo" } })));
    assert!(!read_comment(json!({})).edited);
    let late = json!({ "comment": { "updated_at": "2026-01-01T10:05:00Z" } });
    assert!(
        read_comment(late).edited,
        "a `created` written after the edit"
    );
    assert!(read_review(json!({ "action": "edited", "review": { "body": FENCE } })).edited);
    assert!(
        !read_review(json!({ "action": "edited", "changes": { "body": { "from": "fien" } } }))
            .edited
    );
}

#[test]
fn a_comment_on_an_issue_is_not_a_comment_on_a_pull_request() {
    insta::assert_snapshot!(why("issue_comment", &comment(json!({ "issue": { "pull_request": null } }))),
        @"a comment on an issue that is not a pull request");
}
