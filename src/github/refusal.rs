//! What an answer that is not a success means.
//!
//! One place reads statuses, headers and words; everybody above sees meanings. The order of the
//! questions matters only for 403: a limit first (headers, then words), then a suspended installation
//! (words), and only what is neither is a missing permission. A redirect is "not here": it is answered
//! for a renamed repository or branch, and following it is a decision of the caller's.

use chrono::Duration;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use super::quota::{self, Limit, Principal};
use super::transport::Reply;
use super::{Refused, auth};
use crate::domain::model::Timestamp;

/// Longer messages are whole pages that a proxy made.
const LONGEST_MESSAGE: usize = 400;

#[derive(Deserialize, Default)]
struct ErrorBody {
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    errors: Vec<Value>,
}

impl Reply {
    /// GitHub's own words about a refusal, in one line; never the page of a proxy.
    pub fn message(&self) -> String {
        let body: ErrorBody = serde_json::from_slice(&self.body).unwrap_or_default();
        let details = body.errors.iter().filter_map(|error| {
            let text = |name: &str| error.get(name).and_then(Value::as_str);
            match (error.as_str().or_else(|| text("message")), text("field")) {
                (Some(words), _) => Some(words.to_owned()),
                (None, Some(field)) => {
                    Some(format!("{field}: {}", text("code").unwrap_or("wrong")))
                }
                (None, None) => None,
            }
        });
        let words: Vec<String> = body.message.into_iter().chain(details).collect();
        if words.is_empty() {
            return self
                .status
                .canonical_reason()
                .unwrap_or("no reason given")
                .to_owned();
        }
        let line = words.join("; ").replace(char::is_control, " ");
        line.chars().take(LONGEST_MESSAGE).collect()
    }

    /// The body of a success, read as JSON; an empty one is `null`.
    ///
    /// # Errors
    /// The meaning of any other status, or [`Refused::Unreadable`].
    pub fn accept(&self, who: Principal, now: Timestamp) -> Result<Value, Refused> {
        if !self.status.is_success() {
            return Err(self.refusal(who, now));
        }
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&self.body)
            .map_err(|error| Refused::Unreadable(format!("not JSON: {error}")))
    }

    /// The meaning of an answer that is not a success.
    pub fn refusal(&self, who: Principal, now: Timestamp) -> Refused {
        if let Some(limit) = self.limit(now) {
            return Refused::Limited { after: limit.after };
        }
        let message = self.message();
        let status = self.status.as_u16();
        match status {
            401 => Refused::Unauthorized(self.with_clock(who, message, now)),
            403 if message.to_ascii_lowercase().contains("suspended") => Refused::Inactive(message),
            403 | 451 => Refused::Forbidden(self.with_needed(message)),
            404 | 410 => Refused::NotFound(message),
            _ if self.is_redirect() => Refused::NotFound("it was renamed or moved".into()),
            // The server gave up waiting: like a 5xx, it does not say what was done.
            408 => Refused::NoAnswer(message),
            409 => Refused::Conflict(message),
            500..=599 => Refused::Server(status),
            200..=299 => Refused::Unreadable(format!("an unexpected {status}")),
            _ => Refused::Invalid { status, message },
        }
    }

    /// The limit that this answer tells of, if it does.
    pub fn limit(&self, now: Timestamp) -> Option<Limit> {
        // Most answers are successes, and some of them are long: no words are read out of those.
        if !quota::may_be_limit(self.status) {
            return None;
        }
        quota::limit(self.status, &self.headers, &self.message(), now)
    }

    /// After how long a server that failed wants to be asked again, where it says so.
    pub fn busy(&self) -> Option<Duration> {
        let after = quota::number(&self.headers, "retry-after");
        let after = after.filter(|_| self.status.is_server_error())?;
        (after > 0).then(|| Duration::seconds(after.min(quota::LONGEST)))
    }

    /// Names the permission that would do, where that is what is missing and GitHub says which.
    fn with_needed(&self, message: String) -> String {
        let told = self.headers.get("x-accepted-github-permissions");
        let told = told.and_then(|value| value.to_str().ok());
        let plain = |c: char| c.is_ascii_alphanumeric() || "_=,; ".contains(c);
        match told {
            Some(needed)
                if message.contains("not accessible by integration")
                    && (1..LONGEST_MESSAGE).contains(&needed.len())
                    && needed.chars().all(plain) =>
            {
                format!("{message}; that needs the permission {needed}")
            }
            _ => message,
        }
    }

    /// Only the App's assertion carries times of ours, so only its refusal can be our clock's fault.
    fn with_clock(&self, who: Principal, message: String, now: Timestamp) -> String {
        match who {
            Principal::App => match auth::clock_skew(&self.headers, now) {
                Some(skew) => format!("{message}; {skew}"),
                None => message,
            },
            Principal::Installation(_) => message,
        }
    }

    /// Whether another page follows: what the `Link` header says, or nothing where there is none.
    pub fn has_next(&self) -> Option<bool> {
        let mut links = self
            .headers
            .get_all(http::header::LINK)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .peekable();
        links.peek()?;
        Some(links.any(|link| link.contains("rel=\"next\"") || link.contains("rel=next")))
    }

    /// Whether the server sent the request elsewhere.
    pub fn is_redirect(&self) -> bool {
        matches!(
            self.status,
            StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT
        )
    }
}

