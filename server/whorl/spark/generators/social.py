"""The social network of LSBench, with a thousand users: posts, likes, photos and positions.

A like refers to a recently created item; a user's position moves a little from fix to fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from whorl.spark.generators.generator import Generator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.spark.generators.draw import Draw, Rows

START_MS = 1_264_982_400_000  # 2010-02-01T00:00:00Z
USERS = 1_000
FORUMS = 2_000
POST_STEP_MS = 2_000
LIKE_STEP_MS = 700
PHOTO_STEP_MS = 1_500
PHOTOS_PER_ALBUM = 20
FIX_STEP_MS = 250
# A like refers to one of this many most recent items of its kind.
LIKED_AMONG = 50
TAGS = (
    "Adam",
    "Beethoven",
    "Chess",
    "Dublin",
    "Everest",
    "Fox",
    "Galway",
    "Haydn",
    "Iceland",
    "Jazz",
    "Kepler",
    "Lake",
)
WORDS = ("old", "new", "first", "last", "famous", "quiet", "green", "distant")
BROWSERS = ("Firefox", "Chrome", "Safari", "Opera", "Internet Explorer")
PLACES = ("Hebi", "Galway", "Berlin", "Aarhus", "Oslo", "Hanoi", "Lima", "Quito")

_STRING, _DOUBLE = pa.string(), pa.float64()
POSTS = pa.schema(
    [
        ("t", pa.int64()),
        *[(name, _STRING) for name in ("created", "post", "user", "forum", "browser", "content", "tag", "second_tag")],
    ]
)
LIKES = pa.schema([("t", pa.int64()), ("user", _STRING), ("liked", _STRING)])
PHOTOS = pa.schema(
    [
        ("t", pa.int64()),
        *[(name, _STRING) for name in ("created", "photo", "album", "user", "tagged", "browser", "place")],
        ("latitude", _DOUBLE),
        ("longitude", _DOUBLE),
    ]
)
POSITIONS = pa.schema(
    [
        ("t", pa.int64()),
        *[(name, _STRING) for name in ("tracked", "user", "fix", "place")],
        ("latitude", _DOUBLE),
        ("longitude", _DOUBLE),
    ]
)


def _posts(draw: Draw, at: Rows) -> Mapping[str, Any]:
    tags, seconds = draw.choice("tag", TAGS), draw.choice("second tag", TAGS)
    words = draw.choice("word", WORDS)
    return {
        "created": _moments(at),
        "post": [f"po{number}" for number in draw.rows.tolist()],
        "user": _users(draw, "author"),
        "forum": [f"fo{number}" for number in draw.whole("forum", FORUMS).tolist()],
        "browser": draw.choice("browser", BROWSERS),
        "content": [f"About {one}, {word}, and {two}" for one, word, two in zip(tags, words, seconds, strict=True)],
        "tag": tags,
        # A null omits the triple.
        "second_tag": [two if two != one else None for one, two in zip(tags, seconds, strict=True)],
    }


def _photos(draw: Draw, at: Rows) -> Mapping[str, Any]:
    album = draw.of(draw.rows // PHOTOS_PER_ALBUM)
    place = album.whole("place", len(PLACES))
    return {
        "created": _moments(at),
        "photo": [f"pho{number}" for number in draw.rows.tolist()],
        "album": [f"pa{number}" for number in album.rows.tolist()],
        "user": _users(album, "photographer"),
        "tagged": _users(draw, "tagged"),
        "browser": album.choice("browser", BROWSERS),
        **_near(draw, place),
    }


def _positions(draw: Draw, at: Rows) -> Mapping[str, Any]:
    user = draw.of(draw.whole("user", USERS))
    return {
        "tracked": _moments(at),
        "user": [f"u{number}" for number in user.rows.tolist()],
        "fix": [f"gps{number}" for number in draw.rows.tolist()],
        **_near(draw, user.whole("home", len(PLACES))),
    }


def _like_of(prefix: str, made_step_ms: int) -> Any:  # noqa: ANN401 - a function of a generator
    def likes(draw: Draw, _: Rows) -> Mapping[str, Any]:
        newest = (draw.rows * LIKE_STEP_MS) // made_step_ms - 1
        liked = np.maximum(newest - draw.whole("age", LIKED_AMONG), 0)
        return {"user": _users(draw, "fan"), "liked": [f"{prefix}{number}" for number in liked.tolist()]}

    return likes


def _every(step_ms: int) -> Any:  # noqa: ANN401 - as above
    return lambda draw: draw.rows * step_ms + draw.whole("moment", step_ms)


def _users(draw: Draw, name: str) -> list[str]:
    return [f"u{number}" for number in draw.whole(name, USERS).tolist()]


def _near(draw: Draw, place: Rows) -> dict[str, Any]:
    """A place, and a position around it."""
    centre = draw.of(place)
    return {
        "place": [PLACES[number] for number in place.tolist()],
        "latitude": np.round(centre.between("latitude", -60, 60) + draw.between("north", -0.05, 0.05), 5),
        "longitude": np.round(centre.between("longitude", -180, 180) + draw.between("east", -0.05, 0.05), 5),
    }


def _moments(at: Rows) -> list[str]:
    return [f"{text}Z" for text in np.datetime_as_string(at.astype("datetime64[ms]")).tolist()]


def _generator(step_ms: int, schema: pa.Schema, columns: Any) -> Generator:  # noqa: ANN401 - as above
    return Generator(step_ms, step_ms, START_MS, schema, _every(step_ms), columns)


POST_GENERATOR = _generator(POST_STEP_MS, POSTS, _posts)
POST_LIKE_GENERATOR = _generator(LIKE_STEP_MS, LIKES, _like_of("po", POST_STEP_MS))
PHOTO_GENERATOR = _generator(PHOTO_STEP_MS, PHOTOS, _photos)
PHOTO_LIKE_GENERATOR = _generator(LIKE_STEP_MS, LIKES, _like_of("pho", PHOTO_STEP_MS))
POSITION_GENERATOR = _generator(FIX_STEP_MS, POSITIONS, _positions)
