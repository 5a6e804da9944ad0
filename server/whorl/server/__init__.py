"""The server: REST to declare streams and queries and to push events, WebSocket to follow results."""
