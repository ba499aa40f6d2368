//! People's approvals, what tests ran against, and the pull request's own form.

use serde_json::json;

use crate::domain::facts::*;
use crate::domain::model::BaseRef;
use crate::domain::testing::*;
use crate::domain::verdict::Move;

const GATE: &str = "approvals";

/// Asks for approvals, beside a check.
fn asking(approvals: &str, reviews: Vec<Review>) -> Snapshot {
    let policy = only(&format!(
        "{{ checks: {{ required: [unit] }}, approvals: {{ {approvals} }} }}"
    ));
    let mut snapshot = under(&policy, snapshot());
    snapshot.reviews = Fetched::Known(Listing::whole(reviews));
    snapshot
}

fn carol(id: u64, state: ReviewState) -> Review {
    review(id, user(61, "carol"), state)
}

fn after(reviews: Vec<Review>) -> &'static str {
    let mut reversed = reviews.clone();
    reversed.reverse();
    let word = state(&asking("count: 1", reviews), GATE);
    assert_eq!(
        word,
        state(&asking("count: 1", reversed), GATE),
        "order must not matter"
    );
    word
}

#[test]
fn reviews_fold_to_what_each_person_says_last() {
    use ReviewState::*;
    for (states, word) in [
        (vec![Approved], "satisfied"),
        (vec![], "waiting"),
        (vec![Commented], "waiting"),
        (vec![Approved, Commented], "satisfied"),
        (vec![ChangesRequested, Commented], "failed"),
        (vec![ChangesRequested, Approved], "satisfied"),
        (vec![Approved, ChangesRequested], "failed"),
        (vec![Approved, Dismissed], "waiting"),
        (vec![ChangesRequested, Dismissed], "waiting"),
        (vec![Approved, Pending], "satisfied"),
        (vec![Pending], "waiting"),
        (vec![Unknown("blessed".into())], "waiting"),
        (vec![Dismissed, Approved], "satisfied"),
    ] {
        let reviews = (1..)
            .zip(states.clone())
            .map(|(id, state)| carol(id, state));
        assert_eq!(after(reviews.collect()), word, "{states:?}");
    }
}

#[test]
fn an_approval_of_another_head_is_void() {
    let mut old = carol(1, ReviewState::Approved);
    old.head = Some(head('e'));
    assert_eq!(after(vec![old.clone()]), "waiting");
    assert!(told(&asking("count: 1", vec![old.clone()]), GATE).contains("another head"));
    old.head = None;
    assert_eq!(after(vec![old]), "waiting");
}

/// Under one head a retarget shows other changes than were approved.
#[test]
fn an_approval_for_another_base_is_void() {
    let other = BaseRef::parse("lower").unwrap();
    let mut lower = carol(1, ReviewState::Approved);
    lower.base = Some(other.clone());
    assert_eq!(after(vec![lower.clone()]), "waiting");
    assert!(told(&asking("count: 1", vec![lower.clone()]), GATE).contains("for another base"));
    // An objection is one whatever the base.
    lower.state = ReviewState::ChangesRequested;
    assert_eq!(after(vec![lower]), "failed");
    // Given at eleven, and only a list tells of it: for which base is told by when that changed.
    let listed = |since: Option<&str>| {
        let mut one = carol(1, ReviewState::Approved);
        (one.base, one.head_told) = (None, false);
        let mut snapshot = asking("count: 1", vec![one]);
        snapshot.base_since = since.map(time);
        state(&snapshot, GATE)
    };
    let given = [
        None,
        Some("03-04 10:59"),
        Some("03-04 11:00"),
        Some("03-04 11:30"),
    ]
    .map(listed);
    assert_eq!(given, ["satisfied", "satisfied", "waiting", "waiting"]);
}

/// When the base is merged into the branch GitHub says of older reviews that they are of the merge.
#[test]
fn an_approval_that_no_delivery_told_of_counts_for_a_merge_of_the_base_only_if_it_came_after_it() {
    let approved = |told: bool, parents: usize, since: &str| {
        let mut one = carol(1, ReviewState::Approved);
        one.head_told = told;
        let mut snapshot = asking("count: 1", vec![one]);
        let commits = &mut known(&mut snapshot.comparison).commits.items;
        commits.last_mut().unwrap().parents = [oid('1'), oid('a')][..parents].to_vec();
        snapshot.head_since = Some(time(since));
        snapshot
    };
    // It was given at eleven.
    let moved = approved(false, 2, "03-04 11:30");
    assert_eq!(state(&moved, GATE), "waiting");
    assert!(told(&moved, GATE).contains("GitHub moves approvals along then"));
    assert_eq!(state(&approved(false, 2, "03-04 11:00"), GATE), "waiting");
    assert_eq!(state(&approved(false, 2, "03-04 10:59"), GATE), "satisfied");
    assert_eq!(state(&approved(true, 2, "03-04 11:30"), GATE), "satisfied");
    assert_eq!(state(&approved(false, 1, "03-04 11:30"), GATE), "satisfied");
    let mut unknown = approved(false, 2, "03-04 10:59");
    unknown.head_since = None;
    assert_eq!(state(&unknown, GATE), "waiting");
}

