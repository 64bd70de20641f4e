package burn

import (
	"slices"
	"strings"
	"testing"
)

func TestCleanPass(t *testing.T) {
	o := quick(t, "")
	if r, why := o.Result(); r != Pass {
		t.Fatalf("%s: %s", r, why)
	}
	m := o.Memory
	if m.Tested < m.Free*9/10 || m.Verified < 10*m.Tested || m.Steps != m.Planned || m.WriteRate <= 0 || m.ReadRate <= 0 {
		t.Errorf("%+v", m)
	}
	if o.GPU.Name != "NVIDIA Test" || o.GPU.UUID == "" || len(o.Records) != 0 || o.Class != nil {
		t.Errorf("%+v", o)
	}
}

// TestHundredCleanPasses: nothing is ever reported of good memory.
func TestHundredCleanPasses(t *testing.T) {
	o := runFake(t, TaskMemory, MemOptions{PCI: gpu0, Mode: ModeSoak, Soak: 1 << 40, Rounds: 4}, "mem=2785280 l2=65536")
	if r, why := o.Result(); r != Pass || o.Memory.Rounds != 4 || o.Memory.Passes < 100 {
		t.Errorf("%s %s: %d rounds, %d passes", r, why, o.Memory.Rounds, o.Memory.Passes)
	}
	if o.Memory.Errors.Words != 0 || len(o.Records) != 0 {
		t.Errorf("%+v", o.Memory.Errors)
	}
}

// TestEachFaultIsFoundLocatedAndClassified plants one fault of each class.
func TestEachFaultIsFoundLocatedAndClassified(t *testing.T) {
	for _, c := range []struct {
		name, faults, kind string
		check              func(t *testing.T, o *Outcome)
	}{
		{"a bit stuck at one", "fault=stuck,offset=0x123458,bit=21,value=1", ClassStuck, func(t *testing.T, o *Outcome) {
			at(t, o, 0x123458)
			if !slices.Equal(o.Class.Bits, []int{21}) || !o.Class.Repeated {
				t.Errorf("class %+v", o.Class)
			}
		}},
		{"a bit stuck at zero", "fault=stuck,offset=0x40000c,bit=0,value=0", ClassStuck, func(t *testing.T, o *Outcome) { at(t, o, 0x40000c) }},
		{"a bit that flips once", "fault=flip,offset=0x20000,bit=3,after=9", ClassWeak, func(t *testing.T, o *Outcome) {
			at(t, o, 0x20000)
			if o.Memory.Errors.Words != 1 || o.Memory.Errors.Single != 1 {
				t.Errorf("errors %+v", o.Memory.Errors)
			}
		}},
		{"wrong data once on the way", "fault=transfer,offset=0x50004,mask=0x81,after=30,times=1", ClassTransfer, func(t *testing.T, o *Outcome) {
			at(t, o, 0x50004)
			if r := o.Records[0]; r.Bits() != 0x81 || r.Again != r.Want || r.Late != r.Want || r.Renewed != r.Want {
				t.Errorf("record %+v", r)
			}
		}},
		{"two addresses that are one cell", "fault=alias,bit=14", ClassAddress, func(t *testing.T, o *Outcome) {
			if o.Class.AddressBit != 14 {
				t.Errorf("class %+v", o.Class)
			}
			if r := o.Records[0]; r.Alias == nil || *r.Alias != r.Offset/vector*vector^1<<14 {
				t.Errorf("record %+v", r)
			}
		}},
		{"a whole page", "fault=page,offset=0x200000,len=0x200000,mask=0xFFFF0000", ClassPage, func(t *testing.T, o *Outcome) {
			if o.Class.First < 0x200000 || o.Class.Last >= 0x400000 {
				t.Errorf("class %+v", o.Class)
			}
			if len(o.Records) != records {
				t.Errorf("%d records, want the first %d", len(o.Records), records)
			}
			if o.Memory.Errors.Words < 10*0x200000/4 {
				t.Errorf("the count stops: %d", o.Memory.Errors.Words)
			}
		}},
		{"a lane of one SM", "fault=lane,sm=2,lane=11,mask=0x10,after=30,times=40", ClassLane, func(t *testing.T, o *Outcome) {
			if o.Class.SM != 2 || o.Class.Lane != 11 || !slices.Equal(o.Class.Bits, []int{4}) || o.Class.Period == 0 {
				t.Errorf("class %+v", o.Class)
			}
		}},
		{"stuck bits of several words", "fault=stuck,offset=0x30000,bit=1 fault=stuck,offset=0x30004,bit=30 fault=stuck,offset=0x31000,bit=7", ClassMixed, func(t *testing.T, o *Outcome) {
			if !slices.Equal(o.Class.Bits, []int{1, 7, 30}) || o.Class.First != 0x30000 || o.Class.Last != 0x31000 {
				t.Errorf("class %+v", o.Class)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := quick(t, c.faults)
			if r, why := o.Result(); r != Fail {
				t.Fatalf("%s %s: %+v", r, why, o.Memory)
			}
			if !o.Done || o.Class == nil || o.Class.Kind != c.kind {
				t.Fatalf("done %v, class %+v, first record %+v", o.Done, o.Class, o.Records[0])
			}
			for _, r := range o.Records {
				if r.Bits() == 0 || r.Pattern == "" || r.Time.IsZero() || r.Offset >= o.Memory.Tested {
					t.Fatalf("record %+v", r)
				}
			}
			c.check(t, o)
		})
	}
}

// at wants every record at one offset.
func at(t *testing.T, o *Outcome, offset uint64) {
	t.Helper()
	for _, r := range o.Records {
		if r.Offset != offset && r.Pattern != "block move" { // there the source may be the bad one
			t.Errorf("record at %#x, want %#x", r.Offset, offset)
		}
	}
}

// TestNothingTestedIsNeverGood: what could not be tested says so and why.
func TestNothingTestedIsNeverGood(t *testing.T) {
	for _, c := range []struct{ name, faults, result, why string }{
		{"no memory to be had", "fault=alloc", NotRun, "none of 6 MiB"},
		{"less memory than cache", "l2=8388608", NotRun, "past the cache"},
		{"no GPU at the address", "devices=0", NotRun, "CUDA_ERROR_NO_DEVICE"},
		{"hidden from the process", "visible=0", NotRun, "CUDA_ERROR_INVALID_DEVICE"},
		{"the kernels do not compile", "fault=jit", NotRun, "line 9"},
		{"an ECC error ends it", "fault=error,after=40,code=214", Incomplete, "uncorrectable ECC error encountered"},
		{"the GPU is lost at once", "fault=error,after=0,code=999", NotRun, "CUDA_ERROR_UNKNOWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := quick(t, c.faults)
			r, why := o.Result()
			if r != c.result || !strings.Contains(why, c.why) {
				t.Errorf("%s: %q, want %s: %q", r, why, c.result, c.why)
			}
		})
	}
}

