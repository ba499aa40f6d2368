//! What deliveries mean, and that their order and number do not matter where that is promised.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::domain::event::Event;
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Conclusion, Listing, PullState, ReviewState, RunStatus,
    StatusState,
};
use crate::domain::model::{
    Actor, ActorId, ActorKind, AppId, AppRef, Login, RepoName, StatusId, SuiteId, WorkflowRunId,
};

const EVIDENCE: &str = "```countersign\n{}\n```";

fn at(second: i64) -> Timestamp {
    chrono::DateTime::from_timestamp(1_767_225_600 + second, 0).unwrap()
}

fn oid(n: u8) -> Oid {
    Oid::parse(&format!("{n:02x}").repeat(20)).unwrap()
}

fn head(n: u8) -> HeadSha {
    oid(n).into()
}

fn base(name: &str) -> BaseRef {
    BaseRef::parse(name).unwrap()
}

fn repo_id() -> RepoId {
    RepoId::new(42).unwrap()
}

fn number(n: u64) -> PullNumber {
    PullNumber::new(n).unwrap()
}

fn own_app() -> AppId {
    AppId::new(1000).unwrap()
}

fn repository() -> Repository {
    Repository {
        id: repo_id(),
        name: RepoName::parse("acme/shop").unwrap(),
        installation: InstallationId::new(7).unwrap(),
        default_branch: Some(base("main")),
    }
}

fn ann() -> Actor {
    Actor {
        id: ActorId::new(5).unwrap(),
        login: Login::new("ann"),
        kind: ActorKind::User,
    }
}

fn pull(second: i64, tip: u8) -> PullRequest {
    PullRequest {
        number: number(3),
        title: format!("at {second}"),
        body: String::new(),
        state: PullState::Open,
        draft: false,
        head: head(tip),
        head_ref: "agent/fix".to_owned(),
        head_repo: Some(repo_id()),
        base: base("main"),
        author: Some(ann()),
        labels: Vec::new(),
        mergeable: None,
        test_merge: None,
        changed_files: None,
        auto_merge: false,
        created_at: at(0),
        updated_at: at(second),
    }
}

fn merged(second: i64) -> PullRequest {
    PullRequest {
        state: PullState::Merged {
            at: Some(at(second)),
            by: None,
            commit: Some(oid(0xcc)),
        },
        ..pull(second, 1)
    }
}

fn review(id: u64, state: ReviewState, body: &str, edited: bool) -> Review {
    Review {
        id: ReviewId::new(id).unwrap(),
        author: Some(ann()),
        state,
        head: Some(head(1)),
        submitted_at: Some(at(1)),
        body: body.to_owned(),
        edited,
        url: None,
    }
}

fn comment(id: u64, body: &str, edited: bool) -> Comment {
    Comment {
        id: CommentId::new(id).unwrap(),
        author: Some(ann()),
        app: None,
        body: body.to_owned(),
        created_at: at(1),
        edited,
        url: None,
    }
}

fn run(id: u64, status: RunStatus, completed: Option<i64>) -> CheckRun {
    CheckRun {
        id: CheckRunId::new(id).unwrap(),
        name: "unit".to_owned(),
        app: Some(AppRef {
            id: AppId::new(15368).unwrap(),
            slug: "github-actions".to_owned(),
        }),
        head: head(1),
        status,
        suite: SuiteId::new(61),
        external_id: None,
        completed_at: completed.map(at),
        url: None,
        output_text: None,
    }
}

fn unfinished(word: &str) -> RunStatus {
    RunStatus::Unfinished(word.to_owned())
}

fn success() -> RunStatus {
    RunStatus::Completed(Conclusion::Success)
}

fn rerun(id: u64, completed: i64) -> CheckRun {
    run(id, unfinished(super::head::RERUN), Some(completed))
}

fn run_change(run: CheckRun) -> Change {
    Change::Run(repo_id(), run)
}

fn pull_change(pull: PullRequest) -> Change {
    Change::Pull(repo_id(), Box::new(pull))
}

