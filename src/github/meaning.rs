//! What GitHub's refusals mean.
//!
//! A status number alone means little: 403 is a missing permission, a suspended installation, or one
//! of two kinds of rate limit; 405 to a merge has half a dozen causes that only the text tells apart.
//! Both tables here are total: what is not known is taken as the answer that asks for most care.

use chrono::Duration;
use http::{HeaderMap, StatusCode};

use super::{MergeAnswer, Refused};
use crate::domain::model::{Oid, Timestamp};

/// How long to wait when GitHub says "limit" and not for how long.
const UNTOLD_LIMIT: Duration = Duration::seconds(60);
/// A difference between GitHub's clock and ours from which on a refused JWT is put down to it.
const SKEW: i64 = 30;

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct Raw {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: bytes::Bytes,
}

impl Raw {
    /// GitHub's own words about an error, cut to a readable length.
    pub fn message(&self) -> String {
        let parsed: Option<serde_json::Value> = serde_json::from_slice(&self.body).ok();
        let message = parsed
            .as_ref()
            .and_then(|body| body.get("message"))
            .and_then(|message| message.as_str());
        let text = message.map_or_else(|| format!("no message ({})", self.status), str::to_owned);
        text.chars().take(500).collect()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.header(name)?.trim().parse().ok()
    }
}

/// How long a limit lasts, if this refusal is one: a primary limit shows `x-ratelimit-remaining: 0`, a
/// secondary one `retry-after` or only its text.
pub fn limit(raw: &Raw, now: Timestamp) -> Option<Duration> {
    let throttled = matches!(raw.status.as_u16(), 403 | 429);
    if !throttled {
        return None;
    }
    if let Some(seconds) = raw.number("retry-after") {
        return Some(Duration::seconds(seconds.clamp(1, 3600)));
    }
    if raw.number("x-ratelimit-remaining") == Some(0) {
        let reset = raw.number("x-ratelimit-reset").unwrap_or(0);
        let wait = reset - now.timestamp();
        return Some(if wait > 0 {
            Duration::seconds(wait.min(3600) + 1)
        } else {
            UNTOLD_LIMIT
        });
    }
    let told = raw.message().to_ascii_lowercase().contains("rate limit");
    (raw.status.as_u16() == 429 || told).then_some(UNTOLD_LIMIT)
}

/// What an answer other than success means.
pub fn refusal(raw: &Raw, now: Timestamp) -> Refused {
    if let Some(after) = limit(raw, now) {
        return Refused::Limited { after };
    }
    let message = raw.message();
    match raw.status.as_u16() {
        401 => Refused::Unauthorized(with_skew(message, raw, now)),
        403 if message.to_ascii_lowercase().contains("suspended") => Refused::Inactive(message),
        403 => Refused::Forbidden(message),
        404 | 410 => Refused::NotFound(message),
        409 => Refused::Conflict(message),
        status @ 500.. => Refused::Server(status),
        status => Refused::Invalid { status, message },
    }
}

fn with_skew(message: String, raw: &Raw, now: Timestamp) -> String {
    let theirs = raw
        .header("date")
        .and_then(|date| chrono::DateTime::parse_from_rfc2822(date).ok());
    let ahead = theirs.map(|theirs| now.timestamp() - theirs.timestamp());
    match ahead {
        Some(ahead) if ahead.abs() > SKEW => {
            let direction = if ahead > 0 { "ahead of" } else { "behind" };
            format!(
                "{message}; this machine's clock is {} s {direction} GitHub's: set it right",
                ahead.abs()
            )
        }
        _ => message,
    }
}

/// What an answer to `PUT .../merge` means.
pub fn merge(raw: &Raw, now: Timestamp) -> MergeAnswer {
    if raw.status.is_success() {
        return merged(raw);
    }
    if let Some(after) = limit(raw, now) {
        return MergeAnswer::Limited(after);
    }
    let message = raw.message();
    let lower = message.to_ascii_lowercase();
    let about_the_head = lower.contains("head") || lower.contains("sha");
    match raw.status.as_u16() {
        401 => MergeAnswer::Unauthorized(with_skew(message, raw, now)),
        403 => MergeAnswer::Forbidden(message),
        404 | 410 => MergeAnswer::Gone(message),
        405 if lower.contains("base branch was modified") => MergeAnswer::BaseMoved(message),
        405 => MergeAnswer::NotAllowed(message),
        409 => MergeAnswer::HeadMoved(message),
        // Some servers say 422 where github.com says 409.
        422 if about_the_head => MergeAnswer::HeadMoved(message),
        400..=499 => MergeAnswer::Invalid(message),
        status => MergeAnswer::Unknown(format!("GitHub failed ({status})")),
    }
}

/// A success that does not say which commit is no success that can be relied on.
fn merged(raw: &Raw) -> MergeAnswer {
    let body: Option<serde_json::Value> = serde_json::from_slice(&raw.body).ok();
    let told = body.as_ref().and_then(|body| {
        let merged = body.get("merged")?.as_bool()?;
        let sha = Oid::parse(body.get("sha")?.as_str()?).ok()?;
        merged.then_some(sha)
    });
    told.map_or_else(
        || MergeAnswer::Unknown("GitHub's answer could not be read".into()),
        MergeAnswer::Merged,
    )
}
