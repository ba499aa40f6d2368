//! Who may call now.
//!
//! Everything that can keep a call away is asked in one place, in this order: a limit that GitHub named
//! (`quota`), an installation that rests (`breaker`), a budget that is left to others (`allowance`), and
//! for writes their turn (`pace`). Whoever may not call is told when to come again, at once: nothing
//! queues in here, so no lease and no worker is held by a wait. The one exception is a write's turn, which
//! is never more than seconds away.
//!
//! The App's own calls have budgets of their own and no breaker: a minting that fails is the trouble of
//! the installation that it was for. What is known is of this process; several share a budget by
//! GitHub's numbers alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use chrono::Duration;
use http::HeaderMap;

use super::allowance::Allowance;
use super::breaker::{Breaker, End};
use super::class::Class;
use super::pace::{Pace, Turn};
use super::quota::{Brake, Budget, Limit, Principal};
use super::{Answer, Left, Refused};
use crate::domain::model::Timestamp;

/// What is known of every budget.
pub(super) struct Admission {
    brake: Brake,
    gap: Duration,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    allowances: HashMap<(Principal, Budget), Allowance>,
    paces: HashMap<Principal, Pace>,
    breakers: HashMap<Principal, Breaker>,
}

/// A call that may go. Dropped without an end, it gives its place free.
pub(super) struct Going<'a> {
    admission: &'a Admission,
    who: Principal,
    over: bool,
}

impl Admission {
    /// Nothing known yet; writes of one installation are `gap` apart.
    pub fn new(gap: std::time::Duration) -> Self {
        Self {
            brake: Brake::default(),
            gap: Duration::from_std(gap).unwrap_or_default(),
            known: Mutex::default(),
        }
    }

    /// Lets a call go.
    ///
    /// # Errors
    /// [`Refused::Limited`] and [`Refused::Resting`]; nothing was sent.
    pub fn admit(
        &self,
        who: Principal,
        budget: Budget,
        class: Class,
        now: Timestamp,
    ) -> Answer<Going<'_>> {
        if let Some(after) = self.brake.remaining(who, budget, now) {
            return Err(Refused::Limited { after });
        }
        let mut known = self.known();
        let allowance = known.allowances.get(&(who, budget));
        if let Some(after) = allowance.and_then(|allowance| allowance.wait(class, now)) {
            return Err(Refused::Limited { after });
        }
        if let Principal::Installation(_) = who {
            let breaker = known.breakers.entry(who).or_default();
            breaker
                .begin(now)
                .map_err(|after| Refused::Resting { after })?;
        }
        Ok(Going {
            admission: self,
            who,
            over: false,
        })
    }

    /// Gives a write its turn: how long it waits for it. Without a gap there are no turns.
    ///
    /// # Errors
    /// [`Refused::Limited`]: the turn is too far away.
    pub fn turn(
        &self,
        who: Principal,
        class: Class,
        creates: bool,
        now: Timestamp,
    ) -> Answer<Duration> {
        if self.gap.is_zero() {
            return Ok(Duration::zero());
        }
        let mut known = self.known();
        let pace = known.paces.entry(who).or_default();
        match pace.turn(class, creates, self.gap, now) {
            Turn::After(wait) => Ok(wait),
            Turn::Later(after) => Err(Refused::Limited { after }),
        }
    }

    /// Notes what an answer's headers tell.
    pub fn told(&self, who: Principal, budget: Budget, headers: &HeaderMap, now: Timestamp) {
        let Some(told) = Allowance::read(headers, budget.resource(), now) else {
            return;
        };
        let mut known = self.known();
        known
            .allowances
            .entry((who, budget))
            .and_modify(|allowance| *allowance = allowance.and(told))
            .or_insert(told);
    }

    /// Notes a limit that GitHub named.
    pub fn hold(&self, who: Principal, budget: Budget, limit: Limit, now: Timestamp) {
        self.brake.hold(who, budget, limit, now);
    }

    /// Notes that nothing came of what was done for an installation beside its own calls: a minting.
    pub fn failed(&self, who: Principal, end: End, now: Timestamp) {
        self.known()
            .breakers
            .entry(who)
            .or_default()
            .heard(end, now);
    }

    /// What is left, and who waits: installations of which anything is known.
    pub fn left(&self, now: Timestamp) -> Vec<Left> {
        let known = self.known();
        let mut left: Vec<Left> = Vec::new();
        let mut of = |who: Principal| -> Option<usize> {
            let Principal::Installation(installation) = who else {
                return None;
            };
            let at = left
                .iter()
                .position(|left| left.installation == installation);
            Some(at.unwrap_or_else(|| {
                left.push(Left::unknown(installation));
                left.len() - 1
            }))
        };
        let mut found = Vec::new();
        for ((who, budget), allowance) in &known.allowances {
            if *budget == Budget::Rest && allowance.reset > now {
                found.push((of(*who), Some(*allowance), None));
            }
        }
        for (who, breaker) in &known.breakers {
            if let Some(until) = breaker.resting(now) {
                found.push((of(*who), None, Some(until)));
            }
        }
        for (at, allowance, resting) in found {
            let Some(left) = at.and_then(|at| left.get_mut(at)) else {
                continue;
            };
            if let Some(allowance) = allowance {
                left.hour = Some((allowance.remaining, allowance.limit, allowance.reset));
                let wait = |class| Some(now + allowance.wait(class, now)?);
                left.passes_wait = wait(Class::Read);
                left.sweeps_wait = wait(Class::Sweep);
            }
            left.resting = left.resting.or(resting);
        }
        for left in &mut left {
            let who = Principal::Installation(left.installation);
            let held = self.brake.remaining(who, Budget::Rest, now);
            left.held = held.map(|held| now + held);
        }
        left.sort_by_key(|left| left.installation);
        left
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Going<'_> {
    /// The call ended.
    pub fn end(mut self, end: End, now: Timestamp) {
        self.over = true;
        self.tell(|breaker| {
            if breaker.end(end, now) {
                tracing::warn!(who = ?self.who, "its calls fail: it rests");
            }
        });
    }

    fn tell(&self, tell: impl FnOnce(&mut Breaker)) {
        if let Some(breaker) = self.admission.known().breakers.get_mut(&self.who) {
            tell(breaker);
        }
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.tell(Breaker::dropped);
        }
    }
}

#[cfg(test)]
mod tests;
