package gpg

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// maxTries is how many signatures of an image are requested from one store. Clusters request no
// more.
const maxTries = 9

// A Getter downloads from a web server. A response of more than limit bytes is an error. If the
// server returns 404, the error matches fs.ErrNotExist.
type Getter interface {
	Get(ctx context.Context, url, accept string, limit int64) ([]byte, error)
}

// address returns the address of signature number n, from 1, of d in a store.
func address(store string, d digest.Digest, n int) string {
	return strings.TrimRight(store, "/") + "/" + release.SignaturePath(d, n)
}

// Collect queries every store for the signatures of the image d and returns the trusted ones, each
// once, oldest first, whichever store returned them. If they do not satisfy every keyring, the
// error is a [DistrustError] that lists the problems of each signature and each store and wraps
// their causes, so that network errors can be recognized. A store that does not respond is not an
// error if another one has what is needed.
func Collect(ctx context.Context, get Getter, stores []string, d digest.Digest, keyrings []Keyring, now time.Time) ([]Signature, error) {
	v, err := newVerifier(d, keyrings, now)
	if err != nil {
		return nil, err
	}
	if len(stores) == 0 {
		return nil, fmt.Errorf("looking for signatures of %s: no signature store is configured", d)
	}
	for _, store := range stores {
		if err := CheckStore(store); err != nil {
			return nil, err
		}
		if err := v.collect(ctx, get, store); err != nil {
			return nil, err
		}
	}
	if err := v.result(); err != nil {
		return nil, err
	}
	elements.Sort(v.good, func(a, b Signature) int {
		return cmp.Or(a.Created.Compare(b.Created), bytes.Compare(a.Body, b.Body))
	})
	return v.good, nil
}

// collect queries one store for signature-1 and so on until it has no more. An invalid signature
// does not hide the next one. It returns the error of ctx.
func (v *verifier) collect(ctx context.Context, get Getter, store string) error {
	for n := 1; n <= maxTries; n++ {
		source := address(store, v.digest, n)
		body, err := fetch(ctx, get, store, v.digest, n)
		if ctx.Err() != nil {
			return fmt.Errorf("looking for signatures of %s: %w", v.digest, ctx.Err())
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if n == 1 {
				v.problem(source, fmt.Errorf("the store has no signature for the image: %w", err))
			}
			return nil
		case err != nil:
			v.unreached = true
			v.problem(source, err)
		case len(body) == 0:
			v.bad = true
			v.problem(source, errors.New("the file is empty"))
		default:
			v.add(source, body)
		}
	}
	return nil
}

// fetch reads a signature from a web store or a folder.
func fetch(ctx context.Context, get Getter, store string, d digest.Digest, n int) ([]byte, error) {
	u, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "file" {
		return get.Get(ctx, address(store, d, n), "", MaxSize)
	}
	folder, err := os.OpenRoot(u.Path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return regular.Read(folder, release.SignaturePath(d, n), MaxSize)
}
