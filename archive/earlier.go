package archive

import (
	"os"

	"github.com/opencontainers/go-digest"
)

// An earlier is what has to be known of a set to tell whether a packing is of it, and
// to be it then. Its entries are not held beside those of the packing, unless they are
// of encrypted files, which no packing knows beforehand.
type earlier struct {
	head     set                      // without volumes
	digest   digest.Digest            // of its manifest
	identity digest.Digest            // of the set
	parts    map[string]digest.Digest // by path
	outer    *set                     // an encrypted set; nil for others
}

// readEarlier reads what readManifest does.
func readEarlier(root *os.Root, id setID) (*earlier, error) {
	s, d, err := readManifest(root, id)
	if err != nil {
		return nil, err
	}
	e := &earlier{head: *s, digest: d, identity: d}
	e.head.Volumes = nil
	if s.Encryption != nil {
		e.outer = s
		return e, nil
	}
	if !s.split() {
		return e, nil
	}
	e.parts = map[string]digest.Digest{}
	for f := range s.inParts() {
		e.parts[f.path()] = f.Part.Digest
	}
	e.identity, err = s.identity()
	return e, err
}

// become fills in what is known of the set that the packing is of, once that is
// written.
func (p *packing) become(e *earlier) {
	if e.outer != nil {
		p.outer = e.outer
		return
	}
	for f := range p.set.inParts() {
		f.Part.Digest = e.parts[f.path()]
	}
}
