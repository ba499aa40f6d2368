//! The webhook: where GitHub sends deliveries, and whether they arrive.

use super::facts::{Asked, Delivered, Facts, Hook, Refusal};
use super::{Check, State};

/// The routes that take deliveries.
const ROUTES: [&str; 2] = ["/webhook", "/api/github/webhooks"];

const ADDRESS: &str = "address";

/// Judges the webhook.
pub(super) fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = Vec::new();
    match &facts.hook {
        Asked::Known(hook) => configured(hook, facts, &mut checks),
        Asked::Refused(Refusal::Missing, _) => {
            checks.push(no_address(facts.settings.public_url.as_deref()));
        }
        unread => checks.extend(Check::unread("webhook", unread, "the webhook's settings")),
    }
    match &facts.deliveries {
        Asked::Known(deliveries) => checks.push(arriving(deliveries)),
        unread => checks.extend(Check::unread("deliveries", unread, "the recent deliveries")),
    }
    checks
}

fn configured(hook: &Hook, facts: &Facts, checks: &mut Vec<Check>) {
    checks.push(address(hook, facts.settings.public_url.as_deref()));
    let mut wrong = |name: &str, state, seen: String, mend: &str| {
        checks.push(Check::new(name, state, seen).mend(mend));
    };
    match hook.content_type.as_deref() {
        Some("json") => {}
        other => {
            let other = other.unwrap_or("not told");
            let seen =
                format!("the webhook's content type is `{other}`: only `json` is understood");
            let mend = "set it to `json` through GitHub's API: PATCH /app/hook/config";
            wrong("content type", State::Problem, seen, mend);
        }
    }
    if hook.verifies_certificates != Some(true) {
        let seen = "GitHub does not verify this server's certificate before it sends".to_owned();
        let mend = "enable SSL verification on the App's page under Webhook";
        wrong("certificates", State::Problem, seen, mend);
    }
    if !hook.signed {
        let seen =
            "the webhook has no secret: deliveries are unsigned, and none is accepted".to_owned();
        let mend = "set the secret on the App's page to the value of COUNTERSIGN_WEBHOOK_SECRET";
        wrong("secret", State::Problem, seen, mend);
    }
}

fn no_address(public: Option<&str>) -> Check {
    let host = public.unwrap_or("https://YOUR-HOST");
    let mend = format!("set it to {host}/webhook on the App's page, and make it active");
    let seen = "the App has no webhook address: no delivery is sent";
    Check::new(ADDRESS, State::Problem, seen).mend(mend)
}

fn address(hook: &Hook, public: Option<&str>) -> Check {
    const NAME: &str = ADDRESS;
    let Some(url) = &hook.url else {
        return no_address(public);
    };
    let Some(public) = public else {
        let seen = format!(
            "GitHub sends to {url}; COUNTERSIGN_PUBLIC_URL is not set, so nothing to compare it with"
        );
        let mend = "set COUNTERSIGN_PUBLIC_URL to the address under which this server is reached";
        return Check::new(NAME, State::Warning, seen).mend(mend);
    };
    let ours = ROUTES.map(|route| format!("{public}{route}"));
    if ours.iter().any(|one| one == url.trim_end_matches('/')) {
        return Check::new(NAME, State::Ok, format!("GitHub sends to {url}"));
    }
    let seen = format!(
        "GitHub sends to {url}, and this server listens at {}",
        ours[0]
    );
    let mend = format!(
        "set the webhook's address on the App's page to {}, or COUNTERSIGN_PUBLIC_URL to what is right",
        ours[0]
    );
    Check::new(NAME, State::Problem, seen).mend(mend)
}

/// Whether deliveries arrive: the newest tells how it is now, the share how it was.
fn arriving(deliveries: &[Delivered]) -> Check {
    const NAME: &str = "deliveries";
    let Some(newest) = deliveries.first() else {
        let seen = "GitHub has sent nothing yet";
        let mend = "start the server, open or push to a pull request, and look again";
        return Check::new(NAME, State::Warning, seen).mend(mend);
    };
    let arrived = |one: &&Delivered| (200..300).contains(&one.code);
    let (good, all) = (deliveries.iter().filter(arrived).count(), deliveries.len());
    let percent = good * 100 / all;
    let share = format!("{good} of the last {all} arrived ({percent} %)");
    let Some(failed) = deliveries.iter().find(|one| !arrived(one)) else {
        return Check::new(NAME, State::Ok, share);
    };
    let when = failed.at.map_or_else(String::new, |at| {
        format!(" at {}", at.format("%Y-%m-%d %H:%M UTC"))
    });
    let answer = match failed.code {
        0 => format!("no answer ({})", failed.words),
        code => format!("status {code}"),
    };
    let seen = format!(
        "{share}; the last failure was `{}`{when}: {answer}",
        failed.event
    );
    let state = if arrived(&newest) {
        State::Warning
    } else {
        State::Problem
    };
    Check::new(NAME, state, seen).mend(cure(failed.code))
}

fn cure(code: u16) -> &'static str {
    match code {
        401 => {
            "set COUNTERSIGN_WEBHOOK_SECRET to the secret on the App's page (the old one as \
             COUNTERSIGN_WEBHOOK_SECRET_PREVIOUS while rotating)"
        }
        404 | 405 => "let the webhook's address end in /webhook, and the proxy pass that path on",
        413 => "let the proxy pass bodies of up to 25 MiB",
        400 => "let the proxy pass bodies and the X-GitHub-* headers on as they come",
        0 | 502 | 504 => {
            "see that the server runs and GitHub can reach it (DNS, firewall, certificate, proxy); the \
             sweep finds what was missed"
        }
        _ => "see the server's log at that time; the sweep finds what was missed",
    }
}
