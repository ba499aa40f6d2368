//! What is to be done about a gate that is open.

use crate::domain::facts::*;
use crate::domain::policy::read::read;
use crate::domain::testing::*;
use crate::domain::verdict::decide;

fn next(snapshot: &Snapshot, name: &str) -> String {
    gate(snapshot, name).next.expect("a next step")
}

fn unread() -> String {
    "GitHub failed (502)".into()
}

/// The good snapshot, spoilt in as many ways as there are facts.
fn spoilt() -> Vec<Snapshot> {
    let ways: Vec<fn(&mut Snapshot)> = vec![
        |s| s.pull = Fetched::Unavailable(unread()),
        |s| s.base = Fetched::Unavailable(unread()),
        |s| s.policy = PolicyFact::Unavailable(unread()),
        |s| s.runs = Fetched::Unavailable(unread()),
        |s| s.statuses = Fetched::Unavailable(unread()),
        |s| s.reviews = Fetched::Unavailable(unread()),
        |s| s.comments = Fetched::Unavailable(unread()),
        |s| s.comparison = Fetched::Unavailable(unread()),
        |s| s.rules = Fetched::Unavailable(unread()),
        |s| known(&mut s.pull).draft = true,
        |s| known(&mut s.pull).mergeable = None,
        |s| known(&mut s.pull).mergeable = Some(false),
        |s| known(&mut s.comparison).files.complete = false,
        |s| items(&mut s.runs).clear(),
        |s| items(&mut s.runs)[0].status = RunStatus::Unfinished("queued".into()),
        |s| items(&mut s.runs)[0].status = RunStatus::Completed(Conclusion::Cancelled),
        |s| items(&mut s.runs)[0].status = RunStatus::Completed(Conclusion::ActionRequired),
        |s| known(&mut s.rules).push(PlatformRule::UpdatesRestricted),
        |s| {
            known(&mut s.rules).push(PlatformRule::Reviews {
                approvals: 2,
                code_owners: false,
                conversations: false,
                methods: Vec::new(),
            });
        },
        |s| {
            s.refusal = Some(Refusal {
                head: head('b'),
                reason: "no".into(),
                times: 3,
                at: s.now,
            });
        },
        |s| {
            let problems = read("version: 1\ngats: {}").unwrap_err();
            let digest = s.policy.digest().unwrap().clone();
            s.policy = PolicyFact::Invalid {
                problems,
                digest,
                origin: PolicyOrigin::Repository,
            };
        },
    ];
    let spoil = |way: &fn(&mut Snapshot)| {
        let mut snapshot = snapshot();
        way(&mut snapshot);
        snapshot
    };
    ways.iter().map(spoil).collect()
}

#[test]
fn every_gate_that_is_open_says_what_to_do_next_and_no_other_does() {
    let approvals = policy_with(
        "gates:\n",
        "gates:\n  approvals: { count: 1, conversations_resolved: true }\n  size: { max_changed_lines: 1 }\n  exercised: [{ paths: ['**'], against: [postgres] }]\n",
    );
    for mut snapshot in spoilt() {
        for policy in [None, Some(&approvals)] {
            if let (Some(policy), PolicyFact::Valid { .. }) = (policy, &snapshot.policy) {
                snapshot = under(policy, snapshot);
            }
            let verdict = decide(&snapshot);
            let mut open = verdict.open_gates().peekable();
            assert!(open.peek().is_some(), "{snapshot:#?}");
            for gate in open {
                let next = gate.next.as_deref().unwrap_or_default();
                assert!(!next.trim().is_empty(), "{gate:#?}");
            }
            let passing = verdict.gates.iter().filter(|gate| gate.state.passes());
            for gate in passing {
                assert_eq!(gate.next, None, "{gate:#?}");
            }
        }
    }
}

#[test]
fn a_verification_is_asked_for_by_the_command_that_this_policy_understands() {
    let told = policy_with("gpt-5-codex }", "gpt-5-codex, request: { label: verify } }");
    let bare = with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    let bare = under(&told, bare);
    assert_eq!(
        next(&bare, "second_verifier"),
        "comment `/verify codex`, or ask alice yourself"
    );
    let long = told.replace("merge:", "commands: { short: false }\nmerge:");
    let bare = under(&long, bare);
    assert_eq!(
        next(&bare, "second_verifier"),
        "comment `/countersign verify codex`, or ask alice yourself"
    );
}

