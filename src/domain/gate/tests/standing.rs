//! The gates that every pull request has.

use crate::domain::facts::*;
use crate::domain::model::{BaseRef, Timestamp};
use crate::domain::testing::*;
use crate::domain::verdict::{Move, Outcome, decide};

fn merging(options: &str) -> Snapshot {
    let policy = policy_with("when: ready,", &format!("when: ready, {options},"));
    under(&policy, snapshot())
}

fn frozen_at(window: &str, now: Timestamp) -> bool {
    let mut snapshot = merging(&format!("freeze: [{{ {window} }}]"));
    snapshot.now = now;
    state(&snapshot, "not_frozen") == "waiting"
}

const OVER_THE_WEEKEND: &str = r#"from: "Fri 16:00", to: "Mon 07:00", timezone: UTC"#;

#[test]
fn a_window_over_the_end_of_the_week_covers_exactly_its_hours() {
    for (now, frozen) in [
        ("03-06 15:59", false),
        ("03-06 16:00", true),
        ("03-07 03:00", true),
        ("03-08 23:59", true),
        ("03-09 06:59", true),
        ("03-09 07:00", false),
        ("03-11 12:00", false),
    ] {
        assert_eq!(frozen_at(OVER_THE_WEEKEND, time(now)), frozen, "{now}");
    }
}

#[test]
fn a_window_within_the_week_covers_exactly_its_hours() {
    let window = r#"from: "Tue 09:00", to: "Wed 12:00", timezone: UTC"#;
    for (now, frozen) in [
        ("03-03 08:59", false),
        ("03-03 09:00", true),
        ("03-04 11:59", true),
        ("03-04 12:00", false),
        ("03-07 12:00", false),
    ] {
        assert_eq!(frozen_at(window, time(now)), frozen, "{now}");
    }
}

#[test]
fn a_window_keeps_the_clocks_of_its_time_zone_when_they_change() {
    let window = r#"from: "Fri 16:00", to: "Mon 07:00", timezone: Europe/Berlin"#;
    for (now, frozen) in [
        ("03-06 14:59", false),
        ("03-06 15:00", true),
        ("03-27 14:59", false),
        ("03-27 15:00", true),
        // Clocks went forward on Sunday, 29 March.
        ("03-30 04:59", true),
        ("03-30 05:00", false),
        ("04-03 13:59", false),
        ("04-03 14:00", true),
    ] {
        assert_eq!(frozen_at(window, time(now)), frozen, "{now}");
    }
    let east = r#"from: "Sat 00:00", to: "Mon 00:00", timezone: Pacific/Auckland"#;
    assert!(
        frozen_at(east, time("03-06 12:00")),
        "Saturday has begun in Auckland"
    );
    assert!(
        !frozen_at(east, time("03-08 12:00")),
        "Monday has begun in Auckland"
    );
}

#[test]
fn a_recorded_freeze_waits_for_an_owner_and_says_why() {
    let mut snapshot = snapshot();
    snapshot.freeze = Some(Freeze {
        reason: "what landed was not what was judged".into(),
        by: "countersign".into(),
        since: time("03-04 11:00"),
    });
    let result = gate(&snapshot, "not_frozen");
    assert_eq!(result.state.whose_move(), Move::Owner);
    assert!(
        result
            .reason
            .contains("what landed was not what was judged")
    );
    assert_ne!(decide(&snapshot).outcome, Outcome::Ready);
}

#[test]
fn a_hold_waits_whatever_else_is_satisfied() {
    let mut snapshot = snapshot();
    snapshot.hold = Some(Hold {
        reason: "let me look first".into(),
        by: "alice".into(),
        since: time("03-04 11:00"),
    });
    assert_eq!(state(&snapshot, "not_held"), "waiting");
    assert!(told(&snapshot, "not_held").contains("alice holds it: let me look first"));
    assert_eq!(decide(&snapshot).outcome, Outcome::Held);
}

#[test]
fn conflicts_are_judged_by_githubs_word_and_its_silence_is_no_word() {
    for (mergeable, word, on) in [
        (Some(true), "satisfied", Move::Nobody),
        (Some(false), "failed", Move::Author),
        (None, "waiting", Move::GitHub),
    ] {
        let mut snapshot = snapshot();
        known(&mut snapshot.pull).mergeable = mergeable;
        let result = gate(&snapshot, "conflicts");
        assert_eq!((result.state.word(), result.state.whose_move()), (word, on));
    }
}

