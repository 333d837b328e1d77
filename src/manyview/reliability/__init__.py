"""How far a fit can be trusted: structure, stability, calibration, outliers and moved views."""
