//! What people write, what is understood, and what they are told.

use std::io::Write;

use clap::Parser;
use secrecy::ExposeSecret;

use super::*;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    serve: ServeArgs,
}

/// The least that is needed.
fn least() -> ServeArgs {
    ServeArgs {
        credentials: CredentialArgs {
            app_id: Some("123".to_owned()),
            private_key: Some("-----BEGIN PRIVATE KEY-----".into()),
            ..CredentialArgs::default()
        },
        webhook_secret: Some("s3cret".into()),
        ..ServeArgs::default()
    }
}

fn understood(args: ServeArgs) -> Settings {
    Settings::from_args(args).unwrap_or_else(|complaints| panic!("{}", report(&complaints)))
}

fn complaints(args: ServeArgs) -> Vec<&'static str> {
    let complaints = Settings::from_args(args).err().unwrap_or_default();
    complaints
        .iter()
        .map(|complaint| complaint.setting)
        .collect()
}

#[test]
fn the_least_that_is_needed_leaves_the_documented_defaults() {
    let settings = understood(least());
    assert_eq!(settings.credentials.app_id.get(), 123);
    assert_eq!(
        settings.credentials.github_api_url,
        "https://api.github.com"
    );
    assert_eq!(settings.listen.to_string(), "127.0.0.1:8137");
    assert_eq!(settings.public_url, None);
    assert_eq!(settings.database_url, "sqlite://countersign.db");
    assert_eq!(
        (settings.log.as_str(), settings.log_format),
        ("info", LogFormat::Text)
    );
    assert!(settings.api_token.is_none());
    assert_eq!(settings.sweep_interval, Duration::from_secs(600));
    assert!(!settings.shadow);
    assert_eq!(settings.webhook_secrets.len(), 1);
}

#[test]
fn every_flag_is_understood() {
    let cli = Cli::try_parse_from([
        "serve",
        "--app-id=9",
        "--private-key=k\\ne\\ny",
        "--webhook-secret=new",
        "--webhook-secret-previous=old",
        "--github-api-url=https://ghe.example/api/v3/",
        "--listen=[::]:80",
        "--public-url=https://sign.example/",
        "--database-url=sqlite:///var/lib/c.db",
        "--log=warn,countersign::webhook=debug",
        "--log-format=json",
        "--api-token=token",
        "--sweep-interval=90s",
        "--shadow",
    ])
    .unwrap();
    let settings = understood(cli.serve);
    assert_eq!(
        settings.credentials.private_key.expose_secret(),
        "k\\ne\\ny",
        "the key is passed on as it is"
    );
    let secrets: Vec<_> = settings
        .webhook_secrets
        .iter()
        .map(|it| it.expose_secret())
        .collect();
    assert_eq!(secrets, ["new", "old"]);
    assert_eq!(
        settings.credentials.github_api_url,
        "https://ghe.example/api/v3"
    );
    assert_eq!(settings.listen.to_string(), "[::]:80");
    assert_eq!(settings.public_url.as_deref(), Some("https://sign.example"));
    assert_eq!(settings.database_url, "sqlite:///var/lib/c.db");
    assert_eq!(settings.log_format, LogFormat::Json);
    assert_eq!(settings.api_token.unwrap().expose_secret(), "token");
    assert_eq!(settings.sweep_interval, Duration::from_secs(90));
    assert!(settings.shadow);
}

