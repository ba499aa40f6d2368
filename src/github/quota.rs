//! Limits: when GitHub says "not now", until when, and who has to wait.
//!
//! GitHub says it with 403 as often as with 429, and a 403 is otherwise a missing permission, which no
//! waiting mends. Headers tell first, words second. Calling on during a secondary limit prolongs it,
//! so after one such answer the brake answers for GitHub: every further call of the same principal is
//! [`Limited`](super::Refused::Limited) at once, without a request, until the time has passed. Nothing
//! waits in here: passes have their own schedule, and a sleeping call would hold a lease.
//!
//! REST and GraphQL have budgets of their own; a *secondary* limit is about behaviour and brakes both.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use chrono::Duration;
use http::{HeaderMap, StatusCode};

use super::auth;
use crate::domain::model::{InstallationId, Timestamp};

/// Where GitHub names no time: its documentation asks for at least a minute.
const UNNAMED: i64 = 60;
/// Primary budgets are refilled hourly; anything longer is a misread header or a wrong clock.
pub(super) const LONGEST: i64 = 3_600;

/// In whose name a call is made: each has budgets of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Principal {
    /// The App itself, by its assertion.
    App,
    /// One installation, by its token.
    Installation(InstallationId),
}

/// Which budget a call draws on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Budget {
    /// Requests.
    Rest,
    /// GraphQL points.
    GraphQl,
}

impl Budget {
    /// Its name in GitHub's headers.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Rest => "core",
            Self::GraphQl => "graphql",
        }
    }
}

/// A limit as GitHub told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    /// How long to stay away.
    pub after: Duration,
    /// It is about behaviour, not about the hourly budget.
    pub secondary: bool,
}

/// The statuses that a limit can have.
pub(super) fn may_be_limit(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    )
}

/// Reads a limit out of an answer, if it is one.
pub(super) fn limit(
    status: StatusCode,
    headers: &HeaderMap,
    message: &str,
    now: Timestamp,
) -> Option<Limit> {
    if !may_be_limit(status) {
        return None;
    }
    let words = message.to_ascii_lowercase();
    let secondary = is_secondary(&words);
    let retry_after = headers.get(http::header::RETRY_AFTER);
    let used_up = number(headers, "x-ratelimit-remaining") == Some(0);
    let told = status == StatusCode::TOO_MANY_REQUESTS
        || used_up
        || retry_after.is_some()
        || secondary
        || words.contains("rate limit");
    told.then(|| Limit {
        after: wait(headers, used_up, now),
        secondary: secondary || !used_up,
    })
}

/// The limit of which an answer to a query tells in its body, whatever its status. What is left of the budget
/// does not say whether it is used up: a query may cost more than that. So the time of the next budget counts
/// unless the words are about behaviour.
pub(super) fn graphql_limit(headers: &HeaderMap, message: &str, now: Timestamp) -> Limit {
    let secondary = is_secondary(&message.to_ascii_lowercase());
    Limit {
        after: wait(headers, !secondary, now),
        secondary,
    }
}

fn is_secondary(words: &str) -> bool {
    words.contains("secondary rate limit") || words.contains("abuse detection")
}

/// `Retry-After`, else the time of the next budget where this one is used up, else a minute.
fn wait(headers: &HeaderMap, used_up: bool, now: Timestamp) -> Duration {
    let until_reset = || {
        let reset = number(headers, "x-ratelimit-reset")?;
        // Both times are GitHub's own where it sent a date: a wrong clock of ours does not matter.
        let now = auth::server_time(headers).unwrap_or(now);
        Some(reset.saturating_sub(now.timestamp()))
    };
    let seconds = number(headers, "retry-after")
        .or_else(|| used_up.then(until_reset).flatten())
        .unwrap_or(UNNAMED);
    Duration::seconds(seconds.clamp(1, LONGEST))
}

pub(super) fn number(headers: &HeaderMap, name: &str) -> Option<i64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Who must stay away, and until when.
#[derive(Debug, Default)]
pub(super) struct Brake {
    until: Mutex<HashMap<(Principal, Budget), Timestamp>>,
}

impl Brake {
    /// How long a call must still stay away, if it must.
    pub fn remaining(&self, who: Principal, budget: Budget, now: Timestamp) -> Option<Duration> {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.retain(|_, end| *end > now);
        until
            .get(&(who, budget))
            .map(|end| end.signed_duration_since(now))
    }

