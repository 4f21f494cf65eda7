package delta

// Programs contain addresses of their own code and data. If code moves from one version to the next, these change, and little else does. A change is a word
// of four bytes that differs. The predictor learns from changes how places moved, and guesses the changes that follow:
//
//   - relative: the word is a distance from itself to a place. The place moved as far as when it was last referred to.
//   - absolute: the word is a place itself, or a number that stands for one. It changes as it did when it last had this value.
//   - recent: the word changes by the same amount as one of the last few.
//
// Encoder and decoder do the same, so that a correct guess costs a fraction of a byte.
const (
	guessRelative = iota
	guessAbsolute
	guessRecent   // and the following: by the amount of the last, the second last ... distinct changes
	recentChanges = 6
	explicit      = guessRecent + recentChanges

	predictorBits = 16
)

type predictor struct {
	relative, absolute [1 << predictorBits]learned
	recent             [recentChanges]uint32
}

type learned struct{ place, moved uint32 }

// change is a word that differs. Words at the end of a copy may have fewer than four bytes; the others are zero then.
type change struct {
	copied       int64  // position in the copied bytes of a piece or frame
	from, at     uint32 // low bits of the word's address in the bases, and of its position in the target
	base, target uint32
	mask         uint32 // of the bytes that the word has
}

func slotOf(place uint32) uint32 { return place * 0x9E3779B1 >> (32 - predictorBits) }

// guess returns the word for a kind of guess.
func (p *predictor) guess(kind byte, c change) uint32 {
	switch kind {
	case guessRelative:
		place := c.from + c.base
		if l := p.relative[slotOf(place)]; l.place == place {
			return (place + l.moved - c.at) & c.mask
		}
		return c.base
	case guessAbsolute:
		if l := p.absolute[slotOf(c.base)]; l.place == c.base {
			return (c.base + l.moved) & c.mask
		}
		return c.base
	default:
		return (c.base + p.recent[kind-guessRecent]) & c.mask
	}
}

// learn takes note of a change.
func (p *predictor) learn(c change) {
	place := c.from + c.base
	p.relative[slotOf(place)] = learned{place, c.at + c.target - place}
	p.absolute[slotOf(c.base)] = learned{c.base, c.target - c.base}
	amount := c.target - c.base
	i := 0
	for i < recentChanges-1 && p.recent[i] != amount {
		i++
	}
	copy(p.recent[1:i+1], p.recent[:i])
	p.recent[0] = amount
}

// kind returns the first correct guess for a change, or explicit.
func (p *predictor) kind(c change) byte {
	for kind := range byte(explicit) {
		if p.guess(kind, c) == c.target {
			return kind
		}
	}
	return explicit
}

// zigzag maps numbers near zero, of either sign, to small ones.
func zigzag(v uint32) uint32   { return v<<1 ^ uint32(int32(v)>>31) }
func unzigzag(v uint32) uint32 { return v>>1 ^ -(v & 1) }
