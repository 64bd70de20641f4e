package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/internal/explain"
)

func (c *cli) explainCmd() *cobra.Command {
	var f answerFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] WHAT",
		Short: "what an Xid, an error code, an exit code, a setting or a fault means, and what to do",
		Long: `explain tells what a code, a fault or a log line means: class, causes, action,
what it follows, what is often said about it and wrong, sources.

WHAT is a code (xid 94, sxid 20034, cuda 700, nvml 18, CUDA_ERROR_...,
ncclSystemError, rminit 0x62:0x40), an exit code or signal of the system (exit
137, -9, SIGBUS), a setting (NCCL_IB_DISABLE), a fault id, a whole log line, or
free words.`,
		Example: `  gpumedic explain xid 94
  gpumedic explain cuda 700 --lang zh
  gpumedic explain exit 137
  gpumedic explain NCCL_IB_DISABLE
  gpumedic explain row-remap-failure
  gpumedic explain 掉卡
  gpumedic explain --format json sxid 20034

exit status: 0 known, 64 nothing known by that name, or a usage error`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("read arguments: nothing to explain"), "for example: gpumedic explain xid 94")
			}
			l, cat, err := f.read(c)
			if err != nil {
				return err
			}
			page, err := explain.Explain(cat, strings.Join(args, " "), l)
			if errors.Is(err, explain.ErrNothing) {
				return usage(fmt.Errorf("explain %q: nothing known by that name", strings.Join(args, " ")), "gpumedic catalog list shows all faults")
			}
			if err != nil {
				return err
			}
			return c.deliver(f.out, func(w io.Writer) error { return writePage(w, &page, f.format) })
		},
	}
	f.add(cmd.Flags(), "text", "json")
	return cmd
}

func writePage(w io.Writer, p *explain.Page, format string) error {
	if format == "json" {
		return gpumedic.WriteJSON(w, p)
	}
	_, err := io.WriteString(w, p.Text())
	return err
}

// exitCodes lets "explain -9" and "explain exit -11" through: a number behind a dash,
// as Python writes exit codes, would be a flag. So would --shm-size, which -- lets
// through.
func exitCodes(args []string) []string {
	if len(args) == 0 || args[0] != "explain" {
		return args
	}
	out := slices.Clone(args)
	for i, a := range out {
		if n, ok := strings.CutPrefix(a, "-"); ok && n != "" && strings.Trim(n, "0123456789") == "" {
			out[i] = "exit:" + a
		}
	}
	return out
}
