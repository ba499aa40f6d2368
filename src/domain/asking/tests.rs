use chrono::Duration;
use proptest::prelude::*;
use serde_json::json;

mod words;

use super::decide;
use crate::domain::facts::{Asked, Conclusion, Fetched, Freshness, Listing, Snapshot, Why};
use crate::domain::model::Timestamp;
use crate::domain::testing::*;
use crate::domain::verdict;

/// Three vendors, of which two can be told; the third has the deadline of a day.
const POLICY: &str = r#"
version: 1
agents: { authors: ["acme-agent[bot]"], vendor: anthropic, model: claude-opus }
verifiers:
  gemini: { app: gemini-verify, vendor: google, request: { label: g }, deadline: 30m }
  codex: { app: codex-verify, vendor: openai, request: { workflow: .github/workflows/v.yml } }
  haiku: { app: haiku-verify, vendor: anthropic, model: claude-haiku, request: { comment: go } }
  alice: { user: alice }
gates:
  checks: { required: [unit] }
  second_verifier: { count: 1, independence: vendor, fallback: { after: 9h, independence: model } }
merge: { when: ready }
"#;

fn fresh() -> Snapshot {
    let mut snapshot = under(POLICY, with_reports(Vec::new()));
    snapshot.freshness = Freshness::Confirmed;
    snapshot.head_seen_at = Some(snapshot.now);
    snapshot
}

fn due(snapshot: &Snapshot) -> Vec<(String, Why)> {
    let asking = decide(snapshot, &verdict::decide(snapshot));
    let due = asking.due.iter();
    due.map(|due| (due.verifier.to_string(), due.why)).collect()
}

fn ask(snapshot: &mut Snapshot, name: &str, why: Why) {
    let verifier = name.parse_name();
    let asking = decide(snapshot, &verdict::decide(snapshot));
    let before = asking.answers[&verifier];
    snapshot.asked.push(Asked {
        verifier,
        head: head('b'),
        base: pull().base,
        at: snapshot.now,
        why,
        by: None,
        before: Some(before),
        refused: None,
    });
}

trait Named {
    fn parse_name(&self) -> crate::domain::model::VerifierName;
}

impl Named for &str {
    fn parse_name(&self) -> crate::domain::model::VerifierName {
        crate::domain::model::VerifierName::parse(self).unwrap()
    }
}

#[test]
fn the_first_of_the_file_is_asked_and_not_the_first_of_the_alphabet() {
    assert_eq!(due(&fresh()), [("gemini".to_owned(), Why::First)]);
}

#[test]
fn who_was_asked_into_another_base_is_asked_anew() {
    let mut snapshot = fresh();
    ask(&mut snapshot, "gemini", Why::First);
    assert_eq!(due(&snapshot), []);
    snapshot.asked.clear();
    assert_eq!(due(&snapshot).len(), 1);
}

