package mirror

import (
	"hash/maphash"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// A Receipt says what earlier runs left at a mirror. It is never believed
// without a question; it only makes a cheaper one do: see [Options].
type Receipt struct {
	// turn grows from run to run; it decides which images are looked for one by
	// one although a list would do.
	turn   int
	names  map[string]reference.Reference
	seed   maphash.Seed
	images map[uint64]struct{}
}

// NewReceipt is the receipt for the next run of a plan, whose repositories have
// these names at the mirror (Destination.Names). mine is what the mirror holds
// of the plan, nil where that is nothing; others are what it holds of others.
func NewReceipt(names map[string]reference.Reference, mine *Holding, others ...Holding) *Receipt {
	r := &Receipt{names: names, seed: maphash.MakeSeed(), images: map[uint64]struct{}{}}
	if mine != nil {
		r.turn = mine.Turn
		r.add(mine)
	}
	for i := range others {
		r.add(&others[i])
	}
	return r
}

func (r *Receipt) add(h *Holding) {
	for _, img := range h.Images {
		r.enter(img.Mirror)
	}
	for _, c := range h.Catalogs {
		r.enter(c.Mirror)
	}
}

func (r *Receipt) enter(at reference.Reference) {
	r.images[r.key(at)] = struct{}{}
	r.images[r.key(at.Repository())] = struct{}{}
}

// key stands for a name with tag and digest. The whole names of 50,000 images
// would be ten times as large, and two names with one key cost nothing: a list
// of tags is asked anyway.
func (r *Receipt) key(at reference.Reference) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, part := range []string{at.Host, at.Path, at.Tag, at.Digest.String()} {
		_, _ = h.WriteString(part) // documented never to fail
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// has reports whether an earlier run left the manifest d in a repository of the
// plan under this tag.
func (r *Receipt) has(repository, tag string, d digest.Digest) bool {
	at := r.names[repository]
	at.Tag, at.Digest = tag, d
	_, ok := r.images[r.key(at)]
	return ok
}

// left reports whether an earlier run left something in a repository of the
// plan, each of these images with all their tags.
func (r *Receipt) left(repository string, images ...*plan.Image) bool {
	if r == nil {
		return false
	}
	if _, ok := r.images[r.key(r.names[repository].Repository())]; !ok {
		return false
	}
	for _, img := range images {
		if slices.ContainsFunc(img.Tags, func(tag string) bool { return !r.has(repository, tag, img.Digest) }) {
			return false
		}
	}
	return true
}

// saysDigest reports whether the tag is made of the digest ("sha256-…"), as that
// of an image is which its source names by digest alone.
func saysDigest(tag string, d digest.Digest) bool {
	return tag == strings.Replace(d.String(), ":", "-", 1)
}

// signatureTag is what cosign calls the signatures, attestations and bill of
// materials of an image by the image's digest.
var signatureTag = regexp.MustCompile(`^sha256-[0-9a-f]{64}\.(sig|att|sbom)$`)

// fixed reports whether a tag stays with its image as long as nobody moves it on
// purpose, since it is made of the image's digest, or of that of the image which
// this one signs.
func fixed(tag string, d digest.Digest) bool {
	return saysDigest(tag, d) || signatureTag.MatchString(tag)
}
