//! Verifiers are asked by Countersign itself: late, once, and another one when one does not answer.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::{CheckDraft, Output};
use countersign::simulator::{Actor, Edits, Permission, PullHandle};
use serde_json::{Value, json};

use crate::stage::Stage;

const POLICY: &str = "\
version: 1
agents:
  authors: ['acme-agent[bot]']
  vendor: anthropic
  model: claude-opus
verifiers:
  codex:
    app: codex-verify
    vendor: openai
    request: { workflow: .github/workflows/codex.yml }
    unavailable: { title: '*rate limit*' }
  gemini:
    app: gemini-verify
    vendor: google
    request: { workflow: .github/workflows/gemini.yml }
    deadline: 30m
  twin: { app: claude-verify, vendor: anthropic, model: claude-opus }
gates:
  checks: { required: [unit] }
  second_verifier: { count: 1, independence: vendor }
merge: { when: ready, others: ready, base_branches: [main] }
";

const HOUR: i64 = 3_600;

/// A stage whose repository has both workflows, and the App of the second verifier.
async fn stage_with(policy: &str) -> (Stage, Actor) {
    let stage = Stage::with_policy(policy).await;
    for name in ["codex", "gemini", "claude"] {
        let path = format!(".github/workflows/{name}.yml");
        let edits = Edits::write(&path, "on: workflow_dispatch\n");
        stage
            .alice
            .push(&stage.shop, "main", "Verify", edits)
            .unwrap();
    }
    let gemini = stage.github.other_app("gemini-verify");
    stage.shop.allow(&gemini, Permission::Write).unwrap();
    stage.settle().await;
    (stage, gemini)
}

/// Which workflows were started, and for which head, oldest first.
fn started(stage: &Stage) -> Vec<(String, String)> {
    let id = stage.repo_id().get();
    let world = stage.github.lock();
    let runs = world.repo(id).unwrap().workflow_runs.values();
    let mut runs: Vec<_> = runs
        .filter(|run| run.event == "workflow_dispatch")
        .collect();
    runs.sort_by_key(|run| run.id);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    runs.iter()
        .map(|run| (file(&run.path), text(&run.inputs["head"])))
        .collect()
}

fn asked(stage: &Stage) -> Vec<String> {
    started(stage).into_iter().map(|(file, _)| file).collect()
}

async fn inconclusive(stage: &Stage, who: &Actor, pull: &PullHandle, reason: &str) {
    let evidence = stage.evidence(pull).with("/result", json!("inconclusive"));
    stage
        .reports(who, pull, &evidence.with("/reason", json!(reason)))
        .await;
}

async fn whys(stage: &Stage) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = stage.ledger(Kind::Asked).await;
    entries
        .iter()
        .map(|entry| (text(&entry.body["verifier"]), text(&entry.body["why"])))
        .collect()
}

fn pair(one: &str, other: &str) -> (String, String) {
    (one.to_owned(), other.to_owned())
}

#[tokio::test]
async fn a_verifier_is_asked_once_when_the_cheaper_gates_pass_and_its_answer_merges() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    assert_eq!(asked(&stage), [""; 0], "the check has not passed");
    stage.unit_passes(&pull).await;
    let head = pull.head().unwrap();
    assert_eq!(started(&stage), [pair("codex.yml", &head)]);
    // Whatever happens besides, it is not asked again.
    for sent in stage.github.sent() {
        stage.github.redeliver(sent.delivery.id).unwrap();
    }
    stage.settle().await;
    stage.sweep().await;
    stage.after(30).await;
    assert_eq!(asked(&stage), ["codex.yml"]);
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(
        said.contains("codex was asked at 14:13 UTC and has until 15:13 UTC"),
        "{said}"
    );
    let check = stage.our_check(&head).unwrap();
    assert!(check.text.contains("wait for codex"), "{}", check.text);
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(whys(&stage).await, [pair("codex", "first")]);
    let reported = stage.ledger(Kind::Reported).await;
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].body["result"], "approved");
}

