//! What follows from what is supposed.

use super::{Supposition, parse, suppose};
use crate::domain::facts::{Conclusion, Fetched, PlatformRule, PolicyFact, Snapshot, StatusState};
use crate::domain::model::AppId;
use crate::domain::testing::{self, *};
use crate::domain::verdict::{Outcome, decide};

fn supposing(mut snapshot: Snapshot, sentences: &[&str]) -> Snapshot {
    for sentence in sentences {
        suppose(&mut snapshot, &parse(sentence).unwrap()).unwrap();
    }
    snapshot
}

fn refused(mut snapshot: Snapshot, sentence: &str) -> String {
    let before = snapshot.clone();
    let why = suppose(&mut snapshot, &parse(sentence).unwrap()).unwrap_err();
    assert_eq!(snapshot, before);
    why
}

#[test]
fn every_form_is_read_whatever_its_blanks_and_case() {
    let report = |approves| Supposition::Report {
        verifier: "codex".into(),
        approves,
    };
    assert_eq!(parse(" Approved  by codex "), Ok(report(true)));
    assert_eq!(parse("rejected by codex"), Ok(report(false)));
    assert_eq!(parse("merge requested"), Ok(Supposition::MergeRequested));
    assert_eq!(parse("held"), Ok(Supposition::Held));
    assert_eq!(parse("NOT held"), Ok(Supposition::NotHeld));
    let check = |name: &str, passes| Supposition::Check {
        name: name.into(),
        passes,
    };
    assert_eq!(parse("check unit passes"), Ok(check("unit", true)));
    assert_eq!(
        parse("check Build (Linux, 3.12) fails"),
        Ok(check("Build (Linux, 3.12)", false))
    );
    assert_eq!(parse("check `unit` passes"), Ok(check("unit", true)));
}

#[test]
fn anything_else_is_refused_with_the_forms() {
    for wrong in [
        "",
        "approved",
        "approved by",
        "approved by codex and gemini",
        "check passes",
        "check unit",
        "merged",
    ] {
        let why = parse(wrong).unwrap_err();
        assert!(why.contains("\"approved by VERIFIER\""), "{wrong}: {why}");
    }
}

#[test]
fn an_approval_countersigns_and_kills_no_mutant() {
    let bare = with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    assert_eq!(state(&bare, "second_verifier"), "waiting");
    let supposed = supposing(bare, &["approved by codex"]);
    assert_eq!(state(&supposed, "second_verifier"), "satisfied");
    assert_eq!(state(&supposed, "mutation_check"), "waiting");
}

#[test]
fn a_verifier_that_is_not_independent_stays_so() {
    let bare = with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    let supposed = supposing(bare, &["approved by opus"]);
    assert_eq!(state(&supposed, "second_verifier"), "waiting");
    assert!(told(&supposed, "second_verifier").contains("not independent"));
}

#[test]
fn a_person_who_wrote_some_of_it_is_no_verifier_of_it() {
    let bare = || with_reports(vec![report(11, GEMINI, &approval("cert-1"))]);
    let by_other = supposing(bare(), &["approved by alice"]);
    assert_eq!(state(&by_other, "second_verifier"), "satisfied");
    let mut own = bare();
    let commits = &mut testing::known(&mut own.comparison).commits.items;
    commits[0].committer = Some(user(41, "Alice"));
    let by_author = supposing(own, &["approved by alice"]);
    assert_eq!(state(&by_author, "second_verifier"), "waiting");
}

#[test]
fn the_last_word_of_a_verifier_counts() {
    let rejected = supposing(snapshot(), &["rejected by codex"]);
    assert_eq!(state(&rejected, "second_verifier"), "failed");
    let again = supposing(rejected, &["approved by codex"]);
    assert_eq!(state(&again, "second_verifier"), "satisfied");
}

#[test]
fn a_check_that_is_supposed_replaces_what_is_there() {
    let failed = with_runs(vec![run(10, "unit", Conclusion::Failure)]);
    assert_eq!(state(&failed, "checks"), "failed");
    let passes = supposing(failed, &["check unit passes"]);
    assert_eq!(state(&passes, "checks"), "satisfied");
    let mut by_status = supposing(passes, &["check unit fails"]);
    assert_eq!(state(&by_status, "checks"), "failed");
    items(&mut by_status.runs).retain(|run| run.name != "unit");
    items(&mut by_status.statuses).push(status(1, "unit", StatusState::Error));
    assert_eq!(state(&by_status, "checks"), "failed");
    let passes = supposing(by_status, &["check unit passes"]);
    assert_eq!(state(&passes, "checks"), "satisfied");
}

#[test]
fn a_check_is_supposed_from_whom_it_is_asked() {
    for pin in [
        "{ name: unit, app: some-ci }",
        "{ name: unit, app: '4711' }",
        "{ name: 'uni*' }",
        "{ name: unit, app: github-actions, workflow: .github/workflows/ci.yml }",
    ] {
        let policy = policy_with("required: [unit]", &format!("required: [{pin}]"));
        let mut bare = under(&policy, with_runs(Vec::new()));
        testing::known(&mut bare.rules).push(PlatformRule::RequiredCheck {
            context: "unit".into(),
            app: AppId::new(15_368),
            strict: false,
        });
        let passes = supposing(bare, &["check unit passes"]);
        assert_eq!(state(&passes, "checks"), "satisfied", "{pin}");
        assert_eq!(state(&passes, "platform_rules"), "satisfied", "{pin}");
    }
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_nearest() {
    assert_eq!(
        refused(snapshot(), "approved by codx"),
        "`codx` is no verifier of the policy; did you mean `codex`?"
    );
    assert_eq!(
        refused(snapshot(), "check unti passes"),
        "no gate asks for a check named `unti`; did you mean `unit`?"
    );
    assert_eq!(
        refused(snapshot(), "check integration passes"),
        "no gate asks for a check named `integration`; asked for are `unit`"
    );
}

#[test]
fn a_hold_and_a_wish_to_merge_are_supposed_of_this_head() {
    let held = supposing(snapshot(), &["held"]);
    assert_eq!(decide(&held).outcome, Outcome::Held);
    let free = supposing(held, &["not held"]);
    assert_eq!(decide(&free).outcome, Outcome::Ready);
    let asked = supposing(free, &["merge requested"]);
    assert_eq!(asked.merge_requested, Some(head('b')));
}

#[test]
fn no_right_to_merge_comes_of_what_is_supposed() {
    assert!(decide(&snapshot()).clearance().is_some());
    for sentence in [
        "approved by codex",
        "check unit passes",
        "merge requested",
        "not held",
    ] {
        let supposed = supposing(snapshot(), &[sentence]);
        let verdict = decide(&supposed);
        assert_eq!(verdict.outcome, Outcome::Ready, "{sentence}");
        assert_eq!(verdict.clearance(), None, "{sentence}");
    }
}

#[test]
fn nothing_is_supposed_of_facts_that_could_not_be_read() {
    let mut unread = snapshot();
    unread.runs = Fetched::Unavailable("GitHub failed (502)".into());
    let why = refused(unread, "check unit passes");
    assert!(why.contains("GitHub failed (502)"), "{why}");
    let mut absent = snapshot();
    absent.policy = PolicyFact::Absent;
    assert!(refused(absent, "approved by codex").contains("no policy"));
}
