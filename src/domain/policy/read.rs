//! From a policy's text to what it means, or to everything that is wrong with it.

use super::{Policy, Problem};

/// Reads a policy.
///
/// # Errors
/// Every problem at once, each with its place, in the order of the file.
pub fn read(text: &str) -> Result<Policy, Vec<Problem>> {
    let _ = text;
    unimplemented!("the policy room")
}