#[tokio::test]
async fn a_draft_asks_nobody_until_it_is_ready() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.agent.convert_to_draft(&pull).unwrap();
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), [""; 0]);
    stage.agent.ready_for_review(&pull).unwrap();
    stage.settle().await;
    assert_eq!(asked(&stage), ["codex.yml"]);
}

#[tokio::test]
async fn a_red_check_or_a_hold_asks_nobody_until_it_is_mended() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    actions.fail(&stage.shop, &head, "unit").unwrap();
    stage.settle().await;
    stage.says(&stage.alice, &pull, "/hold look at this").await;
    assert_eq!(asked(&stage), [""; 0]);
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), [""; 0], "it is held");
    stage.says(&stage.alice, &pull, "/unhold").await;
    assert_eq!(asked(&stage), ["codex.yml"]);
}

#[tokio::test]
async fn a_new_head_is_asked_about_anew_and_the_old_one_no_more() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let first = pull.head().unwrap();
    let edits = Edits::write("README.md", "# Another shop\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.after(2 * HOUR).await;
    assert_eq!(
        asked(&stage).len(),
        1,
        "the new head's check has not passed"
    );
    stage.unit_passes(&pull).await;
    let second = pull.head().unwrap();
    assert_eq!(
        started(&stage),
        [pair("codex.yml", &first), pair("codex.yml", &second)]
    );
}

#[tokio::test]
async fn another_vendor_is_asked_when_one_had_no_quota_and_it_is_no_rejection() {
    let (stage, gemini) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    inconclusive(&stage, &stage.codex, &pull, "quota").await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml"]);
    stage.after(30).await;
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(
        said.contains("Unavailable: codex could not run: its quota is used up"),
        "{said}"
    );
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
    assert_eq!(whys(&stage).await[1], pair("gemini", "inconclusive"));
    let evidence = stage.evidence(&pull);
    stage.reports(&gemini, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn a_rejection_asks_nobody_else() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let evidence = stage.evidence(&pull).with("/result", json!("rejected"));
    stage.reports(&stage.codex, &pull, &evidence).await;
    stage.after(2 * HOUR).await;
    assert_eq!(asked(&stage), ["codex.yml"]);
    assert_eq!(stage.state(&pull, "second_verifier").await, "failed");
}

#[tokio::test]
async fn silence_is_noticed_by_the_clock_and_nobody_left_is_said_by_name() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.after(HOUR - 60).await;
    assert_eq!(asked(&stage), ["codex.yml"]);
    stage.after(120).await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml"]);
    assert_eq!(whys(&stage).await[1], pair("gemini", "silent"));
    stage.after(HOUR).await;
    stage.after(30).await;
    assert_eq!(asked(&stage).len(), 2, "nobody is asked twice");
    let gate = stage.gate(&pull, "second_verifier").await;
    let reason = gate["reason"].as_str().unwrap();
    assert!(
        reason.contains(
            "Nobody is left whom Countersign could ask: codex was asked at 14:13 UTC, silent past \
             its deadline of 1 h; gemini was asked at 15:14 UTC, silent past its deadline of 30 min"
        ),
        "{reason}"
    );
    assert_eq!(
        gate["next"],
        "comment `/verify codex` or `/verify gemini` once it can run again"
    );
    assert_eq!(gate["whose_move"], "maintainer");
}

