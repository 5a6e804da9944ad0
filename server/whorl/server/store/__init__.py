"""The durable store: the only code that knows its files."""
