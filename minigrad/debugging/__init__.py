"""Debugging: stop at an op by name, find the first NaN, explain a gradient, and say why there is none."""

from minigrad.debugging.anomalies import Anomaly, AnomalyError, detect_anomaly
from minigrad.debugging.breakpoints import break_at

__all__ = ["Anomaly", "AnomalyError", "break_at", "detect_anomaly"]
