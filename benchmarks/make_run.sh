#!/bin/sh
# How long `make run` takes in a fresh clone until the server is ready: first with nothing built, then once more.
#
#     sh benchmarks/make_run.sh [PORT]
#
# Prints the seconds of both, and the load of the machine before each. Packages come from the caches of pip, cargo and npm
# where they have them. Removes the clone.
set -eu
cd "$(dirname "$0")/.."
port=${1:-8999}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
git clone --quiet . "$place/whorl"
cd "$place/whorl"
for start in cold warm; do
  load=$(cut -d ' ' -f 1 /proc/loadavg)
  begun=$(date +%s)
  setsid make run PORT="$port" >"$place/$start.log" 2>&1 &
  run=$!
  until grep -q 'whorl is ready' "$place/$start.log"; do
    kill -0 "$run" 2>/dev/null || { cat "$place/$start.log" >&2; exit 1; }
    sleep 0.2
  done
  echo "$start: $(($(date +%s) - begun)) s, load $load on $(nproc) cores, $(grep -vc '^$' "$place/$start.log") lines printed"
  kill -- "-$run"
  wait "$run" 2>/dev/null || true
done
