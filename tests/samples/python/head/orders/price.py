def discounted(total):
    """What is left to pay after the discount."""
    return total - total // 10


def shipping(total):
    """What sending it costs."""
    return 0 if total >= 5000 else 500
