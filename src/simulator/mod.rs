//! Be GitHub: a stateful double over real git, for stories, whole-product tests and the demo.
//!
//! It shares no wire code with the product on purpose: a mistake about GitHub made in both places
//! by the same lines would never show.

pub mod git;
pub mod payload;
pub mod world;
