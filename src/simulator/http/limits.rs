//! Rate limits: how much each caller has used, and what that says in headers.
//!
//! The primary limit is always counted; the secondary ones only when a story asks for them, since a
//! clock that is turned by hand may stand still for thousands of calls.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::reply::Reply;
use crate::simulator::auth::Caller;
use crate::simulator::world::{Refusal, Time};

const HOUR: i64 = 3_600;
const MINUTE: i64 = 60;
/// What a write costs in points of the secondary limit; a read costs one.
const POINTS_OF_A_WRITE: u64 = 5;

/// How much a caller may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls an hour, of each resource (`core`, `graphql`).
    pub hourly: u64,
    /// Points a minute, before the secondary limit; GitHub: about 900.
    pub points_a_minute: Option<u64>,
    /// Writes a minute, before the secondary limit; GitHub: about 80 that create content.
    pub writes_a_minute: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hourly: 5_000,
            points_a_minute: None,
            writes_a_minute: None,
        }
    }
}

/// What a call is counted as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    /// `core` or `graphql`.
    pub resource: &'static str,
    /// Whether it writes.
    pub writes: bool,
    who: String,
}

impl Charge {
    /// A call of somebody.
    pub fn of(caller: &Caller, resource: &'static str, writes: bool) -> Self {
        let who = match caller {
            Caller::Nobody => "nobody".to_owned(),
            Caller::App => "the App".to_owned(),
            Caller::Installation(token) => format!("installation ID {}", token.installation),
        };
        Self {
            resource,
            writes,
            who,
        }
    }

    /// Whose call it is, in GitHub's words.
    pub fn who(&self) -> &str {
        &self.who
    }
}

#[derive(Debug, Default)]
struct Window {
    used: u64,
    ends: i64,
}

impl Window {
    /// The window that holds this moment: anew, once the last one has ended.
    fn at(&mut self, now: i64, lasts: i64) -> &mut Self {
        if now >= self.ends {
            *self = Self {
                used: 0,
                ends: now + lasts,
            };
        }
        self
    }
}

/// Everybody's counts.
#[derive(Debug, Default)]
pub struct Quotas {
    /// What holds.
    pub limits: Limits,
    hours: HashMap<(String, &'static str), Window>,
    minutes: HashMap<(String, &'static str), Window>,
}

impl Quotas {
    /// Counts a call, or answers why it may not be made.
    pub fn spend(&mut self, charge: &Charge, now: Time) -> Result<(), Reply> {
        let now = now.timestamp();
        let hourly = self.limits.hourly;
        let hour = self.hour(charge, now);
        if hour.used >= hourly {
            let text = format!("API rate limit exceeded for {}.", charge.who);
            return Err(Reply::refused(&Refusal::new(403, text)));
        }
        hour.used += 1;
        let points = if charge.writes { POINTS_OF_A_WRITE } else { 1 };
        let Limits {
            points_a_minute,
            writes_a_minute,
            ..
        } = self.limits;
        self.spend_minute(charge, "points", points, points_a_minute, now)?;
        let writes = u64::from(charge.writes);
        self.spend_minute(charge, "writes", writes, writes_a_minute, now)
    }

    fn spend_minute(
        &mut self,
        charge: &Charge,
        what: &'static str,
        cost: u64,
        limit: Option<u64>,
        now: i64,
    ) -> Result<(), Reply> {
        let minute = self.minutes.entry((charge.who.clone(), what)).or_default();
        let minute = minute.at(now, MINUTE);
        if limit.is_some_and(|limit| minute.used + cost > limit) {
            return Err(secondary(minute.ends - now));
        }
        minute.used += cost;
        Ok(())
    }

    /// Takes a call back that cost nothing: a 304.
    pub fn refund(&mut self, charge: &Charge, now: Time) {
        let hour = self.hour(charge, now.timestamp());
        hour.used = hour.used.saturating_sub(1);
    }

    fn hour(&mut self, charge: &Charge, now: i64) -> &mut Window {
        let key = (charge.who.clone(), charge.resource);
        self.hours.entry(key).or_default().at(now, HOUR)
    }

    /// An answer with the headers that tell what is left.
    pub fn told(&mut self, reply: Reply, charge: &Charge, now: Time) -> Reply {
        let limit = self.limits.hourly;
        let hour = self.hour(charge, now.timestamp());
        reply
            .or_header("x-ratelimit-limit", limit.to_string())
            .or_header("x-ratelimit-used", hour.used.to_string())
            .or_header(
                "x-ratelimit-remaining",
                limit.saturating_sub(hour.used).to_string(),
            )
            .or_header("x-ratelimit-reset", hour.ends.to_string())
            .or_header("x-ratelimit-resource", charge.resource)
    }

    /// What `GET /rate_limit` tells somebody; asking costs nothing.
    pub fn listed(&mut self, caller: &Caller, now: Time) -> Value {
        let limit = self.limits.hourly;
        let mut of = |resource| {
            let charge = Charge::of(caller, resource, false);
            let hour = self.hour(&charge, now.timestamp());
            json!({
                "limit": limit,
                "used": hour.used,
                "remaining": limit.saturating_sub(hour.used),
                "reset": hour.ends,
            })
        };
        let (core, graphql) = (of("core"), of("graphql"));
        json!({ "resources": { "core": core, "graphql": graphql }, "rate": core })
    }
}

/// The answer of a secondary limit that ends in so many seconds.
pub fn secondary(after: i64) -> Reply {
    let text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try \
                again.";
    Reply::refused(&Refusal::new(403, text)).with("retry-after", after.to_string())
}

/// The answer of a primary limit that starts anew at a time.
pub fn primary(reset: i64) -> Reply {
    let refusal = Refusal::new(403, "API rate limit exceeded for installation.");
    Reply::refused(&refusal)
        .with("x-ratelimit-remaining", "0")
        .with("x-ratelimit-reset", reset.to_string())
}
