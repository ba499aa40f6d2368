use std::collections::BTreeMap;

use chrono::Duration;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::domain::command;
use crate::domain::facts::{Fetched, PolicyFact, PullState, Snapshot};
use crate::domain::model::{CommentId, PullNumber};
use crate::domain::policy::read::read;
use crate::domain::render::answer;
use crate::domain::testing::{self, POLICY, head, user};
use crate::domain::verdict::decide;

fn facts() -> Snapshot {
    let mut snapshot = testing::snapshot();
    let text = format!("{POLICY}owners: [olga, \"@acme/owners\"]\n");
    if let PolicyFact::Valid { policy, .. } = &mut snapshot.policy {
        **policy = read(&text).unwrap();
    }
    snapshot
}

/// A comment of olga's, who owns the policy, written after the last change of the pull request.
fn ask(text: &str, snapshot: &Snapshot) -> Ask {
    let at = snapshot.pull.known().unwrap().updated_at + Duration::seconds(1);
    Ask {
        comment: CommentId::new(7).unwrap(),
        by: user(170, "olga"),
        at,
        head: None,
        said: command::parse(text),
        url: Some("https://example.com/7".into()),
    }
}

struct Given {
    snapshot: Snapshot,
    writer: Permit,
    teams: BTreeMap<String, Fetched<Vec<Actor>>>,
    merged: BTreeMap<PullNumber, Fetched<bool>>,
    branches: BTreeMap<String, Fetched<bool>>,
}

impl Given {
    fn new() -> Self {
        Self {
            snapshot: facts(),
            writer: Permit::Yes,
            teams: BTreeMap::from([("acme/owners".into(), Fetched::Known(Vec::new()))]),
            merged: BTreeMap::new(),
            branches: BTreeMap::from([("main".into(), Fetched::Known(true))]),
        }
    }

    fn hear(&self, ask: &Ask) -> Heard {
        let verdict = decide(&self.snapshot);
        let gates: Vec<_> = verdict.gates.iter().map(|g| g.gate.as_str()).collect();
        let hearing = Hearing {
            ask,
            snapshot: &self.snapshot,
            writer: &self.writer,
            teams: &self.teams,
            merged: &self.merged,
            branches: &self.branches,
            freezes: &BTreeMap::new(),
            gates: &gates,
        };
        hear(&hearing, &Requests::default(), true)
    }

    /// What olga gets for this text: the requests that stand then, and the answer.
    fn told(&self, text: &str) -> (Requests, Reply) {
        settled(self.hear(&ask(text, &self.snapshot)))
    }

    /// The sentence for the only command of a text.
    fn sentence(&self, text: &str) -> String {
        let (_, reply) = self.told(text);
        format!("{:?}: {}", reply.receipt, reply.lines[0].text)
    }
}

fn settled(heard: Heard) -> (Requests, Reply) {
    match heard {
        Heard::Settled {
            requests, reply, ..
        } => (*requests, reply),
        Heard::Pending(why) => panic!("it waits: {why}"),
    }
}

fn waits(heard: &Heard) -> bool {
    matches!(heard, Heard::Pending(_))
}

#[test]
fn what_stands_after_each_command() {
    let given = Given::new();
    let standing = head('b');
    let pull = given.snapshot.pull.known().unwrap();
    assert_eq!(pull.head, standing);
    assert_eq!(given.told("/merge").0.merge.unwrap().head, standing);
    assert_eq!(given.told("/merge\n/unmerge").0.merge, None);
    assert_eq!(given.told("/hold wait").0.hold.unwrap().reason, "wait");
    assert_eq!(given.told("/hold wait\n/unhold").0.hold, None);
    assert_eq!(given.told("/priority low").0.priority, Priority::Low);
    assert_eq!(given.told("/ask A? | B").0.questions[0].default, "B");
    assert_eq!(
        given.told("/verify Opus").0.wishes[0].verifier.as_str(),
        "opus"
    );
    // The certifier is not asked by itself: it has spoken already. Of the others the first of the file is.
    assert_eq!(given.told("/verify").0.wishes[0].verifier.as_str(), "codex");
    let waiver = given.told("/override size accepted_risk small").0;
    assert_eq!(waiver.overrides, [], "the policy has no such gate");
    let waiver = given.told("/override CHECKS accepted_risk flaky").0;
    assert_eq!(waiver.overrides[0].head, standing);
}

