"""A page to step through the lesson's block, forward and backward: every number, rule and arrow, in a browser.

What to look at: press the right arrow key until the pass turns round at the loss. From there on, at each residual
addition, the same gradient leaves twice, over the bold skip and into the branch. Where the two meet again, the page
shows what each delivered and the sum. A number is read out in full when the mouse is on it.

    python -m demos.stepper_page                              writes stepper_page.html; open it in a browser
    python -m demos.stepper_page --screenshot picture.png     photographs one step, with Chromium
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from blocks import lesson_block
from minigrad import Tensor, mse_loss, write_stepper

STEP = 46  # the norm before feed-forward delivers to the residual, which has got the skip's share already


def main(arguments=None):
    parser = argparse.ArgumentParser(description="A page to step through the lesson's block.")
    parser.add_argument("path", type=Path, nargs="?", default=Path("stepper_page.html"), help="the page to write")
    parser.add_argument("--norm", choices=("post", "pre"), default="pre", help="norm after or before each residual")
    parser.add_argument("--screenshot", type=Path, metavar="PNG", help="also photograph a step of it, with Chromium")
    options = parser.parse_args(arguments)

    block, x = lesson_block(options.norm)
    next_token = Tensor(np.roll(x.data, -1, axis=0), name="next token")
    loss = mse_loss(block(x), next_token)
    path = write_stepper(loss, options.path, title=f"The lesson's block, {options.norm}-norm")
    print(f"Open {path} in a browser. The arrow keys go from step to step.")
    if options.screenshot:
        photograph(f"{path.resolve().as_uri()}#step={STEP}", options.screenshot)


def photograph(address, png):
    """A page as Chromium shows it."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("--screenshot needs Chromium: install it, or open the page in any browser")
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
        place = [f"--user-data-dir={profile}", "--window-size=1280,800", f"--screenshot={png.resolve()}"]
        subprocess.run([chromium, *flags, *place, address], check=True, capture_output=True)


if __name__ == "__main__":
    main()
