"""Routes: check the input, call one service, respond."""
