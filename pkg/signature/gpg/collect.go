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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/regular"
)

// maxTries is how many signatures of an image are asked for in one store. Clusters
// ask for no more.
const maxTries = 9

// A Getter fetches from a web server: at most limit bytes, more are an error. The
// error wraps fs.ErrNotExist where the server answers 404.
type Getter interface {
	Get(ctx context.Context, url, accept string, limit int64) ([]byte, error)
}

// Path is where a store, or a static tree for clusters, has the signature of d with
// number n, from 1: STORE/sha256=<hex>/signature-n.
func Path(store string, d digest.Digest, n int) string {
	return strings.TrimRight(store, "/") + "/" + path(d, n)
}

func path(d digest.Digest, n int) string {
	return d.Algorithm().String() + "=" + d.Encoded() + "/signature-" + strconv.Itoa(n)
}

// Collect asks every store for the signatures of the image d and returns those that
// a keyring trusts, each once, the oldest first: the same whichever store answered.
// It fails with a [DistrustError] if they do not satisfy every keyring, which says of
// each signature and each store what was wrong with it; those errors are wrapped, so
// that the network's can be told apart. A store that does not answer does no harm where another does.
func Collect(ctx context.Context, get Getter, stores []string, d digest.Digest, keyrings []Keyring, now time.Time) ([]Signature, error) {
	v, err := newVerifier(d, keyrings, now)
	if err != nil {
		return nil, err
	}
	if len(stores) == 0 {
		return nil, fmt.Errorf("looking for signatures of %s: there is no store of signatures to ask; name one", d)
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
	slices.SortFunc(v.good, func(a, b Signature) int {
		return cmp.Or(a.Created.Compare(b.Created), bytes.Compare(a.Body, b.Body))
	})
	return v.good, nil
}

// collect asks one store for signature-1 and so on until it has no more; what is
// wrong with one does not hide the next. The error is that of ctx.
func (v *verifier) collect(ctx context.Context, get Getter, store string) error {
	for n := 1; n <= maxTries; n++ {
		place := Path(store, v.digest, n)
		body, err := fetch(ctx, get, store, v.digest, n)
		if ctx.Err() != nil {
			return fmt.Errorf("looking for signatures of %s: %w", v.digest, ctx.Err())
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if n == 1 {
				v.problem(place, fmt.Errorf("the store has no signature of the image: %w", err))
			}
			return nil
		case err != nil:
			v.unasked = true
			v.problem(place, err)
		case len(body) == 0:
			v.bad = true
			v.problem(place, errors.New("it is empty"))
		default:
			v.add(place, body)
		}
	}
	return nil
}

// fetch reads a signature from a web store or from a folder.
func fetch(ctx context.Context, get Getter, store string, d digest.Digest, n int) ([]byte, error) {
	u, err := url.Parse(store)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "file" {
		return get.Get(ctx, Path(store, d, n), "", MaxSize)
	}
	folder, err := os.OpenRoot(u.Path)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return regular.Read(folder, path(d, n), MaxSize)
}
