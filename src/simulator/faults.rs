//! A plan of what goes wrong: answers that are refused, cut, stale, half null or never come, and
//! deliveries that are lost, doubled, late or out of order.
//!
//! **Properties.** All of it follows from the rules and one seed. Chance depends on the seed, the
//! address and how often that address was called, not on the order in which calls to *different*
//! addresses arrive: two concurrent clients meet the same faults in every run. What fired is written
//! down, with the call it hit, so that a failing seed can be told.
//!
//! **What is left out.** A random plan never keeps silent for ever: a client's patience is real time,
//! and to the client a broken connection means the same. Ask for [`Fault::Silence`] by a rule.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// What happens to one API call instead of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status and these words, and nothing is done. See [`Fault::status`] for the usual words.
    Refuse(u16, &'static str),
    /// This status, with `Retry-After` in seconds. Nothing is done.
    ComeBack(u16, u64),
    /// 403 as a secondary limit, with `Retry-After` in seconds. Nothing is done.
    SecondaryLimit(u64),
    /// 403 as a used-up primary limit, which starts anew in so many seconds. Nothing is done.
    PrimaryLimit(i64),
    /// No answer until the caller gives up. Nothing is done.
    Silence,
    /// The connection ends without an answer. Nothing is done.
    Reset,
    /// The call is done, and answered 502.
    DoneThen502,
    /// The call is done, and not answered until the caller gives up.
    DoneThenSilence,
    /// The call is done, and the connection ends without an answer.
    DoneThenReset,
    /// The call is done, and the connection ends in the middle of the answer.
    DoneThenCut,
    /// A list comes back empty, as if there were nothing (also its `total_count`).
    EmptyList,
    /// A list ends early without a word: no `Link` to the next page, or, on the last page, without
    /// the second half. Its `total_count` tells still.
    TruncatedList,
    /// Some values, chosen by the seed, are null.
    Nulls,
    /// Every field of this name is null.
    NullField(&'static str),
    /// What the same address answered the first time.
    Stale,
}

impl Fault {
    /// A refusal with GitHub's usual words for a status.
    pub fn status(status: u16) -> Self {
        let words = match status {
            401 => "Bad credentials",
            403 => "Resource not accessible by integration",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            422 => "Validation Failed",
            429 => "Too Many Requests",
            502 => "Bad Gateway",
            503 => "Service Unavailable",
            504 => "We couldn't respond to your request in time. Sorry about that.",
            _ => "Server Error",
        };
        Self::Refuse(status, words)
    }

    /// Whether it means anything for an answer that is read (a list, a body).
    fn bends_answers(&self) -> bool {
        matches!(
            self,
            Self::EmptyList | Self::TruncatedList | Self::Nulls | Self::NullField(_) | Self::Stale
        )
    }
}

/// What happens to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is sent.
    Sent,
    /// It is lost on its way: listed as failed, never sent again by itself.
    Lost,
    /// It is sent twice, under one GUID.
    Doubled,
    /// It is kept back, and sent first when deliveries are next sent.
    Late,
    /// It is sent later than others that were queued after it.
    Overtaken,
}

/// When a rule fires.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// At every match.
    Always,
    /// At the first so many matches.
    First(u32),
    /// At one match, counted from 1.
    Nth(u32),
    /// At a match with this probability (0 to 1).
    Chance(f64),
}

/// What goes wrong, where, when.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The method; `*` for every one.
    pub method: String,
    /// How the path, or the pattern of the route (`/pulls/{number}/merge`), ends; if this itself ends
    /// in `/`, what it holds somewhere. Empty for every path.
    pub path: String,
    /// When.
    pub when: When,
    /// What.
    pub fault: Fault,
    met: u32,
}

#[derive(Debug, Clone)]
struct DeliveryRule {
    event: String,
    when: When,
    fate: Fate,
    met: u32,
}

