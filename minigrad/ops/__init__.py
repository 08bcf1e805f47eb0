"""The ops: one small class each, forward beside backward, and the function that calls it."""
