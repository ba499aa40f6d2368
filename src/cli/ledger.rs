//! `countersign ledger export|verify`.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use clap::Subcommand;

use super::{Complaint, Ended, Exit, database};
use crate::domain::attest::{Attestor, Origin};
use crate::domain::ledger::{Entry, Verifier};
use crate::domain::model::{RepoId, RepoName};
use crate::store::{Store, StoreError};

/// How many entries are read from the database at a time.
const PAGE: u32 = 1_000;

/// What can be done with the ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Print every entry as a line of JSON, oldest first; or what merges rested on, as in-toto
    /// statements.
    Export {
        /// The entries themselves, or one in-toto statement a line: a SLSA verification summary of each
        /// merge by the App, and a test result for each report of its head that only ran tests.
        #[arg(long, value_enum, default_value_t = Format::Entries)]
        format: Format,
        /// Where people see the repositories, for the statements.
        #[arg(long, value_name = "URL", default_value = "https://github.com")]
        github_url: String,
        /// Who verified, for the statements: the server's public address.
        #[arg(
            long,
            env = "COUNTERSIGN_PUBLIC_URL",
            hide_env_values = true,
            value_name = "URL"
        )]
        public_url: Option<String>,
        #[command(flatten)]
        database: DatabaseArg,
    },
    /// Prove that no entry was changed, removed or reordered. Exit code 1 where the chain breaks.
    ///
    /// Every entry is followed from the first one to the end that the database keeps; an exported file may end
    /// anywhere. Who can write the whole database can make a chain anew, and no look at the database alone shows
    /// that. So the answer names the last entry's hash: kept elsewhere, and given as --expect-head later, it
    /// proves that everything up to there is still what it was.
    Verify {
        /// An exported file; without it, the server's database. `-` reads standard input.
        file: Option<PathBuf>,
        /// The hash of an entry that was seen before and must still be in the chain.
        #[arg(long, value_name = "HASH", value_parser = parse_hash)]
        expect_head: Option<String>,
        #[command(flatten)]
        database: DatabaseArg,
    },
}

/// What an export holds.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Format {
    /// The entries.
    Entries,
    /// in-toto statements.
    InToto,
}

/// The database a command reads.
#[derive(Debug, clap::Args)]
pub struct DatabaseArg {
    /// The server's database.
    #[arg(
        long = "database",
        visible_alias = "database-url",
        env = "COUNTERSIGN_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL",
        default_value = database::DEFAULT_URL
    )]
    url: String,
}

impl DatabaseArg {
    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Runs it.
pub async fn run(command: LedgerCommand) -> Ended {
    match command {
        LedgerCommand::Export {
            format: Format::Entries,
            database,
            ..
        } => export(&database.url).await,
        LedgerCommand::Export {
            format: Format::InToto,
            github_url,
            public_url,
            database,
        } => statements(&database.url, &github_url, public_url.as_deref()).await,
        LedgerCommand::Verify {
            file,
            expect_head,
            database,
        } => match file {
            Some(file) => verify_file(&file, expect_head),
            None => verify_database(&database.url, expect_head).await,
        },
    }
}

async fn export(url: &str) -> Ended {
    let mut out = std::io::stdout().lock();
    let store = database::existing(url).await?;
    for_each(&*store, async |entry| {
        let line = serde_json::to_string(&entry)
            .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
        // A reader that has seen enough (`| head`) is not a fault.
        Ok(writeln!(out, "{line}").is_ok())
    })
    .await?;
    Ok(Exit::Done)
}

/// What merges rested on. A repository that was renamed since is named as it is called now.
async fn statements(url: &str, github: &str, server: Option<&str>) -> Ended {
    let store = database::existing(url).await?;
    let github = github.trim_end_matches('/');
    let mut out = std::io::stdout().lock();
    let mut repos: HashMap<RepoId, (Option<RepoName>, Attestor)> = HashMap::new();
    for_each(&*store, async |entry| {
        let (name, attestor) = match repos.entry(entry.repo) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(new) => {
                let memory = store.repo(entry.repo).await.map_err(unreadable)?;
                let name = memory.value.repo.map(|repo| repo.name);
                new.insert((name, Attestor::default()))
            }
        };
        let Some(repo) = name else { return Ok(true) };
        let origin = Origin {
            repo,
            github,
            server,
        };
        let mut told = attestor.take(&entry, origin).into_iter();
        Ok(told.all(|statement| writeln!(out, "{statement}").is_ok()))
    })
    .await?;
    Ok(Exit::Done)
}

