import unittest

from shop import shipping, total


class Prices(unittest.TestCase):
    def test_few_pieces_cost_what_they_cost(self):
        self.assertEqual(total([200, 300]), 500)

    def test_a_small_order_pays_for_shipping(self):
        self.assertEqual(shipping(500), 490)

    def test_many_pieces_are_a_tenth_cheaper(self):
        self.assertEqual(total([100, 100, 100, 100]), 360)
        self.assertEqual(total([100, 100, 100]), 300)