#[test]
fn what_people_are_told() {
    let mut given = Given::new();
    given.branches.insert("mian".into(), Fetched::Known(false));
    given.merged = BTreeMap::from([
        (PullNumber::new(3).unwrap(), Fetched::Known(true)),
        (PullNumber::new(4).unwrap(), Fetched::Known(false)),
    ]);
    let told = [
        "/merge",
        "/merge now",
        "/countersign mrege",
        "/verify codex",
        "/verify codecs",
        "/override checks false_positive the runner's disk was full",
        "/override checks it flakes",
        "/override conflicts accepted_risk I know",
        "/override not_held accepted_risk I know",
        "/override tests accepted_risk I know",
        "/freeze main a bad deploy",
        "/freeze mian no",
        "/thaw main",
        "/ask Keep Windows 7? | yes",
        "/escaped #3",
        "/escaped #4",
    ]
    .map(|text| format!("{text}\n    {}\n", given.sentence(text)));
    insta::assert_snapshot!(told.concat());
}

#[test]
fn a_head_that_the_author_may_not_have_seen_is_not_what_they_asked_for() {
    let given = Given::new();
    let updated = given.snapshot.pull.known().unwrap().updated_at;
    for text in [
        "/merge",
        "/override checks accepted_risk x",
        "/verify codex",
    ] {
        let mut late = ask(text, &given.snapshot);
        // Something happened after the comment was written.
        late.at = updated - Duration::seconds(1);
        let (requests, reply) = settled(given.hear(&late));
        assert_eq!(requests, Requests::default(), "{text}");
        assert_eq!(reply.receipt, Receipt::Refused);
        assert!(
            reply.lines[0].text.contains(head('b').as_str()),
            "the head is told in full"
        );
        // Another head was known then.
        late.head = Some(head('1'));
        assert_eq!(settled(given.hear(&late)).0, Requests::default());
        // The same was.
        late.head = Some(head('b'));
        assert_ne!(settled(given.hear(&late)).0, Requests::default());
    }
    // A stop is for whatever head there is.
    let mut late = ask("/hold x", &given.snapshot);
    late.at = updated - Duration::hours(1);
    assert!(settled(given.hear(&late)).0.hold.is_some());
}

#[test]
fn who_may_not_ask_is_told_so_and_who_cannot_be_known_waits() {
    let mut given = Given::new();
    given.writer = Permit::No("this takes write access to the repository".into());
    for word in [
        "/merge",
        "/unmerge",
        "/hold x",
        "/unhold",
        "/verify",
        "/priority high",
    ] {
        let (requests, reply) = given.told(word);
        assert_eq!(requests, Requests::default(), "{word}");
        assert_eq!(reply.receipt, Receipt::Refused, "{word}");
    }
    // Whoever can comment may ask these.
    assert!(given.told("/status").1.status);
    assert!(given.told("/help").1.help);
    given.writer = Permit::CannotTell("GitHub failed (503)".into());
    assert!(waits(&given.hear(&ask("/merge", &given.snapshot))));
    // One that waits holds back the whole comment: half of it would be another wish.
    assert!(waits(&given.hear(&ask("/status\n/merge", &given.snapshot))));
}

#[test]
fn only_owners_waive_and_freeze() {
    let mut given = Given::new();
    let by = |given: &Given, login: &str, id: u64| {
        let mut ask = ask("/override checks accepted_risk x", &given.snapshot);
        ask.by = user(id, login);
        given.hear(&ask)
    };
    assert_eq!(settled(by(&given, "OLGA", 170)).0.overrides.len(), 1);
    assert_eq!(settled(by(&given, "mallory", 71)).0.overrides, []);
    // Of a team by their id, whatever they are called now.
    let team = |members| BTreeMap::from([("acme/owners".to_owned(), members)]);
    given.teams = team(Fetched::Known(vec![user(71, "mallory-before")]));
    assert_eq!(settled(by(&given, "mallory", 71)).0.overrides.len(), 1);
    given.teams = team(Fetched::Unavailable("GitHub failed (503)".into()));
    assert!(waits(&by(&given, "mallory", 71)));
    assert_eq!(settled(by(&given, "olga", 170)).0.overrides.len(), 1);
}

