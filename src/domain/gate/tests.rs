//! What the gates make of evidence, people, time and the platform.

mod appraisal;
mod independence;
mod mutation;
mod mutation_words;
mod next_steps;
mod people;
mod platform;
mod reports;
mod standing;
mod wanted;
