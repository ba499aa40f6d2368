use super::*;

fn required(context: &str, app: Option<AppId>) -> RequiredCheck {
    RequiredCheck {
        context: context.to_owned(),
        app,
    }
}

fn refusal(shop: &Shop, pull: &PullHandle) -> String {
    let refused = shop.alice.merge(pull, MergeMethod::Merge).unwrap_err();
    assert_eq!(refused.status, 405);
    refused.message
}

#[test]
fn a_required_context_is_expected_then_pending_then_failing_then_met() {
    let shop = shop();
    let protection = BranchProtection {
        checks: vec![required("unit", None)],
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    let actions = shop.github.actions();
    assert_eq!(
        refusal(&shop, &pull),
        "Required status check \"unit\" is expected."
    );
    let run = actions.start_check(&shop.repo, &head, "unit").unwrap();
    assert_eq!(
        refusal(&shop, &pull),
        "Required status check \"unit\" is pending."
    );
    actions.complete(&shop.repo, run, "failure").unwrap();
    assert_eq!(
        refusal(&shop, &pull),
        "Required status check \"unit\" is failing."
    );
    actions.begin_rerun(&shop.repo, run).unwrap();
    assert_eq!(
        refusal(&shop, &pull),
        "Required status check \"unit\" is expected."
    );
    actions
        .conclude(&shop.repo, &head, "unit", "skipped")
        .unwrap();
    assert!(
        shop.alice.merge(&pull, MergeMethod::Merge).is_ok(),
        "skipped looks green"
    );
}

#[test]
fn a_context_pinned_to_an_app_is_not_met_by_another() {
    let shop = shop();
    let codex = shop.github.other_app("codex-verify");
    let rules = vec![Rule::RequiredStatusChecks {
        checks: vec![required("verify", codex.app)],
        strict: false,
    }];
    shop.repo
        .add_ruleset(&["~DEFAULT_BRANCH"], rules, vec![])
        .unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    shop.github
        .actions()
        .pass(&shop.repo, &head, "verify")
        .unwrap();
    shop.agent
        .set_status(&shop.repo, &head, "verify", "success")
        .unwrap();
    assert_eq!(
        refusal(&shop, &pull),
        "Repository rule violations found\n\nRequired status check \"verify\" is expected.\n\n"
    );
    codex.pass(&shop.repo, &head, "verify").unwrap();
    assert!(shop.alice.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn several_missing_contexts_are_counted() {
    let shop = shop();
    let protection = BranchProtection {
        checks: vec![required("unit", None), required("lint", None)],
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.github
        .actions()
        .fail(&shop.repo, &pull.head().unwrap(), "lint")
        .unwrap();
    assert_eq!(
        refusal(&shop, &pull),
        "2 of 2 required status checks have not succeeded: 1 expected and 1 failing."
    );
}

#[test]
fn a_strict_branch_wants_the_bases_tip_in_the_head() {
    let shop = shop();
    let protection = BranchProtection {
        strict: true,
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.base_moves("seven", "SEVEN");
    pull.read().unwrap();
    assert_eq!(pull.read().unwrap()["mergeable_state"], "behind");
    assert_eq!(
        refusal(&shop, &pull),
        "This branch is out-of-date with the base branch"
    );
    shop.alice.update_branch(&pull).unwrap();
    assert!(shop.alice.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn approvals_count_from_writers_other_than_the_author_and_fall_with_a_push() {
    let shop = shop();
    let reviews = Some(RequiredReviews {
        approvals: 1,
        dismiss_stale: true,
        ..RequiredReviews::default()
    });
    let protection = BranchProtection {
        reviews,
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let wanted = "At least 1 approving review is required by reviewers with write access.";
    assert_eq!(refusal(&shop, &pull), wanted);
    assert_eq!(
        shop.agent.approve(&pull).unwrap_err().status,
        422,
        "the own pull request"
    );
    shop.github.user("passer-by").approve(&pull).unwrap();
    assert_eq!(refusal(&shop, &pull), wanted, "no write access");
    let carol = shop.github.user("carol");
    shop.repo.allow(&carol, Permission::Write).unwrap();
    carol.approve(&pull).unwrap();
    shop.told();
    let edits = Edits::write("more.txt", "more\n");
    shop.agent
        .push(&shop.repo, "agent/one", "more", edits)
        .unwrap();
    assert!(
        shop.told()
            .contains(&"pull_request_review.dismissed".to_owned())
    );
    assert_eq!(refusal(&shop, &pull), wanted, "the push took it back");
    carol.approve(&pull).unwrap();
    assert!(shop.alice.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn changes_requested_stand_until_the_same_reviewer_approves() {
    let shop = shop();
    let rules = vec![Rule::PullRequest(RequiredReviews {
        approvals: 1,
        ..RequiredReviews::default()
    })];
    shop.repo.add_ruleset(&["main"], rules, vec![]).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let carol = shop.github.user("carol");
    shop.repo.allow(&carol, Permission::Write).unwrap();
    shop.alice.approve(&pull).unwrap();
    carol.request_changes(&pull, "no").unwrap();
    assert!(refusal(&shop, &pull).contains("Changes must be addressed"));
    carol.review(&pull, ReviewState::Commented, "hm").unwrap();
    assert!(
        refusal(&shop, &pull).contains("Changes must be addressed"),
        "comments change nothing"
    );
    carol.approve(&pull).unwrap();
    assert!(shop.alice.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn retargeting_drops_approvals_without_a_delivery_about_them() {
    let shop = shop();
    shop.alice.branch(&shop.repo, "next", "main").unwrap();
    let rules = vec![Rule::PullRequest(RequiredReviews {
        approvals: 1,
        dismiss_stale: true,
        ..RequiredReviews::default()
    })];
    shop.repo.add_ruleset(&["~ALL"], rules, vec![]).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let review = shop.alice.approve(&pull).unwrap();
    shop.told();
    shop.alice.retarget(&pull, "next").unwrap();
    assert_eq!(shop.told(), ["pull_request.edited"]);
    let state = shop.repo.look(|repo| repo.reviews[&review].state);
    assert_eq!(state.unwrap(), ReviewState::Dismissed);
}

#[test]
fn conversations_queue_history_and_signatures_each_have_their_words() {
    let cases: [(Rule, &str); 4] = [
        (
            Rule::PullRequest(RequiredReviews {
                threads_resolved: true,
                ..RequiredReviews::default()
            }),
            "A conversation must be resolved",
        ),
        (Rule::MergeQueue(MergeMethod::Merge), "merge queue"),
        (Rule::LinearHistory, "must not contain merge commits"),
        (Rule::Signatures, "verified signatures"),
    ];
    for (rule, words) in cases {
        let shop = shop();
        shop.repo
            .add_ruleset(&["main"], vec![rule], vec![])
            .unwrap();
        let pull = shop.change("agent/one", "one", "ONE");
        shop.alice.ask_about(&pull, "poem.txt", 1, "Why?").unwrap();
        let said = refusal(&shop, &pull);
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn administrators_pass_classic_protection_unless_it_holds_for_them_too() {
    let shop = shop();
    let boss = shop.github.user("boss");
    shop.repo.allow(&boss, Permission::Admin).unwrap();
    let protection = |enforce_admins| BranchProtection {
        checks: vec![required("unit", None)],
        enforce_admins,
        ..BranchProtection::default()
    };
    shop.repo.protect("main", protection(true)).unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    assert_eq!(
        boss.merge(&pull, MergeMethod::Merge).unwrap_err().status,
        405
    );
    shop.repo.protect("main", protection(false)).unwrap();
    assert!(boss.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn a_ruleset_can_be_passed_by_the_app_it_names() {
    let shop = shop();
    let ours = shop.github.our_app();
    let bypass = vec![Bypass::App(ours.app.unwrap())];
    shop.repo
        .add_ruleset(&["main"], vec![Rule::Update], bypass)
        .unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    assert!(refusal(&shop, &pull).contains("Cannot update this protected ref."));
    assert!(ours.merge(&pull, MergeMethod::Merge).is_ok());
}

#[test]
fn a_merge_group_is_asked_about_on_its_own_head_and_lands_as_it_is() {
    let shop = shop();
    let one = shop.change("agent/one", "one", "ONE");
    let two = shop.change("agent/two", "seven", "SEVEN");
    shop.told();
    let group = {
        let mut world = shop.github.lock();
        world
            .form_group(shop.repo.id, &[one.number, two.number])
            .unwrap()
    };
    assert!(
        shop.told()
            .contains(&"merge_group.checks_requested".to_owned())
    );
    let text = shop.text_at(&group.head, "poem.txt");
    assert_eq!(text, POEM.replace("one", "ONE").replace("seven", "SEVEN"));
    shop.github
        .lock()
        .end_group(shop.repo.id, &group, true)
        .unwrap();
    assert_eq!(shop.repo.tip("main").unwrap(), group.head);
    assert!(one.look(Pull::merged).unwrap() && two.look(Pull::merged).unwrap());
}