fn review_change(review: Review) -> Change {
    Change::Review(repo_id(), number(3), review)
}

fn comment_change(comment: Comment) -> Change {
    Change::Comment(repo_id(), number(3), comment)
}

fn status(id: u64, context: &str, state: StatusState) -> Change {
    Change::Status(
        repo_id(),
        head(1),
        CommitStatus {
            id: StatusId::new(id),
            context: context.to_owned(),
            state,
            creator: None,
            updated_at: Some(at(id.try_into().unwrap())),
            url: None,
        },
    )
}

fn workflow(id: u64, attempt: u64) -> Change {
    Change::Workflow(
        repo_id(),
        WorkflowRun {
            id: WorkflowRunId::new(id).unwrap(),
            suite: SuiteId::new(61).unwrap(),
            path: ".github/workflows/ci.yml".to_owned(),
            event: "push".to_owned(),
            attempt,
            head: head(1),
        },
    )
}

fn push(before: u8, after: u8) -> Change {
    Change::Tip {
        repo: repo_id(),
        base: base("main"),
        before: (before > 0).then(|| oid(before)),
        after: (after > 0).then(|| oid(after)),
        policy_untouched: true,
    }
}

fn pulled(changes: &[Change]) -> PullMemory {
    let mut memory = PullMemory::default();
    changes.iter().for_each(|change| memory.apply(change));
    memory
}

fn headed(changes: &[Change]) -> HeadMemory {
    let mut memory = HeadMemory::default();
    changes.iter().for_each(|change| memory.apply(change));
    memory
}

fn based(changes: &[Change]) -> BaseMemory {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    changes.iter().for_each(|change| memory.apply(change));
    memory.bases.remove(&base("main")).unwrap_or_default()
}

// ---- pull requests -------------------------------------------------------------------------------

#[test]
fn an_older_delivery_never_overwrites_a_newer_one() {
    let memory = pulled(&[pull_change(pull(9, 2)), pull_change(pull(5, 1))]);
    assert_eq!(memory.pull.unwrap().head, head(2));
    let memory = pulled(&[pull_change(pull(5, 1)), pull_change(pull(5, 2))]);
    assert_eq!(
        memory.pull.unwrap().head,
        head(2),
        "dated alike: the last to arrive"
    );
}

#[test]
fn a_merged_pull_request_stays_merged() {
    for second in [4, 5, 6] {
        let memory = pulled(&[pull_change(merged(5)), pull_change(pull(second, 1))]);
        assert!(matches!(
            memory.pull.unwrap().state,
            PullState::Merged { .. }
        ));
    }
}

#[test]
fn a_comparison_is_kept_only_while_head_and_base_are_the_same() {
    let comparison = Comparison {
        base_tip: oid(9),
        head: head(1),
        merge_base: oid(9),
        files: Listing::default(),
        commits: Listing::default(),
    };
    let after = |pull: PullRequest| {
        let mut memory = pulled(&[pull_change(self::pull(1, 1))]);
        memory.comparison = Some(comparison.clone());
        memory.apply(&pull_change(pull));
        memory.comparison.is_some()
    };
    assert!(after(pull(2, 1)));
    assert!(!after(pull(2, 2)));
    let retargeted = PullRequest {
        base: base("next"),
        ..pull(2, 1)
    };
    assert!(!after(retargeted));
}

#[test]
fn a_request_to_merge_keeps_the_head_it_was_made_for() {
    let mut memory = pulled(&[pull_change(pull(1, 1))]);
    memory.merge_requested = Some(head(1));
    memory.apply(&pull_change(pull(2, 2)));
    assert_eq!(memory.merge_requested, Some(head(1)));
}

#[test]
fn a_review_keeps_the_head_it_was_first_seen_with() {
    let moved = Review {
        head: Some(head(2)),
        ..review(80, ReviewState::Approved, "", false)
    };
    let first = review(80, ReviewState::Approved, "", false);
    let memory = pulled(&[review_change(first), review_change(moved)]);
    assert_eq!(memory.reviews.values().next().unwrap().head, Some(head(1)));
}

