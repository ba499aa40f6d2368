use axum::body::{Body, to_bytes};
use axum::http::HeaderMap;
use secrecy::ExposeSecret;
use tower::ServiceExt;

use super::*;

const ADDRESS: &str = "127.0.0.1:8400";

fn offer() -> Offer {
    Offer {
        name: "Gate <b>".into(),
        organization: None,
        github: "https://github.com".into(),
        manifest: "{\"name\":\"Gate <b>\"}".into(),
        permissions: vec![("checks".into(), "write".into())],
        events: vec!["check_run".into(), "push".into()],
        webhook: None,
        folder: "/srv/gate".into(),
    }
}

struct Page {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Page {
    /// Without the style, which is the dashboard's.
    fn text(&self) -> String {
        self.body.replace(STYLE, "[STYLE]")
    }

    /// The state that the form takes to GitHub.
    fn state(&self) -> String {
        let (_, rest) = self.body.split_once("?state=").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }
}

struct Setup {
    routes: Router,
    arrived: mpsc::Receiver<Arrival>,
}

impl Setup {
    fn of(offer: Offer) -> Self {
        let (arrivals, arrived) = mpsc::channel(1);
        let routes = router(offer, ADDRESS.parse().unwrap(), arrivals).unwrap();
        Self { routes, arrived }
    }

    /// A page that is no way back from GitHub.
    async fn get(&mut self, path: &str) -> Page {
        self.get_as(ADDRESS, path).await
    }

    async fn get_as(&mut self, host: &str, path: &str) -> Page {
        tokio::select! {
            page = get(&self.routes, host, path) => page,
            _ = self.arrived.recv() => panic!("a code arrived from {host}{path}"),
        }
    }

    /// Comes back from GitHub; whoever waits for it says this.
    async fn come_back(&mut self, path: &str, outcome: Outcome) -> (Page, String) {
        let routes = self.routes.clone();
        let (page, code) = tokio::join!(get(&routes, ADDRESS, path), async {
            let arrival = self.arrived.recv().await.unwrap();
            arrival.outcome.send(outcome).unwrap();
            arrival.code.expose_secret().to_owned()
        });
        (page, code)
    }
}

async fn get(routes: &Router, host: &str, path: &str) -> Page {
    let request = Request::get(path).header(header::HOST, host);
    let request = request.body(Body::empty()).unwrap();
    let response = routes.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap();
    Page {
        status: parts.status,
        headers: parts.headers,
        body: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}

fn done() -> Outcome {
    Outcome::Registered {
        name: "Gate <b>".into(),
        install: "https://github.com/apps/gate/installations/new".into(),
    }
}

#[tokio::test]
async fn the_page_has_one_button_that_takes_the_manifest_to_github() {
    let mut setup = Setup::of(offer());
    let page = setup.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    insta::assert_snapshot!("form", page.text().replace(&page.state(), "[STATE]"));
    let organization = Offer {
        organization: Some("acme".into()),
        webhook: Some("https://gate.example/webhook".into()),
        ..offer()
    };
    let page = Setup::of(organization).get("/").await;
    insta::assert_snapshot!(
        "form_for_an_organization",
        page.text().replace(&page.state(), "[STATE]")
    );
}

#[tokio::test]
async fn every_setup_has_a_long_state_of_its_own() {
    let (mut one, mut other) = (Setup::of(offer()), Setup::of(offer()));
    let (one, other) = (one.get("/").await.state(), other.get("/").await.state());
    assert_eq!(one.len(), 64);
    assert_ne!(one, other);
}

#[tokio::test]
async fn a_code_with_the_right_state_arrives_and_its_outcome_is_shown() {
    let mut setup = Setup::of(offer());
    let state = setup.get("/").await.state();
    let path = format!("/created?code=c0de&state={state}");
    let (page, code) = setup.come_back(&path, done()).await;
    assert_eq!((page.status, code.as_str()), (StatusCode::OK, "c0de"));
    assert!(!page.body.contains("c0de") && !page.body.contains(&state));
    insta::assert_snapshot!("registered", page.text());
}

#[tokio::test]
async fn a_code_with_another_state_arrives_nowhere_and_uses_nothing_up() {
    let mut setup = Setup::of(offer());
    let state = setup.get("/").await.state();
    let near = format!("{}0", &state[..63]);
    let near = if near == state {
        format!("{}1", &state[..63])
    } else {
        near
    };
    for query in [
        "code=c0de".to_owned(),
        "code=c0de&state=".to_owned(),
        format!("code=c0de&state={near}"),
        format!("code=c0de&state={}", &state[..63]),
        format!("code=c0de&state={state}0"),
        String::new(),
    ] {
        let page = setup.get(&format!("/created?{query}")).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{query}");
        assert!(
            page.body.contains("does not belong to this setup"),
            "{query}"
        );
        assert!(!page.body.contains("c0de"), "{query}");
    }
    let page = setup.get(&format!("/created?state={state}")).await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    let path = format!("/created?code=c0de&state={state}");
    assert_eq!(
        setup.come_back(&path, done()).await.0.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_state_is_good_once() {
    let mut setup = Setup::of(offer());
    let state = setup.get("/").await.state();
    let path = format!("/created?code=c0de&state={state}");
    setup.come_back(&path, done()).await;
    for path in [path.as_str(), "/created?code=c0de&state=other", "/"] {
        let page = setup.get(path).await;
        assert_eq!(page.status, StatusCode::CONFLICT, "{path}");
        assert!(page.body.contains("has had its answer already"), "{path}");
    }
}

#[tokio::test]
async fn a_failure_is_told_on_the_page_too() {
    let mut setup = Setup::of(offer());
    let state = setup.get("/").await.state();
    let path = format!("/created?code=c0de&state={state}");
    let failed = Outcome::Failed("GitHub does not take the code".into());
    let (page, _) = setup.come_back(&path, failed).await;
    assert_eq!(page.status, StatusCode::BAD_GATEWAY);
    insta::assert_snapshot!("failed", page.text());
}

#[tokio::test]
async fn a_request_under_another_name_is_refused() {
    let mut setup = Setup::of(offer());
    let state = setup.get("/").await.state();
    let path = format!("/created?code=c0de&state={state}");
    for host in [
        "attacker.example",
        "attacker.example:8400",
        "localhost:8400",
        "127.0.0.1",
        "127.0.0.1:8401",
        "127.0.0.1:8400.attacker.example",
    ] {
        for path in ["/", path.as_str(), "/elsewhere"] {
            let page = setup.get_as(host, path).await;
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{host} {path}");
            assert!(!page.body.contains(&state), "{host}");
        }
    }
    let bare = Request::get("/").body(Body::empty()).unwrap();
    let response = setup.routes.clone().oneshot(bare).await.unwrap();
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_pages_load_nothing_run_nothing_and_give_no_address_away() {
    let mut setup = Setup::of(offer());
    let form = setup.get("/").await;
    let path = format!("/created?code=c0de&state={}", form.state());
    let (end, _) = setup.come_back(&path, done()).await;
    for page in [&form, &end] {
        let policy = page.headers[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(
            policy.starts_with("default-src 'none'; style-src 'sha256-"),
            "{policy}"
        );
        assert_eq!(page.headers[header::CACHE_CONTROL], "no-store");
        assert_eq!(page.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
    assert_eq!(form.headers[header::REFERRER_POLICY], "strict-origin");
    assert_eq!(end.headers[header::REFERRER_POLICY], "no-referrer");
}
