package archive

import (
	"os"

	"github.com/opencontainers/go-digest"
)

// An existingSet has what is needed to decide whether a packing describes the set, and to continue
// it. Its entries are not kept in addition to those of the packing, except those of encrypted
// files, which no packing knows beforehand.
type existingSet struct {
	head     set                      // without volumes
	digest   digest.Digest            // of its manifest
	identity digest.Digest            // of the set
	parts    map[string]digest.Digest // by path
	outer    *set                     // an encrypted set; nil for others
	plan     *entry                   // the compressed plan; nil if the set has none, or is encrypted
	copySum  digest.Digest            // of the copy of the set manifest; "" if it has none, or is encrypted
}

// readExisting reads a set with readManifest.
func readExisting(root *os.Root, id setID) (*existingSet, error) {
	s, d, err := readManifest(root, id)
	if err != nil {
		return nil, err
	}
	e := &existingSet{head: *s, digest: d, identity: d}
	e.head.Volumes = nil
	if s.Encryption != nil {
		e.outer = s
		return e, nil
	}
	for _, f := range s.all() {
		switch f.Path {
		case planPath:
			e.plan = &entry{Path: planPath, Digest: f.Digest, Size: f.Size}
		case copyPath:
			e.copySum = f.Digest
		}
	}
	if !s.split() && e.copySum == "" {
		return e, nil
	}
	e.parts = map[string]digest.Digest{}
	for f := range s.inParts() {
		e.parts[f.path()] = f.Part.Digest
	}
	e.identity, err = s.identity()
	return e, err
}

// fillFrom fills in what is known of the set that the packing describes once that is written.
func (p *packing) fillFrom(e *existingSet) {
	if e.outer != nil {
		p.outer = e.outer
		return
	}
	for f := range p.set.inParts() {
		f.Part.Digest = e.parts[f.path()]
	}
	if f, _ := p.copyEntry(); f != nil {
		f.Digest = e.copySum
	}
}

// packLike is pack for a set that may be the one with this head and identity. Sets that earlier
// versions wrote have no copy of the set manifest. ok is false if it is another set.
func (o *Options) packLike(c Content, head *set, identity digest.Digest) (p *packing, ok bool, err error) {
	o.firstVolume = head.FirstVolume
	for range 2 {
		p, err = o.pack(c, head.Sequence, head.Parent, head.Encryption)
		if err != nil || p.matches(head, identity) {
			return p, err == nil, err
		}
		o.withoutCopy = !o.withoutCopy
	}
	return p, false, nil
}
