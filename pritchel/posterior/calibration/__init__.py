"""Predictions set right on rows that no member was fitted to: one file a way. A new file here is found by itself."""

import importlib
import pkgutil

from pritchel.posterior.calibration.base import CALIBRATIONS, Calibration, FoundCalibration, calibration

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["CALIBRATIONS", "Calibration", "FoundCalibration", "calibration"]
