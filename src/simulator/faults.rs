//! A plan of what goes wrong: answers that are refused, cut, stale or never come, and deliveries that
//! are lost, doubled, late or out of order. All of it follows from rules and one seed; what fired is
//! written down, so that a failing run can be told.

/// What happens to one API call instead of its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status and these words, and nothing is done.
    Refuse(u16, &'static str),
    /// 403 as a secondary limit, with `Retry-After` in seconds.
    SecondaryLimit(u64),
    /// 403 as a used-up primary limit.
    PrimaryLimit,
    /// No answer ever.
    Silence,
    /// The call is done, and then answered 502.
    DoneThen502,
    /// A list comes back empty, as if there were nothing (also its `total_count`).
    EmptyList,
    /// A list ends after its first half, without a next page; only its `total_count`, where it has
    /// one, tells.
    TruncatedList,
    /// Every user, App and `mergeable` is null.
    Nulls,
    /// What the same address answered the first time.
    Stale,
}

/// When a fault fires.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The method, or every one.
    pub method: Option<&'static str>,
    /// Part of the path.
    pub path: String,
    /// So many matching calls pass first.
    pub after: u32,
    /// Then so many are hit.
    pub times: u32,
    /// By this.
    pub fault: Fault,
}

/// What happens to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is sent.
    Sent,
    /// It is lost: recorded as failed, never sent again by itself.
    Lost,
    /// It is sent twice.
    Doubled,
    /// It is sent after everything that waits now.
    Late,
}

/// The plan.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    rules: Vec<Rule>,
    /// Parts in a thousand: of API calls hit, of deliveries lost, doubled, late.
    calls: u64,
    lost: u64,
    doubled: u64,
    late: u64,
    state: u64,
    fired: Vec<String>,
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// Things go wrong at random from a seed: so many API calls and deliveries in a thousand.
    pub fn random(seed: u64, calls: u64, deliveries: u64) -> Self {
        Self {
            calls,
            lost: deliveries,
            doubled: deliveries,
            late: deliveries,
            state: seed,
            ..Self::default()
        }
    }

    /// With a rule: the next `times` calls of a method to a path that holds `path` meet the fault.
    #[must_use]
    pub fn with(mut self, method: &'static str, path: &str, times: u32, fault: Fault) -> Self {
        self.rules.push(Rule {
            method: Some(method),
            path: path.to_owned(),
            after: 0,
            times,
            fault,
        });
        self
    }

    /// With a rule of its own making.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// What fired so far.
    pub fn fired(&self) -> &[String] {
        &self.fired
    }

    /// SplitMix64: small, seedable, good enough to choose faults.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn chance(&mut self, in_a_thousand: u64) -> bool {
        in_a_thousand > 0 && self.draw() % 1_000 < in_a_thousand
    }

    /// The fault that a call meets, if it meets one.
    pub fn of_call(&mut self, method: &str, path: &str) -> Option<Fault> {
        let matching = |rule: &&mut Rule| {
            rule.times > 0
                && rule.method.is_none_or(|only| only == method)
                && path.contains(&rule.path)
        };
        if let Some(rule) = self.rules.iter_mut().find(matching) {
            if rule.after > 0 {
                rule.after -= 1;
            } else {
                rule.times -= 1;
                let fault = rule.fault.clone();
                self.fired.push(format!("{method} {path}: {fault:?}"));
                return Some(fault);
            }
        }
        if !self.chance(self.calls) {
            return None;
        }
        let fault = match self.draw() % 10 {
            0 => Fault::Refuse(401, "Bad credentials"),
            1 => Fault::Refuse(403, "Resource not accessible by integration"),
            2 => Fault::Refuse(404, "Not Found"),
            3 => Fault::Refuse(422, "Validation Failed"),
            4 => Fault::Refuse(500, "Server Error"),
            5 => Fault::DoneThen502,
            6 => Fault::EmptyList,
            7 => Fault::TruncatedList,
            8 => Fault::Nulls,
            _ => Fault::Stale,
        };
        self.fired.push(format!("{method} {path}: {fault:?}"));
        Some(fault)
    }

    /// The fate of a delivery.
    pub fn of_delivery(&mut self, event: &str) -> Fate {
        let fate = if self.chance(self.lost) {
            Fate::Lost
        } else if self.chance(self.doubled) {
            Fate::Doubled
        } else if self.chance(self.late) {
            Fate::Late
        } else {
            return Fate::Sent;
        };
        self.fired.push(format!("{event}: {fate:?}"));
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        let run = |seed| {
            let mut plan = FaultPlan::random(seed, 300, 300);
            for _ in 0..50 {
                plan.of_call("GET", "/x");
                plan.of_delivery("push");
            }
            plan.fired().to_vec()
        };
        assert_eq!(run(7), run(7));
        assert_ne!(run(7), run(8));
    }

    #[test]
    fn a_rule_fires_as_often_as_it_says() {
        let mut plan = FaultPlan::none().with("PUT", "/merge", 1, Fault::DoneThen502);
        assert_eq!(plan.of_call("GET", "/pulls/1/merge"), None);
        assert_eq!(
            plan.of_call("PUT", "/pulls/1/merge"),
            Some(Fault::DoneThen502)
        );
        assert_eq!(plan.of_call("PUT", "/pulls/1/merge"), None);
    }
}
