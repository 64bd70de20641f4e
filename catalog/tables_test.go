package catalog

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gpumedic/gpumedic"
)

func TestTablesLoad(t *testing.T) {
	tab := Tables()
	if err := tab.Check(); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string][2]int{
		"xid": {len(tab.Xids()), 178}, "sxid": {len(tab.SXids()), 399}, "recovery": {len(tab.Recoveries()), 6},
		"codes": {len(tab.Codes()), 464}, "buckets": {len(tab.Buckets()), 37},
		"settings": {len(tab.Settings()), 161}, "exits": {len(tab.Exits()), 27},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d rows, want %d", name, n[0], n[1])
		}
	}
}

// Every text that a person sees is there in both languages, and the Chinese one is
// Chinese.
func TestTablesSpeakBothLanguages(t *testing.T) {
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4e00 && r <= 0x9fff })
	}
	both := func(where string, texts ...Text) {
		for _, x := range texts {
			if x.IsZero() {
				continue
			}
			if x.EN == "" || han(x.EN) {
				t.Errorf("%s: English text %q", where, x.EN)
			}
			if !han(x.ZH) {
				t.Errorf("%s: Chinese text %q", where, x.ZH)
			}
		}
	}
	tab := Tables()
	for _, x := range tab.Xids() {
		both(x.Kind(), x.Meaning, x.Causes, x.CheckFor)
		if len(x.Sources) == 0 || x.CheckFor.IsZero() {
			t.Errorf("%s: no source or nothing to check", x.Kind())
		}
	}
	for _, x := range tab.SXids() {
		both(x.Kind(), x.Meaning, x.Impact, x.Advice)
	}
	for _, c := range tab.Codes() {
		both(c.Symbol, c.Meaning, c.First)
	}
	for _, b := range tab.Buckets() {
		both(b.ID, b.Meaning, b.Steps)
	}
	for _, m := range tab.Myths("") {
		both(m.ID, m.Claim, m.Truth)
	}
	for _, s := range tab.Settings() {
		both(s.Name, s.Meaning, s.Harm, s.Advice)
	}
	for _, rules := range tab.Env().Rules {
		for _, r := range rules {
			both(r.Names[0], r.What, r.Do)
		}
	}
	for _, e := range tab.Exits() {
		both(e.Short.EN, e.Short, e.Meaning, e.Causes, e.Check)
	}
}

func TestLevels(t *testing.T) {
	for code, want := range map[int]gpumedic.Level{
		14: gpumedic.LevelFact, 106: gpumedic.LevelFact, 107: gpumedic.LevelFact, 162: gpumedic.LevelFact,
		43: gpumedic.LevelAbnormal, 45: gpumedic.LevelAbnormal, 63: gpumedic.LevelAbnormal, 154: gpumedic.LevelAbnormal, 50: gpumedic.LevelAbnormal,
	} {
		if x, ok := Tables().Xid(code); !ok || x.Level != want {
			t.Errorf("xid %d: level %v, want %v", code, x.Level, want)
		}
	}
	for _, code := range []int{173, 174, 175, 176, 177, 185} {
		if x, ok := Tables().Xid(code); !ok || !x.Low {
			t.Errorf("xid %d rests on a weak source and must say so", code)
		}
	}
	if x, _ := Tables().SXid(22013); x.Level != gpumedic.LevelFact || x.Action != "none" {
		t.Errorf("sxid 22013 is harmless by the vendor's guide: %+v", x)
	}
}

func TestLookups(t *testing.T) {
	tab := Tables()
	for name, want := range map[string]string{"GPU Reset Required": "reset", "drain and reset": "drain_reset", "Drain P2P": "drain_p2p", "node  reboot-required": "reboot", "none": "none", "Recover IMEX Domain": "recover_imex"} {
		if r, ok := tab.RecoveryNamed(name); !ok || r.Token != want {
			t.Errorf("recovery %q: %+v", name, r)
		}
	}
	stage, status := tab.RmInit(0x62, 0x40)
	if stage == nil || stage.Name != "FIRMWARE_INIT" || status == nil || status.Name != "NV_ERR_INVALID_STATE" {
		t.Errorf("rminit 0x62:0x40: %+v %+v", stage, status)
	}
	for sym, n := range map[string]int{"CUDA_ERROR_ECC_UNCORRECTABLE": 214, "cudaErrorIllegalAddress": 700, "cudaErrorMemoryAllocation": 2, "cuda_error_out_of_memory": 2, "NVML_ERROR_LIB_RM_VERSION_MISMATCH": 18, "ncclRemoteError": 6} {
		if c, ok := tab.CodeSymbol(sym); !ok || c.Number != n {
			t.Errorf("%s: %+v, want %d", sym, c, n)
		}
	}
	if c, ok := tab.CodeText("cuda", "an illegal memory access was encountered"); !ok || c.Number != 700 {
		t.Errorf("text of 700: %+v", c)
	}
	if c, ok := tab.CUDA(2); !ok || c.Class != "resource" {
		t.Errorf("cuda 2: %+v", c)
	}
	if c, ok := tab.CodeNumber("runtime-legacy", 77); !ok || c.Symbol != "cudaErrorIllegalAddress" {
		t.Errorf("legacy 77: %+v", c)
	}
}

