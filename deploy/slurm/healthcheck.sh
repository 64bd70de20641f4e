#!/bin/sh
# Slurm HealthCheckProgram (slurm.conf: HealthCheckProgram=/etc/slurm/gpumedic-health.sh,
# HealthCheckInterval=300, HealthCheckNodeState=ANY): drains the node when its GPUs are
# not fit. It never resumes a node: that is for a person, or for a verification.
PATH=/usr/local/bin:/usr/bin:/bin
export SLURM_CONF="${SLURM_CONF:-/etc/slurm/slurm.conf}"

# GPUMEDIC_FLAGS: more flags, such as "--kernel-window 1h" or "--baseline FILE".
# shellcheck disable=SC2086 # several flags are meant to be split
set -- --quick --format nagios $GPUMEDIC_FLAGS
[ -n "$GPUMEDIC_EXPECT" ] && set -- "$@" --expect-gpus "$GPUMEDIC_EXPECT"
answer=$(gpumedic check "$@" 2>&1)
status=$?
[ "$status" -le 1 ] && exit 0
node="${SLURMD_NODENAME:-$(hostname -s)}"
case $(sinfo -h -N -n "$node" -o %T 2>/dev/null) in
drain* | down*) exit 0 ;; # known already: keep the first reason
esac
reason=$(printf '%s' "$answer" | head -n 1 | cut -d'|' -f1 | cut -c1-200)
scontrol update nodename="$node" state=drain reason="gpumedic: $reason"
