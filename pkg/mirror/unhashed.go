package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	images "github.com/gantry-mirror/gantry/pkg/image"
)

// A blob is sent without being hashed if it has at least minUnhashed bytes, and if that is worth the
// requests of the proof: if a run sends at least proofWorth bytes.
const (
	minUnhashed = 256 << 10
	proofWorth  = 64 << 20
)

// An unhashedReader is a source that can leave it to the destination to compare a blob with its
// digest. It compares the length.
type unhashedReader interface {
	UnhashedBlob(ctx context.Context, source string, desc ocispec.Descriptor, offset int64) (io.ReadCloser, error)
}

// An uploadVerifier is a Registry that can prove that it refuses content which does not have the
// digest under which it is sent.
type uploadVerifier interface {
	VerifiesUploads(ctx context.Context, repository string) bool
}

// A proof is what is known of the registry's own comparison of content with digests.
type proof struct {
	once     sync.Once
	worth    bool // the run sends enough
	verifies bool
}

// mayLeaveHashing decides whether asking the registry for a proof is worth it for the needed blobs.
func (r *run) mayLeaveHashing(needed []*blob) {
	if _, ok := r.registry.(uploadVerifier); !ok {
		return
	}
	var sum int64
	for _, b := range needed {
		if b.large() {
			sum += b.desc.Size
		}
	}
	least := cmp.Or(r.proofWorth, proofWorth)
	r.proof.worth = sum >= least
}

// large reports whether the registry may hash the blob alone. A config is hashed here, as manifests
// are.
func (b *blob) large() bool { return b.desc.Size >= minUnhashed && !b.config }

// unhashed returns the upload of a blob that only the registry compares with its digest, or nil. It
// is called before the upload has begun: a proof is needed first, which is an upload, too.
func (r *run) unhashed(ctx context.Context, b *blobCopy, h *target, hashed Open) *unhashedUpload {
	source, ok := r.source.(unhashedReader)
	if !ok || !r.proof.worth || !b.large() || b.again {
		return nil
	}
	r.proof.once.Do(func() {
		r.proof.verifies = r.registry.(uploadVerifier).VerifiesUploads(ctx, h.repository)
	})
	if !r.proof.verifies {
		return nil
	}
	return &unhashedUpload{run: r, from: source, blob: b, target: h, hashed: hashed, remote: isRemote(r.source)}
}

// isRemote reports whether a source has to request what it reads.
func isRemote(source images.Reader) bool {
	if o, ok := source.(*Overlay); ok {
		source = o.Source
	}
	_, ok := source.(*Origin)
	return ok
}

// An unhashedUpload is a blob on its way to a registry that alone compares it with its digest. It is
// hashed here as soon as something goes wrong, so that the error names damage at the source, and
// damaged content is not sent again.
type unhashedUpload struct {
	run    *run
	from   unhashedReader
	blob   *blobCopy
	target *target
	hashed Open // opens the blob as every other
	remote bool // the source has to request the blob again to hash it
	opened bool
	intact bool // hashed since
}

// open is an Open. If it is called again, the upload broke off or was refused.
func (u *unhashedUpload) open(ctx context.Context, offset int64) (io.ReadCloser, error) {
	switch {
	case u.opened && u.remote: // nothing is read twice: from its beginning, it is hashed on the way
		return u.hashed(ctx, offset)
	case u.opened && !u.intact:
		if err := u.check(ctx); err != nil {
			return nil, err
		}
	}
	u.opened = true
	body, err := u.from.UnhashedBlob(ctx, u.blob.sources()[0], u.blob.descriptor(), offset)
	if err != nil {
		return u.hashed(ctx, offset) // from another source, or with the error
	}
	u.blob.transfer.sending(u.target, offset)
	return &sourceReader{body, u.blob.transfer}, nil
}

// explain returns the error of the upload: damage at the source if that is why it failed.
func (u *unhashedUpload) explain(ctx context.Context, err error) error {
	var s *sourceError
	if err == nil || u == nil || !u.opened || u.intact || ctx.Err() != nil || errors.As(err, &s) || u.run.fatalWrite(err) {
		return err
	}
	if damage := u.check(ctx); damage != nil && ctx.Err() == nil {
		return damage
	}
	return err
}

// check reads the blob and compares it with its digest.
func (u *unhashedUpload) check(ctx context.Context) error {
	body, err := u.run.source.Blob(ctx, u.blob.sources()[0], u.blob.descriptor(), 0)
	if err == nil {
		_, err = io.Copy(io.Discard, body)
		err = errors.Join(err, body.Close())
	}
	if err != nil {
		return &sourceError{fmt.Errorf("reading the content to upload: %w", err)}
	}
	u.intact = true
	return nil
}