/// What happens next in a random history.
#[derive(Debug, Clone)]
enum Step {
    Wait(i64),
    Report(usize, &'static str),
    Untold,
    Check(bool),
    Draft(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let words = prop::sample::select(vec!["capacity", "quota", "timeout", "read_only", "other"]);
    prop_oneof![
        (1_i64..200).prop_map(Step::Wait),
        (0_usize..3, words).prop_map(|(who, reason)| Step::Report(who, reason)),
        Just(Step::Untold),
        any::<bool>().prop_map(Step::Check),
        any::<bool>().prop_map(Step::Draft),
    ]
}

fn inconclusive(
    id: u64,
    who: usize,
    reason: &str,
    at: Timestamp,
) -> crate::domain::facts::CheckRun {
    let app = [GEMINI, CODEX, HAIKU][who];
    let mut document = approval(&format!("run {id}"));
    document["predicate"]["result"] = json!("inconclusive");
    document["predicate"]["reason"] = json!(reason);
    let mut run = report(id, app, &document);
    run.completed_at = Some(at);
    run
}

fn take(snapshot: &mut Snapshot, step: &Step, id: u64) {
    match step {
        Step::Wait(minutes) => snapshot.now += Duration::minutes(*minutes),
        Step::Report(who, reason) => {
            let run = inconclusive(id, *who, reason, snapshot.now);
            items(&mut snapshot.runs).push(run);
        }
        Step::Untold => {
            if let Some(last) = snapshot.asked.last_mut() {
                last.refused = Some("GitHub says 404".into());
            }
        }
        Step::Check(passes) => {
            let conclusion = match passes {
                true => Conclusion::Success,
                false => Conclusion::Failure,
            };
            let reports = items(&mut snapshot.runs);
            reports.retain(|run| run.output_text.is_some());
            reports.push(run(10, "unit", conclusion));
        }
        Step::Draft(draft) => known(&mut snapshot.pull).draft = *draft,
    }
}

proptest! {
    #[test]
    fn nobody_is_asked_twice_or_too_early_and_nobody_is_left_hanging(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut snapshot = fresh();
        for (index, step) in steps.iter().enumerate() {
            take(&mut snapshot, step, 100 + index as u64);
            let verdict = verdict::decide(&snapshot);
            let asking = decide(&snapshot, &verdict);
            let state = |name: &str| {
                let mut gates = verdict.gates.iter();
                gates.find(|gate| gate.gate == name).unwrap().state.word()
            };
            let cheap = state("checks") == "satisfied" && state("not_draft") == "satisfied";
            prop_assert!(cheap || asking.due.is_empty(), "asked while a cheaper gate is open");
            let somebody = !asking.due.is_empty();
            let waits = asking.look_at.is_some_and(|at| at > snapshot.now);
            let said = asking.nobody_left.contains(&"second_verifier");
            prop_assert!(!cheap || somebody || waits || said, "left hanging: {asking:?}");
            prop_assert!(asking.look_at.is_none_or(|at| at > snapshot.now), "{asking:?}");
            for due in asking.due {
                let times = |why: fn(Why) -> bool| {
                    let asked = snapshot.asked.iter();
                    asked.filter(|one| one.verifier == due.verifier && why(one.why)).count()
                };
                let before = match due.why {
                    Why::Again => times(|why| why == Why::Again),
                    _ => times(|_| true),
                };
                prop_assert_eq!(before, 0, "asked twice: {:?}", due);
                ask(&mut snapshot, due.verifier.as_str(), due.why);
            }
        }
    }
}

#[test]
fn nobody_is_asked_over_lists_that_are_not_known() {
    let mut snapshot = fresh();
    snapshot.runs = Fetched::Unavailable("GitHub answered 502".into());
    assert_eq!(due(&snapshot), []);
    snapshot.runs = Fetched::Known(Listing::whole(Vec::new()));
    assert_eq!(due(&snapshot), [], "the check is not there");
}

#[test]
fn a_deadline_is_bounded_and_only_an_app_shows_by_check_runs_that_it_could_not_run() {
    let problems = |old: &str, new: &str| {
        assert!(POLICY.contains(old));
        match crate::domain::policy::read::read(&POLICY.replace(old, new)) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.into_iter().map(|one| one.message).collect(),
        }
    };
    assert_eq!(problems("deadline: 30m", "deadline: 7d"), [""; 0]);
    let out = ["`verifiers.gemini.deadline` is out of bounds"];
    assert_eq!(problems("deadline: 30m", "deadline: 30s"), out);
    assert_eq!(problems("deadline: 30m", "deadline: 8d"), out);
    let shows = "unavailable: { title: '*limit*' }";
    let of_app = format!("app: gemini-verify, {shows}");
    assert_eq!(problems("app: gemini-verify", &of_app), [""; 0]);
    assert_eq!(
        problems("user: alice", &format!("user: alice, {shows}")),
        ["`verifiers.alice.unavailable` is about check runs, and only an `app` makes them"]
    );
    let without_title = "app: gemini-verify, unavailable: { conclusion: [failure] }";
    assert_eq!(
        problems("app: gemini-verify", without_title),
        ["`verifiers.gemini.unavailable` needs `title`"]
    );
}

#[test]
fn a_pattern_that_takes_a_verdict_for_an_outage_is_refused() {
    let refused = |title: &str| {
        let shows = format!("app: codex-verify, unavailable: {{ title: '{title}' }}");
        let policy = POLICY.replace("app: codex-verify", &shows);
        let problems = crate::domain::policy::read::read(&policy).err();
        let problems = problems.unwrap_or_default().into_iter();
        problems.map(|one| one.message).collect::<Vec<_>>()
    };
    for broad in [
        "*",
        "**",
        "*a*",
        "*FAILED*",
        "*fail*",
        "*verif*",
        "rejected",
        "*mutants*",
    ] {
        let told = refused(broad);
        assert_eq!(told.len(), 1, "{broad}");
        assert!(
            told[0].contains("a rejection would pass for an outage"),
            "{told:?}"
        );
    }
    for narrow in [
        "*rate limit*",
        "*quota*",
        "failed to start*",
        "*no capacity*",
        "*429*",
    ] {
        assert_eq!(refused(narrow), [""; 0], "{narrow}");
    }
}

#[test]
fn a_rate_limited_run_takes_nothing_from_an_approval_that_is_there() {
    let policy = POLICY.replace(
        "app: codex-verify,",
        "app: codex-verify, unavailable: { title: '*rate limit*' },",
    );
    let mut snapshot = under(
        &policy,
        with_reports(vec![report(12, CODEX, &approval("exec-1"))]),
    );
    let mut limited = run(20, "verify", Conclusion::Failure);
    limited.app = Some(app(CODEX));
    limited.output_title = Some("Rate limit exceeded".into());
    items(&mut snapshot.runs).push(limited);
    assert_eq!(state(&snapshot, "second_verifier"), "satisfied");
    assert_eq!(due(&snapshot), []);
}
