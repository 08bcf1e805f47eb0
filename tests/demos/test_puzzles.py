"""Each puzzle: its program is right, its fault and other wrong answers are judged so, and its tool finds the fault."""

import pytest

from demos.puzzles.__main__ import main
from demos.puzzles.puzzle import FIELDS, Wrong, all_puzzles, load_text

PUZZLES = all_puzzles()
each = pytest.mark.parametrize("puzzle", PUZZLES.values(), ids=lambda puzzle: puzzle.name)


def test_there_are_enough():
    rules = [puzzle for puzzle in PUZZLES.values() if puzzle.title.startswith("Write the rule")]
    assert len(PUZZLES) - len(rules) >= 16
    assert len(rules) == 5
    assert list(PUZZLES) == list(range(1, len(PUZZLES) + 1))


@each
def test_the_solution_is_right_and_says_what_a_learner_needs(puzzle):
    puzzle.judge(load_text(puzzle.program(puzzle.solution())), seed=0)
    assert all(getattr(puzzle, field.lower()) for field in FIELDS)
    assert len(puzzle.right.HINTS) >= 3
    assert puzzle.right.ANSWER


@each
def test_the_fault_is_judged_wrong(puzzle):
    with pytest.raises(Wrong) as wrong:
        puzzle.judge(load_text(puzzle.program()), seed=0)
    assert len(str(wrong.value)) > 20


@each
def test_plausible_wrong_answers_are_judged_wrong(puzzle):
    assert len(set(puzzle.right.WRONG)) >= 3
    for answer in puzzle.right.WRONG:
        with pytest.raises(Wrong):
            puzzle.judge(load_text(puzzle.program(answer)), seed=0)


@each
def test_the_tool_finds_the_fault_and_nothing_once_it_is_cured(puzzle):
    clue, right = puzzle.right.clue, puzzle.right
    assert right.CLUE in clue(load_text(puzzle.program()))
    assert right.CLUE not in clue(load_text(puzzle.program(puzzle.solution())))


@each
def test_the_learners_copy_gives_nothing_away(puzzle):
    program = puzzle.program()
    for word in ("# right", "# fault", "# end", "Teacher", "HINTS", "ANSWER", "WRONG", "demos.puzzles"):
        assert word not in program
    puzzle.right.look()  # the right program shows that all is well


def test_a_learners_way(tmp_path, capsys):
    folder = ["--folder", str(tmp_path / "mine")]
    assert main(["check", "3", *folder]) == 1
    assert "start 3" in capsys.readouterr().out
    assert main(["start", "3", *folder]) == 0
    copy = tmp_path / "mine" / "puzzle_03.py"
    assert str(copy) in capsys.readouterr().out
    assert main(["check", "3", *folder]) == 1
    assert "Not yet. causal_attention: its value differs" in capsys.readouterr().out
    assert main(["hint", "3", *folder]) == 0
    assert "Hint 1 of 3" in capsys.readouterr().out
    assert main(["hint", "3", "4"]) == 1

    copy.write_text(PUZZLES[3].program(PUZZLES[3].solution()), encoding="utf-8")
    assert main(["check", "3", *folder]) == 0
    assert "Right." in capsys.readouterr().out
    assert main(["start", "3", *folder]) == 1  # the learner's work stays
    assert "may hold your work" in capsys.readouterr().out
    assert main(["answer", "3"]) == 0
    assert "-np.inf" in capsys.readouterr().out


def test_a_copy_that_does_not_run_is_not_yet_right(tmp_path, capsys):
    folder = ["--folder", str(tmp_path)]
    main(["start", "12", *folder])
    copy = tmp_path / "puzzle_12.py"
    copy.write_text("def broken(:\n", encoding="utf-8")
    assert main(["check", "12", *folder]) == 1
    assert "does not run" in capsys.readouterr().out


def test_the_list_and_unknown_numbers(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(puzzle.title in shown for puzzle in PUZZLES.values())
    with pytest.raises(SystemExit):
        main(["check", "99"])
