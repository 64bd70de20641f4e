package diagnose

// Log-odds of the catalog's strength words. A trigger's word says how probable the
// fault is when that signal is all there is: certain 97 %, strong 90 %, moderate
// 70 %, weak 40 %.
var (
	triggerOdds = map[string]float64{"certain": 3.5, "strong": 2.2, "moderate": 0.85, "weak": -0.4}
	supportOdds = map[string]float64{"certain": 2, "strong": 1.4, "moderate": 0.7, "weak": 0.3}
	againstOdds = map[string]float64{"certain": -6, "strong": -3, "moderate": -1.5, "weak": -0.5}
)

func odds(table map[string]float64, word string) float64 {
	if v, ok := table[word]; ok {
		return v
	}
	return table["moderate"]
}