#[test]
fn evidence_that_reads_otherwise_later_counts_as_edited_and_a_mended_typo_does_not() {
    let edited = |first: &str, later: &str| {
        let memory = pulled(&[
            review_change(review(80, ReviewState::Commented, first, false)),
            review_change(review(80, ReviewState::Commented, later, false)),
        ]);
        memory.reviews.into_values().next().unwrap().edited
    };
    assert!(edited(EVIDENCE, &format!("{EVIDENCE} ")));
    assert!(edited(EVIDENCE, ""));
    assert!(edited("", EVIDENCE), "evidence slipped into an old review");
    assert!(!edited(EVIDENCE, EVIDENCE));
    assert!(!edited("fien", "fine"));
    assert!(!edited("", "a whole text, as lists give it"));
}

#[test]
fn only_comments_with_evidence_are_kept() {
    let memory = pulled(&[
        comment_change(comment(1, "hello", false)),
        comment_change(comment(2, EVIDENCE, false)),
    ]);
    assert_eq!(
        memory
            .comments
            .keys()
            .map(|id| id.get())
            .collect::<Vec<_>>(),
        [2]
    );
}

#[test]
fn an_edited_comment_stays_edited_and_a_late_original_does_not_make_it_whole() {
    let original = comment_change(comment(2, EVIDENCE, false));
    for changes in [
        [
            original.clone(),
            comment_change(comment(2, "nothing here", true)),
        ],
        [
            comment_change(comment(2, "nothing here", true)),
            original.clone(),
        ],
        [
            original,
            comment_change(comment(2, "told by nobody", false)),
        ],
    ] {
        assert!(
            pulled(&changes)
                .comments
                .values()
                .all(|comment| comment.edited)
        );
    }
}

#[test]
fn a_deleted_comment_does_not_come_back_with_a_late_delivery() {
    let gone = Change::CommentGone(repo_id(), number(3), CommentId::new(2).unwrap());
    let created = comment_change(comment(2, EVIDENCE, false));
    let edited = comment_change(comment(2, EVIDENCE, true));
    for changes in [
        [created.clone(), edited.clone(), gone.clone()],
        [gone.clone(), created.clone(), edited.clone()],
        [created, gone, edited],
    ] {
        assert!(pulled(&changes).comments.is_empty());
    }
}

#[test]
fn a_hold_is_set_and_lifted() {
    let hold = Hold {
        reason: "wait".to_owned(),
        by: "ann".to_owned(),
        since: at(1),
    };
    let held = Change::Hold(repo_id(), number(3), hold.clone());
    assert_eq!(pulled(&[held.clone()]).hold, Some(hold));
    assert_eq!(
        pulled(&[held, Change::Unhold(repo_id(), number(3))]).hold,
        None
    );
}

// ---- commits -------------------------------------------------------------------------------------

fn standing(changes: &[Change]) -> RunStatus {
    headed(changes).runs.into_values().next().unwrap().status
}

#[test]
fn a_conclusion_is_not_undone_by_a_late_delivery_of_the_same_run() {
    let completed = run_change(run(60, success(), Some(5)));
    for word in ["queued", "in_progress", "waiting"] {
        let late = run_change(run(60, unfinished(word), None));
        assert_eq!(standing(&[completed.clone(), late]), success());
    }
}

#[test]
fn a_run_that_is_requested_again_counts_for_nothing_until_it_reports_anew() {
    let (first, again) = (
        run_change(run(60, success(), Some(5))),
        run_change(rerun(60, 5)),
    );
    let anew = run_change(run(60, RunStatus::Completed(Conclusion::Failure), Some(9)));
    assert_eq!(
        standing(&[first.clone(), again.clone()]),
        unfinished("rerequested")
    );
    assert_eq!(
        standing(&[again.clone(), first.clone()]),
        unfinished("rerequested")
    );
    let failure = RunStatus::Completed(Conclusion::Failure);
    assert_eq!(
        standing(&[first.clone(), again.clone(), anew.clone()]),
        failure
    );
    assert_eq!(standing(&[anew, again, first]), failure);
}

