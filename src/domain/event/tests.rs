//! Deliveries as GitHub sends them, and as it may.

mod pushes;
mod words;

use serde_json::{Value, json};

use super::*;
use crate::domain::facts::{Conclusion, PullState, ReviewState, RunStatus, StatusState};
use crate::domain::model::ActorKind;

const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const NOTHING: &str = "0000000000000000000000000000000000000000";
const FENCE: &str = "Verified.\n\n```countersign\n{}\n```\n";

/// A delivery about the repository `acme/shop`, with `more` in it.
fn delivery(more: Value) -> Value {
    let mut body = json!({
        "installation": { "id": 7 },
        "repository": { "id": 42, "full_name": "acme/shop", "default_branch": "main" },
        "sender": { "id": 5, "login": "ann", "type": "User" },
    });
    merge(&mut body, more);
    body
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn pull(more: Value) -> Value {
    let mut body = delivery(json!({
        "action": "opened",
        "pull_request": {
            "number": 3,
            "title": "Fix starts",
            "body": null,
            "state": "open",
            "draft": false,
            "head": { "sha": A, "ref": "agent/fix", "repo": { "id": 42 } },
            "base": { "ref": "main", "sha": B },
            "user": { "id": 9, "login": "acme-agent[bot]", "type": "Bot" },
            "labels": [{ "name": "agent" }],
            "merged": false,
            "merged_at": null,
            "mergeable": null,
            "merge_commit_sha": null,
            "changed_files": 2,
            "auto_merge": null,
            "created_at": "2026-01-01T10:00:00Z",
            "updated_at": "2026-01-01T11:00:00Z",
        }
    }));
    merge(&mut body, more);
    body
}

fn comment(more: Value) -> Value {
    let mut body = delivery(json!({
        "action": "created",
        "issue": { "number": 3, "pull_request": { "url": "..." } },
        "comment": {
            "id": 70,
            "user": { "id": 5, "login": "ann", "type": "User" },
            "body": FENCE,
            "created_at": "2026-01-01T10:00:00Z",
            "updated_at": "2026-01-01T10:00:00Z",
            "html_url": "https://github.com/acme/shop/pull/3#c70",
        }
    }));
    merge(&mut body, more);
    body
}

fn review(more: Value) -> Value {
    let mut body = delivery(json!({
        "action": "submitted",
        "pull_request": { "number": 3, "head": { "sha": A } },
        "review": {
            "id": 80,
            "user": { "id": 5, "login": "ann", "type": "User" },
            "state": "approved",
            "commit_id": A,
            "submitted_at": "2026-01-01T10:00:00Z",
            "body": "fine",
        }
    }));
    merge(&mut body, more);
    body
}

fn run(more: Value) -> Value {
    let mut body = delivery(json!({
        "action": "completed",
        "check_run": {
            "id": 60,
            "name": "unit",
            "app": { "id": 15368, "slug": "github-actions" },
            "head_sha": A,
            "status": "completed",
            "conclusion": "success",
            "check_suite": { "id": 61, "head_branch": null, "pull_requests": [] },
            "external_id": "",
            "completed_at": "2026-01-01T10:00:00Z",
            "output": { "text": "all well" },
            "pull_requests": [],
        }
    }));
    merge(&mut body, more);
    body
}

fn push(more: Value) -> Value {
    let mut body = delivery(json!({
        "ref": "refs/heads/main",
        "before": A,
        "after": B,
        "forced": false,
        "commits": [{ "id": B, "added": [], "modified": ["src/lib.rs"], "removed": [] }],
        // `push` deliveries count these in seconds.
        "repository": { "created_at": 1557933565, "pushed_at": 1557933657 },
    }));
    merge(&mut body, more);
    body
}

fn try_read(event: &str, body: &Value) -> Result<Event, Unreadable> {
    super::read(event, body.to_string().as_bytes())
}

fn read(event: &str, body: &Value) -> Event {
    try_read(event, body).unwrap()
}

fn why(event: &str, body: &Value) -> String {
    match read(event, body) {
        Event::Other { why } => why,
        event => panic!("{event:?}"),
    }
}

fn read_pull(more: Value) -> PullRequest {
    match read("pull_request", &pull(more)) {
        Event::Pull { pull, .. } => *pull,
        event => panic!("{event:?}"),
    }
}

fn read_run(more: Value) -> CheckRun {
    match read("check_run", &run(more)) {
        Event::CheckRun { run, .. } => run,
        event => panic!("{event:?}"),
    }
}

fn read_comment(more: Value) -> Comment {
    match read("issue_comment", &comment(more)) {
        Event::Comment { comment, .. } => comment,
        event => panic!("{event:?}"),
    }
}

fn read_review(more: Value) -> Review {
    match read("pull_request_review", &review(more)) {
        Event::Review { review, .. } => review,
        event => panic!("{event:?}"),
    }
}

#[test]
fn an_event_nobody_has_heard_of_is_explained_and_not_refused() {
    insta::assert_snapshot!(why("sponsorship", &json!({ "action": "created" })),
        @"`sponsorship` is not an event this version knows");
    insta::assert_snapshot!(why("label", &delivery(json!({ "action": "created" }))),
        @"a `label` delivery carries nothing this version uses");
}

#[test]
fn an_action_nobody_has_heard_of_is_explained_and_not_refused() {
    insta::assert_snapshot!(why("issue_comment", &delivery(json!({ "action": "pinned" }))),
        @"a `issue_comment` delivery with the action `pinned`, which is not known here");
    insta::assert_snapshot!(why("installation", &json!({ "action": "moved", "installation": { "id": 1 } })),
        @"an `installation` delivery with the action `moved`, which is not known here");
    // Whatever such a delivery lacks is no fault of it.
    insta::assert_snapshot!(why("pull_request", &delivery(json!({ "action": "folded" }))),
        @"a `pull_request` delivery with the action `folded`, which is not known here");
}

#[test]
fn the_state_in_a_pull_requests_delivery_counts_whatever_the_action_is_called() {
    let event = read("pull_request", &pull(json!({ "action": "folded" })));
    assert!(matches!(event, Event::Pull { action, .. } if action == "folded"));
}

#[test]
fn a_pull_request_is_read_with_everything_it_says() {
    let event = read("pull_request", &pull(json!({})));
    let Event::Pull {
        repo,
        pull,
        sender,
        base_changed,
        ..
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!(repo.id.get(), 42);
    assert_eq!(repo.name.to_string(), "acme/shop");
    assert_eq!(repo.installation.get(), 7);
    assert_eq!(repo.default_branch, Some(BaseRef::parse("main").unwrap()));
    assert_eq!(sender.unwrap().kind, ActorKind::User);
    assert!(!base_changed);
    assert_eq!(pull.number.get(), 3);
    assert_eq!(pull.head.as_str(), A);
    assert_eq!(pull.head_repo.unwrap().get(), 42);
    assert_eq!(pull.base.as_str(), "main");
    assert_eq!(pull.body, "");
    assert_eq!(pull.author.unwrap().kind, ActorKind::Bot);
    assert_eq!(pull.labels, ["agent"]);
    assert_eq!(pull.mergeable, None);
    assert_eq!(pull.changed_files, Some(2));
    assert!(!pull.auto_merge);
}

#[test]
fn deleted_accounts_and_deleted_forks_are_facts_and_not_faults() {
    let body = pull(json!({
        "sender": null,
        "pull_request": { "user": null, "head": { "repo": null }, "labels": null },
    }));
    let event = read("pull_request", &body);
    let Event::Pull { pull, sender, .. } = event else {
        panic!("{event:?}");
    };
    assert_eq!((pull.author, pull.head_repo, sender), (None, None, None));
    assert_eq!(
        read_comment(json!({ "comment": { "user": null } })).author,
        None
    );
    assert_eq!(
        read_review(json!({ "review": { "user": null } })).author,
        None
    );
    assert_eq!(read_run(json!({ "check_run": { "app": null } })).app, None);
}

#[test]
fn a_field_of_a_type_nobody_expected_is_only_not_known() {
    let pull = read_pull(json!({ "pull_request": {
        "mergeable": "perhaps", "changed_files": -1, "draft": "no", "title": 7,
    } }));
    assert_eq!((pull.mergeable, pull.changed_files), (None, None));
    assert_eq!((pull.draft, pull.title.as_str()), (false, ""));
}

#[test]
fn merged_closed_and_open_are_told_apart() {
    let merged = read_pull(json!({ "action": "closed", "pull_request": {
        "state": "closed", "merged": true, "merged_at": "2026-01-01T11:00:00Z",
        "merged_by": null, "merge_commit_sha": B,
    } }));
    assert!(matches!(
        merged.state,
        PullState::Merged {
            at: Some(_),
            by: None,
            commit: Some(_)
        }
    ));
    assert_eq!(merged.test_merge, None);
    let closed = read_pull(json!({ "pull_request": { "state": "closed", "merge_commit_sha": B } }));
    assert_eq!((closed.state, closed.test_merge), (PullState::Closed, None));
    let open = read_pull(json!({ "pull_request": { "merge_commit_sha": B } }));
    assert_eq!(open.state, PullState::Open);
    assert_eq!(open.test_merge.unwrap().as_str(), B);
}

#[test]
fn a_missing_essential_field_is_named_with_the_reason() {
    let faulty = |more| {
        try_read("pull_request", &pull(more))
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(faulty(json!({ "pull_request": { "head": { "sha": "abc" } } })),
        @r#"a `pull_request` delivery without a usable `pull_request.head.sha`: "abc" is not a full commit id (40 or 64 lower-case hex digits)"#);
    insta::assert_snapshot!(faulty(json!({ "pull_request": null })),
        @"a `pull_request` delivery without a usable `pull_request`: it is missing or null");
    insta::assert_snapshot!(faulty(json!({ "pull_request": { "state": "ajar" } })),
        @"a `pull_request` delivery without a usable `pull_request.state`: neither `open` nor `closed` but `ajar`");
    insta::assert_snapshot!(faulty(json!({ "repository": { "id": 0 } })),
        @"a `pull_request` delivery without a usable `repository.id`: invalid value: integer `0`, expected a nonzero u64");
    insta::assert_snapshot!(faulty(json!({ "action": null })),
        @"a `pull_request` delivery without a usable `action`: it is null");
    assert_eq!(super::read("push", b"[]").unwrap_err().field, "body");
    assert_eq!(super::read("push", b"{").unwrap_err().field, "body");
}

#[test]
fn only_an_edit_of_the_base_branch_counts_as_a_changed_base() {
    let base_changed = |more| match read("pull_request", &pull(more)) {
        Event::Pull { base_changed, .. } => base_changed,
        event => panic!("{event:?}"),
    };
    let changes = json!({ "base": { "ref": { "from": "feature" } } });
    assert!(base_changed(
        json!({ "action": "edited", "changes": changes })
    ));
    assert!(!base_changed(
        json!({ "action": "edited", "changes": { "title": { "from": "x" } } })
    ));
    assert!(!base_changed(
        json!({ "action": "labeled", "changes": changes })
    ));
}

#[test]
fn a_delivery_that_names_no_installation_is_explained_since_nobody_could_act_on_it() {
    let mut body = pull(json!({}));
    body.as_object_mut().unwrap().remove("installation");
    insta::assert_snapshot!(why("pull_request", &body),
        @"a `pull_request` delivery that names no installation (a webhook of the repository itself?): the App cannot act on it");
}

#[test]
fn an_installation_is_read_whole_and_as_an_id_alone() {
    let whole = json!({ "id": 7, "account": null, "created_at": 1557933591, "permissions": {} });
    let event = read(
        "installation",
        &json!({
            "action": "new_permissions_accepted",
            "installation": whole,
            "repositories": [{ "id": 42, "full_name": "acme/shop" }, { "id": "?" }],
        }),
    );
    let Event::Installation {
        installation,
        action,
        repos,
    } = event
    else {
        panic!("{event:?}");
    };
    assert_eq!(
        (installation.get(), action.as_str()),
        (7, "new_permissions_accepted")
    );
    assert_eq!(repos.len(), 1, "the readable one");
    let event = read("pull_request", &pull(json!({ "installation": whole })));
    assert!(matches!(event, Event::Pull { repo, .. } if repo.installation.get() == 7));
}

#[test]
fn repositories_come_and_go() {
    let event = read(
        "installation_repositories",
        &json!({
            "action": "added",
            "installation": { "id": 7 },
            "repositories_added": [{ "id": 1, "full_name": "acme/a" }],
            "repositories_removed": [{ "id": 2, "full_name": "acme/b" }],
        }),
    );
    let Event::Repositories { added, removed } = event else {
        panic!("{event:?}");
    };
    assert_eq!((added[0].id.get(), added[0].installation.get()), (1, 7));
    assert_eq!(removed[0].get(), 2);
}

#[test]
fn a_renamed_and_transferred_repository_keeps_its_id_and_bears_the_bodys_own_name() {
    let body = delivery(json!({
        "action": "transferred",
        "changes": { "owner": { "from": { "user": { "login": "old" } } } },
        "repository": { "full_name": "new/name" },
    }));
    let event = read("repository", &body);
    assert!(matches!(event, Event::Repository { repo, .. }
        if repo.id.get() == 42 && repo.name.to_string() == "new/name"));
}

#[test]
fn a_check_run_of_a_fork_is_known_by_its_commit_alone() {
    let run = read_run(json!({}));
    assert_eq!(run.head.as_str(), A);
    assert_eq!(run.status, RunStatus::Completed(Conclusion::Success));
    assert_eq!(run.suite.unwrap().get(), 61);
    assert_eq!((run.external_id, run.output_text), (None, None));
    let suite = delivery(json!({ "action": "completed", "check_suite": {
        "id": 61, "head_sha": A, "head_branch": null, "pull_requests": [],
    } }));
    assert!(
        matches!(read("check_suite", &suite), Event::CheckSuite { head, .. } if head.as_str() == A)
    );
}

#[test]
fn every_word_for_a_runs_status_and_conclusion_is_kept() {
    for word in [
        "queued",
        "in_progress",
        "waiting",
        "requested",
        "pending",
        "dreaming",
    ] {
        let run = read_run(json!({ "check_run": { "status": word, "conclusion": null } }));
        assert_eq!(run.status, RunStatus::Unfinished(word.to_owned()));
    }
    let concluded = |word: Value| read_run(json!({ "check_run": { "conclusion": word } })).status;
    assert_eq!(
        concluded(json!("timed_out")),
        RunStatus::Completed(Conclusion::TimedOut)
    );
    assert_eq!(
        concluded(json!("skipped")),
        RunStatus::Completed(Conclusion::Skipped)
    );
    assert_eq!(
        concluded(json!("glorious")),
        RunStatus::Completed(Conclusion::Unknown("glorious".to_owned()))
    );
    assert_eq!(
        concluded(Value::Null),
        RunStatus::Completed(Conclusion::Unknown(String::new()))
    );
}

#[test]
fn a_text_is_kept_only_where_it_may_hold_evidence() {
    assert!(holds_evidence(FENCE));
    assert!(holds_evidence("~~~countersign\n{}\n~~~"));
    assert!(holds_evidence("`````  countersign\n{}\n`````"));
    assert!(!holds_evidence("countersign says ```no```"));
    assert!(!holds_evidence("🦀 ```json\n\"countersign\"\n```"));
    let text =
        |text: &str| read_run(json!({ "check_run": { "output": { "text": text } } })).output_text;
    assert_eq!(text(FENCE).as_deref(), Some(FENCE));
    assert_eq!(text("fine"), None);
    assert_eq!(
        read_review(json!({ "review": { "body": FENCE } })).body,
        FENCE
    );
    assert_eq!(read_review(json!({})).body, "");
}

#[test]
fn a_pressed_button_is_read_with_who_pressed_it() {
    let body = run(json!({
        "action": "requested_action",
        "requested_action": { "identifier": "hold" },
        "check_run": { "external_id": "pull-3" },
    }));
    let event = read("check_run", &body);
    assert!(
        matches!(event, Event::CheckRun { button: Some(button), sender: Some(_), run, .. }
        if button == "hold" && run.external_id.as_deref() == Some("pull-3"))
    );
}

#[test]
fn a_status_is_read_with_whoever_set_it() {
    let event = read(
        "status",
        &delivery(json!({
            "id": 90, "sha": A, "context": "ci/x", "state": "odd", "target_url": null,
            "updated_at": "2019-05-15T15:20:55+00:00",
        })),
    );
    let Event::Status { head, status, .. } = event else {
        panic!("{event:?}");
    };
    assert_eq!((head.as_str(), status.context.as_str()), (A, "ci/x"));
    assert_eq!(status.state, StatusState::Unknown("odd".to_owned()));
    assert_eq!(status.creator.unwrap().login.as_str(), "ann");
}

#[test]
fn a_workflows_path_bears_no_ref_and_may_stand_beside_the_run() {
    let workflow = |path: Value| match read(
        "workflow_run",
        &delivery(json!({
            "action": "completed",
            "workflow": { "path": ".github/workflows/old.yml" },
            "workflow_run": { "id": 1, "check_suite_id": 2, "path": path, "event": "push", "head_sha": A },
        })),
    ) {
        Event::Workflow { run, .. } => (run.path, run.attempt),
        event => panic!("{event:?}"),
    };
    assert_eq!(
        workflow(json!(".github/workflows/ci.yml@refs/heads/main")).0,
        ".github/workflows/ci.yml"
    );
    assert_eq!(
        workflow(Value::Null),
        (".github/workflows/old.yml".to_owned(), 1)
    );
}

#[test]
fn a_merge_queues_request_and_its_end_are_told_apart() {
    let group =
        |action: &str| delivery(json!({ "action": action, "merge_group": { "head_sha": A } }));
    assert!(matches!(
        read("merge_group", &group("checks_requested")),
        Event::MergeGroup { .. }
    ));
    insta::assert_snapshot!(why("merge_group", &group("destroyed")), @"a merge queue's group is gone");
}

proptest::proptest! {
    #[test]
    fn no_bytes_at_all_make_reading_panic(event in "[a-z_]{1,30}", body: Vec<u8>) {
        let _ = super::read(&event, &body);
    }

    #[test]
    fn a_delivery_with_any_one_field_spoilt_is_read_or_named(at in 0usize..400, with in 0usize..6) {
        for (event, body) in [
            ("pull_request", pull(json!({}))),
            ("pull_request_review", review(json!({}))),
            ("issue_comment", comment(json!({}))),
            ("check_run", run(json!({}))),
            ("push", push(json!({}))),
        ] {
            let mut body = body;
            let spoil = [json!(null), json!(0), json!(-1), json!("🦀"), json!([]), json!({})][with].clone();
            let mut left = at;
            spoil_nth(&mut body, &mut left, &spoil);
            if let Err(unreadable) = try_read(event, &body) {
                proptest::prop_assert!(!unreadable.field.is_empty());
            }
        }
    }
}

/// Replaces the `left`-th value of a tree.
fn spoil_nth(value: &mut Value, left: &mut usize, with: &Value) -> bool {
    if *left == 0 {
        *value = with.clone();
        return true;
    }
    *left -= 1;
    match value {
        Value::Object(fields) => fields
            .values_mut()
            .any(|field| spoil_nth(field, left, with)),
        Value::Array(items) => items.iter_mut().any(|item| spoil_nth(item, left, with)),
        _ => false,
    }
}
