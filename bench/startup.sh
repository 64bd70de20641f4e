#!/usr/bin/env bash
# How long a call takes from fork to exit: what a person waits for, start-up included.
# Medians of RUNS calls (default 20) after one that warms the file cache, in
# milliseconds. "true" is the floor that any program pays here.
#
#   bench/startup.sh              builds gpumedic, measures, prints a table
#   GPUMEDIC=./gpumedic bench/startup.sh   measures a binary that is there
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-20}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

bin=${GPUMEDIC:-$tmp/gpumedic}
[ -n "${GPUMEDIC:-}" ] || CGO_ENABLED=0 go build -trimpath -o "$bin" ./cmd/gpumedic

# syslog BYTES JOB: a day of one node: services, logins, kubelet, one line in twenty a
# firewall's; with JOB 1 every fourth line is a training job's.
syslog() {
  awk -v want="$1" -v job="$2" '
  function rnd(n) { x = (x * 1103 + 12345) % 1000003; return x % n }
  BEGIN {
    while (1) {
      head = sprintf("Feb 11 %02d:%02d:%02d harrow ", 12 + int(i / 4020), int(i / 67) % 60, int(i % 67 * 60 / 67))
      kind = rnd(20)
      if (kind < 6) line = sprintf("systemd[1]: Started Session %d of user root.", i)
      else if (kind < 9) line = sprintf("sshd[%d]: Accepted publickey for ops from 10.0.%d.%d port %d ssh2", rnd(9999), rnd(256), rnd(256), rnd(65536))
      else if (kind < 14 || kind < 19 && !job) line = sprintf("kubelet[912]: I0211 912 operation_generator.go:%d] MountVolume.SetUp succeeded for volume %d", rnd(999), i)
      else if (kind < 19) line = sprintf("train[%d]: step %d loss 0.%04d lr 1e-4 tokens/s %d", rnd(9999), i, rnd(10000), rnd(90000))
      else line = sprintf("kernel: [UFW BLOCK] IN=eth0 OUT= MAC=%012x SRC=10.0.%d.%d DST=10.0.0.7 LEN=40 TOS=0x00 PREC=0x00 TTL=240 ID=%d PROTO=TCP SPT=%d DPT=23 WINDOW=1024 RES=0x00 SYN URGP=0", rnd(999999), rnd(256), rnd(256), rnd(65536), rnd(65536))
      bytes += length(head line) + 1
      if (bytes > want) exit
      print head line
      i++
    }
  }'
}
incident=examples/link-errors-then-lost-gpu.log
syslog 1048576 0 >"$tmp/quiet.log"
syslog $((1048576 - $(wc -c <"$incident"))) 1 >"$tmp/incident.log"
cat "$incident" >>"$tmp/incident.log"

# measure NAME COMMAND...: one row of the table.
measure() {
  local name=$1 i start end
  shift
  "$@" >/dev/null 2>&1 || true
  for ((i = 0; i < runs; i++)); do
    start=${EPOCHREALTIME/./}
    "$@" >/dev/null 2>&1 || true # a fault found is status 2
    end=${EPOCHREALTIME/./}
    echo $((end - start))
  done | sort -n | awk -v name="$name" '
    { t[NR] = $1 / 1000 }
    END {
      m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
      printf "%-38s %6.1f %6.1f %6.1f\n", name, m, t[1], t[NR]
    }'
}

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1 || true)
echo "$(date +%F), ${cpu:-$(uname -m)}, $(getconf _NPROCESSORS_ONLN) cores, $(go version | cut -d' ' -f3), load $(cut -d' ' -f1 /proc/loadavg 2>/dev/null || echo '?')"
printf '%-38s %6s %6s %6s\n' "ms of $runs runs" median least most
measure "true" "$(type -P true)"
measure "gpumedic --help" "$bin" --help
measure "gpumedic explain xid 94" "$bin" explain xid 94
measure "gpumedic diagnose (1 KB example)" "$bin" diagnose examples/healthy-boot.log
measure "gpumedic diagnose (1 MiB, healthy)" "$bin" diagnose "$tmp/quiet.log"
measure "gpumedic diagnose (1 MiB, job, fault)" "$bin" diagnose "$tmp/incident.log"
