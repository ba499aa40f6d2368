//! The server's own settings: from text to meaning, with everything that is wrong told at once.
//!
//! Nobody should have to start a server five times to learn of five mistakes. So nothing here stops at
//! the first one: each setting is read by itself, and what is wrong with it becomes a [`Complaint`]
//! that says what to do. A complaint never repeats the value of a setting that may hold a secret, and of any
//! other only what no key or secret looks like: they do get into the wrong setting.
//!
//! Flags win over the environment (clap's rule); the binary reads a `.env` file into the environment
//! before. Whether the private key is one that signs, and whether the App's id fits it, only the
//! `github` room can tell.

pub mod again;
mod args;
pub mod env_file;
mod live;
mod read;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use secrecy::SecretString;

pub use args::{CredentialArgs, ServeArgs};
pub use live::Live;

use crate::domain::model::AppId;

pub use read::address;

/// Where GitHub is, unless told otherwise.
pub const GITHUB_API_URL: &str = "https://api.github.com";
/// Where the server listens, unless told otherwise.
pub const LISTEN: &str = "127.0.0.1:8137";
/// The database, unless told otherwise.
pub const DATABASE_URL: &str = "sqlite://countersign.db";
/// What is logged, unless told otherwise.
pub const LOG: &str = "info";
/// How often the sweep looks at everything, unless told otherwise.
pub const SWEEP_INTERVAL: &str = "10m";

/// How long is kept what nobody asks for again, unless told otherwise.
pub const RETENTION: &str = "30d";

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Who we are, and where GitHub is.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The GitHub App's id.
    pub app_id: AppId,
    /// Its private key as it was given (PEM, perhaps with escaped line breaks or in base64); not
    /// empty.
    pub private_key: SecretString,
    /// The root of GitHub's REST API, without a slash at the end.
    pub github_api_url: String,
}

impl Credentials {
    /// Understands what a command was told.
    ///
    /// # Errors
    /// Everything that is missing or malformed.
    pub fn from_args(args: CredentialArgs) -> Result<Self, Vec<Complaint>> {
        read::only_credentials(args)
    }
}

/// The settings as meant.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who we are, and where GitHub is.
    pub credentials: Credentials,
    /// What deliveries may be signed with: the present secret, then the previous one if there is one.
    pub webhook_secrets: Vec<SecretString>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// The address under which the server is reached, without a slash at the end.
    pub public_url: Option<String>,
    /// `sqlite://...`
    pub database_url: String,
    /// Directives that are known to parse.
    pub log: String,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Opens the API and the dashboard.
    pub api_token: Option<SecretString>,
    /// How often the sweep looks at everything.
    pub sweep_interval: Duration,
    /// How long is kept what nobody asks for again.
    pub retention: Duration,
    /// Nothing is written to GitHub.
    pub shadow: bool,
}

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// The environment variable.
    pub setting: &'static str,
    /// What is wrong, as the rest of a sentence that begins with the setting.
    pub problem: String,
    /// What to do, as a sentence.
    pub remedy: String,
}

impl Complaint {
    fn new(setting: &'static str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            setting,
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

/// The flag of `serve` that sets the same as a variable.
fn flag(setting: &str) -> String {
    let name = setting.strip_prefix("COUNTERSIGN_").unwrap_or(setting);
    format!("--{}", name.to_ascii_lowercase().replace('_', "-"))
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({}) {}\n    {}",
            self.setting,
            flag(self.setting),
            self.problem,
            self.remedy
        )
    }
}

/// All complaints as one text for the terminal.
pub fn report(complaints: &[Complaint]) -> String {
    let mut text = match complaints.len() {
        1 => "One setting is to be mended first:\n".to_owned(),
        many => format!("{many} settings are to be mended first:\n"),
    };
    for complaint in complaints {
        text.push_str(&format!("\n  {complaint}\n"));
    }
    text.push_str(
        "\nSettings are environment variables, also read from a `.env` file in the working \
         directory, or flags of the command. `countersign setup` creates the App and writes that file; \
         run the commands where it is.\n",
    );
    text
}

impl Settings {
    /// Understands what `serve` was told.
    ///
    /// # Errors
    /// Everything that is missing or malformed, in the order of the settings' documentation.
    pub fn from_args(args: ServeArgs) -> Result<Self, Vec<Complaint>> {
        read::settings(args)
    }
}
