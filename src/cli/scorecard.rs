//! `countersign scorecard`: the outcome figures of one repository, from the server's ledger.

use chrono::{NaiveDate, TimeDelta};
use clap::Args;

use super::ledger::DatabaseArg;
use super::{Complaint, Ended, Exit, database, next};
use crate::clock::Clock;
use crate::domain::model::{RepoName, Timestamp};
use crate::domain::scorecard;
use crate::outlook;
use crate::store::StoreError;

/// Which repository, since when.
#[derive(Debug, Args)]
pub struct ScorecardArgs {
    /// The repository, as OWNER/REPO.
    #[arg(value_name = "OWNER/REPO", value_parser = next::parse_name)]
    repo: RepoName,
    /// Count from this day on, UTC, as YYYY-MM-DD; without it, the last 30 days.
    #[arg(long, value_name = "DATE", value_parser = parse_day)]
    since: Option<NaiveDate>,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    database: DatabaseArg,
}

fn parse_day(text: &str) -> Result<NaiveDate, String> {
    text.parse()
        .map_err(|_| "write the day as YYYY-MM-DD, such as 2026-03-01".to_owned())
}

/// Runs it.
pub async fn run(args: ScorecardArgs) -> Ended {
    let store = database::existing(args.database.url()).await?;
    let internal = |error: StoreError| Complaint::new(Exit::Internal, error.to_string());
    let repo = next::known(&*store, &args.repo).await?;
    let until: Timestamp = Clock::System.now();
    let since = match args.since {
        Some(day) => day.and_time(chrono::NaiveTime::MIN).and_utc(),
        None => until - TimeDelta::days(30),
    };
    if since > until {
        let text = format!("{} is still to come", since.format("%Y-%m-%d"));
        return Err(Complaint::new(Exit::Usage, text));
    }
    let figures = outlook::scorecard(&*store, repo, since, until).await;
    let figures = figures.map_err(internal)?;
    if args.json {
        let json = serde_json::to_string_pretty(&figures)
            .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
        println!("{json}");
    } else {
        print!("{}", scorecard::markdown(&args.repo, &figures));
    }
    Ok(Exit::Done)
}
