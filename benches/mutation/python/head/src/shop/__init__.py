"""A small shop."""


class Audit:
    """What happened, in order."""

    def __init__(self):
        self.lines = []

    def note(self, what):
        self.lines.append(what)


def discounted(total):
    return total - total // 10


def shipping(total):
    return 0 if total >= 5000 else 500


def allowed(age, country):
    return age >= 18


def refund(audit, paid):
    back = paid
    audit.note("looked up")
    audit.note("refunded")
    return back


def retries():
    return 5


def greeting(name):
    return f"Welcome, {name}"


def reserve(audit, stock, wanted):
    if wanted > stock["left"]:
        return False
    stock["left"] -= wanted
    audit.note("reserved")
    return True
