//! The small texts of a policy: durations, logins, parties, patterns, times of the week.
//!
//! Each function reads one sort of text, or says what is wrong with it and how it is written. They
//! are used twice: to judge the text where it stands, and to take its meaning.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{Duration, NaiveTime, Weekday};
use chrono_tz::Tz;

use super::globs::Globs;
use super::{Identity, Party};
use crate::domain::model::{BaseRef, Login, VerifierName};

/// Why a text is not what its place asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// Ends the sentence "`text` ...".
    pub is: String,
    pub hint: Option<String>,
}

fn refuse<T>(is: &str, hint: &str) -> Result<T, Refusal> {
    Err(Refusal {
        is: is.to_owned(),
        hint: (!hint.is_empty()).then(|| hint.to_owned()),
    })
}

/// The longest text any place takes, in characters.
pub(super) const LONGEST_TEXT: usize = 300;

/// The longest duration a policy may name.
const LONGEST_DURATION: Duration = Duration::days(365);

/// Any text with something in it, on one line.
pub(super) fn text(text: &str) -> Result<&str, Refusal> {
    if text.trim().is_empty() {
        refuse("is empty", "write something, or remove it")
    } else if text.chars().count() > LONGEST_TEXT {
        refuse("is longer than 300 characters", "")
    } else if text.chars().any(char::is_control) {
        refuse("holds a line break or another control character", "")
    } else if text.trim() != text {
        refuse("begins or ends with a space", "remove the space")
    } else {
        Ok(text)
    }
}

/// A whole number and a unit, as durations are written everywhere: `90s`, `10m`, `4h`, `3d`.
pub fn span(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    // More digits than these are a slip.
    let number: i64 = (number.len() <= 9).then(|| number.parse().ok()).flatten()?;
    Duration::try_seconds(number.checked_mul(seconds)?)
}

/// A duration within a policy's bounds.
pub(super) fn duration(text: &str) -> Result<Duration, Refusal> {
    let how = "write a whole number and a unit: `90s`, `10m`, `4h` or `3d`";
    let Some(length) = span(text) else {
        return refuse("is not a duration", how);
    };
    match length {
        length if length.is_zero() => refuse("is no time at all", "at least `1s`"),
        length if length <= LONGEST_DURATION => Ok(length),
        _ => refuse("is too long", "at most `365d`"),
    }
}

