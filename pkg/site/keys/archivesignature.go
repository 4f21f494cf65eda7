package keys

import (
	"context"
	"io"

	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

// SignWith returns how archives are signed with a key, or nil for no key.
func SignWith(key *sshsig.Key) func(context.Context, io.Reader) ([]byte, error) {
	if key == nil {
		return nil
	}
	return func(ctx context.Context, manifest io.Reader) ([]byte, error) {
		return key.Sign(ctx, archive.SignatureNamespace, manifest)
	}
}

// SignatureOf returns who signed an archive, or nil if it is not signed.
func SignatureOf(have *archive.Archive) *sshsig.Verdict {
	if v := have.Signature(); v.Signed {
		return &v
	}
	return nil
}