#[test]
fn every_setting_is_a_variable_and_a_flag_of_the_same_name() {
    use clap::CommandFactory;

    let command = Cli::command();
    let settings: Vec<String> = command
        .get_arguments()
        .filter_map(|argument| argument.get_env().zip(argument.get_long()))
        .map(|(variable, flag)| {
            let variable = variable.to_str().unwrap();
            assert_eq!(super::flag(variable), format!("--{flag}"));
            variable.to_owned()
        })
        .collect();
    insta::assert_snapshot!(settings.join("\n"), @r#"
    COUNTERSIGN_APP_ID
    COUNTERSIGN_PRIVATE_KEY
    COUNTERSIGN_PRIVATE_KEY_PATH
    COUNTERSIGN_GITHUB_API_URL
    COUNTERSIGN_WEBHOOK_SECRET
    COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS
    COUNTERSIGN_LISTEN
    COUNTERSIGN_PUBLIC_URL
    COUNTERSIGN_DATABASE_URL
    COUNTERSIGN_LOG
    COUNTERSIGN_LOG_FORMAT
    COUNTERSIGN_API_TOKEN
    COUNTERSIGN_SWEEP_INTERVAL
    COUNTERSIGN_RETENTION
    COUNTERSIGN_SHADOW
    "#);
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let complaints = Settings::from_args(ServeArgs::default()).unwrap_err();
    insta::assert_snapshot!(report(&complaints), @r#"
    3 settings are to be mended first:

      COUNTERSIGN_APP_ID (--app-id) is not set.
        Set it to the number shown as "App ID" on the App's page (https://github.com/settings/apps).

      COUNTERSIGN_PRIVATE_KEY (--private-key) is not set, and neither is COUNTERSIGN_PRIVATE_KEY_PATH.
        Set COUNTERSIGN_PRIVATE_KEY_PATH to the .pem file that GitHub offered when the App's private key was made, or COUNTERSIGN_PRIVATE_KEY to its text.

      COUNTERSIGN_WEBHOOK_SECRET (--webhook-secret) is not set.
        Set it to the webhook secret of the App's settings; `openssl rand -hex 32` makes a good one. Unsigned deliveries are never accepted.

    Settings are environment variables, also read from a `.env` file in the working directory, or flags of the command. `countersign setup` creates the App and writes that file; run the commands where it is.
    "#);
}

#[test]
fn everything_that_is_malformed_is_told_at_once_and_no_secret_is_shown() {
    let complaints = Settings::from_args(ServeArgs {
        credentials: CredentialArgs {
            app_id: Some("Iv1.abc".to_owned()),
            private_key: Some("hunter2".into()),
            private_key_path: Some("/nowhere/key.pem".to_owned()),
            github_api_url: Some("api.github.com".to_owned()),
        },
        webhook_secret: Some("hunter2\n".into()),
        webhook_secret_previous: Some(" hunter2".into()),
        listen: Some("localhost".to_owned()),
        public_url: Some("https://ann:hunter2@sign.example".to_owned()),
        database_url: Some("mysql://ann:hunter2@db/x".into()),
        log: Some("countersign=loud".to_owned()),
        log_format: Some("xml".to_owned()),
        api_token: Some("hunter2 ".into()),
        sweep_interval: Some("ten minutes".to_owned()),
        retention: Some("for ever".to_owned()),
        shadow: Some("maybe".to_owned()),
    })
    .unwrap_err();
    let report = report(&complaints);
    assert!(!report.contains("hunter2"), "{report}");
    insta::assert_snapshot!(report, @r#"
    14 settings are to be mended first:

      COUNTERSIGN_APP_ID (--app-id) is the App's client id; its number is needed.
        Set it to the number shown as "App ID" on the App's page (https://github.com/settings/apps).

      COUNTERSIGN_PRIVATE_KEY (--private-key) and COUNTERSIGN_PRIVATE_KEY_PATH are both set.
        Keep one of them.

      COUNTERSIGN_GITHUB_API_URL (--github-api-url) is not an address of the form https://HOST[:PORT][/PATH].
        Leave it out for github.com, or set it to https://HOST/api/v3 for an Enterprise Server.

      COUNTERSIGN_WEBHOOK_SECRET (--webhook-secret) begins or ends with white space.
        Remove it, often a line break at the end of a file: it would count as part of the secret.

      COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS (--webhook-secret-previous) begins or ends with white space.
        Remove it, often a line break at the end of a file: it would count as part of the secret.

      COUNTERSIGN_LISTEN (--listen) is not an IP address with a port: "localhost".
        Set it to one such as 127.0.0.1:8137, or 0.0.0.0:8137 inside a container.

      COUNTERSIGN_PUBLIC_URL (--public-url) is not an address of the form https://HOST[:PORT][/PATH].
        Set it to the address under which people and GitHub reach this server, or leave it out.

      COUNTERSIGN_DATABASE_URL (--database-url) names no database known here.
        Set it to sqlite://FILE, such as sqlite:///var/lib/countersign.db, or to postgres://USER:PASSWORD@HOST/DATABASE.

      COUNTERSIGN_LOG (--log) is not understood: "countersign=loud" (error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5).
        Set it to error, warn, info, debug or trace, or to directives such as info,countersign::webhook=debug.

      COUNTERSIGN_LOG_FORMAT (--log-format) is neither text nor json: "xml".
        Set it to one of the two, or leave it out for text.

      COUNTERSIGN_API_TOKEN (--api-token) begins or ends with white space.
        Remove it, often a line break at the end of a file: it would count as part of the secret.

      COUNTERSIGN_SWEEP_INTERVAL (--sweep-interval) is not a duration: "ten minutes".
        Set it to a number with s, m, h or d, such as 90s, 10m or 4h, from 30s to 1d.

      COUNTERSIGN_RETENTION (--retention) is not a duration from 7d to 3650d: "for ever".
        Set it to a number of days, such as 30d, or leave it out for that.

      COUNTERSIGN_SHADOW (--shadow) is neither true nor false: "maybe".
        Set it to true to write nothing to GitHub, or leave it out.

    Settings are environment variables, also read from a `.env` file in the working directory, or flags of the command. `countersign setup` creates the App and writes that file; run the commands where it is.
    "#);
}

#[test]
fn one_complaint_is_told_in_the_singular() {
    let complaints = Settings::from_args(ServeArgs {
        database_url: Some("postgres:ann:hunter2".into()),
        ..least()
    })
    .unwrap_err();
    insta::assert_snapshot!(report(&complaints), @r#"
    One setting is to be mended first:

      COUNTERSIGN_DATABASE_URL (--database-url) names no database known here.
        Set it to sqlite://FILE, such as sqlite:///var/lib/countersign.db, or to postgres://USER:PASSWORD@HOST/DATABASE.

    Settings are environment variables, also read from a `.env` file in the working directory, or flags of the command. `countersign setup` creates the App and writes that file; run the commands where it is.
    "#);
}

#[test]
fn a_postgresql_database_may_be_named() {
    let settings = Settings::from_args(ServeArgs {
        database_url: Some("postgres://ann:hunter2@db/x".into()),
        ..least()
    })
    .unwrap();
    assert_eq!(settings.database_url, "postgres://ann:hunter2@db/x");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let empty = || Some(String::new());
    let settings = understood(ServeArgs {
        credentials: CredentialArgs {
            private_key_path: empty(),
            github_api_url: empty(),
            ..least().credentials
        },
        webhook_secret_previous: Some("".into()),
        listen: empty(),
        public_url: empty(),
        database_url: Some("".into()),
        log: empty(),
        log_format: empty(),
        api_token: Some("".into()),
        sweep_interval: empty(),
        retention: empty(),
        shadow: empty(),
        ..least()
    });
    assert_eq!(
        settings.webhook_secrets.len(),
        1,
        "an empty secret would accept what anybody signs"
    );
    assert!(
        settings.api_token.is_none(),
        "an empty token would open the dashboard to everybody"
    );
    let nothing = ServeArgs {
        credentials: CredentialArgs {
            app_id: empty(),
            private_key: Some("".into()),
            ..CredentialArgs::default()
        },
        webhook_secret: Some("".into()),
        ..ServeArgs::default()
    };
    assert_eq!(complaints(nothing).len(), 3);
}

#[test]
fn the_private_key_may_stand_in_a_file() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let from = |path: &str| ServeArgs {
        credentials: CredentialArgs {
            private_key: None,
            private_key_path: Some(path.to_owned()),
            ..least().credentials
        },
        ..least()
    };
    let path = file.path().to_str().unwrap().to_owned();
    assert_eq!(
        complaints(from(&path)),
        ["COUNTERSIGN_PRIVATE_KEY_PATH"],
        "it is empty"
    );
    file.write_all(b"-----BEGIN RSA PRIVATE KEY-----\n")
        .unwrap();
    let settings = understood(from(&path));
    assert_eq!(
        settings.credentials.private_key.expose_secret(),
        "-----BEGIN RSA PRIVATE KEY-----\n"
    );
    assert_eq!(
        complaints(from("/nowhere")),
        ["COUNTERSIGN_PRIVATE_KEY_PATH"]
    );
}

#[test]
fn durations_are_written_with_a_unit_and_have_bounds() {
    let sweep = |text: &str| {
        Settings::from_args(ServeArgs {
            sweep_interval: Some(text.to_owned()),
            ..least()
        })
        .map(|settings| settings.sweep_interval.as_secs())
        .ok()
    };
    assert_eq!(sweep("30s"), Some(30));
    assert_eq!(sweep("10m"), Some(600));
    assert_eq!(sweep("4h"), Some(14_400));
    assert_eq!(sweep("1d"), Some(86_400));
    for wrong in [
        "10",
        "m",
        "-5m",
        "+5m",
        "1.5h",
        "29s",
        "2d",
        "10 m",
        "10µ",
        "99999999999999999999d",
    ] {
        assert_eq!(sweep(wrong), None, "{wrong}");
    }
}

#[test]
fn whether_to_write_to_github_is_never_guessed() {
    let shadow = |text: &str| {
        Settings::from_args(ServeArgs {
            shadow: Some(text.to_owned()),
            ..least()
        })
        .map(|settings| settings.shadow)
        .ok()
    };
    for (text, meant) in [
        ("true", true),
        ("TRUE", true),
        ("1", true),
        ("false", false),
        ("0", false),
    ] {
        assert_eq!(shadow(text), Some(meant));
    }
    assert_eq!(shadow("treu"), None);
}

#[test]
fn settings_show_no_secret_when_they_are_printed() {
    let args = ServeArgs {
        webhook_secret: Some("hunter2".into()),
        api_token: Some("hunter2".into()),
        credentials: CredentialArgs {
            private_key: Some("hunter2".into()),
            ..least().credentials
        },
        ..least()
    };
    assert!(!format!("{args:?}").contains("hunter2"));
    assert!(!format!("{:?}", understood(args)).contains("hunter2"));
}

#[test]
fn a_key_or_secret_in_the_place_of_any_other_setting_is_not_repeated() {
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n",
        "MIIEvAIBADANhunter2".repeat(90)
    );
    let secrets = [
        key.clone(),
        key.replace('\n', "\\n"),
        "MIIEvAIBADANhunter2".repeat(90),
        format!("{}hunter2", "0123456789abcdef".repeat(4)),
    ];
    for secret in &secrets {
        let put = |at: &dyn Fn(&mut ServeArgs)| {
            let mut args = least();
            at(&mut args);
            let told =
                Settings::from_args(args).map_or_else(|told| report(&told), |_| String::new());
            assert!(!told.contains("hunter2"), "{told}");
        };
        let it = || Some(secret.clone());
        put(&|args| args.credentials.app_id = it());
        put(&|args| args.credentials.github_api_url = it());
        put(&|args| args.listen = it());
        put(&|args| args.public_url = it());
        put(&|args| args.database_url = it().map(Into::into));
        put(&|args| args.log = it());
        put(&|args| args.log_format = it());
        put(&|args| args.sweep_interval = it());
        put(&|args| args.retention = it());
        put(&|args| args.shadow = it());
    }
    // A path is what a complaint must name; a key is none.
    for key in &secrets[..3] {
        let mut args = least();
        args.credentials.private_key = None;
        args.credentials.private_key_path = Some(key.clone());
        let told = report(&Settings::from_args(args).unwrap_err());
        assert!(
            !told.contains("hunter2") && told.contains("not the path"),
            "{told}"
        );
    }
}
