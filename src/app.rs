//! The real parts, wired.
//!
//! [`App`] is the whole server but for its sockets: it can be run ([`App::run`]) or stepped by hand
//! ([`App::settle`]), and takes the same path either way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Notify, watch};

use crate::clock::Clock;
use crate::dispatch::Dispatching;
use crate::domain::alarms::Alarm;
use crate::domain::model::AppId;
use crate::execute::Execute;
use crate::gather::Gather;
use crate::github::{Reads, Refused, Writes};
use crate::hear::Hear;
use crate::intake::Intake;
use crate::reconcile::{Reconcile, Steps};
use crate::settings::Live;
use crate::store::{Store, Stored};
use crate::sweep::retention::Retention;
use crate::sweep::{Sweep, SweepError};
use crate::telemetry::Meters;
use crate::watch::{About, Watch};
use crate::web::evidence::Posting;
use crate::web::{self, Addresses, Scrape, WebState, server};
use crate::webhook::{self, Webhook};
use crate::worker::Worker;

/// How many passes are made at once, half of them of one installation. They wait for GitHub most of the
/// time.
const PASSES: usize = 16;
/// How often to look for what stands still.
const WATCH_PAUSE: Duration = Duration::from_secs(60);
/// How soon GitHub is asked again who we are, while it does not say.
const PROOF_PAUSE: Duration = Duration::from_secs(15);
/// How soon to listen again for other servers, when there was no connection to listen on.
const DEAF_PAUSE: Duration = Duration::from_secs(5);

/// What an [`App`] is made of.
pub struct Parts {
    /// What is kept.
    pub store: Arc<dyn Store>,
    /// How GitHub is asked.
    pub reads: Arc<dyn Reads>,
    /// How GitHub is written to.
    pub writes: Arc<dyn Writes>,
    /// The time.
    pub clock: Clock,
    /// Our own App.
    pub own_app: AppId,
    /// What deliveries may be signed with.
    pub webhook_secrets: Vec<SecretString>,
    /// Opens the API and the dashboard; open to everybody without.
    pub api_token: Option<SecretString>,
    /// What pages lead to.
    pub addresses: Addresses,
    /// How often the sweep looks at everything.
    pub sweep_interval: Duration,
    /// Nothing is written to GitHub.
    pub shadow: bool,
    /// What is counted; those of the client, so that its requests are shown.
    pub meters: Meters,
}

/// What opens the server, and can be replaced while it runs.
#[derive(Debug, Clone)]
pub struct Keys {
    /// What deliveries may be signed with.
    pub webhook_secrets: Live<Vec<SecretString>>,
    /// Opens the API and the dashboard.
    pub api_token: Live<Option<SecretString>>,
}

/// The whole server.
pub struct App {
    woken: Arc<Notify>,
    reads: Arc<dyn Reads>,
    intake: Mutex<Intake<dyn Store>>,
    worker: Worker,
    sweep: Sweep,
    routes: Router,
    keys: Keys,
    retention: Option<Retention>,
    store: Arc<dyn Store>,
    clock: Clock,
    ready: Arc<AtomicBool>,
    watch: Watch,
    sweep_interval: Duration,
    writer: Option<webhook::Writer<dyn Store>>,
}

fn budgets(reads: &Arc<dyn Reads>) -> web::Budgets {
    let reads = Arc::clone(reads);
    Arc::new(move || reads.budgets())
}

impl App {
    /// Wires the parts. Nothing runs yet.
    pub fn new(parts: Parts) -> Self {
        let arrived = Arc::new(Notify::new());
        let woken = Arc::new(Notify::new());
        let Parts {
            store,
            reads,
            writes,
            clock,
            own_app,
            ..
        } = parts;
        let (door, writer) = webhook::open(store.clone(), arrived.clone());
        let meters = parts.meters;
        let webhook = Webhook::new(parts.webhook_secrets, door, clock.clone());
        let webhook = Arc::new(webhook.metered(meters.clone()));
        let keys = Keys {
            webhook_secrets: webhook.secrets(),
            api_token: Live::new(parts.api_token),
        };
        let about = About {
            own_app,
            sweep_interval: parts.sweep_interval,
            shadow: parts.shadow,
        };
        let addresses = parts.addresses;
        let state = shown((&store, &reads, &clock), about, &keys, &addresses, &meters);
        let (ready, watch) = (state.ready.clone(), state.watch.clone());
        let sweep = Sweep::new(store.clone(), reads.clone(), clock.clone()).in_shadow(parts.shadow);
        let (kept, told, shadow) = (store.clone(), clock.clone(), parts.shadow);
        let world = (&store, &reads, &clock);
        let steps = steps(world, writes, own_app, sweep.clone(), shadow);
        let reconcile = Reconcile::new(store.clone(), clock.clone(), steps, shadow);
        let worker = Worker::new(
            store.clone(),
            Arc::new(reconcile),
            clock.clone(),
            woken.clone(),
        )
        .metered(meters);
        let posting = Posting::new(
            store.clone(),
            reads.clone(),
            clock.clone(),
            own_app,
            addresses,
            woken.clone(),
        );
        let intake = Intake::new(store.clone(), own_app, clock, arrived, woken.clone());
        Self {
            woken,
            reads,
            intake: Mutex::new(intake),
            worker,
            sweep,
            routes: web::strict(
                web::router(state)
                    .merge(webhook.routes())
                    .merge(posting.routes()),
            ),
            keys,
            retention: None,
            store: kept,
            clock: told,
            ready,
            watch,
            sweep_interval: parts.sweep_interval,
            writer: Some(writer),
        }
    }

