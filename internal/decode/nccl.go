package decode

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lazyre"
)

// nccl reads what messages of NCCL, Gloo and the rendezvous say about addresses,
// interfaces, RoCE addresses and the system's errors. Every step needs only its own
// field, so one decoder serves all of those messages.
func (d *Decoder) nccl(f *fields) {
	if p := f.get("peer"); p != "" {
		host, port := splitPeer(p)
		f.set("peer_host", host)
		f.set("peer_port", port)
		f.set("peer_class", addressClass(host))
	}
	if e := f.get("error"); e != "" {
		f.set("reason", errnoReason(e))
	}
	if i, ip := f.get("interface"), f.get("ip"); i != "" || ip != "" {
		f.set("net_class", netClass(i, ip))
	}
	if p := f.get("gid_prefix"); p != "" {
		f.set("gid_class", packedGID(p, f.get("gid_suffix")))
	}
	for _, name := range []string{"local_gid", "gid"} {
		if g := f.get(name); g != "" {
			f.set("gid_class", gidClass(g))
		}
	}
	if b := f.get("bus"); b != "" {
		f.set("bus_id", packedBusID(b))
	}
	if a, b := f.get("version1"), f.get("version2"); a != "" {
		f.set("version1_text", ncclVersion(a))
		f.set("version2_text", ncclVersion(b))
	}
}

