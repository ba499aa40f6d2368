//! Repositories, their branches, and the policy that follows a tip.

use super::*;

#[test]
fn a_late_delivery_neither_reactivates_nor_renames_a_known_repository() {
    let mut memory = RepoMemory::default();
    let old = Repository {
        name: RepoName::parse("acme/old").unwrap(),
        ..repository()
    };
    memory.apply(&Change::RepoSeen(old.clone()));
    assert!(memory.active, "any delivery teaches an unknown repository");
    memory.apply(&Change::Repo(repository()));
    memory.active = false;
    memory.apply(&Change::RepoSeen(old));
    assert!(!memory.active);
    assert_eq!(memory.repo.unwrap().name.to_string(), "acme/shop");
}

#[test]
fn only_the_installation_a_repository_belongs_to_switches_it() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    memory.active = false;
    let back = |id| Change::InstallationActive(InstallationId::new(id).unwrap());
    memory.apply(&back(8));
    assert!(!memory.active);
    memory.apply(&back(7));
    assert!(memory.active);
}

#[test]
fn a_short_form_does_not_erase_the_default_branch() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    memory.apply(&Change::Repo(Repository {
        default_branch: None,
        ..repository()
    }));
    assert_eq!(memory.repo.unwrap().default_branch, Some(base("main")));
}

#[test]
fn branches_nobody_asked_about_are_not_followed() {
    let mut memory = RepoMemory::default();
    memory.apply(&Change::Repo(repository()));
    let side = |branch: &str| match push(1, 2) {
        Change::Tip {
            repo,
            before,
            after,
            policy_untouched,
            ..
        } => Change::Tip {
            repo,
            base: base(branch),
            before,
            after,
            policy_untouched,
        },
        change => change,
    };
    memory.apply(&side("agent/1"));
    assert!(memory.bases.is_empty());
    memory.bases.insert(base("release"), BaseMemory::default());
    memory.apply(&side("release"));
    assert_eq!(memory.bases[&base("release")].tip, Some(oid(2)));
}

#[test]
fn a_branch_forced_back_to_where_it_had_been_is_read_anew() {
    assert_eq!(based(&[push(1, 2), push(2, 1)]).tip, None);
    assert_eq!(
        based(&[push(1, 2), push(2, 1), push(1, 3)]).tip,
        Some(oid(3))
    );
}

#[test]
fn after_a_lost_push_the_latest_to_arrive_is_believed_and_a_repetition_is_not() {
    let memory = based(&[push(1, 2), push(3, 4), push(1, 2)]);
    assert_eq!(memory.tip, Some(oid(4)));
}

#[test]
fn a_deleted_branch_has_no_tip_and_a_new_one_of_the_name_does() {
    assert_eq!(based(&[push(1, 2), push(2, 0)]).tip, None);
    assert_eq!(
        based(&[push(1, 2), push(2, 0), push(0, 3)]).tip,
        Some(oid(3))
    );
}

#[test]
fn the_policys_text_follows_the_tip_only_where_nobody_touched_it() {
    let carried = |change: Change| {
        let mut memory = BaseMemory {
            policy: Some(PolicyText {
                tip: oid(1),
                file: None,
            }),
            ..BaseMemory::default()
        };
        let mut repo = RepoMemory::default();
        repo.apply(&Change::Repo(repository()));
        std::mem::swap(repo.bases.entry(base("main")).or_default(), &mut memory);
        repo.apply(&change);
        repo.bases
            .remove(&base("main"))
            .unwrap()
            .policy
            .unwrap()
            .tip
    };
    assert_eq!(carried(push(1, 2)), oid(2));
    assert_eq!(
        carried(push(5, 6)),
        oid(1),
        "not from where the text was read"
    );
    let mut touched = push(1, 2);
    if let Change::Tip {
        policy_untouched, ..
    } = &mut touched
    {
        *policy_untouched = false;
    }
    assert_eq!(carried(touched), oid(1));
}
