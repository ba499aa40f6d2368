//! The gates that every pull request has, whatever the policy says.

use crate::domain::policy::Problem;
use crate::domain::verdict::GateResult;

/// The policy does not validate.
pub fn invalid_policy(problems: &[Problem]) -> GateResult {
    let _ = problems;
    unimplemented!("the gates room")
}

/// The policy could not be read.
pub fn unreadable_policy(why: &str) -> GateResult {
    let _ = why;
    unimplemented!("the gates room")
}
