//! One test for each thing that can be wrong.

use std::collections::BTreeMap;

use super::facts::*;
use super::*;
use crate::domain::facts::{Fetched, PlatformRule, PolicyFact};
use crate::domain::model::{AppId, AppRef, BaseRef, InstallationId, PolicyDigest, RepoName};
use crate::domain::policy::{lint, read};
use crate::domain::render::diagnosis::diagnosis;

const MANIFEST: &str = include_str!("../../../app-manifest.yml");
const POLICY: &str = "version: 1\ngates: { checks: { required: [ci] } }\n";

fn app() -> AppRef {
    AppRef {
        id: AppId::new(7).unwrap(),
        slug: "countersign".to_owned(),
    }
}

fn delivered(code: u16) -> Delivered {
    Delivered {
        at: chrono::DateTime::from_timestamp(1_790_000_000, 0),
        event: "pull_request".to_owned(),
        code,
        words: if code == 0 { "timed out" } else { "OK" }.to_owned(),
    }
}

fn reality() -> lint::Facts {
    let pinned = PlatformRule::RequiredCheck {
        context: "countersign".to_owned(),
        app: Some(app().id),
        strict: false,
    };
    lint::Facts {
        own_app: app().id,
        owner: "acme".to_owned(),
        default_branch: BaseRef::parse("main").ok(),
        heads: vec![lint::Head {
            place: "the tip of `main`".to_owned(),
            of_pull: false,
            reports: vec![lint::Report {
                name: "ci".to_owned(),
                by: lint::Producer::Status(None),
                workflow: None,
            }],
            gaps: Vec::new(),
        }],
        pulls_unread: None,
        apps: BTreeMap::new(),
        accounts: BTreeMap::new(),
        teams: BTreeMap::new(),
        bases: BTreeMap::from([("main".to_owned(), Fetched::Known(Some(vec![pinned])))]),
        methods: Fetched::Known(lint::Methods {
            merge: Some(true),
            squash: Some(true),
            rebase: Some(false),
        }),
    }
}

fn digest() -> PolicyDigest {
    PolicyDigest::parse(&"a".repeat(40)).unwrap()
}

/// A server in which nothing is wrong.
fn facts() -> Facts {
    let manifest = Manifest::read(MANIFEST).unwrap();
    Facts {
        settings: Settings {
            wrong: Vec::new(),
            public_url: Some("https://gate.example".to_owned()),
            api_token: true,
            shadow: false,
        },
        key: Asked::Known(()),
        app: Asked::Known(Registration {
            app: app(),
            permissions: manifest.permissions.clone(),
            events: manifest.events.clone(),
        }),
        ahead: Some(-1),
        hook: Asked::Known(Hook {
            url: Some("https://gate.example/webhook".to_owned()),
            content_type: Some("json".to_owned()),
            verifies_certificates: Some(true),
            signed: true,
        }),
        deliveries: Asked::Known(vec![delivered(202), delivered(202)]),
        standing: Vec::new(),
        database: Database::Sound {
            url: "sqlite://gate.db".to_owned(),
            entries: 12,
        },
        installations: Asked::Known(vec![Installation {
            id: InstallationId::new(5).unwrap(),
            account: "acme".to_owned(),
            permissions: manifest.permissions.clone(),
            suspended: false,
        }]),
        unlisted: Vec::new(),
        repositories: vec![RepositoryFacts {
            name: RepoName::parse("acme/shop").unwrap(),
            default_branch: BaseRef::parse("main").ok(),
            policy: PolicyFact::Valid {
                policy: Box::new(read::read(POLICY).unwrap()),
                digest: digest(),
                origin: crate::domain::facts::PolicyOrigin::Repository,
            },
            text: POLICY.to_owned(),
            reality: Some(reality()),
        }],
        manifest,
    }
}

fn with(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = facts();
    change(&mut facts);
    facts
}

