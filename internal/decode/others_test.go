package decode

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

func decodeAs(name string, given map[string]string) *gpumedic.Signal {
	s := &gpumedic.Signal{Fields: given}
	New(catalog.Tables()).Decode(name, s)
	return s
}

func TestOtherDecoders(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		name  string
		given m
		want  string
	}{
		{"sxid", m{"code": "28006", "text": "Non-fatal, Link 46 MC TS crumbstore MCTO (First)"}, "severity=nonfatal fatality=nonfatal link=46 first=yes reason=mc_ts_crumbstore_mcto action=monitor subject.link=46 catalogued=no level=abnormal"},
		{"sxid", m{"code": "20034", "severity": "Fatal", "link": "30", "text": "LTSSM Fault Up"}, "severity=fatal fatality=fatal link=30 name=DLPL_LTSSM_FAULT_UP unit=nvlink_dlpl reason=ltssm_fault_up first=no action=drain_and_diagnose table_fatality=potentially_fatal"},
		{"sxid", m{"code": "24007", "text": "Fatal, sourcetrack timeout error (First)"}, "severity=fatal -link reason=sourcetrack_timeout_error"},
		{"sxid", m{"code": "24007", "text": "Non-fatal, Link 07 sourcetrack timeout error (First)"}, "fatality=nonfatal link=7 action=restart_app"},
		{"sxid", m{"code": "22013", "severity": "Non-fatal", "text": "Link 5 Minion Link DLREQ interrupt"}, "level=fact action=none"},
		{"sxid", m{"code": "19084", "text": "Non-fatal, Link 46 AN1 Heartbeat Timeout Error (First)"}, "fatality=nonfatal catalogued=yes"},
		{"sxid", m{"code": "12021", "text": "Correctable, Link 3 something"}, "severity=correctable level=notice"},
		{"sxid", m{"code": "99999", "text": "Fatal, Link 3 something new"}, "catalogued=no severity=fatal action=drain_and_diagnose"},
		{"sxid", m{"code": "20034", "text": ""}, "fatality=potentially_fatal -severity"},
		{"sxid", m{"code": "10004", "text": "TEMP_OVERTEMP warning begins"}, "action=check_power_cooling"},

		{"rminit", m{"stage": "0x62", "status": "0x40", "line": "2393"}, "stage_name=firmware_init status_name=invalid_state hint=stale_state class=firmware action=reset_gpu catalogued=yes"},
		{"rminit", m{"stage": "0x26", "status": "0xffff"}, "stage_name=dma_config status_name=generic action=fix_config class=system"},
		{"rminit", m{"stage": "0x22", "status": "0xf"}, "status_name=gpu_is_lost action=reboot_node hint=gpu_lost"},
		{"rminit", m{"stage": "0x31", "status": "0x11"}, "action=check_power_cooling hint=power class=power"},
		{"rminit", m{"stage": "0x99", "status": "0x65"}, "catalogued=no status_name=timeout -stage_name"},
		{"rminit", m{"stage": "", "status": ""}, "catalogued=no"},

		{"aer", m{"text": "device [10de:2330] error status/mask=00000040/0000a000", "severity": "Corrected"}, "severity=corrected bits=badtlp aer_hint=link_quality layer=data_link"},
		{"aer", m{"text": "device [10de:2330] error status/mask=00000020/00400000", "severity": "Uncorrectable (Fatal)"}, "severity=fatal bits=sdes aer_hint=surprise_down layer=physical"},
		{"aer", m{"text": "device [10de:2330] error status/mask=00104000/00100000", "severity": "Uncorrected (Non-Fatal)"}, "severity=nonfatal bits=cmpltto masked=unsupreq aer_hint=completion_timeout"},
		{"aer", m{"text": "device [10de:2330] error status/mask=00004030/00000000\n [ 4] DLP  (First)\n [ 5] SDES\n [14] CmpltTO", "severity": "Uncorrectable (Fatal)"}, "severity=fatal bits=dlp|sdes|cmpltto first=dlp aer_hint=link_quality"},
		{"aer", m{"text": "PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)"}, "severity=corrected layer=data_link agent=transmitter -bits"},
		{"aer", m{"text": "PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)"}, "severity=nonfatal layer=transaction agent=requester"},
		{"aer", m{"text": "   [12] Timeout               \n   [ 8] Rollover", "severity": "Corrected"}, "bits=rollover|timeout"},
		{"aer", m{"text": "[ 0] RxErr                  (First)"}, "bits=rxerr aer_hint=link_quality"},
		{"aer", m{"text": "aer_status: 0x00004000, aer_mask: 0x00000000", "severity": "fatal"}, "bits=cmpltto"},
		{"aer", m{"status": "00001000", "mask": "00002000", "severity": "Correctable"}, "bits=timeout"},

		{"cuda", m{"text": "CUDA error: an illegal memory access was encountered"}, "number=700 sticky=yes class=application symbol_driver=CUDA_ERROR_ILLEGAL_ADDRESS symbol_runtime=cudaErrorIllegalAddress era=current"},
		{"cuda", m{"text": "cuda runtime error (77) : an illegal memory access was encountered at x.cu:1"[:67]}, "number=700"},
		{"cuda", m{"text": "cuda runtime error (59)"}, "number=710 era=legacy"},
		{"cuda", m{"text": "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error encountered"}, "number=214 class=hardware action=reset_gpu"},
		{"cuda", m{"number": "802"}, "number=802 action=restart_service symbol_driver=CUDA_ERROR_SYSTEM_NOT_READY"},
		{"cuda", m{"symbol": "cudaErrorMemoryAllocation"}, "number=2 class=resource action=reduce_memory"},
		{"cuda", m{"text": "CUDA error: invalid device ordinal"}, "number=101"},
		{"cuda", m{"text": "an unrelated line with error 7 in it"}, "-number"},
		{"cuda", m{"text": "CUresult=999"}, "number=999"},

		{"nvml", m{"text": "Failed to initialize NVML: Driver/library version mismatch"}, "number=18 symbol=NVML_ERROR_LIB_RM_VERSION_MISMATCH action=reboot_node"},
		{"nvml", m{"text": "Failed to initialize NVML: Unknown Error"}, "number=999"},
		{"nvml", m{"number": "15"}, "symbol=NVML_ERROR_GPU_IS_LOST class=hardware"},
		{"nvml", m{"text": "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost"}, "number=15"},
		{"nvml", m{"text": "nothing of ours"}, "-number"},
		{"nosuch", m{"text": "x"}, "-number"},
	} {
		given := fmt.Sprint(c.given)
		check(t, decodeAs(c.name, c.given), c.name+" "+given, c.want)
	}
}

