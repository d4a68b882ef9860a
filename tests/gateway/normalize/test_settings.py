from __future__ import annotations

import dataclasses

import pytest

from .conftest import Place


def test_settings_are_frozen_and_strict_by_default(spot: Place) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        spot.settings.read_bytes = 5  # type: ignore[misc]
