//! What the gates make of evidence, people, time and the platform.

mod independence;
mod mutation;
mod reports;
