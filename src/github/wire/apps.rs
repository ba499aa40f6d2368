//! The App's own registration, its installations and its webhook, as facts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::{Account, AppAccount, need};
use crate::domain::doctor::facts::{Delivered, Hook, Installation, Registration};
use crate::domain::model::{DeliveryId, InstallationId};
use crate::domain::policy::lint::Methods;
use crate::domain::redelivery::Attempt;
use crate::github::Answer;

#[derive(Debug, Deserialize)]
struct WireRegistration {
    #[serde(default)]
    permissions: Option<BTreeMap<String, String>>,
    #[serde(default)]
    events: Option<BTreeSet<String>>,
}

/// `GET /app`, with what the App asks for. A list that is not told is not an empty one.
pub(in crate::github) fn registration(value: Value) -> Answer<Registration> {
    const WHAT: &str = "our own App";
    let app: AppAccount = super::read(WHAT, value.clone())?;
    let wire: WireRegistration = super::read(WHAT, value)?;
    Ok(Registration {
        app: need(WHAT, "id", super::app(Some(app)))?,
        permissions: need(WHAT, "permissions", wire.permissions)?,
        events: need(WHAT, "events", wire.events)?,
    })
}

#[derive(Debug, Deserialize)]
struct WireInstallation {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    account: Option<Account>,
    #[serde(default)]
    permissions: Option<BTreeMap<String, String>>,
    #[serde(default)]
    suspended_at: Option<String>,
}

/// One of `GET /app/installations`, suspended or not.
pub(in crate::github) fn installation(value: Value) -> Answer<Installation> {
    const WHAT: &str = "an installation";
    let wire: WireInstallation = super::read(WHAT, value)?;
    let id = need(WHAT, "id", wire.id.and_then(InstallationId::new))?;
    Ok(Installation {
        id,
        // An enterprise's installation has a `slug` and no login.
        account: wire
            .account
            .and_then(|account| account.login)
            .unwrap_or_else(|| format!("installation {id}")),
        permissions: need(WHAT, "permissions", wire.permissions)?,
        suspended: wire.suspended_at.is_some(),
    })
}

#[derive(Debug, Deserialize)]
struct WireHook {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    content_type: Option<String>,
    /// GitHub writes a text; its documentation allows a number.
    #[serde(default)]
    insecure_ssl: Value,
    #[serde(default)]
    secret: Option<String>,
}

/// `GET /app/hook/config`. The secret itself is never told, only that there is one.
pub(in crate::github) fn hook(value: Value) -> Answer<Hook> {
    let wire: WireHook = super::read("the webhook's settings", value)?;
    Ok(Hook {
        url: wire.url.filter(|url| !url.is_empty()),
        content_type: wire.content_type,
        verifies_certificates: match wire.insecure_ssl {
            Value::String(text) => Some(text == "0"),
            Value::Number(number) => Some(number.as_u64() == Some(0)),
            _ => None,
        },
        signed: wire.secret.is_some_and(|secret| !secret.is_empty()),
    })
}

#[derive(Debug, Deserialize)]
struct WireDelivery {
    #[serde(default)]
    delivered_at: Option<String>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    status_code: Option<u16>,
}

/// One of `GET /app/hook/deliveries`.
pub(in crate::github) fn delivered(value: Value) -> Answer<Delivered> {
    const WHAT: &str = "a delivery";
    let wire: WireDelivery = super::read(WHAT, value)?;
    Ok(Delivered {
        at: super::time(wire.delivered_at.as_deref()),
        event: wire.event.unwrap_or_default(),
        code: need(WHAT, "status_code", wire.status_code)?,
        words: wire.status.unwrap_or_default(),
    })
}

#[derive(Debug, Deserialize)]
struct WireAttempt {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    guid: Option<String>,
    #[serde(default)]
    delivered_at: Option<String>,
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    status_code: Option<u16>,
}

/// One of `GET /app/hook/deliveries`, to find what did not arrive.
pub(in crate::github) fn attempt(value: Value) -> Answer<Attempt> {
    const WHAT: &str = "an attempt to deliver";
    let wire: WireAttempt = super::read(WHAT, value)?;
    let delivery = wire.guid.as_deref();
    let delivery = delivery.and_then(|guid| DeliveryId::parse(guid).ok());
    Ok(Attempt {
        id: need(WHAT, "id", wire.id)?,
        delivery: need(WHAT, "guid", delivery)?,
        at: need(
            WHAT,
            "delivered_at",
            super::time(wire.delivered_at.as_deref()),
        )?,
        event: wire.event.unwrap_or_default(),
        action: wire.action,
        code: need(WHAT, "status_code", wire.status_code)?,
    })
}

#[derive(Debug, Deserialize)]
struct WireMethods {
    #[serde(default)]
    allow_merge_commit: Option<bool>,
    #[serde(default)]
    allow_squash_merge: Option<bool>,
    #[serde(default)]
    allow_rebase_merge: Option<bool>,
}

/// A repository's merge settings. GitHub leaves them out for who may not write its contents.
pub(in crate::github) fn methods(value: Value) -> Answer<Methods> {
    let wire: WireMethods = super::read("a repository", value)?;
    Ok(Methods {
        merge: wire.allow_merge_commit,
        squash: wire.allow_squash_merge,
        rebase: wire.allow_rebase_merge,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_permission_list_that_is_not_told_is_not_an_empty_one() {
        let told = json!({ "id": 7, "slug": "us", "permissions": {}, "events": [] });
        assert!(registration(told).unwrap().permissions.is_empty());
        let untold = json!({ "id": 7, "slug": "us" });
        assert!(registration(untold).is_err());
        assert!(installation(json!({ "id": 7 })).is_err());
    }

    #[test]
    fn whether_certificates_are_verified_is_read_from_text_and_number() {
        let verified = |value: Value| {
            let read = hook(json!({ "url": "https://x/webhook", "insecure_ssl": value }));
            read.unwrap().verifies_certificates
        };
        assert_eq!(verified(json!("0")), Some(true));
        assert_eq!(verified(json!(0)), Some(true));
        assert_eq!(verified(json!("1")), Some(false));
        assert_eq!(verified(json!(1)), Some(false));
        assert_eq!(verified(Value::Null), None);
    }

    #[test]
    fn a_webhook_without_an_address_or_a_secret_says_so() {
        let read = hook(json!({ "url": "", "content_type": "form" })).unwrap();
        assert_eq!(read.url, None);
        assert!(!read.signed);
        let read = hook(json!({ "url": "https://x", "secret": "********" })).unwrap();
        assert!(read.signed);
    }

    #[test]
    fn merge_settings_that_are_left_out_are_unknown() {
        let read = methods(json!({ "allow_squash_merge": false })).unwrap();
        assert_eq!(read.squash, Some(false));
        assert_eq!(read.merge, None);
    }
}
