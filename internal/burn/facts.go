package burn

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpumedic/gpumedic/internal/lang"
)

// Facts say in a language what a test did and saw, a line each.
func (o *Outcome) Facts(l string) []string {
	f := facts{o: o, lang: l}
	f.memory()
	f.stress()
	f.rates()
	f.load()
	f.counters()
	return f.out
}

type facts struct {
	o    *Outcome
	lang string
	out  []string
}

// say adds a line; both formats take the same values in the same order.
func (f *facts) say(en, zh string, values ...any) {
	f.out = append(f.out, fmt.Sprintf(lang.Pick(f.lang, en, zh), values...))
}

func (f *facts) memory() {
	m := f.o.Memory
	if m == nil || m.Verified == 0 {
		return
	}
	card := f.o.cardBytes()
	f.say("%.2f %% of the card's %.0f MiB under test; %d passes in %.1f s, %s read and compared",
		"测试了整卡 %.0[2]f MiB 的 %.2[1]f%%；%[3]d 遍，用时 %.1[4]f 秒，读回并比对 %[5]s",
		f.o.share()*100, card/(1<<20), m.Passes, m.Seconds, bytesText(float64(m.Verified)))
	if m.WriteRate > 0 && m.ReadRate > 0 {
		f.say("written at %s, read and compared at %s", "写入 %s，读回并比对 %s", perSecond(m.WriteRate), perSecond(m.ReadRate))
	}
	if left := (card - float64(m.Tested)) / (1 << 20); left > 0 {
		f.say("not tested: %.0f MiB that the driver, this test and other processes hold", "未测试：%.0f MiB，由驱动、本测试和其他进程占用", left)
	}
	if len(f.o.Others) > 0 {
		f.say("other processes on the GPU: %s", "该 GPU 上的其他进程：%s", strings.Join(f.o.Others, ", "))
	}
	if m.Errors.Words == 0 {
		return
	}
	f.say("%d wrong words of 4 bytes, %d of them in a single bit; %d wrong bits", "%d 个 4 字节字出错，其中 %d 个只错 1 位；共 %d 位", m.Errors.Words, m.Errors.Single, m.Errors.Bits)
	f.class()
	for i, r := range f.o.Records {
		if i == shownRecords {
			f.say("%d more records: --format json shows 256, --report keeps all", "其余 %d 条记录：--format json 给出 256 条，--report 保留全部", len(f.o.Records)-i)
			break
		}
		f.say("at %#x: read %08x, want %08x, bits %08x; at once %s, later %s, rewritten %s (%s, SM %d)",
			"偏移 %#x：读到 %08x，应为 %08x，错位 %08x；立即重读%s，稍后重读%s，重写后%s（%s，SM %d）",
			r.Offset, r.Got, r.Want, r.Bits(), f.again(r, r.Again), f.again(r, r.Late), f.again(r, r.Renewed), r.Pattern, r.SM)
	}
}

// bytesText is a number of bytes in decimal units, as the makers of memory count.
func bytesText(b float64) string {
	switch {
	case b >= 1e12:
		return fmt.Sprintf("%.2f TB", b/1e12)
	case b >= 1e9:
		return fmt.Sprintf("%.1f GB", b/1e9)
	}
	return fmt.Sprintf("%.1f MB", b/1e6)
}

func perSecond(b float64) string { return bytesText(b) + "/s" }

const shownRecords = 6

// again says what a word was when it was read once more.
func (f *facts) again(r Record, v uint32) string {
	switch v {
	case r.Want:
		return lang.Pick(f.lang, "right", "正确")
	case r.Got:
		return lang.Pick(f.lang, "the same", "同样出错")
	}
	return fmt.Sprintf("%08x", v)
}

