"""The data source `whorl`: Spark's entry points to the sink and the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from whorl.spark.errors import WhorlSparkError
from whorl.spark.options import SinkOptions, SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class WhorlDataSource(DataSource):
    """Writes streams and reads the results of queries. Spark calls the hooks, with arguments of these names."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return "whorl"

    def schema(self) -> StructType:
        """The default columns of a source."""
        from whorl.spark.source import schema_of

        return schema_of(SourceOptions.of(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """`spark.read`."""
        from whorl.spark.source import BatchSource

        return BatchSource(SourceOptions.of(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """`spark.readStream`."""
        from whorl.spark.source import StreamSource

        return StreamSource(SourceOptions.of(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's signature
        """`df.write`."""
        from whorl.spark.sink import BatchSink

        if overwrite:
            raise WhorlSparkError("a stream cannot be overwritten", "write with mode('append')")
        return BatchSink(SinkOptions.of(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: FBT001 - Spark's signature
        """`df.writeStream`."""
        from whorl.spark.sink import StreamSink

        if overwrite:
            raise WhorlSparkError("a stream cannot be overwritten", "use outputMode('append')")
        return StreamSink(SinkOptions.of(self.options), schema)


def register(spark: SparkSession) -> None:
    """Make `format("whorl")` known to a session."""
    spark.dataSource.register(WhorlDataSource)