fn unreadable(error: StoreError) -> Complaint {
    Complaint::new(
        Exit::Internal,
        format!("the ledger cannot be read: {error}"),
    )
}

fn parse_hash(text: &str) -> Result<String, String> {
    let hash = text.to_ascii_lowercase();
    if hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        Ok(hash)
    } else {
        Err("give all 64 digits of the hash, as `ledger verify` printed it".to_owned())
    }
}

async fn verify_database(url: &str, head: Option<String>) -> Ended {
    let store = database::existing(url).await?;
    let followed = store
        .prove_ledger(Verifier::looking_for(head.clone()))
        .await
        .map_err(unreadable)?;
    let (said, exit) = match followed {
        Ok(verifier) => held(&verifier, head.as_deref(), Place::Database),
        Err(broken) => (format!("BROKEN: {broken}\n"), Exit::No),
    };
    print!("{said}");
    Ok(exit)
}

fn verify_file(file: &std::path::Path, head: Option<String>) -> Ended {
    let reader: Box<dyn BufRead> = if file.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let opened = std::fs::File::open(file).map_err(|error| {
            Complaint::new(
                Exit::Usage,
                format!("{} cannot be read: {error}", file.display()),
            )
        })?;
        Box::new(BufReader::new(opened))
    };
    let mut verifier = Verifier::looking_for(head.clone());
    for (index, line) in reader.lines().enumerate() {
        let line = line
            .map_err(|error| Complaint::new(Exit::Usage, format!("line {}: {error}", index + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        if let Err(broken) = verifier.take_line(&line) {
            println!("BROKEN in line {}: {broken}", index + 1);
            return Ok(Exit::No);
        }
    }
    let (said, exit) = held(&verifier, head.as_deref(), Place::File);
    print!("{said}");
    Ok(exit)
}

/// Where a chain is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Database,
    File,
}

/// What is said of a chain that holds.
fn held(verifier: &Verifier, head: Option<&str>, place: Place) -> (String, Exit) {
    let said = match verifier.last() {
        None => "The ledger is empty: there is nothing to prove.\n".to_owned(),
        Some(last) => format!(
            "{} entries, the chain holds. The last one, {}, has the hash\n{}\n",
            verifier.followed(),
            last.seq,
            last.hash
        ),
    };
    match (head, verifier.met()) {
        (Some(_), Some(seq)) => (
            format!(
                "{said}Entry {seq} is the one that was expected: all up to there is what it was.\n"
            ),
            Exit::Done,
        ),
        (Some(head), None) => (
            format!(
                "{said}BROKEN: no entry has the hash {head}. This is not the chain in which it was seen, or \
                 that part of it is gone.\n"
            ),
            Exit::No,
        ),
        (None, _) if place == Place::Database && verifier.last().is_some() => (
            format!(
                "{said}Who can write the whole database could have made it anew: keep that hash elsewhere, and give it\n\
                 as --expect-head later.\n"
            ),
            Exit::Done,
        ),
        (None, _) => (said, Exit::Done),
    }
}

/// Hands every entry to `take`, oldest first, until it says that it has seen enough.
async fn for_each(
    store: &dyn Store,
    mut take: impl AsyncFnMut(Entry) -> Result<bool, Complaint>,
) -> Result<(), Complaint> {
    let mut after = 0;
    loop {
        let entries = store.ledger(None, after, PAGE).await.map_err(unreadable)?;
        let Some(last) = entries.last() else {
            return Ok(());
        };
        after = last.seq;
        for entry in entries {
            if !take(entry).await? {
                return Ok(());
            }
        }
    }
}
