//! The product in this very process: its routes, its store and its way to GitHub, without sockets.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use countersign::app::{App, Parts};
use countersign::clock::Clock;
use countersign::domain::model::AppId;
use countersign::github::auth::AppKey;
use countersign::github::{Client, ClientOptions, Timeouts};
use countersign::simulator::Simulator;
use countersign::simulator::deliveries::Signed;
use countersign::store::{Store, Stored};
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use tower::ServiceExt as _;

use super::trouble::{Trouble, Troubled, Wire};

/// Where the simulated GitHub says it is.
pub const API: &str = "http://github.sim";
/// More passes than any world needs between two acts.
const MOST_PASSES: usize = 400;

/// Whether `COUNTERSIGN_TRACE` asks for everything that happens.
pub fn asked() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("COUNTERSIGN_TRACE").is_some())
}

/// Tells of what happens while it happens, where that is asked for.
pub fn tell(what: impl FnOnce() -> String) {
    if asked() {
        eprintln!("{}", what());
    }
}

/// A product over a store, with a clock and troubles of its own. Deliveries are not sent to it yet.
pub fn product(
    github: &Simulator,
    store: &Arc<dyn Store>,
    clock: &Clock,
    trouble: &Arc<Trouble>,
) -> App {
    // The one key of this process's Apps; taking it apart costs more than a whole world does.
    static KEY: OnceLock<AppKey> = OnceLock::new();
    let credentials = github.app();
    let own_app = AppId::new(credentials.app_id).unwrap();
    let key = KEY.get_or_init(|| AppKey::read(&credentials.private_key_pem).unwrap());
    let options = ClientOptions {
        api_url: API.to_owned(),
        app_id: own_app,
        key: key.clone(),
        clock: clock.clone(),
        timeouts: Timeouts {
            pauses: [Duration::ZERO; 2],
            ..Timeouts::default()
        },
    };
    let wire = Wire {
        github: github.clone(),
        trouble: trouble.clone(),
    };
    let client = Arc::new(Client::over(options, Arc::new(wire)).unwrap());
    let store = Troubled {
        inner: store.clone(),
        trouble: trouble.clone(),
    };
    let mut app = App::new(Parts {
        store: Arc::new(store),
        reads: client.clone(),
        writes: client,
        clock: clock.clone(),
        own_app,
        webhook_secrets: vec![credentials.webhook_secret.clone().into()],
        api_token: None,
        addresses: countersign::web::Addresses {
            public: None,
            github: None,
        },
        sweep_interval: Duration::from_secs(600),
        shadow: false,
        meters: countersign::telemetry::Meters::default(),
    });
    app.open_inbox();
    app
}

/// From now on deliveries go to this product.
pub fn receive(github: &Simulator, app: &App) {
    let routes = app.routes();
    github.set_receiver(move |signed| {
        let routes = routes.clone();
        Box::pin(async move {
            let what = if asked() {
                named(&signed)
            } else {
                String::new()
            };
            let answer = routes.oneshot(request(signed)).await.ok()?;
            let status = answer.status().as_u16();
            let body = Limited::new(answer.into_body(), 64 * 1024).collect().await;
            let body = body.map(|body| body.to_bytes()).unwrap_or_default();
            tell(|| format!("  <- {status} {what}"));
            Some((status, String::from_utf8_lossy(&body).into_owned()))
        })
    });
}

/// What a delivery is about.
fn named(signed: &Signed) -> String {
    let event = signed.headers.iter();
    let event = event.filter(|(name, _)| name.eq_ignore_ascii_case("x-github-event"));
    let event: Vec<&str> = event.map(|(_, value)| value.as_str()).collect();
    let body: serde_json::Value = serde_json::from_slice(&signed.body).unwrap_or_default();
    format!(
        "{} {}",
        event.join(" "),
        body["action"].as_str().unwrap_or_default()
    )
}

fn request(signed: Signed) -> Request<Body> {
    let mut request = Request::post("/webhook");
    for (name, value) in signed.headers {
        request = request.header(name, value);
    }
    request.body(Body::from(signed.body)).unwrap()
}

/// Delivers what waits, understands it, and makes every pass that is due, until nothing is.
pub async fn settle(github: &Simulator, app: &App) -> Stored<()> {
    loop {
        let sent = github.deliver_all().await;
        let made = app.settle(MOST_PASSES).await?;
        assert!(made < MOST_PASSES, "it does not settle");
        if sent + made == 0 {
            return Ok(());
        }
    }
}
