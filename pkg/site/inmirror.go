package site

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// InMirror returns an image in the mirror with its digest, which is the one of the source if the record has
// none.
func InMirror(ref, source reference.Reference) reference.Reference {
	ref.Digest = cmp.Or(ref.Digest, source.Digest)
	return ref
}
