"""Weather stations: each station reports every ten minutes, at its own second of the period.

Temperatures follow the time of day; occasionally a measurement is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whorl.spark.generators.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.spark.generators.draw import Draw, Rows

START_MS = 1_091_944_800_000  # 2004-08-08T06:00:00Z
STATIONS = 300
PERIOD_MS = 600_000
STEP_MS = PERIOD_MS // STATIONS
MEASURED = (
    *("airtemperature", "dewpoint", "soiltemperature", "relativehumidity", "windspeed", "windgust"),
    *("winddirection", "precipitation", "pressure"),
)
SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("moment", pa.string()),
        ("station", pa.string()),
        *[(name, pa.float64()) for name in MEASURED],
    ]
)


def times(draw: Draw) -> Rows:
    """The times of the reports: each station has its own second in a period."""
    return draw.rows * STEP_MS


def columns(draw: Draw, at: Rows) -> Mapping[str, Any]:
    """The measured values."""
    number = draw.rows % STATIONS
    station = draw.of(number)
    day = np.sin(2 * np.pi * ((at % 86_400_000) / 86_400_000 - 0.375))
    air = station.between("climate", 50, 80) + 12 * day + draw.between("air", -1, 1)
    wind = station.between("exposure", 0, 25) * draw.between("wind", 0.4, 1.6)
    # Rain lasts for whole hours, at some of the stations.
    hour = draw.of(number + STATIONS * (at // 3_600_000))
    rain = np.where(hour.unit("rain") < 0.15, hour.between("amount", 0.1, 3.0), 0.0)
    values = {
        "airtemperature": air,
        "dewpoint": air - draw.between("dew", 3, 18),
        "soiltemperature": air - draw.between("soil", 1, 8),
        "relativehumidity": draw.between("humidity", 30, 100),
        "windspeed": wind,
        "windgust": wind * draw.between("gust", 1.1, 1.9),
        "winddirection": draw.between("direction", 0, 360),
        "precipitation": rain,
        "pressure": draw.between("pressure", 29.5, 30.5),
    }
    return {
        "moment": np.datetime_as_string(at.astype("datetime64[ms]"), unit="s").tolist(),
        "station": [f"GEN{n:03d}" for n in number.tolist()],
        **{name: _measured(draw, name, column) for name, column in values.items()},
    }


GENERATOR = Generator(STEP_MS, 1, START_MS, SCHEMA, times, columns)


def _measured(draw: Draw, name: str, values: Any) -> pa.Array:  # noqa: ANN401 - numpy
    return pa.array(np.round(values, 1), mask=draw.unit(f"{name} missing") < 0.1)
