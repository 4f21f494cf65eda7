package archive

import "slices"

// A Reading is how much of a set was read since it was opened. Only Verify reads all of it.
type Reading struct {
	// Read are the bytes of content that was read to its end and has its digest, and Size those of all volumes of the set.
	Read int64 `json:"read"`
	Size int64 `json:"size"`
	// ParityFiles is how many parity files there are, which are only read by gantry verify and gantry archive rebuild.
	ParityFiles int `json:"parityFiles,omitempty"`
	// Repaired is the damage for which content was read from an intact copy, such as a repair.
	Repaired []string `json:"repaired,omitempty"`
}

// Reading returns how much of the selected set was read.
func (a *Archive) Reading() Reading {
	r := Reading{ParityFiles: a.ParityFiles()}
	m := a.selected()
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range m.set.Volumes {
		r.Size += m.set.Volumes[i].Size
	}
	for _, e := range m.set.all() {
		if a.intact[e] {
			r.Read += e.Size
		}
	}
	r.Repaired = slices.Clone(a.repaired)
	return r
}

// setIntact records that the content in pieces was read to its end.
func (a *Archive) setIntact(pieces []piece) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.intact == nil {
		a.intact = map[*entry]bool{}
	}
	for i := range pieces {
		a.intact[pieces[i].entry] = true
	}
}

// addRepaired records damage for which an intact copy is read, and logs it.
func (a *Archive) addRepaired(message, problem string) {
	a.log.Warn(message, "problem", problem)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.repaired, problem) {
		a.repaired = append(a.repaired, problem)
	}
}
