use serde_json::json;

use super::*;
use crate::domain::model::{AppId, HeadSha};

fn now() -> Timestamp {
    chrono::DateTime::from_timestamp(1_790_000_000, 0).unwrap()
}

fn ago(minutes: i64) -> Timestamp {
    now() - Duration::minutes(minutes)
}

fn quiet() -> Facts {
    Facts {
        now: now(),
        round: Duration::minutes(10),
        shadow: false,
        github: None,
        due: None,
        waiting: None,
        dead: 0,
        missing: None,
        pulls: Vec::new(),
        bases: Vec::new(),
    }
}

fn name() -> RepoName {
    RepoName::parse("acme/shop").unwrap()
}

fn told(outcome: Outcome) -> Told {
    let value = json!({
        "repository": "acme/shop", "number": 7, "title": "", "outcome": outcome, "reason": "",
        "head": null, "base": null, "base_tip": null, "policy": null, "mode": "enforce",
        "landing": Landing::Now, "by_agent": true, "at": now(), "freshness": "confirmed",
        "snapshot": null, "whose_move": [], "gates": [],
    });
    Told::read(&value).unwrap()
}

fn gate(whose_move: Move, since: Timestamp) -> ToldGate {
    ToldGate {
        name: "checks".to_owned(),
        state: "waiting".to_owned(),
        reason: String::new(),
        rests_on: Vec::new(),
        since: Some(since),
        whose_move,
        next: None,
        details: Vec::new(),
    }
}

fn pull(number: u64, told: Option<Told>) -> Pull {
    Pull {
        repo: name(),
        number: PullNumber::new(number).unwrap(),
        known_since: now(),
        told,
        refusal: None,
    }
}

fn ready(since: Timestamp) -> Told {
    Told {
        since: Some(since),
        ..told(Outcome::Ready)
    }
}

fn refused(closed: Timestamp) -> Told {
    let open = gate(Move::GitHub, ago(1));
    let closed = ToldGate {
        state: "satisfied".to_owned(),
        ..gate(Move::Nobody, closed)
    };
    Told {
        head: HeadSha::parse(&"a".repeat(40)).ok(),
        gates: vec![closed, open],
        ..told(Outcome::Waiting)
    }
}

fn waits(whose_move: Move, since: Timestamp) -> Told {
    Told {
        gates: vec![gate(whose_move, since)],
        ..told(Outcome::Waiting)
    }
}

fn with(change: impl FnOnce(&mut Facts)) -> Vec<Alarm> {
    let mut facts = quiet();
    change(&mut facts);
    raise(&facts)
}

fn kinds(alarms: &[Alarm]) -> Vec<Kind> {
    alarms.iter().map(|alarm| alarm.kind).collect()
}

/// Raised just after the bound, and not at it.
fn from(minutes: i64, kind: Kind, change: impl Fn(&mut Facts, Timestamp)) {
    let at = with(|facts| change(facts, ago(minutes)));
    assert_eq!(kinds(&at), [], "{kind:?} at the bound");
    let past = with(|facts| change(facts, ago(minutes + 1)));
    assert_eq!(kinds(&past), [kind], "past it");
}

#[test]
fn a_server_at_work_raises_nothing() {
    assert_eq!(raise(&quiet()), []);
    let busy = with(|facts| {
        facts.due = Some(ago(1));
        facts.waiting = Some(ago(1));
        facts.pulls = vec![pull(1, None), pull(2, Some(ready(ago(1))))];
        facts.bases = vec![(name(), BaseRef::parse("main").unwrap(), Gate::Closed)];
    });
    assert_eq!(busy, []);
}

#[test]
fn work_that_nobody_takes_up_raises_an_alarm_after_ten_minutes() {
    from(10, Kind::Stalled, |facts, since| facts.due = Some(since));
    from(10, Kind::InboxStalled, |facts, since| {
        facts.waiting = Some(since)
    });
}

#[test]
fn deliveries_that_were_asked_for_and_do_not_come_raise_an_alarm_after_half_an_hour() {
    from(30, Kind::Undelivered, |facts, since| {
        facts.missing = Some((3, since))
    });
}

#[test]
fn a_pull_request_that_was_never_judged_raises_an_alarm_after_half_an_hour() {
    from(30, Kind::NoPass, |facts, since| {
        let known_since = since;
        facts.pulls = vec![Pull {
            known_since,
            ..pull(7, None)
        }];
    });
}

#[test]
fn a_page_that_grows_old_raises_an_alarm_where_its_turn_should_have_come_three_times() {
    let old = |facts: &mut Facts, at| {
        facts.pulls = vec![pull(
            7,
            Some(Told {
                at,
                ..told(Outcome::Waiting)
            }),
        )];
    };
    from(6 * 60, Kind::NoPass, old);
    from(15 * 60, Kind::NoPass, |facts, at| {
        facts.round = Duration::hours(5);
        old(facts, at);
    });
}

