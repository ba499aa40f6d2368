//! How single changes are remembered; `order` shuffles them, `meaning` tells where they come from.

mod meaning;
mod order;
mod repo;

use super::*;
use crate::domain::facts::{
    CheckRun, Comment, CommitStatus, Conclusion, Listing, PullState, Pushed, ReviewState,
    RunStatus, StatusState,
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
        head_told: true,
        base: None,
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
        output_title: None,
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
fn a_head_that_only_a_list_told_gives_way_to_the_one_that_the_submission_told() {
    let told = review(80, ReviewState::Approved, "", false);
    let listed = |tip| Review {
        head: Some(head(tip)),
        head_told: false,
        ..told.clone()
    };
    let heads = |seen: Vec<Review>| {
        let changes: Vec<_> = seen.into_iter().map(review_change).collect();
        let memory = pulled(&changes);
        memory.reviews.into_values().next().unwrap().head
    };
    assert_eq!(heads(vec![listed(2), listed(3)]), Some(head(2)));
    assert_eq!(heads(vec![listed(2), told.clone()]), Some(head(1)));
    assert_eq!(heads(vec![told.clone(), listed(2)]), Some(head(1)));
}

#[test]
fn since_when_a_pull_request_has_its_base_is_known_once_it_had_another() {
    let into = |second: i64, name: &str| {
        pull_change(PullRequest {
            base: base(name),
            ..pull(second, 1)
        })
    };
    let since = |changes: &[Change]| pulled(changes).base_since;
    assert_eq!(since(&[into(1, "main"), into(2, "main")]), None);
    let moved = [into(1, "lower"), into(2, "main"), into(3, "main")];
    assert_eq!(since(&moved), Some(at(2)));
}

#[test]
fn everybody_who_pushed_a_head_is_remembered_once() {
    let pushed = |by: Actor, tip: u8| {
        let head = head(tip);
        Change::Pushed(repo_id(), number(3), Pushed { head, by })
    };
    let bob = || Actor {
        id: ActorId::new(6).unwrap(),
        ..ann()
    };
    let heard = [
        pushed(ann(), 2),
        pushed(bob(), 1),
        pushed(ann(), 2),
        pushed(ann(), 1),
    ];
    let told = pulled(&heard).pushes.into_iter();
    let told: Vec<_> = told.map(|push| (push.head, push.by.id.get())).collect();
    assert_eq!(told, [(head(2), 5), (head(1), 6), (head(1), 5)]);
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
fn a_deleted_comment_is_never_again_as_it_was_written() {
    let gone = Change::CommentGone(repo_id(), number(3), CommentId::new(2).unwrap());
    let created = comment_change(comment(2, EVIDENCE, false));
    let edited = comment_change(comment(2, EVIDENCE, true));
    for changes in [
        [created.clone(), edited.clone(), gone.clone()],
        [gone.clone(), created.clone(), edited.clone()],
        [created, gone, edited],
    ] {
        let memory = pulled(&changes);
        assert!(memory.comments.values().all(|comment| comment.edited));
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
    let mut memory = PullMemory::default();
    memory.apply(&held);
    assert_eq!(memory.pressed.hold, Some(hold));
    memory.apply(&Change::Unhold(repo_id(), number(3), at(9)));
    assert_eq!(memory.pressed.hold, None);
    assert_eq!(memory.pressed.let_go_at, Some(at(9)));
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
