//! Checks: present, from the right producer, finished and passed, for exactly this head.

use countersign::simulator::faults::{Fault, FaultPlan};
use countersign::simulator::world::{Bypass, RequiredCheck, Rule};
use countersign::simulator::{Edits, PullHandle};

use crate::stage::{POLICY, Stage};

/// A pull request that lacks nothing but its checks.
async fn verified(policy: &str) -> (Stage, PullHandle, String) {
    let stage = Stage::with_policy(policy).await;
    let pull = stage.open_pull().await;
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    let head = pull.head().unwrap();
    (stage, pull, head)
}

async fn not_merged(stage: &Stage, pull: &PullHandle, outcome: &str, words: &str) {
    let said = stage.reasons(pull, "checks").await;
    assert!(said.contains(words), "{said}");
    assert_eq!(stage.outcome(pull).await, outcome, "{said}");
    assert!(!stage.merged(pull));
    assert_eq!(stage.merge_calls(), 0);
    let check = stage.our_check(&pull.head().unwrap()).unwrap();
    assert_ne!(check.conclusion.as_deref(), Some("success"), "{check:?}");
}

async fn is_merged(stage: &Stage, pull: &PullHandle) {
    assert!(stage.merged(pull), "{}", stage.told(pull).await);
    assert_eq!(stage.outcome(pull).await, "merged");
    assert_eq!(stage.merge_calls(), 1);
}

#[tokio::test]
async fn an_aggregate_that_was_skipped_because_a_job_failed_tested_nothing() {
    let (stage, pull, head) = verified(POLICY).await;
    let actions = stage.github.actions();
    actions.fail(&stage.shop, &head, "build").unwrap();
    actions
        .conclude(&stage.shop, &head, "unit", "skipped")
        .unwrap();
    stage.settle().await;
    not_merged(&stage, &pull, "blocked", "`unit` was skipped").await;
    let check = stage.our_check(&head).unwrap();
    assert_eq!(check.conclusion.as_deref(), Some("failure"));
    assert!(check.title.contains("was skipped"), "{check:?}");
}

