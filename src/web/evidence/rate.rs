//! So many in a minute, for each of many. In memory, and bounded: whoever is forgotten starts anew.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::domain::model::Timestamp;

/// How many are remembered; when there are more, those whose minute is over are forgotten, then all.
const MOST: usize = 10_000;

/// Counts by minute, from the first one on.
pub struct Rate<K> {
    most: u32,
    counts: Mutex<HashMap<K, (Timestamp, u32)>>,
}

impl<K: Eq + Hash> Rate<K> {
    /// At most so many in a minute.
    pub fn new(most: u32) -> Self {
        Self {
            most,
            counts: Mutex::default(),
        }
    }

    /// Counts one more.
    ///
    /// # Errors
    /// How many seconds to wait when there were enough.
    pub fn take(&self, whose: K, now: Timestamp) -> Result<(), u64> {
        let minute = chrono::Duration::minutes(1);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST && !counts.contains_key(&whose) {
            counts.retain(|_, (since, _)| *since + minute > now);
            if counts.len() >= MOST {
                counts.clear();
            }
        }
        let (since, count) = counts.entry(whose).or_insert((now, 0));
        if *since + minute <= now {
            (*since, *count) = (now, 0);
        }
        if *count >= self.most {
            let left = (*since + minute - now).num_seconds();
            return Err(u64::try_from(left).unwrap_or_default().max(1));
        }
        *count += 1;
        Ok(())
    }

    /// Counts one less: it turned out to be somebody else's.
    pub fn give_back(&self, whose: &K) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, count)) = counts.get_mut(whose) {
            *count = count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_in_a_minute_then_none_until_it_is_over() {
        let start = Timestamp::UNIX_EPOCH;
        let at = |seconds| start + chrono::Duration::seconds(seconds);
        let rate = Rate::new(2);
        assert_eq!(rate.take("a", at(0)), Ok(()));
        assert_eq!(rate.take("a", at(10)), Ok(()));
        assert_eq!(rate.take("a", at(20)), Err(40));
        assert_eq!(rate.take("b", at(20)), Ok(()));
        assert_eq!(rate.take("a", at(60)), Ok(()));
    }

    #[test]
    fn what_is_given_back_was_not_taken() {
        let rate = Rate::new(1);
        for _ in 0..3 {
            assert_eq!(rate.take("a", Timestamp::UNIX_EPOCH), Ok(()));
            rate.give_back(&"a");
        }
        rate.give_back(&"a");
        assert_eq!(rate.take("a", Timestamp::UNIX_EPOCH), Ok(()));
        assert_eq!(rate.take("a", Timestamp::UNIX_EPOCH), Err(60));
        rate.give_back(&"nobody");
    }

    #[test]
    fn no_crowd_makes_it_grow_for_ever() {
        let rate = Rate::new(1);
        for one in 0..3 * MOST {
            assert_eq!(rate.take(one, Timestamp::UNIX_EPOCH), Ok(()));
        }
        assert!(rate.counts.lock().unwrap().len() <= MOST);
    }
}
