package section

import (
	"strconv"
	"strings"
	"time"

	"github.com/gpumedic/gpumedic"
)

// processFact adds the process of a set: who is on which GPU, with how much memory.
func processFact(out *collector, set *Readings) {
	r, ok := set.Values["process.pid"]
	if !ok || set.Subject.Process.PID <= 0 {
		return
	}
	fields := map[string]string{"pid": r.Value}
	for key, field := range map[string]string{"process.name": "process", "process.used_memory.mib": "used_mib", "process.type": "type", "source": "device",
		"user": "user", "process.container": "container", "process.pod": "pod", "process.slurm.job": "job"} {
		if v := set.Values[key].Value; v != "" && v != na {
			fields[field] = v
		}
	}
	out.add(gpumedic.Signal{
		Kind: "smi.process", Subject: set.Subject, Fields: fields, Evidence: evidence(r), Count: 1,
		First: setTime(set), Last: setTime(set),
	})
}

// namesFact adds the names of a GPU that a set states together.
func namesFact(out *collector, set *Readings) {
	if _, ok := set.Values["process.pid"]; ok {
		return
	}
	g := set.Subject.GPU
	fields := map[string]string{}
	for k, v := range map[string]string{"pci": g.PCI, "uuid": g.UUID, "serial": g.Serial, "name": set.Values["name"].Value} {
		if v != "" && v != na {
			fields[k] = v
		}
	}
	if g.Index != nil {
		fields["index"] = strconv.Itoa(*g.Index)
	}
	if g.Minor != nil {
		fields["minor"] = strconv.Itoa(*g.Minor)
	}
	named := len(fields)
	if fields["name"] != "" {
		named--
	}
	if named < 2 {
		return
	}
	r := set.Values["pci"]
	for _, k := range []string{"uuid", "index", "serial", "minor"} {
		if r.Text == "" {
			r = set.Values[k]
		}
	}
	if r.Text == "" {
		return // the names came from other sets, which say so themselves
	}
	out.add(gpumedic.Signal{Kind: "smi.gpu", Subject: set.Subject, Fields: fields, Evidence: evidence(r), Count: 1})
}

// timeForms are how the tools write the time of a report: local, without a zone.
var timeForms = []string{
	"2006/01/02 15:04:05.000", "Mon Jan _2 15:04:05 2006", "01/02/2006 15:04:05", "Mon 2006-01-02 15:04:05 MST",
}

// setTime is the time of a set when it states one. The zone is missing in most
// forms and taken as UTC, which the stamp says.
func setTime(set *Readings) gpumedic.Stamp {
	for _, key := range []string{"timestamp", "event.time"} {
		v := set.Values[key].Value
		if v == "" || v == na {
			continue
		}
		for _, form := range timeForms {
			t, err := time.Parse(form, v)
			if err != nil {
				continue
			}
			s := gpumedic.Stamp{Time: t.UTC(), Precision: time.Second, Assumed: gpumedic.AssumedZone}
			if strings.HasSuffix(form, ".000") {
				s.Precision = time.Millisecond
			}
			if strings.HasSuffix(v, "UTC") {
				s.Assumed = 0
			}
			return s
		}
	}
	return gpumedic.Stamp{}
}
