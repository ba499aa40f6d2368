//! Who may have the places in which passes are made.
//!
//! A pass whose calls hang keeps its place until a time-out, so an installation that could have every place
//! would stop all the others. It may have one more only while it has fewer than are free: of sixteen, the
//! first takes eight, a second beside it four, a third two. Five have to hang at once before nobody else
//! gets on, and then the breaker of each rests it after a time-out. An installation alone, or beside others
//! that want little, is not held up by what nobody needs.
//!
//! A key of a repository that is not known has no installation, and is not counted: without one nobody is
//! asked anything.
//!
//! # Looking beside
//!
//! To find somebody else's key, the store passes over all that wait of the installations that have enough.
//! When there is none, it is not asked at once again, but after a while in proportion to what the look cost
//! ([`Places::looked_in_vain`]): a sweep over a hundred thousand pull requests of one installation is not slowed by a
//! look past all of them after each pass. A wake of another installation waits for that while at most: a
//! blink where few keys wait.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::model::InstallationId;

/// The part of the time that may be spent looking beside in vain: one in so many.
const REST_PER_LOOK: u32 = 10;

/// The places, and who has them.
#[derive(Debug)]
pub(super) struct Places {
    all: usize,
    taken: usize,
    by: BTreeMap<InstallationId, usize>,
    /// Until when it is known that nobody else wants one.
    nobody_until: Option<Instant>,
}

impl Places {
    pub fn new(all: usize) -> Self {
        Self {
            all: all.max(1),
            taken: 0,
            by: BTreeMap::new(),
            nobody_until: None,
        }
    }

    /// Whether nobody may have one.
    pub fn none_free(&self) -> bool {
        self.taken >= self.all
    }

    /// Who has enough.
    pub fn full(&self) -> Vec<InstallationId> {
        let free = self.all.saturating_sub(self.taken);
        let enough = self.by.iter().filter(|(_, held)| **held >= free);
        enough.map(|(whose, _)| *whose).collect()
    }

    pub fn take(&mut self, whose: Option<InstallationId>) {
        self.taken += 1;
        if let Some(whose) = whose {
            *self.by.entry(whose).or_default() += 1;
        }
    }

    pub fn give_back(&mut self, whose: Option<InstallationId>) {
        self.taken = self.taken.saturating_sub(1);
        if let Some(whose) = whose
            && let Some(held) = self.by.get_mut(&whose)
        {
            *held -= 1;
            if *held == 0 {
                self.by.remove(&whose);
            }
        }
    }

    /// Nobody else was found, by a look that began then.
    pub fn looked_in_vain(&mut self, begun: Instant) {
        let now = Instant::now();
        self.nobody_until = Some(now + (now - begun) * REST_PER_LOOK);
    }

    /// How long not to look beside, after a look in vain.
    pub fn rest(&self) -> Option<Duration> {
        let rest = self.nobody_until?.saturating_duration_since(Instant::now());
        (!rest.is_zero()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(id: u64) -> InstallationId {
        InstallationId::new(id).unwrap()
    }

    /// How many places each of so many gets, one after the other, that all want every place.
    fn shares(all: usize, installations: u64) -> Vec<usize> {
        let mut places = Places::new(all);
        let share = |id| {
            let mut share = 0;
            while !places.none_free() && !places.full().contains(&who(id)) {
                places.take(Some(who(id)));
                share += 1;
            }
            share
        };
        (1..=installations).map(share).collect()
    }

    #[test]
    fn each_that_wants_everything_gets_half_of_what_the_others_left() {
        assert_eq!(shares(16, 6), [8, 4, 2, 1, 1, 0]);
        assert_eq!(shares(8, 4), [4, 2, 1, 1]);
        assert_eq!(shares(2, 2), [1, 1]);
        assert_eq!(shares(1, 1), [1]);
        assert_eq!(shares(0, 1), [1], "somebody must work");
    }

    #[test]
    fn who_gives_a_place_back_may_have_one_again() {
        let mut places = Places::new(4);
        places.take(Some(who(1)));
        places.take(Some(who(1)));
        assert_eq!(places.full(), [who(1)]);
        places.give_back(Some(who(1)));
        assert_eq!(places.full(), []);
        places.give_back(Some(who(1)));
        assert!(places.by.is_empty(), "nothing is kept of who is gone");
    }

    #[test]
    fn who_is_not_known_is_never_full_and_takes_a_place_all_the_same() {
        let mut places = Places::new(2);
        places.take(None);
        assert_eq!(places.full(), []);
        places.take(None);
        assert!(places.none_free());
        places.give_back(None);
        assert!(!places.none_free());
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_in_vain_is_followed_by_a_rest_in_proportion() {
        let mut places = Places::new(2);
        assert_eq!(places.rest(), None);
        let begun = Instant::now();
        tokio::time::advance(Duration::from_millis(100)).await;
        places.looked_in_vain(begun);
        assert_eq!(places.rest(), Some(Duration::from_secs(1)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(places.rest(), None);
    }
}
