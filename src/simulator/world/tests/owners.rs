use super::*;

#[test]
fn an_app_hears_nothing_before_it_is_installed_while_suspended_or_after_it_is_removed() {
    let shop = shop();
    let speak = |text: &str| {
        shop.alice.open_issue(&shop.repo, text, "").unwrap();
        shop.told()
    };
    assert_eq!(speak("first"), ["issues.opened"]);
    shop.repo.suspend_app(&shop.alice, true).unwrap();
    assert_eq!(shop.told(), ["installation.suspend"]);
    assert!(speak("unheard").is_empty());
    shop.repo.suspend_app(&shop.alice, false).unwrap();
    assert_eq!(shop.told(), ["installation.unsuspend"]);
    shop.repo.uninstall_app(&shop.alice).unwrap();
    assert_eq!(shop.told(), ["installation.deleted"]);
    assert!(speak("gone").is_empty());
}

#[test]
fn repositories_join_and_leave_an_installation_by_name() {
    let shop = shop();
    let second = shop.github.repo("acme/second", &[("a", "a\n")]).unwrap();
    second.install_app(&shop.alice).unwrap();
    assert_eq!(
        second.installation().unwrap(),
        shop.repo.installation().unwrap()
    );
    second.deselect(&shop.alice).unwrap();
    assert!(second.installation().is_err());
    assert_eq!(
        shop.told(),
        [
            "installation_repositories.added",
            "installation_repositories.removed"
        ]
    );
}

#[test]
fn a_renamed_repository_keeps_its_id_and_its_old_name_leads_to_it() {
    let shop = shop();
    shop.repo.rename(&shop.alice, "store").unwrap();
    assert_eq!(shop.repo.full_name().unwrap(), "acme/store");
    let world = shop.github.lock();
    assert_eq!(world.repo_named("ACME/Shop").unwrap(), shop.repo.id);
    assert_eq!(world.repo_named("acme/store").unwrap(), shop.repo.id);
    assert_eq!(
        world.outbox[0].payload["changes"]["repository"]["name"]["from"],
        "shop"
    );
}

#[test]
fn a_deleted_account_shows_as_null_wherever_it_acted() {
    let shop = shop();
    let ghost = shop.github.deleted_account();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.told();
    ghost.comment(&pull, "/merge").unwrap();
    let deliveries = shop.github.lock().take_deliveries();
    let told = &deliveries[0].payload;
    assert!(told["sender"].is_null() && told["comment"]["user"].is_null());
    assert_eq!(told["comment"]["body"], "/merge");
}

#[test]
fn permission_is_the_most_of_owner_collaborator_team_and_app() {
    let shop = shop();
    let dora = shop.github.user("dora");
    let of = |who: &Actor| shop.github.lock().permission_of(shop.repo.id, who.id);
    assert_eq!(of(&dora), Permission::None);
    shop.repo.publish().unwrap();
    assert_eq!(of(&dora), Permission::Read);
    let team = shop.github.team("acme", "owners", &[&dora]);
    shop.repo.allow_team(team, Permission::Maintain).unwrap();
    assert_eq!(of(&dora), Permission::Maintain);
    shop.repo.allow(&dora, Permission::Triage).unwrap();
    assert_eq!(of(&dora), Permission::Maintain);
    assert_eq!(of(&shop.github.our_app()), Permission::Write);
    assert_eq!(of(&shop.github.other_app("codex-verify")), Permission::Read);
}

#[test]
fn a_transferred_repository_is_out_of_the_old_accounts_installation() {
    let shop = shop();
    let bob = shop.github.user("bob");
    shop.repo.transfer(&shop.alice, &bob).unwrap();
    assert_eq!(shop.repo.full_name().unwrap(), "bob/shop");
    assert!(shop.repo.installation().is_err());
}

#[test]
fn labels_comments_and_reviews_each_send_their_own_delivery() {
    let shop = shop();
    let pull = shop.change("agent/one", "one", "ONE");
    shop.told();
    let alice = &shop.alice;
    alice.label(&shop.repo, pull.number, "agent").unwrap();
    alice.label(&shop.repo, pull.number, "AGENT").unwrap();
    alice.unlabel(&shop.repo, pull.number, "agent").unwrap();
    assert_eq!(
        shop.told(),
        [
            "label.created",
            "pull_request.labeled",
            "pull_request.unlabeled"
        ],
        "a label that is there already is not put on again"
    );
    let comment = alice.comment(&pull, "hello").unwrap();
    alice.edit_comment(&shop.repo, comment, "hello!").unwrap();
    alice.delete_comment(&shop.repo, comment).unwrap();
    assert_eq!(
        shop.told(),
        [
            "issue_comment.created",
            "issue_comment.edited",
            "issue_comment.deleted"
        ]
    );
    let review = alice.approve(&pull).unwrap();
    alice.edit_review(&shop.repo, review, "fine").unwrap();
    alice.dismiss_review(&shop.repo, review).unwrap();
    let thread = alice.ask_about(&pull, "poem.txt", 1, "Why?").unwrap();
    alice.resolve(&shop.repo, thread).unwrap();
    assert_eq!(
        shop.told(),
        [
            "pull_request_review.submitted",
            "pull_request_review.edited",
            "pull_request_review.dismissed",
            "pull_request_review.submitted",
            "pull_request_review_thread.resolved"
        ]
    );
}

#[test]
fn a_transfer_redirects_the_old_full_name_too() {
    let shop = shop();
    let bob = shop.github.user("bob");
    shop.repo.transfer(&shop.alice, &bob).unwrap();
    assert_eq!(
        shop.github.lock().repo_named("acme/shop").unwrap(),
        shop.repo.id
    );
}
