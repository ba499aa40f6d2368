use serde_json::{Value, json};

use super::*;
use crate::domain::dispatch::{Count, Record, answer};
use crate::domain::model::CommentId;
use crate::domain::policy::read::read;
use crate::domain::testing::{self, time, user};

fn name() -> RepoName {
    RepoName::parse("acme/shop").unwrap()
}

fn number(number: u64) -> PullNumber {
    PullNumber::new(number).unwrap()
}

fn gate(name: &str, state: &str, on: Value, reason: &str, next: Option<&str>) -> Value {
    json!({
        "name": name, "state": state, "reason": reason, "rests_on": [], "next": next,
        "since": "2026-03-04T10:00:00Z", "whose_move": on, "details": [],
    })
}

fn told(of: u64, outcome: &str, landing: &str, gates: &[Value]) -> Told {
    let value = json!({
        "repository": "acme/shop", "number": of, "title": "t", "outcome": outcome, "reason": "r",
        "head": "b".repeat(40), "base": "main", "base_tip": null, "policy": null, "mode": "enforce",
        "landing": landing, "by_agent": true, "at": "2026-03-04T11:00:00Z",
        "freshness": "remembered", "snapshot": null, "since": "2026-03-04T09:00:00Z",
        "whose_move": [], "gates": gates,
    });
    Told::read(&value).unwrap()
}

struct Board(Vec<(Told, Priority, Vec<Question>)>);

impl Board {
    fn next(&self, dispatch: Option<&Answer>) -> Next {
        let open: Vec<Open<'_>> = self
            .0
            .iter()
            .map(|(told, priority, questions)| Open {
                number: told.number,
                title: "Record every start",
                told: Some(told),
                priority: *priority,
                questions,
            })
            .collect();
        next(&name(), &open, dispatch)
    }

    fn kinds(&self) -> Vec<(Kind, u64)> {
        let items = self.next(None).items;
        items
            .iter()
            .map(|item| (item.kind, item.number.unwrap().get()))
            .collect()
    }
}

fn board(all: Vec<Told>) -> Board {
    Board(
        all.into_iter()
            .map(|t| (t, Priority::Normal, Vec::new()))
            .collect(),
    )
}

fn verifier() -> Value {
    json!({ "verifier": ["codex"] })
}

fn not_countersigned() -> Value {
    gate(
        "second_verifier",
        "waiting",
        verifier(),
        "Nobody has countersigned.",
        None,
    )
}

#[test]
fn landing_comes_before_verifying_before_fixing_before_deciding() {
    let missing = not_countersigned();
    let failed = gate(
        "checks",
        "failed",
        json!("author"),
        "`unit` failed.",
        Some("push a fix"),
    );
    let owner = gate(
        "not_frozen",
        "waiting",
        json!("owner"),
        "It is frozen.",
        Some("`/thaw main`"),
    );
    let held = gate(
        "not_held",
        "waiting",
        json!("maintainer"),
        "Held.",
        Some("`/unhold`"),
    );
    let all = board(vec![
        told(1, "waiting", "now", &[owner]),
        told(2, "blocked", "now", std::slice::from_ref(&failed)),
        told(3, "waiting", "now", std::slice::from_ref(&missing)),
        told(4, "ready", "when_requested", &[]),
        told(5, "held", "now", std::slice::from_ref(&held)),
        // Held and not verified: the hold is not what lands it.
        told(6, "held", "now", &[held, missing.clone()]),
        // What failed is mended before it is verified.
        told(7, "blocked", "now", &[missing, failed]),
    ]);
    assert_eq!(
        all.kinds(),
        [
            (Kind::Land, 4),
            (Kind::Land, 5),
            (Kind::Verify, 3),
            (Kind::Verify, 6),
            (Kind::Fix, 2),
            (Kind::Fix, 7),
            (Kind::Decide, 1),
        ]
    );
}

