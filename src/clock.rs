//! The time, replaceable: the world's clock in production, one turned by hand in tests and stories.

use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::model::Timestamp;

/// Who tells the time.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's own clock.
    System,
    /// A clock that moves only when it is turned.
    Manual(Arc<Mutex<Timestamp>>),
}

impl Clock {
    /// A clock that stands at `start` until it is turned.
    pub fn manual(start: Timestamp) -> Self {
        Self::Manual(Arc::new(Mutex::new(start)))
    }

    /// What time it is, to the microsecond (what databases keep).
    pub fn now(&self) -> Timestamp {
        let now = match self {
            Self::System => chrono::Utc::now(),
            Self::Manual(time) => *time.lock().unwrap_or_else(PoisonError::into_inner),
        };
        chrono::DateTime::from_timestamp_micros(now.timestamp_micros()).unwrap_or(now)
    }

    /// Turns a manual clock forward; the system's clock does not move.
    pub fn advance(&self, by: chrono::Duration) {
        if let Self::Manual(time) = self {
            let mut time = time.lock().unwrap_or_else(PoisonError::into_inner);
            *time += by;
        }
    }
}