#[test]
fn nobody_waives_what_is_asked_of_their_own_work_and_no_agent_waives_anything() {
    let waived = |change: fn(&mut Snapshot)| {
        let mut given = Given::new();
        change(&mut given.snapshot);
        settled(given.hear(&ask("/override checks accepted_risk x", &given.snapshot)))
            .0
            .overrides
            .len()
    };
    assert_eq!(waived(|_| {}), 1);
    let opened = |snapshot: &mut Snapshot| {
        if let Fetched::Known(pull) = &mut snapshot.pull {
            pull.author = Some(user(170, "renamed"));
        }
    };
    assert_eq!(waived(opened), 0, "who opened it");
    let wrote = |snapshot: &mut Snapshot| {
        if let Fetched::Known(comparison) = &mut snapshot.comparison {
            comparison.commits.items[0].author = Some(user(170, "renamed"));
        }
    };
    assert_eq!(waived(wrote), 0, "who wrote a commit");
    let agents = |snapshot: &mut Snapshot| {
        if let PolicyFact::Valid { policy, .. } = &mut snapshot.policy {
            policy.agents.authors.push(Login::new("Olga"));
        }
    };
    assert_eq!(waived(agents), 0, "an agent's account");
    let mut given = Given::new();
    given.snapshot.comparison = Fetched::Unavailable("cut".into());
    let heard = given.hear(&ask("/override checks accepted_risk x", &given.snapshot));
    assert!(waits(&heard), "of unread commits anybody may be the author");
}

#[test]
fn a_waiver_counts_for_its_head_its_base_and_its_policy_alone() {
    let mut snapshot = facts();
    snapshot.runs = Fetched::Known(crate::domain::facts::Listing::whole(Vec::new()));
    let state = |snapshot: &Snapshot| {
        let verdict = decide(snapshot);
        let mut gates = verdict.gates.iter();
        gates
            .find(|gate| gate.gate == "checks")
            .unwrap()
            .state
            .word()
    };
    assert_eq!(state(&snapshot), "waiting");
    let given = Given {
        snapshot: snapshot.clone(),
        ..Given::new()
    };
    let (requests, _) = given.told("/override checks does_not_apply docs only");
    snapshot.overrides = requests.overrides;
    assert_eq!(state(&snapshot), "overridden");
    let spoiled = |change: fn(&mut Override)| {
        let mut snapshot = snapshot.clone();
        change(&mut snapshot.overrides[0]);
        state(&snapshot)
    };
    assert_eq!(spoiled(|waiver| waiver.head = head('1')), "waiting");
    assert_eq!(
        spoiled(|waiver| waiver.base = BaseRef::parse("next").unwrap()),
        "waiting"
    );
    let other = |waiver: &mut Override| {
        waiver.policy = PolicyDigest::parse(&"e".repeat(40)).unwrap();
    };
    assert_eq!(spoiled(other), "waiting");
    // What cannot be read cannot be waived.
    snapshot.runs = Fetched::Unavailable("GitHub failed (503)".into());
    assert_eq!(state(&snapshot), "undetermined");
}

#[test]
fn a_gate_that_is_not_the_policys_is_never_waived_whatever_is_on_record() {
    let mut snapshot = facts();
    if let Fetched::Known(pull) = &mut snapshot.pull {
        pull.draft = true;
        pull.mergeable = Some(false);
    }
    let (requests, _) = Given::new().told("/override checks accepted_risk x");
    let all = [
        "open",
        "not_draft",
        "policy",
        "conflicts",
        "base",
        "not_held",
        "not_frozen",
    ];
    for gate in all.into_iter().chain(["platform_rules", "landing"]) {
        let mut waiver = requests.overrides[0].clone();
        waiver.gate = gate.to_owned();
        snapshot.overrides.push(waiver);
        assert!(may_be_waived(gate, &[gate]).is_err(), "{gate}");
    }
    let verdict = decide(&snapshot);
    assert!(
        verdict
            .gates
            .iter()
            .all(|gate| gate.state.word() != "overridden")
    );
}