/// What is not fine, a line each, with its mend.
fn told(facts: &Facts) -> String {
    let found = judge(facts);
    let checks = found.sections.iter().flat_map(|section| {
        let checks = section.checks.iter();
        checks.map(|check| (section.title.as_str(), check))
    });
    checks
        .filter(|(_, check)| check.state != State::Ok)
        .map(|(title, check)| {
            let mend = check.mend.as_deref().unwrap_or("-");
            let word = check.state.word();
            format!("{title}: {word} {}: {}\n  {mend}\n", check.name, check.seen)
        })
        .collect()
}

fn changed<T>(asked: &mut Asked<T>, change: impl FnOnce(&mut T)) {
    match asked {
        Asked::Known(value) => change(value),
        _ => panic!("not known"),
    }
}

#[test]
fn where_nothing_is_wrong_everything_that_was_looked_at_is_named() {
    insta::assert_snapshot!(diagnosis(&judge(&facts()), false), @r"
    Settings
      ok       settings     every setting is there and well formed
      ok       private key  the private key can sign

    GitHub App
      ok       clock        this machine's clock and GitHub's differ by 1 s
      ok       app          GitHub knows us as `countersign` (App 7)
      ok       permissions  it asks for all 10 permissions of `app-manifest.yml`
      ok       events       it subscribed to all 14 events of `app-manifest.yml`

    Webhook
      ok       address     GitHub sends to https://gate.example/webhook
      ok       deliveries  2 of the last 2 arrived (100 %)

    Database
      ok       database  sqlite://gate.db opens, its schema is today's, 12 ledger entries hold

    Installations
      ok       installation  `acme` granted all that is needed

    acme/shop
      ok       policy         .github/countersign.yml on `main` is valid; it enforces
      ok       merge methods  the repository allows merge, squash
      ok       gate           GitHub requires the check `countersign` on `main`, from this App alone

    Nothing is wrong.
    ");
}

#[test]
fn every_wrong_setting_is_a_problem_of_its_own() {
    let facts = with(|facts| {
        let wrong = |setting: &str| WrongSetting {
            setting: setting.to_owned(),
            problem: "is not set.".to_owned(),
            remedy: "Set it.".to_owned(),
        };
        facts.settings.wrong = vec![wrong("COUNTERSIGN_APP_ID"), wrong("COUNTERSIGN_LISTEN")];
        facts.key = Asked::NotAsked;
        // What could not be read is not said to be missing.
        facts.settings.api_token = false;
    });
    insta::assert_snapshot!(told(&facts), @r"
    Settings: problem setting: COUNTERSIGN_APP_ID is not set
      Set it
    Settings: problem setting: COUNTERSIGN_LISTEN is not set
      Set it
    ");
}

#[test]
fn a_server_that_writes_nothing_or_shows_everything_is_a_warning() {
    let facts = with(|facts| {
        facts.settings.shadow = true;
        facts.settings.api_token = false;
    });
    let told = told(&facts);
    assert!(
        told.contains("warning shadow: COUNTERSIGN_SHADOW is on"),
        "{told}"
    );
    assert!(
        told.contains("warning dashboard: COUNTERSIGN_API_TOKEN is not set"),
        "{told}"
    );
}

/// B198: each cause has its own text.
#[test]
fn a_key_that_cannot_sign_a_wrong_app_id_and_a_key_of_another_app_are_told_apart() {
    let key = with(|facts| {
        let why = "the private key is cut off".to_owned();
        facts.key = Asked::Refused(Refusal::Other, why);
        facts.app = Asked::NotAsked;
        facts.ahead = None;
    });
    let refused =
        |refusal, why: &str| with(|facts| facts.app = Asked::Refused(refusal, why.to_owned()));
    let id = refused(Refusal::Missing, "Integration not found");
    let other = refused(
        Refusal::Credentials,
        "A JSON web token could not be decoded",
    );
    insta::assert_snapshot!([key, id, other].map(|facts| told(&facts)).join("---\n"), @r#"
    Settings: problem private key: the private key is cut off
      download a new private key on the App's page, and set COUNTERSIGN_PRIVATE_KEY_PATH to that file
    GitHub App: unknown app: GitHub was not asked: without an App's id and a private key there is nothing to ask with
      mend the settings first
    ---
    GitHub App: problem app: GitHub knows no App of this id: Integration not found
      set COUNTERSIGN_APP_ID to the number shown as "App ID" on the App's page, and COUNTERSIGN_GITHUB_API_URL to the GitHub it is registered on
    ---
    GitHub App: problem app: GitHub does not take the private key as this App's: A JSON web token could not be decoded
      see that COUNTERSIGN_APP_ID and the private key are of one App, and that the key was not deleted on its page
    "#);
}

#[test]
fn a_clock_that_is_off_by_more_than_thirty_seconds_is_a_problem() {
    for (ahead, state) in [
        (30, State::Ok),
        (-30, State::Ok),
        (31, State::Problem),
        (-31, State::Problem),
    ] {
        let found = judge(&with(|facts| facts.ahead = Some(ahead)));
        let clock = found.sections[1]
            .checks
            .iter()
            .find(|check| check.name == "clock");
        assert_eq!(clock.unwrap().state, state, "{ahead}");
    }
    let told = told(&with(|facts| facts.ahead = Some(-95)));
    assert!(
        told.contains("this machine's clock is 95 s behind GitHub's"),
        "{told}"
    );
}

#[test]
fn missing_and_weaker_permissions_and_missing_events_are_problems_and_needless_ones_notes() {
    let facts = with(|facts| {
        changed(&mut facts.app, |app| {
            app.permissions.remove("members");
            app.permissions.insert("actions".into(), "read".into());
            app.permissions.insert("deployments".into(), "write".into());
            app.permissions
                .insert("administration".into(), "write".into());
            app.events.remove("merge_group");
            app.events.insert("star".into());
        });
    });
    insta::assert_snapshot!(told(&facts), @r"
    GitHub App: problem permissions: it does not ask for `actions: write`, `members: read`
      add it on the App's page under Permissions & events; every account must then accept
    GitHub App: note permissions: it asks for more than it needs: `administration: write`, `deployments: write`
      take it away on the App's page: what is not granted cannot be misused
    GitHub App: problem events: it did not subscribe to `merge_group`
      tick it on the App's page under Permissions & events: until then only the sweep sees such changes
    GitHub App: note events: it subscribed to what it does not use: `star`
      -
    Installations: note installation: `acme` granted all that is needed; that the App also asks for `administration: write`, `deployments: write` awaits acceptance
      -
    ");
}

/// B146: a missing permission is named before a gate stumbles over it.
#[test]
fn an_account_that_has_not_accepted_new_permissions_is_a_problem_that_names_them() {
    let facts = with(|facts| {
        changed(&mut facts.installations, |all| {
            all[0].permissions.remove("members");
            all[0].permissions.insert("checks".into(), "read".into());
        });
    });
    insta::assert_snapshot!(told(&facts), @r"
    Installations: problem installation: `acme` has not granted `checks: write`, `members: read`
      an owner of the account must accept the App's new permissions (Settings, GitHub Apps, Configure)
    ");
}

#[test]
fn a_suspended_installation_is_a_warning_and_none_at_all_a_problem() {
    let suspended = with(|facts| changed(&mut facts.installations, |all| all[0].suspended = true));
    assert!(told(&suspended).contains("warning installation: `acme` suspended the App"));
    let none = with(|facts| changed(&mut facts.installations, Vec::clear));
    assert!(told(&none).contains("problem installation: the App is installed on no account"));
}

#[test]
fn every_setting_of_the_webhook_that_is_wrong_is_a_problem() {
    let facts = with(|facts| {
        facts.hook = Asked::Known(Hook {
            url: Some("https://old.example/webhook".to_owned()),
            content_type: Some("form".to_owned()),
            verifies_certificates: Some(false),
            signed: false,
        });
    });
    insta::assert_snapshot!(told(&facts), @r"
    Webhook: problem address: GitHub sends to https://old.example/webhook, and this server listens at https://gate.example/webhook
      set the webhook's address on the App's page to https://gate.example/webhook, or COUNTERSIGN_PUBLIC_URL to what is right
    Webhook: problem content type: the webhook's content type is `form`: only `json` is understood
      set it to `json` through GitHub's API: PATCH /app/hook/config
    Webhook: problem certificates: GitHub does not verify this server's certificate before it sends
      enable SSL verification on the App's page under Webhook
    Webhook: problem secret: the webhook has no secret: deliveries are unsigned, and none is accepted
      set the secret on the App's page to the value of COUNTERSIGN_WEBHOOK_SECRET
    ");
}

#[test]
fn both_routes_that_take_deliveries_are_right_addresses() {
    for (url, right) in [
        ("https://gate.example/webhook", true),
        ("https://gate.example/webhook/", true),
        ("https://gate.example/api/github/webhooks", true),
        ("https://gate.example/", false),
        ("https://gate.example/webhooks", false),
        ("http://gate.example/webhook", false),
    ] {
        let facts = with(|facts| changed(&mut facts.hook, |hook| hook.url = Some(url.into())));
        assert_eq!(told(&facts).is_empty(), right, "{url}");
    }
}

#[test]
fn a_webhook_without_an_address_and_a_server_that_does_not_know_its_own_are_told() {
    let none = with(|facts| changed(&mut facts.hook, |hook| hook.url = None));
    assert!(told(&none).contains("problem address: the App has no webhook address"));
    let unknown = with(|facts| facts.settings.public_url = None);
    assert!(told(&unknown).contains("warning address: GitHub sends to https://gate.example/webhook; COUNTERSIGN_PUBLIC_URL is not set"));
}

#[test]
fn deliveries_that_fail_now_are_a_problem_and_those_that_failed_before_a_warning() {
    let told = |codes: &[u16]| {
        let attempts = codes.iter().map(|code| delivered(*code)).collect();
        told(&with(|facts| facts.deliveries = Asked::Known(attempts)))
    };
    insta::assert_snapshot!(told(&[401, 202, 202, 500]), @r"
    Webhook: problem deliveries: 2 of the last 4 arrived (50 %); the last failure was `pull_request` at 2026-09-21 14:13 UTC: status 401
      set COUNTERSIGN_WEBHOOK_SECRET to the secret on the App's page (the old one as COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS while rotating)
    ");
    insta::assert_snapshot!(told(&[202, 0, 202]), @r"
    Webhook: warning deliveries: 2 of the last 3 arrived (66 %); the last failure was `pull_request` at 2026-09-21 14:13 UTC: no answer (timed out)
      see that the server runs and GitHub can reach it (DNS, firewall, certificate, proxy); the sweep finds what was missed
    ");
    assert!(told(&[]).contains("warning deliveries: GitHub has sent nothing yet"));
    assert!(told(&[404]).contains("end in /webhook"));
    assert!(told(&[413]).contains("25 MiB"));
}

#[test]
fn a_database_is_sound_absent_broken_or_unusable() {
    let state = |database: Database| {
        let found = judge(&with(|facts| facts.database = database));
        found.sections[3].checks[0].state
    };
    let absent = |folder| Database::Absent {
        url: "sqlite://gate.db".to_owned(),
        folder,
    };
    assert_eq!(state(absent(true)), State::Note);
    assert_eq!(state(absent(false)), State::Problem);
    assert_eq!(
        state(Database::BrokenChain("entry 3".into())),
        State::Problem
    );
    assert_eq!(state(Database::Unusable("locked".into())), State::Problem);
    assert_eq!(state(Database::NotAsked), State::Unknown);
}

#[test]
fn what_could_not_be_asked_is_unknown_and_what_was_refused_a_problem() {
    let failed = with(|facts| {
        let why = || "GitHub failed (502)".to_owned();
        facts.hook = Asked::Failed(why());
        facts.deliveries = Asked::Failed(why());
        facts.installations = Asked::Failed(why());
        facts.repositories.clear();
    });
    let found = judge(&failed);
    assert_eq!(found.count(State::Unknown), 3, "{}", told(&failed));
    assert_eq!(found.count(State::Problem), 0, "{}", told(&failed));
    let refused = with(|facts| {
        facts.hook = Asked::Refused(Refusal::Missing, "404".to_owned());
        let what = "the repository `acme/gone`".to_owned();
        facts.unlisted = vec![(what, Asked::Refused(Refusal::Missing, "404".to_owned()))];
    });
    let told = told(&refused);
    assert!(
        told.contains("problem address: the App has no webhook address"),
        "{told}"
    );
    assert!(
        told.contains("problem repositories: could not look at the repository `acme/gone`: 404"),
        "{told}"
    );
}

#[test]
fn a_repository_without_a_policy_is_a_warning_and_one_with_an_invalid_policy_a_problem() {
    let policy = |policy: PolicyFact| {
        with(|facts| {
            facts.repositories[0].policy = policy;
            facts.repositories[0].reality = None;
        })
    };
    let problems = read::read("version: 1\ngates: { cheks: { required: [ci] } }\n").unwrap_err();
    let invalid = PolicyFact::Invalid {
        problems,
        digest: digest(),
        origin: crate::domain::facts::PolicyOrigin::Repository,
    };
    let unread = PolicyFact::Unavailable("GitHub failed (500)".to_owned());
    let all = [PolicyFact::Absent, invalid, unread];
    insta::assert_snapshot!(all.map(|one| told(&policy(one))).join(""), @r"
    acme/shop: warning policy: there is no .github/countersign.yml on `main`: the App does nothing here
      commit one; the README shows an example
    acme/shop: problem policy: .github/countersign.yml on `main` does not validate (1 problem), so nothing merges: line 2: `cheks` is not a key of `gates`
      `countersign policy check FILE` shows every problem with its line
    acme/shop: unknown policy: could not look at .github/countersign.yml on `main`: GitHub failed (500)
      mend what GitHub names, or try again
    ");
}

/// B063: without the pin, whoever may write can report our check green.
#[test]
fn a_gate_that_is_not_required_or_not_pinned_to_us_is_told_with_its_mend() {
    let rules = |rules: Vec<PlatformRule>| {
        with(|facts| {
            let reality = facts.repositories[0].reality.as_mut().unwrap();
            let known = Fetched::Known(Some(rules));
            reality.bases.insert("main".to_owned(), known);
        })
    };
    let loose = PlatformRule::RequiredCheck {
        context: "countersign".to_owned(),
        app: None,
        strict: false,
    };
    let both = [rules(vec![loose]), rules(Vec::new())];
    insta::assert_snapshot!(both.map(|facts| told(&facts)).join(""), @r"
    acme/shop: problem gate: merge.base_branches[0]: GitHub requires the check `countersign` on `main` from any source: whoever may write to the repository can report it green
      set this App (7) as the source of the required check `countersign`
    acme/shop: warning gate: merge.base_branches[0]: GitHub does not require the check `countersign` on `main`: the gate is advice, anybody with write access may merge past it
      add a ruleset for `main` that requires the status check `countersign`, with this App as its source
    ");
}

#[test]
fn findings_of_the_lint_are_the_repositorys_own() {
    let facts = with(|facts| {
        let reality = facts.repositories[0].reality.as_mut().unwrap();
        reality.heads[0].reports[0].name = "CI".to_owned();
        reality.methods = Fetched::Unavailable("GitHub failed (500)".to_owned());
    });
    insta::assert_snapshot!(told(&facts), @r"
    acme/shop: unknown merge methods: could not look at the merge methods: GitHub failed (500)
      mend what GitHub names, or try again
    acme/shop: problem policy: line 2, gates.checks.required[0]: nobody ever reported `ci`: looked at the tip of `main`
      did you mean `CI`?
    ");
}

#[test]
fn foreign_text_cannot_steer_the_terminal() {
    let facts = with(|facts| {
        changed(&mut facts.installations, |all| {
            all[0].account = "acme\u{1b}[2J\nproblem".to_owned();
        });
    });
    let shown = diagnosis(&judge(&facts), false);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    assert!(shown.contains("`acme\u{fffd}[2J problem`"), "{shown}");
}

#[test]
fn a_permission_that_the_app_itself_lacks_is_added_there_before_an_account_can_accept_it() {
    let facts = with(|facts| {
        changed(&mut facts.app, |app| {
            app.permissions.remove("members");
        });
        changed(&mut facts.installations, |all| {
            all[0].permissions.remove("members");
        });
    });
    let told = told(&facts);
    assert!(
        told.contains("`acme` has not granted `members: read`\n  add them to the App first"),
        "{told}"
    );
}

#[test]
fn a_delivery_that_was_redirected_did_not_arrive() {
    let facts = with(|facts| facts.deliveries = Asked::Known(vec![delivered(301)]));
    assert!(told(&facts).contains("problem deliveries: 0 of the last 1 arrived (0 %)"));
}

#[test]
fn the_gate_is_closed_only_where_a_rule_takes_the_check_from_us() {
    let own = AppId::new(7).unwrap();
    let rule = |app: Option<u64>| PlatformRule::RequiredCheck {
        context: "countersign".to_owned(),
        app: app.and_then(AppId::new),
        strict: false,
    };
    let lines = |rules: Vec<PlatformRule>| {
        let facts = with(|facts| {
            let reality = facts.repositories[0].reality.as_mut().unwrap();
            reality
                .bases
                .insert("main".to_owned(), Fetched::Known(Some(rules)));
        });
        let found = judge(&facts);
        let checks = &found.sections.last().unwrap().checks;
        let gates = checks.iter().filter(|check| check.name == "gate");
        gates.map(|check| check.state).collect::<Vec<_>>()
    };
    assert_eq!(lines(vec![rule(Some(own.get()))]), [State::Ok]);
    assert_eq!(lines(vec![rule(None), rule(Some(own.get()))]), [State::Ok]);
    assert_eq!(lines(vec![rule(None)]), [State::Problem]);
    assert_eq!(
        lines(vec![rule(Some(own.get())), rule(Some(8))]),
        [State::Problem]
    );
    assert_eq!(lines(Vec::new()), [State::Warning]);
}

#[test]
fn what_is_to_be_mended_stands_below_what_was_seen() {
    let facts = with(|facts| {
        facts.ahead = Some(95);
        facts.settings.shadow = true;
        facts.deliveries = Asked::Known(vec![delivered(0), delivered(202)]);
        facts.installations = Asked::Failed("GitHub failed (502)".to_owned());
        facts.repositories.clear();
        changed(&mut facts.app, |app| {
            app.events.insert("star".into());
        });
    });
    insta::assert_snapshot!(diagnosis(&judge(&facts), false), @r"
    Settings
      ok       settings     every setting is there and well formed
      warning  shadow       COUNTERSIGN_SHADOW is on: nothing is written to GitHub, so nothing is gated
               mend: remove it once you have seen enough
      ok       private key  the private key can sign

    GitHub App
      problem  clock        this machine's clock is 95 s ahead of GitHub's
               mend: set it right, best by NTP: GitHub refuses what is signed outside its time
      ok       app          GitHub knows us as `countersign` (App 7)
      ok       permissions  it asks for all 10 permissions of `app-manifest.yml`
      ok       events       it subscribed to all 14 events of `app-manifest.yml`
      note     events       it subscribed to what it does not use: `star`

    Webhook
      ok       address     GitHub sends to https://gate.example/webhook
      problem  deliveries  1 of the last 2 arrived (50 %); the last failure was `pull_request` at 2026-09-21 14:13 UTC: no answer (timed out)
               mend: see that the server runs and GitHub can reach it (DNS, firewall, certificate, proxy); the sweep finds what was missed

    Database
      ok       database  sqlite://gate.db opens, its schema is today's, 12 ledger entries hold

    Installations
      unknown  installation  could not look at the installations: GitHub failed (502)
               mend: try again

    2 problems, 1 warning, 1 thing unknown.
    ");
    let coloured = diagnosis(&judge(&facts), true);
    assert!(
        coloured.contains("\u{1b}[31mproblem\u{1b}[0m"),
        "{coloured}"
    );
    assert!(
        coloured.contains("\u{1b}[35munknown\u{1b}[0m"),
        "{coloured}"
    );
}
