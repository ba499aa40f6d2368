//! `countersign explain`: one pull request, read from GitHub, judged, printed. Nothing is written to
//! GitHub.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{Complaint, Ended, Exit, database};
use crate::clock::Clock;
use crate::domain::facts::{PolicyFact, PolicyOrigin, Snapshot};
use crate::domain::model::{PolicyDigest, PullNumber, RepoName, Repository};
use crate::domain::policy;
use crate::domain::render::{json, terminal};
use crate::domain::verdict::{self, Outcome};
use crate::gather::Gather;
use crate::github::{Reads, Refused};
use crate::settings::CredentialArgs;
use crate::store::Store;
use crate::sweep::Sweep;

/// What to explain, and how.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The pull request, as OWNER/REPO#NUMBER.
    #[arg(value_name = "OWNER/REPO#NUMBER", value_parser = parse_target)]
    target: Target,
    /// Judge by this policy instead of the one at the base branch's tip.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Print the verdict tree as JSON.
    #[arg(long)]
    json: bool,
    /// The server's database, for holds, freezes and what was seen when: used where it exists.
    #[arg(
        long = "database",
        env = "COUNTERSIGN_DATABASE_URL",
        value_name = "URL",
        default_value = database::DEFAULT_URL
    )]
    database: String,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// A pull request, as typed.
#[derive(Debug, Clone)]
struct Target {
    repo: RepoName,
    number: PullNumber,
}

fn parse_target(text: &str) -> Result<Target, String> {
    let expected = "write it as OWNER/REPO#NUMBER, such as acme/shop#12";
    let (repo, number) = text.split_once('#').ok_or(expected)?;
    let number = number.parse().ok().and_then(PullNumber::new);
    Ok(Target {
        repo: RepoName::parse(repo).map_err(|error| format!("{error}; {expected}"))?,
        number: number.ok_or(expected)?,
    })
}

/// Runs it. The exit code says whether the pull request can land: 0 for ready and merged, 1 otherwise.
pub async fn run(args: ExplainArgs) -> Ended {
    let other_policy = args.policy.as_deref().map(read_policy).transpose()?;
    let client = super::serve::client(&args.credentials)?;
    let reads: Arc<dyn Reads> = Arc::new(client);
    let own = reads.app().await.map_err(remote)?;
    let url = match database::file_of(&args.database) {
        Some(file) if file.exists() => args.database.as_str(),
        _ => "sqlite::memory:",
    };
    let store = database::open(url).await?;
    let repo = reads.repository(&args.target.repo).await.map_err(remote)?;
    let internal =
        |error: crate::store::StoreError| Complaint::new(Exit::Internal, error.to_string());
    let sweep = Sweep::new(store.clone(), reads.clone(), Clock::System);
    sweep.remember(&repo).await.map_err(internal)?;
    if let Some(defaults) = defaults_of(&*reads, &repo.name).await? {
        sweep.remember(&defaults).await.map_err(internal)?;
    }
    let gather = Gather::new(store as Arc<dyn Store>, reads, Clock::System, own.id);
    let kept = gather
        .kept(repo.id, args.target.number)
        .await
        .map_err(internal)?;
    let kept = kept.ok_or_else(|| Complaint::new(Exit::Internal, "the repository was not kept"))?;
    let gathered = match &other_policy {
        None => gather.confirmed(&kept).await,
        Some(policy) => gather.confirmed_under(&kept, policy.clone()).await,
    };
    let snapshot = gathered.map_err(internal)?.snapshot;
    reachable(&snapshot)?;
    let verdict = verdict::decide(&snapshot);
    if args.json {
        println!("{:#}", json::value(&verdict, &repo.name));
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let name = format!("{}#{}", repo.name, args.target.number);
        print!("{}", terminal::tree(&name, &verdict, colour));
    }
    Ok(match verdict.outcome {
        Outcome::Ready | Outcome::Merged => Exit::Done,
        Outcome::Waiting
        | Outcome::Blocked
        | Outcome::Undetermined
        | Outcome::Held
        | Outcome::Ignored => Exit::No,
    })
}

/// A pull request that cannot be read at all has no verdict worth printing.
fn reachable(snapshot: &Snapshot) -> Result<(), Complaint> {
    match snapshot.pull.require() {
        Ok(_) => Ok(()),
        Err(why) => Err(Complaint::new(
            Exit::Remote,
            format!(
                "{}#{} cannot be read: {why}",
                snapshot.repo.name, snapshot.number
            ),
        )),
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

fn read_policy(file: &std::path::Path) -> Result<PolicyFact, Complaint> {
    let text = super::policy::text_of(file)?;
    let digest = PolicyDigest::parse(&"0".repeat(40))
        .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
    match policy::read::read(&text) {
        Ok(policy) => Ok(PolicyFact::Valid {
            policy: Box::new(policy),
            digest,
            origin: PolicyOrigin::Repository,
        }),
        Err(problems) => Ok(PolicyFact::Invalid {
            problems,
            digest,
            origin: PolicyOrigin::Repository,
        }),
    }
}

fn remote(refused: Refused) -> Complaint {
    Complaint::new(Exit::Remote, refused.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_an_owner_a_repository_and_a_number() {
        let target = parse_target("acme/shop#12").unwrap();
        assert_eq!(target.repo.to_string(), "acme/shop");
        assert_eq!(target.number.get(), 12);
        for wrong in [
            "acme/shop",
            "acme#12",
            "acme/shop#",
            "acme/shop#0",
            "acme/shop#x",
        ] {
            assert!(
                parse_target(wrong)
                    .unwrap_err()
                    .contains("OWNER/REPO#NUMBER")
            );
        }
    }
}
