//! `countersign next`: what to do now in one repository, from the server's record.

use clap::Args;

use super::ledger::DatabaseArg;
use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::domain::model::RepoName;
use crate::domain::next;
use crate::outlook::Outlook;
use crate::store::StoreError;

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

fn parse_name(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text)
        .map_err(|error| format!("{error}; write it as OWNER/REPO, such as acme/shop"))
}

/// Runs it. Exit code 0, whatever there is to do.
pub async fn run(args: NextArgs) -> Ended {
    let store = database::existing(args.database.url()).await?;
    let internal = |error: StoreError| Complaint::new(Exit::Internal, error.to_string());
    let known = store.repo_named(&args.repo).await.map_err(internal)?;
    let Some(repo) = known else {
        return Err(Complaint::new(
            Exit::Usage,
            format!(
                "{} is not known to this server: install the App on it, or look at the spelling",
                args.repo
            ),
        ));
    };
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
