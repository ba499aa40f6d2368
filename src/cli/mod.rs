//! Words typed at a terminal: parse them, hand over, choose the exit code.
//!
//! Answers go to standard output; complaints go to standard error and say what to do. Exit codes are
//! fixed: see [`Exit`].

#[macro_use]
mod streams;

mod backup;
mod database;
mod demo;
mod doctor;
mod evidence;
mod explain;
mod ledger;
mod lint;
mod looking;
mod next;
mod policy;
mod scorecard;
mod serve;
mod setup;
mod simulate;
mod stops;
mod verify;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::settings::ServeArgs;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; the answer, if it was a question, is "yes".
    Done,
    /// The answer is "no": blocked, invalid, broken.
    No,
    /// Wrong use.
    Usage,
    /// GitHub or the network failed.
    Remote,
    /// An internal fault.
    Internal,
}

impl Exit {
    /// The number for the shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Remote => 3,
            Self::Internal => 4,
        }
    }
}

/// A complaint that ends a command: what went wrong, for the person at the terminal.
#[derive(Debug)]
pub struct Complaint {
    /// How the command ends.
    pub exit: Exit,
    /// What to print on standard error.
    pub text: String,
}

impl Complaint {
    /// A complaint with its exit code.
    pub fn new(exit: Exit, text: impl Into<String>) -> Self {
        Self {
            exit,
            text: text.into(),
        }
    }
}

/// The exit codes of what makes, reads and posts evidence: one table for all of it.
const OF_EVIDENCE: &str = "\
Exit codes:
  0  the evidence counts for the head; what was to be posted is posted
  1  it does not: it rejects the head, is inconclusive, or may not be believed
     (`evidence submit` posts what rejects a head all the same, and exits 0)
  2  wrong use
  3  it was not posted: the server refused it, or could not be reached
  4  internal fault";

/// Nothing merges until a second, independent verifier has countersigned that exact head.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, propagate_version = true)]
#[command(
    after_help = "Exit codes: 0 done; 1 the answer is \"no\"; 2 wrong use; 3 GitHub or the network failed; 4 internal fault."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Play the main story on a GitHub on loopback and keep the dashboard up.
    Demo(demo::DemoArgs),
    /// Run the server.
    Serve(Box<ServeArgs>),
    /// Register the GitHub App by one click on a local page, and store its credentials.
    Setup(setup::SetupArgs),
    /// Read one pull request from GitHub and print its verdict; write nothing to GitHub.
    Explain(explain::ExplainArgs),
    /// Say what to do now in a repository, in order: land, verify, fix, decide, dispatch.
    Next(next::NextArgs),
    /// Count the outcome figures of a repository, from the server's ledger.
    Scorecard(scorecard::ScorecardArgs),
    /// Look whether everything is set up so that the gate works, and say how to mend what is not.
    Doctor(Box<doctor::DoctorArgs>),
    /// Read a repository's open pull requests from GitHub and print what another policy would change.
    Simulate(simulate::SimulateArgs),
    /// Run the tests and the mutation check of a head in a checkout; write evidence.
    ///
    /// The head's tests must pass; then every critical change is undone, one at a time, and a test must
    /// fail. The checkout is only read.
    #[command(after_help = OF_EVIDENCE)]
    Verify(Box<verify::VerifyArgs>),
    /// Check a policy, or print its JSON Schema.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Check evidence documents, make them of the reports of other tools, post them.
    #[command(subcommand)]
    Evidence(EvidenceCommand),
    /// Export the ledger, or prove its chain.
    #[command(subcommand)]
    Ledger(ledger::LedgerCommand),
    /// Copy the server's database while it runs, put a copy back, or move to PostgreSQL.
    #[command(subcommand)]
    Database(backup::DatabaseCommand),
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Validate a policy: every problem with line, column and a hint; with `--repo`, against what is
    /// really there. Exit code 1 if there is any.
    Check(Box<lint::CheckArgs>),
    /// Print the JSON Schema of the policy, for editors.
    Schema,
}

