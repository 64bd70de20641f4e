package decode

import (
	"strings"
	"testing"

	"github.com/gpumedic/gpumedic"
	"github.com/gpumedic/gpumedic/catalog"
)

// wantFields checks "name=value" and "-name" (absent) on a decoded signal.
func wantFields(t *testing.T, name string, given map[string]string, want string) {
	t.Helper()
	label := ""
	for k, v := range given {
		label += k + "=" + v + " "
	}
	s := decodeAs(name, given)
	for _, w := range strings.Fields(want) {
		if k, absent := strings.CutPrefix(w, "-"); absent {
			if v, ok := s.Fields[k]; ok {
				t.Errorf("%s %s: %s is %q, want none", name, label, k, v)
			}
			continue
		}
		k, v, _ := strings.Cut(w, "=")
		if got := s.Fields[k]; got != v {
			t.Errorf("%s %s: %s is %q, want %q", name, label, k, got, v)
		}
	}
}

func TestNCCLFields(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		given m
		want  string
	}{
		{m{"peer": "10.0.0.9<41234>"}, "peer_host=10.0.0.9 peer_port=41234 peer_class=private"},
		{m{"peer": "nx214-ib.cluster<41877>"}, "peer_host=nx214-ib.cluster peer_class=name"},
		{m{"peer": "[127.0.1.1]:51234"}, "peer_host=127.0.1.1 peer_port=51234 peer_class=loopback"},
		{m{"peer": "fe80::1%eth0<12>"}, "peer_host=fe80::1%eth0 peer_class=link_local"},
		{m{"peer": "[2401:db00::5]:8594"}, "peer_host=2401:db00::5 peer_port=8594 peer_class=public"},
		{m{"peer": "172.17.0.3<1>"}, "peer_class=docker"},
		{m{"peer": "172.18.0.3<1>"}, "peer_class=private"},
		{m{"peer": "0.0.0.0<0>"}, "peer_class=unspecified"},
		{m{"peer": "localhost:29500"}, "peer_host=localhost peer_class=loopback"},
		{m{"peer": "<1>"}, "-peer_host peer_port=1 -peer_class"},
		{m{"error": "Connection timed out"}, "reason=timed_out"},
		{m{"error": "Connection refused"}, "reason=refused"},
		{m{"error": "retries"}, "reason=refused"},
		{m{"error": "Something new"}, "reason=other"},
		{m{"interface": "lo", "ip": "127.0.0.1"}, "net_class=loopback"},
		{m{"interface": "br-0a1b2c3d4e5f", "ip": "172.20.0.1"}, "net_class=docker"},
		{m{"interface": "enx0123", "ip": "169.254.3.1"}, "net_class=management"},
		{m{"interface": "enx0123", "ip": "10.0.0.4"}, "net_class=ordinary"},
		{m{"interface": "eth0"}, "-net_class"},
		{m{"interface": "bond0", "ip": "10.60.4.11"}, "net_class=ordinary"},
		{m{"gid_prefix": "80FE", "gid_suffix": "484ecc6c7f"}, "gid_class=link_local"},
		{m{"gid_prefix": "0", "gid_suffix": "B043C0AFFFF0000"}, "gid_class=ipv4"},
		{m{"gid_prefix": "0", "gid_suffix": "0"}, "gid_class=zero"},
		{m{"gid_prefix": "AABB0120", "gid_suffix": "1"}, "gid_class=ipv6"},
		{m{"local_gid": "fe80::be4:5fff:fe21:77a9"}, "gid_class=link_local"},
		{m{"gid": "0000:0000:0000:0000:0000:ffff:0a3c:040b"}, "gid_class=ipv4"},
		{m{"local_gid": "nonsense"}, "-gid_class"},
		{m{"version1": "21805", "version2": "2708"}, "version1_text=2.18.5 version2_text=2.7.8"},
		{m{"version1": "x", "version2": ""}, "-version1_text -version2_text"},
	} {
		wantFields(t, "nccl", c.given, c.want)
	}
}

func TestCollectiveFields(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		given m
		want  string
	}{
		{m{"timeout_ms": "600000", "ran_ms": "600070", "numel_in": "1"}, "timeout_s=600 ran_s=600.07 scalar=yes"},
		{m{"numel_in": "26214400"}, "-scalar"},
		{m{"last_enqueued": "1424", "last_completed": "1421"}, "pending=3 late=no -first_collective"},
		{m{"last_enqueued": "1421", "last_completed": "1421"}, "pending=0 late=yes"},
		{m{"last_enqueued": "1", "last_completed": "-1"}, "late=no first_collective=yes"},
		{m{"last_enqueued": "-1", "last_completed": "-1"}, "-late"},
		{m{"last_enqueued": "3"}, "-late -pending"},
		{m{"timeout_ms": "-5"}, "-timeout_s"},
		{m{"op_name": "recv"}, "op=RECV"},
	} {
		wantFields(t, "collective", c.given, c.want)
	}
}

func TestExitFields(t *testing.T) {
	type m = map[string]string
	for _, c := range []struct {
		given m
		want  string
	}{
		{m{"exitcode": "-9"}, "signal=sigkill how=killed"},
		{m{"exitcode": "-6"}, "signal=sigabrt how=crash"},
		{m{"code": "137"}, "signal=sigkill"},
		{m{"code": "139"}, "signal=sigsegv how=crash"},
		{m{"code": "135"}, "signal=sigbus"},
		{m{"code": "143"}, "signal=sigterm how=killed"},
		{m{"code": "1"}, "-signal how=exit"},
		{m{"code": "255"}, "-signal how=exit"},
		{m{"signum": "11"}, "signal=sigsegv"},
		{m{"word": "Segmentation fault (core dumped)"}, "signal=sigsegv"},
		{m{"word": "SIGTERM"}, "signal=sigterm"},
		{m{"word": "Bus error"}, "signal=sigbus"},
		{m{"word": "SIGWHATEVER"}, "-signal"},
	} {
		wantFields(t, "exit", c.given, c.want)
	}
}

func FuzzDecodeNCCL(f *testing.F) {
	for _, s := range []string{"10.0.0.9<41234>", "[fe80::1%eth0]:1", "Connection refused", "80FE", "21805", "-9", "<", "[", "::"} {
		f.Add(s, s)
	}
	d := New(catalog.Tables())
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range []string{"nccl", "collective", "exit"} {
			s := gpumedic.Signal{Fields: map[string]string{}}
			for _, k := range []string{"peer", "error", "interface", "gid_prefix", "local_gid", "version1", "timeout_ms", "last_enqueued", "exitcode", "signum"} {
				s.Fields[k] = a
			}
			for _, k := range []string{"ip", "gid_suffix", "gid", "version2", "numel_in", "last_completed", "code", "word"} {
				s.Fields[k] = b
			}
			d.Decode(name, &s)
			if s.Fields["peer"] != a || s.Fields["word"] != b {
				t.Fatalf("decoder %s changed a field that was given", name)
			}
		}
	})
}
