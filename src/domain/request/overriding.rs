//! Which gates may be waived for one head.
//!
//! A waiver says "I know what this gate says, and it need not be so here". So it needs a gate that has
//! said something: what is undetermined cannot be waived, since nobody knows what would be. Nor can
//! what the App itself needs to merge safely (an open pull request, a valid policy, no conflict, the
//! platform's rules), nor what has a command of its own (a hold, a freeze).

/// The gates of a policy that an owner may waive.
pub const WAIVABLE: [&str; 9] = [
    "up_to_date",
    "checks",
    "certification",
    "second_verifier",
    "mutation_check",
    "exercised",
    "approvals",
    "description",
    "size",
];

/// Whether a gate of this name may be waived.
///
/// # Errors
/// Why not, as a sentence, with what helps instead.
pub fn may_be_waived(gate: &str, gates: &[&str]) -> Result<(), String> {
    if WAIVABLE.contains(&gate) {
        if gates.contains(&gate) {
            return Ok(());
        }
        return Err(format!("the policy has no gate `{gate}`"));
    }
    Err(match gate {
        "not_held" => "a hold ends with `/unhold`, not with a waiver".into(),
        "not_frozen" => "a freeze ends with `/thaw`, not with a waiver".into(),
        "open" | "not_draft" | "policy" | "conflicts" | "base" | "platform_rules" | "landing" => {
            format!("`{gate}` is not the policy's to waive: nothing could merge safely without it")
        }
        _ => {
            let known: Vec<_> = gates
                .iter()
                .filter(|known| WAIVABLE.contains(known))
                .map(|known| format!("`{known}`"))
                .collect();
            format!(
                "there is no gate of that name; the gates that can be waived here: {}",
                known.join(", ")
            )
        }
    })
}
