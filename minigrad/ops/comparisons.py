"""Comparisons. They have no slope, so the result is no tensor but a plain array of booleans."""


def less(x, y):
    return x.data < getattr(y, "data", y)


def less_equal(x, y):
    return x.data <= getattr(y, "data", y)


def greater(x, y):
    return x.data > getattr(y, "data", y)


def greater_equal(x, y):
    return x.data >= getattr(y, "data", y)


def equal(x, y):
    return x.data == getattr(y, "data", y)


def not_equal(x, y):
    return x.data != getattr(y, "data", y)
