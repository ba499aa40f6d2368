//! A verdict in words. Rendering never decides: it says what the tree says.
//!
//! Every face shows the same tree: [`check`] is the check run on GitHub, [`terminal`] what `explain`
//! prints, [`json`] what programs get and what the dashboard is made from. They share [`words`], so
//! that nobody reads "waiting" in one place and "pending" in another.
//!
//! Most of what a verdict says was written by somebody else: check names, titles, findings, GitHub's
//! own sentences. [`text`] and `markdown` make such text harmless for the place where it is shown. It
//! cannot ping anybody, start a command, hide behind an HTML comment, leave its table cell or steer a
//! terminal.

pub mod answer;
pub mod check;
pub mod diagnosis;
pub mod json;
mod markdown;
pub mod preview;
pub mod terminal;
pub mod text;
pub mod words;

#[cfg(test)]
mod tests;
