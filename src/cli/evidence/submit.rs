//! `countersign evidence submit`: posts a document to the server; `countersign evidence keygen`: makes the
//! key that signs one.
//!
//! Who posts is found before anything else is done: a verification of an hour that then cannot be posted
//! would be an hour lost. A key given by `--key` comes before a run's own identity, since somebody typed it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};

use super::super::policy::text_of;
use super::super::{Complaint, Ended, Exit};
use crate::submit::{self, Failure, Proof, Run, Server, SigningKey, Taken, Watch};

/// Which document to post, where, and as who.
#[derive(Debug, Args)]
pub struct SubmitArgs {
    /// The document; `-` reads standard input.
    file: PathBuf,
    /// The server's public address, such as `https://countersign.example`.
    #[arg(long, value_name = "URL")]
    url: String,
    /// Sign with this ed25519 key (PKCS#8 PEM) [default: the identity of the GitHub Actions run].
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The server's COUNTERSIGN_PUBLIC_URL, where it is reached by another address than that.
    #[arg(long, value_name = "URL")]
    audience: Option<String>,
    /// Print the server's answer as JSON: `{"stored": true}`, or false where it had the document already.
    #[arg(long)]
    json: bool,
}

/// Where to put the new key.
#[derive(Debug, Args)]
pub struct KeygenArgs {
    /// The file for the private key; one that is there is never overwritten.
    file: PathBuf,
}

/// Everything that posting takes, but the document.
#[derive(Debug)]
pub struct Post {
    server: Server,
    proof: Proof,
}

impl Post {
    /// Finds the server, and who posts.
    ///
    /// # Errors
    /// What is missing.
    pub fn prepare(
        url: &str,
        key: Option<&Path>,
        audience: Option<&str>,
    ) -> Result<Self, Complaint> {
        Ok(Self {
            server: Server::at(url, audience).map_err(complaint)?,
            proof: match key {
                Some(file) => Proof::Key(read_key(file)?),
                None => Proof::Run(run_of(|name| std::env::var(name).ok())?),
            },
        })
    }

    /// Posts, and says so on standard error.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn send(&self, document: &str) -> Result<Taken, Complaint> {
        let sent = submit::submit(document, &self.server, &self.proof, &Patient);
        let taken = sent.await.map_err(complaint)?;
        eprintln!("{}", told(taken));
        Ok(taken)
    }
}

fn told(taken: Taken) -> &'static str {
    match taken {
        Taken::Stored => "posted: the server has stored the document",
        Taken::Known => "posted before: the server has this very document",
    }
}

/// Runs `evidence submit`: 0 where the server has the document.
pub async fn run(args: SubmitArgs) -> Ended {
    let post = Post::prepare(&args.url, args.key.as_deref(), args.audience.as_deref())?;
    let document = text_of(&args.file)?;
    if let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(&document) {
        let text = format!(
            "{} is not JSON ({error}): give the document that `countersign verify --out` or `evidence import` \
             wrote",
            args.file.display()
        );
        return Err(Complaint::new(Exit::Usage, text));
    }
    let taken = post.send(&document).await?;
    if args.json {
        println!(
            "{}",
            serde_json::json!({ "stored": taken == Taken::Stored })
        );
    }
    Ok(Exit::Done)
}

/// Makes a key: 0 where it is on the disk.
pub fn keygen(args: &KeygenArgs) -> Ended {
    let unmade = |fault: submit::KeyFault| Complaint::new(Exit::Internal, fault.to_string());
    let key = SigningKey::new().map_err(unmade)?;
    write_key(&args.file, &key.pem().map_err(unmade)?)?;
    print!("{}", about_key(&args.file, &key.public()));
    Ok(Exit::Done)
}

fn about_key(file: &Path, public: &str) -> String {
    format!(
        "The private key is in {0}, readable by you alone. Keep it where only the verifier is, and out of \
         version control.\n\n\
         Its public half belongs into .github/countersign.yml on the base branch:\n\n\
         verifiers:\n  NAME:\n    key: {public}\n    vendor: VENDOR\n\n\
         Then post with: countersign evidence submit FILE --url URL --key {0}\n",
        file.display()
    )
}

/// Whole or not at all, and 0600 from the moment it exists (`tempfile`'s).
fn write_key(file: &Path, pem: &SecretString) -> Result<(), Complaint> {
    let shown = file.display();
    let cannot = |error: &dyn std::fmt::Display| {
        Complaint::new(Exit::Usage, format!("{shown} cannot be written: {error}"))
    };
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut begun = tempfile::Builder::new()
        .prefix(".countersign-key-")
        .tempfile_in(folder)
        .map_err(|error| cannot(&error))?;
    let written = begun
        .write_all(pem.expose_secret().as_bytes())
        .and_then(|()| begun.as_file().sync_all());
    written.map_err(|error| cannot(&error))?;
    match begun.persist_noclobber(file) {
        Ok(_) => Ok(()),
        Err(refused) if refused.error.kind() == std::io::ErrorKind::AlreadyExists => {
            let text = format!(
                "{shown} is there already, and a key is never overwritten: name another file, or move that \
                 one away"
            );
            Err(Complaint::new(Exit::Usage, text))
        }
        Err(refused) => Err(cannot(&refused.error)),
    }
}

