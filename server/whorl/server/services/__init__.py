"""Rules of the server that know no HTTP."""
