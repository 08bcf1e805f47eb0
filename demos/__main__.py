"""List the demos: `python -m demos`."""

import ast
from pathlib import Path


def main():
    print("Run one with  python -m demos.NAME\n")
    folder = Path(__file__).parent
    demos = {path.stem: path for path in folder.glob("[!_]*.py")}
    demos |= {path.parent.name: path for path in folder.glob("*/__main__.py")}
    for name, path in sorted(demos.items()):
        summary = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()[0]
        print(f"  {name:20}  {summary}")


if __name__ == "__main__":
    main()