#[test]
fn the_later_of_hold_and_letting_go_counts_by_whichever_way() {
    let at = |second| testing::time("03-04 12:00") + Duration::seconds(second);
    let hold = |second| {
        Some(Hold {
            reason: "x".into(),
            by: "olga".into(),
            since: at(second),
        })
    };
    let standing = |hold_by_command, let_go_by_command, pressed, let_go_pressed| {
        let requests = Requests {
            hold: hold_by_command,
            let_go_at: let_go_by_command,
            ..Requests::default()
        };
        let pressed = Pressed {
            hold: pressed,
            let_go_at: let_go_pressed,
            verify: None,
        };
        requests.standing_hold(&pressed).is_some()
    };
    assert!(!standing(None, None, None, None));
    assert!(standing(hold(1), None, None, None));
    assert!(standing(None, None, hold(1), None));
    assert!(!standing(hold(1), None, None, Some(at(2))));
    assert!(!standing(None, Some(at(2)), hold(1), None));
    assert!(standing(hold(3), Some(at(2)), hold(1), Some(at(2))));
    // In one second nobody knows which was first: in doubt it stops.
    assert!(standing(hold(2), None, None, Some(at(2))));
}

#[test]
fn what_comes_too_late_is_said_to_be_too_late() {
    let mut given = Given::new();
    let state = |given: &mut Given, state| {
        if let Fetched::Known(pull) = &mut given.snapshot.pull {
            pull.state = state;
        }
    };
    let merged = PullState::Merged {
        at: None,
        by: None,
        commit: None,
    };
    state(&mut given, merged);
    assert_eq!(
        given.sentence("/hold wait"),
        "Refused: It comes too late: this is merged."
    );
    let merged = PullState::Merged {
        at: Some(crate::domain::testing::time("03-04 11:59")),
        by: None,
        commit: None,
    };
    state(&mut given, merged);
    assert_eq!(
        given.sentence("/hold wait"),
        "Refused: It comes too late: this is merged since 2026-03-04 11:59:00 UTC."
    );
    state(&mut given, PullState::Closed);
    assert_eq!(
        given.sentence("/merge"),
        "Refused: This is closed; reopen it first."
    );
}

#[test]
fn answers_are_read_well() {
    let mut given = Given::new();
    given.snapshot.runs = Fetched::Known(crate::domain::facts::Listing::whole(Vec::new()));
    let verdict = decide(&given.snapshot);
    let (_, reply) = given.told("/merge\n/override tests accepted_risk x\n/status\n/help");
    insta::assert_snapshot!(answer::body(&reply, &verdict).unwrap());
    let (_, quiet) = given.told("/hold wait");
    assert_eq!(answer::body(&quiet, &verdict), None);
}

proptest! {
    /// No answer can be taken for a command, nor does it call anybody, whatever people wrote.
    #[test]
    fn no_answer_holds_a_command_or_a_mention(
        first in "[\\PC\\n]{0,80}",
        second in prop_oneof!["/merge", "@olga", "<!-- x", "\n/merge\n", "`/merge`", "\\PC{0,20}"],
    ) {
        let given = Given::new();
        let verdict = decide(&given.snapshot);
        for text in [
            format!("/countersign {first}{second}"),
            format!("/override {second} accepted_risk {first}"),
            format!("/verify {second}"),
            format!("/freeze {second} {first}"),
            format!("/ask {first} | {second}"),
        ] {
            let asked = ask(&text, &given.snapshot);
            if let Heard::Settled { reply, .. } = given.hear(&asked)
                && let Some(body) = answer::body(&reply, &verdict)
            {
                prop_assert_eq!(command::parse(&body), vec![], "{}", body);
                let calls = body.split('@').skip(1).any(|after| {
                    after.starts_with(|c: char| c.is_ascii_alphanumeric())
                });
                prop_assert!(!calls, "{}", body);
            }
        }
    }
}

#[test]
fn what_is_recorded_says_who_what_and_where() {
    let given = Given::new();
    let heard = given.hear(&ask(
        "/override checks fix_follows see #9\n/priority high",
        &given.snapshot,
    ));
    let Heard::Settled { deeds, .. } = heard else {
        panic!("it waits");
    };
    let bodies: Vec<Value> = deeds
        .into_iter()
        .map(|deed| match deed {
            Deed::Ledger(_, body) => body,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(bodies[0]["override"]["gate"], "checks");
    assert_eq!(bodies[0]["override"]["category"], "fix_follows");
    assert_eq!(bodies[0]["by"]["login"], "olga");
    assert_eq!(bodies[1]["command"]["priority"], "high");
    assert_eq!(bodies[1]["url"], "https://example.com/7");
}