// classText says what a class means, in both languages.
var classText = map[string][2]string{
	ClassStuck:    {"always the same bit, and wrong again after rewriting: a stuck cell or data line", "总是同一位，重写后仍错：单元或数据线卡死"},
	ClassWeak:     {"stored wrong, right once rewritten: the cells lose their content", "存储内容出错，重写后正确：单元不能保持数据"},
	ClassTransfer: {"the memory holds the right data: they were wrong on the way", "显存中的数据正确：错误出在传输途中"},
	ClassLane:     {"only one lane of one SM reads wrong data: the SM, not the memory", "只有某个 SM 的某一 lane 读错：问题在 SM 而不在显存"},
	ClassAddress:  {"addresses hold the values of other addresses: an address line", "地址中存放着另一地址的数据：地址线问题"},
	ClassPage:     {"a whole stretch of memory is wrong", "整段显存都错"},
	ClassMixed:    {"stored wrong, in bits that differ from word to word", "存储内容出错，各字的错位不同"},
}

func (f *facts) class() {
	c := f.o.Class
	if c == nil {
		return
	}
	text := classText[c.Kind]
	s := lang.Pick(f.lang, text[0], text[1])
	var more []string
	add := func(en, zh string, values ...any) {
		more = append(more, fmt.Sprintf(lang.Pick(f.lang, en, zh), values...))
	}
	if n := len(c.Bits); n > 0 && n <= 8 {
		add("bits %s", "位 %s", join(c.Bits))
	}
	if c.AddressBit >= 0 {
		add("address bit %d", "地址位 %d", c.AddressBit)
	}
	if c.Kind == ClassLane {
		add("SM %d, lane %d", "SM %d，lane %d", c.SM, c.Lane)
	}
	if c.Period > 0 {
		add("every %d bytes", "每隔 %d 字节", c.Period)
	}
	add("offsets %#x to %#x", "偏移 %#x 到 %#x", c.First, c.Last)
	f.out = append(f.out, s+lang.Pick(f.lang, " (", "（")+strings.Join(more, lang.Pick(f.lang, "; ", "；"))+lang.Pick(f.lang, ")", "）"))
}

func (f *facts) stress() {
	if f.o.Stress == nil {
		return
	}
	for _, p := range f.o.Stress.Paths {
		if l := f.o.Watch.Between(p.From, p.To); l.Samples > 0 {
			f.say("%s: %.0f W, SM clock %d MHz, %d °C", "%s：%.0f W，SM 频率 %d MHz，%d °C", p.Name, l.Power, l.SMClock, l.Temperature)
		}
		f.say("%s (%s): %.1f TFLOP/s over %.1f s; %d digests compared, %d wrong, %d not a number; digest %s",
			"%s（%s）：%.1f TFLOP/s，持续 %.1f 秒；比对 %d 个摘要，%d 个不一致，%d 个 NaN；摘要 %s",
			p.Name, p.Kernel, p.FLOPs/1e12, p.Seconds, p.Compared, p.Wrong, p.NaNs, p.Digest)
	}
	if len(f.o.Mismatches) > 0 {
		sms, lanes := f.o.whereWrong()
		f.say("wrong results on SM %s, lane %s", "结果出错的 SM：%s，lane：%s", join(sms), join(lanes))
	}
}

// rateText names a rate in both languages.
var rateText = map[string][2]string{
	"device_write": {"memory, written", "显存写"}, "device_read": {"memory, read", "显存读"}, "device_copy": {"memory, copied", "显存内拷贝"},
	"host_to_device": {"host to GPU", "主机到 GPU"}, "device_to_host": {"GPU to host", "GPU 到主机"}, "host_both": {"both ways at once", "双向同时"},
}

