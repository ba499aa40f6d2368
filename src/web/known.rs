//! What an address names, or why it leads nowhere.

use axum::extract::Path;
use axum::http::StatusCode;

use crate::domain::model::{PullNumber, RepoId, RepoName};
use crate::store::{Store, StoreError};

/// A repository that an address names, known here.
pub(super) struct Known {
    /// Its identity.
    pub id: RepoId,
    /// Its name as the address writes it.
    pub name: RepoName,
}

/// Why an address leads nowhere.
#[derive(Debug)]
pub(super) enum Lost {
    /// It names nothing that is known; the sentence says what to do.
    Unknown(String),
    /// It is asked wrongly; the sentence says how to ask.
    Wrong(String),
    /// The store failed. The log has the cause; nobody outside reads it.
    Failed,
}

impl From<StoreError> for Lost {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "what a page is made from could not be read");
        Self::Failed
    }
}

impl Lost {
    /// The status that says the same.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::Wrong(_) => StatusCode::BAD_REQUEST,
            Self::Failed => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// For people.
    pub(super) fn sentence(&self) -> &str {
        match self {
            Self::Unknown(sentence) | Self::Wrong(sentence) => sentence,
            Self::Failed => "The database did not answer; the server's log has the cause.",
        }
    }
}

/// `{owner}/{repo}` of an address.
pub(super) type RepoPath = Path<(String, String)>;
/// `{owner}/{repo}` and `{number}` of an address.
pub(super) type PullPath = Path<(String, String, String)>;

/// The repository of an address.
///
/// # Errors
/// [`Lost`], with what to do about it.
pub(super) async fn repository(store: &dyn Store, owner: &str, repo: &str) -> Result<Known, Lost> {
    let text = format!("{owner}/{repo}");
    let unknown = || {
        Lost::Unknown(format!(
            "The repository {text} is not known here. Install the App on it; GitHub tells this \
             server within seconds, and the next sweep finds it in any case."
        ))
    };
    let name = RepoName::parse(&text).map_err(|_| unknown())?;
    let id = store.repo_named(&name).await?.ok_or_else(unknown)?;
    Ok(Known { id, name })
}

/// The pull request's number of an address.
///
/// # Errors
/// [`Lost`] when it is no number.
pub(super) fn number(text: &str) -> Result<PullNumber, Lost> {
    let number = text.parse().ok().and_then(PullNumber::new);
    number.ok_or_else(|| Lost::Unknown(format!("{text:?} is not a pull request's number.")))
}
