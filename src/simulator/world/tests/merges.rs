use super::*;

fn expecting(sha: &str) -> MergeRequest {
    MergeRequest {
        sha: Some(sha.to_owned()),
        ..MergeRequest::default()
    }
}

#[test]
fn a_merge_lands_a_commit_whose_parents_are_the_bases_tip_and_the_head() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let base = shop.base_moves("seven", "SEVEN");
    let head = pull.head().unwrap();
    shop.told();
    let landed = shop.alice.merge_with(&pull, &expecting(&head)).unwrap();
    assert_eq!(shop.commit(&landed).parents, [base, head]);
    assert_eq!(shop.repo.tip("main").unwrap(), landed);
    let text = shop.text_at(&landed, "poem.txt");
    assert_eq!(text, POEM.replace("one", "ONE").replace("seven", "SEVEN"));
    assert_eq!(
        shop.told(),
        ["pull_request.closed", "push", "check_suite.requested"]
    );
    let read = pull.read().unwrap();
    assert_eq!(read["merged"], true);
    assert_eq!(read["merge_commit_sha"], landed);
    assert_eq!(read["merged_by"]["login"], "alice");
    assert_eq!(read["changed_files"], 1, "the diff stays what it was");
}

#[test]
fn a_squash_has_one_parent_and_the_merged_tree() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let base = shop.base_moves("seven", "SEVEN");
    let landed = shop.alice.merge(&pull, MergeMethod::Squash).unwrap();
    let commit = shop.commit(&landed);
    assert_eq!(commit.parents, [base]);
    assert_eq!(commit.author.name, "acme-agent");
    assert!(commit.message.starts_with("ONE (#1)"));
    let text = shop.text_at(&landed, "poem.txt");
    assert_eq!(text, POEM.replace("one", "ONE").replace("seven", "SEVEN"));
}

#[test]
fn a_rebase_replays_every_commit_on_the_bases_tip() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let edits = Edits::write("second.txt", "second\n");
    shop.agent
        .push(&shop.repo, "agent/one", "second", edits)
        .unwrap();
    let base = shop.base_moves("seven", "SEVEN");
    let landed = shop.alice.merge(&pull, MergeMethod::Rebase).unwrap();
    let last = shop.commit(&landed);
    assert_eq!(last.message, "second");
    let first = shop.commit(&last.parents[0]);
    assert_eq!((first.message.as_str(), first.parents), ("ONE", vec![base]));
    let text = shop.text_at(&landed, "poem.txt");
    assert_eq!(text, POEM.replace("one", "ONE").replace("seven", "SEVEN"));
}

#[test]
fn another_head_than_the_expected_one_is_refused_with_409_and_githubs_words() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let old = pull.head().unwrap();
    let edits = Edits::write("poem.txt", POEM.replace("one", "1"));
    shop.agent
        .push(&shop.repo, "agent/one", "again", edits)
        .unwrap();
    let refused = shop.alice.merge_with(&pull, &expecting(&old)).unwrap_err();
    assert_eq!(refused.status, 409);
    assert_eq!(
        refused.message,
        "Head branch was modified. Review and try the merge again."
    );
    assert!(pull.look(|pull| pull.open).unwrap());
}

#[test]
fn a_push_in_the_middle_of_the_merge_call_wins_over_the_merge() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    let (agent, repo, old) = (shop.agent.clone(), shop.repo.id, head.clone());
    shop.github.before_next_merge(move |world| {
        let change = Change::Write {
            path: "raced.txt".to_owned(),
            content: b"raced\n".to_vec(),
        };
        let sha = world
            .commit(Some(&old), agent.id, &[change], "raced")
            .unwrap();
        world
            .move_branch(repo, "agent/one", Some(&sha), agent.principal(), false)
            .unwrap();
    });
    let refused = shop.alice.merge_with(&pull, &expecting(&head)).unwrap_err();
    assert_eq!(refused.status, 409);
    let now = pull.head().unwrap();
    assert!(
        shop.alice.merge_with(&pull, &expecting(&now)).is_ok(),
        "the hook ran once"
    );
}

#[test]
fn a_modified_base_a_forbidden_method_and_a_draft_differ_only_by_text() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let refused = || {
        let refused = shop.alice.merge(&pull, MergeMethod::Merge).unwrap_err();
        assert_eq!(refused.status, 405);
        refused.message
    };
    shop.github.base_is_modified(1);
    assert_eq!(
        refused(),
        "Base branch was modified. Review and try the merge again."
    );
    shop.repo.allow_methods(&[MergeMethod::Squash]).unwrap();
    assert_eq!(
        refused(),
        "Merge commits are not allowed on this repository."
    );
    shop.repo.allow_methods(&[MergeMethod::Merge]).unwrap();
    shop.agent.convert_to_draft(&pull).unwrap();
    assert_eq!(refused(), "Pull Request is still a draft");
    shop.agent.ready_for_review(&pull).unwrap();
    shop.alice.merge(&pull, MergeMethod::Merge).unwrap();
    assert_eq!(refused(), "Pull Request is not mergeable");
}

