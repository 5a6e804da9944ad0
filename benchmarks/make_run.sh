#!/bin/sh
# The way from a clone to the first result, by the README alone, with the seconds of each step: first with
# nothing built, then `make run` once more.
#
#     sh benchmarks/make_run.sh [PORT]
#
# Prints the load of the machine before each start, and the processor time of the start, which does not depend on the load: on
# idle cores a start takes at least that time divided by their number. Packages come from the caches of pip, cargo and npm where they have
# them. Removes the clone.
set -eu
cd "$(dirname "$0")/.."
port=${1:-8999}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# processor PID: the CPU seconds of a process and of the children it has waited for.
processor() {
  awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%.0f", ($12 + $13 + $14 + $15) / ticks }' "/proc/$1/stat"
}

# step NAME COMMAND…: how long a command takes.
step() {
  name=$1
  shift
  begun=$(date +%s.%N)
  "$@" >"$place/step.log" 2>&1 || { cat "$place/step.log" >&2; exit 1; }
  echo "$name: $(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $begun }") s"
}

# The commands of README.md, which end after the first result.
walk() {
  export PATH="$PWD/.venv/bin:$PATH" WHORL_URL="http://127.0.0.1:$port"
  step "whorl queries" whorl queries
  step "a query of the demo" whorl query average-temperature --follow --limit 1
  step "a query of one's own" whorl query 'PREFIX : <http://whorl.example/>
    SELECT ?person ?room FROM NAMED WINDOW :w ON :people [RANGE 5s STEP 1s]
    WHERE { WINDOW :w { ?person :isIn ?room } }' --follow --limit 1
  step "a query for data of one's own" whorl query examples/first/hot.rspql --name hot --declare
  step "data of one's own" whorl push examples/first/readings.nq --stream http://example.org/sensors --speed x60
  step "its first results" whorl query hot --follow --from earliest --limit 2
  step "without a server" whorl run examples/first/hot.rspql --input examples/first/readings.nq
}

step "git clone" git clone --quiet . "$place/whorl"
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
  echo "make run, $start: $(($(date +%s) - begun)) s, $(processor "$run") s of processor time, load $load on $(nproc) cores, $(grep -vc '^$' "$place/$start.log") lines printed"
  [ "$start" = warm ] || walk
  kill -- "-$run"
  wait "$run" 2>/dev/null || true
done
