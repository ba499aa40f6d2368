//! Logs: what is written where, in which form; and spans, where a collector wants them.
//!
//! Lines go to standard error, so that standard output holds answers only. Colour is for terminals,
//! and not where `NO_COLOR` is set. Fields are named alike everywhere: `delivery`, `event`, `repo`,
//! `number`, `head`, `key`, `effect`, `error`, `why`.

pub mod calls;
mod meters;
#[cfg(feature = "otlp")]
mod spans;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::{SubscriberInitExt as _, TryInitError};

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
    /// The collector's variables cannot be used.
    #[error("the collector named by OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {0}")]
    Collector(String),
    /// Something set up logging before.
    #[error("logging was set up before: {0}")]
    Twice(#[from] TryInitError),
}

/// Sends spans that are still unsent when it goes: to be held until the program ends.
#[must_use = "spans that are unsent are sent when it goes"]
pub struct Unsent {
    #[cfg(feature = "otlp")]
    _spans: Option<spans::Unsent>,
}

/// Whether OpenTelemetry's variables name a collector that wants spans.
fn collector_is_named() -> bool {
    [
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ]
    .iter()
    .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Libraries log what they answer us as well, and we tell what became of it: GitHub's refusals, slow and failed
/// statements. Directives that name them hear them again.
const TOLD_BY_US: &str = "octocrab=off,sqlx=off";

fn filter(directives: &str) -> Result<EnvFilter, TelemetryError> {
    let all = format!("{TOLD_BY_US},{directives}");
    EnvFilter::try_new(all).map_err(|error| TelemetryError::Directives {
        directives: directives.to_owned(),
        why: error.to_string(),
    })
}

/// Sets up logging for the whole process, once.
///
/// # Errors
/// [`TelemetryError`] when the directives do not parse, the collector's variables cannot be used, or logging
/// is set up already.
pub fn init(directives: &str, format: LogFormat) -> Result<Unsent, TelemetryError> {
    let filter = filter(directives)?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // Complaining on the stream that failed would end the program in a panic: whoever read the log may
        // be gone, and the server is not for the log.
        .log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(colour).boxed()
        }
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let registry = tracing_subscriber::registry();
    #[cfg(feature = "otlp")]
    let (registry, unsent) = {
        let (spans, unsent) = spans::layer()?.unzip();
        (registry.with(spans), Unsent { _spans: unsent })
    };
    #[cfg(not(feature = "otlp"))]
    let unsent = Unsent {};
    registry.with(lines.with_filter(filter)).try_init()?;
    if cfg!(not(feature = "otlp")) && collector_is_named() {
        tracing::warn!(
            "OTEL_EXPORTER_OTLP_ENDPOINT names a collector, and this program was built without one's \
             protocol: build it with --features otlp, or unset the variable"
        );
    }
    Ok(unsent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_that_do_not_parse_are_named_before_anything_is_set_up() {
        let error = init("countersign=loud", LogFormat::Text).err().unwrap();
        assert!(error.to_string().contains("countersign=loud"), "{error}");
    }

    #[test]
    fn libraries_are_heard_only_by_whoever_names_them() {
        let said = |directives: &str| {
            let (heard, lines) = std::sync::mpsc::channel();
            let heard = std::sync::Mutex::new(heard);
            let layer = tracing_subscriber::fmt::layer().with_writer(move || {
                let heard = heard.lock().unwrap().clone();
                heard.send(()).unwrap();
                std::io::sink()
            });
            let layers = layer.with_filter(filter(directives).unwrap());
            let registry = tracing_subscriber::registry().with(layers);
            tracing::subscriber::with_default(registry, || {
                tracing::error!(target: "octocrab", "refused");
                tracing::warn!(target: "sqlx::query", "slow");
            });
            lines.try_iter().count()
        };
        assert_eq!(said("info"), 0);
        assert_eq!(said("debug"), 0);
        assert_eq!(said("info,octocrab=warn"), 1);
        assert_eq!(said("info,octocrab=warn,sqlx=info"), 2);
    }

    #[test]
    fn setting_up_logging_twice_is_told_and_does_not_panic() {
        let _ = init("off", LogFormat::Json);
        let error = init("off", LogFormat::Text).err().unwrap();
        assert!(matches!(error, TelemetryError::Twice(_)), "{error}");
    }
}
