"""Find the bug.

python -m demos.puzzles                     list the puzzles
python -m demos.puzzles start 3             write puzzle 3 into the folder `puzzles`
python -m demos.puzzles hint 3              the first hint; again with `hint 3 2` for the second, and so on
python -m demos.puzzles check 3             is your copy right? What differs?
python -m demos.puzzles answer 3            what was wrong, and the right lines
"""

import argparse
import sys
from pathlib import Path

from demos.puzzles.puzzle import Wrong, all_puzzles, load


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m demos.puzzles", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", nargs="?", default="list", choices=["list", "start", "hint", "check", "answer"])
    parser.add_argument("number", nargs="?", type=int, help="of the puzzle")
    parser.add_argument("which", nargs="?", type=int, default=1, help="which hint, from 1")
    parser.add_argument("--folder", type=Path, default=Path("puzzles"), help="where your copies are (default: puzzles)")
    chosen = parser.parse_args(arguments)
    puzzles = all_puzzles()
    if chosen.command == "list":
        show_list(puzzles)
        return 0
    if chosen.number not in puzzles:
        parser.error(f"{chosen.command} takes the number of a puzzle, from {min(puzzles)} to {max(puzzles)}")
    puzzle = puzzles[chosen.number]
    copy = chosen.folder / f"puzzle_{puzzle.number:02}.py"  # the file's own name would say too much
    if chosen.command == "start":
        return start(puzzle, copy)
    if chosen.command == "check":
        return check(puzzle, copy)
    if chosen.command == "hint":
        return hint(puzzle, chosen.which)
    return answer(puzzle)


def show_list(puzzles):
    print("Find the bug: `python -m demos.puzzles start 1` writes the first puzzle, `check 1` judges it.\n")
    for puzzle in puzzles.values():
        print(f"{puzzle.number:3}  {puzzle.title:52} {puzzle.difficulty:8} {puzzle.minutes:>3} min   {puzzle.tool}")


def start(puzzle, copy):
    if copy.exists():
        print(f"{copy} is there already, and may hold your work: move it away, or name another --folder.")
        return 1
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_text(puzzle.program(), encoding="utf-8")
    print(f"{puzzle.title}.\n\nSymptom: {puzzle.symptom}\nTool: {puzzle.tool}\n")
    print(f"Your copy is {copy}. `python {copy}` shows the symptom.")
    return 0


def check(puzzle, copy):
    if not copy.exists():
        print(f"There is no {copy}: `python -m demos.puzzles start {puzzle.number}` writes it.")
        return 1
    try:
        theirs = load(copy)
    except Exception as error:
        print(f"Not yet. {copy} does not run: {type(error).__name__}: {error}.")
        return 1
    try:
        puzzle.judge(theirs)
    except Wrong as wrong:
        print(f"Not yet. {wrong}.")
        return 1
    print(f"Right. {puzzle.right.ANSWER}")
    return 0


def hint(puzzle, which):
    hints = puzzle.right.HINTS
    if not 1 <= which <= len(hints):
        print(f"There are {len(hints)} hints; after them comes `answer {puzzle.number}`.")
        return 1
    print(f"Hint {which} of {len(hints)}: {hints[which - 1]}")
    return 0


def answer(puzzle):
    print(f"{puzzle.right.ANSWER}\n\n{puzzle.solution()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
