//! Where the new App's credentials are stored: the key in a file of its own, the rest in `.env`.
//!
//! GitHub gives the credentials once. So everything that can go wrong is tried *before* anybody is sent
//! there: the folder takes files, no key would be overwritten, `.env` can be read and added to. The files
//! are begun then, empty and under names of their own, and are gone again if nothing comes.
//!
//! **Properties.** What holds a secret is readable by its owner alone from the moment it exists (0600,
//! `tempfile`'s). A file appears under its name whole or not at all. A key is never overwritten: if one
//! has appeared meanwhile, the new one keeps its other name.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use tempfile::NamedTempFile;

use super::dotenv::Dotenv;
use crate::cli::{Complaint, Exit};

/// The key's file.
pub const KEY: &str = "countersign.private-key.pem";
const ENV: &str = ".env";

const APP_ID: &str = "COUNTERSIGN_APP_ID";
const KEY_PATH: &str = "COUNTERSIGN_PRIVATE_KEY_PATH";
const KEY_TEXT: &str = "COUNTERSIGN_PRIVATE_KEY";
const SECRET: &str = "COUNTERSIGN_WEBHOOK_SECRET";
/// Each says who the App is: two of them in one file would be of two Apps.
const IDENTITY: [&str; 4] = [APP_ID, KEY_PATH, KEY_TEXT, SECRET];

/// An open drawer: both files are begun.
#[derive(Debug)]
pub struct Drawer {
    folder: PathBuf,
    key: NamedTempFile,
    settings: Settings,
}

#[derive(Debug)]
struct Settings {
    file: NamedTempFile,
    /// Where `.env` really is, if it is a link.
    path: PathBuf,
    /// Settings that do not come from GitHub and are not in `.env` yet.
    more: Vec<(&'static str, String)>,
}

/// What was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The key's file.
    pub key: PathBuf,
    /// The settings' file.
    pub env: PathBuf,
    /// The variables that were written to it.
    pub variables: Vec<&'static str>,
}

/// The credentials that go into `.env`.
#[derive(Debug)]
pub struct Identity<'a> {
    /// The App's id.
    pub app_id: u64,
    /// What deliveries are signed with.
    pub webhook_secret: Option<&'a SecretString>,
}

fn usage(text: String) -> Complaint {
    Complaint::new(Exit::Usage, text)
}