#[test]
fn nobody_merges_without_push_access_or_in_an_archived_repository() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let reader = shop.github.user("reader");
    assert_eq!(
        reader.merge(&pull, MergeMethod::Merge).unwrap_err().status,
        403
    );
    shop.repo.archive(&shop.alice, true).unwrap();
    let refused = shop.alice.merge(&pull, MergeMethod::Merge).unwrap_err();
    assert_eq!(refused.message, "Repository was archived so is read-only.");
    let nothing = shop.repo.pull(99);
    shop.repo.archive(&shop.alice, false).unwrap();
    assert_eq!(
        shop.alice
            .merge(&nothing, MergeMethod::Merge)
            .unwrap_err()
            .status,
        404
    );
}

#[test]
fn a_misled_merge_lands_the_wrong_tree_or_the_wrong_parents() {
    let shop = shop();
    let one = shop.change("agent/one", "one", "ONE");
    shop.github.mislead_next_merge(Mislanding::WrongTree);
    let landed = shop.alice.merge(&one, MergeMethod::Merge).unwrap();
    assert_eq!(
        shop.text_at(&landed, "poem.txt"),
        POEM,
        "the change is lost"
    );

    let two = shop.change("agent/two", "two", "TWO");
    shop.github.mislead_next_merge(Mislanding::WrongParents);
    let landed = shop.alice.merge(&two, MergeMethod::Merge).unwrap();
    assert_eq!(shop.commit(&landed).parents.len(), 1);
    assert_eq!(
        shop.text_at(&landed, "poem.txt"),
        POEM.replace("two", "TWO")
    );
}

#[test]
fn pushing_the_heads_commits_to_the_base_marks_the_pull_request_merged() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    shop.told();
    shop.alice.reset_branch(&shop.repo, "main", &head).unwrap();
    assert_eq!(shop.told(), ["push", "pull_request.closed"]);
    assert!(pull.look(Pull::merged).unwrap());
}

#[test]
fn deleting_a_merged_base_branch_sends_the_next_of_the_stack_to_its_base() {
    let shop = shop();
    let lower = shop.change("lower", "one", "ONE");
    shop.agent.branch(&shop.repo, "upper", "lower").unwrap();
    shop.agent
        .push(&shop.repo, "upper", "more", Edits::write("up", "up\n"))
        .unwrap();
    let upper = shop
        .agent
        .open_pull(&shop.repo, "upper", "lower", "Upper")
        .unwrap();
    shop.repo
        .merge_settings(|settings| settings.delete_branch = true)
        .unwrap();
    shop.told();
    shop.alice.merge(&lower, MergeMethod::Merge).unwrap();
    assert_eq!(upper.look(|pull| pull.base.branch.clone()).unwrap(), "main");
    assert_eq!(
        shop.told(),
        [
            "pull_request.closed",
            "push",
            "check_suite.requested",
            "push",
            "pull_request.edited"
        ]
    );
}

#[test]
fn a_merge_into_the_default_branch_closes_the_issues_it_names() {
    let shop = shop();
    let issue = shop.alice.open_issue(&shop.repo, "Wrong word", "").unwrap();
    let other = shop.alice.open_issue(&shop.repo, "Other", "").unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let body = format!("Fixes #{issue}.\nSee #{other}.");
    shop.agent.describe(&pull, &body).unwrap();
    shop.alice.merge(&pull, MergeMethod::Merge).unwrap();
    let open = |number| shop.repo.look(|repo| repo.issues[&number].open).unwrap();
    assert_eq!((open(issue), open(other)), (false, true));
}

#[test]
fn armed_auto_merge_merges_the_moment_the_platforms_gates_are_met() {
    let shop = shop();
    let checks = vec![RequiredCheck {
        context: "unit".to_owned(),
        app: None,
    }];
    let protection = BranchProtection {
        checks,
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.agent
        .arm_auto_merge(&pull, MergeMethod::Squash)
        .unwrap();
    assert!(pull.look(|pull| pull.open).unwrap());
    shop.github
        .actions()
        .pass(&shop.repo, &pull.head().unwrap(), "unit")
        .unwrap();
    assert!(pull.look(Pull::merged).unwrap());
}