#[test]
fn nobody_is_sent_to_a_command_that_would_tell_nobody() {
    let bare = with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    assert_eq!(
        next(&bare, "second_verifier"),
        "ask codex or alice yourself: the policy names no `request` by which Countersign could"
    );
}

#[test]
fn while_something_cheaper_is_open_a_verifier_is_asked_later() {
    let mut early = with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    items(&mut early.runs)[0].status = RunStatus::Unfinished("queued".into());
    known(&mut early.pull).draft = true;
    assert_eq!(
        next(&early, "second_verifier"),
        "ask codex or alice once these pass: not a draft, checks \
         (the policy names no `request` by which Countersign could)"
    );
    known(&mut early.pull).draft = false;
    known(&mut early.pull).mergeable = None;
    let told = policy_with("gpt-5-codex }", "gpt-5-codex, request: { label: verify } }");
    assert_eq!(
        next(&under(&told, early.clone()), "second_verifier"),
        "wait: Countersign asks codex once these pass: checks; or ask alice then"
    );
    let observing = told.replace("version: 1", "version: 1\nmode: observe");
    assert_eq!(
        next(&under(&observing, early.clone()), "second_verifier"),
        "comment `/verify codex` once these pass: checks; or ask alice then"
    );
    // What GitHub has not said yet is asked of it when all else is there.
    items(&mut early.runs)[0].status = RunStatus::Completed(Conclusion::Success);
    assert_eq!(
        next(&under(&told, early), "second_verifier"),
        "comment `/verify codex`, or ask alice yourself"
    );
}

#[test]
fn a_rejection_leads_to_the_line_that_it_names_and_to_the_report() {
    let mut document = approval("exec-2");
    document["predicate"]["result"] = "rejected".into();
    document["predicate"]["findings"] = serde_json::json!([
        { "severity": "blocking", "path": "src/start.rs", "line": 40, "message": "Races." }
    ]);
    let mut rejected = report(20, CODEX, &document);
    rejected.url = Some("https://github.com/acme/shop/runs/20".into());
    let mut snapshot = snapshot();
    items(&mut snapshot.runs).push(rejected);
    let gate = gate(&snapshot, "second_verifier");
    assert_eq!(gate.next.as_deref(), Some("push a fix for src/start.rs:40"));
    assert_eq!(
        gate.seen[0].url.as_deref(),
        Some("https://github.com/acme/shop/runs/20")
    );
}

#[test]
fn a_survivor_leads_to_its_line_and_to_the_report() {
    let survived = mutated(approval("exec-1"), &[mutant("m1", 40, "survived")]);
    let mut survived = report(12, CODEX, &survived);
    survived.url = Some("https://github.com/acme/shop/runs/12".into());
    let snapshot = with_reports(vec![report(11, GEMINI, &approval("cert-1")), survived]);
    let gate = gate(&snapshot, "mutation_check");
    let next = gate.next.as_deref().unwrap();
    assert!(
        next.starts_with("push a fix for src/start.rs:40: "),
        "{next}"
    );
    assert!(gate.seen[0].url.is_some(), "{gate:#?}");
}

#[test]
fn a_check_that_failed_leads_to_its_page() {
    let mut failed = run(10, "unit", Conclusion::Failure);
    failed.url = Some("https://github.com/acme/shop/runs/10".into());
    let gate = gate(&with_runs(vec![failed]), "checks");
    assert_eq!(gate.next.as_deref(), Some("push a fix for `unit`"));
    assert_eq!(
        gate.seen[0].url.as_deref(),
        Some("https://github.com/acme/shop/runs/10")
    );
}

#[test]
fn a_stop_names_the_command_that_ends_it() {
    let mut stopped = snapshot();
    stopped.hold = Some(Hold {
        reason: "wait".into(),
        by: "alice".into(),
        since: stopped.now,
    });
    stopped.freeze = Some(Freeze {
        reason: "a fire".into(),
        by: "alice".into(),
        since: stopped.now,
    });
    assert!(next(&stopped, "not_held").ends_with("or comment `/unhold`"));
    assert!(next(&stopped, "not_frozen").ends_with("then comment `/thaw main`"));
    let window = "freeze: [{ from: 'Tue 16:00', to: 'Thu 07:00', timezone: UTC }]";
    let policy = policy_with("when: ready,", &format!("when: ready, {window},"));
    let closed = under(&policy, snapshot());
    assert_eq!(next(&closed, "not_frozen"), "wait until Thu 07:00 (UTC)");
}