    /// Every route: webhook, evidence, API, dashboard, probes.
    pub fn routes(&self) -> Router {
        self.routes.clone()
    }

    /// The same server, letting go of what is older than this after each sweep.
    #[must_use]
    pub fn keeping(mut self, age: Duration) -> Self {
        let (store, clock) = (self.store.clone(), self.clock.clone());
        self.retention = Some(Retention::new(store, clock, age));
        self
    }

    /// What can be replaced while the server runs.
    pub fn keys(&self) -> Keys {
        self.keys.clone()
    }

    /// Starts the one writer that stores deliveries; for stepping by hand. It ends with its routes.
    pub fn open_inbox(&mut self) {
        if let Some(writer) = self.writer.take() {
            tokio::spawn(writer.run());
        }
    }

    /// Understands every delivery that waits and makes every pass that is due now, at most `most`
    /// passes; tells how many it made.
    ///
    /// # Errors
    /// The store's.
    pub async fn settle(&self, most: usize) -> Stored<usize> {
        let mut made = 0;
        loop {
            let understood = self.understand().await?;
            let worked = self.worker.settle(most.saturating_sub(made)).await?;
            made += worked;
            if understood + worked == 0 || made >= most {
                return Ok(made);
            }
        }
    }

    /// Understands every delivery that waits; tells how many.
    ///
    /// # Errors
    /// The store's.
    pub async fn understand(&self) -> Stored<usize> {
        let mut intake = self.intake.lock().await;
        let mut understood = 0;
        loop {
            match intake.step().await? {
                0 => return Ok(understood),
                taken => understood += taken,
            }
        }
    }

    /// Makes one pass, if one is due.
    ///
    /// # Errors
    /// The store's.
    pub async fn step(&self) -> Stored<Option<crate::domain::model::Key>> {
        self.worker.step().await
    }

    /// Looks at every installation, and wakes every repository.
    ///
    /// # Errors
    /// The store's and GitHub's.
    pub async fn sweep(&self) -> Result<usize, SweepError> {
        let swept = self.sweep.everything().await;
        noted(&self.watch, &swept);
        swept
    }

    /// Looks for what stands still and should not.
    pub async fn alarms(&self) -> Vec<Alarm> {
        self.watch.look().await
    }

    /// Serves and works until `shutdown` says so, then drains. The order at the end matters: no
    /// delivery is taken any more before the writer and the worker stop.
    pub async fn run(mut self, listener: TcpListener, shutdown: watch::Receiver<bool>) {
        let writer = self.writer.take().map(|writer| tokio::spawn(writer.run()));
        let intake = self.intake.into_inner().run(shutdown.clone());
        let worker = self.worker.clone().run(PASSES, shutdown.clone());
        let watching = look(self.watch.clone(), shutdown.clone());
        let healer = Healer {
            reads: self.reads,
            sweep: self.sweep,
            watch: self.watch,
            retention: self.retention,
            ready: self.ready,
            interval: self.sweep_interval,
        };
        let healing = healer.run(shutdown.clone());
        let neighbours = hear_neighbours(self.store, self.woken, shutdown.clone());
        let routes = self.routes;
        let serving = server::serve(listener, routes, server::Limits::default(), shutdown);
        let (cut_off, (), (), (), (), ()) =
            tokio::join!(serving, intake, worker, healing, neighbours, watching);
        if cut_off > 0 {
            tracing::warn!(cut_off, "connections were cut off by the shutdown");
        }
        if let Some(writer) = writer
            && writer.await.is_err()
        {
            tracing::error!("the inbox's writer ended abruptly");
        }
    }
}

