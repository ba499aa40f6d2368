//! `countersign setup`: registers the GitHub App from `app-manifest.yml` by one click, and stores what it
//! proves itself with.
//!
//! GitHub lets no program register an App: a person has to confirm it in a browser. So a page on loopback
//! (see [`web::setup`](crate::web::setup)) sends the person to GitHub with the manifest; GitHub sends them
//! back with a code; the code is exchanged for the App's key and secret, which are written to the disk
//! before anything else is done with them.
//!
//! **Order is all.** What can be refused is refused before the page is shown ([`drawer`]), because after
//! the click there is an App at GitHub, and its key is told once. Whoever stops the command stops it
//! between requests: an exchange that has begun is brought to its end. Signals are heeded before the
//! first file is begun, so that none is left behind.
//!
//! **What is left out.** Opening the browser, which fails in ways of its own on servers; deleting an App
//! whose credentials were lost, which GitHub offers to people alone.

mod dotenv;
mod drawer;
mod told;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use super::stops::Stops;
use super::{Complaint, Ended, Exit};
use crate::clock::Clock;
use crate::github::Timeouts;
use crate::github::registration::{Asked, LONGEST_NAME, Registered, Registrar};
use crate::settings::{self, GITHUB_API_URL};
use crate::web::server::{self, Limits};
use crate::web::setup::{self as pages, Arrival, Offer, Outcome};
use drawer::{Drawer, Identity, Lost};
use told::Place;

/// What to register, where, and where to store it.
#[derive(Debug, Clone, Args)]
pub struct SetupArgs {
    /// The App's name, which no other App on GitHub may have; it can still be changed on GitHub's page
    /// [default: Countersign].
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    name: Option<String>,
    /// Register it for this organization instead of your own account.
    #[arg(long, value_name = "ORG", value_parser = parse_organization)]
    organization: Option<String>,
    /// The address under which GitHub will reach the server; without one the webhook stays off.
    #[arg(
        long,
        env = "COUNTERSIGN_PUBLIC_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    public_url: Option<String>,
    /// Where GitHub's REST API is [default: github.com's].
    #[arg(
        long,
        env = "COUNTERSIGN_GITHUB_API_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    github_api_url: Option<String>,
    /// Where GitHub's pages are [default: what belongs to the API's address].
    #[arg(long, value_name = "URL")]
    github_url: Option<String>,
    /// Where the local page listens, on loopback; port 0 takes a free one.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0", value_parser = parse_listen)]
    listen: SocketAddr,
    /// The folder for the key and the `.env` file.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    dir: PathBuf,
    /// Turn lines of `.env` that set the same variables into comments. A key is never overwritten.
    #[arg(long)]
    force: bool,
}

fn parse_name(text: &str) -> Result<String, String> {
    let text = text.trim();
    match text.chars().count() {
        0 => Err("an App needs a name".into()),
        1..=LONGEST_NAME => Ok(text.to_owned()),
        long => Err(format!(
            "GitHub takes {LONGEST_NAME} characters, not {long}"
        )),
    }
}

fn parse_organization(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || !text.chars().all(plain) {
        return Err("give the organization's login, as it stands in its address".into());
    }
    Ok(text.to_owned())
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text
        .parse()
        .map_err(|_| "give an IP address with a port, such as 127.0.0.1:0")?;
    if !address.ip().is_loopback() {
        return Err("the page is for this machine alone: give a loopback address".into());
    }
    Ok(address)
}

/// An address that was given, where one was; an empty variable counts as not set.
fn given(flag: &str, text: Option<&str>) -> Result<Option<String>, Complaint> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let address = settings::address(text);
    let wrong = || {
        let text = format!("{flag} is not an address of the form https://HOST[:PORT][/PATH]");
        Complaint::new(Exit::Usage, text)
    };
    address.map(Some).ok_or_else(wrong)
}

/// Runs it.
pub async fn run(args: SetupArgs) -> Ended {
    // Heard before there is anything to clear away.
    let mut stops = Stops::listen();
    let setup = Setup::prepare(args).await?;
    print!("{}", setup.invitation());
    let told = setup.wait(stops.next()).await?;
    print!("\n{told}");
    Ok(Exit::Done)
}

/// A setup that is ready for its visitor.
struct Setup {
    place: Place,
    drawer: Drawer,
    registrar: Registrar,
    listener: TcpListener,
    offer: Offer,
}