#[test]
fn a_suite_that_runs_again_voids_what_its_runs_concluded_and_no_others() {
    let other = CheckRun {
        suite: SuiteId::new(62),
        ..run(70, success(), Some(5))
    };
    let memory = headed(&[
        run_change(run(60, success(), Some(5))),
        run_change(other),
        Change::SuiteRerun(repo_id(), head(1), SuiteId::new(61).unwrap()),
        // Delivered twice: still void.
        run_change(run(60, success(), Some(5))),
    ]);
    let states: Vec<_> = memory.runs.into_values().map(|run| run.status).collect();
    assert_eq!(states, [unfinished("rerequested"), success()]);
}

#[test]
fn the_status_with_the_highest_id_counts_for_each_context() {
    let memory = headed(&[
        status(2, "a", StatusState::Success),
        status(1, "a", StatusState::Pending),
        status(3, "b", StatusState::Failure),
    ]);
    assert_eq!(memory.statuses["a"].state, StatusState::Success);
    assert_eq!(memory.statuses["b"].state, StatusState::Failure);
}

#[test]
fn statuses_without_ids_are_told_apart_by_their_dates() {
    let bare = |second: i64, state| match status(1, "a", state) {
        Change::Status(repo, head, status) => Change::Status(
            repo,
            head,
            CommitStatus {
                id: None,
                updated_at: Some(at(second)),
                ..status
            },
        ),
        change => change,
    };
    let memory = headed(&[bare(5, StatusState::Success), bare(4, StatusState::Failure)]);
    assert_eq!(memory.statuses["a"].state, StatusState::Success);
}

// ---- repositories --------------------------------------------------------------------------------

#[test]
fn a_late_delivery_neither_reactivates_nor_renames_a_known_repository() {
    let mut memory = RepoMemory::default();
    let old = Repository {
        name: RepoName::parse("acme/old").unwrap(),
        ..repository()
    };
    memory.apply(&Change::RepoSeen(old.clone()));
    assert!(memory.active, "any delivery teaches an unknown repository");
    memory.apply(&Change::Repo(repository()));
    memory.apply(&Change::InstallationActive(
        repository().installation,
        false,
    ));
    memory.apply(&Change::RepoSeen(old));
    assert!(!memory.active);
    assert_eq!(memory.repo.unwrap().name.to_string(), "acme/shop");
}

#[test]
fn only_the_installation_a_repository_belongs_to_switches_it() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    memory.apply(&Change::InstallationActive(
        InstallationId::new(8).unwrap(),
        false,
    ));
    assert!(memory.active);
    memory.apply(&Change::RepoInactive(repo_id()));
    assert!(!memory.active);
    memory.apply(&Change::InstallationActive(
        InstallationId::new(7).unwrap(),
        true,
    ));
    assert!(memory.active);
}

#[test]
fn a_short_form_does_not_erase_the_default_branch() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    memory.apply(&Change::Repo(Repository {
        default_branch: None,
        ..repository()
    }));
    assert_eq!(memory.repo.unwrap().default_branch, Some(base("main")));
}

#[test]
fn branches_nobody_asked_about_are_not_followed() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    let side = |branch: &str| match push(1, 2) {
        Change::Tip {
            repo,
            before,
            after,
            policy_untouched,
            ..
        } => Change::Tip {
            repo,
            base: base(branch),
            before,
            after,
            policy_untouched,
        },
        change => change,
    };
    memory.apply(&side("agent/1"));
    assert!(memory.bases.is_empty());
    memory.bases.insert(base("release"), BaseMemory::default());
    memory.apply(&side("release"));
    assert_eq!(memory.bases[&base("release")].tip, Some(oid(2)));
}

#[test]
fn a_branch_forced_back_to_where_it_had_been_is_read_anew() {
    assert_eq!(based(&[push(1, 2), push(2, 1)]).tip, None);
    assert_eq!(
        based(&[push(1, 2), push(2, 1), push(1, 3)]).tip,
        Some(oid(3))
    );
}