fn read_key(file: &Path) -> Result<SigningKey, Complaint> {
    let pem = SecretString::from(text_of(file)?);
    SigningKey::read(pem.expose_secret()).map_err(|fault| {
        let shown = file.display();
        let text = format!(
            "{shown} cannot sign: {fault}; `countersign evidence keygen NEW_FILE` makes a key"
        );
        Complaint::new(Exit::Usage, text)
    })
}

/// The identity that GitHub Actions offers to a job.
fn run_of(variable: impl Fn(&str) -> Option<String>) -> Result<Run, Complaint> {
    let given = |name| variable(name).filter(|text| !text.trim().is_empty());
    let address = given("ACTIONS_ID_TOKEN_REQUEST_URL");
    let secret = given("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
    if let (Some(address), Some(secret)) = (address, secret) {
        return Ok(Run {
            address,
            secret: secret.into(),
        });
    }
    let text = match given("GITHUB_ACTIONS").is_some() {
        true => {
            "nobody says who posts this: the job may not ask for an identity token. Give it `permissions: \
             { id-token: write }`; the run of a pull request from a fork is never given one, so let Countersign \
             start the workflow (`request: { workflow: PATH }` in the policy), or post with --key FILE"
        }
        false => {
            "nobody says who posts this: within GitHub Actions the job's identity is used, elsewhere a key. \
             Make one with `countersign evidence keygen FILE`, put its public half into the policy, and give \
             --key FILE"
        }
    };
    Err(Complaint::new(Exit::Usage, text))
}

fn complaint(failure: Failure) -> Complaint {
    let exit = match &failure {
        Failure::Use(_) => Exit::Usage,
        // 1 is what evidence says of a head; that the server would not take it is another matter.
        Failure::No(_) | Failure::Remote(_) => Exit::Remote,
    };
    Complaint::new(exit, failure.to_string())
}

/// Waits, and says why.
struct Patient;

#[async_trait]
impl Watch for Patient {
    async fn pause(&self, length: Duration, because: &str) {
        eprintln!("{because}; trying again in {} s", length.as_secs());
        tokio::time::sleep(length).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_known_by_both_of_its_variables_and_else_it_is_told_what_to_do() {
        let run = |variables: &[(&str, &str)]| {
            run_of(|name| {
                let mut all = variables.iter();
                let found = all.find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let url = (
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "https://pipelines.example/?a=b",
        );
        let secret = ("ACTIONS_ID_TOKEN_REQUEST_TOKEN", "hunter2");
        assert_eq!(run(&[url, secret]).unwrap().address, url.1);
        for half in [&[url][..], &[secret], &[url, (secret.0, "")]] {
            let complaint = run(half).unwrap_err();
            assert_eq!(complaint.exit, Exit::Usage);
            assert!(
                complaint.text.contains("evidence keygen"),
                "{}",
                complaint.text
            );
            assert!(!complaint.text.contains("hunter2"));
        }
        let within = run(&[("GITHUB_ACTIONS", "true")]).unwrap_err();
        assert!(within.text.contains("id-token: write"), "{}", within.text);
        assert!(within.text.contains("from a fork"), "{}", within.text);
    }

    #[test]
    fn what_is_told_of_a_new_key_is_where_to_put_its_public_half() {
        insta::assert_snapshot!(about_key(Path::new("verifier.pem"), &"d75a".repeat(16)), @r"
        The private key is in verifier.pem, readable by you alone. Keep it where only the verifier is, and out of version control.

        Its public half belongs into .github/countersign.yml on the base branch:

        verifiers:
          NAME:
            key: d75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75ad75a
            vendor: VENDOR

        Then post with: countersign evidence submit FILE --url URL --key verifier.pem
        ");
    }

    #[test]
    fn a_key_file_is_its_owners_alone_and_never_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key.pem");
        let args = KeygenArgs { file: file.clone() };
        assert_eq!(keygen(&args).unwrap(), Exit::Done);
        let first = std::fs::read_to_string(&file).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let complaint = keygen(&args).unwrap_err();
        assert!(
            complaint.text.contains("never overwritten"),
            "{}",
            complaint.text
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), first);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(read_key(&file).is_ok());
        std::fs::write(&file, "hunter2").unwrap();
        let complaint = read_key(&file).unwrap_err();
        assert!(!complaint.text.contains("hunter2"), "{}", complaint.text);
    }
}
