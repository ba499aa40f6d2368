use super::*;

#[test]
fn a_push_to_the_head_branch_tells_push_suite_and_synchronize() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    assert_eq!(
        shop.told(),
        ["push", "check_suite.requested", "pull_request.opened"]
    );
    let before = pull.head().unwrap();
    let edits = Edits::write("poem.txt", POEM.replace("one", "1"));
    let after = shop
        .agent
        .push(&shop.repo, "agent/one", "again", edits)
        .unwrap();
    let deliveries = shop.github.lock().take_deliveries();
    let last = &deliveries.last().unwrap().payload;
    assert_eq!(last["action"], "synchronize");
    assert_eq!(last["before"], before);
    assert_eq!(last["after"], after);
    assert_eq!(last["pull_request"]["head"]["sha"], after);
}

#[test]
fn the_base_sha_of_a_pull_request_is_stale_until_the_next_push_to_its_head() {
    let shop = shop();
    let opened_on = shop.repo.tip("main").unwrap();
    let pull = shop.change("agent/one", "one", "ONE");
    let moved_to = shop.base_moves("seven", "SEVEN");
    assert_eq!(pull.read().unwrap()["base"]["sha"], opened_on);
    let edits = Edits::write("new.txt", "new\n");
    shop.agent
        .push(&shop.repo, "agent/one", "more", edits)
        .unwrap();
    assert_eq!(pull.read().unwrap()["base"]["sha"], moved_to);
}

#[test]
fn the_diff_of_a_pull_request_does_not_show_what_the_base_gained_meanwhile() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.alice
        .push(
            &shop.repo,
            "main",
            "unrelated",
            Edits::write("other.txt", "a\nb\n"),
        )
        .unwrap();
    let read = pull.read().unwrap();
    assert_eq!(
        (&read["changed_files"], &read["additions"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&read["deletions"], &read["commits"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn mergeable_is_null_at_the_first_read_and_known_at_the_next() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let first = pull.read().unwrap();
    assert!(first["mergeable"].is_null());
    assert_eq!(first["mergeable_state"], "unknown");
    let second = pull.read().unwrap();
    assert_eq!(second["mergeable"], true);
    let trial = shop.commit(second["merge_commit_sha"].as_str().unwrap());
    assert_eq!(
        trial.parents,
        [shop.repo.tip("main").unwrap(), pull.head().unwrap()]
    );
    shop.base_moves("seven", "SEVEN");
    assert!(
        pull.read().unwrap()["mergeable"].is_null(),
        "the base moved"
    );
}

#[test]
fn how_many_reads_answer_null_can_be_set() {
    let shop = shop();
    shop.github.lock().behaviour.mergeable_null_reads = 3;
    let pull = shop.change("agent/one", "one", "ONE");
    let nulls = (0..5)
        .filter(|_| pull.read().unwrap()["mergeable"].is_null())
        .count();
    assert_eq!(nulls, 3);
}

#[test]
fn two_changes_to_one_line_make_the_pull_request_unmergeable() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.base_moves("one", "1");
    pull.read().unwrap();
    let read = pull.read().unwrap();
    assert_eq!(read["mergeable"], false);
    assert_eq!(read["mergeable_state"], "dirty");
    let refused = shop.alice.merge(&pull, MergeMethod::Merge).unwrap_err();
    assert_eq!(
        (refused.status, refused.message.as_str()),
        (405, "Pull Request is not mergeable")
    );
}

#[test]
fn update_branch_merges_the_base_in_and_moves_reviews_to_the_new_head() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let old = pull.head().unwrap();
    let review = shop.alice.approve(&pull).unwrap();
    let base = shop.base_moves("seven", "SEVEN");
    shop.told();
    shop.alice.update_branch(&pull).unwrap();
    let new = pull.head().unwrap();
    assert_eq!(shop.commit(&new).parents, [old, base]);
    let commit_id = shop
        .repo
        .look(|repo| repo.reviews[&review].commit_id.clone());
    assert_eq!(commit_id.unwrap(), new);
    assert_eq!(
        shop.told(),
        ["push", "check_suite.requested", "pull_request.synchronize"]
    );
    let refused = shop.alice.update_branch(&pull).unwrap_err();
    assert_eq!(
        refused.message,
        "There are no new commits on the base branch."
    );
}

#[test]
fn update_branch_refuses_another_head_than_the_expected_one() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let base = shop.base_moves("seven", "SEVEN");
    let mut world = shop.github.lock();
    let by = shop.alice.principal();
    let refused = world.update_branch(pull.repo.id, pull.number, by, Some(&base));
    assert_eq!(refused.unwrap_err().status, 422);
}

