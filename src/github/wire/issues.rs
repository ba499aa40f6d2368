//! Issues.

use serde::Deserialize;
use serde_json::Value;

use super::need;
use crate::domain::facts::Issue;
use crate::domain::model::PullNumber;
use crate::github::Answer;

#[derive(Debug, Deserialize)]
struct WireIssue {
    #[serde(default)]
    number: Option<u64>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    labels: Option<Vec<WireLabel>>,
    #[serde(default)]
    pull_request: Option<Value>,
    #[serde(default)]
    html_url: Option<String>,
}

/// GitHub's older answers name labels by a bare text ("List repository issues").
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WireLabel {
    Bare(String),
    Whole {
        #[serde(default)]
        name: Option<String>,
    },
}

/// An issue. One that does not say that it is open is not; without its labels it is unreadable, since
/// what is not on it was perhaps not told.
pub(in crate::github) fn issue(value: Value) -> Answer<Issue> {
    const WHAT: &str = "an issue";
    let wire: WireIssue = super::read(WHAT, value)?;
    let labels = need(WHAT, "labels", wire.labels)?;
    Ok(Issue {
        number: need(WHAT, "number", wire.number.and_then(PullNumber::new))?,
        title: wire.title.unwrap_or_default(),
        body: wire.body.unwrap_or_default(),
        open: wire.state.as_deref() == Some("open"),
        labels: labels
            .into_iter()
            .filter_map(|label| match label {
                WireLabel::Bare(name) => Some(name),
                WireLabel::Whole { name } => name,
            })
            .collect(),
        is_pull: wire.pull_request.is_some(),
        url: wire.html_url,
    })
}
