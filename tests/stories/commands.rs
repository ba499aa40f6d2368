//! Commands in comments: who may ask what, what is answered, and that nothing is asked twice.

use countersign::domain::ledger::Kind;
use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::{RequiredCheck, Rule};
use countersign::simulator::{Actor, Edits, MergeMethod, Permission, PullHandle};

use crate::stage::{POLICY, Stage};

/// The usual policy, with an owner, in which merges are asked for.
fn asked_for() -> String {
    let policy = POLICY.replace("when: ready", "when: requested");
    format!("{policy}owners: [olga]\n")
}

struct Cast {
    stage: Stage,
    olga: Actor,
    bob: Actor,
    stranger: Actor,
    pull: PullHandle,
}

async fn cast() -> Cast {
    let stage = Stage::with_policy(&asked_for()).await;
    let olga = stage.github.user("olga");
    let bob = stage.github.user("bob");
    let stranger = stage.github.user("mallory");
    stage.shop.publish().unwrap();
    stage.shop.allow(&olga, Permission::Write).unwrap();
    stage.shop.allow(&bob, Permission::Write).unwrap();
    let pull = stage.open_pull().await;
    Cast {
        stage,
        olga,
        bob,
        stranger,
        pull,
    }
}

/// Calls fail like this until further notice.
fn fails(stage: &Stage, method: &str, path: &str, status: u16) {
    let plan = FaultPlan::none().with(method, path, 1_000, Fault::status(status));
    stage.github.set_faults(plan);
}

/// The agent pushes once more.
fn push_more(stage: &Stage) {
    let edits = Edits::write("README.md", "# Another shop\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "More", edits)
        .unwrap();
}

fn number(pull: &PullHandle) -> u64 {
    pull.look(|pull| pull.number).unwrap()
}

fn last_answer(stage: &Stage, pull: &PullHandle) -> String {
    stage.answers(number(pull)).pop().expect("an answer")
}

#[tokio::test]
async fn a_merge_that_is_asked_for_happens_when_everything_is_there() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    assert_eq!(stage.merge_calls(), 0);
    let comment = stage.says(&bob, &pull, "Nice.\r\n\r\n/merge\r\n").await;
    assert!(stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.reactions(comment), ["+1"]);
    let answer = last_answer(&stage, &pull);
    assert!(answer.contains(&pull.head().unwrap()), "{answer}");
    assert_eq!(stage.answers(number(&pull)).len(), 1);
    assert_eq!(stage.ledger(Kind::Request).await.len(), 1);
}

#[tokio::test]
async fn a_merge_that_is_asked_for_too_early_waits_and_can_be_withdrawn() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.says(&bob, &pull, "/merge").await;
    stage.says(&bob, &pull, "/unmerge").await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    assert!(!stage.merged(&pull));
    stage.says(&bob, &pull, "/merge").await;
    assert!(stage.merged(&pull));
}

#[tokio::test]
async fn a_request_to_merge_dies_with_the_head_it_was_made_for() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.says(&bob, &pull, "/merge").await;
    push_more(&stage);
    stage.settle().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "ready");
    assert!(!stage.merged(&pull));
}

#[tokio::test]
async fn a_push_between_the_comment_and_its_hearing_voids_what_it_asks() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.clear(&pull).await;
    let seen = pull.head().unwrap();
    let comment = bob.comment(&pull, "/merge").unwrap();
    stage.clock.advance(chrono::Duration::seconds(2));
    push_more(&stage);
    stage.settle().await;
    assert_eq!(stage.reactions(comment), ["-1"]);
    let answer = last_answer(&stage, &pull);
    assert!(answer.contains(&seen), "{answer}");
    assert!(answer.contains(&pull.head().unwrap()), "{answer}");
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
}

#[tokio::test]
async fn after_a_lost_push_a_command_is_refused_once_and_then_is_for_the_head_that_stands() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    // The delivery of the push is lost: the product believes in the head before.
    push_more(&stage);
    stage.github.lose_pending();
    stage.clock.advance(chrono::Duration::hours(1));
    // Whether it came before or after the comment cannot be told.
    let comment = stage.says(&bob, &pull, "/merge").await;
    assert_eq!(stage.reactions(comment), ["-1"]);
    stage.clock.advance(chrono::Duration::seconds(5));
    let comment = stage.says(&bob, &pull, "/merge").await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    let answer = last_answer(&stage, &pull);
    assert!(answer.contains(&pull.head().unwrap()), "{answer}");
    stage.clear(&pull).await;
    assert!(stage.merged(&pull));
}

