use serde_json::json;

use super::*;
use crate::domain::ledger::{Draft, seal};
use crate::domain::model::{RepoId, RepoName};
use crate::domain::testing::{head, time};

/// Entries of one repository: kind, time, pull request, body.
fn entries(all: &[(Kind, &str, u64, Value)]) -> Vec<Entry> {
    let mut sealed: Vec<Entry> = Vec::new();
    for (kind, at, number, body) in all {
        let draft = Draft {
            at: time(at),
            kind: *kind,
            repo: RepoId::new(1).unwrap(),
            number: PullNumber::new(*number),
            head: Some(head(char::from_digit(*number as u32, 16).unwrap())),
            body: body.clone(),
        };
        let last = sealed.last().map(|last| (last.seq, last.hash.as_str()));
        sealed.push(seal(draft, last));
    }
    sealed
}

fn judged(outcome: &str, gates: &[(&str, &str)]) -> Value {
    let gates: Vec<_> = gates
        .iter()
        .map(|(gate, state)| json!({ "gate": gate, "state": state, "reason": "" }))
        .collect();
    json!({ "outcome": outcome, "gates": gates })
}

fn month() -> Vec<Entry> {
    let waiting = judged(
        "waiting",
        &[
            ("certification", "satisfied"),
            ("second_verifier", "waiting"),
        ],
    );
    let refuted = judged(
        "blocked",
        &[
            ("certification", "satisfied"),
            ("second_verifier", "failed"),
        ],
    );
    let ready = judged(
        "ready",
        &[
            ("certification", "satisfied"),
            ("second_verifier", "satisfied"),
        ],
    );
    let olga = json!({ "id": 1, "login": "olga" });
    entries(&[
        (Kind::Verdict, "03-01 10:00", 1, waiting.clone()),
        (Kind::Verdict, "03-01 11:00", 1, refuted),
        (Kind::Verdict, "03-01 13:00", 1, ready.clone()),
        (
            Kind::Landed,
            "03-01 13:00",
            1,
            json!({ "judged": "as_judged" }),
        ),
        (Kind::Verdict, "03-02 10:00", 2, waiting.clone()),
        (Kind::Override, "03-02 11:00", 2, json!({ "by": olga })),
        (
            Kind::Landed,
            "03-02 12:00",
            2,
            json!({ "judged": "as_judged" }),
        ),
        (Kind::Verdict, "03-03 10:00", 3, waiting),
        (
            Kind::MergedPastGate,
            "03-03 11:00",
            3,
            json!({ "verdict_before": "waiting" }),
        ),
        (
            Kind::Freeze,
            "03-03 12:00",
            3,
            json!({ "base": "main", "frozen": "x", "by": olga }),
        ),
        (
            Kind::Freeze,
            "03-03 12:00",
            3,
            json!({ "base": "main", "frozen": "by itself" }),
        ),
        (Kind::Escaped, "03-03 13:00", 4, json!({ "through": 1 })),
        (
            Kind::Dispatch,
            "03-03 14:00",
            7,
            json!({ "what": "#7 asks for a dispatch" }),
        ),
        (
            Kind::Dispatch,
            "03-03 14:00",
            7,
            json!({ "what": "#7 was granted" }),
        ),
        (
            Kind::Dispatch,
            "03-03 14:00",
            8,
            json!({ "what": "#8 asks for a dispatch" }),
        ),
        (
            Kind::WouldHave,
            "03-03 14:00",
            8,
            json!({ "would": "the dispatch of #8 queued: full" }),
        ),
        (
            Kind::WouldHave,
            "03-03 14:00",
            9,
            json!({ "would": "the dispatch of #9 granted" }),
        ),
        (
            Kind::WouldHave,
            "03-03 14:00",
            5,
            json!({ "would": "merged" }),
        ),
    ])
}

#[test]
fn the_figures_are_counted_from_the_ledger() {
    let card = count(&month(), time("03-01 00:00"), time("04-01 00:00"));
    insta::assert_snapshot!(markdown(&RepoName::parse("acme/shop").unwrap(), &card));
    assert_eq!(
        card.seconds_open_by_gate["second_verifier"],
        (3 + 2 + 1) * 3_600
    );
    assert_eq!(card.interventions_per_merge, Some(2.0 / 3.0));
}

