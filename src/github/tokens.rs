//! Installation tokens: minted once for everybody who waits, replaced before they end.
//!
//! A token is good for an hour and for one installation. Minting costs a call of the App's own small
//! budget, so a burst of passes on a cold cache must not mint a burst of tokens: per installation
//! there is one lock, held while minting, and whoever waited for it takes what the holder got, be it a
//! token or the refusal. Without the latter, ten callers would ask a failing GitHub ten times in a
//! row, each after waiting for the one before.
//!
//! A caller that is dropped while it mints lets go of the lock, and the next one mints.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::SecretString;

use super::{Answer, Refused, auth};
use crate::domain::model::{InstallationId, Timestamp};

/// A token as GitHub gave it.
#[derive(Clone)]
pub(super) struct Minted {
    /// The secret.
    pub secret: SecretString,
    /// Its end. A server that tells none gets it used once.
    pub expires: Option<Timestamp>,
}

/// A token in hand, and which minting it came from.
pub(super) struct Token {
    pub secret: SecretString,
    round: u64,
}

#[derive(Default)]
struct Slot {
    /// How many mintings have ended. Read before waiting for the lock, to tell on waking whether one
    /// ended meanwhile.
    rounds: AtomicU64,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Minted>,
    failure: Option<Refused>,
}

/// The tokens of all installations.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<InstallationId, Arc<Slot>>>,
}

impl Tokens {
    /// The token of an installation. `mint` is polled only where a new one is needed, and then by one
    /// caller at a time.
    ///
    /// # Errors
    /// What minting was refused with.
    pub async fn get(
        &self,
        installation: InstallationId,
        now: Timestamp,
        mint: impl Future<Output = Answer<Minted>> + Send,
    ) -> Answer<Token> {
        let slot = self.slot(installation);
        let seen = slot.rounds.load(Ordering::Acquire);
        let mut state = slot.state.lock().await;
        let round = slot.rounds.load(Ordering::Acquire);
        if let Some(held) = &state.held
            && held.expires.is_some_and(|end| auth::is_fresh(end, now))
        {
            return Ok(Token {
                secret: held.secret.clone(),
                round,
            });
        }
        if round != seen
            && let Some(failure) = &state.failure
        {
            return Err(failure.clone());
        }
        let minted = mint.await;
        let round = slot.rounds.fetch_add(1, Ordering::AcqRel) + 1;
        match minted {
            Ok(minted) => {
                state.failure = None;
                state.held = Some(minted.clone());
                Ok(Token {
                    secret: minted.secret,
                    round,
                })
            }
            Err(refused) => {
                state.held = None;
                state.failure = Some(refused.clone());
                Err(refused)
            }
        }
    }

    /// Drops a token that GitHub refused, unless it was replaced already.
    pub async fn forget(&self, installation: InstallationId, token: &Token) {
        let slot = self.slot(installation);
        let mut state = slot.state.lock().await;
        if slot.rounds.load(Ordering::Acquire) == token.round {
            state.held = None;
        }
    }

    fn slot(&self, installation: InstallationId) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(installation).or_default())
    }
}
