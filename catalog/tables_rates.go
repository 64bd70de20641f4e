package catalog

import (
	"io/fs"
	"regexp"
	"sync"
)

// A ProductRate is what the maker states of products whose name fits.
type ProductRate struct {
	Product string // RE2 on the whole name
	GBs     int    // memory bandwidth, GB/s
	Sources []string
}

func loadProductRates(fsys fs.FS) ([]*ProductRate, error) {
	t := readTable(fsys, "bandwidth.tsv", "product", "gb_s", "sources")
	var out []*ProductRate
	err := t.rows(func(r tableRow) {
		p := &ProductRate{Product: r.need("product"), GBs: r.num("gb_s"), Sources: r.sources()}
		if _, err := regexp.Compile(p.Product); err != nil {
			r.fail("product", "%v", err)
		}
		out = append(out, p)
	})
	return out, err
}

var productRates = sync.OnceValues(func() ([]*ProductRate, error) { return loadProductRates(embedded) })

// MemoryBandwidth is what a product's memory can do at most, as its maker states it; nil
// for a product that the table does not have.
func MemoryBandwidth(product string) *ProductRate {
	all, err := productRates()
	if err != nil {
		return nil // the embedded table is checked by a test
	}
	for _, p := range all {
		if ok, err := regexp.MatchString("^(?:"+p.Product+")$", product); err == nil && ok {
			return p
		}
	}
	return nil
}