#[tokio::test]
async fn a_stranger_is_refused_and_told_why() {
    let Cast {
        stage,
        stranger,
        pull,
        ..
    } = cast().await;
    stage.clear(&pull).await;
    for text in ["/merge", "/hold x", "/override checks accepted_risk x"] {
        let comment = stage.says(&stranger, &pull, text).await;
        assert_eq!(stage.reactions(comment), ["-1"], "{text}");
    }
    assert!(!stage.merged(&pull));
    assert_eq!(stage.outcome(&pull).await, "ready");
    insta::assert_snapshot!(last_answer(&stage, &pull));
    let turned_away = stage.ledger(Kind::Request).await;
    assert_eq!(turned_away.len(), 3);
    assert_eq!(turned_away[0].body["by"]["login"], "mallory");
    assert!(
        turned_away
            .iter()
            .all(|entry| entry.body["refused"].is_string())
    );
    // What anybody may ask is answered.
    let comment = stage.says(&stranger, &pull, "/status").await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    assert!(last_answer(&stage, &pull).contains("Ready to merge"));
}

#[tokio::test]
async fn who_cannot_be_known_is_asked_about_again_and_a_stop_holds_meanwhile() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.says(&bob, &pull, "/merge").await;
    fails(&stage, "GET", "/permission", 503);
    let comment = stage.says(&bob, &pull, "/hold not today").await;
    stage.clear(&pull).await;
    assert_eq!(stage.state(&pull, "not_held").await, "undetermined");
    assert!(!stage.merged(&pull));
    assert_eq!(stage.reactions(comment), [""; 0]);
    stage.github.set_faults(FaultPlan::none());
    stage.after(60).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(stage.reactions(comment), ["+1"]);
}

#[tokio::test]
async fn what_cannot_be_found_out_for_an_hour_is_given_up_and_said_so() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    fails(&stage, "GET", "/permission", 503);
    let comment = stage.says(&bob, &pull, "/merge").await;
    for _ in 0..11 {
        assert_eq!(stage.reactions(comment), [""; 0]);
        stage.after(340).await;
    }
    assert_eq!(stage.reactions(comment), ["-1"]);
    assert!(last_answer(&stage, &pull).contains("Given up after an hour"));
}

#[tokio::test]
async fn a_hold_stops_and_disarms_github_s_auto_merge_until_it_is_let_go() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.shop.merge_settings(|s| s.auto_merge = true).unwrap();
    // GitHub itself waits for the same check, and would merge as soon as it passes.
    let required = Rule::RequiredStatusChecks {
        checks: vec![RequiredCheck {
            context: "unit".into(),
            app: None,
        }],
        strict: false,
    };
    stage
        .shop
        .add_ruleset(&["main"], vec![required], Vec::new())
        .unwrap();
    bob.arm_auto_merge(&pull, MergeMethod::Merge).unwrap();
    stage.settle().await;
    stage
        .says(&bob, &pull, "/merge\n/hold wait for the release")
        .await;
    assert!(!pull.look(|pull| pull.auto_merge.is_some()).unwrap());
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert!(
        stage
            .reasons(&pull, "not_held")
            .await
            .contains("wait for the release")
    );
    stage.says(&bob, &pull, "/unhold").await;
    assert!(stage.merged(&pull));
    assert_eq!(stage.ledger(Kind::Hold).await.len(), 2);
}

#[tokio::test]
async fn a_command_lets_go_what_a_button_held_and_the_other_way_round() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    let press = |button: &'static str| {
        let run = stage.our_check(&pull.head().unwrap()).unwrap().id;
        bob.press(&stage.shop, run, button).unwrap();
    };
    press("hold");
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "held");
    stage.clock.advance(chrono::Duration::seconds(5));
    stage.says(&bob, &pull, "/unhold").await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    stage.clock.advance(chrono::Duration::seconds(5));
    stage.says(&bob, &pull, "/hold").await;
    assert_eq!(stage.outcome(&pull).await, "held");
    stage.clock.advance(chrono::Duration::seconds(5));
    press("unhold");
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
}

