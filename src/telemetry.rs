//! Logs: what is written where, in which form.
//!
//! Lines go to standard error, so that standard output holds answers only. Colour is for terminals,
//! and not where `NO_COLOR` is set. Fields are named alike everywhere: `delivery`, `event`, `repo`,
//! `number`, `head`, `key`, `effect`, `error`, `why`.

pub mod calls;
mod meters;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::TryInitError;

use crate::settings::LogFormat;

pub use meters::Meters;

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The directives do not parse (settings are checked before; this is for other callers).
    #[error("the log directives {directives:?} are not understood: {why}")]
    Directives {
        /// What was asked for.
        directives: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something set up logging before.
    #[error("logging was set up before: {0}")]
    Twice(#[from] TryInitError),
}

/// Sets up logging for the whole process, once.
///
/// # Errors
/// [`TelemetryError`] when the directives do not parse or logging is set up already.
pub fn init(directives: &str, format: LogFormat) -> Result<(), TelemetryError> {
    use tracing_subscriber::util::SubscriberInitExt;

    let filter = EnvFilter::try_new(directives).map_err(|error| TelemetryError::Directives {
        directives: directives.to_owned(),
        why: error.to_string(),
    })?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(colour).finish().try_init()?;
        }
        LogFormat::Json => lines.json().flatten_event(true).finish().try_init()?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_do_not_parse_are_named_before_anything_is_set_up() {
        let error = init("countersign=loud", LogFormat::Text).unwrap_err();
        assert!(error.to_string().contains("countersign=loud"), "{error}");
    }

    #[test]
    fn setting_up_logging_twice_is_told_and_does_not_panic() {
        let _ = init("off", LogFormat::Json);
        let error = init("off", LogFormat::Text).unwrap_err();
        assert!(matches!(error, TelemetryError::Twice(_)), "{error}");
    }
}
