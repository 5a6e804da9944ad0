"""Routes: check the input, call one service, answer."""
