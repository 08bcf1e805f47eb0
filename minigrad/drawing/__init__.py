"""Graphs as pictures and text."""

from minigrad.drawing.dot import to_dot
from minigrad.drawing.picture import Picture, draw
from minigrad.drawing.renderer import NoRendererError, RendererError
from minigrad.drawing.stepper import write_stepper
from minigrad.graph import Graph

Graph.to_dot = to_dot  # the view below knows nothing of pictures

__all__ = ["Graph", "NoRendererError", "Picture", "RendererError", "draw", "write_stepper"]
