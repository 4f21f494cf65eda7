package releasetest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// defaultStore is the signature store of payloads that have no server.
const defaultStore = "https://signatures.example.com/releases"

// A Platform is the releases of a Definition. It does not change.
type Platform struct {
	// Payloads are the releases, in the order of the Definition.
	Payloads []*Payload
	Keys     *Keys

	definition Definition
	signatures map[digest.Digest][]byte
	graphData  []byte
	// missing and noSigstore have the flaws of images; cosigned are the images with sigstore
	// signatures.
	missing, noSigstore, cosigned map[digest.Digest]bool

	stored   []storedContent
	isStored map[string]bool
	images   map[string]v1.Image // of components, by what decides their bytes
}

// A storedContent is content with its repository, without the host, and its tag.
type storedContent struct {
	repository, tag string
	digest          digest.Digest
	content         registrytest.Content
}

// cachedKeys reads the keys once. No test changes them.
var cachedKeys = sync.OnceValues(FixedKeys)

// New makes a Platform.
func New(u Definition) (*Platform, error) {
	w := &Platform{
		definition: u, Keys: u.Keys, signatures: map[digest.Digest][]byte{},
		missing: map[digest.Digest]bool{}, noSigstore: map[digest.Digest]bool{}, cosigned: map[digest.Digest]bool{},
		isStored: map[string]bool{}, images: map[string]v1.Image{},
	}
	w.definition.Store = cmp.Or(u.Store, defaultStore)
	if w.Keys == nil {
		var err error
		if w.Keys, err = cachedKeys(); err != nil {
			return nil, err
		}
	}
	for _, r := range u.Releases {
		p, err := w.build(r)
		if err == nil {
			err = w.addNoSigstore(p)
		}
		if err != nil {
			return nil, fmt.Errorf("making release %s: %w", r.Version, err)
		}
		w.Payloads = append(w.Payloads, p)
	}
	for _, p := range w.Payloads {
		if err := w.sign(p); err != nil {
			return nil, fmt.Errorf("signing release %s: %w", p.Name, err)
		}
	}
	var err error
	w.graphData, err = w.tarball()
	return w, err
}

// Payload returns the release with this name ("4.20.1-x86_64"), or nil.
func (w *Platform) Payload(name string) *Payload {
	i := slices.IndexFunc(w.Payloads, func(p *Payload) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return w.Payloads[i]
}

// put adds content to a repository, unless it is already there.
func (w *Platform) put(repository, tag string, content registrytest.Content) (digest.Digest, error) {
	h, err := content.Digest()
	if err != nil {
		return "", err
	}
	d := digest.Digest(h.String())
	if key := repository + ":" + tag + "@" + h.String(); !w.isStored[key] {
		w.isStored[key] = true
		w.stored = append(w.stored, storedContent{repository, tag, d, content})
	}
	return d, nil
}
