use serde_json::{Value, json};

use super::*;
use crate::domain::facts::{ChangeKind, PlatformRule, PullState, ReviewState, StatusState};
use crate::github::Refused;

const SHA: &str = "6dcb09b5b57875f334f61aebed695e2e4193db5e";
const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";

fn pull(state: &str) -> Value {
    json!({
        "number": 42, "state": state, "title": "Add", "body": null, "user": null, "draft": true,
        "head": { "sha": SHA, "ref": "agent/x", "repo": null },
        "base": { "ref": "main" },
        "labels": [{ "name": "agent" }, { "name": null }],
        "merge_commit_sha": SHA, "mergeable": null, "mergeable_state": "something new",
        "created_at": "2025-06-01T12:00:00Z", "updated_at": "2025-06-01T12:00:00Z",
    })
}

#[test]
fn a_pull_request_of_a_deleted_account_and_fork_is_read() {
    let found = pulls::pull(pull("open")).expect("a pull request");
    assert_eq!(
        (
            found.author,
            found.head_repo,
            found.mergeable,
            found.changed_files
        ),
        (None, None, None, None)
    );
    assert_eq!(found.labels, ["agent"]);
    assert!(found.draft && !found.auto_merge);
    assert_eq!(found.test_merge.map(String::from).as_deref(), Some(SHA));
}

#[test]
fn a_comment_is_ours_only_by_our_own_app_and_with_the_mark_in_it() {
    let app = |id: u64| json!({ "id": id, "slug": "countersign" });
    let own = crate::domain::model::AppId::new(900).expect("an id");
    let found = |by: Value, body: Value| {
        let said = json!({ "id": 7, "performed_via_github_app": by, "body": body });
        let found = pulls::marked(said, own, "<!-- mark -->").expect("a comment");
        found.map(|id| id.get())
    };
    let marked = || json!("Done.\n<!-- mark -->");
    assert_eq!(found(app(900), marked()), Some(7));
    assert_eq!(found(app(901), marked()), None);
    assert_eq!(found(Value::Null, marked()), None);
    assert_eq!(found(app(900), json!("Done.")), None);
    assert_eq!(found(app(900), Value::Null), None);
}

#[test]
fn a_closed_pull_request_is_merged_only_if_github_says_so() {
    let closed = pulls::pull(pull("closed")).expect("a pull request");
    assert_eq!(closed.state, PullState::Closed);
    assert_eq!(closed.test_merge, None, "it is no trial any more");
    let mut value = pull("closed");
    value["merged_at"] = json!("2025-06-02T12:00:00Z");
    let merged = pulls::pull(value).expect("a pull request");
    let PullState::Merged { at, by, commit } = merged.state else {
        panic!("{merged:?}")
    };
    assert!(at.is_some() && by.is_none());
    assert_eq!(commit.map(String::from).as_deref(), Some(SHA));
}

#[test]
fn a_pull_request_without_what_makes_it_one_is_unreadable() {
    for (pointer, value) in [
        ("/number", json!(0)),
        ("/state", json!("paused")),
        ("/head/sha", json!("6dcb09b")),
        ("/head/sha", Value::Null),
        ("/base/ref", json!("")),
        ("/updated_at", json!("yesterday")),
        ("/head", Value::Null),
    ] {
        let mut odd = pull("open");
        *odd.pointer_mut(pointer).expect("a field") = value;
        assert!(
            matches!(pulls::pull(odd), Err(Refused::Unreadable(_))),
            "{pointer}"
        );
    }
}

#[test]
fn only_texts_that_may_hold_evidence_are_kept() {
    for text in [
        "```countersign\n{}\n```",
        "Hello\n\n~~~countersign\n{}\n~~~",
        "````countersign\n````",
        "``` countersign\n```",
        "```json\n{}\n```\n```countersign\n```",
    ] {
        assert!(may_hold_evidence(text), "{text}");
    }
    for text in [
        "",
        "countersign",
        "`countersign`",
        "```json\ncountersign\n```",
        "``` \ncountersign",
    ] {
        assert!(!may_hold_evidence(text), "{text}");
    }
}

fn comment(body: &str, updated: Value) -> Value {
    json!({
        "id": 1, "body": body, "user": null, "performed_via_github_app": null,
        "created_at": "2025-06-01T12:00:00Z", "updated_at": updated,
    })
}

#[test]
fn a_comment_that_changed_or_may_have_changed_is_edited() {
    let block = "```countersign\n{}\n```";
    let edited = |updated| {
        let found = pulls::comment(comment(block, updated)).expect("a comment");
        found.map(|comment| comment.edited)
    };
    assert_eq!(edited(json!("2025-06-01T12:00:00Z")), Some(false));
    assert_eq!(edited(json!("2025-06-01T12:00:01Z")), Some(true));
    assert_eq!(edited(Value::Null), Some(true));
    let plain = comment("nice", json!("2025-06-01T12:00:00Z"));
    assert_eq!(pulls::comment(plain), Ok(None));
}

