#!/bin/sh
# Build the console into the package; the argument is a file to touch when that is done.
# Without Node 18 or newer, or without the packages, the server shows its plain page, and the build prints a message.
# WHORL_CONSOLE=required makes that a failure, for distributed builds.
set -eu
cd "$(dirname "$0")"

without() {
  echo "$1, so there is no console: the server shows a plain page at /" >&2
  [ "${WHORL_CONSOLE:-}" != required ]
  exit
}

node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' 2>/dev/null || without "Node 18 or newer is not here"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  # Not `npm ci`, which requires packages for every platform; the lock has only those of the platforms we build on.
  npm install --no-save --silent --no-progress || without "the packages of server/web cannot be installed"
fi
npm run --silent build -- --logLevel warn
[ -z "${1:-}" ] || touch "$1"
