//! How fast the gate is, and what it costs. `cargo bench --bench gate` measures everything, `-- merging` after it
//! one part of it.
//!
//! Everything runs on this machine at once: the product, the simulated GitHub that it talks to over
//! loopback, and whoever posts deliveries. Figures are therefore lower bounds, and good for comparing
//! two versions on one machine, not two machines. What is a ratio is measured in one run.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only the pure rooms are denied the world"
)]

mod crowd;
mod deliveries;
mod judging;
mod merging;
mod nesting;
mod resident;
#[path = "../../tests/support/stage.rs"]
#[allow(dead_code, reason = "stories use the rest of the stage")]
mod stage;

use std::time::Duration;

type Part = (&'static str, fn() -> Vec<String>);

const PARTS: [Part; 6] = [
    ("judging", judging::measure),
    ("deliveries", deliveries::measure),
    ("crowd", crowd::measure),
    ("merging", merging::measure),
    ("resident", resident::measure),
    ("nesting", nesting::measure),
];

fn main() {
    // Cargo says `--bench`; the rest names parts.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    for (name, measure) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            println!("{name}");
            for line in measure() {
                println!("  {line}");
            }
        }
    }
}

/// Runs on a worker thread, as the server does: the main thread is woken up more slowly.
fn run<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::spawn(work).await.unwrap() })
}

/// The time that this share of all measured times does not exceed.
fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let at = ((times.len() as f64 * share) as usize).min(times.len() - 1);
    times[at]
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

fn per_second(count: u64, time: Duration) -> String {
    #[allow(clippy::cast_precision_loss, reason = "counts are small")]
    let rate = count as f64 / time.as_secs_f64();
    format!("{rate:.0}/s")
}
