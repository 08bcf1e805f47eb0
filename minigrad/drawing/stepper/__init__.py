"""The page in which a person steps through a forward and a backward pass."""