#[test]
fn retargeting_keeps_the_head_and_tells_the_old_base() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    let head = pull.head().unwrap();
    let old = shop.repo.tip("main").unwrap();
    shop.alice.branch(&shop.repo, "next", "main").unwrap();
    shop.told();
    shop.alice.retarget(&pull, "next").unwrap();
    let deliveries = shop.github.lock().take_deliveries();
    let [edited] = deliveries.as_slice() else {
        panic!("one delivery: {deliveries:?}");
    };
    assert_eq!(edited.payload["changes"]["base"]["ref"]["from"], "main");
    assert_eq!(edited.payload["changes"]["base"]["sha"]["from"], old);
    assert_eq!(edited.payload["pull_request"]["head"]["sha"], head);
    assert_eq!(edited.payload["pull_request"]["base"]["ref"], "next");
}

#[test]
fn a_force_push_is_refused_unless_it_is_said_and_then_told_as_forced() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.told();
    let edits = Edits::write("poem.txt", POEM.replace("one", "uno"));
    let new = shop
        .agent
        .force_push(&shop.repo, "agent/one", "main", "rewrite", edits)
        .unwrap();
    assert_eq!(pull.head().unwrap(), new);
    let deliveries = shop.github.lock().take_deliveries();
    assert_eq!(deliveries[0].payload["forced"], true);
    let by = shop.agent.principal();
    let main = shop.repo.tip("main").unwrap();
    let mut world = shop.github.lock();
    let refused = world.move_branch(shop.repo.id, "agent/one", Some(&main), by, false);
    assert_eq!(refused.unwrap_err().message, "Update is not a fast forward");
}

#[test]
fn deleting_the_head_branch_closes_the_pull_request_and_it_cannot_be_reopened() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.told();
    shop.agent.delete_branch(&shop.repo, "agent/one").unwrap();
    assert_eq!(shop.told(), ["push", "pull_request.closed"]);
    assert_eq!(shop.agent.reopen(&pull).unwrap_err().status, 422);
}

#[test]
fn closing_and_reopening_is_told_and_follows_the_branch() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.agent.close(&pull).unwrap();
    let edits = Edits::write("more.txt", "more\n");
    let new = shop
        .agent
        .push(&shop.repo, "agent/one", "more", edits)
        .unwrap();
    assert_ne!(
        pull.head().unwrap(),
        new,
        "a closed pull request does not follow"
    );
    shop.told();
    shop.agent.reopen(&pull).unwrap();
    assert_eq!(pull.head().unwrap(), new);
    assert_eq!(shop.told(), ["pull_request.reopened"]);
}

#[test]
fn opening_is_refused_twice_for_one_branch_and_without_commits() {
    let shop = shop();
    shop.change("agent/one", "one", "ONE");
    let again = shop
        .agent
        .open_pull(&shop.repo, "agent/one", "main", "again")
        .unwrap_err();
    assert_eq!(again.status, 422);
    assert_eq!(
        again.errors[0]["message"],
        "A pull request already exists for acme:agent/one."
    );
    shop.agent.branch(&shop.repo, "empty", "main").unwrap();
    let empty = shop
        .agent
        .open_pull(&shop.repo, "empty", "main", "nothing")
        .unwrap_err();
    assert_eq!(
        empty.errors[0]["message"],
        "No commits between main and empty"
    );
}

#[test]
fn a_forks_pull_request_has_its_own_head_repository_and_refs_pull_head() {
    let shop = shop();
    let bob = shop.github.user("bob");
    let fork = bob.fork(&shop.repo).unwrap();
    let head = bob
        .push(&fork, "fix", "fix", Edits::write("fix", "fix\n"))
        .unwrap();
    let pull = bob.open_pull(&shop.repo, "bob:fix", "main", "Fix").unwrap();
    let read = pull.read().unwrap();
    assert_eq!(read["head"]["repo"]["full_name"], "bob/shop");
    assert_eq!(read["head"]["label"], "bob:fix");
    let file = shop
        .repo
        .path()
        .unwrap()
        .join(format!("refs/pull/{}/head", pull.number));
    assert_eq!(std::fs::read_to_string(file).unwrap().trim(), head);
    let more = bob
        .push(&fork, "fix", "more", Edits::write("more", "more\n"))
        .unwrap();
    assert_eq!(pull.head().unwrap(), more);
    fork.delete(&bob).unwrap();
    assert!(pull.read().unwrap()["head"]["repo"].is_null());
}
