"""Step through the backward passes of a script, in a terminal: ``python -m minigrad.step SCRIPT.py [ARGUMENTS]``."""

from minigrad.debugging.terminal import main

if __name__ == "__main__":
    main()
