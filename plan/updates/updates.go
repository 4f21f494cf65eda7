package updates

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/platform/graphdata"
	"github.com/gantry-mirror/gantry/pkg/platform/update"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/plan/trust"
)

// ReleaseTrust says which platform releases are accepted.
type ReleaseTrust struct {
	// ReleaseKeys are OpenPGP files that replace the vendor's keys. A release must be signed by a
	// key of each file.
	ReleaseKeys []string
	// IgnoreReleaseSignature accepts releases without checking their signatures.
	IgnoreReleaseSignature bool
}

// Check returns an error if both are set.
func (r *ReleaseTrust) Check() error {
	if r.IgnoreReleaseSignature && len(r.ReleaseKeys) > 0 {
		return env.InputHint("leave one of them out", "Options.ReleaseKeys and Options.IgnoreReleaseSignature contradict each other")
	}
	return nil
}

// Environment variables that oc mirror reads too: the URL of the update service, the URL of the
// signature store, and the file with the keys of releases.
const (
	UpdateURLVariable    = "UPDATE_URL_OVERRIDE"
	SignatureURLVariable = "OCP_SIGNATURE_URL"
	SignatureKeyVariable = "OCP_SIGNATURE_VERIFICATION_PK"
)

// Maximum sizes in bytes: many times the sizes that exist today.
const (
	maxGraphData  = 64 << 20
	maxReleaseKey = 1 << 20
)

// Updates are the update services and signature stores that releases are planned with: those of the
// products, or those that the user names. Options take precedence over the environment, and the
// environment over the configuration.
type Updates struct {
	client *remote.Client
	stores *trust.SignatureStores
	cfg    imageset.Releases
	getenv func(string) string
	keys   []string
	now    time.Time
	// Planned is true if cfg is from a plan, so that the user cannot correct it in a configuration.
	Planned bool

	mu       sync.Mutex
	requests map[graphQuery]func() (graphResult, error)
}

type graphQuery struct {
	product release.Product
	channel string
	arch    release.Arch
}

type graphResult struct {
	graph *graph.Graph
	from  plan.UpdateGraph
}

// NewUpdates returns the update services and signature stores for a configuration. cfg is nil
// without a configuration.
func NewUpdates(e *env.Env, client *remote.Client, cfg *imageset.Releases, accepting ReleaseTrust) *Updates {
	u := &Updates{
		client: client, stores: &trust.SignatureStores{Client: client, Unreachable: map[string]error{}},
		getenv: e.Variable, keys: accepting.ReleaseKeys, now: time.Now(), requests: map[graphQuery]func() (graphResult, error){},
	}
	if cfg != nil {
		u.cfg = *cfg
	}
	return u
}

// Graph implements plan.Updates. Each graph is requested once.
func (u *Updates) Graph(ctx context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error) {
	q := graphQuery{product, channel, arch}
	u.mu.Lock()
	request := u.requests[q]
	if request == nil {
		request = sync.OnceValues(func() (graphResult, error) {
			s := &update.Service{Product: product, URL: u.service(product), Get: u.client, Channels: u.otherChannels(q)}
			g, from, err := s.Graph(ctx, channel, arch)
			return graphResult{g, plan.UpdateGraph{URL: from.URL, SHA256: digest.NewDigestFromEncoded(digest.SHA256, from.SHA256)}}, err
		})
		u.requests[q] = request
	}
	u.mu.Unlock()
	result, err := request()
	return result.graph, result.from, err
}

// service returns the URL of the update service, or "" for the product's own.
func (u *Updates) service(product release.Product) string {
	if address := u.getenv(UpdateURLVariable); address != "" {
		return address
	}
	if product == release.OCP {
		return u.cfg.UpdateService
	}
	return ""
}

// otherChannels returns the other channels of the configuration, which an error about an unknown channel
// can suggest.
func (u *Updates) otherChannels(q graphQuery) []string {
	var all []string
	for _, c := range u.cfg.Channels {
		if c.Product == q.product && c.Name != q.channel {
			all = append(all, c.Name)
		}
	}
	return all
}

