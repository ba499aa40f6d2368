//! What every store must do, whatever database it keeps things in.
//!
//! A sentence is a function over a [`Place`]; [`conformance`] makes a test of each for a database. The
//! suite knows nothing but the trait, so another database runs it by naming its own place. What only
//! SQLite can be asked stands in `sqlite`.

use std::sync::Arc;

use async_trait::async_trait;

use super::Store;

/// Somewhere to keep a store.
#[async_trait]
pub trait Place: Send + Sync {
    /// Opens the store that is kept here. The first time it is empty; later it holds what was stored
    /// before, as after a restart of the program.
    async fn open(&self) -> Arc<dyn Store>;
}

/// Makes a test of every sentence of the suite.
macro_rules! conformance {
    ($place:expr; $($room:ident: $($sentence:ident,)*;)*) => {$(
        mod $room {
            use super::*;
            $(
                #[tokio::test]
                async fn $sentence() {
                    crate::store::tests::$room::$sentence(&$place).await;
                }
            )*
        }
    )*};
}

/// Every sentence, for one place.
macro_rules! every_sentence {
    ($place:expr) => {
        conformance! { $place;
            inbox:
                a_delivery_is_stored_once_and_known_from_then_on,
                the_same_id_twice_in_one_group_is_stored_once,
                what_waits_is_told_in_the_order_of_arrival,
                an_empty_group_is_accepted,
                an_understood_delivery_waits_no_more_and_stays_known,
                a_dead_letter_is_kept_with_its_reason_and_not_tried_again_by_itself,
                a_dead_letter_that_is_delivered_again_waits_again_in_its_old_place,
                absorbing_a_delivery_twice_changes_nothing,
                a_group_is_absorbed_whole_or_not_at_all,
                deliveries_are_counted_however_often_they_come,
                bytes_come_back_as_they_came,
                what_was_accepted_is_there_after_a_restart,
            ;
            work:
                nothing_is_due_in_an_empty_store,
                wakes_of_a_waiting_key_are_one_pass,
                the_earlier_time_and_the_stronger_confirmation_win,
                a_key_is_not_taken_before_its_time,
                the_key_that_waited_longest_is_taken_first,
                a_key_that_just_had_its_pass_lets_others_go_first,
                a_leased_key_is_not_taken_again,
                wakes_during_a_pass_are_exactly_one_more,
                the_earliest_of_several_wakes_during_a_pass_counts,
                a_lease_that_ran_out_is_taken_over_as_a_failed_attempt,
                a_wake_for_later_does_not_put_off_a_takeover_nor_get_lost_in_it,
                whoever_was_overtaken_changes_nothing,
                a_lease_that_ran_out_may_be_given_back_while_nobody_took_it,
                a_retry_keeps_its_confirmation_and_counts_attempts,
                a_wake_ends_a_back_off,
                a_confirmation_is_used_up_by_its_pass,
                a_confirmation_asked_for_during_a_pass_is_the_next_ones,
                looking_again_later_does_not_lose_an_earlier_wake,
                looking_again_may_ask_for_confirmation,
                a_key_is_forgotten_when_nothing_is_wanted_and_its_old_lease_stays_dead,
                the_next_due_time_counts_leases_by_their_end,
                back_off_confirmation_and_attempts_outlive_a_restart,
                keys_of_installations_that_have_enough_are_passed_over_and_stay,
            ;
            memory:
                nothing_is_remembered_at_first,
                a_document_comes_back_with_its_version,
                whoever_read_before_a_change_writes_nothing,
                two_who_remember_something_new_do_not_overwrite_each_other,
                a_repository_is_found_by_its_name_without_case,
                a_name_that_changed_hands_leads_to_its_new_holder,
                a_late_word_about_a_former_holder_does_not_take_the_name_back,
                a_renamed_repository_is_found_by_its_new_name_only,
                only_active_repositories_are_listed,
                open_pulls_are_found_by_their_present_head,
                the_overview_shows_open_pulls_oldest_first_with_their_records,
            ;
            wakes:
                a_head_wakes_every_open_pull_with_it,
                a_head_without_a_known_pull_wakes_itself_until_github_knew_none,
                a_base_wakes_the_open_pulls_into_it,
                a_wake_follows_the_changes_of_its_own_delivery,
                an_installation_wakes_its_active_repositories,
                an_installation_that_is_back_is_back_with_all_its_repositories_and_no_others,
                many_wakes_of_one_delivery_are_one_pass_with_the_strongest_confirmation,
                changes_of_one_delivery_are_one_version,
                a_repeated_delivery_does_not_void_what_a_pass_read,
                a_delivery_voids_what_a_pass_read_before_it,
                what_a_dead_letter_said_is_not_applied,
            ;
            effects:
                an_effect_goes_from_intent_to_outcome,
                a_crash_between_intent_and_outcome_is_told,
                a_failed_effect_counts_its_tries,
                what_is_done_stays_done,
                an_overtaken_pass_begins_nothing,
                a_pass_whose_lease_ran_out_begins_nothing,
                a_record_is_written_only_under_a_current_lease,
                a_record_needs_a_pull_request,
                the_ledger_is_one_sound_chain_without_gaps,
                the_ledger_is_read_by_page_repository_and_pull_request,
                a_refused_write_leaves_no_ledger_entry,
                done_effects_leave_no_second_intent_in_the_ledger,
                a_freeze_stands_until_it_thaws_and_wakes_the_pulls_it_concerns,
                the_chain_goes_on_after_a_restart,
            ;
            evidence:
                a_document_comes_back_as_it_was_posted_with_its_carrier,
                the_same_document_again_is_known_and_kept_once,
                another_document_of_the_same_run_is_not_kept,
                another_run_head_repository_or_verifier_is_another_document,
                evidence_is_told_in_the_order_in_which_it_came,
                a_verifier_that_said_enough_about_a_head_is_full_and_no_other_is,
                a_kept_document_wakes_the_pulls_with_its_head_also_when_it_was_known,
                evidence_for_a_head_without_a_known_pull_wakes_the_head,
                evidence_is_there_after_a_restart_and_still_known,
                of_two_who_post_at_once_one_is_first_and_the_other_is_told,
            ;
            upkeep:
                what_belongs_to_pulls_closed_long_ago_goes_and_nothing_else_does,
                the_ledger_and_records_stay_however_old_they_are,
                the_bytes_of_an_old_dead_letter_go_and_its_reason_stays,
                an_id_is_forgotten_after_its_own_time_and_never_while_it_waits,
                a_batch_is_not_larger_than_was_asked_for,
                figures_tell_what_waits_and_what_is_worked_on,
            ;
            notes:
                a_note_is_kept_under_its_name_and_outlives_a_restart,
                of_two_who_read_the_same_note_one_writes_it,
                deliveries_that_came_are_known_whatever_became_of_them,
            ;
            crowd:
                many_workers_never_share_a_key_and_lose_no_wake,
                many_writers_keep_the_ledger_one_chain,
                of_many_who_deliver_the_same_exactly_one_stores_it,
            ;
        }
    };
}

// After the macros, so that they can be used in them.
mod backup;
mod crowd;
mod effects;
mod evidence;
mod given;
mod inbox;
mod memory;
mod model;
mod notes;
mod postgres;
mod sqlite;
mod upkeep;
mod wakes;
mod work;
