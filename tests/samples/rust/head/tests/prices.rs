use shop::{shipping, total};

#[test]
fn few_pieces_cost_what_they_cost() {
    assert_eq!(total(&[200, 300]), 500);
}

#[test]
fn a_small_order_pays_for_shipping() {
    assert_eq!(shipping(500), 490);
}

#[test]
fn many_pieces_are_a_tenth_cheaper() {
    assert_eq!(total(&[100, 100, 100, 100]), 360);
    assert_eq!(total(&[100, 100, 100]), 300);
}