#[derive(Debug, Subcommand)]
enum EvidenceCommand {
    /// Say of each document whether it may be believed, and what it says of its head.
    ///
    /// `believed` answers for its form: whether it is whole, about the head that was asked for, and its mutants
    /// were made on tests that passed. `says` is what it concludes: approves, rejects, or inconclusive. `counts`
    /// is what a gate makes of both, and decides the exit code: a sound rejection counts against the head.
    #[command(after_help = OF_EVIDENCE)]
    Check(Box<evidence::CheckArgs>),
    /// Make evidence of the report of another mutation tester.
    ///
    /// What the report does not record must be said: how many tests ran without any mutant, the command that
    /// ran them. Within a checkout the evidence is about exactly its commit.
    #[command(after_help = OF_EVIDENCE)]
    Import(Box<evidence::ImportArgs>),
    /// Post a document to the server, as the GitHub Actions run that this is, or signed with a key.
    ///
    /// Posting it again does no harm. What the document says does not matter here: a rejection is posted with
    /// exit code 0 as well.
    #[command(after_help = OF_EVIDENCE)]
    Submit(Box<evidence::SubmitArgs>),
    /// Make a key to sign evidence with, and say where its public half belongs.
    Keygen(evidence::KeygenArgs),
}

/// Parses words and runs the command they name.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    // The parser would complain of "arguments" here, and nobody has typed any.
    if let Some((name, _)) =
        std::env::vars_os().find(|(name, value)| ours(name) && value.to_str().is_none())
    {
        eprintln!(
            "countersign: {} is not text in UTF-8: set it anew",
            name.display()
        );
        return ExitCode::from(Exit::Usage.code());
    }
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, not complaints. A closed pipe is nobody's fault.
            let _ = error.print();
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            return ExitCode::from(exit.code());
        }
    };
    let ended = match cli.command {
        Command::Demo(args) => asynchronously(demo::run(args)),
        Command::Serve(args) => asynchronously(serve::run(*args)),
        Command::Doctor(args) => asynchronously(doctor::run(*args)),
        Command::Scorecard(args) => asynchronously(scorecard::run(args)),
        Command::Next(args) => asynchronously(next::run(args)),
        Command::Setup(args) => asynchronously(setup::run(args)),
        Command::Explain(args) => asynchronously(explain::run(args)),
        Command::Policy(PolicyCommand::Check(args)) => asynchronously(lint::run(*args)),
        Command::Simulate(args) => asynchronously(simulate::run(args)),
        Command::Policy(PolicyCommand::Schema) => policy::schema(),
        Command::Evidence(EvidenceCommand::Check(args)) => evidence::check(&args),
        Command::Evidence(EvidenceCommand::Import(args)) => evidence::import(&args),
        Command::Evidence(EvidenceCommand::Submit(args)) => asynchronously(evidence::submit(*args)),
        Command::Evidence(EvidenceCommand::Keygen(args)) => evidence::keygen(&args),
        Command::Verify(args) => asynchronously(verify::run(*args)),
        Command::Database(command) => asynchronously(backup::run(command)),
        Command::Ledger(command) => asynchronously(ledger::run(command)),
    };
    match ended {
        Ok(_) if streams::lost() => ExitCode::from(Exit::Internal.code()),
        Ok(exit) => ExitCode::from(exit.code()),
        Err(complaint) => {
            eprintln!("countersign: {}", complaint.text);
            ExitCode::from(complaint.exit.code())
        }
    }
}

fn ours(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"COUNTERSIGN_")
}

/// How a command ends: with an answer that was printed, or with a complaint.
type Ended = Result<Exit, Complaint>;

fn asynchronously(command: impl Future<Output = Ended>) -> Ended {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Complaint::new(Exit::Internal, format!("no runtime: {error}")))?
        .block_on(command)
}
