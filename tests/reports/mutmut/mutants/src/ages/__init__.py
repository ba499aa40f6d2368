"""One line that is tested and one that is not."""


from mutmut.mutation.trampoline import wrap_in_trampoline as _mutmut_mutated, MutantDict
mutants_x_is_adult__mutmut: MutantDict = {}  # type: ignore


@_mutmut_mutated(mutants_x_is_adult__mutmut)
def is_adult(age):
    return age >= 18


def x_is_adult__mutmut_orig(age):
    return age >= 18


def x_is_adult__mutmut_1(age):
    return age > 18


def x_is_adult__mutmut_2(age):
    return age >= 19

mutants_x_is_adult__mutmut['_mutmut_orig'] = x_is_adult__mutmut_orig # type: ignore # mutmut generated
mutants_x_is_adult__mutmut['x_is_adult__mutmut_1'] = x_is_adult__mutmut_1 # type: ignore # mutmut generated
mutants_x_is_adult__mutmut['x_is_adult__mutmut_2'] = x_is_adult__mutmut_2 # type: ignore # mutmut generated
mutants_x_is_senior__mutmut: MutantDict = {}  # type: ignore


@_mutmut_mutated(mutants_x_is_senior__mutmut)
def is_senior(age):
    return age > 65


def x_is_senior__mutmut_orig(age):
    return age > 65


def x_is_senior__mutmut_1(age):
    return age >= 65


def x_is_senior__mutmut_2(age):
    return age > 66

mutants_x_is_senior__mutmut['_mutmut_orig'] = x_is_senior__mutmut_orig # type: ignore # mutmut generated
mutants_x_is_senior__mutmut['x_is_senior__mutmut_1'] = x_is_senior__mutmut_1 # type: ignore # mutmut generated
mutants_x_is_senior__mutmut['x_is_senior__mutmut_2'] = x_is_senior__mutmut_2 # type: ignore # mutmut generated
