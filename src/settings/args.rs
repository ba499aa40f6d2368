//! The settings as written: environment variables, each also a flag of `serve`.

use clap::Args;
use secrecy::SecretString;

/// What every command needs that talks to GitHub: who we are, and where GitHub is.
#[derive(Debug, Clone, Default, Args)]
pub struct CredentialArgs {
    /// The GitHub App's id (a number)
    #[arg(
        long,
        env = "COUNTERSIGN_APP_ID",
        hide_env_values = true,
        value_name = "ID"
    )]
    pub app_id: Option<String>,
    /// The App's private key: PEM text; `\n` for line breaks and base64 are understood
    #[arg(
        long,
        env = "COUNTERSIGN_PRIVATE_KEY",
        hide_env_values = true,
        value_name = "PEM"
    )]
    pub private_key: Option<SecretString>,
    /// A file that holds the App's private key
    #[arg(
        long,
        env = "COUNTERSIGN_PRIVATE_KEY_PATH",
        hide_env_values = true,
        value_name = "FILE"
    )]
    pub private_key_path: Option<String>,
    /// Where GitHub's REST API is [default: github.com's]
    #[arg(
        long,
        env = "COUNTERSIGN_GITHUB_API_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub github_api_url: Option<String>,
}

/// What `serve` was told, not yet understood. Everything is text here, so that all that is wrong can
/// be told at once; [`Settings::from_args`](super::Settings::from_args) understands it.
///
/// An empty variable counts as not set: that is how container tools write "nothing".
#[derive(Debug, Clone, Default, Args)]
pub struct ServeArgs {
    /// Who we are, and where GitHub is
    #[command(flatten)]
    pub credentials: CredentialArgs,
    /// The secret with which GitHub signs deliveries
    #[arg(
        long,
        env = "COUNTERSIGN_WEBHOOK_SECRET",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    pub webhook_secret: Option<SecretString>,
    /// The secret before, accepted as well while it is being changed
    #[arg(
        long,
        env = "COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    pub webhook_secret_previous: Option<SecretString>,
    /// The address to listen on [default: 127.0.0.1:8137]
    #[arg(
        long,
        env = "COUNTERSIGN_LISTEN",
        hide_env_values = true,
        value_name = "IP:PORT"
    )]
    pub listen: Option<String>,
    /// The address under which people and GitHub reach this server
    #[arg(
        long,
        env = "COUNTERSIGN_PUBLIC_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub public_url: Option<String>,
    /// The database [default: sqlite://countersign.db]
    #[arg(
        long,
        visible_alias = "database",
        env = "COUNTERSIGN_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database_url: Option<SecretString>,
    /// What to log: a level, or directives per target [default: info]
    #[arg(
        long,
        env = "COUNTERSIGN_LOG",
        hide_env_values = true,
        value_name = "DIRECTIVES"
    )]
    pub log: Option<String>,
    /// How to log: text or json [default: text]
    #[arg(
        long,
        env = "COUNTERSIGN_LOG_FORMAT",
        hide_env_values = true,
        value_name = "FORMAT"
    )]
    pub log_format: Option<String>,
    /// A token for the API, and for the dashboard without sign-in
    #[arg(
        long,
        env = "COUNTERSIGN_API_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    pub api_token: Option<SecretString>,
    /// How often everything is looked at again [default: 10m]
    #[arg(
        long,
        env = "COUNTERSIGN_SWEEP_INTERVAL",
        hide_env_values = true,
        value_name = "DURATION"
    )]
    pub sweep_interval: Option<String>,
    /// How long is kept what nobody asks for again; the ledger stays [default: 30d]
    #[arg(
        long,
        env = "COUNTERSIGN_RETENTION",
        hide_env_values = true,
        value_name = "DURATION"
    )]
    pub retention: Option<String>,
    /// Write nothing to GitHub at all, whatever policies say (true or false) [default: false]
    #[arg(
        long,
        env = "COUNTERSIGN_SHADOW",
        hide_env_values = true,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true"
    )]
    pub shadow: Option<String>,
}