func (f *facts) rates() {
	for _, r := range f.o.Rates {
		if r.Name == "peer" {
			how := ""
			if r.Direct != nil && !*r.Direct {
				how = lang.Pick(f.lang, ", over host memory", "，经主机内存中转")
			}
			f.say("%s to %s: %.1f GB/s%s%s", "%s 到 %s：%.1f GB/s%s%s", r.From, r.PCI, r.Rate/1e9, how, f.wrongWords(r))
			continue
		}
		text := rateText[r.Name]
		of := ""
		if limit := f.o.limit(r.Name); limit > 0 {
			of = fmt.Sprintf(lang.Pick(f.lang, ", %.1f %% of %.1f GB/s", "，为 %.1[2]f GB/s 的 %.1[1]f%%"), r.Rate/1e7/limit, limit)
		}
		f.say("%s: %.1f GB/s%s%s", "%s：%.1f GB/s%s%s", lang.Pick(f.lang, text[0], text[1]), r.Rate/1e9, of, f.wrongWords(r))
	}
}

func (f *facts) wrongWords(r Rate) string {
	if r.Wrong == 0 {
		return ""
	}
	return fmt.Sprintf(lang.Pick(f.lang, "; %d words arrived wrong", "；%d 个字传输后出错"), r.Wrong)
}

func (f *facts) load() {
	l := f.o.Watch.Load()
	if l.Samples == 0 || !f.o.tested() {
		return
	}
	if len(f.o.Rates) > 0 { // copies heat nothing: here the link counts
		if l.LinkGen > 0 {
			f.say("PCIe link while it ran: generation %d, %d lanes", "运行期间 PCIe 链路：第 %d 代，%d 通道", l.LinkGen, l.LinkWidth)
		}
		return
	}
	f.say("while it ran: %.0f W (at most %.0f), SM clock %d MHz, %d °C", "运行期间：%.0f W（最高 %.0f），SM 频率 %d MHz，%d °C", l.Power, l.PowerMax, l.SMClock, l.Temperature)
	if len(l.Reasons) > 0 {
		f.say("clocks held back by: %s", "限频原因：%s", strings.Join(l.Reasons, ", "))
	}
}

func (f *facts) counters() {
	w := &f.o.Watch
	if !f.o.tested() {
		return
	}
	if len(w.Before) == 0 || len(w.After) == 0 {
		f.say("the driver's error counters were not read", "未能读取驱动的错误计数")
		return
	}
	delta := w.Delta()
	if len(delta) == 0 {
		f.say("no ECC, remap, PCIe replay or NVLink counter rose during the test", "测试期间 ECC、行重映射、PCIe 重放、NVLink 计数均未增长")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(delta)) {
		f.say("counter %s rose by %d during the test", "测试期间计数 %s 增长 %d", key, delta[key])
	}
}

// Figures are the numbers of a test for programs, SI names with unit suffix.
func (o *Outcome) Figures() map[string]any {
	out := map[string]any{}
	if m := o.Memory; m != nil {
		out["tested_bytes"], out["card_bytes"], out["tested_percent"] = m.Tested, uint64(o.cardBytes()), round(o.share()*100, 3)
		out["verified_bytes"], out["passes"], out["seconds"] = m.Verified, m.Passes, round(m.Seconds, 3)
		out["write_bytes_per_s"], out["read_bytes_per_s"] = round(m.WriteRate, 0), round(m.ReadRate, 0)
		out["wrong_words"], out["wrong_bits"], out["wrong_words_single_bit"] = m.Errors.Words, m.Errors.Bits, m.Errors.Single
	}
	if o.Class != nil {
		out["class"] = o.Class
	}
	if s := o.Stress; s != nil {
		out["paths"], out["seconds"] = s.Paths, round(s.Seconds, 3)
	}
	if len(o.Rates) > 0 {
		out["rates"], out["limits"] = o.Rates, o.Limits
	}
	if l := o.Watch.Load(); l.Samples > 0 {
		out["power_w"], out["power_max_w"], out["sm_mhz"], out["gpu_max_c"] = round(l.Power, 1), l.PowerMax, l.SMClock, l.Temperature
		if len(l.Reasons) > 0 {
			out["clocks_event_reasons"] = l.Reasons
		}
	}
	if d := o.Watch.Delta(); len(d) > 0 {
		out["counters_rose"] = d
	}
	return out
}
