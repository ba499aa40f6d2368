from ages import is_adult


def test_eighteen_is_adult_and_seventeen_is_not():
    assert is_adult(18)
    assert is_adult(30)
    assert not is_adult(17)
