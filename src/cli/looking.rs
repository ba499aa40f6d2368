//! What the commands share that read one repository from GitHub and write nothing there.
//!
//! A server's database is used where it is there, since holds, freezes and what was seen when are nowhere
//! else; what is read is remembered in it, as by any pass. Without one, memory lasts as long as the
//! command.

use std::sync::Arc;

use clap::Args;

use super::{Complaint, Exit, database};
use crate::clock::Clock;
use crate::domain::facts::PolicyOrigin;
use crate::domain::model::{PullNumber, RepoName, Repository};
use crate::gather::{Gather, Kept};
use crate::github::{Reads, Refused};
use crate::settings::CredentialArgs;
use crate::store::{Store, StoreError};
use crate::sweep::Sweep;

/// From where facts are taken.
#[derive(Debug, Args)]
pub struct LookArgs {
    /// The server's database, for holds, freezes and what was seen when: used where it exists.
    #[arg(
        long = "database",
        visible_alias = "database-url",
        env = "COUNTERSIGN_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = database::DEFAULT_URL
    )]
    database: String,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// A repository that is looked at.
pub struct Looking {
    /// The repository.
    pub repo: Repository,
    /// How facts are gathered.
    pub gather: Gather,
    /// How GitHub is asked.
    pub reads: Arc<dyn Reads>,
    /// No database of a server is there: what only such a one holds is not seen.
    pub alone: bool,
}

impl Looking {
    /// Finds the repository on GitHub.
    ///
    /// # Errors
    /// What went wrong, for the person at the terminal.
    pub async fn at(name: &RepoName, from: &LookArgs) -> Result<Self, Complaint> {
        let client = super::serve::client(&from.credentials)?;
        let reads: Arc<dyn Reads> = Arc::new(client);
        let own = reads.app().await.map_err(remote)?;
        let alone = !database::is_there(&from.database).await?;
        let url = if alone {
            "sqlite::memory:"
        } else {
            from.database.as_str()
        };
        let store: Arc<dyn Store> = database::open(url).await?;
        let repo = match reads.repository(name).await {
            Ok(repo) => repo,
            Err(Refused::NotFound(why)) => {
                return Err(Complaint::new(
                    Exit::Remote,
                    format!(
                        "{name} cannot be read: is the name right, and the App installed there? GitHub says: {why}"
                    ),
                ));
            }
            Err(refused) => return Err(remote(refused)),
        };
        let sweep = Sweep::new(store.clone(), reads.clone(), Clock::System);
        sweep.remember(&repo).await.map_err(internal)?;
        if let Some(defaults) = defaults_of(&*reads, &repo.name).await? {
            sweep.remember(&defaults).await.map_err(internal)?;
        }
        Ok(Self {
            gather: Gather::new(store, reads.clone(), Clock::System, own.id),
            repo,
            reads,
            alone,
        })
    }

    /// What is stored about one of its pull requests.
    ///
    /// # Errors
    /// The store's.
    pub async fn kept(&self, number: PullNumber) -> Result<Kept, Complaint> {
        let kept = self.gather.kept(self.repo.id, number).await;
        kept.map_err(internal)?
            .ok_or_else(|| Complaint::new(Exit::Internal, "the repository was not kept"))
    }
}

/// The account's repository of defaults, where the App may act in it: its policy applies where the
/// repository has none.
async fn defaults_of(reads: &dyn Reads, repo: &RepoName) -> Result<Option<Repository>, Complaint> {
    let name = format!("{}/{}", repo.owner(), PolicyOrigin::DEFAULTS);
    let Ok(name) = RepoName::parse(&name) else {
        return Ok(None);
    };
    match reads.repository(&name).await {
        Ok(defaults) => Ok(Some(defaults)),
        Err(Refused::NotFound(_) | Refused::Inactive(_)) => Ok(None),
        Err(refused) => Err(remote(refused)),
    }
}

/// A refusal of GitHub's as a complaint.
pub fn remote(refused: Refused) -> Complaint {
    Complaint::new(Exit::Remote, refused.to_string())
}

/// A failure of the store's as a complaint.
pub fn internal(error: StoreError) -> Complaint {
    Complaint::new(Exit::Internal, error.to_string())
}
