//! Reading each setting by itself.

use std::net::SocketAddr;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;

use super::{
    Complaint, CredentialArgs, Credentials, DATABASE_URL, GITHUB_API_URL, LISTEN, LOG, LogFormat,
    RETENTION, SWEEP_INTERVAL, ServeArgs, Settings,
};
use crate::domain::model::AppId;

const DAY: u64 = 24 * 60 * 60;
/// Sweeping more often than this only uses up GitHub's limits.
const LEAST_SWEEP: u64 = 30;
/// Sweeping less often leaves a lost delivery unmended for too long.
const MOST_SWEEP: u64 = DAY;

/// GitHub delivers again what failed some days ago: until then it must be known.
const LEAST_RETENTION: u64 = 7 * DAY;
/// More is for ever.
const MOST_RETENTION: u64 = 3_650 * DAY;

type Read<T> = Result<T, Complaint>;

/// Collects complaints while settings are read.
#[derive(Default)]
struct Complaints(Vec<Complaint>);

impl Complaints {
    fn note<T>(&mut self, read: Read<T>) -> Option<T> {
        read.map_err(|complaint| self.0.push(complaint)).ok()
    }
}

pub(super) fn only_credentials(args: CredentialArgs) -> Result<Credentials, Vec<Complaint>> {
    let mut complaints = Complaints::default();
    credentials(args, &mut complaints).ok_or(complaints.0)
}

fn credentials(args: CredentialArgs, complaints: &mut Complaints) -> Option<Credentials> {
    let app_id = complaints.note(app_id(given(args.app_id)));
    let key = private_key(secret(args.private_key), given(args.private_key_path));
    let private_key = complaints.note(key);
    let github_api_url = given(args.github_api_url).unwrap_or_else(|| GITHUB_API_URL.to_owned());
    let github_api_url = complaints.note(url(
        "COUNTERSIGN_GITHUB_API_URL",
        &github_api_url,
        "Leave it out for github.com, or set it to https://HOST/api/v3 for an Enterprise Server.",
    ));
    Some(Credentials {
        app_id: app_id?,
        private_key: private_key?,
        github_api_url: github_api_url?,
    })
}

pub(super) fn settings(args: ServeArgs) -> Result<Settings, Vec<Complaint>> {
    let mut complaints = Complaints::default();
    let credentials = credentials(args.credentials, &mut complaints);
    let webhook_secret = complaints.note(webhook_secret(secret(args.webhook_secret)));
    let previous = complaints.note(previous_secret(secret(args.webhook_secret_previous)));
    let listen = complaints.note(listen(given(args.listen).as_deref().unwrap_or(LISTEN)));
    let public_url = complaints.note(public_url(given(args.public_url)));
    let database_url = complaints.note(database_url(secret(args.database_url)));
    let log = complaints.note(log(given(args.log)));
    let log_format = complaints.note(log_format(given(args.log_format).as_deref()));
    let api_token = complaints.note(token(secret(args.api_token)));
    let sweep = given(args.sweep_interval).unwrap_or_else(|| SWEEP_INTERVAL.to_owned());
    let sweep_interval = complaints.note(sweep_interval(&sweep));
    let retention = given(args.retention).unwrap_or_else(|| RETENTION.to_owned());
    let retention = complaints.note(self::retention(&retention));
    let shadow = complaints.note(shadow(given(args.shadow).as_deref()));
    // Each is missing only if there is a complaint about it.
    let read = || {
        Some(Settings {
            credentials: credentials?,
            webhook_secrets: [webhook_secret, previous?].into_iter().flatten().collect(),
            listen: listen?,
            public_url: public_url?,
            database_url: database_url?,
            log: log?,
            log_format: log_format?,
            api_token: api_token?,
            sweep_interval: sweep_interval?,
            retention: retention?,
            shadow: shadow?,
        })
    };
    match read() {
        Some(settings) if complaints.0.is_empty() => Ok(settings),
        _ => Err(complaints.0),
    }
}

/// The most characters of a value that a complaint repeats. Secrets are longer, or too weak to be one.
const REPEATED: usize = 20;

/// A value, as a complaint repeats it.
fn shown(text: &str) -> String {
    match text.chars().count() {
        ..=REPEATED => format!("{text:?}"),
        long => format!("a text of {long} characters"),
    }
}

