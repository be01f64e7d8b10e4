"""Against numpy's own, row by row."""

from __future__ import annotations

import numpy as np

from opd_widgets.diagnosis.tables.quantiles import mean, quantiles


def test_as_numpy_finds_them_without_what_is_missing():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 5, 31))
    values[rng.random(values.shape) < 0.4] = np.nan
    values[0, 0, 1:] = np.nan
    values[0, 0, 0] = 3.0
    levels = (0.0, 0.05, 0.5, 0.95, 1.0)
    for level, found in zip(levels, quantiles(values, levels), strict=True):
        np.testing.assert_allclose(found, np.nanquantile(values, level, axis=-1))
    np.testing.assert_allclose(mean(values), np.nanmean(values, axis=-1))


def test_nothing_has_none():
    nothing = np.full((2, 4), np.nan, np.float32)
    assert np.isnan(mean(nothing)).all()
    assert np.isnan(quantiles(nothing, [0.5])[0]).all()
    assert mean(np.zeros((0, 3))).shape == (0,)
