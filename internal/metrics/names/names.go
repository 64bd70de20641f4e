package names

// Type is the type of a metric in the exposition format.
type Type string

// Types. A state set is a gauge with a label that takes every value of a short list,
// of which one has the value 1.
const (
	Gauge   Type = "gauge"
	Counter Type = "counter"
)

// Scope is what a metric is about. It decides the labels that come first.
type Scope int

// Scopes.
const (
	Node Scope = iota
	GPU
	MIG
	Process
	Port
	Self
)

// GPULabels are the labels of every metric that is about a GPU: the driver's index, the
// PCI address, the UUID and the product name. One that is not known is empty.
var GPULabels = []string{"gpu", "pci", "uuid", "name"}

// Labels that come first, by scope.
var scopeLabels = map[Scope][]string{
	GPU:     GPULabels,
	MIG:     {"gpu", "pci", "uuid", "name", "mig_uuid", "profile", "gpu_instance", "compute_instance"},
	Process: {"gpu", "pci", "uuid", "pid", "process", "type", "user", "container", "pod", "namespace", "slurm_job"},
	Port:    {"device", "port"},
}

// Family is one metric.
type Family struct {
	Name   string
	Help   string
	Type   Type
	Scope  Scope
	Labels []string // after those of the scope
	From   []From   // the readings it shows, of docs/readings.md; none when it is no reading
}

// AllLabels are the label names in the order of the values.
func (f *Family) AllLabels() []string {
	first := scopeLabels[f.Scope]
	return append(first[:len(first):len(first)], f.Labels...)
}

// From says how one series follows from a reading.
type From struct {
	Keys   []string // the first that has a value counts
	Labels []string // values of Family.Labels
	Mul    float64  // 0 is 1
	Div    float64  // 0 is 1
	Words  map[string]float64
	Set    []string // words of a state set: a series for each, the label is the word
}

// Value is the number that a reading's text stands for.
func (f *From) Value(v float64) float64 {
	if f.Mul != 0 {
		v *= f.Mul
	}
	if f.Div != 0 {
		v /= f.Div
	}
	return v
}

const mib = 1 << 20

// onOff are the words of readings that are true or false.
var onOff = map[string]float64{
	"yes": 1, "no": 0, "enabled": 1, "disabled": 0, "active": 1, "not active": 0, "true": 1, "false": 0,
}

func one(keys ...string) []From          { return []From{{Keys: keys}} }
func bytesOf(keys ...string) []From      { return []From{{Keys: keys, Mul: mib}} }
func ratio(keys ...string) []From        { return []From{{Keys: keys, Div: 100}} }
func flag(keys ...string) []From         { return []From{{Keys: keys, Words: onOff}} }
func set(key string, w ...string) []From { return []From{{Keys: []string{key}, Set: w}} }

// each gives a series for every word, which stands between prefix and suffix in the
// reading's name and as the label's value.
func each(prefix, suffix string, f From, words ...string) []From {
	out := make([]From, len(words))
	for i, w := range words {
		out[i] = f
		out[i].Keys, out[i].Labels = []string{prefix + w + suffix}, []string{w}
	}
	return out
}

// Find is the family of a name, or nil.
func Find(name string) *Family {
	for _, list := range [][]*Family{Families, DCGM} {
		for _, f := range list {
			if f.Name == name {
				return f
			}
		}
	}
	return nil
}
