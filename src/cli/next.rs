//! `countersign next`: what to do now in one repository, from the server's record.

use clap::Args;

use super::ledger::DatabaseArg;
use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::domain::model::{RepoId, RepoName};
use crate::domain::next;
use crate::outlook::Outlook;
use crate::store::{Store, StoreError};

/// Which repository.
#[derive(Debug, Args)]
pub struct NextArgs {
    /// The repository, as OWNER/REPO.
    #[arg(value_name = "OWNER/REPO", value_parser = parse_name)]
    repo: RepoName,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArg,
}

/// A repository's name, as typed.
pub fn parse_name(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text)
        .map_err(|error| format!("{error}; write it as OWNER/REPO, such as acme/shop"))
}

/// The repository of a name, if the server knows it.
pub async fn known(store: &dyn Store, name: &RepoName) -> Result<RepoId, Complaint> {
    let internal = |error: StoreError| Complaint::new(Exit::Internal, error.to_string());
    let known = store.repo_named(name).await.map_err(internal)?;
    known.ok_or_else(|| {
        Complaint::new(
            Exit::Usage,
            format!(
                "{name} is not known to this server: install the App on it, or look at the spelling"
            ),
        )
    })
}

/// Runs it. Exit code 0, whatever there is to do.
pub async fn run(args: NextArgs) -> Ended {
    let store = database::existing(args.database.url()).await?;
    let internal = |error: StoreError| Complaint::new(Exit::Internal, error.to_string());
    let repo = known(&*store, &args.repo).await?;
    let outlook = Outlook::of(&*store, repo, args.repo).await;
    let list = outlook.map_err(internal)?.next();
    if args.json {
        let json = serde_json::to_string_pretty(&list)
            .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
        println!("{json}");
    } else {
        print!("{}", next::list(&list, Clock::System.now()));
    }
    Ok(Exit::Done)
}
