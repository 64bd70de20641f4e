#!/usr/bin/env bash
# How fast `gpumedic diagnose` reads, beside programs that search the same texts.
#
#   bench/scan.sh                       64 MiB logs, 5 runs each, in about ten minutes
#   SIZE=1G bench/scan.sh               the size of a real one (1 GiB in TMPDIR at a time)
#   BIG=10G KINDS= bench/scan.sh        memory only: so much log through a pipe, and a storm
#   GPUMEDIC=./gpumedic bench/scan.sh   measures a binary that is there
#   KINDS=kernel HITS="0 1" RUNS=3 bench/scan.sh
#
# The logs are made by bench/gen (seeded: the same on every machine): a node's syslog and
# a training job's output, of whose lines 0, 1 and 50 % tell of a fault. What the others
# search for is what gpumedic's catalog searches for (bench/literals); only they do
# nothing else with a line that has it. Each file is read once before it is measured, so
# that all read from memory. ripgrep and Hyperscan are optional (Debian: apt-get install
# ripgrep libhyperscan-dev, and a C compiler for the latter).
# Figures of a busy machine are worth nothing by themselves: compare within one table.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-5} size=${SIZE:-64M}
tmp=$(mktemp -d)
out=$tmp/out # a file: grep stops at its first match when it writes to /dev/null
trap 'rm -rf "$tmp"' EXIT

bin=${GPUMEDIC:-$tmp/gpumedic}
[ -n "${GPUMEDIC:-}" ] || CGO_ENABLED=0 go build -trimpath -o "$bin" ./cmd/gpumedic
go build -o "$tmp/gen" ./bench/gen
go run ./bench/literals >"$tmp/literals"
go build -o "$tmp/peak" ./bench/peak
cc -O2 -o "$tmp/hyperscan" bench/hyperscan/hyperscan.c -lhs 2>/dev/null || true # optional

# measure NAME COMMAND...: notes what to run; all are run in turns by table.
names=() cmds=()
measure() {
  names+=("$1")
  shift
  cmds+=("$(printf '%q ' "$@")")
}

# table: runs what was noted, in turns, and prints a row for each: by the clock (median),
# and by the processor's time (best), which a busy machine disturbs less.
table() {
  local i k TIMEFORMAT='%R %U %S'
  : >"$tmp/times"
  for ((k = 0; k < runs; k++)); do
    for i in "${!cmds[@]}"; do
      # A fault found is status 2, nothing found is 1.
      { time eval "${cmds[i]}" >"$out" 2>/dev/null || true; } 2>"$tmp/time"
      echo "$i $(cat "$tmp/time")" >>"$tmp/times"
    done
  done
  for i in "${!cmds[@]}"; do
    awk -v i="$i" '$1 == i { print $2, $3 + $4 }' "$tmp/times" | sort -n | awk -v name="${names[i]}" -v bytes="$bytes" '
      { t[NR] = $1; if (NR == 1 || $2 < c) c = $2 }
      END {
        m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
        if (m <= 0) m = 0.001
        if (c <= 0) c = 0.001
        printf "  %-38s %8.3f GB/s   %8.3f GB a second of processor\n", name, bytes / m / 1e9, bytes / c / 1e9
      }'
  done
  names=() cmds=()
}

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1 || true)
echo "$(date +%F), ${cpu:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores, $(go version | cut -d' ' -f3), load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo '?')"
echo "$(wc -l <"$tmp/literals") literals; medians of $runs runs, in turns"
for kind in ${KINDS-kernel train}; do
  for hits in ${HITS:-0 1 50}; do
    log=$tmp/$kind-$hits.log
    "$tmp/gen" -kind "$kind" -hits "$hits" -size "$size" >"$log"
    bytes=$(wc -c <"$log")
    cat "$log" >/dev/null
    echo "$kind log, $hits % of lines tell of a fault, $(LC_ALL=C grep -c -F -f "$tmp/literals" "$log" || true) of $(wc -l <"$log") hold a literal"
    measure "gpumedic diagnose, 1 worker" env GOMAXPROCS=1 "$bin" diagnose "$log"
    measure "gpumedic diagnose, 2 workers" env GOMAXPROCS=2 "$bin" diagnose "$log"
    if type -P rg >/dev/null; then measure "rg -j1 -c -F -f literals" rg -j1 -c -F -f "$tmp/literals" "$log"; fi
    if [ -x "$tmp/hyperscan" ]; then measure "hyperscan" "$tmp/hyperscan" "$tmp/literals" "$log"; fi
    measure "grep -c -F -f literals (LC_ALL=C)" env LC_ALL=C grep -c -F -f "$tmp/literals" "$log"
    measure "wc -l" wc -l "$log"
    measure "cat >/dev/null" sh -c "cat '$log' >/dev/null"
    table
    rm "$log"
  done
done

# What must not depend on the size of the input: memory. The storm is 800,000 lines of one
# GPU in trouble, of which 29 differ.
for hits in ${HITS:-0 1 50}; do
  echo "${BIG:-1G} of kernel log, $hits %, through a pipe, 1 worker"
  "$tmp/gen" -kind kernel -hits "$hits" -size "${BIG:-1G}" | GOMAXPROCS=1 "$tmp/peak" "$bin" diagnose --quiet - >/dev/null
done
if type -P xz >/dev/null; then
  echo "256M of kernel log, 1 %, packed with the window of xz -9 (64 MiB)"
  "$tmp/gen" -kind kernel -hits 1 -size 256M | xz --lzma2=preset=0,dict=64MiB >"$tmp/big.xz"
  GOMAXPROCS=1 "$tmp/peak" "$bin" diagnose --quiet "$tmp/big.xz" >/dev/null
  rm "$tmp/big.xz"
fi
echo "800,000 lines of Xid 95, 29 of them different"
awk 'BEGIN { for (i = 0; i < 800000; i++)
  printf "[%12.6f] NVRM: Xid (PCI:0000:3b:00): 95, pid=%d, name=python3, Uncontained: LTC TAG. RST: Yes, D-RST: No\n", 1000 + i / 1000, 4000 + (i * 7) % 29 }' >"$tmp/storm.log"
GOMAXPROCS=1 "$tmp/peak" "$bin" diagnose --quiet "$tmp/storm.log" >/dev/null
