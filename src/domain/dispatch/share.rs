//! The part of the work that is kept for certain labels.
//!
//! Of any `window` dispatches in a row, at least so many per cent count towards the share. So another
//! one may be granted while, of the last `window` with it, those that do not count leave enough room.
//! A short past is filled up with room: the rule never asks for work that nobody has asked for before
//! there was any other.

use super::{Past, Record};
use crate::domain::policy::Share;

/// Whether a dispatch that does not count towards the share may be granted now.
///
/// # Errors
/// Why not, as a sentence.
pub fn leaves_room(share: &Share, record: &Record) -> Result<(), String> {
    let window = u64::from(share.window);
    let kept = (window * u64::from(share.at_least_percent)).div_ceil(100);
    let last = record.past.iter().rev();
    let others = last
        .take((window.saturating_sub(1)) as usize)
        .filter(|past| !past.shared)
        .count() as u64;
    if others < window.saturating_sub(kept) {
        return Ok(());
    }
    Err(format!(
        "{others} of the last {} dispatches were other work, and the policy keeps {kept} of {window} for \
         {}",
        window.saturating_sub(1),
        share
            .labels
            .iter()
            .map(|label| format!("`{label}`"))
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

/// Forgets grants that no window reaches.
pub fn forget(share: Option<&Share>, past: &mut Vec<Past>) {
    let most = share.map_or(20, |share| share.window.max(20)) as usize;
    let old = past.len().saturating_sub(most);
    past.drain(..old);
}
