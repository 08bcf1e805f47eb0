"""The claims about a Transformer block, each with the run that decides it."""

import argparse
import sys
from importlib import import_module
from time import perf_counter

from demos.claims import IN_READING_ORDER, RefutedError


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Run the claims, all of them or those that are named.")
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(IN_READING_ORDER))
    names = parser.parse_args(arguments).names
    unknown = sorted(set(names) - set(IN_READING_ORDER))
    if unknown:
        parser.error(f"no claim is called {', '.join(unknown)}; there are {', '.join(IN_READING_ORDER)}")

    begun = perf_counter()
    refuted = []
    for name in names or IN_READING_ORDER:
        claim = import_module(f"demos.claims.{name}")
        says, _, how = claim.__doc__.strip().partition("\n\n")
        print(f"{name}: {' '.join(says.split())}")
        if names:
            print(f"\n{how}\n")
        try:
            claim.run()
        except RefutedError as error:
            print(f"  DOES NOT HOLD: {error}")
            refuted.append(name)
        print()
    if refuted:
        sys.exit(f"Refuted: {', '.join(refuted)}.")
    print(f"{len(names or IN_READING_ORDER)} claims hold ({perf_counter() - begun:.1f} s).")


if __name__ == "__main__":
    main()