#[tokio::test]
async fn a_check_run_that_shows_a_rate_limit_is_no_word_about_the_code() {
    let (stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let head = pull.head().unwrap();
    let failing = |title: &str| CheckDraft {
        name: "verification".into(),
        head: head.clone(),
        conclusion: Some("failure".into()),
        output: Output {
            title: Some(title.into()),
            summary: Some("no luck".into()),
            ..Output::default()
        },
        ..CheckDraft::default()
    };
    stage
        .codex
        .check(&stage.shop, failing("Something broke"))
        .unwrap();
    stage.settle().await;
    assert_eq!(
        asked(&stage),
        ["codex.yml"],
        "an unknown failure stays what it was"
    );
    let limited = failing("Weekly Rate Limit reached");
    stage.codex.check(&stage.shop, limited).unwrap();
    stage.settle().await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml"]);
    let said = stage.reasons(&pull, "second_verifier").await;
    assert!(
        said.contains("codex could not run: it had no capacity"),
        "{said}"
    );
}

#[tokio::test]
async fn when_all_had_no_capacity_the_first_is_asked_once_more_after_its_deadline() {
    let (stage, gemini) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    inconclusive(&stage, &stage.codex, &pull, "capacity").await;
    inconclusive(&stage, &gemini, &pull, "timeout").await;
    assert_eq!(asked(&stage).len(), 2);
    stage.after(31 * 60).await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml", "gemini.yml"]);
    stage.after(HOUR).await;
    stage.after(HOUR).await;
    assert_eq!(
        whys(&stage).await[2..],
        [pair("gemini", "again"), pair("codex", "again")]
    );
    stage.after(9 * HOUR).await;
    assert_eq!(asked(&stage).len(), 4, "once more, not for ever");
}

#[tokio::test]
async fn a_lost_answer_starts_no_second_run_also_over_a_restart() {
    let (mut stage, _) = stage_with(POLICY).await;
    let pull = stage.open_pull().await;
    let lost = FaultPlan::none().with("POST", "/dispatches", 1, Fault::DoneThen502);
    stage.github.set_faults(lost);
    stage.unit_passes(&pull).await;
    stage.restart().await;
    stage.after(60).await;
    stage.sweep().await;
    assert_eq!(asked(&stage), ["codex.yml"]);
    assert_eq!(whys(&stage).await, [pair("codex", "first")]);
    stage.after(HOUR).await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml"]);
}

#[tokio::test]
async fn a_verifier_that_cannot_be_told_is_named_and_the_next_one_is_asked() {
    let policy = POLICY.replace("workflows/codex.yml", "workflows/missing.yml");
    let (stage, _) = stage_with(&policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), ["gemini.yml"]);
    stage.after(30).await;
    let said = stage.reasons(&pull, "second_verifier").await;
    let told =
        "Unavailable: codex could not be told at 14:13 UTC: .github/workflows/missing.yml: GitHub";
    assert!(said.contains(told), "{said}");
    assert_eq!(whys(&stage).await[1], pair("gemini", "refused"));
}

#[tokio::test]
async fn two_pull_requests_are_asked_about_one_by_one() {
    let (stage, _) = stage_with(POLICY).await;
    let one = stage.open_pull().await;
    let other = stage.open_other("agent/other").await;
    stage.unit_passes(&one).await;
    stage.unit_passes(&other).await;
    let heads = [one.head().unwrap(), other.head().unwrap()];
    assert_eq!(
        started(&stage),
        [pair("codex.yml", &heads[0]), pair("codex.yml", &heads[1])]
    );
}

#[tokio::test]
async fn a_policy_that_observes_and_a_server_that_shadows_ask_nobody() {
    let (stage, _) = stage_with(&POLICY.replace("version: 1", "version: 1\nmode: observe")).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.after(5 * HOUR).await;
    assert_eq!(asked(&stage), [""; 0]);
    let (mut stage, _) = stage_with(POLICY).await;
    stage.shadow().await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.after(5 * HOUR).await;
    assert_eq!(asked(&stage), [""; 0]);
    assert_eq!(stage.ledger(Kind::Asked).await.len(), 0);
}

