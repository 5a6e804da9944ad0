#!/bin/sh
# Fuzz one parser, guided by coverage: run.sh TARGET SECONDS [options of libFuzzer].
#
# Needs the compiler of the project and a C++ compiler, no other tools: libFuzzer is built by its crate. It starts from
# the corpus of tests/faults/fuzz. What it finds is in target/fuzz; to keep the smallest inputs that cover as much:
#   run.sh TARGET 0 -merge=1 target/fuzz/TARGET.min target/fuzz/TARGET
#   python tests/faults/fuzz/covered.py pack TARGET target/fuzz/TARGET.min
set -eu
target=$1 seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
work=${WHORL_FUZZ_DIR:-$here/../../target/fuzz}
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=16"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --quiet --release --target "$host" --target-dir "$work/build"
mkdir -p "$work/$target" "$work/$target.min" "$work/crashes"
export WHORL_FUZZ_TARGET=$target
program=$work/build/$host/release/whorl-fuzz
if [ "$seconds" = 0 ]; then
    exec "$program" "$@"
fi
"${PYTHON:-../../.venv/bin/python}" ../../tests/faults/fuzz/covered.py unpack "$target" "$work/$target"
exec "$program" "$work/$target" -max_total_time="$seconds" -max_len=4096 -timeout=25 -rss_limit_mb=3000 \
    -artifact_prefix="$work/crashes/$target-" -print_final_stats=1 "$@"
