from shop import Audit, allowed, discounted, greeting, refund, reserve, retries, shipping


def test_small_orders_pay_for_shipping():
    assert shipping(100) == 500


def test_adults_are_allowed():
    assert allowed(30, "DE")
    assert allowed(18, "DE")
    assert not allowed(17, "DE")


def test_a_refund_gives_back_what_was_paid():
    assert refund(Audit(), 70) == 70


def test_it_tries_again_more_than_once():
    assert retries() > 1


def test_reserving_takes_from_the_stock():
    stock = {"left": 3}
    assert reserve(Audit(), stock, 2)
    assert stock["left"] == 1
    assert not reserve(Audit(), stock, 2)
