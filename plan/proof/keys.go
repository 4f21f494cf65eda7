package proof

import (
	"context"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
)

// Keys verify updates on clusters that run a release: its ConfigMap release-verification. They are
// nil if the release has none. Such clusters verify nothing and accept a release only by force
// (cluster-version-operator, verify.Reject).
type Keys []byte

// ReadKeys reads the keys of a release of the mirror.
func ReadKeys(ctx context.Context, src image.Reader, r *Release) (Keys, error) {
	p, err := payload.Read(ctx, src, r.Ref, "")
	if err != nil {
		return nil, err
	}
	return p.SignatureConfig, nil
}

// Verify returns why clusters with these keys do not accept signatures of the release image d, or
// nil if they do. Every keyring requires a signature. Signature stores are not read: a disconnected
// cluster has only what the mirror brought.
func (k Keys) Verify(d digest.Digest, signatures [][]byte, now time.Time) error {
	trust, err := gpg.Configuration(k)
	if err != nil {
		return err
	}
	return gpg.VerifyAll(signatures, d, trust.Keyrings, now)
}
