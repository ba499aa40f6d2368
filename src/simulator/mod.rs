//! Be GitHub: a stateful double over real git, for stories, whole-product tests and the demo.
//!
//! It shares no wire code with the product on purpose: a mistake about GitHub made in both places
//! by the same lines would never show.
//!
//! Three layers: [`world`] is the state and the acts that change it; [`payload`] prints it as GitHub
//! does; [`actors`] are the people and Apps of a story. Before them stands the face that a client
//! sees: [`http`] with the credentials of [`auth`], [`deliveries`] going out, and what goes wrong with
//! either by a plan of [`faults`]. A story reads like this:
//!
//! ```ignore
//! let github = Simulator::new(Options { clock, seed: 1 })?;
//! let (alice, agent) = (github.user("alice"), github.user("acme-agent"));
//! let shop = github.repo("acme/shop", &[("src/lib.rs", "fn total() {}\n")])?;
//! shop.allow(&alice, Permission::Write)?;
//! shop.allow(&agent, Permission::Write)?;
//! shop.install_app(&alice)?;
//! agent.push(&shop, "agent/total", "Sum it up", Edits::write("src/lib.rs", "fn total() { 1 }\n"))?;
//! let pull = agent.open_pull(&shop, "agent/total", "main", "Sum it up")?;
//! github.actions().pass(&shop, &pull.head()?, "unit")?;
//! alice.merge(&pull, MergeMethod::Merge)?;                 // past the gate
//! let deliveries = github.lock().take_deliveries();        // what GitHub would send for all that
//!
//! let api_url = github.serve().await?;                     // or all of it over HTTP
//! github.set_webhook("http://127.0.0.1:8137/webhook");
//! github.set_faults(FaultPlan::none().with("PUT", "/merge", 1, Fault::DoneThen502));
//! github.deliver_all().await;
//! assert_eq!(github.calls_to("PUT", "/merge").len(), 1);
//! ```

pub mod actors;
pub mod auth;
pub mod deliveries;
pub mod faults;
pub mod git;
pub mod http;
pub mod payload;
pub mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;

pub use actors::{Actor, Credentials, Edits, PullHandle, RepoHandle};
pub use world::{MergeMethod, Permission, ReviewState, World};

/// What a simulated GitHub is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who tells the time.
    pub clock: Clock,
    /// From which ids and delivery GUIDs follow.
    pub seed: u64,
}

/// Why a simulated GitHub could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    /// The object store could not be laid out.
    #[error(transparent)]
    Git(#[from] git::Failure),
    /// The App's key could not be made.
    #[error("the App's private key could not be made")]
    Key,
}

/// A handle on one simulated GitHub; clones share it.
#[derive(Debug, Clone)]
pub struct Simulator {
    world: Arc<Mutex<World>>,
    credentials: Credentials,
    face: Arc<http::Face>,
}

impl Simulator {
    /// Makes one. The App's key is made once for the process (it takes a moment); so is the object
    /// store, while any simulator lives.
    ///
    /// # Errors
    /// [`Unavailable`] when the temporary folder or the key cannot be made.
    pub fn new(options: Options) -> Result<Self, Unavailable> {
        let pool = git::Pool::shared()?;
        let world = World::new(options.clock, options.seed, pool);
        let credentials = Credentials::of(&world)?;
        Ok(Self {
            world: Arc::new(Mutex::new(world)),
            credentials,
            face: Arc::default(),
        })
    }

    /// The world, for one act. Do not hold it across an `.await`.
    pub fn lock(&self) -> MutexGuard<'_, World> {
        // A story that panicked under the lock has told its own failure; others may go on.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What our App proves itself with.
    pub fn app(&self) -> &Credentials {
        &self.credentials
    }
}
