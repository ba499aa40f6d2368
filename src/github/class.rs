//! What a call is for, and so who waits first when a budget runs low.
//!
//! The hourly budget is one for everything an installation asks. Without an order, a sweep over a thousand
//! pull requests spends what the one merge needs that somebody waits for. So every class leaves a part of
//! the budget to those above it.
//!
//! The class belongs to what is being done, not to the endpoint: the same read serves a merge and a sweep.
//! It travels with the task ([`within`]) instead of through every signature; a write knows its own.

use std::future::Future;

/// From what waits last to what waits first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Merging, and the reads that a merge must rest on.
    Merge,
    /// Publishing the check run: the one thing everybody sees.
    Check,
    /// Answers to people: comments, reactions, labels.
    Answer,
    /// Reads of a pass that promises nothing yet.
    Read,
    /// What looks for lost deliveries. It comes again by itself.
    Sweep,
}

impl Class {
    /// The hundredths of an hour's budget that this class leaves to those above it.
    ///
    /// Of 5,000 calls: a merged pull request costs about thirteen, so what reads leave (750) is enough for
    /// some fifty merges, and what answers leave (400) for thirty. Check runs leave what fifteen merges need.
    /// A sweep of a thousand pull requests costs a few thousand calls where nothing is kept: it must stop
    /// well before the passes do.
    pub(super) fn leaves(self) -> i64 {
        match self {
            Self::Merge => 0,
            Self::Check => 4,
            Self::Answer => 8,
            Self::Read => 15,
            Self::Sweep => 30,
        }
    }
}

tokio::task_local! {
    static FOR: Class;
}

/// Does something as of this class. What it spawns is not of it.
pub async fn within<T>(class: Class, work: impl Future<Output = T>) -> T {
    FOR.scope(class, work).await
}

/// The class of what is being done; [`Class::Read`] where nobody said.
pub(super) fn current() -> Class {
    FOR.try_with(|class| *class).unwrap_or(Class::Read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_class_is_what_the_nearest_scope_says() {
        assert_eq!(current(), Class::Read);
        within(Class::Sweep, async {
            assert_eq!(current(), Class::Sweep);
            within(Class::Merge, async { assert_eq!(current(), Class::Merge) }).await;
            assert_eq!(current(), Class::Sweep);
        })
        .await;
        assert_eq!(current(), Class::Read);
    }

    #[test]
    fn who_waits_first_leaves_most() {
        use Class as C;
        let order = [C::Merge, C::Check, C::Answer, C::Read, C::Sweep];
        assert!(order.is_sorted());
        assert!(order.map(Class::leaves).is_sorted());
        assert_eq!(Class::Merge.leaves(), 0);
    }
}
