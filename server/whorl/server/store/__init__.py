"""The durable store. Nothing else knows SQL."""
