// Command latency measures how long gpumedic watch takes from a line of the kernel until
// the incident is in its API, in its metrics, and at a webhook. It writes lines to
// /dev/kmsg that are marked as a test, of GPUs that no machine has.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	api := flag.String("api", "http://127.0.0.1:9532", "the daemon")
	hook := flag.String("hook", "127.0.0.1:19633", "where the webhook listens")
	runs := flag.Int("runs", 20, "lines")
	kmsg := flag.String("kmsg", "/dev/kmsg", "where lines are written")
	wait := flag.Duration("wait", 5*time.Second, "listen for so long before the first line")
	flag.Parse()
	if err := run(*api, *hook, *kmsg, *runs, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}
}

func run(api, hook, kmsg string, runs int, wait time.Duration) error {
	told := make(chan delivery, 10000)
	go func() {
		err := http.ListenAndServe(hook, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			told <- delivery{string(b), time.Now()}
		}))
		fmt.Fprintln(os.Stderr, "latency:", err)
		os.Exit(1)
	}()
	f, err := os.OpenFile(kmsg, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	time.Sleep(wait)    // a channel that failed before anyone listened tries again late
	for len(told) > 0 { // what the log held already
		<-told
	}
	var inAPI, inMetrics, atHook []time.Duration
	for n := range runs {
		pci := fmt.Sprintf("%04x:%02x:00", 0xf000+os.Getpid()%0xfff, n+1)
		begun := time.Now()
		if _, err := fmt.Fprintf(f, "<4>NVRM: Xid (PCI:%s): 31, pid=%d, name=latency%d, MMU Fault: ENGINE GRAPHICS GPC0 GPCCLIENT_T1_0 faulted @ 0x7f32_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_READ [gpumedic-test]\n", pci, 4000000+n, n); err != nil {
			return err
		}
		a, err := until(begun, func() bool { return listed(api, pci) })
		if err != nil {
			return fmt.Errorf("run %d: API: %w", n, err)
		}
		m, err := until(begun, func() bool { return strings.Contains(get(api+"/metrics"), pci+".0") })
		if err != nil {
			return fmt.Errorf("run %d: metrics: %w", n, err)
		}
		h, err := hooked(begun, told, pci)
		if err != nil {
			return fmt.Errorf("run %d: webhook: %w", n, err)
		}
		inAPI, inMetrics, atHook = append(inAPI, a), append(inMetrics, m), append(atHook, h)
		time.Sleep(1500 * time.Millisecond)
	}
	fmt.Printf("from the kernel's line, %d runs:\n", runs)
	for _, x := range []struct {
		name string
		list []time.Duration
	}{{"incident in the API", inAPI}, {"metric", inMetrics}, {"webhook delivered", atHook}} {
		slices.Sort(x.list)
		fmt.Printf("  %-20s p50 %s, p99 %s\n", x.name, ms(x.list[len(x.list)/2]), ms(x.list[min(len(x.list)-1, len(x.list)*99/100)]))
	}
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func until(begun time.Time, f func() bool) (time.Duration, error) {
	for !f() {
		if time.Since(begun) > 30*time.Second {
			return 0, fmt.Errorf("nothing in 30 s")
		}
		time.Sleep(500 * time.Microsecond)
	}
	return time.Since(begun), nil
}

// delivery is what the webhook was told, and when.
type delivery struct {
	text string
	at   time.Time
}

// hooked waits for the delivery about a GPU.
func hooked(begun time.Time, told <-chan delivery, pci string) (time.Duration, error) {
	late := time.After(30 * time.Second)
	for {
		select {
		case d := <-told:
			if strings.Contains(d.text, pci) {
				return d.at.Sub(begun), nil
			}
		case <-late:
			return 0, fmt.Errorf("nothing in 30 s")
		}
	}
}

func listed(api, pci string) bool { return strings.Contains(get(api+"/api/v1/incidents"), pci+".0") }

func get(url string) string {
	r, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	return string(b)
}