// packedBusID turns NCCL's packed PCI address, the hexadecimal digits of
// domain:bus:device.function without separators and leading zeros (5e000), into
// 0000:5e:00.0 (https://github.com/NVIDIA/nccl/blob/master/src/misc/utils.cc). Other
// texts are returned as they are.
func packedBusID(s string) string {
	v, err := strconv.ParseUint(s, 16, 36)
	if err != nil || v < 1<<4 {
		return s // an address with separators, or the number of a device
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", v>>20, v>>12&0xff, v>>4&0xff, v&0xf)
}

// splitPeer cuts NCCL's "10.0.0.9<41234>", Gloo's "[10.0.0.9]:41234" and plain
// "host:port" into host and port. An IPv6 address without brackets is a host alone.
func splitPeer(s string) (host, port string) {
	s = strings.TrimRight(strings.TrimSpace(s), ",.;")
	if h, rest, ok := strings.Cut(s, "<"); ok {
		return trimHost(h), strings.TrimRight(rest, ">")
	}
	if strings.HasPrefix(s, "[") {
		if h, rest, ok := strings.Cut(s[1:], "]"); ok {
			return trimHost(h), strings.TrimPrefix(rest, ":")
		}
	}
	if strings.Count(s, ":") == 1 {
		h, p, _ := strings.Cut(s, ":")
		return trimHost(h), p
	}
	return trimHost(s), ""
}

func trimHost(s string) string { return strings.Trim(s, "[] ") }

// addressClass says what kind of place an address is; "name" for a host name.
func addressClass(host string) string {
	h, _, _ := strings.Cut(host, "%") // zone of a link-local address
	a, err := netip.ParseAddr(h)
	if err != nil {
		if h == "localhost" {
			return "loopback"
		}
		if h == "" {
			return ""
		}
		return "name"
	}
	a = a.Unmap()
	switch {
	case a.IsLoopback():
		return "loopback"
	case a.IsLinkLocalUnicast():
		return "link_local"
	case a.IsUnspecified():
		return "unspecified"
	case bridge4(a):
		return "docker"
	case a.IsPrivate():
		return "private"
	}
	return "public"
}

// bridge4 reports the default networks of Docker's and libvirt's bridges: every host
// has the same ones, so they lead nowhere.
func bridge4(a netip.Addr) bool {
	return dockerNet.Contains(a) || libvirtNet.Contains(a)
}

var (
	dockerNet  = netip.MustParsePrefix("172.17.0.0/16")
	libvirtNet = netip.MustParsePrefix("192.168.122.0/24")
)

// ifClass tells interfaces that lead to no other host by their customary names.
var ifClass = []struct {
	re    *lazyre.Regexp
	class string
}{
	{lazyre.New(`^lo\d*$`), "loopback"},
	{lazyre.New(`^(?:docker|br-[0-9a-f]{6,}|podman|lxcbr|lxdbr|nerdctl)\w*$`), "docker"},
	{lazyre.New(`^(?:virbr|vnet|vboxnet|vmnet|veth)\w*`), "virtual"},
	{lazyre.New(`^(?:tun|tap|wg|tailscale|zt)\w*$`), "vpn"},
	{lazyre.New(`^(?:usb|idrac|enx)\w*$`), "management"},
}

// netClass is the class of an interface by its name, else by its address. A bridge of
// Docker may have any address; "management" counts only with a link-local address,
// since USB adapters can be real network cards.
func netClass(name, ip string) string {
	host, _ := splitPeer(ip)
	byIP := addressClass(host)
	for _, c := range ifClass {
		if c.re.MatchString(name) {
			if c.class == "management" && byIP != "link_local" {
				break
			}
			return c.class
		}
	}
	switch byIP {
	case "loopback", "link_local":
		return byIP
	case "":
		return ""
	}
	return "ordinary"
}

// packedGID reads a GID as NCCL before 2.24 prints it: two 64-bit words in host byte
// order, so that fe80:: is 80FE and an IPv4 address stands reversed before FFFF0000.
func packedGID(prefix, suffix string) string {
	p, s := strings.ToUpper(strings.TrimLeft(prefix, "0")), strings.ToUpper(strings.TrimLeft(suffix, "0"))
	switch {
	case strings.HasSuffix(p, "80FE"):
		return "link_local"
	case p == "" && s == "":
		return "zero"
	case p == "" && strings.HasSuffix(s, "FFFF0000"):
		return "ipv4"
	case p == "":
		return "zero_prefix"
	}
	return "ipv6"
}

func gidClass(g string) string {
	a, err := netip.ParseAddr(strings.Trim(g, "[]()., "))
	if err != nil {
		return ""
	}
	switch {
	case a.IsLinkLocalUnicast():
		return "link_local"
	case a.Is4In6() || a.Is4():
		return "ipv4"
	case a.IsUnspecified():
		return "zero"
	}
	return "ipv6"
}

// errnoWords are the system's words for errors of sockets and verbs.
var errnoWords = []struct{ words, reason string }{
	{"connection refused", "refused"},
	{"connection timed out", "timed_out"},
	{"timed out", "timed_out"},
	{"no route to host", "no_route"},
	{"network is unreachable", "unreachable"},
	{"host is down", "unreachable"},
	{"connection reset", "reset"},
	{"broken pipe", "reset"},
	{"connection closed", "reset"},
	{"software caused connection abort", "aborted"},
	{"connection aborted", "aborted"},
	{"address already in use", "in_use"},
	{"cannot assign requested address", "no_address"},
	{"cannot allocate memory", "no_memory"},
	{"no space left", "no_space"},
	{"permission denied", "denied"},
	{"operation not permitted", "denied"},
	{"invalid argument", "invalid"},
	{"no data available", "no_data"},
	{"no such file", "absent"},
	{"no such device", "absent"},
	{"too many open files", "no_descriptor"},
	{"operation now in progress", "in_progress"},
	{"retries", "refused"},
	{"timeouts", "timed_out"},
}

// errnoReason is one token for an errno text, "other" for one that is not known.
func errnoReason(text string) string {
	t := strings.ToLower(text)
	for _, e := range errnoWords {
		if strings.Contains(t, e.words) {
			return e.reason
		}
	}
	return "other"
}

// ncclVersion writes NCCL's number as people know it: 21805 is 2.18.5, 2708 is 2.7.8.
func ncclVersion(code string) string {
	n, ok := atoi(code)
	if !ok || n < 1000 || n > 999999 {
		return ""
	}
	if n >= 10000 { // since 2.9: major*10000 + minor*100 + patch
		return plainVersion(n/10000, n/100%100, n%100)
	}
	return plainVersion(n/1000, n/100%10, n%100)
}
