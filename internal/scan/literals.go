package scan

import "github.com/gpumedic/gpumedic/internal/scan/literal"

// Literals are the texts that make a row a candidate, in the order of their numbers:
// what bench/scan gives to other programs to search for.
func (s *Scanner) Literals() []literal.Literal { return literal.Of(s.search) }
