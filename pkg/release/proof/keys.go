package proof

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// Keys are what a release brings for clusters that run it, to verify by whatever
// they are to be updated to: its ConfigMap release-verification. They are nil where
// it brings none. Such clusters verify nothing, and take no release but by force
// (cluster-version-operator, verify.Reject).
type Keys []byte

// ReadKeys reads those of a release of the mirror.
func ReadKeys(ctx context.Context, src payload.Source, r *Release) (Keys, error) {
	p, err := payload.Read(ctx, src, r.Ref, "")
	if err != nil {
		return nil, err
	}
	return p.SignatureConfig, nil
}

// Verify says why clusters with these keys do not accept signatures as those of the
// release image d; nil where they do. Every keyring wants a signature. Stores are
// not asked: where clusters can reach none, they have what the mirror brought.
func (k Keys) Verify(d digest.Digest, signatures [][]byte, now time.Time) error {
	trust, err := gpg.Configuration(k)
	if err != nil {
		return err
	}
	return gpg.VerifyAll(signatures, d, trust.Keyrings, now)
}
