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
fn a_comment_says_whether_it_is_on_a_pull_request_or_on_an_issue() {
    let on_pull = |more: Value| match read("issue_comment", &comment(more)) {
        Event::Comment { on_pull, .. } => on_pull,
        event => panic!("{event:?}"),
    };
    assert!(on_pull(json!({})));
    assert!(!on_pull(json!({ "issue": { "pull_request": null } })));
}

#[test]
fn of_an_issue_its_number_is_read_and_the_label_that_was_put_on_it() {
    let event = |action: &str| {
        let body = json!({
            "action": action,
            "issue": { "number": 9, "updated_at": "2026-03-04T12:00:00Z" },
            "label": { "name": "dispatch" },
            "sender": { "id": 5, "login": "ann", "type": "User" },
        });
        match read("issues", &delivery(body)) {
            Event::Issue { number, label, .. } => (number.get(), label),
            event => panic!("{event:?}"),
        }
    };
    assert_eq!(event("labeled"), (9, Some("dispatch".into())));
    assert_eq!(event("unlabeled"), (9, None));
    insta::assert_snapshot!(why("issues", &delivery(json!({ "action": "pinned" }))),
        @"a `issues` delivery with the action `pinned`, which is not known here");
}

#[test]
fn a_remark_on_a_line_of_the_difference_is_read_by_nobody() {
    let mut remark = comment(json!({}));
    remark["comment"]["body"] = json!("/hold\r\n");
    remark["pull_request"] = json!({ "number": 7 });
    let read = try_read("pull_request_review_comment", &remark).unwrap();
    assert!(matches!(read, Event::Other { .. }), "{read:?}");
}