#[tokio::test]
async fn who_has_no_request_is_asked_by_people() {
    let policy = POLICY.replace(
        "    request: { workflow: .github/workflows/gemini.yml }\n",
        "",
    );
    let policy = policy.replace(
        "    request: { workflow: .github/workflows/codex.yml }\n",
        "",
    );
    let (stage, _) = stage_with(&policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), [""; 0]);
    let gate = stage.gate(&pull, "second_verifier").await;
    assert_eq!(
        gate["next"],
        "ask codex or gemini yourself: the policy names no `request` by which Countersign could"
    );
}

#[tokio::test]
async fn after_the_fallback_those_are_asked_too_who_are_enough_by_then() {
    let policy = POLICY
        .replace(
            "count: 1,",
            "count: 1, fallback: { after: 4h, independence: context },",
        )
        .replace(
            "twin: { app: claude-verify,",
            "twin: { app: claude-verify, request: { workflow: .github/workflows/claude.yml },",
        );
    let (stage, _) = stage_with(&policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    stage.after(HOUR + 1).await;
    stage.after(HOUR).await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml"]);
    stage.after(2 * HOUR).await;
    assert_eq!(asked(&stage), ["codex.yml", "gemini.yml", "claude.yml"]);
    assert_eq!(whys(&stage).await[2], pair("twin", "fallback"));
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.twin, &pull, &evidence).await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
}

#[tokio::test]
async fn the_certifier_is_asked_before_the_second_verifier() {
    let policy = POLICY.replace(
        "  second_verifier:",
        "  certification: { by: [gemini] }\n  second_verifier:",
    );
    let (stage, gemini) = stage_with(&policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), ["gemini.yml"]);
    let evidence = stage.evidence(&pull);
    stage.reports(&gemini, &pull, &evidence).await;
    assert_eq!(asked(&stage), ["gemini.yml", "codex.yml"]);
}

#[tokio::test]
async fn a_label_that_is_on_already_is_put_on_again_for_a_new_head() {
    let policy = POLICY.replace(
        "{ workflow: .github/workflows/codex.yml }",
        "{ label: 'verify:codex' }",
    );
    let (stage, _) = stage_with(&policy).await;
    let pull = stage.open_pull().await;
    stage.unit_passes(&pull).await;
    let labels = || pull.look(|pull| pull.labels.clone()).unwrap();
    assert_eq!(labels(), ["verify:codex"]);
    let edits = Edits::write("README.md", "# Another shop\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
    stage.settle().await;
    stage.unit_passes(&pull).await;
    assert_eq!(labels(), ["verify:codex"]);
    let taken_off = stage
        .github
        .calls_to("DELETE", "/labels/verify:codex")
        .len()
        + stage
            .github
            .calls_to("DELETE", "/labels/verify%3Acodex")
            .len();
    assert_eq!(taken_off, 1, "or GitHub would tell nobody of it");
}

#[tokio::test]
async fn the_button_asks_the_next_in_line_for_who_may_write() {
    let (stage, _) = stage_with(POLICY).await;
    let mallory = stage.github.user("mallory");
    stage.shop.publish().unwrap();
    let pull = stage.open_pull().await;
    let run = stage.our_check(&pull.head().unwrap()).unwrap().id;
    mallory.press(&stage.shop, run, "verify").unwrap();
    stage.settle().await;
    assert_eq!(asked(&stage), [""; 0], "who may not write asks for nothing");
    // A person may ask for it although the check has not passed.
    stage.after(1).await;
    stage.alice.press(&stage.shop, run, "verify").unwrap();
    stage.settle().await;
    assert_eq!(asked(&stage), ["codex.yml"]);
    assert_eq!(whys(&stage).await, [pair("codex", "person")]);
    stage.unit_passes(&pull).await;
    assert_eq!(asked(&stage), ["codex.yml"], "it is being waited for");
    let requests = stage.ledger(Kind::Request).await;
    assert_eq!(requests.len(), 2);
    assert!(requests[0].body["refused"].is_string());
    assert_eq!(requests[1].body["by"]["login"], "alice");
}
