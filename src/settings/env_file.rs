//! The `.env` file: its variables, and what is wrong with it, told without a word of what it holds.
//!
//! A line that is not understood often holds a secret: what is not understood about it is the secret's
//! blank, hash or dollar sign. So a complaint names the last variable that was understood before it, and
//! repeats nothing.

use std::collections::HashMap;
use std::fmt;
use std::io;

/// What a `.env` file says.
pub type Dotenv = HashMap<String, String>;

/// Why nothing was taken of a `.env` file.
#[derive(Debug)]
pub enum Unreadable {
    /// The file cannot be opened or read.
    Closed(io::Error),
    /// A line is not understood.
    Line {
        /// The variable that was understood last; none for the first line.
        after: Option<String>,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the .env file cannot be read: ")?;
        match self {
            Self::Closed(error) => write!(out, "{error}"),
            Self::Line { after } => {
                match after {
                    Some(name) => write!(out, "the line after {name} is not understood")?,
                    None => out.write_str("its first line is not understood")?,
                }
                out.write_str(
                    ". Each line is NAME=VALUE; put a value with blanks, #, $ or quotes between single quotes",
                )
            }
        }
    }
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    fn new(error: dotenvy::Error, after: Option<&String>) -> Self {
        match error {
            dotenvy::Error::Io(error) => Self::Closed(error),
            _ => Self::Line {
                after: after.cloned(),
            },
        }
    }
}

/// What `.env` in this folder, or the nearest above it, holds; a file that is not there holds nothing.
///
/// # Errors
/// It cannot be read to its end: then nothing of it counts, since what is half read may be half a set-up.
pub fn read() -> Result<Dotenv, Unreadable> {
    match dotenvy::dotenv_iter() {
        Ok(lines) => collect(lines),
        Err(error) if error.not_found() => Ok(Dotenv::new()),
        Err(error) => Err(Unreadable::new(error, None)),
    }
}

fn collect(
    lines: impl Iterator<Item = dotenvy::Result<(String, String)>>,
) -> Result<Dotenv, Unreadable> {
    let mut held = Dotenv::new();
    let mut last = None;
    for line in lines {
        let (name, value) = line.map_err(|error| Unreadable::new(error, last.as_ref()))?;
        last = Some(name.clone());
        held.insert(name, value);
    }
    Ok(held)
}

/// Takes `.env` into the environment of this process; what stands there already wins.
///
/// # Errors
/// As [`read`].
pub fn load() -> Result<(), Unreadable> {
    match dotenvy::dotenv() {
        Ok(_) => Ok(()),
        Err(error) if error.not_found() => Ok(()),
        // Read again to tell which line it is.
        Err(error) => Err(read().err().unwrap_or_else(|| Unreadable::new(error, None))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let lines = dotenvy::Iter::new(text.as_bytes());
        collect(lines).map_or_else(
            |error| error.to_string(),
            |held| format!("{} read", held.len()),
        )
    }

    #[test]
    fn a_line_that_is_not_understood_is_named_by_the_one_before_it_and_never_repeated() {
        let told = [
            told("A=1\nB='two words'\n"),
            told("A=1\nSECRET=hunter2 is my secret\n"),
            told("hunter2\n"),
            told("A=1\n\nSECRET='hunter2\n"),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        2 read
        the .env file cannot be read: the line after A is not understood. Each line is NAME=VALUE; put a value with blanks, #, $ or quotes between single quotes
        the .env file cannot be read: its first line is not understood. Each line is NAME=VALUE; put a value with blanks, #, $ or quotes between single quotes
        the .env file cannot be read: the line after A is not understood. Each line is NAME=VALUE; put a value with blanks, #, $ or quotes between single quotes
        ");
    }
}