    /// Notes a limit.
    pub fn hold(&self, who: Principal, budget: Budget, limit: Limit, now: Timestamp) {
        let mut until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let budgets: &[Budget] = if limit.secondary {
            &[Budget::Rest, Budget::GraphQl]
        } else {
            std::slice::from_ref(&budget)
        };
        for budget in budgets {
            let end = until.entry((who, *budget)).or_insert(now);
            *end = (*end).max(now + limit.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    http::HeaderName::from_static(name),
                    value.parse().expect("a header's value"),
                )
            })
            .collect()
    }

    fn noon() -> Timestamp {
        chrono::DateTime::from_timestamp(1_750_000_000, 0).expect("a time")
    }

    fn seconds(status: u16, pairs: &[(&'static str, &str)], message: &str) -> Option<i64> {
        let status = StatusCode::from_u16(status).expect("a status");
        limit(status, &headers(pairs), message, noon()).map(|limit| limit.after.num_seconds())
    }

    #[test]
    fn a_missing_permission_and_a_limit_are_told_apart() {
        let permission = "Resource not accessible by integration";
        assert_eq!(seconds(403, &[], permission), None);
        let left = [("x-ratelimit-remaining", "4999")];
        assert_eq!(seconds(403, &left, permission), None);
        assert_eq!(seconds(403, &[("retry-after", "7")], permission), Some(7));
        assert_eq!(seconds(429, &[], ""), Some(60));
        let words = "You have exceeded a secondary rate limit.";
        assert_eq!(seconds(403, &[], words), Some(60));
        assert_eq!(seconds(403, &[], "API rate limit exceeded"), Some(60));
        assert_eq!(seconds(500, &[("retry-after", "7")], words), None);
    }

    #[test]
    fn a_used_up_budget_comes_back_at_the_reset_by_githubs_own_clock() {
        let reset = (noon().timestamp() + 90).to_string();
        let pairs = [
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", reset.as_str()),
        ];
        assert_eq!(seconds(403, &pairs, ""), Some(90));
        let date = (noon() + Duration::seconds(60)).to_rfc2822();
        let pairs = [pairs[0], pairs[1], ("date", date.as_str())];
        assert_eq!(seconds(403, &pairs, ""), Some(30));
    }

    #[test]
    fn a_reset_in_the_past_or_far_ahead_is_not_taken_at_its_word() {
        let reset = |at: i64| {
            let at = at.to_string();
            seconds(
                403,
                &[
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", at.as_str()),
                ],
                "",
            )
        };
        assert_eq!(reset(5), Some(1));
        assert_eq!(reset(i64::MAX), Some(3_600));
        assert_eq!(seconds(429, &[("retry-after", "soon")], ""), Some(60));
        for (told, kept) in [("3599", 3_599), ("3600", 3_600), ("3601", 3_600), ("0", 1)] {
            assert_eq!(seconds(429, &[("retry-after", told)], ""), Some(kept));
        }
    }

    #[test]
    fn the_brake_holds_one_installation_and_lets_go_in_time() {
        let brake = Brake::default();
        let one = Principal::Installation(InstallationId::new(1).expect("an id"));
        let two = Principal::Installation(InstallationId::new(2).expect("an id"));
        let primary = Limit {
            after: Duration::seconds(10),
            secondary: false,
        };
        brake.hold(one, Budget::Rest, primary, noon());
        let left = |who, budget, at| {
            brake
                .remaining(who, budget, noon() + Duration::seconds(at))
                .map(|left| left.num_seconds())
        };
        assert_eq!(left(one, Budget::Rest, 4), Some(6));
        assert_eq!(left(one, Budget::GraphQl, 4), None);
        assert_eq!(left(two, Budget::Rest, 4), None);
        assert_eq!(left(Principal::App, Budget::Rest, 4), None);
        assert_eq!(left(one, Budget::Rest, 10), None);
    }

    #[test]
    fn a_secondary_limit_brakes_both_budgets() {
        let brake = Brake::default();
        let secondary = Limit {
            after: Duration::seconds(10),
            secondary: true,
        };
        brake.hold(Principal::App, Budget::Rest, secondary, noon());
        let left = brake.remaining(Principal::App, Budget::GraphQl, noon());
        assert_eq!(left, Some(Duration::seconds(10)));
    }
}
