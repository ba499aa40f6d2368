//! `countersign simulate`: what another policy would do to the open pull requests of a repository, read
//! from GitHub and printed. Nothing is written to GitHub.
//!
//! Each pull request is read once, with what either policy asks about, and judged twice over the very
//! same facts. One that cannot be read is counted and named: then nothing certain can be said, and a
//! quiet "nothing changes" would be worth nothing.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::explain::read_policy;
use super::looking::{LookArgs, Looking, internal, remote};
use super::{Complaint, Ended, Exit};
use crate::domain::facts::{PolicyFact, PullRequest};
use crate::domain::model::{BaseRef, RepoName};
use crate::domain::preview::{Effects, Preview, Then};
use crate::domain::render::preview;
use crate::domain::verdict::{self, Outcome, Verdict};
use crate::gather::Supposed;
use crate::github::Refused;

/// What to try, and where.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The repository, as OWNER/REPO.
    #[arg(value_name = "OWNER/REPO", value_parser = parse_name)]
    repo: RepoName,
    /// The policy to try; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Only pull requests into this base branch.
    #[arg(long, value_name = "BRANCH", value_parser = parse_branch)]
    base: Option<BaseRef>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: LookArgs,
}

fn parse_name(text: &str) -> Result<RepoName, String> {
    RepoName::parse(text).map_err(|error| format!("{error}; such as acme/shop"))
}

fn parse_branch(text: &str) -> Result<BaseRef, String> {
    BaseRef::parse(text).map_err(|error| format!("{error}; such as main"))
}

/// Runs it: 0 when nothing would change, 1 when something would or the policy does not validate, 3 when
/// a pull request could not be read.
pub async fn run(args: SimulateArgs) -> Ended {
    let new = read_policy(&args.policy)?;
    let (found, unread) = match &new {
        PolicyFact::Invalid { problems, .. } => (Preview::Invalid(problems.clone()), Vec::new()),
        new => {
            let looking = Looking::at(&args.repo, &args.from).await?;
            let (effects, unread) = effects(&looking, new, args.base.as_ref()).await?;
            (Preview::Effects(effects), unread)
        }
    };
    if args.json {
        let answer = json!({
            "repository": args.repo, "base": args.base, "preview": found, "unread": unread,
        });
        println!("{answer:#}");
    } else {
        print!("{}", preview::terminal(&found));
        for why in &unread {
            eprintln!("countersign: {why}");
        }
    }
    Ok(match &found {
        Preview::Effects(effects) if !effects.changes.is_empty() => Exit::No,
        Preview::Effects(_) if !unread.is_empty() => Exit::Remote,
        Preview::Effects(_) => Exit::Done,
        Preview::Invalid(_) | Preview::Unreadable(_) => Exit::No,
    })
}

async fn effects(
    looking: &Looking,
    new: &PolicyFact,
    base: Option<&BaseRef>,
) -> Result<(Effects, Vec<String>), Complaint> {
    let listed = looking
        .reads
        .open_pulls(&looking.repo)
        .await
        .map_err(remote)?;
    let mut effects = Effects::none(base.cloned(), Then::NewPolicy);
    let mut unread = Vec::new();
    if !listed.complete {
        unread.push("GitHub's list of open pull requests was cut short".to_owned());
    }
    let into = |pull: &&PullRequest| base.is_none_or(|base| pull.base == *base);
    let supposed = Supposed {
        also: Some(new.clone()),
        ..Supposed::default()
    };
    for pull in listed.items.iter().filter(into) {
        let kept = looking.kept(pull.number).await?;
        let gathered = looking.gather.supposing(&kept, &supposed).await;
        let gathered = gathered.map_err(internal)?;
        if let Some(after) = gathered.limited {
            return Err(remote(Refused::Limited { after }));
        }
        let mut snapshot = gathered.snapshot;
        if let Err(why) = snapshot.pull.require() {
            effects.left_out += 1;
            unread.push(format!("#{} could not be read: {why}", pull.number));
            continue;
        }
        let before = verdict::decide(&snapshot);
        snapshot.policy = new.clone();
        let after = verdict::decide(&snapshot);
        effects.compare(&before, &after);
        let unknown = |verdict: &Verdict| verdict.outcome == Outcome::Undetermined;
        if let Some(gate) = before
            .foremost()
            .filter(|_| unknown(&before) && unknown(&after))
        {
            unread.push(format!("#{}: {}", pull.number, gate.reason));
        }
    }
    Ok((effects, unread))
}