/// Whether this is a key's text: in PEM, or its base64, which no path is as long as. Put where the path
/// belongs it would be repeated as the name of a file that is not there.
fn is_key(text: &str) -> bool {
    text.contains("-----BEGIN") || text.chars().count() > 600
}

/// A text that says something.
fn given(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

fn secret(text: Option<SecretString>) -> Option<SecretString> {
    text.filter(|text| !text.expose_secret().trim().is_empty())
}

fn app_id(text: Option<String>) -> Read<AppId> {
    const SETTING: &str = "COUNTERSIGN_APP_ID";
    const REMEDY: &str = "Set it to the number shown as \"App ID\" on the App's page \
                          (https://github.com/settings/apps).";
    let text = text.ok_or_else(|| Complaint::new(SETTING, "is not set.", REMEDY))?;
    text.parse().ok().and_then(AppId::new).ok_or_else(|| {
        let problem = if text.starts_with("Iv") {
            "is the App's client id; its number is needed.".to_owned()
        } else {
            format!("is not a positive whole number: {}.", shown(&text))
        };
        Complaint::new(SETTING, problem, REMEDY)
    })
}

fn private_key(text: Option<SecretString>, path: Option<String>) -> Read<SecretString> {
    const TEXT: &str = "COUNTERSIGN_PRIVATE_KEY";
    const PATH: &str = "COUNTERSIGN_PRIVATE_KEY_PATH";
    let path = match (text, path) {
        (Some(key), None) => return Ok(key),
        (None, Some(path)) => path,
        (Some(_), Some(_)) => {
            return Err(Complaint::new(
                TEXT,
                format!("and {PATH} are both set."),
                "Keep one of them.",
            ));
        }
        (None, None) => {
            return Err(Complaint::new(
                TEXT,
                format!("is not set, and neither is {PATH}."),
                format!(
                    "Set {PATH} to the .pem file that GitHub offered when the App's private key \
                     was made, or {TEXT} to its text."
                ),
            ));
        }
    };
    if is_key(&path) {
        return Err(Complaint::new(
            PATH,
            "holds a key's text, not the path of its file.",
            format!("Set {TEXT} to the text instead, or {PATH} to the file."),
        ));
    }
    let remedy = "Set it to a readable file that holds the App's private key in PEM.";
    match std::fs::read_to_string(&path) {
        Ok(key) if key.trim().is_empty() => Err(Complaint::new(
            PATH,
            format!("names an empty file: {path:?}."),
            remedy,
        )),
        Ok(key) => Ok(key.into()),
        Err(error) => Err(Complaint::new(
            PATH,
            format!("names a file that cannot be read: {path:?} ({error})."),
            remedy,
        )),
    }
}

fn webhook_secret(text: Option<SecretString>) -> Read<SecretString> {
    const SETTING: &str = "COUNTERSIGN_WEBHOOK_SECRET";
    let text = text.ok_or_else(|| {
        Complaint::new(
            SETTING,
            "is not set.",
            "Set it to the webhook secret of the App's settings; `openssl rand -hex 32` makes a \
             good one. Unsigned deliveries are never accepted.",
        )
    })?;
    bare(SETTING, text)
}

fn previous_secret(text: Option<SecretString>) -> Read<Option<SecretString>> {
    text.map(|text| bare("COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS", text))
        .transpose()
}

/// A secret without white space around it: a line break that came along from a file is part of the
/// secret here and not at GitHub, and then every delivery looks forged.
fn bare(setting: &'static str, text: SecretString) -> Read<SecretString> {
    let secret = text.expose_secret();
    if secret.trim() == secret {
        return Ok(text);
    }
    Err(Complaint::new(
        setting,
        "begins or ends with white space.",
        "Remove it, often a line break at the end of a file: it would count as part of the secret.",
    ))
}

fn token(text: Option<SecretString>) -> Read<Option<SecretString>> {
    text.map(|text| bare("COUNTERSIGN_API_TOKEN", text))
        .transpose()
}

/// An `http` or `https` address without a password, without the slash at its end; nothing for any other
/// text.
pub fn address(text: &str) -> Option<String> {
    let uri = text.parse::<http::Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
            && !uri.authority().is_some_and(|it| it.as_str().contains('@'))
    });
    uri.map(|_| text.trim_end_matches('/').to_owned())
}

fn url(setting: &'static str, text: &str, remedy: &str) -> Read<String> {
    match address(text) {
        Some(address) => Ok(address),
        // It may hold a password; it is not repeated.
        None => Err(Complaint::new(
            setting,
            "is not an address of the form https://HOST[:PORT][/PATH].",
            remedy,
        )),
    }
}

