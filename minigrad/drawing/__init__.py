"""Graphs as pictures, text and a page."""

from minigrad.drawing.diagram.picture import Picture, draw, to_dot
from minigrad.drawing.diagram.renderer import NoRendererError, RendererError
from minigrad.drawing.stepper.page import write_stepper
from minigrad.graph import Graph

Graph.to_dot = to_dot  # minigrad.graph knows nothing of pictures

__all__ = ["Graph", "NoRendererError", "Picture", "RendererError", "draw", "write_stepper"]