func TestBitFade(t *testing.T) {
	o := runFake(t, TaskMemory, MemOptions{PCI: gpu0, Mode: ModeFull, Fade: 20 << 20}, "mem=2785280 l2=65536")
	if r, why := o.Result(); r != Pass || o.Memory.Waited <= 0 {
		t.Errorf("%s %s: waited %v s", r, why, o.Memory.Waited)
	}
}

// TestEveryReadLeavesTheCache: between writing and reading a word the whole memory passes
// by, so no step may read what its own last pass has just written in another order.
func TestEveryStepWritesBeforeItReads(t *testing.T) {
	for _, mode := range []string{ModeQuick, ModeFull, ModeSoak} {
		for _, s := range plan(mode, 3, 2) {
			if s.ops[0].do != opFill {
				t.Errorf("%s: %s reads what another step wrote", mode, s.Name)
			}
			var holds *Pattern
			for _, o := range s.ops {
				switch o.do {
				case opFill:
					p := o.pattern
					holds = &p
				case opCheck:
					if *holds != o.pattern {
						t.Errorf("%s: %s checks %+v where %+v was written", mode, s.Name, o.pattern, *holds)
					}
					if o.inv != 0 {
						p := o.pattern.inverted(o.inv)
						holds = &p
					}
				}
			}
		}
	}
	if a, b := plan(ModeSoak, 0, 0)[0], plan(ModeSoak, 1, 0)[0]; a.ops[0].pattern.S == b.ops[0].pattern.S {
		t.Error("two rounds of a soak have the same random data")
	}
}
