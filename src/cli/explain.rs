//! `countersign explain`: one pull request, read from GitHub, judged, printed. Nothing is written to
//! GitHub.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use super::looking::{LookArgs, Looking, internal};
use super::{Complaint, Ended, Exit};
use crate::domain::facts::{PolicyFact, PolicyOrigin, Snapshot};
use crate::domain::model::{PolicyDigest, PullNumber, RepoName};
use crate::domain::policy;
use crate::domain::render::{json, terminal};
use crate::domain::verdict::{self, Outcome};
use crate::gather::Supposed;

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
    #[command(flatten)]
    from: LookArgs,
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
    let looking = Looking::at(&args.target.repo, &args.from).await?;
    let kept = looking.kept(args.target.number).await?;
    let supposed = Supposed {
        policy: other_policy,
        ..Supposed::default()
    };
    let gathered = looking.gather.supposing(&kept, &supposed).await;
    let snapshot = gathered.map_err(internal)?.snapshot;
    reachable(&snapshot)?;
    let verdict = verdict::decide(&snapshot);
    if args.json {
        println!("{:#}", json::value(&verdict, &looking.repo.name));
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let name = format!("{}#{}", looking.repo.name, args.target.number);
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

/// The policy in a file, whether or not it validates.
pub(super) fn read_policy(file: &std::path::Path) -> Result<PolicyFact, Complaint> {
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