#[test]
fn after_a_lost_push_the_latest_to_arrive_is_believed_and_a_repetition_is_not() {
    let memory = based(&[push(1, 2), push(3, 4), push(1, 2)]);
    assert_eq!(memory.tip, Some(oid(4)));
}

#[test]
fn a_deleted_branch_has_no_tip_and_a_new_one_of_the_name_does() {
    assert_eq!(based(&[push(1, 2), push(2, 0)]).tip, None);
    assert_eq!(
        based(&[push(1, 2), push(2, 0), push(0, 3)]).tip,
        Some(oid(3))
    );
}

#[test]
fn the_policys_text_follows_the_tip_only_where_nobody_touched_it() {
    let carried = |change: Change| {
        let mut memory = BaseMemory {
            policy: Some(PolicyText {
                tip: oid(1),
                file: None,
            }),
            ..BaseMemory::default()
        };
        let mut repo = RepoMemory::default();
        repo.apply(&Change::Repo(repository()));
        std::mem::swap(repo.bases.entry(base("main")).or_default(), &mut memory);
        repo.apply(&change);
        repo.bases
            .remove(&base("main"))
            .unwrap()
            .policy
            .unwrap()
            .tip
    };
    assert_eq!(carried(push(1, 2)), oid(2));
    assert_eq!(
        carried(push(5, 6)),
        oid(1),
        "not from where the text was read"
    );
    let mut touched = push(1, 2);
    if let Change::Tip {
        policy_untouched, ..
    } = &mut touched
    {
        *policy_untouched = false;
    }
    assert_eq!(carried(touched), oid(1));
}

