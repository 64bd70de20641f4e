package frame

import "testing"

// BenchmarkLoggers frames lines of the commonest loggers.
func BenchmarkLoggers(b *testing.B) {
	for name, line := range map[string]string{
		"syslog-kernel":  "Feb 11 12:35:00 gpu-n019 kernel: [813300.490000] NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python3, Ch 00000008, intr 00000000. MMU Fault",
		"syslog-service": `Feb 11 12:35:00 gpu-n020 kubelet[2912]: E0211 12:35:00.233000    2912 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to start"`,
		"dmesg":          "[813300.490000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
		"iso-kernel":     "2026-02-11T12:35:00.490000+00:00 gpu-n019 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.",
		"rank":           "[rank35]: 2026-02-11 12:46:13,535 - INFO - train - step 142174 | loss 7.0138 | lr 3.0e-04 | grad_norm 0.320 | tokens/s 20015 | step_time 0.842s",
		"python":         "2026-02-11 12:46:13,527 INFO trainer.py:867: prefetch queue 15/64, worker 14, sample 30268548, bucket s3://corpus/shards/6f5a7e55237563f9.tar",
		"nccl":           "gpu-n017:41997:19488 [1] NCCL WARN Call to recv from 10.1.2.3<1234> failed : Connection reset by peer",
		"plain":          "RuntimeError: CUDA error: an illegal memory access was encountered",
	} {
		b.Run(name, func(b *testing.B) {
			f, w := New(Options{}), Line(line)
			b.ReportAllocs()
			for b.Loop() {
				f.Frame(w)
			}
		})
	}
}
