//! A verdict in words. Rendering never decides.

pub mod check;
pub mod terminal;