#[tokio::test]
async fn an_owner_waives_one_gate_for_this_head_alone() {
    let Cast {
        stage,
        olga,
        bob,
        pull,
        ..
    } = cast().await;
    stage.unit_passes(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    let refused = stage
        .says(
            &bob,
            &pull,
            "/override second_verifier accepted_risk hotfix",
        )
        .await;
    assert_eq!(stage.reactions(refused), ["-1"]);
    let comment = stage
        .says(
            &olga,
            &pull,
            "/override second_verifier accepted_risk hotfix",
        )
        .await;
    assert_eq!(stage.reactions(comment), ["+1"]);
    let waived = stage.gate(&pull, "second_verifier").await;
    assert_eq!(waived["state"], "overridden");
    let steps = waived.to_string().matches("\"next\":\"").count();
    assert_eq!(steps, 0, "{waived:#}");
    assert_eq!(stage.state(&pull, "mutation_check").await, "waiting");
    assert!(!stage.merged(&pull));
    stage
        .says(&olga, &pull, "/override mutation_check fix_follows see #9")
        .await;
    assert!(stage.merged(&pull));
    let waivers = stage.ledger(Kind::Override).await;
    assert_eq!(waivers.len(), 2);
    assert_eq!(waivers[0].body["override"]["reason"], "hotfix");
    assert_eq!(waivers[0].body["by"]["login"], "olga");
    assert_eq!(
        waivers[0].head.as_ref().unwrap().as_str(),
        pull.head().unwrap()
    );
}

#[tokio::test]
async fn a_waiver_dies_with_its_head() {
    let Cast {
        stage, olga, pull, ..
    } = cast().await;
    stage
        .says(
            &olga,
            &pull,
            "/override second_verifier accepted_risk hotfix",
        )
        .await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "overridden");
    push_more(&stage);
    stage.settle().await;
    assert_eq!(stage.state(&pull, "second_verifier").await, "waiting");
}

#[tokio::test]
async fn an_owner_freezes_and_thaws_a_branch_for_every_pull_request() {
    let Cast {
        stage,
        olga,
        bob,
        pull,
        ..
    } = cast().await;
    stage.says(&bob, &pull, "/freeze main no").await;
    assert_eq!(stage.state(&pull, "not_frozen").await, "satisfied");
    let mistyped = stage.says(&olga, &pull, "/freeze mian deploy").await;
    assert_eq!(stage.reactions(mistyped), ["-1"]);
    stage.says(&olga, &pull, "/freeze main a bad deploy").await;
    let other = stage.open_other("agent/other").await;
    stage.clear(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    assert!(!stage.merged(&pull));
    assert!(
        stage
            .reasons(&other, "not_frozen")
            .await
            .contains("a bad deploy")
    );
    // From any pull request.
    stage.says(&olga, &other, "/thaw main").await;
    assert!(stage.merged(&pull));
    assert_eq!(stage.ledger(Kind::Freeze).await.len(), 2);
}

#[tokio::test]
async fn a_question_is_on_the_owners_list_and_blocks_nothing() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage
        .says(&bob, &pull, "/ask Keep the old name? | yes")
        .await;
    stage.clear(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    assert!(stage.merged(&pull));
    assert!(stage.answers(number(&pull))[0].contains("the default is taken meanwhile"));
}

#[tokio::test]
async fn a_defect_that_escaped_is_recorded_against_the_merged_pull_request() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.clear(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    let other = stage.open_other("agent/other").await;
    stage
        .says(&bob, &other, &format!("/escaped #{}", number(&pull)))
        .await;
    let refused = stage
        .says(&bob, &other, &format!("/escaped #{}", number(&other)))
        .await;
    assert_eq!(stage.reactions(refused), ["-1"]);
    let escaped = stage.ledger(Kind::Escaped).await;
    assert_eq!(escaped.len(), 1);
    assert_eq!(escaped[0].body["through"], number(&pull));
}

#[tokio::test]
async fn a_verifier_is_told_in_the_way_the_policy_says_once() {
    let policy = asked_for().replace(
        "codex: { app: codex-verify, vendor: openai, model: gpt-5-codex }",
        "codex: { app: codex-verify, vendor: openai, model: gpt-5-codex, request: { label: 'verify:codex' } }",
    );
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    stage.says(&stage.alice, &pull, "/verify").await;
    let labels = || pull.look(|pull| pull.labels.clone()).unwrap();
    assert_eq!(labels(), ["verify:codex"]);
    assert!(last_answer(&stage, &pull).contains("It is being asked"));
    // Taken off by hand it is not put on again by itself.
    stage
        .alice
        .unlabel(&stage.shop, number(&pull), "verify:codex")
        .unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(labels(), [""; 0]);
}

#[tokio::test]
async fn another_branchs_head_and_a_repeated_delivery_ask_nothing_again() {
    let mut cast = cast().await;
    let (bob, pull) = (&cast.bob, &cast.pull);
    cast.stage.says(bob, pull, "/merge").await;
    cast.stage.says(bob, pull, "/unmerge").await;
    let number = number(pull);
    let answers = cast.stage.answers(number).len();
    for _ in 0..2 {
        for sent in cast.stage.github.sent() {
            cast.stage.github.redeliver(sent.delivery.id).unwrap();
        }
        cast.stage.restart().await;
        cast.stage.settle().await;
    }
    cast.stage.clear(pull).await;
    assert!(
        !cast.stage.merged(pull),
        "the first comment was heard long ago"
    );
    assert_eq!(cast.stage.answers(number).len(), answers);
}

#[tokio::test]
async fn a_stop_whose_delivery_was_lost_is_found_before_anything_merges() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    stage.says(&bob, &pull, "/merge").await;
    stage.clock.advance(chrono::Duration::seconds(5));
    let comment = bob.comment(&pull, "/hold it is wrong").unwrap();
    stage.github.lose_pending();
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull), "{}", stage.told(&pull).await);
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(stage.reactions(comment), ["+1"]);
}