/// The meaning of GraphQL's own errors, which come with status 200.
///
/// # Errors
/// A limit. It is told by its type, of which two spellings were seen, or by its words; how long it lasts the
/// headers say, as they do elsewhere.
pub(super) fn graphql_refusal(
    errors: &[Value],
    headers: &HeaderMap,
    now: Timestamp,
) -> Result<Refused, Limit> {
    let text = |name: &str| {
        errors
            .iter()
            .find_map(|error| error.get(name).and_then(Value::as_str))
            .unwrap_or_default()
    };
    let message: String = text("message").chars().take(LONGEST_MESSAGE).collect();
    let limited = message.to_ascii_lowercase().contains("rate limit");
    match text("type") {
        "RATE_LIMITED" | "RATE_LIMIT" => Err(quota::graphql_limit(headers, &message, now)),
        "NOT_FOUND" => Ok(Refused::NotFound(message)),
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" if !limited => Ok(Refused::Forbidden(message)),
        _ if limited => Err(quota::graphql_limit(headers, &message, now)),
        _ => Ok(Refused::Unreadable(format!("GraphQL: {message}"))),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::domain::model::InstallationId;

    pub(in crate::github) fn reply(status: u16, body: impl Into<Bytes>) -> Reply {
        Reply {
            status: StatusCode::from_u16(status).expect("a status"),
            headers: HeaderMap::new(),
            body: body.into(),
        }
    }

    fn noon() -> Timestamp {
        chrono::DateTime::from_timestamp(1_750_000_000, 0).expect("a time")
    }

    fn installation() -> Principal {
        Principal::Installation(InstallationId::new(7).expect("an id"))
    }

    fn said(status: u16, message: &str) -> Refused {
        let body = json!({ "message": message }).to_string();
        reply(status, body).refusal(installation(), noon())
    }

    #[test]
    fn every_status_has_its_meaning() {
        use Refused as R;
        let m = || "why".to_owned();
        let moved = || R::NotFound("it was renamed or moved".into());
        let table = [
            (301, moved()),
            (307, moved()),
            (308, moved()),
            (401, R::Unauthorized(m())),
            (403, R::Forbidden(m())),
            (451, R::Forbidden(m())),
            (404, R::NotFound(m())),
            (410, R::NotFound(m())),
            (408, R::NoAnswer(m())),
            (409, R::Conflict(m())),
            (500, R::Server(500)),
            (502, R::Server(502)),
            (503, R::Server(503)),
        ];
        for (status, meaning) in table {
            assert_eq!(said(status, "why"), meaning, "{status}");
        }
        for status in [400, 405, 415, 422] {
            let message = m();
            assert_eq!(said(status, "why"), R::Invalid { status, message });
        }
        let after = Duration::seconds(60);
        assert_eq!(said(429, "why"), R::Limited { after });
        assert_eq!(said(403, "API rate limit exceeded"), R::Limited { after });
    }

    #[test]
    fn a_suspended_installation_is_not_a_missing_permission() {
        let words = "This installation has been suspended";
        assert_eq!(said(403, words), Refused::Inactive(words.into()));
    }

    #[test]
    fn a_missing_permission_is_named_where_github_names_it() {
        let refusal = |words: &str, needed: &str| {
            let mut refused = reply(403, json!({ "message": words }).to_string());
            let needed = needed.parse().expect("a header's value");
            let headers = &mut refused.headers;
            headers.insert("x-accepted-github-permissions", needed);
            refused.refusal(installation(), noon())
        };
        let words = "Resource not accessible by integration";
        let named = format!("{words}; that needs the permission statuses=read");
        assert_eq!(refusal(words, "statuses=read"), Refused::Forbidden(named));
        // Whatever else is refused is not for want of it, and no stranger's words are repeated.
        for (words, needed) in [
            ("IP is not allowed", "statuses=read"),
            (words, "<b>"),
            (words, ""),
        ] {
            assert_eq!(refusal(words, needed), Refused::Forbidden(words.into()));
        }
    }

    #[test]
    fn every_status_there_is_means_something() {
        for status in (300..=599).chain([999]) {
            let _ = said(status, "why");
        }
    }

    #[test]
    fn the_page_of_a_proxy_is_not_quoted() {
        let page = reply(502, "<html>a long page</html>");
        assert_eq!(page.message(), "Bad Gateway");
        let long = json!({ "message": "x".repeat(5_000) }).to_string();
        assert_eq!(reply(422, long).message().len(), LONGEST_MESSAGE);
        let just = json!({ "message": "x".repeat(LONGEST_MESSAGE) }).to_string();
        assert_eq!(reply(422, just).message().len(), LONGEST_MESSAGE);
    }

    #[test]
    fn the_details_of_a_refusal_are_told() {
        let body = json!({
            "message": "Validation Failed",
            "errors": [
                { "resource": "CheckRun", "field": "head_sha", "code": "invalid" },
                { "message": "No commit found for SHA" },
                "plain words",
                { "odd": 1 },
            ],
        });
        assert_eq!(
            reply(422, body.to_string()).message(),
            "Validation Failed; head_sha: invalid; No commit found for SHA; plain words"
        );
    }

    #[test]
    fn a_wrong_clock_is_named_for_the_apps_own_assertion_alone() {
        let mut refused = reply(401, json!({ "message": "Bad credentials" }).to_string());
        let date = (noon() - Duration::seconds(45)).to_rfc2822();
        refused
            .headers
            .insert("date", date.parse().expect("a header's value"));
        insta::assert_snapshot!(
            refused.refusal(Principal::App, noon()),
            @"GitHub refused the credentials (401): Bad credentials; this machine's clock is 45 s ahead of GitHub's: set it right"
        );
        insta::assert_snapshot!(
            refused.refusal(installation(), noon()),
            @"GitHub refused the credentials (401): Bad credentials"
        );
        let close = noon() - Duration::seconds(20);
        insta::assert_snapshot!(
            refused.refusal(Principal::App, close),
            @"GitHub refused the credentials (401): Bad credentials"
        );
    }

    #[test]
    fn a_graphql_error_has_its_meaning_although_the_status_is_200() {
        let none = HeaderMap::new();
        let meaning = |kind: &str, message: &str| {
            let errors = [json!({ "type": kind, "message": message })];
            graphql_refusal(&errors, &none, noon())
        };
        let minute = |secondary| Limit {
            after: Duration::seconds(60),
            secondary,
        };
        for (kind, message, secondary) in [
            ("RATE_LIMITED", "", false),
            ("RATE_LIMIT", "", false),
            ("NEW", "API rate limit already exceeded", false),
            ("", "You have exceeded a secondary rate limit.", true),
            (
                "FORBIDDEN",
                "You have exceeded a secondary rate limit.",
                true,
            ),
        ] {
            assert_eq!(meaning(kind, message), Err(minute(secondary)), "{kind}");
        }
        let refused = |kind: &str| meaning(kind, "x").expect("no limit");
        assert_eq!(refused("NOT_FOUND"), Refused::NotFound("x".into()));
        assert_eq!(refused("FORBIDDEN"), Refused::Forbidden("x".into()));
        assert!(matches!(refused("NEW"), Refused::Unreadable(_)));
        let nothing = graphql_refusal(&[], &none, noon());
        assert!(matches!(nothing, Ok(Refused::Unreadable(_))));
        let long = "x".repeat(LONGEST_MESSAGE + 1);
        let quoted = meaning("FORBIDDEN", &long);
        assert_eq!(quoted, Ok(Refused::Forbidden(long[1..].to_owned())));
    }
}