/// The plan, and how far it has been carried out.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    seed: u64,
    /// The shares of calls and deliveries that meet some fault without a rule.
    calls: f64,
    deliveries: f64,
    rules: Vec<Rule>,
    delivery_rules: Vec<DeliveryRule>,
    met: HashMap<String, u64>,
    fired: Vec<String>,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Nothing goes wrong until rules are added; their chances are drawn from this seed.
    pub fn seeded(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Anything may go wrong: so many API calls, and so many deliveries, in a thousand meet some fault.
    pub fn random(seed: u64, calls: u32, deliveries: u32) -> Self {
        Self {
            calls: f64::from(calls) / 1_000.0,
            deliveries: f64::from(deliveries) / 1_000.0,
            ..Self::seeded(seed)
        }
    }

    /// The next `times` calls meet this fault; see [`Rule::path`] for how a path is named.
    #[must_use]
    pub fn with(self, method: &str, path: &str, times: u32, fault: Fault) -> Self {
        self.when(method, path, When::First(times), fault)
    }

    /// The `nth` call (from 1) meets this fault.
    #[must_use]
    pub fn at(self, method: &str, path: &str, nth: u32, fault: Fault) -> Self {
        self.when(method, path, When::Nth(nth), fault)
    }

    /// Calls meet this fault.
    #[must_use]
    pub fn when(mut self, method: &str, path: &str, when: When, fault: Fault) -> Self {
        self.rules.push(Rule {
            method: method.to_owned(),
            path: path.to_owned(),
            when,
            fault,
            met: 0,
        });
        self
    }

    /// Deliveries of an event (`*` for every one) meet this fate.
    #[must_use]
    pub fn with_delivery(mut self, event: &str, when: When, fate: Fate) -> Self {
        self.delivery_rules.push(DeliveryRule {
            event: event.to_owned(),
            when,
            fate,
            met: 0,
        });
        self
    }

    /// What fired so far, oldest first.
    pub fn fired(&self) -> &[String] {
        &self.fired
    }

    /// The fault that a call meets, if it meets one. `route` is the pattern it was routed by.
    pub fn of_call(&mut self, method: &str, path: &str, route: &str) -> Option<Fault> {
        let key = format!("{method} {path}");
        let nth = self.count(&key);
        let mut found = None;
        for (index, rule) in self.rules.iter_mut().enumerate() {
            if !rule.names(method, path, route) {
                continue;
            }
            rule.met += 1;
            let drawn = || draw(self.seed, &format!("rule {index} {key}"), nth);
            if found.is_none() && fires(rule.when, rule.met, drawn) {
                found = Some(rule.fault.clone());
            }
        }
        found.or_else(|| self.random_fault(method, &key, nth))
    }

    fn random_fault(&self, method: &str, key: &str, nth: u64) -> Option<Fault> {
        if !happens(self.calls, draw(self.seed, key, nth)) {
            return None;
        }
        let choices = [
            Fault::status(401),
            Fault::status(403),
            Fault::status(404),
            Fault::status(409),
            Fault::status(422),
            Fault::status(429),
            Fault::status(500),
            Fault::status(502),
            Fault::status(503),
            Fault::SecondaryLimit(60),
            Fault::PrimaryLimit(600),
            Fault::Reset,
            Fault::DoneThen502,
            Fault::DoneThenReset,
            Fault::EmptyList,
            Fault::TruncatedList,
            Fault::Nulls,
            Fault::Stale,
        ];
        let fits = |fault: &&Fault| method == "GET" || !fault.bends_answers();
        let fitting: Vec<&Fault> = choices.iter().filter(fits).collect();
        let at = pick(draw(self.seed, &format!("which {key}"), nth), fitting.len());
        fitting.get(at).map(|fault| (*fault).clone())
    }

    /// The fate of a delivery.
    pub fn of_delivery(&mut self, event: &str) -> Fate {
        let nth = self.count("deliveries");
        let mut found = None;
        for (index, rule) in self.delivery_rules.iter_mut().enumerate() {
            if rule.event != "*" && rule.event != event {
                continue;
            }
            rule.met += 1;
            let drawn = || draw(self.seed, &format!("delivery rule {index}"), nth);
            if found.is_none() && fires(rule.when, rule.met, drawn) {
                found = Some(rule.fate);
            }
        }
        if found.is_none() && happens(self.deliveries, draw(self.seed, "delivery", nth)) {
            let fates = [Fate::Lost, Fate::Doubled, Fate::Late, Fate::Overtaken];
            let at = pick(draw(self.seed, "which delivery", nth), fates.len());
            found = fates.get(at).copied();
        }
        let fate = found.unwrap_or(Fate::Sent);
        if fate != Fate::Sent {
            self.note(format!("delivery {nth} ({event}): {fate:?}"));
        }
        fate
    }

    /// A number below `below` for the `nth` use of a name, as the seed has it.
    pub fn choose(&self, name: &str, nth: u64, below: usize) -> usize {
        pick(draw(self.seed, name, nth), below)
    }

    /// Writes down that something fired.
    pub fn note(&mut self, what: String) {
        self.fired.push(what);
    }

    fn count(&mut self, key: &str) -> u64 {
        let met = self.met.entry(key.to_owned()).or_default();
        *met += 1;
        *met
    }
}

