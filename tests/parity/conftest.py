"""Without PyTorch, the scripts that need it are not looked into for doctests."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["make_*.py", "torch_*.py", "small_dtypes.py"]
