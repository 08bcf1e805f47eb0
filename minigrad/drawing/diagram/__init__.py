"""Diagrams: `draw` and the `Picture` that it returns, by Graphviz, as Mermaid or as an indented tree."""