impl Rule {
    fn names(&self, method: &str, path: &str, route: &str) -> bool {
        let by_method = self.method == "*" || self.method.eq_ignore_ascii_case(method);
        let names = |text: &str| {
            text.ends_with(&self.path) || (self.path.ends_with('/') && text.contains(&self.path))
        };
        by_method && (names(path) || names(route))
    }
}

fn fires(when: When, met: u32, drawn: impl FnOnce() -> u64) -> bool {
    match when {
        When::Always => true,
        When::First(times) => met <= times,
        When::Nth(nth) => met == nth,
        When::Chance(chance) => happens(chance, drawn()),
    }
}

/// A draw that depends on nothing but the seed, a name and a count.
fn draw(seed: u64, name: &str, nth: u64) -> u64 {
    let digest = Sha256::digest(format!("{seed} {nth} {name}"));
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    u64::from_be_bytes(first)
}

#[allow(clippy::cast_precision_loss)]
fn happens(chance: f64, drawn: u64) -> bool {
    // 53 bits are what a double holds exactly.
    ((drawn >> 11) as f64) / ((1_u64 << 53) as f64) < chance
}

fn pick(drawn: u64, below: usize) -> usize {
    let below = u64::try_from(below).unwrap_or(1).max(1);
    usize::try_from(drawn % below).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64) -> Vec<String> {
        let mut plan = FaultPlan::random(seed, 300, 300);
        for _ in 0..50 {
            if let Some(fault) = plan.of_call("GET", "/x", "/x") {
                plan.note(format!("{fault:?}"));
            }
            plan.of_delivery("push");
        }
        plan.fired().to_vec()
    }

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn chance_at_one_address_does_not_depend_on_calls_to_another() {
        let met = |others: usize| {
            let mut plan = FaultPlan::random(4, 500, 0);
            let mut met = Vec::new();
            for _ in 0..40 {
                for other in 0..others {
                    plan.of_call("GET", &format!("/other/{other}"), "/other/{id}");
                }
                met.push(plan.of_call("PUT", "/pulls/1/merge", "/pulls/{number}/merge"));
            }
            met
        };
        assert_eq!(met(0), met(3));
        assert!(met(0).iter().any(Option::is_some));
    }

    #[test]
    fn a_write_is_never_bent_as_a_list_by_chance() {
        let mut plan = FaultPlan::random(1, 1_000, 0);
        for _ in 0..300 {
            let fault = plan
                .of_call("PUT", "/merge", "/merge")
                .expect("at every call");
            assert!(!fault.bends_answers(), "{fault:?}");
            assert_ne!(fault, Fault::Silence);
        }
    }

    #[test]
    fn a_rule_fires_as_often_as_it_says() {
        let mut plan = FaultPlan::none()
            .with("PUT", "/merge", 1, Fault::DoneThen502)
            .at("GET", "/pulls/{number}", 2, Fault::Stale);
        let merge = ("/r/pulls/1/merge", "/r/pulls/{number}/merge");
        assert_eq!(plan.of_call("GET", merge.0, merge.1), None);
        assert_eq!(
            plan.of_call("PUT", merge.0, merge.1),
            Some(Fault::DoneThen502)
        );
        assert_eq!(plan.of_call("PUT", merge.0, merge.1), None);
        assert_eq!(plan.of_call("GET", "/r/pulls/1", "/r/pulls/{number}"), None);
        let second = plan.of_call("GET", "/r/pulls/2", "/r/pulls/{number}");
        assert_eq!(second, Some(Fault::Stale));
    }

    #[test]
    fn a_path_that_ends_in_a_slash_names_everything_below() {
        let mut plan = FaultPlan::none().when("*", "/compare/", When::Always, Fault::Reset);
        let route = "/r/compare/{+range}";
        assert_eq!(
            plan.of_call("GET", "/r/compare/a...b", route),
            Some(Fault::Reset)
        );
        assert_eq!(plan.of_call("GET", "/r/pulls", "/r/pulls"), None);
    }

    #[test]
    fn deliveries_meet_the_fate_of_their_event() {
        let mut plan = FaultPlan::none().with_delivery("push", When::Nth(2), Fate::Lost);
        assert_eq!(plan.of_delivery("push"), Fate::Sent);
        assert_eq!(plan.of_delivery("status"), Fate::Sent);
        assert_eq!(plan.of_delivery("push"), Fate::Lost);
        assert_eq!(plan.fired(), ["delivery 3 (push): Lost"]);
    }
}
