//! The signals that ask a command to stop: Ctrl-C, and what service managers send.
//!
//! They are heard from [`Stops::listen`] on, not from the first wait: one that comes while nobody waits (the
//! second of two in a row, or the first before there is anything to clear away) is kept for the next wait.
//! Two that come before a wait are one, as the system itself counts them.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A listener for them.
#[derive(Debug)]
pub struct Stops {
    // Where a signal cannot be heard the process can still be killed; nothing that matters is lost by that.
    #[cfg(unix)]
    heard: [Option<Signal>; 2],
}

impl Stops {
    /// Begins to hear them; from here on they do not end the process by themselves.
    #[cfg(unix)]
    pub fn listen() -> Self {
        Self {
            heard: [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok()),
        }
    }

    /// Begins to hear them.
    #[cfg(not(unix))]
    pub fn listen() -> Self {
        Self {}
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.heard;
        tokio::select! {
            () = one_of(interrupt) => {}
            () = one_of(terminate) => {}
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
async fn one_of(signal: &mut Option<Signal>) {
    let heard = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if heard.is_none() {
        std::future::pending::<()>().await;
    }
}
