"""Middleware for every connection, HTTP and WebSocket alike: plain ASGI."""
