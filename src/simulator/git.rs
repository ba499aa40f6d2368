//! Real git.

/// Where git objects are kept.
#[derive(Debug)]
pub struct Pool {}

/// A bare repository.
#[derive(Debug)]
pub struct Bare {}
