use super::*;

#[test]
fn a_check_run_names_its_pull_request_but_never_a_forks() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let bob = shop.github.user("bob");
    let fork = bob.fork(&shop.repo).unwrap();
    let head = bob
        .push(&fork, "fix", "fix", Edits::write("fix", "fix\n"))
        .unwrap();
    bob.open_pull(&shop.repo, "bob:fix", "main", "Fix").unwrap();
    let actions = shop.github.actions();
    let numbers = |sha: &str| {
        shop.told();
        actions.pass(&shop.repo, sha, "unit").unwrap();
        let deliveries = shop.github.lock().take_deliveries();
        let completed = &deliveries[1];
        assert_eq!(completed.action.as_deref(), Some("completed"));
        let pulls = completed.payload["check_run"]["pull_requests"]
            .as_array()
            .unwrap()
            .clone();
        pulls
            .iter()
            .map(|pull| pull["number"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(numbers(&pull.head().unwrap()), [1]);
    assert!(numbers(&head).is_empty());
}

#[test]
fn two_pull_requests_with_one_head_are_both_named() {
    let shop = shop();
    let one = shop.change("agent/one", "one", "ONE");
    shop.alice.branch(&shop.repo, "next", "main").unwrap();
    shop.agent
        .open_pull(&shop.repo, "agent/one", "next", "Also there")
        .unwrap();
    shop.told();
    shop.github
        .actions()
        .pass(&shop.repo, &one.head().unwrap(), "unit")
        .unwrap();
    let deliveries = shop.github.lock().take_deliveries();
    let pulls = &deliveries[0].payload["check_run"]["pull_requests"];
    assert_eq!(pulls.as_array().unwrap().len(), 2);
}

#[test]
fn a_rerun_has_a_higher_id_and_before_it_there_is_no_run_of_that_name() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    let codex = shop.github.other_app("codex-verify");
    let latest = || {
        let told = shop.repo.look(|repo| {
            let runs = repo.latest_runs(&head);
            runs.iter()
                .map(|run| (run.id, run.conclusion.clone()))
                .collect::<Vec<_>>()
        });
        told.unwrap()
    };
    let failed = codex.fail(&shop.repo, &head, "verify").unwrap();
    assert_eq!(latest(), [(failed, Some("failure".to_owned()))]);
    codex.begin_rerun(&shop.repo, failed).unwrap();
    assert_eq!(latest(), []);
    let passed = codex.pass(&shop.repo, &head, "verify").unwrap();
    assert!(passed > failed);
    assert_eq!(latest(), [(passed, Some("success".to_owned()))]);
}

#[test]
fn one_app_has_one_suite_a_head_and_github_actions_one_a_workflow_run() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let codex = shop.github.other_app("codex-verify");
    let actions = shop.github.actions();
    let first = codex.pass(&shop.repo, &head, "a").unwrap();
    let second = codex.pass(&shop.repo, &head, "b").unwrap();
    let (ci, nightly) = (".github/workflows/ci.yml", ".github/workflows/nightly.yml");
    let ci = actions
        .start_workflow(&shop.repo, ci, "pull_request", &head)
        .unwrap();
    let nightly = actions
        .start_workflow(&shop.repo, nightly, "schedule", &head)
        .unwrap();
    let unit = actions
        .report_job(&shop.repo, ci, "unit", Some("success"))
        .unwrap();
    let same = actions
        .report_job(&shop.repo, nightly, "unit", Some("failure"))
        .unwrap();
    let suite = |run| shop.repo.look(|repo| repo.check_runs[&run].suite).unwrap();
    assert_eq!(suite(first), suite(second));
    assert_ne!(suite(unit), suite(same));
    let both = shop.repo.look(|repo| {
        let runs = repo.latest_runs(&head);
        runs.iter().filter(|run| run.name == "unit").count()
    });
    assert_eq!(both.unwrap(), 2, "same name and App, different workflows");
}

#[test]
fn running_a_workflow_again_counts_the_attempt_and_clears_its_jobs() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let actions = shop.github.actions();
    let ci = ".github/workflows/ci.yml";
    let run = actions
        .start_workflow(&shop.repo, ci, "pull_request", &head)
        .unwrap();
    actions
        .report_job(&shop.repo, run, "unit", Some("failure"))
        .unwrap();
    actions.finish_workflow(&shop.repo, run, "failure").unwrap();
    shop.told();
    shop.alice.rerun_workflow(&shop.repo, run).unwrap();
    assert!(
        shop.repo
            .look(|repo| repo.latest_runs(&head).is_empty())
            .unwrap()
    );
    let attempt = shop.repo.look(|repo| repo.workflow_runs[&run].attempt);
    assert_eq!(attempt.unwrap(), 2);
    assert_eq!(
        shop.told(),
        ["workflow_run.requested", "workflow_run.in_progress"]
    );
}

