"""The W3C tests of SPARQL 1.0 and 1.1, run through the streaming engine.

The data of a test comes as a stream that is cut in several ways; after the last event the answer has to be the one the
suite expects. `PYTHONPATH=tests/w3c python -m whorl_w3c` prints the table of results.
"""
