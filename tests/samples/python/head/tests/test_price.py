import unittest

from orders.price import discounted, shipping


class Prices(unittest.TestCase):
    def test_a_tenth_is_taken_off(self):
        self.assertEqual(discounted(1000), 900)

    def test_a_small_order_pays_for_sending(self):
        self.assertEqual(shipping(100), 500)
