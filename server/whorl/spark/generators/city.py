"""The sensors of CityBench: traffic, car parks, air quality, weather, and the position of one pedestrian."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whorl.spark.generators.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.spark.generators.draw import Draw, Rows

START_MS = 1_406_851_200_000  # 2014-08-01T00:00:00Z
PERIOD_MS = 300_000
ROADS = 100
CAR_PARKS = ("BRUUNS", "BUSGADEHUSET", "KALKVAERKSVEJ", "MAGASIN", "NORREPORT", "SALLING", "SCANDCENTER", "SKOLEBAKKEN")
DAY_MS = 86_400_000


def _schema(*columns: str) -> pa.Schema:
    return pa.schema([("t", pa.int64()), ("sensor", pa.string()), *[(name, pa.float64()) for name in columns]])


TRAFFIC = _schema("avg_speed", "vehicle_count", "measured_time", "congestion", "estimated_time")
PARKING = pa.schema([("t", pa.int64()), ("sensor", pa.string()), ("vacancy", pa.int64())])
POLLUTION = _schema("api")
WEATHER = _schema("humidity", "temperature", "wind_speed")
USERS = _schema("latitude", "longitude")


def _busy(at: Rows) -> Any:  # noqa: ANN401 - numpy
    """The level of activity, with two peaks a day."""
    return 0.55 - 0.45 * np.cos(4 * np.pi * ((at % DAY_MS) / DAY_MS - 0.1))


def _traffic(draw: Draw, at: Rows) -> Mapping[str, Any]:
    road = draw.of(draw.rows % ROADS)
    metres = np.round(road.between("metres", 200, 3_000))
    vehicles = np.floor(road.between("size", 5, 60) * _busy(at) * draw.between("vehicles", 0.5, 1.5))
    speed = np.round(road.between("limit", 40, 90) * (1 - 0.5 * _busy(at) * draw.unit("slow")))
    return {
        "sensor": [f"AarhusTrafficData{number}" for number in (158_000 + road.rows).tolist()],
        "avg_speed": speed,
        "vehicle_count": vehicles,
        "measured_time": np.round(metres / speed * 3.6),
        "congestion": vehicles / metres,
        "estimated_time": metres / speed,
    }


def _parking(draw: Draw, at: Rows) -> Mapping[str, Any]:
    number = draw.rows % len(CAR_PARKS)
    places = 100 + draw.of(number).whole("places", 900)
    taken = np.minimum(places, (places * _busy(at) * draw.between("taken", 0.6, 1.2)).astype(np.int64))
    return {
        "sensor": [f"AarhusParkingData{CAR_PARKS[index]}" for index in number.tolist()],
        "vacancy": places - taken,
    }


def _pollution(draw: Draw, at: Rows) -> Mapping[str, Any]:
    road = draw.of(draw.rows % ROADS)
    return {
        "sensor": [f"AarhusPollutionData{number}" for number in (158_000 + road.rows).tolist()],
        "api": np.round(road.between("air", 20, 80) + 60 * _busy(at) * draw.unit("api")),
    }


def _weather(draw: Draw, at: Rows) -> Mapping[str, Any]:
    return {
        "sensor": ["AarhusWeatherData0"] * len(at),
        "humidity": np.round(draw.between("humidity", 40, 100)),
        "temperature": np.round(17 + 6 * np.sin(2 * np.pi * ((at % DAY_MS) / DAY_MS - 0.375)), 1),
        "wind_speed": np.round(draw.between("wind", 0, 30), 1),
    }


def _users(draw: Draw, at: Rows) -> Mapping[str, Any]:
    angle = 2 * np.pi * (at % DAY_MS) / DAY_MS
    return {
        "sensor": ["UserLocationService"] * len(at),
        "latitude": np.round(56.16 + 0.03 * np.sin(angle) + draw.between("north", -0.001, 0.001), 6),
        "longitude": np.round(10.2 + 0.05 * np.cos(angle) + draw.between("east", -0.001, 0.001), 6),
    }


def _generator(sensors: int, period_ms: int, schema: pa.Schema, columns: Callable[..., Mapping[str, Any]]) -> Generator:
    step_ms = period_ms // sensors
    return Generator(step_ms, 1, START_MS, schema, lambda draw: draw.rows * step_ms, columns)


TRAFFIC_GENERATOR = _generator(ROADS, PERIOD_MS, TRAFFIC, _traffic)
PARKING_GENERATOR = _generator(len(CAR_PARKS), PERIOD_MS, PARKING, _parking)
POLLUTION_GENERATOR = _generator(ROADS, PERIOD_MS, POLLUTION, _pollution)
WEATHER_GENERATOR = _generator(1, 1_200_000, WEATHER, _weather)
USER_GENERATOR = _generator(1, 10_000, USERS, _users)
