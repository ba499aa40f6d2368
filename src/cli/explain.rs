//! `countersign explain`: one pull request, read from GitHub, judged, printed. Nothing is written to
//! GitHub.
//!
//! It may be asked about things that are not so: another policy, another head, a report that has not come.
//! Then the answer says so before it says anything else, and no right to merge can come of it.
//!
//! Posted evidence is on the server alone. Without its database the answer is GitHub's part of the truth, and
//! says whose word is missing: what looks as if it waited may be approved there, or rejected.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::looking::{LookArgs, Looking, internal};
use super::{Complaint, Ended, Exit};
use crate::domain::evidence::Carrier;
use crate::domain::facts::{PolicyFact, PolicyOrigin, PullRequest, PullState, Snapshot};
use crate::domain::hypothesis::{self, Supposition};
use crate::domain::model::{HeadSha, PolicyDigest, PullNumber, RepoName};
use crate::domain::policy::{self, Identity, Verifier};
use crate::domain::render::{json as told, terminal};
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
    /// Judge as if this commit were the head: its checks and its comparison with the base are read.
    #[arg(long, value_name = "SHA", value_parser = parse_head)]
    head: Option<HeadSha>,
    /// Judge as if this were so; may be given several times, and counts in that order: "approved by
    /// VERIFIER", "rejected by VERIFIER" (tests passed, no mutants), "check NAME passes", "check NAME
    /// fails", "merge requested", "held", "not held".
    #[arg(long = "as-if", value_name = "SENTENCE", value_parser = parse_sentence)]
    as_if: Vec<Sentence>,
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

/// A supposition, and how it was typed.
#[derive(Debug, Clone)]
struct Sentence {
    typed: String,
    means: Supposition,
}

fn parse_sentence(text: &str) -> Result<Sentence, String> {
    Ok(Sentence {
        typed: text.trim().to_owned(),
        means: hypothesis::parse(text)?,
    })
}

fn parse_head(text: &str) -> Result<HeadSha, String> {
    HeadSha::parse(text).map_err(|error| error.to_string())
}

/// Runs it. The exit code says whether the pull request can land: 0 for ready and merged, 1 otherwise.
pub async fn run(args: ExplainArgs) -> Ended {
    let other_policy = args.policy.as_deref().map(read_policy).transpose()?;
    let looking = Looking::at(&args.target.repo, &args.from).await?;
    let kept = looking.kept(args.target.number).await?;
    let supposed = Supposed {
        policy: other_policy,
        head: args.head.clone(),
        ..Supposed::default()
    };
    if let Some(head) = &args.head {
        known_commit(&looking, head).await?;
    }
    let gathered = looking.gather.supposing(&kept, &supposed).await;
    let mut snapshot = gathered.map_err(internal)?.snapshot;
    reachable(&snapshot)?;
    let open = |pull: &PullRequest| pull.state == PullState::Open;
    if args.head.is_some() && !snapshot.pull.known().is_some_and(open) {
        let name = format!("{}#{}", looking.repo.name, args.target.number);
        let text = format!("{name} is not open: its head stays what it was; leave --head out");
        return Err(Complaint::new(Exit::Usage, text));
    }
    for sentence in &args.as_if {
        hypothesis::suppose(&mut snapshot, &sentence.means).map_err(|why| {
            Complaint::new(Exit::Usage, format!("--as-if {:?}: {why}", sentence.typed))
        })?;
    }
    let verdict = verdict::decide(&snapshot);
    let hypothetical = hypothetical(&args);
    let unseen = match looking.alone {
        true => unseen(&snapshot),
        false => Vec::new(),
    };
    if args.json {
        let mut value = told::value(&verdict, &looking.repo.name);
        if !hypothetical.is_empty() {
            value["hypothetical"] = json!(hypothetical);
        }
        if !unseen.is_empty() {
            value["unseen"] = json!(unseen);
        }
        println!("{value:#}");
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let name = format!("{}#{}", looking.repo.name, args.target.number);
        print!("{}", terminal::hypothetical(&hypothetical, colour));
        print!("{}", terminal::tree(&name, &verdict, colour));
        let place = format!(
            "/api/v1/repos/{}/pulls/{}",
            looking.repo.name, args.target.number
        );
        print!("{}", terminal::unseen(&unseen, &place, colour));
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

/// The verifiers that report by post alone and of whom nothing is here, in the order of the policy.
fn unseen(snapshot: &Snapshot) -> Vec<String> {
    let open = |pull: &PullRequest| pull.state == PullState::Open;
    let PolicyFact::Valid { policy, .. } = &snapshot.policy else {
        return Vec::new();
    };
    if !snapshot.pull.known().is_some_and(open) {
        return Vec::new();
    }
    let unheard = |verifier: &&Verifier| {
        let mut posted = snapshot.posted.iter().map(|posted| &posted.carrier);
        match &verifier.identity {
            Identity::Workflow(file) => {
                !posted.any(|by| matches!(by, Carrier::Workflow { path, .. } if path == file))
            }
            Identity::Key(key) => !posted.any(|by| matches!(by, Carrier::Key(one) if one == key)),
            Identity::AppSlug(_) | Identity::AppId(_) | Identity::User(_) => false,
        }
    };
    let all = policy.verifiers_in_order().into_iter().filter(unheard);
    all.map(|verifier| verifier.name.to_string()).collect()
}

/// What of the answer is not as things are.
fn hypothetical(args: &ExplainArgs) -> Vec<String> {
    let policy = args.policy.iter();
    let policy = policy.map(|file| format!("the policy were {}", file.display()));
    let head = args.head.iter();
    let head = head.map(|head| format!("the head were {head}"));
    let sentences = args.as_if.iter().map(|sentence| sentence.typed.clone());
    policy.chain(head).chain(sentences).collect()
}

/// A commit that GitHub does not know would be judged as one that nobody reported on.
async fn known_commit(looking: &Looking, head: &HeadSha) -> Result<(), Complaint> {
    let read = looking.reads.commit(&looking.repo, &head.oid()).await;
    read.map(|_| ()).map_err(|refused| {
        let text = format!(
            "the commit {head} of {} cannot be read: {refused}",
            looking.repo.name
        );
        Complaint::new(Exit::Remote, text)
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