impl Drawer {
    /// Opens a folder for the credentials and for `more` settings; nothing that is there is changed.
    ///
    /// # Errors
    /// What has to be cleared away first.
    pub fn open(
        folder: &Path,
        more: &[(&'static str, String)],
        force: bool,
    ) -> Result<Self, Complaint> {
        let shown = folder.display();
        let folder = folder.canonicalize().map_err(|error| {
            usage(format!(
                "the folder {shown} cannot be used: {error}; name another with --dir"
            ))
        })?;
        if folder.to_str().is_none() {
            let text = format!("the path of {shown} is not UTF-8; name another folder with --dir");
            return Err(usage(text));
        }
        let key_path = folder.join(KEY);
        // Also a link that leads nowhere: somebody put it there.
        if key_path.symlink_metadata().is_ok() {
            return Err(usage(format!(
                "{} is there already, and a key is never overwritten: move it away, or name another \
                 folder with --dir",
                key_path.display()
            )));
        }
        let env_path = folder.join(ENV);
        let env_path = env_path.canonicalize().unwrap_or(env_path);
        let begin = |beside: &Path| {
            let place = beside.parent().unwrap_or(beside);
            tempfile::Builder::new()
                .prefix(".countersign-setup-")
                .tempfile_in(place)
                .map_err(|error| {
                    let place = place.display();
                    usage(format!(
                        "no file can be made in {place}: {error}; name another folder with --dir"
                    ))
                })
        };
        let mut settings = Settings {
            file: begin(&env_path)?,
            path: env_path,
            more: Vec::new(),
        };
        settings.rehearse(&key_path, more, force)?;
        Ok(Self {
            key: begin(&key_path)?,
            folder,
            settings,
        })
    }

    /// Where the credentials will be.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores the key, first of all; then the rest.
    ///
    /// # Errors
    /// [`Lost`] says how far it came.
    pub fn store(self, key: &SecretString, identity: &Identity<'_>) -> Result<Stored, Lost> {
        let Self {
            folder,
            key: mut file,
            settings,
        } = self;
        let text = key.expose_secret();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        write(&mut file, &format!("{text}{end}")).map_err(Lost::Key)?;
        let path = folder.join(KEY);
        let path = match file.persist_noclobber(&path) {
            Ok(_) => path,
            // Whatever stands in the way: the key is on the disk, and stays there.
            Err(refused) => match refused.file.keep() {
                Ok((_, kept)) => kept,
                Err(refused) => return Err(Lost::Key(refused.error)),
            },
        };
        let stored = settings.store(&path, identity);
        stored.map_err(|error| Lost::Rest(path, error))
    }
}

impl Settings {
    /// Looks whether `.env` can take what will come.
    fn rehearse(
        &mut self,
        key: &Path,
        more: &[(&'static str, String)],
        force: bool,
    ) -> Result<(), Complaint> {
        let path = self.path.display().to_string();
        let by_hand = |why: &dyn std::fmt::Display| {
            usage(format!(
                "{path} cannot be added to: {why}; mend it, or name another folder with --dir"
            ))
        };
        let dotenv = read(&self.path).map_err(|error| by_hand(&error))?;
        let value = |name| dotenv.value(name).map_err(|unclear| by_hand(&unclear));
        let mut taken = Vec::new();
        for name in IDENTITY {
            taken.extend(value(name)?.map(|_| name));
        }
        for (name, wanted) in more {
            let known = value(name)?;
            if known.as_ref() != Some(wanted) {
                taken.extend(known.map(|_| *name));
                self.more.push((*name, wanted.clone()));
            }
        }
        if !taken.is_empty() && !force {
            return Err(usage(format!(
                "{path} sets {} already: remove that, name another folder with --dir, or pass \
                 --force, which turns those lines into comments",
                taken.join(", ")
            )));
        }
        let secret = SecretString::from("0".repeat(40));
        let likely = Identity {
            app_id: 1,
            webhook_secret: Some(&secret),
        };
        let written = dotenv.with(&self.ours(key, &likely), &self.silenced());
        written.map(|_| ()).map_err(|unclear| by_hand(&unclear))
    }

    fn ours(&self, key: &Path, identity: &Identity<'_>) -> Vec<(&'static str, String)> {
        let mut ours = vec![
            (APP_ID, identity.app_id.to_string()),
            (KEY_PATH, key.display().to_string()),
        ];
        let secret = identity.webhook_secret;
        ours.extend(secret.map(|secret| (SECRET, secret.expose_secret().to_owned())));
        ours.extend(self.more.iter().cloned());
        ours
    }

    fn silenced(&self) -> Vec<&'static str> {
        let more = self.more.iter().map(|(name, _)| *name);
        IDENTITY.into_iter().chain(more).collect()
    }

    fn store(mut self, key: &Path, identity: &Identity<'_>) -> io::Result<Stored> {
        let ours = self.ours(key, identity);
        // Read again: somebody may have written to it while the browser was open.
        let text = read(&self.path)?
            .with(&ours, &self.silenced())
            .map_err(io::Error::other)?;
        write(&mut self.file, &text.0)?;
        self.file.persist(&self.path)?;
        Ok(Stored {
            key: key.to_owned(),
            env: self.path,
            variables: ours.iter().map(|(name, _)| *name).collect(),
        })
    }
}

/// How storing failed.
#[derive(Debug)]
pub enum Lost {
    /// The key is on no disk.
    Key(io::Error),
    /// The key is stored there; the settings are not.
    Rest(PathBuf, io::Error),
}

fn read(path: &Path) -> io::Result<Dotenv> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Dotenv(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Dotenv::default()),
        Err(error) => Err(error),
    }
}

fn write(file: &mut NamedTempFile, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()
}
