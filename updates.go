package gantry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/manifest"
	"github.com/gantry-mirror/gantry/pkg/regular"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release/update"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/plan"
	"github.com/gantry-mirror/gantry/plan/build"
)

// ReleaseTrust says which platform releases are accepted.
type ReleaseTrust struct {
	// ReleaseKeys are OpenPGP files that replace the vendor's keys. A release must be signed by a
	// key of each file.
	ReleaseKeys []string
	// IgnoreReleaseSignature accepts releases without checking their signatures.
	IgnoreReleaseSignature bool
}

// check returns an error if both are set.
func (r *ReleaseTrust) check() error {
	if r.IgnoreReleaseSignature && len(r.ReleaseKeys) > 0 {
		return inputHint("leave one of them out", "Options.ReleaseKeys and Options.IgnoreReleaseSignature contradict each other")
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
	stores *signatureStores
	cfg    imageset.Releases
	getenv func(string) string
	keys   []string
	now    time.Time
	// planned is true if cfg is from a plan, so that the user cannot correct it in a configuration.
	planned bool

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
func (e *Env) NewUpdates(client *remote.Client, cfg *imageset.Releases, trust ReleaseTrust) *Updates {
	u := &Updates{
		client: client, stores: &signatureStores{client: client, unreachable: map[string]error{}},
		getenv: e.getenv, keys: trust.ReleaseKeys, now: time.Now(), requests: map[graphQuery]func() (graphResult, error){},
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
		tarball, err = readLimited(address, maxGraphData)
		if err != nil {
			err = advice.New(advice.Input, "", "reading graph data: %w", err)
		}
		return address, tarball, err
	}
	tarball, err = u.client.Get(ctx, address, "", maxGraphData)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !u.planned:
		err = advice.New(advice.Failure, "set mirror.platform.graphData to its location", "reading graph data: %w", err)
	case err != nil:
		err = fmt.Errorf("reading graph data: %w", err)
	}
	return ShownAddress(address), tarball, err
}

// rebuildGraph builds the image of a plan's graph data, if it is not in the cache of the workspace.
func (s *Session) rebuildGraph(ctx context.Context, g *plan.GraphData, format manifest.Format) error {
	s.env.say("building the image of graph data again")
	u := s.env.NewUpdates(s.client, &imageset.Releases{GraphData: g.Source}, ReleaseTrust{})
	u.planned = true
	from := s.sources.Plan()
	from.Releases = u
	err := build.RebuildGraphData(ctx, *g, format, from)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return advice.Wrap(advice.Failure, err, "set Options.Workspace to the workspace that the plan was made in, which has the image, or make the plan again"+
		" (a plan has the address of graph data without user and query, so it cannot be read again with a token)")
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
			text, err := readLimited(file, maxReleaseKey)
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

// check checks the keys and stores that the user names, before the first request.
func (u *Updates) check() error {
	_, err := u.Trust(release.OCP) // the user's keys and stores are for all products
	return err
}

// verifyReleases checks the signatures in a plan. They were checked when the plan was made, but the
// file may have been altered since.
func (s *Session) verifyReleases(p *plan.Plan, trust ReleaseTrust) error {
	s.env.warnTrust(trust, len(p.Releases) > 0)
	if trust.IgnoreReleaseSignature {
		return nil
	}
	u := s.env.NewUpdates(s.client, nil, trust)
	var problems []error
	for _, r := range p.Releases {
		problems = append(problems, u.verifyRelease(r))
	}
	return errors.Join(problems...)
}

// warnTrust warns about options that are dangerous or have no effect.
func (e *Env) warnTrust(trust ReleaseTrust, releases bool) {
	switch {
	case releases && trust.IgnoreReleaseSignature:
		e.warn("platform releases are mirrored without checking their signatures (Options.IgnoreReleaseSignature): they may not be what the vendor built, and clusters update to them only with oc adm upgrade --force")
	case !releases && trust.IgnoreReleaseSignature:
		e.say("Options.IgnoreReleaseSignature has no effect: no platform release is mirrored")
	case !releases && len(trust.ReleaseKeys) > 0:
		e.say("Options.ReleaseKeys has no effect: no platform release is mirrored")
	}
}

func (u *Updates) verifyRelease(r plan.Release) error {
	if r.Unverified && len(r.Signatures) == 0 {
		return inputHint("make the plan again with its signature, or set Options.IgnoreReleaseSignature here too",
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

// readLimited reads a file that has at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d MiB", name, limit>>20)
	}
	return text, err
}
