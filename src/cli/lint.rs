//! `countersign policy check FILE --repo OWNER/REPO`: a valid policy against its repository.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::{Complaint, Ended, Exit};
use crate::domain::model::RepoName;
use crate::domain::policy::lint::{self, Finding, Severity};
use crate::domain::policy::{self, Policy, Problem};
use crate::domain::prospects;
use crate::domain::render::diagnosis;
use crate::github::{Reads, Refused};
use crate::inspect::Inspect;
use crate::settings::CredentialArgs;

/// What to check, and against what.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The policy file; `-` reads standard input.
    file: PathBuf,
    /// Check it against this repository as well: are the checks, Apps, people and branches it names
    /// there, and would GitHub let it merge?
    #[arg(long, value_name = "OWNER/REPO", value_parser = super::policy::parse_repo)]
    repo: Option<RepoName>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    credentials: CredentialArgs,
}

/// Runs it: 0 where no error was found, 1 where one was, 3 where none was but something could not be
/// looked at.
pub async fn run(args: CheckArgs) -> Ended {
    let text = super::policy::text_of(&args.file)?;
    let file = args.file.display().to_string();
    let policy = match policy::read::read(&text) {
        Ok(policy) => policy,
        Err(problems) => {
            let told = match args.json {
                true => pretty(&answer(&problems, None, &[]))?,
                false => super::policy::complaints(&file, &problems),
            };
            print!("{told}");
            return Ok(Exit::No);
        }
    };
    let foretold = prospects::judge(&text, &policy);
    let Some(name) = &args.repo else {
        let told = match args.json {
            true => pretty(&answer(&[], None, &foretold))?,
            false => by_itself(&file, &policy, &foretold),
        };
        print!("{told}");
        return Ok(exit(&foretold));
    };
    let facts = facts(&args, name, &policy).await?;
    let mut findings = foretold;
    findings.extend(lint::judge(&text, &policy, &facts));
    findings.sort_by_key(|one| (one.line, one.column));
    let looked = facts.looked_at();
    if args.json {
        print!(
            "{}",
            pretty(&answer(&[], Some((name, &looked)), &findings))?
        );
    } else {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        print!("{}", super::policy::meaning(&policy, errors(&findings)));
        println!("\nAgainst {name}, by {looked}:");
        print!("{}", diagnosis::findings(&file, &findings, colour));
    }
    Ok(exit(&findings))
}

/// What a valid policy means, and what its text alone foretells.
fn by_itself(file: &str, policy: &Policy, foretold: &[Finding]) -> String {
    let mut told = super::policy::meaning(policy, errors(foretold));
    if !foretold.is_empty() {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        told.push('\n');
        told.push_str(&diagnosis::findings(file, foretold, colour));
    }
    told
}

fn errors(findings: &[Finding]) -> usize {
    let errors = findings.iter();
    errors.filter(|one| one.severity == Severity::Error).count()
}

fn exit(findings: &[Finding]) -> Exit {
    let has = |severity| findings.iter().any(|one| one.severity == severity);
    if errors(findings) > 0 {
        Exit::No
    } else if has(Severity::Blind) {
        Exit::Remote
    } else {
        Exit::Done
    }
}

async fn facts(
    args: &CheckArgs,
    name: &RepoName,
    policy: &Policy,
) -> Result<lint::Facts, Complaint> {
    let remote = |refused: Refused| Complaint::new(Exit::Remote, refused.to_string());
    let reads: Arc<dyn Reads> = Arc::new(super::serve::client(&args.credentials)?);
    let own = reads.app().await.map_err(remote)?;
    let repo = reads.repository(name).await.map_err(|refused| {
        let text = format!("{name} cannot be read; is the App installed there? {refused}");
        Complaint::new(Exit::Remote, text)
    })?;
    Ok(Inspect::new(reads, own.id).reality(&repo, policy).await)
}

fn answer(
    problems: &[Problem],
    against: Option<(&RepoName, &str)>,
    findings: &[Finding],
) -> serde_json::Value {
    let mut value = json!({ "valid": problems.is_empty(), "problems": problems });
    if let Some((name, looked)) = against {
        value["repository"] = json!(name.to_string());
        value["looked_at"] = json!(looked);
    }
    if problems.is_empty() {
        value["findings"] = json!(findings);
    }
    value
}

fn pretty(value: &serde_json::Value) -> Result<String, Complaint> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_under_which_nothing_can_merge_is_not_called_valid() {
        let text = "version: 1\nagents: { authors: ['agent[bot]'], vendor: openai }\n\
                    verifiers:\n  codex: { app: codex-verify, vendor: openai }\n\
                    gates:\n  second_verifier: { count: 1, independence: vendor }\n";
        let policy = policy::read::read(text).unwrap();
        let foretold = prospects::judge(text, &policy);
        insta::assert_snapshot!(by_itself("countersign.yml", &policy, &foretold));
        assert_eq!(exit(&foretold), Exit::No);
    }
}
