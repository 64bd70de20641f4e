#!/bin/sh
# Slurm Prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/gpumedic.sh): no job starts on a
# node whose GPUs are not fit. A Prolog that fails drains the node and requeues the job;
# the reason below tells the operator why.
#
# GPUMEDIC_EXPECT is the number of GPUs that the node should have. Without it the saved
# baseline counts (gpumedic check --save-baseline).
PATH=/usr/local/bin:/usr/bin:/bin

# GPUMEDIC_FLAGS: more flags, such as "--kernel-window 1h" or "--baseline FILE".
# shellcheck disable=SC2086 # several flags are meant to be split
set -- --quick --format nagios $GPUMEDIC_FLAGS
[ -n "$GPUMEDIC_EXPECT" ] && set -- "$@" --expect-gpus "$GPUMEDIC_EXPECT"
answer=$(gpumedic check "$@" 2>&1)
status=$?
case $status in
0 | 1) exit 0 ;; # fit; a warning is for the operator, not for the job
esac
reason=$(printf '%s' "$answer" | head -n 1 | cut -d'|' -f1 | cut -c1-200)
logger -t gpumedic "prolog: $reason" 2>/dev/null
scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="gpumedic: $reason" 2>/dev/null
exit "$status"
