"""The admin token of the compose file, made once: a file on a volume of its own, which only its owner reads."""

import os
import secrets
import sys

path = sys.argv[1]
try:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
except FileExistsError:
    sys.exit(0)
with os.fdopen(handle, "w", encoding="utf-8") as file:
    file.write(secrets.token_urlsafe(32) + "\n")
