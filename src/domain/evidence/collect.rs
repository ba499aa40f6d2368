//! Finding the reports in a snapshot.

use super::Report;
use crate::domain::facts::Snapshot;
use crate::domain::policy::Policy;

/// Every report in the snapshot's check runs, reviews and comments, oldest first, each with the
/// verifier of the policy that brought it, if it is one.
pub fn reports(policy: &Policy, snapshot: &Snapshot) -> Vec<Report> {
    let _ = (policy, snapshot);
    unimplemented!("the evidence room")
}

/// The text of the fenced `countersign` blocks of a Markdown text, in order.
pub fn blocks(markdown: &str) -> Vec<String> {
    let _ = markdown;
    unimplemented!("the evidence room")
}
