"""A small shop."""


class Audit:
    """What happened, in order."""

    def __init__(self):
        self.lines = []

    def note(self, what):
        self.lines.append(what)


def discounted(total):
    return total


def shipping(total):
    return 500


def allowed(age, country):
    if country == "":
        return False
    return age >= 18


def refund(audit, paid):
    back = paid
    audit.note("looked up")
    return back


def retries():
    return 3


def greeting(name):
    return f"Hello, {name}"


def reserve(audit, stock, wanted):
    if wanted > stock["left"]:
        return False
    audit.note("reserved")
    stock["left"] -= wanted
    return True
