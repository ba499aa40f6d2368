//! Which verifier a wish is for.

use crate::domain::model::VerifierName;
use crate::domain::policy::Policy;
use crate::domain::policy::nearest::nearest;

/// The verifier that is meant: the named one, else the first who can be asked and does not certify.
pub fn chosen(policy: &Policy, named: Option<&str>) -> Result<VerifierName, String> {
    let names = || policy.verifiers.keys().map(VerifierName::as_str);
    let list = || {
        names()
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if let Some(named) = named {
        let known = policy.verifiers.keys();
        let mut same = known.filter(|name| name.as_str().eq_ignore_ascii_case(named));
        return same.next().cloned().ok_or_else(|| {
            let meant = nearest(named, names()).map(|name| format!(" Did you mean `{name}`?"));
            format!(
                "Refused: the policy names no such verifier.{} It names: {}.",
                meant.unwrap_or_default(),
                list()
            )
        });
    }
    let certifiers = policy.gates.certification.as_deref().unwrap_or_default();
    let independent = || {
        let all = policy.verifiers_in_order().into_iter();
        all.filter(|verifier| !certifiers.contains(&verifier.name))
    };
    let asked = independent().find(|verifier| verifier.request.is_some());
    match asked.or_else(|| independent().next()) {
        Some(verifier) => Ok(verifier.name.clone()),
        None => Err("Refused: the policy names no verifier that could be asked.".into()),
    }
}