#[test]
fn a_review_keeps_a_new_word_and_forgets_prose() {
    let review = |state: &str, body: &str| {
        let value = json!({ "id": 5, "state": state, "body": body, "user": null });
        pulls::review(value).expect("a review")
    };
    assert_eq!(review("APPROVED", "prose").body, "");
    assert_eq!(
        review("changes_requested", "").state,
        ReviewState::ChangesRequested
    );
    let new = review("PONDERED", "```countersign\n```");
    assert_eq!(new.state, ReviewState::Unknown("PONDERED".into()));
    assert_eq!((new.body.as_str(), new.head), ("```countersign\n```", None));
}

#[test]
fn a_run_set_back_to_unfinished_does_not_keep_its_conclusion() {
    use crate::domain::facts::RunStatus;
    let value = json!({
        "id": 1, "name": "x", "head_sha": SHA, "status": "in_progress", "conclusion": "success",
        "output": { "text": "plain" }, "external_id": "", "check_suite": { "id": 9 },
    });
    let run = checks::run(value).expect("a run");
    assert_eq!(run.status, RunStatus::Unfinished("in_progress".into()));
    assert_eq!(
        (run.output_text, run.external_id, run.app),
        (None, None, None)
    );
    assert_eq!(run.suite.map(|suite| suite.get()), Some(9));
}

#[test]
fn a_status_keeps_a_new_word_and_needs_no_id() {
    let value = json!({ "context": "ci", "state": "meh", "creator": null, "target_url": "" });
    let status = checks::status(value).expect("a status");
    assert_eq!(status.state, StatusState::Unknown("meh".into()));
    assert_eq!((status.id, status.creator, status.url), (None, None, None));
}

#[test]
fn a_workflows_path_is_told_without_its_ref() {
    let value = json!({
        "id": 1, "check_suite_id": 2, "path": ".github/workflows/ci.yml@refs/heads/main",
        "event": "push", "run_attempt": 3, "head_sha": SHA,
    });
    let run = checks::workflow_run(value).expect("a run");
    assert_eq!(
        (run.path.as_str(), run.attempt),
        (".github/workflows/ci.yml", 3)
    );
    let pathless = json!({ "id": 1, "check_suite_id": 2, "head_sha": SHA });
    assert!(checks::workflow_run(pathless).is_err());
}

fn changed(status: &str, counts: (u64, u64), patch: Option<&str>, blob: &str) -> Option<usize> {
    let value = json!({
        "filename": "a", "status": status, "sha": blob, "patch": patch,
        "additions": counts.0, "deletions": counts.1,
    });
    let file = diff::file(value).expect("a file");
    file.hunks.map(|hunks| hunks.len())
}

#[test]
fn a_file_without_a_patch_has_no_changed_lines_only_where_that_is_sure() {
    assert_eq!(changed("renamed", (0, 0), None, SHA), Some(0));
    assert_eq!(changed("added", (0, 0), None, EMPTY), Some(0));
    assert_eq!(changed("unchanged", (0, 0), None, SHA), Some(0));
    for status in [
        "added", "modified", "removed", "copied", "changed", "new word",
    ] {
        assert_eq!(changed(status, (0, 0), None, SHA), None, "{status} binary");
    }
    assert_eq!(
        changed("renamed", (3, 1), None, SHA),
        None,
        "too large a patch"
    );
    assert_eq!(changed("modified", (3, 1), Some(""), SHA), None);
}

#[test]
fn a_patch_that_disagrees_with_githubs_counts_is_not_believed() {
    let patch = "@@ -1,2 +1,2 @@\n a\n-b\n+B";
    assert_eq!(changed("modified", (1, 1), Some(patch), SHA), Some(1));
    assert_eq!(changed("modified", (2, 1), Some(patch), SHA), None);
    assert_eq!(changed("modified", (1, 2), Some(patch), SHA), None);
    assert_eq!(changed("modified", (1, 1), Some("@@ -1,9"), SHA), None);
}

#[test]
fn a_new_kind_of_change_is_kept_by_its_word() {
    let value = json!({ "filename": "a", "status": "teleported", "additions": 0, "deletions": 0 });
    let file = diff::file(value).expect("a file");
    assert_eq!(file.kind, ChangeKind::Other("teleported".into()));
}

fn required(context: &str, app: Option<u64>, strict: bool) -> PlatformRule {
    PlatformRule::RequiredCheck {
        context: context.into(),
        app: app.and_then(AppId::new),
        strict,
    }
}

