//! How many requests a pass made.
//!
//! A pass is one task, and whoever sends its requests is many floors below whoever tells of the pass. So
//! the count travels with the task instead of through every function between them. What is sent outside
//! of a pass counts nowhere here.

use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    static CALLS: Cell<u32>;
}

/// Counts one request of the pass that this is in, if it is in one.
pub fn called() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get().saturating_add(1)));
}

/// How many requests the pass that this is in has made.
pub fn calls() -> u32 {
    CALLS.try_with(Cell::get).unwrap_or(0)
}

/// Counts the requests made in `pass`.
pub async fn counting<T>(pass: impl Future<Output = T>) -> T {
    CALLS.scope(Cell::new(0), pass).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_counted_of_the_pass_they_are_in_alone() {
        called();
        let other = counting(async {
            called();
            calls()
        });
        let this = counting(async {
            called();
            let other = other.await;
            called();
            (other, calls())
        });
        assert_eq!(this.await, (1, 2));
        assert_eq!(calls(), 0);
    }
}
