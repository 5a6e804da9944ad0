"""What happens to every connection before a route sees it: plain ASGI, for HTTP and WebSocket alike."""