// ---- order and repetition ------------------------------------------------------------------------

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
            ..review(80, ReviewState::Approved, "taken out", true)
        }),
        review_change(review(81, ReviewState::ChangesRequested, "", false)),
        review_change(Review {
            head: None,
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

// ---- meaning -------------------------------------------------------------------------------------

fn means(event: &Event) -> Meaning {
    meaning(event, own_app(), at(100))
}

fn key_wakes(event: &Event) -> Vec<(Wake, Confirm)> {
    means(event).wakes
}

fn pull_key() -> Wake {
    Wake::Key(Key::Pull(repo_id(), number(3)))
}

fn pull_event(action: &str, pull: PullRequest, base_changed: bool) -> Event {
    Event::Pull {
        repo: repository(),
        action: action.to_owned(),
        pull: Box::new(pull),
        base_changed,
        sender: Some(ann()),
    }
}

fn run_event(action: &str, run: CheckRun, button: Option<&str>) -> Event {
    Event::CheckRun {
        repo: repository(),
        action: action.to_owned(),
        run,
        button: button.map(str::to_owned),
        sender: Some(ann()),
    }
}

fn own(external_id: &str) -> CheckRun {
    CheckRun {
        app: Some(AppRef {
            id: own_app(),
            slug: "countersign".to_owned(),
        }),
        external_id: Some(external_id.to_owned()),
        ..run(60, success(), Some(5))
    }
}

#[test]
fn a_pull_request_is_remembered_and_woken_also_when_it_is_closed() {
    for (action, pull) in [("opened", pull(1, 1)), ("closed", merged(2))] {
        let meaning = means(&pull_event(action, pull.clone(), false));
        assert_eq!(
            meaning.changes,
            [Change::RepoSeen(repository()), pull_change(pull)]
        );
        assert_eq!(meaning.wakes, [(pull_key(), Confirm::IfNeeded)]);
    }
    insta::assert_snapshot!(means(&pull_event("opened", pull(1, 1), false)).note, @"acme/shop#3 opened by ann");
}

#[test]
fn a_changed_base_reads_everything_again_since_dismissals_send_no_delivery() {
    assert_eq!(
        key_wakes(&pull_event("edited", pull(1, 1), true)),
        [(pull_key(), Confirm::Always)]
    );
}

#[test]
fn a_report_on_a_commit_wakes_whoever_has_it_as_head() {
    let woken = [(Wake::Head(repo_id(), head(1)), Confirm::IfNeeded)];
    assert_eq!(
        key_wakes(&run_event(
            "created",
            run(60, unfinished("queued"), None),
            None
        )),
        woken
    );
    for change in [status(1, "a", StatusState::Success), workflow(1, 1)] {
        let event = match change {
            Change::Status(_, head, status) => Event::Status {
                repo: repository(),
                head,
                status,
            },
            Change::Workflow(_, run) => Event::Workflow {
                repo: repository(),
                run,
            },
            change => panic!("{change:?}"),
        };
        assert_eq!(key_wakes(&event), woken);
    }
}

#[test]
fn a_rerequested_run_is_void_at_once() {
    let meaning = means(&run_event("rerequested", run(60, success(), Some(5)), None));
    assert_eq!(meaning.changes[1], run_change(rerun(60, 5)));
}

#[test]
fn a_suite_that_runs_again_reads_everything_again() {
    let suite = |action: &str| Event::CheckSuite {
        repo: repository(),
        action: action.to_owned(),
        head: head(1),
        suite: SuiteId::new(61).unwrap(),
    };
    let meaning = means(&suite("rerequested"));
    assert!(matches!(meaning.changes[1], Change::SuiteRerun(..)));
    assert_eq!(
        meaning.wakes,
        [(Wake::Head(repo_id(), head(1)), Confirm::Always)]
    );
    assert_eq!(key_wakes(&suite("completed")).len(), 1);
    assert_eq!(key_wakes(&suite("requested")), [], "nothing has run yet");
}

#[test]
fn what_this_app_wrote_itself_changes_nothing_and_wakes_nobody() {
    for action in ["created", "completed"] {
        let meaning = means(&run_event(action, own("pull-3"), None));
        assert_eq!(meaning.wakes, []);
        assert_eq!(meaning.changes, [Change::RepoSeen(repository())]);
    }
    let ours = Comment {
        app: own("").app,
        ..comment(1, EVIDENCE, false)
    };
    let event = Event::Comment {
        repo: repository(),
        action: "created".to_owned(),
        number: number(3),
        comment: ours,
    };
    assert_eq!(key_wakes(&event), []);
}

#[test]
fn the_buttons_of_our_check_run_do_what_they_say() {
    let pressed = |button: &str, external_id: &str| {
        means(&run_event(
            "requested_action",
            own(external_id),
            Some(button),
        ))
    };
    let everything = [(Wake::Head(repo_id(), head(1)), Confirm::Always)];
    assert_eq!(pressed("recheck", "pull-3").wakes, everything);
    assert_eq!(
        means(&run_event("rerequested", own("pull-3"), None)).wakes,
        everything
    );
    let hold = pressed("hold", "pull-3");
    assert!(matches!(&hold.changes[1], Change::Hold(_, number, hold)
        if number.get() == 3 && hold.by == "ann" && hold.since == at(100)));
    assert_eq!(hold.wakes, [(pull_key(), Confirm::IfNeeded)]);
    assert!(matches!(
        pressed("unhold", "pull-3-abc").changes[1],
        Change::Unhold(..)
    ));
    for (button, external_id) in [("hold", "pull-x"), ("hold", "other"), ("dance", "pull-3")] {
        let meaning = pressed(button, external_id);
        assert_eq!(
            (meaning.changes.len(), meaning.wakes.len()),
            (1, 0),
            "{}",
            meaning.note
        );
    }
}

#[test]
fn a_comment_wakes_only_where_evidence_is_or_was() {
    let commented = |action: &str, comment: Comment| {
        means(&Event::Comment {
            repo: repository(),
            action: action.to_owned(),
            number: number(3),
            comment,
        })
    };
    let woken = [(pull_key(), Confirm::IfNeeded)];
    assert_eq!(
        commented("created", comment(1, EVIDENCE, false)).wakes,
        woken
    );
    assert_eq!(
        commented("edited", comment(1, "taken out", true)).wakes,
        woken
    );
    assert_eq!(
        commented("deleted", comment(1, EVIDENCE, false)).wakes,
        woken
    );
    let hello = commented("created", comment(1, "hello", false));
    assert_eq!((hello.changes.len(), hello.wakes.len()), (1, 0));
    let gone = commented("deleted", comment(1, "hello", false));
    assert!(matches!(gone.changes[1], Change::CommentGone(..)));
    assert_eq!(gone.wakes, []);
}

#[test]
fn reviews_and_conversations_wake_their_pull_request() {
    let event = Event::Review {
        repo: repository(),
        action: "submitted".to_owned(),
        number: number(3),
        review: review(80, ReviewState::Approved, "", false),
    };
    assert_eq!(key_wakes(&event), [(pull_key(), Confirm::IfNeeded)]);
    let event = Event::Thread {
        repo: repository(),
        number: number(3),
    };
    assert_eq!(key_wakes(&event), [(pull_key(), Confirm::IfNeeded)]);
}

#[test]
fn a_push_moves_the_tip_and_wakes_what_wants_to_enter() {
    let event = Event::Push {
        repo: repository(),
        branch: base("main"),
        before: Some(oid(1)),
        after: Some(oid(2)),
        policy_untouched: true,
    };
    let meaning = means(&event);
    assert_eq!(meaning.changes[1], push(1, 2));
    assert_eq!(
        meaning.wakes,
        [(Wake::Base(repo_id(), base("main")), Confirm::IfNeeded)]
    );
}

#[test]
fn whatever_gives_the_app_reach_leads_to_a_look_at_everything() {
    let everything = (Wake::Key(Key::Repo(repo_id())), Confirm::Always);
    let installation = repository().installation;
    let installed = |action: &str, repos: Vec<Repository>| {
        means(&Event::Installation {
            installation,
            action: action.to_owned(),
            repos,
        })
    };
    let created = installed("created", vec![repository()]);
    assert_eq!(
        created.changes,
        [
            Change::Repo(repository()),
            Change::InstallationActive(installation, true)
        ]
    );
    let all = (Wake::Installation(installation), Confirm::Always);
    assert_eq!(created.wakes, [everything.clone(), all.clone()]);
    for action in ["unsuspend", "new_permissions_accepted"] {
        assert_eq!(installed(action, Vec::new()).wakes, [all.clone()]);
    }
    for action in ["suspend", "deleted"] {
        let meaning = installed(action, Vec::new());
        assert_eq!(
            meaning.changes,
            [Change::InstallationActive(installation, false)]
        );
        assert_eq!(meaning.wakes, []);
    }
    let came = means(&Event::Repositories {
        added: vec![repository()],
        removed: vec![repo_id()],
    });
    assert_eq!(
        came.changes,
        [Change::Repo(repository()), Change::RepoInactive(repo_id())]
    );
    assert_eq!(came.wakes, [everything.clone()]);
    let changed = |action: &str| {
        means(&Event::Repository {
            repo: repository(),
            action: action.to_owned(),
        })
    };
    for action in ["renamed", "transferred", "edited", "unarchived"] {
        assert_eq!(changed(action).changes, [Change::Repo(repository())]);
        assert_eq!(changed(action).wakes, [everything.clone()]);
    }
    for action in ["archived", "deleted"] {
        assert_eq!(changed(action).changes, [Change::RepoInactive(repo_id())]);
        assert_eq!(changed(action).wakes, []);
    }
}

#[test]
fn what_leads_to_nothing_says_why() {
    let queue = Event::MergeGroup {
        repo: repository(),
        head: head(1),
    };
    assert_eq!(key_wakes(&queue), []);
    insta::assert_snapshot!(means(&queue).note,
        @"GitHub's merge queue in acme/shop asks for checks on 0101010: this version does not answer queues");
    let other = Event::Other {
        why: "nothing to see".to_owned(),
    };
    assert_eq!(
        means(&other),
        Meaning {
            note: "nothing to see".to_owned(),
            ..Meaning::default()
        }
    );
    insta::assert_snapshot!(means(&Event::Ping).note, @"GitHub says hello: deliveries arrive");
}