#[test]
fn neither_the_author_side_nor_a_bot_nor_a_ghost_approves() {
    let mut by_bob = asking(
        "count: 1",
        vec![review(1, user(60, "bob"), ReviewState::Approved)],
    );
    assert_eq!(state(&by_bob, GATE), "satisfied");
    known(&mut by_bob.comparison).commits.items[0].author = Some(user(60, "bob"));
    assert_eq!(state(&by_bob, GATE), "waiting");
    known(&mut by_bob.comparison).commits.items[0].author = None;
    assert_eq!(state(&by_bob, GATE), "waiting");
    assert_eq!(
        after(vec![review(1, bot(62, "nice[bot]"), ReviewState::Approved)]),
        "waiting"
    );
    let mut ghost = carol(1, ReviewState::Approved);
    ghost.author = None;
    assert_eq!(after(vec![ghost]), "waiting");
}

#[test]
fn one_person_counts_once() {
    let twice = vec![
        carol(1, ReviewState::Approved),
        carol(2, ReviewState::Approved),
    ];
    let mut snapshot = asking("count: 2", twice);
    assert_eq!(state(&snapshot, GATE), "waiting");
    assert!(told(&snapshot, GATE).contains("1 of 2 approvals of bbbbbbb"));
    items(&mut snapshot.reviews).push(review(3, user(60, "bob"), ReviewState::Approved));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn one_review_listed_twice_counts_as_what_does_not_approve() {
    let twice = vec![
        carol(1, ReviewState::Approved),
        carol(1, ReviewState::Dismissed),
    ];
    assert_eq!(after(twice), "waiting");
}

#[test]
fn only_those_whom_the_policy_names_approve() {
    let from = r#"count: 1, from: ["@Carol", "@acme/reviewers"]"#;
    let by = |who| asking(from, vec![review(1, who, ReviewState::Approved)]);
    assert_eq!(state(&by(user(61, "carol")), GATE), "satisfied");
    let mut stranger = by(user(63, "dave"));
    assert_eq!(
        state(&stranger, GATE),
        "undetermined",
        "who is in the team is not known"
    );
    let team = |members| Fetched::Known::<Vec<crate::domain::model::Actor>>(members);
    stranger.teams.insert("acme/reviewers".into(), team(vec![]));
    assert_eq!(state(&stranger, GATE), "waiting");
    stranger
        .teams
        .insert("acme/reviewers".into(), team(vec![user(63, "dave")]));
    assert_eq!(state(&stranger, GATE), "satisfied");
    let gone = Fetched::Unavailable("GitHub answered 403".into());
    stranger.teams.insert("acme/reviewers".into(), gone);
    assert_eq!(state(&stranger, GATE), "undetermined");
}

#[test]
fn a_request_for_changes_by_somebody_who_may_be_in_the_team_leaves_it_undetermined() {
    for demand in ["count: 0, conversations_resolved: true", "count: 1"] {
        let from = format!(r#"{demand}, from: [carol, "@acme/reviewers"]"#);
        let reviews = vec![
            carol(1, ReviewState::Approved),
            review(2, user(63, "dave"), ReviewState::ChangesRequested),
        ];
        let mut snapshot = asking(&from, reviews);
        snapshot.open_conversations = Fetched::Known(0);
        assert_eq!(
            state(&snapshot, GATE),
            "undetermined",
            "{}",
            told(&snapshot, GATE)
        );
    }
}

#[test]
fn who_asks_for_changes_need_not_be_independent() {
    let mut snapshot = asking("count: 1", vec![carol(1, ReviewState::ChangesRequested)]);
    known(&mut snapshot.comparison).commits.items[0].author = None;
    assert_eq!(state(&snapshot, GATE), "failed");
    known(&mut snapshot.comparison).commits.items[0].author = Some(user(61, "carol"));
    assert_eq!(state(&snapshot, GATE), "failed");
}

#[test]
fn reviews_that_are_not_all_known_approve_nothing() {
    let mut cut = asking("count: 1", vec![carol(1, ReviewState::Approved)]);
    known(&mut cut.reviews).complete = false;
    assert_eq!(state(&cut, GATE), "undetermined");
    cut.reviews = Fetched::NotAsked;
    assert_eq!(state(&cut, GATE), "undetermined");
}

#[test]
fn open_conversations_keep_it_open_where_the_policy_asks() {
    let demand = "count: 1, conversations_resolved: true";
    let mut snapshot = asking(demand, vec![carol(1, ReviewState::Approved)]);
    assert_eq!(state(&snapshot, GATE), "undetermined");
    snapshot.open_conversations = Fetched::Known(2);
    assert_eq!(gate(&snapshot, GATE).state.whose_move(), Move::Author);
    snapshot.open_conversations = Fetched::Known(0);
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

/// Where `src/**` changes, tests must have run against PostgreSQL.
fn against(ran: serde_json::Value) -> Snapshot {
    let mut run = tests("cargo test", 12, 0);
    run["against"] = ran;
    ran_as(run)
}

fn ran_as(run: serde_json::Value) -> Snapshot {
    let policy = only(r#"{ exercised: [{ paths: ["src/**"], against: [postgres] }] }"#);
    let mut document = approval("exec-1");
    document["predicate"]["tests"] = json!([run]);
    under(&policy, with_reports(vec![report(20, CODEX, &document)]))
}

#[test]
fn tests_against_a_double_are_not_tests_against_the_real_thing() {
    for (ran, word) in [
        (json!(["postgres"]), "satisfied"),
        (json!(["Postgres:15"]), "satisfied"),
        (json!(["minio", "postgres:16.2"]), "satisfied"),
        (json!(["fake-postgres"]), "waiting"),
        (json!(["sqlite"]), "waiting"),
        (json!([]), "waiting"),
    ] {
        assert_eq!(state(&against(ran.clone()), "exercised"), word, "{ran}");
    }
}

#[test]
fn a_run_against_the_real_thing_counts_only_if_its_tests_ran_and_passed() {
    let mut failed = tests("cargo test", 11, 1);
    failed["against"] = json!(["postgres"]);
    let mut nothing = tests("cargo test", 0, 0);
    nothing["against"] = json!(["postgres"]);
    let mut left_out = nothing.clone();
    left_out["executed"] = json!(5);
    for run in [failed, nothing, left_out] {
        assert_eq!(state(&ran_as(run), "exercised"), "waiting");
    }
}

#[test]
fn files_that_ask_for_nothing_skip_the_real_run_unless_the_list_is_cut() {
    let mut docs = against(json!([]));
    known(&mut docs.comparison).files.items[0].path = "docs/a.md".into();
    assert_eq!(state(&docs, "exercised"), "skipped");
    let mut moved = docs.clone();
    known(&mut moved.comparison).files.items[0].old_path = Some("src/a.rs".into());
    assert_eq!(state(&moved, "exercised"), "waiting");
    known(&mut docs.pull).changed_files = Some(2);
    assert_eq!(state(&docs, "exercised"), "waiting");
    docs.comparison = Fetched::Unavailable("GitHub answered 500".into());
    assert_eq!(state(&docs, "exercised"), "undetermined");
}

fn shaped(gates: &str) -> Snapshot {
    under(
        &only(&format!("{{ checks: {{ required: [unit] }}, {gates} }}")),
        snapshot(),
    )
}

#[test]
fn a_description_must_close_an_issue_and_fill_its_sections() {
    let mut snapshot = shaped("description: { closes_issue: true, sections: [Trap, Proof] }");
    assert!(told(&snapshot, "description").contains("no text under `Trap`, `Proof`"));
    known(&mut snapshot.pull).body = "## Trap\r\n\r\nA race.\r\n\r\n## Proof\r\nA test.\r\n".into();
    assert_eq!(
        gate(&snapshot, "description").reason,
        "The description closes no issue."
    );
    known(&mut snapshot.pull).body.push_str("\r\nFixes #7\r\n");
    assert_eq!(state(&snapshot, "description"), "satisfied");
}

#[test]
fn a_change_is_too_large_or_of_unknown_size_or_fits() {
    let mut snapshot = shaped("size: { max_changed_lines: 2 }");
    assert_eq!(state(&snapshot, "size"), "satisfied");
    let files = &mut known(&mut snapshot.comparison).files;
    files.complete = false;
    assert_eq!(state(&snapshot, "size"), "undetermined");
    known(&mut snapshot.comparison).files.items[0].additions = u64::MAX;
    assert_eq!(state(&snapshot, "size"), "failed");
    known(&mut snapshot.comparison).head = head('e');
    assert_eq!(state(&snapshot, "size"), "undetermined");
}