#[test]
fn rules_of_a_ruleset_are_told_by_what_they_hinder() {
    let told = |kind: &str, parameters: Value| {
        rules::rules(json!({ "type": kind, "parameters": parameters, "ruleset_id": 1 }))
    };
    let checks = json!({
        "strict_required_status_checks_policy": true,
        "required_status_checks": [
            { "context": "unit", "integration_id": 15368 }, { "context": "lint", "integration_id": null },
            { "context": "any" },
        ],
    });
    assert_eq!(
        told("required_status_checks", checks),
        Ok(vec![
            required("unit", Some(15_368), true),
            required("lint", None, true),
            required("any", None, true),
        ])
    );
    let reviews = json!({
        "required_approving_review_count": 2, "require_code_owner_review": true,
        "required_review_thread_resolution": false, "allowed_merge_methods": ["squash"],
    });
    assert_eq!(
        told("pull_request", reviews),
        Ok(vec![PlatformRule::Reviews {
            approvals: 2,
            code_owners: true,
            conversations: false,
            methods: vec!["squash".into()],
        }])
    );
    for (kind, rule) in [
        ("merge_queue", PlatformRule::MergeQueue),
        ("required_linear_history", PlatformRule::LinearHistory),
        ("required_signatures", PlatformRule::SignedCommits),
        ("update", PlatformRule::UpdatesRestricted),
        ("deletion", PlatformRule::Other("deletion".into())),
        ("new_rule", PlatformRule::Other("new_rule".into())),
    ] {
        assert_eq!(told(kind, Value::Null), Ok(vec![rule]));
    }
    assert!(
        told("required_status_checks", Value::Null).is_err(),
        "it does not vanish"
    );
}

#[test]
fn classic_checks_count_unless_they_are_switched_off() {
    let classic = |level: Value| {
        let value = json!({
            "name": "main", "commit": { "sha": SHA },
            "protection": { "enabled": true, "required_status_checks": {
                "enforcement_level": level, "contexts": ["unit", "old"],
                "checks": [{ "context": "unit", "app_id": 15368 }, { "context": "any", "app_id": -1 }],
            }},
        });
        rules::branch(value).expect("a branch").classic
    };
    let all = vec![
        required("unit", Some(15_368), false),
        required("any", None, false),
        required("old", None, false),
    ];
    assert_eq!(classic(json!("everyone")), all);
    assert_eq!(classic(json!("non_admins")), all);
    assert_eq!(classic(Value::Null), all);
    assert_eq!(classic(json!("off")), vec![]);
    let bare = rules::branch(json!({ "commit": { "sha": SHA } })).expect("a branch");
    assert_eq!(bare.classic, vec![]);
}

#[test]
fn a_files_text_is_decoded_or_refused_with_the_reason() {
    let file = |changes: Value| {
        let mut value = json!({
            "type": "file", "sha": SHA, "encoding": "base64", "content": "dmVyc2lv\nbjogMQo=\n",
        });
        for (field, new) in changes.as_object().expect("fields") {
            value[field] = new.clone();
        }
        places::file("x.yml", value)
    };
    assert_eq!(
        file(json!({})).map(|file| file.text),
        Ok("version: 1\n".into())
    );
    assert_eq!(
        file(json!({ "content": "" })).map(|file| file.text),
        Ok(String::new())
    );
    let why = |changes| file(changes).expect_err("refused").to_string();
    insta::assert_snapshot!(
        why(json!({ "encoding": "none", "content": "" })),
        @"GitHub's answer could not be read: x.yml: its content was not sent; it is larger than 1 MB"
    );
    insta::assert_snapshot!(
        why(json!({ "type": "submodule" })),
        @"GitHub's answer could not be read: x.yml: it is a submodule, not a file"
    );
    insta::assert_snapshot!(
        why(json!({ "content": "/w==" })),
        @"GitHub's answer could not be read: x.yml: it is not UTF-8"
    );
    insta::assert_snapshot!(
        places::file("x.yml", json!([])).expect_err("refused"),
        @"GitHub's answer could not be read: x.yml: it is a directory"
    );
}

#[test]
fn an_account_without_an_identity_is_nobody() {
    let who = |value: Value| {
        actor(read::<Option<Account>>("an account", value).expect("an account"))
            .map(|actor| (actor.id.get(), actor.kind))
    };
    assert_eq!(who(Value::Null), None);
    assert_eq!(who(json!({})), None);
    assert_eq!(who(json!({ "login": "x" })), None);
    assert_eq!(who(json!({ "login": "x", "id": 0 })), None);
    let kind = |word: &str| who(json!({ "login": "x", "id": 1, "type": word }));
    assert_eq!(kind("User"), Some((1, ActorKind::User)));
    assert_eq!(kind("Bot"), Some((1, ActorKind::Bot)));
    assert_eq!(kind("Mannequin"), Some((1, ActorKind::Other)));
}