#[test]
fn what_is_ready_and_not_merged_raises_an_alarm_after_a_quarter_of_an_hour() {
    from(15, Kind::NotMerged, |facts, since| {
        facts.pulls = vec![pull(7, Some(ready(since)))];
    });
}

#[test]
fn what_the_app_is_not_to_merge_by_itself_raises_none() {
    let since = ago(10_000);
    for landing in [Landing::WhenRequested, Landing::ByPeople, Landing::Observed] {
        let told = Told {
            landing,
            ..ready(since)
        };
        assert_eq!(with(|facts| facts.pulls = vec![pull(7, Some(told))]), []);
    }
    let shadowed = with(|facts| {
        facts.shadow = true;
        facts.pulls = vec![pull(7, Some(ready(since)))];
    });
    assert_eq!(shadowed, []);
}

#[test]
fn a_gate_that_waits_for_a_machine_raises_an_alarm_after_a_day() {
    for whose in [Move::Ci, Move::GitHub, Move::Verifier(vec!["codex".into()])] {
        from(24 * 60, Kind::GateOverdue, |facts, since| {
            facts.pulls = vec![pull(7, Some(waits(whose.clone(), since)))];
        });
    }
}

#[test]
fn a_gate_that_waits_for_a_person_raises_none() {
    for whose in [Move::Author, Move::Maintainer, Move::Owner] {
        let told = waits(whose, ago(100_000));
        assert_eq!(with(|facts| facts.pulls = vec![pull(7, Some(told))]), []);
    }
}

#[test]
fn of_many_alike_the_oldest_are_told_and_the_others_counted() {
    let many = with(|facts| {
        facts.pulls = (1..=25)
            .map(|n| pull(n, Some(ready(ago(100 + n as i64)))))
            .collect();
    });
    assert_eq!(many.len(), MOST_OF_A_KIND + 1);
    assert_eq!(many[0].about, "acme/shop#25");
    assert_eq!(
        many[MOST_OF_A_KIND].what,
        "5 more of the kind `not_merged`."
    );
}

#[test]
fn the_word_in_metrics_is_the_word_in_json() {
    for kind in KINDS {
        assert_eq!(json!(kind), kind.word());
    }
}

/// Every alarm as people read it.
#[test]
fn each_alarm_says_what_was_seen_and_what_to_do() {
    let trouble = |sort, why: &str| Trouble {
        since: ago(5),
        sort,
        why: why.to_owned(),
    };
    let mut alarms = vec![database()];
    for (sort, why) in [
        (
            Sort::Credentials,
            "GitHub refused the credentials (401): A JSON web token could not be decoded",
        ),
        (
            Sort::Limit { until: ago(-20) },
            "GitHub's rate limit is used up; again in 1200 s",
        ),
        (Sort::Other, "GitHub failed (502)"),
    ] {
        alarms.extend(with(|facts| facts.github = Some(trouble(sort, why))));
    }
    let refusal = Refusal {
        head: HeadSha::parse(&"a".repeat(40)).unwrap(),
        reason: "Required status check is expected".to_owned(),
        times: 3,
        at: ago(1),
    };
    let base = BaseRef::parse("main").unwrap();
    alarms.extend(with(|facts| {
        facts.due = Some(ago(60));
        facts.waiting = Some(ago(60));
        facts.dead = 1;
        facts.missing = Some((4, ago(90)));
        let known_since = ago(90);
        facts.pulls = vec![
            Pull {
                known_since,
                ..pull(1, None)
            },
            pull(
                2,
                Some(Told {
                    at: ago(10_000),
                    ..told(Outcome::Waiting)
                }),
            ),
            pull(3, Some(ready(ago(60)))),
            Pull {
                refusal: Some(refusal),
                ..pull(4, Some(refused(ago(60))))
            },
            pull(5, Some(waits(Move::Ci, ago(3_000)))),
            pull(
                6,
                Some(waits(Move::Verifier(vec!["codex".into()]), ago(3_000))),
            ),
            pull(7, Some(waits(Move::GitHub, ago(3_000)))),
        ];
        facts.bases = vec![
            (name(), base.clone(), Gate::Open),
            (name(), BaseRef::parse("release").unwrap(), Gate::Forgeable),
            (
                name(),
                BaseRef::parse("next").unwrap(),
                Gate::Elsewhere(AppId::new(9).unwrap()),
            ),
        ];
    }));
    let text: String = alarms
        .iter()
        .map(|one| format!("{}: {}\n    {}\n", one.kind.word(), one.what, one.mend))
        .collect();
    insta::assert_snapshot!(text);
}
