def discounted(total):
    """What is left to pay after the discount."""
    return total


def shipping(total):
    """What sending it costs."""
    return 500