#[tokio::test]
async fn comments_from_before_the_app_was_there_are_no_commands() {
    let stage = Stage::with_policy("").await;
    let pull = stage.open_pull().await;
    stage.says(&stage.alice, &pull, "/merge").await;
    stage.clock.advance(chrono::Duration::hours(1));
    let edits = Edits::write(".github/countersign.yml", asked_for());
    stage
        .alice
        .push(&stage.shop, "main", "Begin", edits)
        .unwrap();
    stage.settle().await;
    stage.sweep().await;
    assert_eq!(stage.answers(number(&pull)), [""; 0]);
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
}

#[tokio::test]
async fn a_lost_answer_is_looked_for_before_another_is_written() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    let lost = FaultPlan::none().with("POST", "/comments", 1, Fault::DoneThen502);
    stage.github.set_faults(lost);
    stage.says(&bob, &pull, "/merge").await;
    stage.after(10).await;
    assert_eq!(stage.answers(number(&pull)).len(), 1);
}

#[tokio::test]
async fn a_locked_conversation_keeps_nothing_from_merging() {
    let Cast {
        stage, bob, pull, ..
    } = cast().await;
    fails(&stage, "POST", "/comments", 403);
    stage.clear(&pull).await;
    stage.says(&bob, &pull, "/merge").await;
    assert!(stage.merged(&pull));
    stage.after(3_600).await;
    assert!(stage.github.calls_to("POST", "/comments").len() <= 2);
}

#[tokio::test]
async fn answers_have_a_bound_and_what_stops_is_heard_all_the_same() {
    let Cast {
        stage,
        bob,
        stranger,
        pull,
        ..
    } = cast().await;
    for _ in 0..30 {
        stage.says(&stranger, &pull, "/status").await;
    }
    assert_eq!(stage.answers(number(&pull)).len(), 12);
    let comment = stage.says(&bob, &pull, "/hold enough").await;
    assert_eq!(stage.outcome(&pull).await, "held");
    assert_eq!(stage.reactions(comment), ["+1"]);
    stage.after(3_700).await;
    stage.says(&stranger, &pull, "/status").await;
    assert_eq!(stage.answers(number(&pull)).len(), 13);
}

#[tokio::test]
async fn the_short_form_counts_only_where_the_policy_allows_it() {
    let policy = asked_for() + "commands: { short: false }\n";
    let stage = Stage::with_policy(&policy).await;
    let pull = stage.open_pull().await;
    let short = stage.says(&stage.alice, &pull, "/hold x").await;
    assert_eq!(stage.reactions(short), [""; 0]);
    assert_eq!(stage.outcome(&pull).await, "waiting");
    stage.says(&stage.alice, &pull, "/countersign hold x").await;
    assert_eq!(stage.outcome(&pull).await, "held");
}

#[tokio::test]
async fn a_command_in_a_description_is_no_command_and_its_author_is_told_once() {
    let stage = Stage::with_policy(&asked_for()).await;
    let pull = stage.open_pull().await;
    stage.alice.describe(&pull, "Please.\n\n/merge\n").unwrap();
    stage.settle().await;
    stage.alice.describe(&pull, "Please!\n\n/merge\n").unwrap();
    stage.settle().await;
    stage.clear(&pull).await;
    assert!(!stage.merged(&pull));
    insta::assert_snapshot!(stage.answers(number(&pull)).join("----\n"));
}