// A decoder never changes what a matcher's group said, except to bring severity and
// link to one spelling.
func TestDecodersKeepGivenFields(t *testing.T) {
	s := decodeAs("xid", map[string]string{"code": "31", "text": "MMU Fault: ENGINE CE0 HUBCLIENT_CE0 faulted @ 0x1_0. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_READ", "engine": "mine", "pid": "7"})
	if s.Fields["engine"] != "mine" || s.Fields["pid"] != "7" || s.Fields["client"] != "hubclient_ce0" {
		t.Errorf("fields %v", s.Fields)
	}
}

// Fault authors write `where:` on these fields, so doc.go names each of them.
func TestFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for w := range strings.FieldsFuncSeq(string(doc), func(r rune) bool { return !(r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9') }) {
		words[w] = true
	}
	b, err := os.ReadFile("xid_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("NVRM: Xid [^\"]+").FindAllString(string(b), -1) {
		if !head.MatchString(m) {
			continue
		}
		for k := range decodeXid(t, m).Fields {
			if !words[k] {
				t.Errorf("field %s is not in doc.go (from %s)", k, m)
			}
		}
	}
}

func fuzzSeeds() []string {
	return []string{"", "NETIR Fatal XC0 i0 Link -1 (0x000fe406", "NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000)",
		"GPU recovery action changed from 0x0 (None) to 0x1 (GPU Re", "Graphics Exception: ESR 0x51d730=0x30009", "%s %s XC0 (%s", "(((((", "Uncontained: LTC TAG (0x2,0x0). RST: Yes",
		"MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x7f00_00000000.", "Link 46 x (First)", "Non-fatal, Link 99999999999999999999 y", "\x00\xff\xfe"}
}

// FuzzDecodeXid: any code with any text gives fields of valid form, and never panics.
func FuzzDecodeXid(f *testing.F) {
	for _, s := range fuzzSeeds() {
		for _, code := range []int{13, 31, 48, 64, 74, 94, 119, 120, 136, 145, 149, 154, 160} {
			f.Add(code, s)
		}
	}
	d := New(catalog.Tables())
	f.Fuzz(func(t *testing.T, code int, text string) {
		a := &gpumedic.Signal{Fields: map[string]string{"code": fmt.Sprint(code), "text": text}}
		d.Decode("xid", a)
		b := &gpumedic.Signal{Fields: map[string]string{"code": fmt.Sprint(code), "text": text}}
		d.Decode("xid", b)
		if fmt.Sprint(a.Fields) != fmt.Sprint(b.Fields) {
			t.Errorf("two results for %q", text)
		}
		if a.Fields["text"] != text || a.Fields["catalogued"] == "" {
			t.Errorf("fields %v", a.Fields)
		}
		for k, v := range a.Fields {
			if v == "" && k != "text" {
				t.Errorf("field %s is empty", k)
			}
		}
	})
}

// FuzzDecodeSXid covers the other decoders as well: they share the grammar's helpers.
func FuzzDecodeSXid(f *testing.F) {
	for _, s := range fuzzSeeds() {
		f.Add(20034, s)
		f.Add(22013, s)
	}
	d := New(catalog.Tables())
	f.Fuzz(func(t *testing.T, code int, text string) {
		for name := range decoders {
			s := &gpumedic.Signal{Fields: map[string]string{"code": fmt.Sprint(code), "text": text, "stage": text, "status": text, "number": text, "severity": text}}
			d.Decode(name, s)
			if s.Fields["text"] != text {
				t.Errorf("%s changed the text", name)
			}
		}
	})
}
