//! A verdict in words. Rendering never decides.

pub mod check;
pub mod json;
pub mod terminal;
