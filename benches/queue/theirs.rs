//! The same by `graphile_worker`: a job per pull request under a `job_key`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use graphile_worker::{
    IntoTaskHandlerResult, JobSpec, LocalQueueConfig, TaskHandler, WorkerContext, WorkerOptions,
    WorkerRecoveryConfig, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};

use crate::seen::Seen;
use crate::{Queue, Server};

pub const SCHEMA: &str = "graphile_worker";

/// What a job holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pass {
    pub number: u64,
    pub confirm: u8,
}

impl TaskHandler for Pass {
    const IDENTIFIER: &'static str = "pass";

    async fn run(self, ctx: WorkerContext) -> impl IntoTaskHandlerResult {
        ctx.get_ext::<Arc<Seen>>().unwrap().pass(self.number).await;
    }
}

pub struct Theirs {
    pool: PgPool,
    url: String,
    pub utils: WorkerUtils,
    ordered: bool,
    batched: bool,
    recovery: WorkerRecoveryConfig,
    poll: Duration,
}

impl Theirs {
    pub async fn open(url: &str, ordered: bool, batched: bool) -> Self {
        // Wakes are added as ours are: a commit does not wait for the disk.
        let pool = pool(url, true).await;
        let utils = WorkerUtils::new(pool.clone(), SCHEMA);
        utils.migrate().await.unwrap();
        Self {
            pool,
            url: url.into(),
            utils,
            ordered,
            batched,
            recovery: WorkerRecoveryConfig::default(),
            poll: Duration::from_secs(1),
        }
    }

    /// Looks so often. Without its local queue a slot takes one job whenever it looks or a job is added, so
    /// what waits already is worked off at this pace.
    pub fn polling(self, poll: Duration) -> Self {
        Self { poll, ..self }
    }

    /// Beats and looks twice a second; who has not beaten for so long counts as dead.
    pub fn dead_after(mut self, silence: Duration) -> Self {
        self.recovery = WorkerRecoveryConfig {
            heartbeat_interval: Duration::from_millis(500),
            sweep_interval: Duration::from_millis(500),
            sweep_threshold: silence,
            recovery_delay: Duration::ZERO,
            enabled: true,
            ..WorkerRecoveryConfig::default()
        };
        self
    }

    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// A pass over a pull request, one at a time if that is asked for.
    pub fn spec(&self, number: u64) -> JobSpec {
        let key = format!("pull:1:{number}");
        let spec = JobSpec::builder().job_key(key.clone());
        let spec = if self.ordered {
            spec.queue_name(key)
        } else {
            spec
        };
        spec.build()
    }
}

/// As many connections as our store has.
async fn pool(url: &str, light: bool) -> PgPool {
    let options: PgConnectOptions = url.parse().unwrap();
    let waits = if light { "off" } else { "on" };
    let options = options.options([("synchronous_commit", waits)]);
    let pool = PgPoolOptions::new().max_connections(16);
    pool.connect_with(options).await.unwrap()
}

#[async_trait]
impl Queue for Theirs {
    async fn wake(&self, numbers: &[u64]) {
        let job = |number| Pass { number, confirm: 0 };
        let done = match numbers {
            [one] => self
                .utils
                .add_job(job(*one), self.spec(*one))
                .await
                .map(drop),
            many => {
                let jobs: Vec<_> = many
                    .iter()
                    .map(|one| (job(*one), self.spec(*one)))
                    .collect();
                let jobs: Vec<_> = jobs.iter().map(|(job, spec)| (job.clone(), spec)).collect();
                self.utils.add_jobs(&jobs).await.map(drop)
            }
        };
        done.unwrap();
    }

    async fn server(&self, seen: Arc<Seen>) -> Server {
        let mut options = WorkerOptions::default()
            .pg_pool(pool(&self.url, false).await)
            .schema(SCHEMA)
            .concurrency(8)
            .poll_interval(self.poll)
            .listen_os_shutdown_signals(false)
            .worker_recovery(self.recovery.clone())
            .add_extension(seen)
            .define_job::<Pass>();
        if self.batched {
            options = options
                .local_queue(LocalQueueConfig::default())
                .complete_job_batch_delay(Duration::from_millis(5));
        }
        let worker = options.init().await.unwrap();
        let working = tokio::spawn(async move { worker.run().await.unwrap() });
        Server(vec![working])
    }
}
