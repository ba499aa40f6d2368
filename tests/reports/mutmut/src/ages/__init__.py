"""One line that is tested and one that is not."""


def is_adult(age):
    return age >= 18


def is_senior(age):
    return age > 65
