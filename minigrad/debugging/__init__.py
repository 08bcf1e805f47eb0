"""Debugging: stop at an op by name, find the first NaN, explain a gradient, and say why there is none."""

from minigrad.debugging.anomalies import Anomaly, AnomalyError, detect_anomaly
from minigrad.debugging.breakpoints import break_at
from minigrad.debugging.diagnosis import Answer, why
from minigrad.debugging.explanation import Explanation, explain

__all__ = ["Anomaly", "AnomalyError", "Answer", "Explanation", "break_at", "detect_anomaly", "explain", "why"]
