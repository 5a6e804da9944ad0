"""The runtime behind the routes: the engine and its catalogue on one thread, the log on another."""
