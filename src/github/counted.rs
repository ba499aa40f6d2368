//! What is counted of calls to GitHub: for whom, what they were for, and how they were answered.
//!
//! Methods and statuses tell what goes over the wire; this tells whose budget goes where, and what waits for
//! whom. A call that was kept back was never sent, and is counted too: it is what a low budget costs. A minting
//! is the App's own call, of the class of the call that needed the token.
//!
//! Labels are an installation's number and fixed words, so there is an end to the series.

use super::class::Class;
use super::quota::{Budget, Principal};
use super::transport::Reply;
use super::{Answer, Refused};
use crate::domain::model::Timestamp;
use crate::telemetry::Meters;

/// A call was sent, and this came of it.
pub(super) fn sent(
    meters: &Meters,
    who: Principal,
    class: Class,
    answered: &Answer<Reply>,
    now: Timestamp,
) {
    let answer = match answered {
        Err(_) => "none",
        Ok(reply) => match reply.status.as_u16() {
            _ if reply.limit(now).is_some() => "limited",
            304 => "unchanged",
            200..=299 => "ok",
            300..=399 => "moved",
            500..=599 => "failed",
            _ => "refused",
        },
    };
    meters.call(&whose(who), class.word(), answer);
}

/// A call was not sent, for want of budget or because the installation rests.
pub(super) fn kept_back(meters: &Meters, who: Principal, class: Class, refused: &Refused) {
    if refused.wait().is_some() {
        meters.call(&whose(who), class.word(), "kept_back");
    }
}

/// What an answer tells of its budget.
pub(super) fn budget(meters: &Meters, who: Principal, budget: Budget, reply: &Reply) {
    let told = |name| reply.headers.get(name)?.to_str().ok()?.parse().ok();
    let (Some(limit), Some(remaining)) = (told("x-ratelimit-limit"), told("x-ratelimit-remaining"))
    else {
        return;
    };
    let resource = match budget {
        Budget::Rest => "rest",
        Budget::GraphQl => "graphql",
    };
    meters.budget(&whose(who), resource, limit, remaining);
}

fn whose(who: Principal) -> String {
    match who {
        Principal::App => "app".to_owned(),
        Principal::Installation(installation) => installation.to_string(),
    }
}
