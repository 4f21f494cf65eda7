package releasetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// nowhere is the signature store of payloads that are not made behind a server.
const nowhere = "https://signatures.example.com/releases"

// A World is the releases of a Universe. Nothing changes it.
type World struct {
	// Payloads are the releases, in the order of the Universe.
	Payloads []*Payload
	Keys     *Keys

	universe   Universe
	signatures map[digest.Digest][]byte
	graphData  []byte
	// absent and unsealed are flaws; sealed has sigstore signatures.
	absent, unsealed, sealed map[digest.Digest]bool

	placed   []placed
	isPlaced map[string]bool
	images   map[string]v1.Image // of components, by what decides their bytes
}

// A placed is content and where it lies, without the host.
type placed struct {
	repository, tag string
	digest          digest.Digest
	content         registrytest.Content
}

// fixed is read once: no test changes it.
var fixed = sync.OnceValues(FixedKeys)

// New makes a World. A Universe that contradicts itself is an error.
func New(u Universe) (*World, error) {
	w := &World{
		universe: u, Keys: u.Keys, signatures: map[digest.Digest][]byte{},
		absent: map[digest.Digest]bool{}, unsealed: map[digest.Digest]bool{}, sealed: map[digest.Digest]bool{},
		isPlaced: map[string]bool{}, images: map[string]v1.Image{},
	}
	w.universe.Store = cmp.Or(u.Store, nowhere)
	if w.Keys == nil {
		var err error
		if w.Keys, err = fixed(); err != nil {
			return nil, err
		}
	}
	for _, r := range u.Releases {
		p, err := w.build(r)
		if err == nil {
			err = w.unseal(p)
		}
		if err != nil {
			return nil, fmt.Errorf("making release %s: %w", r.Version, err)
		}
		if w.Payload(p.Name) != nil {
			return nil, fmt.Errorf("release %s is there twice", p.Name)
		}
		w.Payloads = append(w.Payloads, p)
	}
	if err := w.check(); err != nil {
		return nil, err
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

// Payload returns the release of this name ("4.20.1-x86_64"), nil if there is none.
func (w *World) Payload(name string) *Payload {
	i := slices.IndexFunc(w.Payloads, func(p *Payload) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return w.Payloads[i]
}

// check refuses channels and blocks of what is not there.
func (w *World) check() error {
	known := map[string]bool{}
	for _, p := range w.Payloads {
		known[p.Version] = true
	}
	for _, channel := range slices.Sorted(maps.Keys(w.universe.Channels)) {
		for _, version := range w.universe.Channels[channel] {
			if !known[version] {
				return fmt.Errorf("channel %s has %s, which is no release", channel, version)
			}
		}
	}
	updates := map[pair]bool{}
	for _, p := range w.Payloads {
		for _, e := range w.updates(p.Arch) {
			updates[pair{e.from.Version, e.to.Version}] = true
			updates[pair{e.from.Version, e.to.Version + "+" + string(p.Arch)}] = true
		}
	}
	files := map[string]bool{}
	for _, b := range w.universe.Blocked {
		if files[b.file()] {
			return fmt.Errorf("%s is blocked twice: give one of them another name", b.To)
		}
		files[b.file()] = true
		for _, from := range b.From {
			if !updates[pair{from, b.To}] {
				return fmt.Errorf("no release says that %s updates to %s, which is blocked", from, b.To)
			}
		}
	}
	return nil
}

// put notes that content lies in a repository, once.
func (w *World) put(repository, tag string, content registrytest.Content) (digest.Digest, error) {
	h, err := content.Digest()
	if err != nil {
		return "", err
	}
	d := digest.Digest(h.String())
	if key := repository + ":" + tag + "@" + h.String(); !w.isPlaced[key] {
		w.isPlaced[key] = true
		w.placed = append(w.placed, placed{repository, tag, d, content})
	}
	return d, nil
}