#[test]
fn the_gates_of_a_closed_pull_request_are_open_for_nobody() {
    let closed = judged("ignored", &[("open", "failed"), ("checks", "waiting")]);
    let waiting = judged("waiting", &[("checks", "waiting")]);
    let all = entries(&[
        (Kind::Verdict, "03-01 10:00", 1, waiting),
        (Kind::Verdict, "03-01 11:00", 1, closed),
    ]);
    let card = count(&all, time("03-01 00:00"), time("04-01 00:00"));
    assert_eq!(card.seconds_open_by_gate["checks"], 3_600);
    assert_eq!(card.seconds_open_by_gate.len(), 1);
}

#[test]
fn what_lies_outside_the_span_only_tells_how_things_stood() {
    let card = count(&month(), time("03-02 11:30"), time("03-03 10:30"));
    assert_eq!(
        (card.merged, card.merged_past_gate, card.overrides),
        (1, 0, 0)
    );
    // The waiver came before, and the head that it is for was merged within.
    assert_eq!(card.merges_with_override, 1);
    // Open from before, and still open at the end.
    assert_eq!(card.seconds_open_by_gate["second_verifier"], 1_800 + 1_800);
    let nothing = count(&[], time("03-01 00:00"), time("04-01 00:00"));
    assert_eq!(nothing.escaped_per_merge, None);
    assert_eq!(nothing.median_seconds_to_merge, None);
}

#[test]
fn an_outage_a_silence_and_a_rejection_are_three_figures() {
    let asked = |vendor: &str| {
        json!({ "verifier": vendor, "vendor": vendor, "why": "first", "deadline_s": 3600,
                "refused": null })
    };
    let said = |vendor: &str, result: &str, reason: Value| json!({ "verifier": vendor, "vendor": vendor, "result": result, "reason": reason });
    let refused =
        json!({ "verifier": "z", "vendor": "zeta", "deadline_s": 3600, "refused": "404" });
    let all = entries(&[
        (Kind::Asked, "03-01 10:00", 1, asked("openai")),
        (
            Kind::Reported,
            "03-01 10:30",
            1,
            said("openai", "inconclusive", json!("quota")),
        ),
        (Kind::Asked, "03-01 10:31", 1, asked("google")),
        (Kind::Verdict, "03-01 11:00", 1, judged("waiting", &[])),
        (
            Kind::Reported,
            "03-01 11:10",
            1,
            said("google", "rejected", Value::Null),
        ),
        // Nobody waits for the next one: its pull request is closed before its deadline.
        (Kind::Asked, "03-01 12:00", 2, asked("google")),
        (Kind::Verdict, "03-01 12:10", 2, judged("ignored", &[])),
        (Kind::Asked, "03-01 13:00", 3, asked("openai")),
        (
            Kind::Reported,
            "03-01 13:10",
            4,
            said("openai", "inconclusive", json!("read_only")),
        ),
        (Kind::Asked, "03-01 14:00", 5, refused),
    ]);
    let card = count(&all, time("03-01 00:00"), time("03-02 00:00"));
    let of = |vendor: &str| card.verifications_by_vendor[vendor];
    let openai = Vendor {
        asked: 2,
        unavailable: 1,
        undecided: 1,
        silent: 1,
        ..Vendor::default()
    };
    assert_eq!(of("openai"), openai);
    assert_eq!(
        (
            of("google").asked,
            of("google").rejected,
            of("google").silent
        ),
        (2, 1, 0)
    );
    assert_eq!((of("zeta").unavailable, of("zeta").silent), (1, 0));
    let text = markdown(&RepoName::parse("acme/shop").unwrap(), &card);
    let table = text
        .lines()
        .skip_while(|line| !line.starts_with("| Verifications by"));
    let table: Vec<_> = table.take_while(|line| !line.is_empty()).collect();
    insta::assert_snapshot!(table.join("\n"), @r"
    | Verifications by | Asked | Approved | Rejected | Could not say | Unavailable | Silent |
    |------------------|-------|----------|----------|---------------|-------------|--------|
    | google           | 2     | 0        | 1        | 0             | 0           | 0      |
    | openai           | 2     | 0        | 0        | 1             | 1           | 1      |
    | zeta             | 1     | 0        | 0        | 0             | 1           | 0      |
    ");
}
