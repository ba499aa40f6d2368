//! What is left of an hour's budget, and who may still spend of it.
//!
//! GitHub tells it with every answer. Each class leaves a part to those above it ([`Class::leaves`]), and
//! the part shrinks with the time to the reset: what fifty merges need in an hour, five need in six
//! minutes. So a lower class waits a time that can be told, mostly shorter than to the reset.
//!
//! Answers may come in another order than GitHub counted: within one hour the smallest number stands, and
//! an answer of an hour that is over is not heard. Another process that spends from the same budget is
//! seen with the next answer.

use chrono::Duration;
use http::HeaderMap;

use super::auth;
use super::class::Class;
use super::quota::number;
use crate::domain::model::Timestamp;

/// In which GitHub refills a budget.
const WINDOW: i64 = 3_600;
/// Two resets this close are the same one, told by clocks that were read at different moments.
const SAME: Duration = Duration::seconds(60);

/// A budget as GitHub told it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// What an hour has.
    pub limit: i64,
    /// What is left of it.
    pub remaining: i64,
    /// When it is whole again, by our clock.
    pub reset: Timestamp,
}

impl Allowance {
    /// What an answer tells of the budget named `resource`; `None` where it tells of another, or nothing.
    pub fn read(headers: &HeaderMap, resource: &str, now: Timestamp) -> Option<Self> {
        let named = headers.get("x-ratelimit-resource");
        if named.is_some_and(|named| named.as_bytes() != resource.as_bytes()) {
            return None;
        }
        let limit = number(headers, "x-ratelimit-limit").filter(|limit| *limit > 0)?;
        let remaining = number(headers, "x-ratelimit-remaining")?;
        let reset = number(headers, "x-ratelimit-reset")?;
        // Both times are GitHub's own where it sent a date: a wrong clock of ours does not matter.
        let theirs = auth::server_time(headers).unwrap_or(now).timestamp();
        let left = reset.saturating_sub(theirs).clamp(0, WINDOW);
        Some(Self {
            limit,
            remaining: remaining.clamp(0, limit),
            reset: now + Duration::seconds(left),
        })
    }

    /// What is known after another answer came.
    #[must_use]
    pub fn and(self, told: Self) -> Self {
        if told.reset > self.reset + SAME {
            return told;
        }
        if told.reset + SAME < self.reset {
            return self;
        }
        Self {
            remaining: told.remaining.min(self.remaining),
            ..told
        }
    }

    /// How long a call of this class must wait, if it must.
    pub fn wait(&self, class: Class, now: Timestamp) -> Option<Duration> {
        let left = (self.reset - now).num_seconds().min(WINDOW);
        if left <= 0 {
            return None;
        }
        // All times a hundred, so that nothing is lost by dividing.
        let whole = self.limit.saturating_mul(class.leaves());
        let kept = whole.saturating_mul(left) / WINDOW;
        let has = self.remaining.saturating_mul(100);
        if has > kept {
            return None;
        }
        // After so long the part to be left is smaller than what is there.
        let enough = match whole {
            0 => 0,
            whole => has.saturating_mul(WINDOW) / whole,
        };
        Some(Duration::seconds((left - enough + 1).clamp(1, left)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLASSES: [Class; 5] = [
        Class::Merge,
        Class::Check,
        Class::Answer,
        Class::Read,
        Class::Sweep,
    ];

    fn noon() -> Timestamp {
        chrono::DateTime::from_timestamp(1_750_000_000, 0).expect("a time")
    }

    fn with(remaining: i64, seconds: i64) -> Allowance {
        Allowance {
            limit: 5_000,
            remaining,
            reset: noon() + Duration::seconds(seconds),
        }
    }

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().expect("a header's value"));
        }
        headers
    }

    fn told(resource: &str, remaining: i64) -> Vec<(&'static str, String)> {
        vec![
            ("x-ratelimit-limit", "5000".into()),
            ("x-ratelimit-remaining", remaining.to_string()),
            ("x-ratelimit-reset", (noon().timestamp() + 600).to_string()),
            ("x-ratelimit-resource", resource.into()),
        ]
    }

    #[test]
    fn a_low_budget_is_left_to_merges_first() {
        let may = |remaining| {
            let allowance = with(remaining, 3_600);
            CLASSES.map(|class| allowance.wait(class, noon()).is_none())
        };
        assert_eq!(may(1_501), [true, true, true, true, true]);
        assert_eq!(may(1_500), [true, true, true, true, false]);
        assert_eq!(may(750), [true, true, true, false, false]);
        assert_eq!(may(400), [true, true, false, false, false]);
        assert_eq!(may(200), [true, false, false, false, false]);
        assert_eq!(may(0), [false; 5]);
    }

    #[test]
    fn what_is_left_to_others_shrinks_with_the_hour() {
        let wait = |remaining, seconds| {
            let wait = with(remaining, seconds).wait(Class::Sweep, noon());
            wait.map(|wait| wait.num_seconds())
        };
        assert_eq!(wait(1_000, 3_600), Some(1_201));
        assert_eq!(wait(1_000, 2_399), None);
        assert_eq!(wait(0, 90), Some(90));
        assert_eq!(wait(0, 0), None);
        assert_eq!(wait(0, -5), None);
    }

    #[test]
    fn another_budget_than_the_one_asked_for_says_nothing() {
        let core = headers(&told("core", 7));
        let read = |headers: &HeaderMap| Allowance::read(headers, "core", noon());
        assert_eq!(read(&core), Some(with(7, 600)));
        assert_eq!(read(&headers(&told("search", 7))), None);
        assert_eq!(read(&HeaderMap::new()), None);
        // Enterprise Server with limits turned off tells none.
        assert_eq!(read(&headers(&told("core", 7)[..1])), None);
    }

    #[test]
    fn the_reset_is_measured_by_githubs_own_clock() {
        let mut told = told("core", 7);
        let date = noon() + Duration::seconds(500);
        told.push(("date", date.to_rfc2822()));
        let read = Allowance::read(&headers(&told), "core", noon());
        assert_eq!(read, Some(with(7, 100)));
    }

    #[test]
    fn late_answers_do_not_give_back_what_was_spent() {
        assert_eq!(with(10, 600).and(with(12, 600)), with(10, 600));
        assert_eq!(with(10, 600).and(with(8, 601)), with(8, 601));
        assert_eq!(with(10, 600).and(with(4_999, 3_600)), with(4_999, 3_600));
        assert_eq!(with(4_999, 3_600).and(with(3, 0)), with(4_999, 3_600));
    }

    proptest! {
        #[test]
        fn who_waited_as_told_may_call_and_who_is_above_waits_no_longer(
            limit in 1_i64..20_000, part in 0_i64..=100, seconds in 1_i64..=3_600,
        ) {
            let remaining = limit * part / 100;
            let reset = noon() + Duration::seconds(seconds);
            let allowance = Allowance { limit, remaining, reset };
            let mut above = Duration::zero();
            for class in CLASSES {
                let wait = allowance.wait(class, noon()).unwrap_or_default();
                prop_assert!(wait >= above, "{class:?}");
                prop_assert!(allowance.wait(class, noon() + wait).is_none(), "{class:?}");
                above = wait;
            }
        }
    }
}
