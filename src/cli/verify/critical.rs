//! Which changed files are critical, as it is typed: one rule for whatever makes evidence, or a document would
//! say of a test file what another leaves out.

use std::path::PathBuf;

use clap::Args;

use super::{Complaint, Exit, patterns};
use crate::domain::policy::globs::Globs;
use crate::domain::policy::{self, MutationCheck, MutationDemand, Timeouts};

/// What is not critical unless somebody says so: texts and tests.
const USUAL_EXCEPTIONS: [&str; 12] = [
    "**/*.md",
    "**/tests/**",
    "**/test/**",
    "**/*_test.*",
    "**/test_*",
    "**/test.*",
    "**/tests.*",
    "**/conftest.py",
    "**/*.test.*",
    "**/*.spec.*",
    "**/__tests__/**",
    "**/*.lock",
];

/// Which changed files are critical.
#[derive(Debug, Default, Args)]
pub struct CriticalArgs {
    /// Changed files whose lines must be shown to be tested [default: everything but texts and tests]
    #[arg(long, value_name = "GLOB")]
    critical: Vec<String>,
    /// Except these
    #[arg(long, value_name = "GLOB")]
    except: Vec<String>,
    /// Take what is critical from this policy's `mutation_check`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["critical", "except"])]
    policy: Option<PathBuf>,
}

impl CriticalArgs {
    /// What is critical: as the policy says, as typed, or the usual.
    ///
    /// # Errors
    /// What is wrong with a pattern or the policy.
    pub fn check(&self) -> Result<MutationCheck, Complaint> {
        if let Some(file) = &self.policy {
            let text = super::super::policy::text_of(file)?;
            let shown = file.display().to_string();
            let policy = policy::read::read(&text).map_err(|problems| {
                let told = super::super::policy::complaints(&shown, &problems);
                Complaint::new(Exit::Usage, format!("the policy is not valid\n{told}"))
            })?;
            return policy.gates.mutation_check.ok_or_else(|| {
                let text = format!(
                    "{shown} has no gates.mutation_check: say what is critical with --critical"
                );
                Complaint::new(Exit::Usage, text)
            });
        }
        let critical = match self.critical.is_empty() {
            true => vec!["**".to_owned()],
            false => self.critical.clone(),
        };
        let except = match self.is_usual() {
            true => USUAL_EXCEPTIONS.map(str::to_owned).to_vec(),
            false => self.except.clone(),
        };
        let globs = |flag: &str, typed: &[String]| {
            let patterns = patterns::from_the_top(flag, typed)?;
            Globs::paths(&patterns).map_err(|(index, why)| {
                Complaint::new(Exit::Usage, format!("{flag} {}: {why}", patterns[index]))
            })
        };
        Ok(MutationCheck {
            critical: globs("--critical", &critical)?,
            except: globs("--except", &except)?,
            require: MutationDemand::EveryHunk,
            timeouts: Timeouts::Inconclusive,
            by: Vec::new(),
        })
    }

    /// Said where nobody chose.
    pub fn note(&self) -> Option<String> {
        let except = USUAL_EXCEPTIONS.join(", ");
        (self.is_usual() && self.policy.is_none())
            .then(|| format!("critical is everything but {except}"))
    }

    /// Patterns that a person typed; a policy may name files that are still to come.
    pub fn typed(&self) -> Option<&[String]> {
        self.policy.is_none().then_some(&self.critical)
    }

    fn is_usual(&self) -> bool {
        self.critical.is_empty() && self.except.is_empty()
    }
}
