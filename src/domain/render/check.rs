//! The check run's page.

use serde::Serialize;

use crate::domain::verdict::Verdict;

/// A button on the check run's page (`requested_action`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Button {
    /// At most 20 characters.
    pub label: &'static str,
    /// At most 40 characters.
    pub description: &'static str,
    /// At most 20 characters; comes back in the delivery.
    pub identifier: &'static str,
}

/// What a check run says. `conclusion: None` means `in_progress`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckPage {
    /// `success`, `failure` or `neutral`; `None` while it is open.
    pub conclusion: Option<&'static str>,
    /// The outcome in one line.
    pub title: String,
    /// A table of gates. At most 65,535 bytes, cut at a character.
    pub summary: String,
    /// How to satisfy the open ones, then the JSON block. At most 65,535 bytes.
    pub text: String,
    /// At most three.
    pub buttons: Vec<Button>,
}

/// Renders a verdict as a check run. `siblings` are other open pull requests with the same head that
/// are not ready: the head's one check cannot be a success then.
pub fn page(verdict: &Verdict, siblings: &[crate::domain::model::PullNumber]) -> CheckPage {
    let _ = (verdict, siblings);
    unimplemented!("the render room")
}

/// A digest of everything a page says.
pub fn digest(page: &CheckPage) -> String {
    let _ = page;
    unimplemented!("the render room")
}
