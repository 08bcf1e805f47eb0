"""List the demos: `python -m demos`."""

import ast
from pathlib import Path


def main():
    print("Run one with  python -m demos.NAME\n")
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        summary = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0]
        print(f"  {path.stem:20}  {summary}")


if __name__ == "__main__":
    main()
