package frame

import "strings"

// HostHint reads the name of the node that a line states about itself: the host of
// its framing, a shell prompt, uname -a, hostnamectl, systemd's greeting at boot.
// It gives "" for most lines; a source asks it of the first lines of an input.
func HostHint(line []byte) string {
	p := newPeeler(nil, clean(line[:min(len(line), 512)]).text)
	p.run()
	if p.m.Host != "" && p.at != outer {
		return p.m.Host
	}
	text := strings.TrimSpace(p.rest)
	if _, rest, ok := strings.Cut(text, "Hostname set to <"); ok {
		name, _, ok := strings.Cut(rest, ">")
		return hostName(name, ok)
	}
	if rest, ok := strings.CutPrefix(text, "Static hostname: "); ok {
		return hostName(strings.TrimSpace(rest), true)
	}
	if rest, ok := strings.CutPrefix(text, "Linux "); ok && strings.Contains(rest, "#1") { // uname -a
		name, rest, ok := strings.Cut(rest, " ")
		return hostName(name, ok && name != "version" && rest != "" && isDigit(rest[0]))
	}
	return promptHost(text)
}

// promptHost reads "root@gpu12:~# …" and "[root@gpu12 ~]$ …".
func promptHost(s string) string {
	s = strings.TrimPrefix(s, "[")
	user, rest, ok := strings.Cut(s[:min(len(s), 128)], "@")
	if !ok || user == "" || strings.ContainsAny(user, " :/=\"'<(") {
		return ""
	}
	n := 0
	for n < len(rest) && (isAlnum(rest[n]) || rest[n] == '-' || rest[n] == '.') {
		n++
	}
	if n == 0 || n >= len(rest) || rest[n] != ':' && rest[n] != ' ' || !strings.ContainsAny(rest[n:], "#$") {
		return ""
	}
	return hostName(rest[:n], true)
}

func hostName(s string, ok bool) string {
	if !ok || s == "" || s == "localhost" || hostLen(s) != len(s) {
		return ""
	}
	return s
}
