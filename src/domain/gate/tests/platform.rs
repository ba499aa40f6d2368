//! What GitHub's own rules demand.

use crate::domain::facts::*;
use crate::domain::model::AppId;
use crate::domain::testing::*;
use crate::domain::verdict::{Move, Outcome, decide};

const GATE: &str = "platform_rules";

fn ruled(rule: PlatformRule) -> Snapshot {
    let mut snapshot = snapshot();
    snapshot.rules = Fetched::Known(vec![rule]);
    snapshot
}

fn required(context: &str, app: Option<u64>, strict: bool) -> PlatformRule {
    PlatformRule::RequiredCheck {
        context: context.into(),
        app: app.and_then(AppId::new),
        strict,
    }
}

fn reviews(approvals: u64, methods: &[&str]) -> PlatformRule {
    PlatformRule::Reviews {
        approvals,
        code_owners: false,
        conversations: false,
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
    }
}

#[test]
fn no_rule_stands_in_no_way_and_unread_rules_do() {
    assert_eq!(state(&snapshot(), GATE), "satisfied");
    let mut unread = snapshot();
    unread.rules = Fetched::Unavailable("GitHub answered 403".into());
    assert_eq!(state(&unread, GATE), "undetermined");
}

#[test]
fn a_check_that_only_github_requires_is_waited_for_by_name() {
    let mut snapshot = ruled(required("Tests", None, false));
    let result = gate(&snapshot, GATE);
    assert_eq!(result.state.word(), "waiting");
    assert!(
        result
            .reason
            .contains("GitHub would refuse the merge: `Tests` has not reported")
    );
    items(&mut snapshot.runs).push(run(20, "Tests", Conclusion::Failure));
    assert_eq!(state(&snapshot, GATE), "failed");
    assert_eq!(decide(&snapshot).outcome, Outcome::Blocked);
    items(&mut snapshot.runs).push(run(21, "Tests", Conclusion::Skipped));
    assert_eq!(
        state(&snapshot, GATE),
        "satisfied",
        "GitHub takes a skipped check"
    );
}

#[test]
fn a_check_that_github_pins_to_an_app_is_not_met_by_another() {
    let mut snapshot = ruled(required("Tests", Some(ACTIONS.0), false));
    let mut other = run(20, "Tests", Conclusion::Success);
    other.app = Some(app((8, "15368")));
    items(&mut snapshot.runs).push(other);
    assert_eq!(state(&snapshot, GATE), "waiting");
    items(&mut snapshot.runs).push(run(21, "Tests", Conclusion::Success));
    assert_eq!(state(&snapshot, GATE), "satisfied");
}

#[test]
fn our_own_required_check_never_waits_for_itself() {
    assert_eq!(
        state(&ruled(required("countersign", None, false)), GATE),
        "satisfied"
    );
    let ours = ruled(required("countersign", Some(OWN.0), true));
    assert_eq!(state(&ours, GATE), "satisfied");
    let a_namesake = ruled(required("countersign", Some(8), false));
    assert_eq!(state(&a_namesake, GATE), "waiting");
}

#[test]
fn our_own_strict_check_still_asks_for_a_head_that_contains_the_base() {
    let mut behind = ruled(required("countersign", Some(OWN.0), true));
    known(&mut behind.comparison).merge_base = oid('9');
    assert_eq!(state(&behind, GATE), "failed");
}

#[test]
fn a_strict_check_asks_for_a_head_that_contains_the_base() {
    let mut snapshot = ruled(required("unit", None, true));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    known(&mut snapshot.comparison).merge_base = oid('9');
    let result = gate(&snapshot, GATE);
    assert_eq!(result.state.word(), "failed");
    assert_eq!(
        result.next.as_deref(),
        Some("update the branch with `main`")
    );
    snapshot.comparison = Fetched::Unavailable("GitHub answered 500".into());
    assert_eq!(state(&snapshot, GATE), "undetermined");
}

#[test]
fn reviews_that_github_requires_are_counted_in_advance() {
    let mut snapshot = ruled(reviews(1, &[]));
    assert_eq!(gate(&snapshot, GATE).state.whose_move(), Move::Maintainer);
    let carol = |id, state| review(id, user(61, "carol"), state);
    items(&mut snapshot.reviews).push(carol(1, ReviewState::Approved));
    assert_eq!(state(&snapshot, GATE), "satisfied");
    items(&mut snapshot.reviews).push(carol(2, ReviewState::ChangesRequested));
    assert_eq!(state(&snapshot, GATE), "waiting");
    known(&mut snapshot.reviews).complete = false;
    assert_eq!(state(&snapshot, GATE), "undetermined");
}

#[test]
fn a_rule_that_the_policy_can_never_meet_is_an_owners_matter() {
    let never = [
        PlatformRule::MergeQueue,
        PlatformRule::LinearHistory,
        PlatformRule::UpdatesRestricted,
        reviews(0, &["squash", "rebase"]),
    ];
    for rule in never {
        let result = gate(&ruled(rule.clone()), GATE);
        assert_eq!(result.state.word(), "failed", "{rule:?}");
        assert_eq!(result.state.whose_move(), Move::Owner, "{rule:?}");
        assert!(result.next.is_some(), "{rule:?}");
    }
    let squashing = policy_with("when: ready,", "when: ready, method: squash,");
    for rule in [PlatformRule::LinearHistory, reviews(0, &["squash"])] {
        assert_eq!(state(&under(&squashing, ruled(rule)), GATE), "satisfied");
    }
}

#[test]
fn a_rule_that_only_github_can_judge_is_named_and_left_to_it() {
    for rule in [
        PlatformRule::SignedCommits,
        PlatformRule::Other("code_scanning".into()),
    ] {
        let snapshot = ruled(rule);
        assert_eq!(state(&snapshot, GATE), "satisfied");
        assert!(told(&snapshot, GATE).contains("GitHub's to judge"));
    }
}