#[tokio::test]
async fn a_skipped_check_passes_where_the_policy_says_so_on_purpose() {
    let policy = POLICY.replace(
        "required: [unit]",
        "required: [unit]\n    passing: [success, skipped]",
    );
    let (stage, pull, head) = verified(&policy).await;
    stage
        .github
        .actions()
        .conclude(&stage.shop, &head, "unit", "skipped")
        .unwrap();
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn every_ending_but_success_keeps_the_gate_shut() {
    let (stage, pull, head) = verified(POLICY).await;
    for (conclusion, outcome, words) in [
        ("failure", "blocked", "failed"),
        ("cancelled", "blocked", "was cancelled"),
        ("timed_out", "blocked", "ran out of time"),
        ("neutral", "blocked", "ended neutral"),
        ("action_required", "waiting", "waits for somebody"),
    ] {
        stage
            .github
            .actions()
            .conclude(&stage.shop, &head, "unit", conclusion)
            .unwrap();
        // Each has a suite of its own, so only one is left in sight.
        let older = stage.shop.look(|repo| {
            let runs = repo.check_runs.values().filter(|run| run.name == "unit");
            let ids: Vec<u64> = runs.map(|run| run.id).collect();
            ids[..ids.len() - 1].to_vec()
        });
        for run in older.unwrap() {
            stage
                .github
                .actions()
                .begin_rerun(&stage.shop, run)
                .unwrap();
        }
        stage.sweep().await;
        let said = stage.reasons(&pull, "checks").await;
        assert!(said.contains(words), "{conclusion}: {said}");
        assert_eq!(stage.outcome(&pull).await, outcome, "{conclusion}");
    }
    assert_eq!(stage.merge_calls(), 0);
}

#[tokio::test]
async fn while_a_check_runs_again_its_old_success_is_worth_nothing() {
    let stage = Stage::new().await;
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    let run = actions.pass(&stage.shop, &head, "unit").unwrap();
    stage.settle().await;
    assert_eq!(stage.state(&pull, "checks").await, "satisfied");
    // GitHub lists neither the old run nor the new one, and tells nobody.
    actions.begin_rerun(&stage.shop, run).unwrap();
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    not_merged(&stage, &pull, "waiting", "`unit` has not reported").await;
    actions.pass(&stage.shop, &head, "unit").unwrap();
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn while_a_failed_check_runs_again_its_absence_is_no_success() {
    let (stage, pull, head) = verified(POLICY).await;
    let actions = stage.github.actions();
    let run = actions.fail(&stage.shop, &head, "unit").unwrap();
    stage.settle().await;
    not_merged(&stage, &pull, "blocked", "`unit` failed").await;
    actions.begin_rerun(&stage.shop, run).unwrap();
    stage.sweep().await;
    not_merged(&stage, &pull, "waiting", "`unit` has not reported").await;
}

#[tokio::test]
async fn a_second_workflow_run_on_one_head_supersedes_the_first_whichever_way_it_went() {
    for (first, second) in [("failure", "success"), ("success", "failure")] {
        let (stage, pull, head) = verified(POLICY).await;
        let actions = stage.github.actions();
        for conclusion in [first, second] {
            let path = ".github/workflows/ci.yml";
            let run = actions
                .start_workflow(&stage.shop, path, "pull_request", &head)
                .unwrap();
            let job = Some(conclusion);
            actions.report_job(&stage.shop, run, "unit", job).unwrap();
            actions
                .finish_workflow(&stage.shop, run, conclusion)
                .unwrap();
        }
        stage.settle().await;
        if second == "success" {
            is_merged(&stage, &pull).await;
        } else {
            not_merged(&stage, &pull, "blocked", "An earlier run is superseded").await;
        }
    }
}

#[tokio::test]
async fn two_pull_requests_with_one_head_have_one_check_that_speaks_for_both() {
    let (stage, pull, head) = verified(POLICY).await;
    stage
        .agent
        .branch(&stage.shop, "agent/again", "agent/start")
        .unwrap();
    let other = stage
        .agent
        .open_pull(&stage.shop, "agent/again", "main", "The same once more")
        .unwrap();
    stage.agent.convert_to_draft(&other).unwrap();
    stage.settle().await;
    assert_eq!(other.head().unwrap(), head);

    let hold = stage.our_check(&head).unwrap();
    assert_eq!(hold.conclusion, None, "{hold:?}");
    stage.unit_passes(&pull).await;
    is_merged(&stage, &pull).await;
    // Of the second it was never said that it may merge.
    let ours = stage.github.calls();
    let success = ours
        .iter()
        .filter(|call| call.path.contains("/check-runs"))
        .find(|call| call.body["conclusion"] == "success");
    assert!(success.is_none(), "{success:?}");
}

#[tokio::test]
async fn a_failure_that_belongs_to_another_pull_request_of_the_same_head_is_not_overlooked() {
    let (stage, pull, head) = verified(POLICY).await;
    let actions = stage.github.actions();
    // Two suites, and nothing tells which workflow each belongs to.
    actions.fail(&stage.shop, &head, "unit").unwrap();
    let suites = stage
        .shop
        .look(|repo| repo.suites.keys().copied().max().unwrap());
    let first = suites.unwrap();
    let path = ".github/workflows/other.yml";
    let run = actions
        .start_workflow(&stage.shop, path, "push", &head)
        .unwrap();
    actions
        .report_job(&stage.shop, run, "unit", Some("success"))
        .unwrap();
    stage.settle().await;
    let last = stage
        .shop
        .look(|repo| repo.suites.keys().copied().max().unwrap());
    assert_ne!(first, last.unwrap());
    not_merged(&stage, &pull, "blocked", "`unit` failed").await;
}

#[tokio::test]
async fn a_cancelled_duplicate_is_superseded_by_the_success_that_came_after_it() {
    let (stage, pull, head) = verified(POLICY).await;
    let path = ".github/workflows/ci.yml";
    let actions = stage.github.actions();
    let start = || {
        actions
            .start_workflow(&stage.shop, path, "pull_request", &head)
            .unwrap()
    };
    let (cancelled, good) = (start(), start());
    let job = |run, conclusion| {
        actions
            .report_job(&stage.shop, run, "unit", Some(conclusion))
            .unwrap()
    };
    job(cancelled, "cancelled");
    job(good, "success");
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_success_is_voided_by_the_cancelled_duplicate_that_came_after_it() {
    let (stage, pull, head) = verified(POLICY).await;
    let path = ".github/workflows/ci.yml";
    let actions = stage.github.actions();
    for conclusion in ["success", "cancelled"] {
        let run = actions
            .start_workflow(&stage.shop, path, "pull_request", &head)
            .unwrap();
        actions
            .report_job(&stage.shop, run, "unit", Some(conclusion))
            .unwrap();
    }
    stage.settle().await;
    not_merged(&stage, &pull, "blocked", "`unit` was cancelled").await;
    // That is continuous integration's move, so our check does not say "failure".
    assert_eq!(stage.our_check(&head).unwrap().conclusion, None);
}

#[tokio::test]
async fn an_old_failure_is_found_behind_a_page_full_of_newer_runs() {
    let policy = POLICY.replace("required: [unit]", "required: [unit, scan]");
    for runs in [30, 40, 101] {
        let (stage, pull, head) = verified(&policy).await;
        let actions = stage.github.actions();
        actions.fail(&stage.shop, &head, "scan").unwrap();
        for cron in 0..runs {
            let name = format!("cron {cron}");
            actions.pass(&stage.shop, &head, &name).unwrap();
        }
        actions.pass(&stage.shop, &head, "unit").unwrap();
        stage.github.lose_pending();
        stage.sweep().await;
        not_merged(&stage, &pull, "blocked", "`scan` failed").await;
    }
}

#[tokio::test]
async fn a_list_that_ends_too_early_is_not_the_whole_truth() {
    let (stage, pull, head) = verified(POLICY).await;
    let actions = stage.github.actions();
    actions.pass(&stage.shop, &head, "unit").unwrap();
    for other in ["lint", "docs", "format"] {
        actions.pass(&stage.shop, &head, other).unwrap();
    }
    let cut = FaultPlan::none().with("GET", "/check-runs", 50, Fault::TruncatedList);
    stage.github.set_faults(cut);
    stage.settle().await;
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
    assert_ne!(stage.outcome(&pull).await, "ready");
    let said = stage.reasons(&pull, "checks").await;
    assert!(
        said.contains("the list of check runs is not whole"),
        "{said}"
    );

    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn an_empty_list_of_checks_is_no_success_and_no_memory_of_one() {
    let (stage, pull, head) = verified(POLICY).await;
    let cut = FaultPlan::none().with("GET", "/check-runs", 50, Fault::EmptyList);
    stage.github.set_faults(cut);
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "unit")
        .unwrap();
    stage.settle().await;
    assert!(!stage.merged(&pull));
    assert_eq!(stage.merge_calls(), 0);
    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_check_of_the_right_name_from_another_workflow_does_not_pass_a_pinned_one() {
    let pinned = "required: [{ name: unit, workflow: .github/workflows/ci.yml }]";
    let policy = POLICY.replace("required: [unit]", pinned);
    let (stage, pull, head) = verified(&policy).await;
    let actions = stage.github.actions();
    let report = |path: &str| {
        let run = actions
            .start_workflow(&stage.shop, path, "pull_request", &head)
            .unwrap();
        actions
            .report_job(&stage.shop, run, "unit", Some("success"))
            .unwrap();
    };
    report(".github/workflows/forged.yml");
    stage.settle().await;
    let words = "`unit` has not reported from `.github/workflows/ci.yml`";
    not_merged(&stage, &pull, "waiting", words).await;
    // Nor does an App that gives its check the same name.
    stage.agent.pass(&stage.shop, &head, "unit").unwrap();
    stage.settle().await;
    not_merged(&stage, &pull, "waiting", words).await;
    report(".github/workflows/ci.yml");
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_pull_request_that_empties_the_pinned_workflow_proves_nothing_by_its_green() {
    let pinned = "required: [{ name: unit, workflow: .github/workflows/ci.yml }]";
    let policy = POLICY.replace("required: [unit]", pinned);
    let stage = Stage::with_policy(&policy).await;
    let path = ".github/workflows/ci.yml";
    let emptied = Edits::write(path, "jobs: {}\n");
    stage
        .agent
        .push(&stage.shop, "agent/start", "Faster", emptied)
        .unwrap();
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    let run = actions
        .start_workflow(&stage.shop, path, "pull_request", &head)
        .unwrap();
    actions
        .report_job(&stage.shop, run, "unit", Some("success"))
        .unwrap();
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    not_merged(&stage, &pull, "blocked", "the workflow that reports `unit`").await;
}

#[tokio::test]
async fn a_pinned_workflow_may_be_among_the_files_that_github_does_not_list() {
    let pinned = "required: [{ name: unit, workflow: .github/workflows/ci.yml }]";
    let policy = POLICY
        .replace("required: [unit]", pinned)
        .replace("  mutation_check:\n    critical: ['src/**']\n", "");
    let stage = Stage::with_policy(&policy).await;
    let path = ".github/workflows/ci.yml";
    // It is listed first: what is cut here is the end, and nobody knows what stood there.
    let mut edits = Edits::none();
    for file in 0..301 {
        edits = edits.and_write(&format!("docs/{file}.md"), "#\n");
    }
    stage
        .agent
        .push(&stage.shop, "agent/start", "Much", edits)
        .unwrap();
    let cut = FaultPlan::none().with("GET", "/files", 500, Fault::TruncatedList);
    stage.github.set_faults(cut);
    let pull = stage.open_pull().await;
    let head = pull.head().unwrap();
    let actions = stage.github.actions();
    let run = actions
        .start_workflow(&stage.shop, path, "pull_request", &head)
        .unwrap();
    actions
        .report_job(&stage.shop, run, "unit", Some("success"))
        .unwrap();
    let evidence = stage.evidence(&pull);
    stage.reports(&stage.codex, &pull, &evidence).await;
    not_merged(&stage, &pull, "undetermined", "is not known").await;

    stage.github.set_faults(FaultPlan::none());
    stage.sweep().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_check_that_only_a_ruleset_requires_is_waited_for_by_name() {
    let stage = Stage::new().await;
    let checks = vec![RequiredCheck {
        context: "lint".into(),
        app: Some(countersign::simulator::world::ACTIONS_APP),
    }];
    let rule = Rule::RequiredStatusChecks {
        checks,
        strict: false,
    };
    stage
        .shop
        .add_ruleset(&["main"], vec![rule], Vec::new())
        .unwrap();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    assert_eq!(stage.outcome(&pull).await, "waiting");
    let said = stage.reasons(&pull, "platform_rules").await;
    assert!(said.contains("`lint` has not reported"), "{said}");
    assert_eq!(stage.merge_calls(), 0);

    // Another App's check of that name is not the one that the rule asks for.
    let head = pull.head().unwrap();
    stage.agent.pass(&stage.shop, &head, "lint").unwrap();
    stage.settle().await;
    assert_eq!(stage.merge_calls(), 0);
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "lint")
        .unwrap();
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn what_github_would_let_us_pass_by_is_waited_for_all_the_same() {
    let stage = Stage::new().await;
    let checks = vec![RequiredCheck {
        context: "lint".into(),
        app: None,
    }];
    let rule = Rule::RequiredStatusChecks {
        checks,
        strict: false,
    };
    let ours = Bypass::App(stage.github.lock().our_app);
    let added = stage.shop.add_ruleset(&["main"], vec![rule], vec![ours]);
    added.unwrap();
    let pull = stage.open_pull().await;
    let (head, actions) = (pull.head().unwrap(), stage.github.actions());
    actions.fail(&stage.shop, &head, "lint").unwrap();
    stage.clear(&pull).await;
    let said = stage.reasons(&pull, "platform_rules").await;
    assert!(said.contains("`lint` failed"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
    actions.pass(&stage.shop, &head, "lint").unwrap();
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn our_own_check_that_github_requires_is_a_success_before_the_merge_is_asked_for() {
    let stage = Stage::new().await;
    let checks = vec![RequiredCheck {
        context: "countersign".into(),
        app: Some(stage.github.lock().our_app),
    }];
    let rule = Rule::RequiredStatusChecks {
        checks,
        strict: false,
    };
    let added = stage.shop.add_ruleset(&["main"], vec![rule], Vec::new());
    added.unwrap();
    let pull = stage.open_pull().await;
    stage.clear(&pull).await;
    is_merged(&stage, &pull).await;
    let calls = stage.github.calls_to("PUT", "/merge");
    assert_eq!(calls[0].status, 200);
}

#[tokio::test]
async fn rules_that_cannot_be_read_are_not_no_rules() {
    let (stage, pull, head) = verified(POLICY).await;
    let refused = Fault::Refuse(403, "Resource not accessible by integration");
    let plan = FaultPlan::none().with("GET", "/rules/branches/", 50, refused);
    stage.github.set_faults(plan);
    stage.sweep().await;
    stage
        .github
        .actions()
        .pass(&stage.shop, &head, "unit")
        .unwrap();
    stage.settle().await;
    assert_eq!(stage.outcome(&pull).await, "undetermined");
    let said = stage.reasons(&pull, "platform_rules").await;
    assert!(said.contains("could not be read"), "{said}");
    assert_eq!(stage.merge_calls(), 0);
    stage.github.set_faults(FaultPlan::none());
    stage.after(300).await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_commit_status_is_a_check_too_and_its_newest_state_counts() {
    let (stage, pull, head) = verified(POLICY).await;
    for (state, outcome) in [
        ("pending", "waiting"),
        ("error", "blocked"),
        ("failure", "blocked"),
    ] {
        stage
            .agent
            .set_status(&stage.shop, &head, "unit", state)
            .unwrap();
        stage.settle().await;
        assert_eq!(stage.outcome(&pull).await, outcome, "{state}");
    }
    assert_eq!(stage.merge_calls(), 0);
    stage
        .agent
        .set_status(&stage.shop, &head, "unit", "success")
        .unwrap();
    stage.settle().await;
    is_merged(&stage, &pull).await;
}

#[tokio::test]
async fn a_failing_status_is_not_outvoted_by_a_check_run_of_the_same_name() {
    let (stage, pull, head) = verified(POLICY).await;
    stage
        .agent
        .set_status(&stage.shop, &head, "unit", "failure")
        .unwrap();
    stage.unit_passes(&pull).await;
    not_merged(&stage, &pull, "blocked", "`unit` failed").await;
}
