"""Results for a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.spark.scale.outputs.answers import Answers


@dataclass(frozen=True, slots=True)
class CallbackOutput:
    """Calls a function on the driver: with a DataFrame and the number of the batch, or with `Answers` (`form="arrow"`).

    A function that must process each batch once has to remember the numbers it has seen.
    """

    function: Callable[..., object]
    form: Literal["frame", "arrow"] = "frame"

    def write(self, answers: Answers, spark: Any) -> None:  # noqa: ANN401 - a SparkSession, classic or Connect
        """One batch."""
        if self.form == "arrow":
            self.function(answers)
        else:
            self.function(answers.frame(spark), answers.batch)