/// Has the worker look for work when another server on the same database woke some.
async fn hear_neighbours(
    store: Arc<dyn Store>,
    woken: Arc<Notify>,
    mut shutdown: watch::Receiver<bool>,
) {
    let hearing = async {
        loop {
            match store.woken_elsewhere().await {
                Ok(()) => woken.notify_one(),
                Err(error) => {
                    // Work is found without: a few seconds later.
                    tracing::warn!(%error, "cannot hear other servers");
                    tokio::time::sleep(DEAF_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        _ = shutdown.wait_for(|stop| *stop) => {}
        () = hearing => {}
    }
}

/// What pages and answers are made from.
fn shown(
    (store, reads, clock): (&Arc<dyn Store>, &Arc<dyn Reads>, &Clock),
    about: About,
    keys: &Keys,
    addresses: &Addresses,
    meters: &Meters,
) -> WebState {
    let budgets = budgets(reads);
    WebState {
        store: store.clone(),
        clock: clock.clone(),
        api_token: keys.api_token.clone(),
        ready: Arc::new(AtomicBool::new(false)),
        addresses: addresses.clone(),
        watch: Watch::new(store.clone(), clock.clone(), about, meters.clone())
            .over(budgets.clone()),
        budgets,
        scrape: Scrape::new(meters.clone()),
    }
}

/// The steps of a pass.
fn steps(
    (store, reads, clock): (&Arc<dyn Store>, &Arc<dyn Reads>, &Clock),
    writes: Arc<dyn Writes>,
    own_app: AppId,
    sweep: Sweep,
    shadow: bool,
) -> Steps {
    let (store, reads, clock) = (|| store.clone(), || reads.clone(), || clock.clone());
    Steps {
        gather: Gather::new(store(), reads(), clock(), own_app),
        hear: Hear::new(store(), reads(), clock()),
        execute: Execute::new(store(), reads(), writes, clock(), own_app),
        sweep,
        dispatching: Dispatching::new(store(), reads(), clock(), shadow),
    }
}

/// Tells the watch how GitHub answered a sweep.
fn noted(watch: &Watch, swept: &Result<usize, SweepError>) {
    match swept {
        Ok(_) => watch.heard(None),
        Err(SweepError::Refused(refused)) => watch.heard(Some(refused)),
        // The store's trouble is seen by whoever looks.
        Err(SweepError::Store(_)) => {}
    }
}

/// What is wrong where GitHub does not take the App's own credentials. Its words name neither the setting nor
/// what else looks the same from outside.
fn what_to_mend(refused: &Refused) -> &'static str {
    match refused {
        Refused::NotFound(_) => "GitHub knows no App of this id: is COUNTERSIGN_APP_ID right?",
        Refused::Unauthorized(_) => {
            "the private key is another App's, or the clock is wrong: `countersign doctor` says which"
        }
        _ => "nothing, unless it lasts: it is tried again",
    }
}

/// Looks for what stands still until `shutdown` says so.
async fn look(watch: Watch, mut shutdown: watch::Receiver<bool>) {
    let looking = async {
        loop {
            watch.look().await;
            tokio::time::sleep(WATCH_PAUSE).await;
        }
    };
    tokio::select! {
        _ = shutdown.wait_for(|stop| *stop) => {}
        () = looking => {}
    }
}

/// Proves the credentials once, then sweeps at the start and at every interval.
struct Healer {
    reads: Arc<dyn Reads>,
    sweep: Sweep,
    watch: Watch,
    retention: Option<Retention>,
    ready: Arc<AtomicBool>,
    interval: Duration,
}

impl Healer {
    async fn run(self, mut shutdown: watch::Receiver<bool>) {
        tokio::select! {
            _ = shutdown.wait_for(|stop| *stop) => {}
            () = self.heal() => {}
        }
    }

    async fn heal(&self) {
        let mut said = String::new();
        loop {
            match self.reads.app().await {
                Ok(app) => {
                    tracing::info!(app = app.slug, "GitHub knows us");
                    self.watch.heard(None);
                    break;
                }
                Err(refused) => {
                    let hint = what_to_mend(&refused);
                    // Once for each cause: it is asked four times a minute.
                    let why = refused.to_string();
                    if said != why {
                        tracing::error!(%refused, hint, "not ready: GitHub has not accepted the credentials yet");
                        said = why;
                    }
                    self.watch.heard(Some(&refused));
                    tokio::time::sleep(PROOF_PAUSE).await;
                }
            }
        }
        self.ready.store(true, Ordering::Relaxed);
        loop {
            let swept = self.sweep.everything().await;
            noted(&self.watch, &swept);
            match swept {
                Ok(repositories) => tracing::info!(repositories, "swept"),
                Err(error) => tracing::warn!(%error, "the sweep could not finish"),
            }
            if let Some(retention) = &self.retention {
                match retention.prune().await {
                    Ok(0) => {}
                    Ok(rows) => tracing::info!(rows, "let go of what is old"),
                    Err(error) => tracing::warn!(%error, "what is old could not be let go"),
                }
            }
            tokio::time::sleep(self.interval).await;
        }
    }
}
