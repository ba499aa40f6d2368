//! One test a finding, beside what must not be found.

use super::*;
use crate::domain::model::ActorId;
use crate::domain::policy::read;

const POLICY: &str = "\
version: 1
agents: { authors: ['acme-agent[bot]'], vendor: anthropic }
verifiers:
  codex: { app: codex-verify, vendor: openai }
gates:
  checks:
    required:
      - { name: unit, app: github-actions }
  second_verifier: { count: 1 }
merge:
  base_branches: [main]
owners: [alice, '@acme/owners']
";

const OWN: u64 = 7;

fn app(id: u64, slug: &str) -> Producer {
    Producer::App(AppRef {
        id: AppId::new(id).unwrap(),
        slug: slug.to_owned(),
    })
}

fn report(name: &str, by: Producer) -> Report {
    Report {
        name: name.to_owned(),
        by,
        workflow: None,
    }
}

fn unit() -> Report {
    Report {
        workflow: Some(".github/workflows/ci.yml".to_owned()),
        ..report("unit", app(15_368, "github-actions"))
    }
}

fn ours(pin: Option<u64>) -> PlatformRule {
    PlatformRule::RequiredCheck {
        context: OWN_CHECK.to_owned(),
        app: pin.and_then(AppId::new),
        strict: false,
    }
}

/// A repository in which everything that the policy names is there.
fn facts() -> Facts {
    let reports = vec![
        unit(),
        report("verification", app(11, "codex-verify")),
        report(OWN_CHECK, app(OWN, "countersign")),
    ];
    let head = |place: &str, of_pull| Head {
        place: place.to_owned(),
        of_pull,
        reports: reports.clone(),
        gaps: Vec::new(),
    };
    let person = |login: &str, kind| (login.to_owned(), Fetched::Known(Some(kind)));
    Facts {
        own_app: AppId::new(OWN).unwrap(),
        owner: "acme".to_owned(),
        default_branch: BaseRef::parse("main").ok(),
        heads: vec![head("the tip of `main`", false), head("#1", true)],
        pulls_unread: None,
        apps: BTreeMap::from([("codex-verify".to_owned(), Fetched::Known(true))]),
        accounts: BTreeMap::from([
            person("alice", ActorKind::User),
            person("acme-agent[bot]", ActorKind::Bot),
        ]),
        teams: BTreeMap::from([("acme/owners".to_owned(), Fetched::Known(true))]),
        bases: BTreeMap::from([(
            "main".to_owned(),
            Fetched::Known(Some(vec![ours(Some(OWN))])),
        )]),
        methods: Fetched::Known(Methods {
            merge: Some(true),
            squash: Some(true),
            rebase: Some(false),
        }),
    }
}

