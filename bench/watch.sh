#!/usr/bin/env bash
# What gpumedic watch costs, and how quick it is. With a fake driver of one GPU unless
# REAL=1. Prints: memory (resident, its share where others have the page too, of its own)
# and processor time of the daemon and of its child over
# SECONDS_MEASURED (default 120) at a reading a second, from /proc; the time of a scrape; and,
# where /dev/kmsg can be written, the time from a line of the kernel until the incident is
# in the API and until a webhook has it, over RUNS (default 20) lines. Compares with
# node_exporter where it is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${SECONDS_MEASURED:-120} runs=${RUNS:-20}
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -o "$work/gpumedic" ./cmd/gpumedic
go build -o "$work/latency" ./bench/latency
export LANG=C
if [ -z "${REAL:-}" ]; then
  gcc -O2 -DNAP=10000 -shared -fPIC -o "$work/libnvidia-ml.so.1" internal/probe/gpu/testdata/fake/nvml.c
  cp -r internal/probe/gpu/testdata/scenarios "$work/"
  printf 'include=scenarios/healthy.txt\ngpus=%s\n' "${GPUS:-1}" >"$work/scenario"
  export LD_LIBRARY_PATH=$work NVML_FAKE=$work/scenario
fi
cat >"$work/watch.yaml" <<YAML
store: $work/incidents.db
window: 1m
web: {listen: ['127.0.0.1:19632']}
notifications: {channels: [{name: bench, type: webhook, url: 'http://127.0.0.1:19633/'}]}
YAML
if [ -w /dev/kmsg ]; then # it hears the webhook from the start
  "$work/latency" --api http://127.0.0.1:19632 --hook 127.0.0.1:19633 --runs "$runs" --wait $((seconds + 60))s >"$work/latencies" 2>&1 & told=$!
  pids+=("$told")
fi
"$work/gpumedic" watch --config "$work/watch.yaml" 2>"$work/log" & daemon=$!
pids+=("$daemon")
if command -v prometheus-node-exporter >/dev/null; then
  prometheus-node-exporter --web.listen-address=127.0.0.1:19634 2>/dev/null & node=$!
  pids+=("$node")
fi
cpu() { cat "/proc/$1"/task/*/schedstat | awk '{s+=$1} END{printf "%.0f", s/1000}'; } # microseconds
show() { # name pid microseconds-before
  awk -v n="$1" -v us="$(($(cpu "$2") - $3))" -v s="$seconds" '/^Rss:/{r=$2} /^Pss:/{p=$2} /^Anonymous:/{a=$2} END{printf "%-22s RSS %5.1f MiB, PSS %5.1f, anon %5.1f; CPU %.3f %% of a core\n", n, r/1024, p/1024, a/1024, us/s/1e4}' "/proc/$2/smaps_rollup"
}
sleep 30 # the start is over
child=$(cat /proc/"$daemon"/task/*/children | awk '{print $NF}' | tail -1)
for c in $(cat /proc/"$daemon"/task/*/children); do grep -qa nvml-follow "/proc/$c/cmdline" && child=$c; done
before=$(cpu "$daemon"); before_child=$(cpu "$child"); before_node=0
[ -n "${node:-}" ] && before_node=$(cpu "$node")
for ((i = 0; i < seconds; i += 15)); do # scraped as Prometheus would
  curl -s -o /dev/null http://127.0.0.1:19632/metrics
  [ -n "${node:-}" ] && curl -s -o /dev/null http://127.0.0.1:19634/metrics
  sleep 15
done
echo "over $seconds s, a scrape each 15 s:"
show "gpumedic watch" "$daemon" "$before"
show "  its NVML child" "$child" "$before_child"
[ -n "${node:-}" ] && show "node_exporter" "$node" "$before_node"
for ((i = 0; i < 200; i++)); do curl -s -o /dev/null -w '%{time_total}\n' http://127.0.0.1:19632/metrics; done |
  sort -n | awk '{v[NR]=$1*1000} END{printf "scrape: p50 %.1f ms, p99 %.1f ms\n", v[int(NR/2)], v[int(NR*0.99)]}'
if [ -n "${told:-}" ]; then
  wait "$told" || true
  cat "$work/latencies"
else
  echo "latency: skipped, /dev/kmsg cannot be written"
fi
