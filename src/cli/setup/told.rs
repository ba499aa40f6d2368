//! What `countersign setup` says in the terminal.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use super::drawer::Stored;
use crate::github::Refused;
use crate::github::registration::Registered;

/// Where everything is.
#[derive(Debug, Clone)]
pub struct Place {
    /// Where the local page is.
    pub address: SocketAddr,
    /// Where GitHub's pages are.
    pub github: String,
    /// Whose App it will be; the person's own without one.
    pub organization: Option<String>,
    /// Where the server will be reached.
    pub public_url: Option<String>,
}

impl Place {
    /// Where deliveries will go.
    pub fn webhook(&self) -> Option<String> {
        let public = self.public_url.as_ref()?;
        Some(format!("{public}/webhook"))
    }

    /// The page on which the owner's Apps are listed.
    fn apps(&self) -> String {
        match &self.organization {
            Some(organization) => {
                format!("{}/organizations/{organization}/settings/apps", self.github)
            }
            None => format!("{}/settings/apps", self.github),
        }
    }

    /// The App's settings, or the list in which it stands.
    fn settings(&self, app: &Registered) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        match app.slug.as_ref().filter(|slug| slug.chars().all(plain)) {
            Some(slug) => format!("{}/{slug}", self.apps()),
            None => self.apps(),
        }
    }

    /// Where the App is installed.
    pub fn install(&self, app: &Registered) -> String {
        match &app.html_url {
            Some(page) => format!("{}/installations/new", plain(page)),
            None => self.settings(app),
        }
    }
}

/// Without what would steer a terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// What to call the App.
pub fn name_of(app: &Registered) -> String {
    let name = app.name.as_ref().or(app.slug.as_ref());
    name.map_or_else(|| "The App".to_owned(), |name| plain(name))
}

/// Whether an address is one that GitHub refuses as a webhook's.
fn is_near(url: &str) -> bool {
    let uri: Option<http::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default();
    let ip: Option<std::net::IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    host.eq_ignore_ascii_case("localhost") || ip.is_some_and(|ip| ip.is_loopback())
}

/// What to do first.
pub fn invitation(place: &Place, name: &str) -> String {
    let whose = match &place.organization {
        Some(organization) => format!("the organization {organization}"),
        None => "your own account".to_owned(),
    };
    let mut text = format!(
        "Open this page in a browser on this machine and press its button:\n\n    http://{0}/\n\n\
         Is there no browser here? Run `ssh -L {0}:{0} THIS-MACHINE` where there is one, and open it there.\n\
         GitHub then shows the App \"{name}\" for {whose}, and sends you back once you have confirmed it.\n",
        place.address
    );
    match &place.public_url {
        None => text.push_str(
            "No --public-url was given: the App's webhook stays off until you enter its address.\n",
        ),
        Some(url) if is_near(url) => {
            let _ = writeln!(
                text,
                "GitHub refuses webhooks on the machine itself: {url} must be an address that it reaches."
            );
        }
        Some(_) => {}
    }
    text.push_str("Until then Ctrl-C ends this, and nothing has happened.\n");
    text
}

/// The end, and what comes next.
pub fn registered(place: &Place, app: &Registered, stored: &Stored) -> String {
    let mut text = format!(
        "The GitHub App \"{}\" is registered (id {}). Stored, for you alone to read:\n\n    {}\n        \
         its private key; GitHub does not show it again\n    {}\n",
        name_of(app),
        app.id,
        stored.key.display(),
        stored.env.display(),
    );
    for variable in &stored.variables {
        let _ = writeln!(text, "        {variable}");
    }
    let settings = place.settings(app);
    let mut steps = Vec::new();
    if app.webhook_secret.is_none() {
        steps.push(format!(
            "GitHub made no webhook secret. Make one (openssl rand -hex 32) and enter it twice: at\n     \
             {settings}\n     and as COUNTERSIGN_WEBHOOK_SECRET in .env."
        ));
    }
    steps.push(format!(
        "Install the App on the repositories it is to gate:\n     {}",
        place.install(app)
    ));
    steps.push(
        "Commit a policy there as .github/countersign.yml, on the branch that pull requests enter."
            .to_owned(),
    );
    if place.public_url.is_none() {
        steps.push(format!(
            "Once the server has a public address, enter ADDRESS/webhook as the webhook URL at\n     \
             {settings}\n     and tick Active."
        ));
    }
    let folder = stored.env.parent().unwrap_or(&stored.env);
    steps.push(format!(
        "Start the server in {}: countersign serve",
        folder.display()
    ));
    text.push_str("\nKeep both out of version control. What comes next:\n\n");
    for (index, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "  {}. {step}", index + 1);
    }
    text
}

/// Stopped before anybody came back.
pub fn stopped(place: &Place) -> String {
    format!(
        "stopped; nothing was stored. If you have confirmed the App on GitHub already, delete it at {}",
        place.apps()
    )
}

/// The code came to nothing.
pub fn not_exchanged(place: &Place, refused: &Refused) -> String {
    let why = match refused {
        Refused::NotFound(_) => {
            "GitHub does not take the code (404): it was used, is older than an hour, or belongs to \
             another GitHub than the API's address"
                .to_owned()
        }
        refused => format!("the App's credentials were not handed out: {refused}"),
    };
    format!(
        "{why}. If the App is listed at {}, delete it there: its key cannot be fetched any more. Then \
         run countersign setup again",
        place.apps()
    )
}

/// The key could not be written.
pub fn key_lost(place: &Place, app: &Registered, error: &std::io::Error) -> String {
    format!(
        "the App \"{}\" (id {}) is registered, but its private key could not be written: {error}. GitHub \
         does not show it again: delete the App at {}/advanced, then run countersign setup again",
        name_of(app),
        app.id,
        place.settings(app)
    )
}

/// The key is written, the settings are not.
pub fn rest_lost(place: &Place, app: &Registered, key: &Path, error: &std::io::Error) -> String {
    format!(
        "the App \"{}\" is registered and its private key is in {}, but the settings could not be \
         written: {error}. Set COUNTERSIGN_APP_ID={} and COUNTERSIGN_PRIVATE_KEY_PATH by hand, and enter a \
         new webhook secret at {} and as COUNTERSIGN_WEBHOOK_SECRET; or delete the App there and run \
         countersign setup again",
        name_of(app),
        key.display(),
        app.id,
        place.settings(app)
    )
}