fn found(text: &str, facts: &Facts) -> Vec<Finding> {
    let policy = read::read(text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    judge(text, &policy, facts)
}

/// Everything found, a line each: severity, place, key, sentence, mend.
fn told(text: &str, facts: &Facts) -> String {
    let found = found(text, facts);
    let lines = found.iter().map(|one| {
        let mend = one.mend.as_deref().unwrap_or("-");
        format!(
            "{:?} {}:{} {}: {}\n  {mend}\n",
            one.severity, one.line, one.column, one.key, one.what
        )
    });
    lines.collect()
}

fn with(facts: impl FnOnce(&mut Facts)) -> Facts {
    let mut changed = self::facts();
    facts(&mut changed);
    changed
}

/// Every commit reported exactly this.
fn reported(reports: &[Report]) -> Facts {
    with(|facts| {
        for head in &mut facts.heads {
            head.reports = reports.to_vec();
            head.reports.push(report("v", app(11, "codex-verify")));
        }
    })
}

fn rules(rules: Vec<PlatformRule>) -> Facts {
    with(|facts| {
        let all = [vec![ours(Some(OWN))], rules].concat();
        facts
            .bases
            .insert("main".to_owned(), Fetched::Known(Some(all)));
    })
}

#[test]
fn a_policy_that_fits_its_repository_has_no_finding() {
    assert_eq!(told(POLICY, &facts()), "");
}

#[test]
fn a_check_that_nobody_reports_is_an_error_that_lists_what_is_reported() {
    let text = POLICY.replace("name: unit", "name: review-bot-gate");
    insta::assert_snapshot!(told(&text, &facts()), @r"
    Error 8:9 gates.checks.required[0]: nobody ever reported `review-bot-gate`: looked at the tip of `main` and the head of #1
      write a name that is reported (`unit`, `verification`), or make a job of that name
    ");
}

#[test]
fn a_near_identical_name_is_offered() {
    for (seen, required) in [
        ("Unit", "unit"),
        ("unit tests", "Unit Tests"),
        ("unit-tests", "unit tests"),
        ("Unit tests", "unit"),
        ("unti", "unit"),
        ("build (linux)", "Build (*)"),
    ] {
        let text = POLICY.replace("name: unit", &format!("name: '{required}'"));
        let facts = reported(&[report(seen, app(15_368, "github-actions"))]);
        let found = found(&text, &facts);
        assert_eq!(found.len(), 1, "{required}: {found:#?}");
        assert_eq!(found[0].severity, Severity::Error);
        let mend = found[0].mend.as_deref().unwrap();
        assert_eq!(mend, format!("did you mean `{seen}`?"), "{required}");
    }
}

#[test]
fn a_pattern_is_met_by_any_name_it_matches() {
    let text = POLICY.replace("name: unit", "name: 'un*'");
    assert_eq!(told(&text, &facts()), "");
}

#[test]
fn a_name_reported_by_another_app_than_the_pinned_one_is_an_error_that_names_both() {
    let facts = reported(&[report("unit", app(99, "jenkins"))]);
    insta::assert_snapshot!(told(POLICY, &facts), @r"
    Error 8:9 gates.checks.required[0]: `unit` was never reported by the App `github-actions`, but by the App `jenkins`
      did you mean `app: jenkins`?
    ");
}

#[test]
fn a_pin_by_number_is_met_by_that_number_alone() {
    let text = POLICY.replace("app: github-actions", "app: 15368");
    assert_eq!(told(&text, &facts()), "");
    let text = POLICY.replace("app: github-actions", "app: 15369");
    assert!(told(&text, &facts()).contains("never reported by the App `15369`"));
}

#[test]
fn a_status_of_an_apps_bot_user_is_that_apps() {
    let by = |login: &str| Producer::Status(Some(Login::new(login)));
    let facts = reported(&[report("unit", by("github-actions[bot]"))]);
    assert_eq!(told(POLICY, &facts), "");
    let facts = reported(&[report("unit", by("mallory"))]);
    assert!(told(POLICY, &facts).contains("but by a commit status of mallory"));
}

#[test]
fn an_app_that_the_server_does_not_name_is_no_certainty() {
    let facts = reported(&[report("unit", Producer::Unnamed)]);
    let found = found(POLICY, &facts);
    assert_eq!(found[0].severity, Severity::Warning, "{found:#?}");
}

#[test]
fn a_name_reported_from_another_workflow_than_the_pinned_one_is_an_error() {
    let pinned = "app: github-actions, workflow: .github/workflows/cli.yml";
    let text = POLICY.replace("app: github-actions", pinned);
    insta::assert_snapshot!(told(&text, &facts()), @r"
    Error 8:9 gates.checks.required[0]: `unit` was never reported from `.github/workflows/cli.yml`, but from `.github/workflows/ci.yml`
      did you mean `workflow: .github/workflows/ci.yml`?
    ");
    let right = text.replace("cli.yml", "ci.yml");
    assert_eq!(told(&right, &facts()), "");
}

#[test]
fn where_nobody_reported_anything_yet_a_missing_name_is_a_warning() {
    let facts = with(|facts| {
        for head in &mut facts.heads {
            head.reports.clear();
        }
    });
    let found = found(POLICY, &facts);
    let check = found
        .iter()
        .find(|one| one.subject == Subject::Check)
        .unwrap();
    assert_eq!(check.severity, Severity::Warning);
    assert!(
        check
            .what
            .starts_with("nobody reported `unit` or any other check")
    );
}

#[test]
fn our_own_reports_count_for_nothing() {
    let facts = with(|facts| {
        for head in &mut facts.heads {
            head.reports = vec![report("unit", app(OWN, "countersign"))];
        }
    });
    assert!(told(POLICY, &facts).contains("nobody reported `unit` or any other check"));
}

#[test]
fn without_a_pull_request_a_missing_name_is_a_warning_unless_it_is_a_slip() {
    let severity = |name: &str| {
        let text = POLICY.replace("name: unit", &format!("name: {name}"));
        let facts = with(|facts| facts.heads.retain(|head| !head.of_pull));
        found(&text, &facts)[0].severity
    };
    assert_eq!(severity("preview-deployment"), Severity::Warning);
    assert_eq!(severity("Unit"), Severity::Error);
}

#[test]
fn what_could_not_be_read_is_said_and_makes_a_missing_name_uncertain() {
    let facts = with(|facts| {
        facts.heads[1].gaps = vec!["its check runs: GitHub failed (502)".to_owned()];
        facts.pulls_unread = Some("GitHub failed (500)".to_owned());
    });
    let text = POLICY.replace("name: unit", "name: lint");
    insta::assert_snapshot!(told(&text, &facts), @r"
    Blind 0:0 : could not look at the recent pull requests: GitHub failed (500)
      -
    Blind 0:0 : could not look at #1: its check runs: GitHub failed (502)
      -
    Warning 8:9 gates.checks.required[0]: nobody ever reported `lint`: looked at the tip of `main` and the head of #1
      write a name that is reported (`unit`, `verification`), or make a job of that name
    ");
}

#[test]
fn a_check_that_is_pinned_to_no_app_is_a_warning_that_shows_the_pin() {
    let text = POLICY.replace(
        "- { name: unit, app: github-actions }",
        "- unit\n      - verification",
    );
    insta::assert_snapshot!(told(&text, &facts()), @r"
    Warning 8:9 gates.checks.required[0]: `unit`, `verification` are pinned to no App: whoever may write to the repository can report it as well
      pin each to what reports it, such as `{ name: unit, app: github-actions, workflow: .github/workflows/ci.yml }`
    ");
    // A commit status has no App that could be pinned.
    let facts = reported(&[report("unit", Producer::Status(None))]);
    let text = POLICY.replace("{ name: unit, app: github-actions }", "unit");
    assert_eq!(told(&text, &facts), "");
}

#[test]
fn a_check_required_twice_from_one_app_by_slug_and_by_number_is_found() {
    let both = "- { name: unit, app: github-actions }\n      - { name: unit, app: 15368 }";
    let text = POLICY.replace("- { name: unit, app: github-actions }", both);
    assert!(
        told(&text, &facts()).contains("9:9 gates.checks.required[1]: `unit` is required twice")
    );
}

/// B113: one entry must not hide the stricter pin of another.
#[test]
fn two_entries_of_one_name_are_both_judged() {
    let both = "- { name: unit, app: github-actions }\n      - { name: unit, app: jenkins }";
    let text = POLICY.replace("- { name: unit, app: github-actions }", both);
    let told = told(&text, &facts());
    assert!(
        told.contains("required[1]: `unit` was never reported by the App `jenkins`"),
        "{told}"
    );
    // And two equal ones are an error of the file itself.
    let twice =
        "- { name: unit, app: github-actions }\n      - { name: unit, app: github-actions }";
    let text = POLICY.replace("- { name: unit, app: github-actions }", twice);
    assert!(read::read(&text).is_err());
}

#[test]
fn an_app_that_github_does_not_know_is_an_error_with_the_nearest_that_reported() {
    let text = POLICY.replace("app: codex-verify", "app: codex-verfy");
    let facts = with(|facts| {
        facts
            .apps
            .insert("codex-verfy".to_owned(), Fetched::Known(false));
    });
    insta::assert_snapshot!(told(&text, &facts), @r"
    Error 4:17 verifiers.codex.app: GitHub knows no App `codex-verfy`, and none of that name reported here
      did you mean `codex-verify`?
    ");
}

#[test]
fn an_app_that_reported_is_there_whatever_github_shows_of_it() {
    let facts = with(|facts| {
        facts
            .apps
            .insert("codex-verify".to_owned(), Fetched::Known(false));
    });
    assert_eq!(told(POLICY, &facts), "");
}

#[test]
fn an_app_that_never_reported_here_is_a_warning_that_says_what_was_looked_at() {
    let facts = with(|facts| {
        for head in &mut facts.heads {
            head.reports.retain(|report| report.name != "verification");
        }
    });
    insta::assert_snapshot!(told(POLICY, &facts), @r"
    Warning 4:17 verifiers.codex.app: the App `codex-verify` never made a check run here: looked at the tip of `main` and the head of #1; whether it is installed, GitHub tells no other App
      see that it is installed on this repository and is asked for a run; one that reports in reviews and comments alone is not seen here
    ");
    let text = POLICY.replace("app: codex-verify", "app: 12");
    assert!(told(&text, &facts).contains("Warning 4:17 verifiers.codex.app: the App 12 never"));
    let text = POLICY.replace("app: codex-verify", "app: 11");
    assert_eq!(told(&text, &self::facts()), "");
}

#[test]
fn an_app_that_could_not_be_asked_about_is_said() {
    let facts = with(|facts| {
        for head in &mut facts.heads {
            head.reports.retain(|report| report.name != "verification");
        }
        let why = "GitHub failed (500)".to_owned();
        facts
            .apps
            .insert("codex-verify".to_owned(), Fetched::Unavailable(why));
    });
    let told = told(POLICY, &facts);
    assert!(told.starts_with("Blind 4:17 verifiers.codex.app: could not look: the App `codex-verify`: GitHub failed (500)"), "{told}");
}

#[test]
fn a_verifier_that_no_gate_reads_is_dead() {
    let text = POLICY
        .replace(
            "verifiers:\n",
            "verifiers:\n  gemini: { app: codex-verify-2, vendor: google }\n",
        )
        .replace(
            "second_verifier: { count: 1 }",
            "certification: { by: [codex] }",
        );
    let facts = with(|facts| {
        facts
            .apps
            .insert("codex-verify-2".to_owned(), Fetched::Known(true));
        facts.heads[0]
            .reports
            .push(report("v2", app(12, "codex-verify-2")));
    });
    insta::assert_snapshot!(told(&text, &facts), @r"
    Warning 4:11 verifiers.gemini: no gate reads what the verifier `gemini` reports
      ask for `second_verifier`, name it under a gate's `by`, or remove it
    ");
    let read = text.replace("by: [codex]", "by: [codex, gemini]");
    assert_eq!(told(&read, &facts), "");
}

#[test]
fn a_pattern_that_is_critical_and_excepted_is_dead() {
    let gate = "second_verifier: { count: 1 }\n  mutation_check: { critical: ['src/**'], except: ['src/**'] }";
    let text = POLICY.replace("second_verifier: { count: 1 }", gate);
    let told = told(&text, &facts());
    assert!(
        told.contains("gates.mutation_check.critical[0]: `src/**` is critical and excepted"),
        "{told}"
    );
}

#[test]
fn a_base_branch_that_does_not_exist_is_an_error_with_the_nearest() {
    let text = POLICY.replace("[main]", "[main, mian]");
    let facts = with(|facts| {
        facts.bases.insert("mian".to_owned(), Fetched::Known(None));
    });
    insta::assert_snapshot!(told(&text, &facts), @r"
    Error 11:25 merge.base_branches[1]: there is no branch `mian`
      did you mean `main`? Otherwise make the branch, or remove it here
    ");
}

#[test]
fn a_base_branch_that_is_not_written_is_named_by_its_key() {
    let text = POLICY.replace("merge:\n  base_branches: [main]\n", "");
    let facts = with(|facts| {
        facts.bases.insert("main".to_owned(), Fetched::Known(None));
        facts.default_branch = BaseRef::parse("trunk").ok();
    });
    let told = told(&text, &facts);
    assert!(
        told.starts_with(
            "Error 0:0 merge.base_branches[0]: there is no branch `main`\n  make the branch, or remove it here (the default branch is `trunk`)"
        ),
        "{told}"
    );
}

#[test]
fn a_pattern_of_base_branches_needs_no_branch_yet() {
    let text = POLICY.replace("[main]", "[main, 'release/*']");
    assert_eq!(told(&text, &facts()), "");
}

#[test]
fn a_branch_whose_rules_could_not_be_read_is_said() {
    let why = || Fetched::Unavailable("GitHub refused for want of permission (403): no".to_owned());
    let facts = with(|facts| {
        facts.bases.insert("main".to_owned(), why());
    });
    let told = told(POLICY, &facts);
    assert!(
        told.starts_with(
            "Blind 11:19 merge.base_branches[0]: could not look: the branch `main`: GitHub refused"
        ),
        "{told}"
    );
    assert_eq!(told.matches("Blind").count(), 1, "{told}");
}

#[test]
fn a_base_that_github_would_not_let_us_merge_into_is_an_error_for_each_rule() {
    let reviews = PlatformRule::Reviews {
        approvals: 0,
        code_owners: false,
        conversations: false,
        methods: vec!["squash".to_owned()],
    };
    let all = vec![
        PlatformRule::MergeQueue,
        PlatformRule::UpdatesRestricted,
        PlatformRule::LinearHistory,
        PlatformRule::SignedCommits,
        reviews,
    ];
    insta::assert_snapshot!(told(POLICY, &rules(all.clone())), @r#"
    Error 11:19 merge.base_branches[0]: `main` is merged by GitHub's merge queue only, which this version does not feed
      take the merge queue rule off the branch, or the branch off this list
    Error 11:19 merge.base_branches[0]: `main` may be updated by nobody without a bypass, and a bypass is never used
      take the rule "restrict updates" off the branch
    Error 11:19 merge.base_branches[0]: `main` takes no merge commits (linear history), and the policy merges with one
      set `merge.method` to `squash` or `rebase`, or take the rule off
    Error 11:19 merge.base_branches[0]: a rule on `main` allows `squash` only, and the policy says `merge`
      set `merge.method` to `squash`, or allow `merge` in the rule
    "#);
    // Squashing is what linear history, signatures and that rule leave.
    let squash = POLICY.replace("merge:\n", "merge:\n  method: squash\n");
    assert_eq!(told(&squash, &rules(all[2..].to_vec())), "");
    // A policy that only observes is not hindered yet.
    let observe = POLICY.replace("version: 1\n", "version: 1\nmode: observe\n");
    assert!(!told(&observe, &rules(all)).contains("Error"));
}

#[test]
fn signed_commits_and_rebasing_do_not_go_together() {
    let text = POLICY.replace("merge:\n", "merge:\n  method: rebase\n");
    let mut facts = rules(vec![PlatformRule::SignedCommits]);
    facts.methods = Fetched::Known(Methods {
        merge: None,
        squash: None,
        rebase: Some(true),
    });
    assert!(told(&text, &facts).contains("signed commits only"));
}

#[test]
fn a_merge_method_that_the_settings_forbid_is_an_error_with_what_they_allow() {
    let text = POLICY.replace("merge:\n", "merge:\n  method: rebase\n");
    insta::assert_snapshot!(told(&text, &facts()), @r"
    Error 11:11 merge.method: the repository's settings do not allow the merge method `rebase`
      set `merge.method` to `merge` or `squash`, or allow `rebase` under Settings, General, Pull Requests
    ");
}

#[test]
fn merge_methods_that_github_does_not_tell_are_said() {
    let untold = Methods {
        merge: None,
        squash: None,
        rebase: None,
    };
    for methods in [
        Fetched::Known(untold),
        Fetched::Unavailable("no answer".into()),
    ] {
        let facts = with(|facts| facts.methods = methods);
        let told = told(POLICY, &facts);
        assert!(
            told.starts_with("Blind 0:0 merge.method: could not look: the merge methods"),
            "{told}"
        );
    }
}

/// B063: a name alone can be reported by anybody who may write.
#[test]
fn our_own_check_required_without_a_pin_is_an_error() {
    let facts = with(|facts| {
        let loose = Fetched::Known(Some(vec![ours(None)]));
        facts.bases.insert("main".to_owned(), loose);
    });
    insta::assert_snapshot!(told(POLICY, &facts), @r"
    Error 11:19 merge.base_branches[0]: GitHub requires the check `countersign` on `main` from any source: whoever may write to the repository can report it green
      set this App (7) as the source of the required check `countersign`
    ");
}

#[test]
fn our_own_check_required_from_another_app_is_an_error() {
    let facts = rules(vec![ours(Some(8))]);
    insta::assert_snapshot!(told(POLICY, &facts), @r"
    Error 11:19 merge.base_branches[0]: GitHub wants the check `countersign` on `main` from App 8; this one is App 7, so no merge would ever be allowed
      pin the required check `countersign` to this App (7)
    ");
}

#[test]
fn our_own_check_not_required_is_a_warning() {
    let facts = with(|facts| {
        facts
            .bases
            .insert("main".to_owned(), Fetched::Known(Some(Vec::new())));
    });
    insta::assert_snapshot!(told(POLICY, &facts), @r"
    Warning 11:19 merge.base_branches[0]: GitHub does not require the check `countersign` on `main`: the gate is advice, anybody with write access may merge past it
      add a ruleset for `main` that requires the status check `countersign`, with this App as its source
    ");
}

#[test]
fn one_pinned_rule_is_enough_beside_an_unpinned_one() {
    assert_eq!(told(POLICY, &rules(vec![ours(None)])), "");
}

#[test]
fn a_check_that_github_itself_requires_and_nobody_reports_is_found() {
    let wanted = |app: Option<u64>| PlatformRule::RequiredCheck {
        context: "unit".to_owned(),
        app: app.and_then(AppId::new),
        strict: false,
    };
    assert_eq!(
        told(POLICY, &rules(vec![wanted(None), wanted(Some(15_368))])),
        ""
    );
    // A status does not say whose App it is; a bot user's may be the right one, a person's is not.
    let by_status = |login: &str| {
        let mut facts = rules(vec![wanted(Some(99))]);
        let by = Producer::Status(Some(Login::new(login)));
        facts.heads[0].reports.push(report("unit", by));
        told(POLICY, &facts)
    };
    assert_eq!(by_status("ci[bot]"), "");
    assert!(by_status("mallory").contains("GitHub requires `unit` from App 99"));
    let told = told(POLICY, &rules(vec![wanted(Some(99))]));
    assert!(
        told.contains("GitHub requires `unit` from App 99 on `main`"),
        "{told}"
    );
}

#[test]
fn an_owner_or_approver_who_does_not_exist_is_an_error() {
    let approvals =
        "second_verifier: { count: 1 }\n  approvals: { count: 1, from: [bob, '@acme/reviewers'] }";
    let text = POLICY
        .replace("second_verifier: { count: 1 }", approvals)
        .replace(
            "[alice, '@acme/owners']",
            "[alice, carol, acme, '@other/owners']",
        );
    let facts = with(|facts| {
        for gone in ["bob", "carol"] {
            facts.accounts.insert(gone.to_owned(), Fetched::Known(None));
        }
        facts
            .accounts
            .insert("acme".to_owned(), Fetched::Known(Some(ActorKind::Other)));
        for team in ["acme/reviewers", "other/owners"] {
            facts.teams.insert(team.to_owned(), Fetched::Known(false));
        }
    });
    insta::assert_snapshot!(told(&text, &facts), @r"
    Error 10:33 gates.approvals.from[0]: nobody on GitHub has the login `bob`: the entry gives nobody a say
      write the login as it is now (people rename themselves), or remove it
    Error 10:38 gates.approvals.from[1]: GitHub shows this App no team `@acme/reviewers`
      write the team's slug as it stands in its address
    Error 13:17 owners[1]: nobody on GitHub has the login `carol`: the entry gives nobody a say
      write the login as it is now (people rename themselves), or remove it
    Error 13:24 owners[2]: `acme` is an organisation, not a person: the entry gives nobody a say
      name people, or a team as `@org/team`
    Error 13:30 owners[3]: GitHub shows this App no team `@other/owners`
      name a team of the organisation that owns the repository: others cannot be read
    ");
}

/// B087: one parser for every list of people, and duplicates are seen however they are spelled.
#[test]
fn a_party_listed_twice_is_found_in_every_spelling() {
    let owners = |list: &str| POLICY.replace("[alice, '@acme/owners']", list);
    let text = owners("[alice, '@Alice', '@acme/owners', '@ACME/Owners']");
    let told = told(&text, &facts());
    assert!(
        told.contains("owners[1]: `Alice` is listed twice"),
        "{told}"
    );
    assert!(
        told.contains("owners[3]: `@acme/owners` is listed twice"),
        "{told}"
    );
    assert_eq!(told.matches("listed twice").count(), 2, "{told}");
    // Two names in one text, and an empty one, are errors of the file itself, in either list.
    for wrong in ["['alice bob']", "['alice,bob']", "['']"] {
        assert!(read::read(&owners(wrong)).is_err(), "{wrong}");
        let from =
            format!("second_verifier: {{ count: 1 }}\n  approvals: {{ count: 1, from: {wrong} }}");
        let text = POLICY.replace("second_verifier: { count: 1 }", &from);
        assert!(read::read(&text).is_err(), "{wrong}");
    }
}

#[test]
fn an_agents_author_who_does_not_exist_is_a_warning() {
    let facts = with(|facts| {
        facts
            .accounts
            .insert("acme-agent[bot]".to_owned(), Fetched::Known(None));
    });
    let told = told(POLICY, &facts);
    assert!(
        told.starts_with("Warning 2:21 agents.authors[0]: nobody on GitHub has the login"),
        "{told}"
    );
}

#[test]
fn people_and_teams_that_could_not_be_asked_about_are_said() {
    let facts = with(|facts| {
        facts.accounts.clear();
        facts.teams.clear();
    });
    let found = found(POLICY, &facts);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found.iter().all(|one| one.severity == Severity::Blind));
}

#[test]
fn a_report_takes_its_workflow_from_the_run_of_its_suite() {
    let id = |n| crate::domain::model::SuiteId::new(n).unwrap();
    let head = crate::domain::model::HeadSha::parse(&"1".repeat(40)).unwrap();
    let run = CheckRun {
        id: crate::domain::model::CheckRunId::new(1).unwrap(),
        name: "unit".into(),
        app: None,
        head: head.clone(),
        status: crate::domain::facts::RunStatus::Unfinished("queued".into()),
        suite: Some(id(5)),
        external_id: None,
        completed_at: None,
        url: None,
        output_text: None,
        output_title: None,
    };
    let workflow = |suite, path: &str| WorkflowRun {
        id: crate::domain::model::WorkflowRunId::new(9).unwrap(),
        suite: id(suite),
        path: path.to_owned(),
        event: "push".into(),
        attempt: 1,
        head: head.clone(),
    };
    let report = Report::of_run(&run, &[workflow(4, "a.yml"), workflow(5, "b.yml")]);
    assert_eq!(report.workflow.as_deref(), Some("b.yml"));
    assert_eq!(report.by, Producer::Unnamed);
    let status = CommitStatus {
        id: None,
        context: "ci".into(),
        state: crate::domain::facts::StatusState::Success,
        creator: Some(crate::domain::model::Actor {
            id: ActorId::new(3).unwrap(),
            login: Login::new("bob"),
            kind: ActorKind::User,
        }),
        updated_at: None,
        url: None,
    };
    let by = Report::of_status(&status).by;
    assert_eq!(by, Producer::Status(Some(Login::new("bob"))));
}

#[test]
fn a_name_reported_from_two_workflows_and_not_from_the_pinned_one_is_an_error_that_names_both() {
    let from = |file: &str| Report {
        workflow: Some(format!(".github/workflows/{file}")),
        ..unit()
    };
    let facts = reported(&[from("a.yml"), from("b.yml")]);
    let pinned = "app: github-actions, workflow: .github/workflows/ci.yml";
    let text = POLICY.replace("app: github-actions", pinned);
    let told = told(&text, &facts);
    let both = "but from `.github/workflows/a.yml`, `.github/workflows/b.yml`";
    assert!(told.contains(both), "{told}");
}

#[test]
fn a_policy_that_never_merges_is_hindered_by_no_rule_yet() {
    let text = POLICY.replace("merge:\n", "merge:\n  when: never\n  others: never\n");
    let queue = rules(vec![PlatformRule::MergeQueue]);
    let told = told(&text, &queue);
    assert!(
        told.starts_with("Warning 13:19 merge.base_branches[0]: `main` is merged by"),
        "{told}"
    );
    let one = text.replace("others: never", "others: ready");
    assert!(self::told(&one, &queue).starts_with("Error"));
}

#[test]
fn a_base_branch_listed_twice_is_found_once() {
    let text = POLICY.replace("[main]", "[main, mian, mian]");
    let gone = with(|facts| {
        facts.bases.insert("mian".to_owned(), Fetched::Known(None));
    });
    assert_eq!(found(&text, &gone).len(), 2, "gone, and listed twice");
    let text = POLICY.replace("[main]", "[main, main]");
    let told = told(&text, &facts());
    assert_eq!(
        told,
        "Warning 11:25 merge.base_branches[1]: `main` is listed twice\n  keep one\n"
    );
}

#[test]
fn a_branch_that_a_pattern_allows_and_whose_rules_could_not_be_read_is_said() {
    let text = POLICY.replace("[main]", "[main, 'release/*']");
    let facts = with(|facts| {
        let unread = Fetched::Unavailable("GitHub failed (500)".to_owned());
        facts.bases.insert("release/1".to_owned(), unread);
    });
    let told = told(&text, &facts);
    assert!(
        told.starts_with(
            "Blind 11:18 merge.base_branches: could not look: the rules on `release/1`"
        ),
        "{told}"
    );
}

#[test]
fn a_verifier_is_read_by_the_gates_that_name_it_and_by_those_that_name_nobody() {
    let dead = |gates: &str| {
        let text = POLICY.replace("second_verifier: { count: 1 }", gates);
        let text = text.replace(
            "verifiers:\n",
            "verifiers:\n  other: { app: 15368, vendor: x }\n",
        );
        told(&text, &facts()).contains("no gate reads what the verifier `codex`")
    };
    assert!(dead(
        "mutation_check: { critical: ['src/**'], by: [other] }"
    ));
    assert!(!dead(
        "mutation_check: { critical: ['src/**'], by: [codex, other] }"
    ));
    assert!(!dead("mutation_check: { critical: ['src/**'] }"));
    assert!(!dead(
        "exercised: [{ paths: ['src/**'], against: [postgres] }]"
    ));
    assert!(dead("certification: { by: [other] }"));
}

#[test]
fn workflows_alone_that_nobody_starts_are_warned_of_with_the_line_to_add() {
    let by = |verifiers: &str| {
        POLICY.replace(
            "  codex: { app: codex-verify, vendor: openai }\n",
            verifiers,
        )
    };
    let nightly = "  nightly: { workflow: .github/workflows/verify.yml, vendor: github }\n";
    let sealed = format!("  sealed: {{ key: {}, vendor: lamps }}\n", "0a".repeat(32));
    insta::assert_snapshot!(told(&by(nightly), &facts()), @r"
    Warning 4:24 verifiers.nightly.workflow: no verifier that a gate reads has a `request`: Countersign starts none, and every pull request waits until somebody does
      add `request: { workflow: .github/workflows/verify.yml }`; where another workflow calls it for each pull request, those from forks wait all the same (GitHub gives their runs no identity token)
    ");
    let asked = nightly.replace(" }", ", request: { label: verify } }");
    let second = nightly
        .replace("nightly", "weekly")
        .replace("verify.yml", "weekly.yml");
    for nothing in [
        &asked,
        &format!(
            "{nightly}{}",
            asked
                .replace("nightly", "asked")
                .replace("verify.yml", "asked.yml")
        ),
        &format!("{nightly}  codex: {{ app: codex-verify, vendor: openai }}\n"),
        &format!("{nightly}  alice: {{ user: alice, vendor: human }}\n"),
        &format!("{nightly}{sealed}"),
    ] {
        assert_eq!(told(&by(nothing), &facts()), "", "{nothing}");
    }
    let both = found(&by(&format!("{nightly}{second}")), &facts());
    assert_eq!(both.len(), 1, "{both:#?}");

    // Nor where no gate reads them: that is said already.
    let idle = by(nightly).replace("  second_verifier: { count: 1 }\n", "");
    let idle = told(&idle, &facts());
    assert!(idle.contains("no gate reads"), "{idle}");
    assert!(!idle.contains("`request`"), "{idle}");
}