#[test]
fn what_a_machine_does_is_nobodys_move() {
    let ci = gate("checks", "waiting", json!("ci"), "`unit` runs.", None);
    let github = gate(
        "conflicts",
        "waiting",
        json!("git_hub"),
        "Not said yet.",
        None,
    );
    let missing = not_countersigned();
    let all = board(vec![
        told(1, "waiting", "now", std::slice::from_ref(&ci)),
        told(2, "waiting", "now", &[github]),
        told(3, "ready", "now", &[]),
        told(4, "ignored", "now", &[]),
        told(5, "merged", "now", &[]),
        // A verification of what may yet fail its checks would be for nothing.
        told(6, "waiting", "now", &[ci, missing]),
    ]);
    let next = all.next(None);
    assert_eq!(next.items, []);
    assert_eq!(next.waiting, 5, "all but the ignored one");
}

#[test]
fn a_priority_changes_the_order_within_a_kind_and_not_between_kinds() {
    let ready = |of| told(of, "ready", "when_requested", &[]);
    let failed = gate("checks", "failed", json!("author"), "`unit` failed.", None);
    let all = Board(vec![
        (ready(1), Priority::Low, Vec::new()),
        (ready(2), Priority::Normal, Vec::new()),
        (ready(3), Priority::High, Vec::new()),
        (
            told(4, "blocked", "now", &[failed]),
            Priority::High,
            Vec::new(),
        ),
    ]);
    let order: Vec<u64> = all.kinds().into_iter().map(|(_, number)| number).collect();
    assert_eq!(order, [3, 2, 1, 4]);
}

#[test]
fn the_list_is_read_well() {
    let policy = format!("{}dispatch: {{ max_open_prs: 1 }}\n", testing::POLICY);
    let limit = read(&policy).unwrap().dispatch;
    let answer = answer(
        limit.as_ref(),
        &Count::Known(Vec::new()),
        &Record::default(),
    );
    let missing = gate(
        "second_verifier",
        "waiting",
        verifier(),
        "No independent verifier has countersigned bbbbbbb yet.",
        None,
    );
    let question = Question {
        comment: CommentId::new(9).unwrap(),
        question: "Keep the old name?".into(),
        default: "yes".into(),
        by: user(5, "bob").login,
        at: time("03-03 12:00"),
        url: None,
    };
    let all = Board(vec![
        (
            told(11, "ready", "when_requested", &[]),
            Priority::Normal,
            Vec::new(),
        ),
        (
            told(12, "waiting", "now", &[missing]),
            Priority::Normal,
            vec![question],
        ),
        (told(13, "ready", "now", &[]), Priority::Normal, Vec::new()),
    ]);
    insta::assert_snapshot!(list(&all.next(Some(&answer)), time("03-04 12:00")));
    let nothing = board(Vec::new()).next(None);
    assert_eq!(
        list(&nothing, time("03-04 12:00")),
        "acme/shop: nothing is anybody's move.\n"
    );
}

#[test]
fn a_full_limit_is_told_where_somebody_waits_for_it() {
    let policy = format!("{}dispatch: {{ max_open_prs: 0 }}\n", testing::POLICY);
    let limit = read(&policy).unwrap().dispatch;
    let holder = crate::domain::dispatch::Holder {
        number: number(1),
        title: "Work".into(),
        since: time("03-04 10:00"),
    };
    let count = Count::Known(vec![holder]);
    let idle = answer(limit.as_ref(), &count, &Record::default());
    assert!(!idle.allowed);
    assert_eq!(board(Vec::new()).next(Some(&idle)).items, []);
    let mut record = Record::default();
    record.queue.push(crate::domain::dispatch::Waiting {
        issue: number(7),
        title: "Count starts".into(),
        labels: vec!["dispatch".into()],
        order: 0,
        since: time("03-04 11:00"),
        shared: false,
        priority: Priority::Normal,
        lacks: None,
        under: String::new(),
        taken_off: Vec::new(),
        settled: true,
        comment: None,
        told: String::new(),
    });
    let full = answer(limit.as_ref(), &count, &record);
    let next = board(Vec::new()).next(Some(&full));
    assert_eq!(
        next.items[0].step,
        "land or close an agent's pull request; 1 wait in line, #7 first"
    );
}
