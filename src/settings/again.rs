//! Reading keys and secrets again while the server runs.
//!
//! A process cannot be given another environment. What can change are files: the private key's, and `.env`.
//! So the rule of the start is applied again, with what `.env` holds now: a flag or a variable of the
//! environment wins over it. Which of the two a setting came from is told by comparing it with what `.env`
//! held at the start; where both said the same, `.env` counts, since only there it can have changed.
//!
//! Only keys, secrets and the API token are read again: [`Settings`] is whole, and the caller takes these
//! of it. Everything else needs a restart.

use secrecy::{ExposeSecret, SecretString};

use super::env_file::Dotenv;
use super::{Complaint, ServeArgs, Settings};

/// What the server was told when it started.
#[derive(Clone)]
pub struct Again {
    told: ServeArgs,
    held: Dotenv,
}

impl Again {
    /// Remembers what `serve` was told, and what `.env` held then.
    pub fn new(told: ServeArgs, held: Dotenv) -> Self {
        Self { told, held }
    }

    /// The settings as they would be if the server started now.
    ///
    /// # Errors
    /// Everything that is missing or malformed.
    pub fn read(&self, holds: &Dotenv) -> Result<Settings, Vec<Complaint>> {
        let mut args = self.told.clone();
        let renew = |setting: &mut Option<SecretString>, name: &str| {
            let told = setting.as_ref().map(ExposeSecret::expose_secret);
            if told == self.held.get(name).map(String::as_str) {
                *setting = holds.get(name).cloned().map(SecretString::from);
            }
        };
        renew(&mut args.webhook_secret, "COUNTERSIGN_WEBHOOK_SECRET");
        renew(
            &mut args.webhook_secret_previous,
            "COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS",
        );
        renew(&mut args.api_token, "COUNTERSIGN_API_TOKEN");
        let credentials = &mut args.credentials;
        renew(&mut credentials.private_key, "COUNTERSIGN_PRIVATE_KEY");
        let path = "COUNTERSIGN_PRIVATE_KEY_PATH";
        if credentials.private_key_path.as_ref() == self.held.get(path) {
            credentials.private_key_path = holds.get(path).cloned();
        }
        Settings::from_args(args)
    }
}

#[cfg(test)]
mod tests {
    use super::super::CredentialArgs;
    use super::*;

    fn dotenv(lines: &[(&str, &str)]) -> Dotenv {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        lines.iter().map(owned).collect()
    }

    fn told() -> ServeArgs {
        ServeArgs {
            credentials: CredentialArgs {
                app_id: Some("7".to_owned()),
                private_key: Some("key".into()),
                ..CredentialArgs::default()
            },
            webhook_secret: Some("first".into()),
            ..ServeArgs::default()
        }
    }

    fn secrets(settings: &Settings) -> Vec<&str> {
        let secrets = settings.webhook_secrets.iter();
        secrets.map(ExposeSecret::expose_secret).collect()
    }

    #[test]
    fn what_came_from_the_file_is_read_again_and_may_be_new_in_it() {
        let again = Again::new(told(), dotenv(&[("COUNTERSIGN_WEBHOOK_SECRET", "first")]));
        let now = dotenv(&[
            ("COUNTERSIGN_WEBHOOK_SECRET", "second"),
            ("COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS", "first"),
            ("COUNTERSIGN_API_TOKEN", "token"),
            ("COUNTERSIGN_LISTEN", "0.0.0.0:1"),
        ]);
        let settings = again.read(&now).unwrap();
        assert_eq!(secrets(&settings), ["second", "first"]);
        let token = settings.api_token.as_ref().map(ExposeSecret::expose_secret);
        assert_eq!(token, Some("token"));
        assert_eq!(settings.listen.to_string(), super::super::LISTEN);
    }

    #[test]
    fn what_came_from_a_flag_or_the_environment_stays() {
        let again = Again::new(told(), dotenv(&[("COUNTERSIGN_WEBHOOK_SECRET", "unused")]));
        let now = dotenv(&[("COUNTERSIGN_WEBHOOK_SECRET", "second")]);
        assert_eq!(secrets(&again.read(&now).unwrap()), ["first"]);
    }

    #[test]
    fn what_was_taken_out_of_the_file_is_missing() {
        let again = Again::new(told(), dotenv(&[("COUNTERSIGN_WEBHOOK_SECRET", "first")]));
        let complaints = again.read(&Dotenv::new()).unwrap_err();
        assert_eq!(complaints[0].setting, "COUNTERSIGN_WEBHOOK_SECRET");
    }

    #[test]
    fn the_private_key_s_file_is_read_anew() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "one").unwrap();
        let mut args = told();
        args.credentials.private_key = None;
        args.credentials.private_key_path = Some(file.path().display().to_string());
        let again = Again::new(args, Dotenv::new());
        let key = |again: &Again| {
            let settings = again.read(&Dotenv::new()).unwrap();
            let key = settings.credentials.private_key;
            key.expose_secret().to_owned()
        };
        assert_eq!(key(&again), "one");
        std::fs::write(file.path(), "two").unwrap();
        assert_eq!(key(&again), "two");
    }
}
