use super::*;

#[test]
fn small_orders_pay_for_shipping() {
    assert_eq!(shipping(100), 500);
}

#[test]
fn adults_are_allowed() {
    assert!(allowed(30, "DE"));
    assert!(allowed(18, "DE"));
    assert!(!allowed(17, "DE"));
}

#[test]
fn a_refund_gives_back_what_was_paid() {
    assert_eq!(refund(&mut Audit::default(), 70), 70);
}

#[test]
fn it_tries_again_more_than_once() {
    assert!(retries() > 1);
}

#[test]
fn reserving_takes_from_the_stock() {
    let mut stock = 3;
    assert!(reserve(&mut Audit::default(), &mut stock, 2));
    assert_eq!(stock, 1);
    assert!(!reserve(&mut Audit::default(), &mut stock, 2));
}