// GraphData implements plan.Updates.
func (u *Updates) GraphData(ctx context.Context) (source string, tarball []byte, err error) {
	address := u.cfg.GraphData
	if address == "" {
		own := u.service(release.OCP)
		if address = graphdata.DefaultAddress; own != "" {
			address = graphdata.Address(own)
		}
		if address == "" {
			return "", nil, advice.New(advice.Input, "set mirror.platform.graphData", "the location of the graph data of the update service %s is unknown", ShownAddress(own))
		}
	}
	if !strings.Contains(address, "://") {
		tarball, err = env.ReadLimited(address, maxGraphData)
		if err != nil {
			err = advice.New(advice.Input, "", "reading graph data: %w", err)
		}
		return address, tarball, err
	}
	tarball, err = u.client.Get(ctx, address, "", maxGraphData)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !u.Planned:
		err = advice.New(advice.Failure, "set mirror.platform.graphData to its location", "reading graph data: %w", err)
	case err != nil:
		err = fmt.Errorf("reading graph data: %w", err)
	}
	return ShownAddress(address), tarball, err
}

// ShownAddress returns an address without the parts that may be secret.
func ShownAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an invalid address)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Signatures implements plan.Updates.
func (u *Updates) Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error) {
	trust, err := u.Trust(product)
	if err != nil {
		return nil, err
	}
	found, err := gpg.Collect(ctx, u.stores, trust.Stores, payload, trust.Keyrings, u.now)
	if err != nil {
		return nil, err
	}
	bodies := make([][]byte, len(found))
	for i, s := range found {
		bodies[i] = s.Body
	}
	return bodies, nil
}

// Trust returns the keys that must have signed releases of a product, and the stores of their
// signatures.
func (u *Updates) Trust(product release.Product) (gpg.Trust, error) {
	t, err := gpg.BuiltIn(product)
	files := u.keys
	if len(files) == 0 {
		if file := u.getenv(SignatureKeyVariable); file != "" {
			files = []string{file}
		}
	}
	if len(files) == 0 {
		files = u.cfg.SignatureKeys
	}
	if err != nil && len(files) == 0 {
		return t, err
	}
	if len(files) > 0 {
		t.Keyrings = nil
		for _, file := range files {
			text, err := env.ReadLimited(file, maxReleaseKey)
			if err != nil {
				return t, advice.New(advice.Input, "", "reading a key of releases: %w", err)
			}
			k, err := gpg.ParseKeyring(file, text)
			if err != nil {
				return t, advice.Wrap(advice.Input, err, "")
			}
			t.Keyrings = append(t.Keyrings, k)
		}
	}
	switch store := u.getenv(SignatureURLVariable); {
	case store != "":
		t.Stores = []string{store}
	case len(u.cfg.SignatureStores) > 0:
		t.Stores = slices.Clone(u.cfg.SignatureStores)
	}
	for _, store := range t.Stores {
		if err := gpg.CheckStore(store); err != nil {
			return t, advice.Wrap(advice.Input, err, "")
		}
	}
	return t, nil
}

// Check checks the keys and stores that the user names, before the first request.
func (u *Updates) Check() error {
	_, err := u.Trust(release.OCP) // the user's keys and stores are for all products
	return err
}

// WarnTrust warns about options that are dangerous or have no effect.
func WarnTrust(e *env.Env, trust ReleaseTrust, releases bool) {
	switch {
	case releases && trust.IgnoreReleaseSignature:
		e.Warnf("platform releases are mirrored without checking their signatures (Options.IgnoreReleaseSignature): they may not be what the vendor built, and clusters update to them only with oc adm upgrade --force")
	case !releases && trust.IgnoreReleaseSignature:
		e.Noticef("Options.IgnoreReleaseSignature has no effect: no platform release is mirrored")
	case !releases && len(trust.ReleaseKeys) > 0:
		e.Noticef("Options.ReleaseKeys has no effect: no platform release is mirrored")
	}
}

// VerifyRelease checks the signature that a plan has of a release. It is an error of kind advice.Mismatch if none is valid.
func (u *Updates) VerifyRelease(r plan.Release) error {
	if r.Unverified && len(r.Signatures) == 0 {
		return env.InputHint("make the plan again with its signature, or set Options.IgnoreReleaseSignature here too",
			"release %s was planned without its signature (Options.IgnoreReleaseSignature)", r.Name())
	}
	trust, err := u.Trust(r.Product)
	if err != nil {
		return err
	}
	err = gpg.VerifyAll(r.OwnSignatures(), r.Digest, trust.Keyrings, u.now)
	if err == nil {
		return nil
	}
	return advice.New(advice.Failure, "if the vendor did not sign it, set Options.ReleaseKeys to the keys of the signer here too", "release %s: %w", r.Name(), err)
}
