package site

import (
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// InMirror returns an image in the mirror with its digest, which is the one of the source if the record has
// none.
func InMirror(ref, source reference.Reference) reference.Reference {
	if ref.Digest == "" {
		ref.Digest = source.Digest
	}
	return ref
}
