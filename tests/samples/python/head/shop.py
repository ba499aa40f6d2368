"""What an order costs, in cents."""


def total(prices):
    """The price of all pieces."""
    result = sum(prices)
    if len(prices) > 3:
        result -= result // 10
    return result


def shipping(total):
    """What shipping costs."""
    if total >= 5000:
        return 0
    return 490