// A broken table says where it is broken.
func TestTableErrors(t *testing.T) {
	good, err := fs.ReadFile(embedded, "tables/recovery.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"reset_gpu", "resett", `field action: unknown action "resett"`},
		{"code\trecovery", "kode\trecovery", `column "code" is missing`},
		{"\tC;GPU\n", "\n", "fields, the header names"},
		{"\tC;GPU\n", "\tX\n", `field sources: "X" has no "#@" line`},
		{"无需恢复操作", "-", "field text_zh: is empty"},
		{"\n0\t", "\nx\t", `field code: "x" is no number`},
	} {
		tab := OpenTables(fstest.MapFS{"tables/recovery.tsv": {Data: []byte(strings.Replace(string(good), c.old, c.new, 1))}})
		_, err := tab.recovery()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "tables/recovery.tsv") {
			t.Errorf("%q for %q: error %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

// Property: for every row of the decode table, any word that has the row's fixed bits
// finds a row that says the same in that layout.
func TestNVLink5FindsEveryRow(t *testing.T) {
	tab := Tables()
	for _, xid := range []int{144, 145, 146, 147, 148, 149, 150} {
		rows := tab.NVLink5Rows(xid)
		if len(rows) == 0 {
			t.Fatalf("no rows for xid %d", xid)
		}
		for _, r := range rows {
			for _, noise := range []uint32{0, 0xffffffff, 0xa5a5a5a5, 0x5a5a5a5a, 0x00040c00} {
				for _, old := range []bool{true, false} {
					word, driver := r.NewValue|noise&^r.NewMask, 580
					if old {
						word, driver = r.OldValue|noise&^r.OldMask, 570
					}
					got := tab.NVLink5(xid, r.Unit, word, r.ErrStatus, driver)
					if len(got) != 1 || got[0].Old != old {
						t.Fatalf("xid %d %s %#x %#x: %d rows", xid, r.Unit, word, r.ErrStatus, len(got))
					}
					g := got[0].NVLink5
					if g != r && !moreSpecial(g, r, old) && g.Immediate != r.Immediate {
						t.Errorf("xid %d %s %#x %#x old=%v: got %+v, want %+v", xid, r.Unit, word, r.ErrStatus, old, g, r)
					}
				}
			}
		}
	}
}

// Every name leads to one setting; an old name leads to a new one, and what may only
// be used for diagnosis says what it costs.
func TestSettings(t *testing.T) {
	tab := Tables()
	seen := map[string]string{}
	for _, s := range tab.Settings() {
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			if old := seen[strings.ToLower(n)]; old != "" {
				t.Errorf("%s is in the rows of %s and of %s", n, old, s.Name)
			}
			seen[strings.ToLower(n)] = s.Name
		}
		switch s.Status {
		case "renamed", "removed", "alias", "missing":
			if len(s.Instead) == 0 {
				t.Errorf("%s is %s: nothing to use instead", s.Name, s.Status)
			}
		case "debug":
			if s.Harm.IsZero() && s.Advice.IsZero() {
				t.Errorf("%s is for diagnosis only: the row does not say why", s.Name)
			}
		}
		for _, n := range s.Instead {
			if x, ok := tab.Setting(n); ok && (x.Status == "renamed" || x.Status == "removed" || x.Status == "missing") {
				t.Errorf("%s: its successor %s is itself %s", s.Name, n, x.Status)
			}
		}
	}
	for q, want := range map[string]string{
		"nccl_ib_disable": "NCCL_IB_DISABLE", "NCCL_IB_DISABLE=1": "NCCL_IB_DISABLE", "expandable_segments:True": "expandable_segments",
		"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True": "PYTORCH_CUDA_ALLOC_CONF", "torch.cuda.empty_cache()": "torch.cuda.empty_cache",
		"NCCL_DESYNC_DEBUG": "NCCL_DESYNC_DEBUG", "backend:cudaMallocAsync": "backend:cudaMallocAsync",
	} {
		if s, ok := tab.Setting(q); !ok || s.Name != want {
			t.Errorf("setting %q: %+v, want %s", q, s, want)
		}
	}
	if e, ok := tab.ExitName("kill"); !ok || e.Number != 9 {
		t.Errorf("signal kill: %+v", e)
	}
}