/// A part in percent, from 1 to 100: `20%`.
pub(super) fn percent(text: &str) -> Result<u32, Refusal> {
    let number = text.strip_suffix('%').filter(|digits| {
        (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    });
    match number.and_then(|digits| digits.parse().ok()) {
        Some(percent @ 1..=100) => Ok(percent),
        _ => refuse("is not a share", "write a percentage from `1%` to `100%`"),
    }
}

fn is_account(text: &str) -> bool {
    (1..=100).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// The login of an author: of a person, or of a bot (`NAME[bot]`).
pub(super) fn author(text: &str) -> Result<Login, Refusal> {
    let bare = text.strip_suffix("[bot]").unwrap_or(text);
    if let Some(slug) = text.strip_prefix("app/") {
        let hint = format!("write the login of its bot: `{slug}[bot]`");
        return refuse("is not a login", &hint);
    }
    if is_account(bare) {
        Ok(Login::new(text))
    } else {
        refuse(
            "is not a login",
            "write it as GitHub shows it, such as `alice` or `acme[bot]`",
        )
    }
}

/// The login of a person who verifies.
pub(super) fn user(text: &str) -> Result<Login, Refusal> {
    let bare = text.strip_prefix('@').unwrap_or(text);
    if let Some(slug) = bare.strip_suffix("[bot]") {
        let hint = format!("name the App instead: `app: {slug}`");
        return refuse("is a bot's login", &hint);
    }
    if is_account(bare) {
        Ok(Login::new(bare))
    } else {
        refuse(
            "is not a login",
            "write it as GitHub shows it, such as `alice`",
        )
    }
}

/// The slug of an App.
pub(super) fn slug(text: &str) -> Result<&str, Refusal> {
    if let Some(slug) = text.strip_suffix("[bot]") {
        return refuse(
            "is a bot's login",
            &format!("write the App's slug: `{slug}`"),
        );
    }
    if is_account(text) {
        Ok(text)
    } else {
        let hint = "write it as it stands in the App's address, such as `github-actions`";
        refuse("is not the slug of an App", hint)
    }
}

/// A user or a team: `alice`, `@alice`, `@org/team`.
pub(super) fn party(text: &str) -> Result<Party, Refusal> {
    let how = "write a login (`alice`) or a team (`@org/team`)";
    match text
        .strip_prefix('@')
        .map(|rest| (rest, rest.split_once('/')))
    {
        Some((_, Some((org, slug)))) if is_account(org) && is_account(slug) => Ok(Party::Team {
            org: org.to_lowercase(),
            slug: slug.to_lowercase(),
        }),
        Some((user, None)) if is_account(user) => Ok(Party::User(Login::new(user))),
        None if is_account(text) => Ok(Party::User(Login::new(text))),
        None if text.matches('/').count() == 1 => refuse(
            "is neither a user nor a team",
            &format!("a team begins with `@`: `@{text}`"),
        ),
        _ => refuse("is neither a user nor a team", how),
    }
}

/// The path of a workflow file.
pub(super) fn workflow(text: &str) -> Result<&str, Refusal> {
    let name = text.strip_prefix(".github/workflows/");
    let fits = name.is_some_and(|name| {
        (name.ends_with(".yml") || name.ends_with(".yaml"))
            && text.len() <= LONGEST_TEXT
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    });
    if fits {
        Ok(text)
    } else {
        let hint = "write its path, such as `.github/workflows/verify.yml`";
        refuse("is not the path of a workflow", hint)
    }
}

/// The prefix of an ed25519 public key as OpenSSL writes it (SubjectPublicKeyInfo, RFC 8410).
const SPKI: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// An ed25519 public key, in hex, in base64, or as OpenSSL writes it; taken as 64 hex digits.
pub(super) fn key(text: &str) -> Result<String, Refusal> {
    let body: String = text
        .replace("-----BEGIN PUBLIC KEY-----", "")
        .replace("-----END PUBLIC KEY-----", "")
        .split_whitespace()
        .collect();
    let bytes = if body.len() == 64 {
        hex::decode(&body).ok()
    } else {
        STANDARD.decode(&body).ok()
    };
    let raw = bytes.map(|bytes| match bytes.strip_prefix(&SPKI) {
        Some(raw) => raw.to_vec(),
        None => bytes,
    });
    match raw {
        Some(raw) if raw.len() == 32 => Ok(hex::encode(raw)),
        _ => {
            let hint =
                "write its 32 bytes in base64 or hex, or the PEM text of `openssl pkey -pubout`";
            refuse("is not an ed25519 public key", hint)
        }
    }
}

/// The key under which a verifier is named.
pub(super) fn verifier(text: &str) -> Result<VerifierName, Refusal> {
    match VerifierName::parse(text) {
        Ok(name) if text.len() <= 64 => Ok(name),
        _ => {
            let hint = "use letters, digits, `-`, `_` and `.`, at most 64";
            refuse("cannot name a verifier", hint)
        }
    }
}

/// A path pattern.
pub(super) fn path_pattern(pattern: &str) -> Result<&str, Refusal> {
    text(pattern)?;
    if pattern.starts_with('!') {
        let hint = "list what is left out under `except`, or write narrower patterns";
        return refuse("begins with `!`, which a policy does not know", hint);
    }
    if let Some(rest) = pattern.strip_prefix("./") {
        let hint = format!("paths begin at the repository's top: `/{rest}`");
        return refuse("can match no path", &hint);
    }
    if pattern.contains('\\') || pattern.trim_matches('/').is_empty() {
        return refuse(
            "is not a path pattern",
            "separate folders with `/`, as in `src/**`",
        );
    }
    well_formed(pattern)
}

/// A pattern for branch names.
pub(super) fn branch_pattern(pattern: &str) -> Result<&str, Refusal> {
    text(pattern)?;
    if let Some(branch) = pattern.strip_prefix("refs/heads/") {
        return refuse("is a full ref", &format!("write the branch: `{branch}`"));
    }
    if BaseRef::parse(pattern).is_err() || pattern.starts_with(['/', '!']) || pattern.ends_with('/')
    {
        return refuse(
            "can match no branch",
            "write a name or a pattern, such as `release/*`",
        );
    }
    well_formed(pattern)
}

/// A pattern for labels.
pub(super) fn label_pattern(pattern: &str) -> Result<&str, Refusal> {
    text(pattern)?;
    well_formed(pattern)
}

fn well_formed(pattern: &str) -> Result<&str, Refusal> {
    match Globs::fault(pattern) {
        None => Ok(pattern),
        Some(why) => refuse(&format!("is not a pattern: {why}"), ""),
    }
}

/// A moment of the week: `Fri 16:00`.
pub(super) fn moment(text: &str) -> Result<(Weekday, NaiveTime), Refusal> {
    let parsed = text.split_once(' ').and_then(|(day, time)| {
        let plain = time.len() == 5 && time.is_ascii();
        let time = plain.then(|| NaiveTime::parse_from_str(time, "%H:%M").ok())??;
        Some((day.parse::<Weekday>().ok()?, time))
    });
    match parsed {
        Some(moment) => Ok(moment),
        None => refuse("is not a moment of the week", "write it as `Fri 16:00`"),
    }
}

/// A time zone by its name in the tz database.
pub(super) fn timezone(text: &str) -> Result<Tz, Refusal> {
    match text.parse::<Tz>() {
        Ok(zone) => Ok(zone),
        Err(_) => refuse(
            "is not a time zone",
            "write its name, such as `UTC` or `Europe/Berlin`",
        ),
    }
}

/// An address news can be posted to.
pub(super) fn address(address: &str) -> Result<&str, Refusal> {
    text(address)?;
    let host = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"))
        .map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match host {
        Some(host) if !host.is_empty() && !address.contains(char::is_whitespace) => {
            if host.contains('@') {
                let hint = "a policy is read by everybody who can read the repository";
                return refuse("holds a password", hint);
            }
            Ok(address)
        }
        _ => refuse("is not an address", "write one that begins with `https://`"),
    }
}

/// The same principal under two names would count twice, so identities compare as GitHub does.
pub(super) fn same_principal(one: &Identity, other: &Identity) -> bool {
    match (one, other) {
        (Identity::AppSlug(one), Identity::AppSlug(other)) => one.eq_ignore_ascii_case(other),
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_a_whole_number_and_a_unit() {
        assert_eq!(duration("90s"), Ok(Duration::seconds(90)));
        assert_eq!(duration("10m"), Ok(Duration::minutes(10)));
        assert_eq!(duration("72h"), Ok(Duration::hours(72)));
        assert_eq!(duration("3d"), Ok(Duration::days(3)));
        for wrong in [
            "",
            "s",
            "0s",
            "1.5h",
            "-1h",
            "4 h",
            "4H",
            "4hours",
            "366d",
            "99999999999d",
            "٣d",
        ] {
            assert!(duration(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn shares_are_whole_percentages() {
        assert_eq!(percent("20%"), Ok(20));
        for wrong in ["20", "0%", "101%", "%", "2.5%", "+5%", "1000%"] {
            assert!(percent(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn parties_are_users_or_teams() {
        assert_eq!(party("alice"), Ok(Party::User(Login::new("alice"))));
        assert_eq!(party("@alice"), party("Alice"));
        let team = Party::Team {
            org: "org".into(),
            slug: "owners".into(),
        };
        assert_eq!(party("@Org/Owners"), Ok(team));
        assert_eq!(
            party("org/owners").unwrap_err().hint.unwrap(),
            "a team begins with `@`: `@org/owners`"
        );
        for wrong in ["", "@", "@/", "@a/b/c", "a b"] {
            assert!(party(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn one_key_in_three_spellings_is_one_key() {
        let raw = [7_u8; 32];
        let spki = [&SPKI[..], &raw[..]].concat();
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(&spki)
        );
        for text in [
            hex::encode(raw),
            STANDARD.encode(raw),
            pem,
            STANDARD.encode(&spki),
        ] {
            assert_eq!(key(&text), Ok(hex::encode(raw)), "{text}");
        }
        for wrong in ["", "abc", "ssh-ed25519 AAAA", &"0".repeat(66)] {
            assert!(key(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn moments_are_a_weekday_and_a_time() {
        let friday = (Weekday::Fri, NaiveTime::from_hms_opt(16, 0, 0).unwrap());
        assert_eq!(moment("Fri 16:00"), Ok(friday));
        assert_eq!(moment("friday 16:00"), Ok(friday));
        for wrong in [
            "Fri",
            "Fri 24:00",
            "Fri 7:00",
            "16:00 Fri",
            "Fr 16:00",
            "Fri  16:00",
        ] {
            assert!(moment(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn patterns_that_could_match_nothing_are_refused() {
        for wrong in [
            "",
            " ",
            "!src/**",
            "./src",
            "/",
            "src\\main.rs",
            "a[",
            " src",
        ] {
            assert!(path_pattern(wrong).is_err(), "{wrong:?}");
        }
        for wrong in ["refs/heads/main", "/main", "main/", "ma in", "a["] {
            assert!(branch_pattern(wrong).is_err(), "{wrong:?}");
        }
        assert!(path_pattern("packages/event-store/**").is_ok());
        assert!(branch_pattern("agent/**").is_ok());
    }

    #[test]
    fn an_address_with_a_password_is_refused() {
        assert!(address("https://ntfy.sh/topic").is_ok());
        for wrong in [
            "https://me:secret@host/",
            "ftp://host",
            "https://",
            "ntfy.sh/topic",
        ] {
            assert!(address(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_bots_login_is_told_apart_from_a_user_and_from_a_slug() {
        assert!(author("acme-agent[bot]").is_ok());
        assert_eq!(
            author("app/acme").unwrap_err().hint.unwrap(),
            "write the login of its bot: `acme[bot]`"
        );
        assert_eq!(
            user("acme[bot]").unwrap_err().hint.unwrap(),
            "name the App instead: `app: acme`"
        );
        assert_eq!(
            slug("acme[bot]").unwrap_err().hint.unwrap(),
            "write the App's slug: `acme`"
        );
    }
}