fn public_url(text: Option<String>) -> Read<Option<String>> {
    let remedy = "Set it to the address under which people and GitHub reach this server, or \
                  leave it out.";
    text.map(|text| url("COUNTERSIGN_PUBLIC_URL", &text, remedy))
        .transpose()
}

fn listen(text: &str) -> Read<SocketAddr> {
    text.parse().map_err(|_| {
        Complaint::new(
            "COUNTERSIGN_LISTEN",
            format!("is not an IP address with a port: {}.", shown(text)),
            format!("Set it to one such as {LISTEN}, or 0.0.0.0:8137 inside a container."),
        )
    })
}

fn database_url(text: Option<SecretString>) -> Read<String> {
    const SETTING: &str = "COUNTERSIGN_DATABASE_URL";
    const REMEDY: &str = "Set it to sqlite://FILE, such as sqlite:///var/lib/countersign.db, or to \
                          postgres://USER:PASSWORD@HOST/DATABASE.";
    let Some(text) = text else {
        return Ok(DATABASE_URL.to_owned());
    };
    let text = text.expose_secret().trim();
    match text
        .split_once(':')
        .map(|(scheme, rest)| (scheme, rest.trim_start_matches('/')))
    {
        Some(("sqlite", file)) if !file.is_empty() => Ok(text.to_owned()),
        Some(("postgres" | "postgresql", place)) if !place.is_empty() && text.contains("://") => {
            Ok(text.to_owned())
        }
        // It may hold a password; it is not repeated.
        _ => Err(Complaint::new(
            SETTING,
            "names no database known here.",
            REMEDY,
        )),
    }
}

fn log(text: Option<String>) -> Read<String> {
    let text = text.unwrap_or_else(|| LOG.to_owned());
    match EnvFilter::try_new(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(Complaint::new(
            "COUNTERSIGN_LOG",
            format!("is not understood: {} ({error}).", shown(&text)),
            "Set it to error, warn, info, debug or trace, or to directives such as \
             info,countersign::webhook=debug.",
        )),
    }
}

fn log_format(text: Option<&str>) -> Read<LogFormat> {
    match text {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(Complaint::new(
            "COUNTERSIGN_LOG_FORMAT",
            format!("is neither text nor json: {}.", shown(other)),
            "Set it to one of the two, or leave it out for text.",
        )),
    }
}

fn sweep_interval(text: &str) -> Read<Duration> {
    const REMEDY: &str = "Set it to a number with s, m, h or d, such as 90s, 10m or 4h, from 30s \
                          to 1d.";
    let complain = |problem: String| Complaint::new("COUNTERSIGN_SWEEP_INTERVAL", problem, REMEDY);
    let seconds =
        seconds(text).ok_or_else(|| complain(format!("is not a duration: {}.", shown(text))))?;
    if (LEAST_SWEEP..=MOST_SWEEP).contains(&seconds) {
        Ok(Duration::from_secs(seconds))
    } else {
        Err(complain(format!("is out of bounds: {}.", shown(text))))
    }
}

fn retention(text: &str) -> Read<Duration> {
    seconds(text)
        .filter(|seconds| (LEAST_RETENTION..=MOST_RETENTION).contains(seconds))
        .map(Duration::from_secs)
        .ok_or_else(|| {
            Complaint::new(
                "COUNTERSIGN_RETENTION",
                format!("is not a duration from 7d to 3650d: {}.", shown(text)),
                "Set it to a number of days, such as 30d, or leave it out for that.",
            )
        })
}

/// The seconds of a duration as people write it here: `90s`, `10m`, `4h`, `3d`.
fn seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => DAY,
        _ => return None,
    };
    let number = text.get(..text.len() - 1)?;
    // `parse` alone would take a sign.
    if !number.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    number.parse::<u64>().ok()?.checked_mul(unit)
}

fn shadow(text: Option<&str>) -> Read<bool> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("false" | "0" | "no" | "off") => Ok(false),
        Some("true" | "1" | "yes" | "on") => Ok(true),
        // Taking an unknown word for "false" would write to GitHub against somebody's will.
        Some(other) => Err(Complaint::new(
            "COUNTERSIGN_SHADOW",
            format!("is neither true nor false: {}.", shown(other)),
            "Set it to true to write nothing to GitHub, or leave it out.",
        )),
    }
}
