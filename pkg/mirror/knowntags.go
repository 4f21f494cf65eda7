package mirror

import (
	"hash/maphash"
	"regexp"
	"slices"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// KnownTags are the images that earlier runs left in a mirror. They are never trusted without a
// request; they only allow a cheaper one: see [Options].
type KnownTags struct {
	// turn grows from run to run. It decides which images are requested although a list of tags
	// would do.
	turn         int
	repositories map[string]reference.Reference
	seed         maphash.Seed
	images       map[uint64]struct{}
}

// NewKnownTags returns the known images for the next run of a plan. repositories are those of
// [RegistryPath.Repositories]. mine is what the mirror has of the plan, nil if nothing; others are
// what it has of other plans.
func NewKnownTags(repositories map[string]reference.Reference, mine *state.Record, others ...state.Record) *KnownTags {
	r := &KnownTags{repositories: repositories, seed: maphash.MakeSeed(), images: map[uint64]struct{}{}}
	if mine != nil {
		r.turn = mine.Runs
		r.add(mine)
	}
	for i := range others {
		r.add(&others[i])
	}
	return r
}

func (r *KnownTags) add(record *state.Record) {
	for _, img := range record.Images {
		r.addReference(img.Mirror)
	}
	for _, c := range record.Catalogs {
		r.addReference(c.Mirror)
	}
}

func (r *KnownTags) addReference(at reference.Reference) {
	r.images[r.key(at)] = struct{}{}
	r.images[r.key(at.Repository())] = struct{}{}
}

// key is a hash of a reference with tag and digest. The references of 50,000 images would take ten
// times the memory, and a collision is harmless: a list of tags is requested anyway.
func (r *KnownTags) key(at reference.Reference) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	for _, part := range []string{at.Host, at.Path, at.Tag, at.Digest.String()} {
		_, _ = h.WriteString(part) // documented never to fail
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// has reports whether an earlier run left the manifest d in a repository of the plan under this
// tag.
func (r *KnownTags) has(repository, tag string, d digest.Digest) bool {
	at := r.repositories[repository]
	at.Tag, at.Digest = tag, d
	_, ok := r.images[r.key(at)]
	return ok
}

// known reports whether an earlier run left something in a repository of the plan, and each of
// these images with all its tags.
func (r *KnownTags) known(repository string, images ...*plan.Image) bool {
	if r == nil {
		return false
	}
	if _, ok := r.images[r.key(r.repositories[repository].Repository())]; !ok {
		return false
	}
	for _, img := range images {
		if slices.ContainsFunc(img.Tags, func(tag string) bool { return !r.has(repository, tag, img.Digest) }) {
			return false
		}
	}
	return true
}

// signatureTag matches the names that cosign gives to the signatures, attestations and bill of
// materials of an image, by the image's digest.
var signatureTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256-[0-9a-f]{64}\.(sig|att|sbom)$`) })

// isStableTag reports whether a tag stays with its image unless it is moved on purpose, because it
// is made of the image's digest, or of the digest of the image that this one signs.
func isStableTag(tag string, d digest.Digest) bool {
	return tag == plan.DigestTag(d) || signatureTag().MatchString(tag)
}