impl Setup {
    /// Everything that can be refused, before anybody is sent to GitHub.
    async fn prepare(args: SetupArgs) -> Result<Self, Complaint> {
        let internal = |text: String| Complaint::new(Exit::Internal, text);
        let public_url = given("--public-url", args.public_url.as_deref())?;
        let api_url = given("--github-api-url", args.github_api_url.as_deref())?;
        let api_url = api_url.unwrap_or_else(|| GITHUB_API_URL.to_owned());
        let github = given("--github-url", args.github_url.as_deref())?;
        let github = github.unwrap_or_else(|| crate::web::github_pages(&api_url));
        let mut more = Vec::new();
        more.extend(
            public_url
                .clone()
                .map(|url| ("COUNTERSIGN_PUBLIC_URL", url)),
        );
        if api_url != GITHUB_API_URL {
            more.push(("COUNTERSIGN_GITHUB_API_URL", api_url.clone()));
        }
        let drawer = Drawer::open(&args.dir, &more, args.force)?;
        let registrar = Registrar::new(&api_url, &Timeouts::default(), Clock::System);
        let registrar = registrar.map_err(|error| {
            Complaint::new(
                Exit::Usage,
                format!("--github-api-url cannot be used: {error}"),
            )
        })?;
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            let at = args.listen;
            let text = format!("cannot listen on {at}: {error}; choose another with --listen");
            Complaint::new(Exit::Usage, text)
        })?;
        let address = listener
            .local_addr()
            .map_err(|error| internal(error.to_string()))?;
        let mut asked = Asked::read().map_err(internal)?;
        asked.name = args.name.unwrap_or(asked.name);
        let back = format!("http://{address}{}", pages::CREATED);
        let manifest = asked.manifest(&back, public_url.as_deref());
        let place = Place {
            address,
            github,
            organization: args.organization,
            public_url,
        };
        let offer = Offer {
            name: asked.name,
            organization: place.organization.clone(),
            github: place.github.clone(),
            manifest: manifest.to_string(),
            permissions: asked.permissions.into_iter().collect(),
            events: asked.events,
            webhook: place.webhook(),
            folder: drawer.folder().display().to_string(),
        };
        Ok(Self {
            place,
            drawer,
            registrar,
            listener,
            offer,
        })
    }

    /// What to do, for the terminal.
    fn invitation(&self) -> String {
        told::invitation(&self.place, &self.offer.name)
    }

    /// Serves the page until somebody comes back from GitHub, or `stop`; the last words.
    async fn wait(self, stop: impl Future<Output = ()>) -> Result<String, Complaint> {
        let (arrivals, mut arrived) = mpsc::channel(1);
        let routes = pages::router(self.offer, self.place.address, arrivals)
            .map_err(|error| Complaint::new(Exit::Internal, error.to_string()))?;
        let (end, ended) = watch::channel(false);
        let limits = Limits {
            connections: 32,
            // A browser opens connections on which it never says a word.
            drain: std::time::Duration::from_secs(1),
            ..Limits::default()
        };
        let serving = tokio::spawn(server::serve(self.listener, routes, limits, ended));
        let arrival = tokio::select! {
            arrival = arrived.recv() => arrival,
            () = stop => None,
        };
        let told = match arrival {
            Some(arrival) => {
                let taken = take_over(&self.registrar, self.drawer, &self.place, &arrival).await;
                let (outcome, told) = match taken {
                    Ok((outcome, told)) => (outcome, Ok(told)),
                    Err(complaint) => (Outcome::Failed(complaint.text.clone()), Err(complaint)),
                };
                // The person may have closed the page; the terminal says it too.
                let _ = arrival.outcome.send(outcome);
                told
            }
            None => Err(Complaint::new(Exit::No, told::stopped(&self.place))),
        };
        let _ = end.send(true);
        let _ = serving.await;
        told
    }
}

/// From the code to the stored credentials.
async fn take_over(
    registrar: &Registrar,
    drawer: Drawer,
    place: &Place,
    arrival: &Arrival,
) -> Result<(Outcome, String), Complaint> {
    let exchanged = registrar.exchange(arrival.code.expose_secret()).await;
    let app: Registered = exchanged
        .map_err(|refused| Complaint::new(Exit::Remote, told::not_exchanged(place, &refused)))?;
    let identity = Identity {
        app_id: app.id.get(),
        webhook_secret: app.webhook_secret.as_ref(),
    };
    match drawer.store(&app.private_key, &identity) {
        Ok(stored) => {
            let outcome = Outcome::Registered {
                name: told::name_of(&app),
                install: place.install(&app),
            };
            Ok((outcome, told::registered(place, &app, &stored)))
        }
        Err(lost) => {
            let text = match &lost {
                Lost::Key(error) => told::key_lost(place, &app, error),
                Lost::Rest(key, error) => told::rest_lost(place, &app, key, error),
            };
            Err(Complaint::new(Exit::Internal, text))
        }
    }
}
