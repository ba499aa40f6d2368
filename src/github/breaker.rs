//! One tenant's trouble is kept from the others.
//!
//! A call that hangs holds a pass, and a pass holds one of few workers. So an installation whose calls fail
//! (5xx, no answer) is rested, and asked again with one call before it is used as before.
//!
//! | state | who may call |
//! |---|---|
//! | sound | everybody |
//! | ailing: the last call hung | [`AT_ONCE`] at the same time |
//! | resting: [`OPENS`] in a row failed | nobody, for a while that doubles each time |
//! | proving: the rest is over | one; its outcome decides |
//!
//! The ailing state is what keeps workers free while it is not known yet whether calls hang: without it,
//! every worker would wait out a time-out of the same tenant before the breaker opens. An answer of any
//! kind below 500 is an answer: a refusal is no trouble. Known: the first call that hangs may have as many
//! beside it as one installation may have passes, which is never all of them, for one time-out.
//!
//! A 5xx comes quickly and holds nobody up, so it makes no installation ail: else a pass of which one read
//! always fails would have its other reads put off, and would never end with what the rest tells.

use chrono::Duration;

use crate::domain::model::Timestamp;

/// After so many failures in a row.
const OPENS: u32 = 5;
/// How many calls an ailing installation may have at the same time: what one pass reads side by side.
const AT_ONCE: usize = 4;
const FIRST_REST: Duration = Duration::seconds(10);
const LONGEST_REST: Duration = Duration::minutes(5);
/// For whoever comes while others find out: soon enough, and no hurry.
const MEANWHILE: Duration = Duration::seconds(3);

/// One installation's state.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    /// The last call that failed was not answered at all.
    hung: bool,
    /// How often it rested in a row.
    rests: u32,
    until: Option<Timestamp>,
    at_once: usize,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It was answered, be it with a refusal.
    Answered,
    /// 5xx.
    Failed,
    /// No answer.
    Hung,
}

impl Breaker {
    /// Lets a call begin, or says how long to stay away. Who may begin must tell how it
    /// [ended](Breaker::end).
    pub fn begin(&mut self, now: Timestamp) -> Result<(), Duration> {
        let most = match self.until {
            Some(until) if now < until => return Err(until - now),
            Some(_) => 1,
            None if self.hung => AT_ONCE,
            None => usize::MAX,
        };
        if self.at_once >= most {
            return Err(MEANWHILE);
        }
        self.at_once += 1;
        Ok(())
    }

    /// A call ended; whether the breaker opened by that.
    pub fn end(&mut self, end: End, now: Timestamp) -> bool {
        self.dropped();
        self.heard(end, now)
    }

    /// A call that had begun is no more: nobody waited for it, or it was not sent.
    pub fn dropped(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Something came, or failed to come, from GitHub; whether the breaker opened by that.
    pub fn heard(&mut self, end: End, now: Timestamp) -> bool {
        match end {
            End::Answered => {
                // What began before the rest says nothing about now, unless it is the proof itself.
                if self.until.is_none_or(|until| now >= until) {
                    *self = Self {
                        at_once: self.at_once,
                        ..Self::default()
                    };
                }
                false
            }
            End::Failed | End::Hung => {
                self.hung = end == End::Hung;
                self.failures = self.failures.saturating_add(1);
                let resting = self.until.is_some_and(|until| now < until);
                let opens = !resting && (self.failures >= OPENS || self.until.is_some());
                if opens {
                    let rest = FIRST_REST * 2_i32.pow(self.rests.min(6));
                    self.until = Some(now + rest.min(LONGEST_REST));
                    self.rests = self.rests.saturating_add(1);
                }
                opens
            }
        }
    }

    /// Until when nobody may call, if it rests.
    pub fn resting(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.filter(|until| now < *until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        chrono::DateTime::from_timestamp(1_750_000_000 + seconds, 0).expect("a time")
    }

    fn fail(breaker: &mut Breaker, now: i64) -> bool {
        breaker.begin(at(now)).expect("may begin");
        breaker.end(End::Failed, at(now))
    }

    fn open() -> Breaker {
        let mut breaker = Breaker::default();
        let opened: Vec<_> = (0..OPENS).map(|_| fail(&mut breaker, 0)).collect();
        assert_eq!(opened, [false, false, false, false, true]);
        breaker
    }

    #[test]
    fn some_failures_in_a_row_bring_a_rest() {
        let mut breaker = open();
        assert_eq!(breaker.begin(at(0)), Err(FIRST_REST));
        assert_eq!(breaker.begin(at(9)), Err(Duration::seconds(1)));
        assert_eq!(breaker.resting(at(9)), Some(at(10)));
        assert_eq!(breaker.resting(at(10)), None);
    }

    #[test]
    fn an_answer_between_failures_starts_the_count_anew() {
        let mut breaker = Breaker::default();
        for _ in 0..10 {
            for _ in 1..OPENS {
                assert!(!fail(&mut breaker, 0));
            }
            breaker.begin(at(0)).expect("may begin");
            breaker.end(End::Answered, at(0));
        }
    }

    #[test]
    fn after_the_rest_one_call_finds_out_for_all() {
        let mut breaker = open();
        breaker.begin(at(10)).expect("the proof");
        assert_eq!(breaker.begin(at(10)), Err(MEANWHILE));
        breaker.end(End::Answered, at(11));
        for _ in 0..100 {
            breaker.begin(at(11)).expect("sound again");
        }
    }

    #[test]
    fn a_proof_that_fails_brings_a_longer_rest_up_to_a_bound() {
        let mut breaker = open();
        let (mut now, mut rests) = (10, Vec::new());
        for _ in 0..8 {
            assert!(fail(&mut breaker, now));
            let rest = breaker.begin(at(now)).expect_err("rests").num_seconds();
            rests.push(rest);
            now += rest;
        }
        assert_eq!(rests, [20, 40, 80, 160, 300, 300, 300, 300]);
    }

    #[test]
    fn a_proof_that_nobody_waits_for_makes_room_for_another() {
        let mut breaker = open();
        breaker.begin(at(10)).expect("the proof");
        breaker.dropped();
        breaker.begin(at(12)).expect("another");
    }

    #[test]
    fn an_ailing_installation_has_few_calls_at_the_same_time() {
        let mut breaker = Breaker::default();
        for _ in 0..8 {
            breaker.begin(at(0)).expect("sound");
        }
        breaker.end(End::Hung, at(12));
        assert_eq!(breaker.begin(at(12)), Err(MEANWHILE));
        for _ in 0..4 {
            breaker.dropped();
        }
        breaker.begin(at(12)).expect("the fourth");
        assert_eq!(breaker.begin(at(12)), Err(MEANWHILE));
    }

    #[test]
    fn one_page_that_github_cannot_make_keeps_nobody_from_the_others() {
        let mut breaker = Breaker::default();
        breaker.begin(at(0)).expect("sound");
        breaker.end(End::Failed, at(0));
        for _ in 0..8 {
            breaker.begin(at(0)).expect("not ailing");
        }
    }

    #[test]
    fn what_began_before_the_rest_neither_ends_nor_lengthens_it() {
        let mut breaker = Breaker::default();
        for _ in 0..8 {
            breaker.begin(at(0)).expect("sound");
        }
        for _ in 0..OPENS {
            breaker.end(End::Failed, at(0));
        }
        assert!(!breaker.end(End::Failed, at(1)));
        assert!(!breaker.end(End::Answered, at(2)));
        assert_eq!(breaker.begin(at(2)), Err(Duration::seconds(8)));
    }
}