#[test]
fn a_draft_is_the_authors_move_and_of_what_is_closed_or_merged_no_gate_is_said() {
    let mut draft = snapshot();
    known(&mut draft.pull).draft = true;
    assert_eq!(gate(&draft, "not_draft").state.whose_move(), Move::Author);
    assert_eq!(decide(&draft).outcome, Outcome::Waiting);
    let mut closed = snapshot();
    known(&mut closed.pull).state = PullState::Closed;
    assert_eq!(decide(&closed).outcome, Outcome::Ignored);
    assert_eq!(decide(&closed).gates, []);
    known(&mut closed.pull).state = PullState::Merged {
        at: None,
        by: None,
        commit: None,
    };
    assert_eq!(decide(&closed).outcome, Outcome::Merged);
    assert_eq!(decide(&closed).gates, []);
    assert!(decide(&closed).clearance().is_none());
}

#[test]
fn a_base_that_the_policy_does_not_name_is_never_merged_into() {
    let mut snapshot = snapshot();
    known(&mut snapshot.pull).base = BaseRef::parse("feature").unwrap();
    assert_eq!(state(&snapshot, "base"), "failed");
    assert_eq!(decide(&snapshot).outcome, Outcome::Ignored);
    assert!(decide(&snapshot).clearance().is_none());
}

#[test]
fn a_base_whose_tip_is_not_known_leaves_the_gate_undetermined() {
    let mut unread = snapshot();
    unread.base = Fetched::Unavailable("GitHub answered 502".into());
    assert_eq!(state(&unread, "base"), "undetermined");
    let mut other = snapshot();
    known(&mut other.base).name = BaseRef::parse("release").unwrap();
    assert_eq!(state(&other, "base"), "undetermined");
}

#[test]
fn being_up_to_date_is_asked_of_the_branchs_own_tip() {
    let mut snapshot = merging("up_to_date: required");
    assert_eq!(state(&snapshot, "up_to_date"), "satisfied");
    known(&mut snapshot.comparison).merge_base = oid('9');
    assert_eq!(state(&snapshot, "up_to_date"), "failed");
    let mut moved = merging("up_to_date: required");
    known(&mut moved.base).tip = oid('e');
    assert_eq!(state(&moved, "up_to_date"), "undetermined");
    moved.comparison = Fetched::NotAsked;
    assert_eq!(state(&moved, "up_to_date"), "undetermined");
}

#[test]
fn a_merge_that_github_refused_is_tried_again_later_and_told_until_then() {
    let mut snapshot = snapshot();
    let refusal = |times| Refusal {
        head: head('b'),
        reason: "Base branch was modified".into(),
        times,
        at: time("03-04 11:59"),
    };
    snapshot.refusal = Some(refusal(1));
    assert_eq!(state(&snapshot, "landing"), "satisfied");
    snapshot.refusal = Some(refusal(10));
    assert_eq!(state(&snapshot, "landing"), "waiting");
    assert!(told(&snapshot, "landing").contains("Base branch was modified"));
    snapshot.now = time("03-04 13:00");
    assert_eq!(state(&snapshot, "landing"), "satisfied");
}

#[test]
fn a_policy_that_is_wrong_or_unread_or_missing_never_merges() {
    let mut snapshot = snapshot();
    let digest = crate::domain::model::PolicyDigest::parse(oid('f').as_str()).unwrap();
    let problems = crate::domain::policy::read::read("version: 1\ngats: {}").unwrap_err();
    snapshot.policy = PolicyFact::Invalid {
        problems,
        digest,
        origin: PolicyOrigin::Repository,
    };
    assert_eq!(decide(&snapshot).outcome, Outcome::Blocked);
    let told = told(&snapshot, "policy");
    assert!(told.contains("line 2, column 1 failed: "), "{told}");
    assert!(told.contains("; did you mean `gates`?"), "{told}");
    snapshot.policy = PolicyFact::Unavailable("GitHub answered 502".into());
    assert_eq!(decide(&snapshot).outcome, Outcome::Undetermined);
    snapshot.policy = PolicyFact::Absent;
    assert_eq!(decide(&snapshot).outcome, Outcome::Ignored);
    assert!(decide(&snapshot).clearance().is_none());
}
