package delta

import (
	"cmp"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/delta/packed"
)

// Addresses join the contents of all bases: the content of a base follows the content of the base before it.
const maxAddress = 1 << 43

// pairing is what a member of the target is compared with: a member of a base.
type pairing struct {
	baseMember
	same bool // the content is the same
	ok   bool
}

type baseMember struct {
	Member
	base int // index
}

// pairs finds the member of a base for members of the target.
type pairs struct {
	byPath    map[string][]baseMember
	byHash    map[[hashedContent]byte]baseMember
	bySimilar map[string][]baseMember
}

func newPairs(bases []*Members) *pairs {
	p := &pairs{byPath: map[string][]baseMember{}, byHash: map[[hashedContent]byte]baseMember{}, bySimilar: map[string][]baseMember{}}
	for i, base := range bases {
		for _, m := range base.Files {
			b := baseMember{Member: m, base: i}
			p.byPath[m.Path] = append(p.byPath[m.Path], b)
			if m.Size == 0 {
				continue
			}
			if _, ok := p.byHash[m.Hash]; !ok {
				p.byHash[m.Hash] = b
			}
			for _, key := range similarPaths(m.Path) {
				if len(p.bySimilar[key]) < 64 {
					p.bySimilar[key] = append(p.bySimilar[key], b)
				}
			}
		}
	}
	return p
}

// all returns what the members of the target are compared with, and counts them.
func (p *pairs) all(target *Members, s *MemberStats) []pairing {
	out := make([]pairing, len(target.Files))
	for i, m := range target.Files {
		out[i] = p.find(m, s)
	}
	return out
}

// find returns what m is compared with, and counts it.
func (p *pairs) find(m Member, s *MemberStats) pairing {
	exact := p.byPath[m.Path]
	for _, b := range exact {
		if b.Hash == m.Hash && b.Size == m.Size {
			s.Unchanged++
			return b.pairing(true)
		}
	}
	if b, ok := p.byHash[m.Hash]; ok && b.Size == m.Size {
		s.Moved++
		return b.pairing(true)
	}
	if b, ok := closest(exact, m.Size); ok && (b.Size > 0 || m.Size == 0) {
		s.SamePath++
		return b.pairing(false)
	}
	for _, key := range similarPaths(m.Path) {
		if b, ok := closest(p.bySimilar[key], m.Size); ok {
			s.Similar++
			return b.pairing(false)
		}
	}
	s.New++
	return pairing{}
}

func (b baseMember) pairing(same bool) pairing { return pairing{baseMember: b, same: same, ok: true} }

// closest returns the member whose size is most like the given one, the first of several.
func closest(list []baseMember, size int64) (baseMember, bool) {
	best := -1
	for i, b := range list {
		if best < 0 || cmp.Less(distance(b.Size, size), distance(list[best].Size, size)) {
			best = i
		}
	}
	if best < 0 {
		return baseMember{}, false
	}
	return list[best], true
}

func distance(a, b int64) int64 { return max(a-b, b-a) }

// similarPaths returns keys that paths of versions of the same file share, the strictest first.
func similarPaths(p string) []string {
	if p == "" {
		return nil
	}
	general := generalize(p)
	name := path.Base(general)
	keys := []string{general}
	if found := strings.Contains(general, "/"); found {
		keys = append(keys, path.Join(path.Base(path.Dir(general)), name), name)
	}
	return keys
}

// generalize replaces what changes from version to version: numbers, and words of hexadecimal digits as in the names of web assets.
func generalize(p string) string {
	var b strings.Builder
	for p != "" {
		n := strings.IndexFunc(p, func(r rune) bool { return !isWord(r) })
		if n < 0 {
			n = len(p)
		}
		if n == 0 {
			b.WriteByte(p[0])
			p = p[1:]
			continue
		}
		b.WriteString(generalWord(p[:n]))
		p = p[n:]
	}
	out := b.String()
	for strings.Contains(out, "#.#") { // 1.2 and 1.2.3 become the same
		out = strings.ReplaceAll(out, "#.#", "#")
	}
	return out
}

func generalWord(w string) string {
	digits := strings.ContainsAny(w, "0123456789")
	if digits && len(w) >= 8 && strings.Trim(w, "0123456789abcdefABCDEF") == "" {
		return "#"
	}
	if !digits {
		return w
	}
	var b strings.Builder
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			b.WriteByte(w[i])
		} else if i == 0 || w[i-1] < '0' || w[i-1] > '9' {
			b.WriteByte('#')
		}
	}
	return b.String()
}

func isWord(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r > 127
}

// partners finds streams by name.
type partners struct{ exact, similar map[string]int }

func newPartners(all []packed.Named) partners {
	p := partners{make(map[string]int, len(all)), make(map[string]int, len(all))}
	for i, s := range all {
		p.exact[s.Name] = i
		p.similar[generalize(s.Name)] = i
	}
	return p
}

// find returns the index of the stream with a name, or with a similar one.
func (p partners) find(name string) (int, bool) {
	i, ok := p.exact[name]
	if !ok {
		i, ok = p.similar[generalize(name)]
	}
	return i, ok
}
