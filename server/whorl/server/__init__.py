"""The server: REST to define and feed, WebSocket to follow."""
