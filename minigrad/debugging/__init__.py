"""Debugging: stop at an op by name, find a tensor, find the first NaN, explain a gradient, and say why there is none.

Each tool is in the file of its name, and here the name means the tool: `minigrad.debugging.why` is the function.
"""

from minigrad.debugging.break_at import break_at
from minigrad.debugging.detect_anomaly import Anomaly, AnomalyError, detect_anomaly
from minigrad.debugging.explain import Explanation, explain
from minigrad.debugging.find import find, find_all
from minigrad.debugging.why import Answer, why

__all__ = [
    "Anomaly",
    "AnomalyError",
    "Answer",
    "Explanation",
    "break_at",
    "detect_anomaly",
    "explain",
    "find",
    "find_all",
    "why",
]
