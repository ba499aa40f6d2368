//! What events ask for.

use super::*;
use crate::domain::event::Event;
use crate::domain::memory::meaning;

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
        // It may take or free a slot for agents' work, too.
        let slots = (Wake::Key(Key::Dispatch(repo_id())), Confirm::IfNeeded);
        assert_eq!(meaning.wakes, [(pull_key(), Confirm::IfNeeded), slots]);
    }
    insta::assert_snapshot!(means(&pull_event("opened", pull(1, 1), false)).note, @"acme/shop#3 opened by ann");
}

#[test]
fn a_changed_base_reads_everything_again_since_dismissals_send_no_delivery() {
    let wakes = key_wakes(&pull_event("edited", pull(1, 1), true));
    assert_eq!(wakes[0], (pull_key(), Confirm::Always));
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
        on_pull: true,
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
            on_pull: true,
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
fn who_pushes_to_a_pull_request_is_remembered_with_the_head_and_nobody_else_is() {
    let (head, by) = (head(2), ann());
    let pushed = Change::Pushed(repo_id(), number(3), Pushed { head, by });
    let said = |action: &str| means(&pull_event(action, pull(2, 2), false)).changes;
    assert!(said("synchronize").contains(&pushed));
    for action in ["opened", "reopened", "labeled", "edited", "closed"] {
        assert!(!said(action).contains(&pushed), "{action}");
    }
}

fn defaults() -> Repository {
    Repository {
        name: RepoName::parse("acme/.GitHub").unwrap(),
        default_branch: Some(base("main")),
        ..repository()
    }
}

#[test]
fn a_push_that_may_change_the_default_policy_wakes_the_whole_installation() {
    let wakes = |repo: Repository, branch: &str, policy_untouched| {
        key_wakes(&Event::Push {
            repo,
            branch: base(branch),
            before: Some(oid(1)),
            after: Some(oid(2)),
            policy_untouched,
        })
    };
    let everybody = (Wake::Installation(defaults().installation), Confirm::Always);
    assert!(wakes(defaults(), "main", false).contains(&everybody));
    let unnamed = Repository {
        default_branch: None,
        ..defaults()
    };
    assert!(wakes(unnamed, "main", false).contains(&everybody));
    assert!(!wakes(defaults(), "main", true).contains(&everybody));
    assert!(!wakes(defaults(), "other", false).contains(&everybody));
    assert!(!wakes(repository(), "main", false).contains(&everybody));
}

#[test]
fn reach_over_the_repository_of_defaults_won_or_lost_wakes_the_whole_installation() {
    let everybody = (Wake::Installation(defaults().installation), Confirm::Always);
    let added = Event::Repositories {
        added: vec![defaults()],
        removed: Vec::new(),
    };
    assert!(key_wakes(&added).contains(&everybody));
    for action in ["renamed", "edited", "archived", "deleted"] {
        let event = Event::Repository {
            repo: defaults(),
            action: action.to_owned(),
        };
        assert!(key_wakes(&event).contains(&everybody), "{action}");
    }
}

#[test]
fn whatever_gives_or_takes_reach_leads_to_a_look_and_nothing_is_taken_on_a_deliverys_word() {
    let everything = [(Wake::Key(Key::Repo(repo_id())), Confirm::Always)];
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
            Change::InstallationActive(installation)
        ]
    );
    let all = [(Wake::Installation(installation), Confirm::Always)];
    assert_eq!(created.wakes, [everything.clone(), all.clone()].concat());
    for action in ["unsuspend", "new_permissions_accepted"] {
        assert_eq!(installed(action, Vec::new()).wakes, all);
    }
    for action in ["suspend", "deleted"] {
        let meaning = installed(action, Vec::new());
        assert_eq!(meaning.changes, [], "{action} is asked, not believed");
        assert_eq!(meaning.wakes, all);
    }
    let gone = RepoId::new(77).unwrap();
    let came = means(&Event::Repositories {
        added: vec![repository()],
        removed: vec![gone],
    });
    assert_eq!(came.changes, [Change::Repo(repository())]);
    let asked = [(Wake::Key(Key::Repo(gone)), Confirm::Always)];
    assert_eq!(came.wakes, [everything.clone(), asked].concat());
    let changed = |action: &str| {
        means(&Event::Repository {
            repo: repository(),
            action: action.to_owned(),
        })
    };
    for action in ["renamed", "transferred", "edited", "unarchived"] {
        assert_eq!(changed(action).changes, [Change::Repo(repository())]);
        assert_eq!(changed(action).wakes, everything);
    }
    for action in ["archived", "deleted"] {
        assert_eq!(changed(action).changes, []);
        assert_eq!(changed(action).wakes, everything);
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
