//! How fast an installation writes.
//!
//! GitHub asks for a second between writes in one name, and for no more than 80 creating calls a minute
//! and 500 an hour; who does not keep to it is paused for everything ("secondary limit"). A pass writes two
//! or three things and is done, so a few may go at once; the second between them is for many passes.
//!
//! A write gets its turn, or is told when to come again. A turn is never further away than [`PATIENCE`],
//! which a pass may wait without its lease running out. Merges may take turns ahead: their reads are
//! already paid for, and are old soon.

use std::collections::VecDeque;

use chrono::Duration;

use super::class::Class;
use crate::domain::model::Timestamp;

/// How long a write may wait for its turn.
pub(super) const PATIENCE: Duration = Duration::seconds(4);
/// How many writes may go without a space between them: one pass's.
const BURST: i32 = 3;
const MINUTE: Duration = Duration::minutes(1);
const HOUR: Duration = Duration::hours(1);
const PER_MINUTE: usize = 80;
const PER_HOUR: usize = 500;

/// One installation's writes.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// When the writes so far are worked off, one at each gap.
    worked_off: Option<Timestamp>,
    /// The last hour's creating calls.
    created: VecDeque<Timestamp>,
}

/// What a write is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Go after so long; the turn is taken.
    After(Duration),
    /// Come again after so long.
    Later(Duration),
}

impl Pace {
    /// A turn for one write. With a `gap` of zero nothing is spaced.
    pub fn turn(&mut self, class: Class, creates: bool, gap: Duration, now: Timestamp) -> Turn {
        if let Some(wait) = creates.then(|| self.full(class, now)).flatten() {
            return Turn::Later(wait);
        }
        let from = self.worked_off.unwrap_or(now).max(now);
        let ahead = gap * (BURST - 1);
        let wait = (from - now - ahead).max(Duration::zero());
        if wait > PATIENCE && class != Class::Merge {
            return Turn::Later(wait - PATIENCE);
        }
        self.worked_off = Some(from + gap);
        // A merge does not queue behind answers; the second it borrows, the next ones wait.
        let wait = match class {
            Class::Merge => Duration::zero(),
            _ => wait,
        };
        if creates {
            self.created.push_back(now + wait);
        }
        Turn::After(wait)
    }

    /// How long nothing may be created. Answers leave a fifth to check runs.
    fn full(&mut self, class: Class, now: Timestamp) -> Option<Duration> {
        while self.created.front().is_some_and(|at| *at + HOUR <= now) {
            self.created.pop_front();
        }
        let share = |most: usize| match class {
            Class::Merge | Class::Check => most,
            _ => most / 5 * 4,
        };
        let until = |most: usize, window: Duration| {
            // So many ago was the one that must have left the window before the next may come.
            let at = self.created.len().checked_sub(share(most))?;
            let wait = *self.created.get(at)? + window - now;
            (wait > Duration::zero()).then_some(wait)
        };
        until(PER_MINUTE, MINUTE).max(until(PER_HOUR, HOUR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::seconds(1);

    fn at(seconds: i64) -> Timestamp {
        chrono::DateTime::from_timestamp(1_750_000_000 + seconds, 0).expect("a time")
    }

    fn after(seconds: i64) -> Turn {
        Turn::After(Duration::seconds(seconds))
    }

    #[test]
    fn one_pass_writes_at_once_and_many_a_second_apart() {
        let mut pace = Pace::default();
        let mut turn = |now| pace.turn(Class::Check, false, GAP, at(now));
        let turns: Vec<_> = (0..7).map(|_| turn(0)).collect();
        assert_eq!(turns, [0, 0, 0, 1, 2, 3, 4].map(after));
        assert_eq!(
            turn(0),
            Turn::Later(Duration::seconds(1)),
            "no turn is taken"
        );
        assert_eq!(turn(1), after(4));
        assert_eq!(turn(100), after(0));
    }

    #[test]
    fn a_merge_goes_at_once_and_the_others_wait_for_it() {
        let mut pace = Pace::default();
        for _ in 0..7 {
            pace.turn(Class::Answer, false, GAP, at(0));
        }
        assert_eq!(pace.turn(Class::Merge, false, GAP, at(0)), after(0));
        let next = pace.turn(Class::Answer, false, GAP, at(0));
        assert_eq!(next, Turn::Later(Duration::seconds(2)));
    }

    #[test]
    fn no_more_is_created_than_github_allows_in_a_minute_and_in_an_hour() {
        let none = Duration::zero();
        let mut pace = Pace::default();
        let mut made = [0_usize; 2];
        for second in 0..7_200 {
            while let Turn::After(_) = pace.turn(Class::Check, true, none, at(second)) {
                made[usize::from(second >= 3_600)] += 1;
                assert!(made[0] <= 500 && made[1] <= 500, "{made:?}");
            }
        }
        assert_eq!(made, [500, 500]);
        let mut pace = Pace::default();
        let minute = (0..1_000)
            .filter(|_| matches!(pace.turn(Class::Check, true, none, at(0)), Turn::After(_)));
        assert_eq!(minute.count(), 80);
        assert_eq!(
            pace.turn(Class::Check, true, none, at(59)),
            Turn::Later(Duration::seconds(1))
        );
        assert_eq!(pace.turn(Class::Check, true, none, at(60)), after(0));
    }

    #[test]
    fn answers_leave_room_for_check_runs_and_what_creates_nothing_is_not_counted() {
        let none = Duration::zero();
        let mut pace = Pace::default();
        let answers = (0..1_000)
            .filter(|_| matches!(pace.turn(Class::Answer, true, none, at(0)), Turn::After(_)));
        assert_eq!(answers.count(), 64);
        assert_eq!(pace.turn(Class::Answer, false, none, at(0)), after(0));
        assert_eq!(pace.turn(Class::Check, true, none, at(0)), after(0));
    }
}
