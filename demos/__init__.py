"""Scripts to run: each prints or draws one idea. `python -m demos` lists them."""