#[test]
fn a_completed_run_is_not_reopened_by_an_update() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let codex = shop.github.other_app("codex-verify");
    let run = codex.pass(&shop.repo, &head, "verify").unwrap();
    let edit = CheckEdit {
        status: Some("in_progress".to_owned()),
        ..CheckEdit::default()
    };
    let mut world = shop.github.lock();
    world
        .update_check_run(shop.repo.id, run, codex.app.unwrap(), edit)
        .unwrap();
    let run = world.run(shop.repo.id, run).unwrap();
    assert_eq!(
        (run.status.as_str(), run.conclusion.as_deref()),
        ("completed", Some("success"))
    );
}

#[test]
fn an_app_cannot_update_another_apps_run() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let run = shop
        .github
        .actions()
        .start_check(&shop.repo, &head, "unit")
        .unwrap();
    let codex = shop.github.other_app("codex-verify");
    assert_eq!(
        codex
            .complete(&shop.repo, run, "success")
            .unwrap_err()
            .status,
        403
    );
}

#[test]
fn a_text_of_65536_characters_and_a_fourth_button_are_refused() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let codex = shop.github.other_app("codex-verify");
    let long = codex.report(&shop.repo, &head, "verify", "success", &"x".repeat(65_536));
    assert_eq!(long.unwrap_err().status, 422);
    assert!(
        codex
            .report(&shop.repo, &head, "verify", "success", &"x".repeat(65_535))
            .is_ok()
    );
    let button = Button {
        label: "Hold".to_owned(),
        description: "Stop it".to_owned(),
        identifier: "hold".to_owned(),
    };
    let draft = CheckDraft {
        name: "verify".to_owned(),
        head,
        buttons: vec![button; 4],
        ..CheckDraft::default()
    };
    assert_eq!(codex.check(&shop.repo, draft).unwrap_err().status, 422);
}

#[test]
fn only_our_own_runs_buttons_and_reruns_are_told_to_us() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    let draft = CheckDraft {
        name: "countersign".to_owned(),
        head: head.clone(),
        buttons: vec![Button {
            label: "Hold".to_owned(),
            description: "Stop it".to_owned(),
            identifier: "hold".to_owned(),
        }],
        ..CheckDraft::default()
    };
    let ours = shop.github.our_app().check(&shop.repo, draft).unwrap();
    let theirs = shop
        .github
        .actions()
        .pass(&shop.repo, &head, "unit")
        .unwrap();
    shop.told();
    shop.alice.press(&shop.repo, ours, "hold").unwrap();
    shop.alice.rerequest(&shop.repo, ours).unwrap();
    shop.alice.rerequest(&shop.repo, theirs).unwrap();
    assert_eq!(
        shop.told(),
        ["check_run.requested_action", "check_run.rerequested"]
    );
}

#[test]
fn the_newest_status_per_context_counts() {
    let shop = shop();
    let head = shop.change("agent/one", "one", "ONE").head().unwrap();
    for (context, state) in [
        ("lint", "failure"),
        ("lint", "success"),
        ("docs", "pending"),
    ] {
        shop.alice
            .set_status(&shop.repo, &head, context, state)
            .unwrap();
    }
    let latest = shop.repo.look(|repo| {
        let latest = repo.latest_statuses(&head);
        latest
            .iter()
            .map(|s| (s.context.clone(), s.state.clone()))
            .collect::<Vec<_>>()
    });
    let expected = [("docs", "pending"), ("lint", "success")];
    assert_eq!(
        latest.unwrap(),
        expected.map(|(c, s)| (c.to_owned(), s.to_owned()))
    );
    let wrong = shop
        .alice
        .set_status(&shop.repo, &head, "lint", "fine")
        .unwrap_err();
    assert_eq!(wrong.status, 422);
}

#[test]
fn dispatching_a_workflow_needs_its_file_on_the_default_branch() {
    let shop = shop();
    let mut world = shop.github.lock();
    let by = shop.alice.principal();
    let asked = |world: &mut World| {
        let inputs = serde_json::json!({ "pr": "1" });
        world.dispatch_workflow(shop.repo.id, by, "verify.yml", "main", inputs)
    };
    assert_eq!(asked(&mut world).unwrap_err().status, 404);
    drop(world);
    let edits = Edits::write(".github/workflows/verify.yml", "on: workflow_dispatch\n");
    shop.alice
        .push(&shop.repo, "main", "verify", edits)
        .unwrap();
    let run = asked(&mut shop.github.lock()).unwrap();
    let run = shop
        .repo
        .look(|repo| repo.workflow_runs[&run].clone())
        .unwrap();
    assert_eq!(run.event, "workflow_dispatch");
    assert_eq!(run.inputs["pr"], "1");
}
