package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/release/graph"
	"github.com/gantry-mirror/gantry/pkg/release/graphdata"
	"github.com/gantry-mirror/gantry/pkg/release/update"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/signature/gpg"
	"github.com/gantry-mirror/gantry/plan"
)

// releaseFlags say whose platform releases are taken.
type releaseFlags struct {
	keys   []string
	ignore bool
}

func (r *releaseFlags) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&r.keys, "release-key", nil, "take only platform releases that a key of this OpenPGP file signed, in place of the vendor's (may be repeated: a key of each has to have signed)")
	f.BoolVar(&r.ignore, "ignore-release-signature", false, "take platform releases whose signature nobody has checked")
}

// Variables that oc mirror reads, too.
const (
	updateURLVariable    = "UPDATE_URL_OVERRIDE"
	signatureURLVariable = "OCP_SIGNATURE_URL"
	signatureKeyVariable = "OCP_SIGNATURE_VERIFICATION_PK"
)

// maxGraphData and maxReleaseKey bound what is read, in bytes: many times what
// there is.
const (
	maxGraphData  = 64 << 20
	maxReleaseKey = 1 << 20
)

// updates tells plans of platform releases: what the services and stores of the
// products say, or those that the user names in their place. The command line goes
// before the environment, and that before the configuration.
type updates struct {
	client *remote.Client
	stores *signatureStores
	cfg    imageset.Releases
	getenv func(string) string
	keys   []string
	now    time.Time
	// planned says that cfg is out of a plan, which no configuration mends.
	planned bool

	mu    sync.Mutex
	asked map[question]func() (answer, error)
}

type question struct {
	product release.Product
	channel string
	arch    release.Arch
}

type answer struct {
	graph *graph.Graph
	from  plan.UpdateGraph
}

// updates makes them; cfg is nil where there is no configuration.
func (a *app) updates(client *remote.Client, cfg *imageset.Releases, f releaseFlags) *updates {
	u := &updates{
		client: client, stores: &signatureStores{client: client, lost: map[string]error{}},
		getenv: a.getenv, keys: f.keys, now: time.Now(), asked: map[question]func() (answer, error){},
	}
	if cfg != nil {
		u.cfg = *cfg
	}
	return u
}

// Graph implements plan.Updates. Each question is asked once.
func (u *updates) Graph(ctx context.Context, product release.Product, channel string, arch release.Arch) (*graph.Graph, plan.UpdateGraph, error) {
	q := question{product, channel, arch}
	u.mu.Lock()
	ask := u.asked[q]
	if ask == nil {
		ask = sync.OnceValues(func() (answer, error) {
			s := &update.Service{Product: product, URL: u.service(product), Get: u.client, Channels: u.others(q)}
			g, from, err := s.Graph(ctx, channel, arch)
			return answer{g, plan.UpdateGraph{URL: from.URL, SHA256: digest.NewDigestFromEncoded(digest.SHA256, from.SHA256)}}, err
		})
		u.asked[q] = ask
	}
	u.mu.Unlock()
	a, err := ask()
	return a.graph, a.from, err
}

// service is the address of the update service; "" is the product's own.
func (u *updates) service(product release.Product) string {
	if address := u.getenv(updateURLVariable); address != "" {
		return address
	}
	if product == release.OCP {
		return u.cfg.UpdateService
	}
	return ""
}

// others are channels that the configuration names, too, to suggest one of them.
func (u *updates) others(q question) []string {
	var all []string
	for _, c := range u.cfg.Channels {
		if c.Product == q.product && c.Name != q.channel {
			all = append(all, c.Name)
		}
	}
	return all
}

// GraphData implements plan.Updates.
func (u *updates) GraphData(ctx context.Context) (source string, tarball []byte, err error) {
	address := u.cfg.GraphData
	if address == "" {
		own := u.service(release.OCP)
		if address = graphdata.DefaultAddress; own != "" {
			address = graphdata.Address(own)
		}
		if address == "" {
			return "", nil, &usageError{&hintError{
				fmt.Errorf("where the graph data of the update service %s is cannot be told", shown(own)), "; ", "say so with mirror.platform.graphData",
			}}
		}
	}
	if !strings.Contains(address, "://") {
		tarball, err = readLimited(address, maxGraphData)
		if err != nil {
			err = &usageError{fmt.Errorf("reading graph data: %w", err)}
		}
		return address, tarball, err
	}
	tarball, err = u.client.Get(ctx, address, "", maxGraphData)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !u.planned:
		err = &hintError{fmt.Errorf("reading graph data: %w", err), "; ", "say with mirror.platform.graphData where it is"}
	case err != nil:
		err = fmt.Errorf("reading graph data: %w", err)
	}
	return shown(address), tarball, err
}

// rebuildGraph builds the image of a plan's graph data where the workspace does not
// have it.
func (a *app) rebuildGraph(ctx context.Context, g *plan.GraphData, s *session) error {
	a.say("building the image of graph data again")
	u := a.updates(s.client, &imageset.Releases{GraphData: g.Source}, releaseFlags{})
	u.planned = true
	from := s.from()
	from.Updates = u
	err := plan.RebuildGraph(ctx, *g, from)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &hintError{err, "; ", "carry the plan out with the workspace that it was made in (--workspace), which has the image, or make the plan again" +
		" (a plan holds the address of graph data without user and query, so that one with a token is not read again)"}
}

// shown is an address without what may be secret in it.
func shown(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that cannot be read)"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Signatures implements plan.Updates.
func (u *updates) Signatures(ctx context.Context, product release.Product, payload digest.Digest) ([][]byte, error) {
	trust, err := u.trust(product)
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

// trust is whose signatures count, and where they are.
func (u *updates) trust(product release.Product) (gpg.Trust, error) {
	t, err := gpg.BuiltIn(product)
	files := u.keys
	if len(files) == 0 {
		if file := u.getenv(signatureKeyVariable); file != "" {
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
				return t, &usageError{fmt.Errorf("reading a key of releases: %w", err)}
			}
			k, err := gpg.ParseKeyring(file, text)
			if err != nil {
				return t, &usageError{err}
			}
			t.Keyrings = append(t.Keyrings, k)
		}
	}
	switch store := u.getenv(signatureURLVariable); {
	case store != "":
		t.Stores = []string{store}
	case len(u.cfg.SignatureStores) > 0:
		t.Stores = slices.Clone(u.cfg.SignatureStores)
	}
	for _, store := range t.Stores {
		if err := gpg.CheckStore(store); err != nil {
			return t, &usageError{err}
		}
	}
	return t, nil
}

// check finds what is wrong with the keys and stores that the user names, once and
// before anything is asked for.
func (u *updates) check() error {
	_, err := u.trust(release.OCP) // what the user names is for all products
	return err
}

// verifyReleases checks the signatures that a plan brings along, as they were checked
// when it was made: it may have been on a medium, or in other hands, since.
func (a *app) verifyReleases(client *remote.Client, p *plan.Plan, f releaseFlags) error {
	a.sayTrust(f, len(p.Releases) > 0)
	if f.ignore {
		return nil
	}
	u := a.updates(client, nil, f)
	var problems []error
	for _, r := range p.Releases {
		problems = append(problems, u.verifyRelease(r))
	}
	return errors.Join(problems...)
}

// check refuses flags that contradict each other.
func (r *releaseFlags) check() error {
	if r.ignore && len(r.keys) > 0 {
		return usageHint("leave one of them out", "--release-key and --ignore-release-signature contradict each other")
	}
	return nil
}

// wantsReleases reports whether a configuration asks for platform releases.
func wantsReleases(cfg *imageset.Releases) bool {
	return cfg != nil && (len(cfg.Channels) > 0 || cfg.Release != "")
}

// sayTrust says what the flags do: nothing, where no release is mirrored, and else
// what is dangerous.
func (a *app) sayTrust(f releaseFlags, releases bool) {
	switch {
	case releases && f.ignore:
		a.warn("platform releases are taken without a look at their signatures (--ignore-release-signature): nothing says that they are what the vendor built, and clusters, which find no signatures, update to them with --force alone")
	case !releases && f.ignore:
		a.say("--ignore-release-signature changes nothing: no platform release is mirrored")
	case !releases && len(f.keys) > 0:
		a.say("--release-key changes nothing: no platform release is mirrored")
	}
}

func (u *updates) verifyRelease(r plan.Release) error {
	if r.Unverified && len(r.Signatures) == 0 {
		return usageHint("make the plan with its signature, or say --ignore-release-signature here too",
			"release %s was planned without its signature (--ignore-release-signature)", r.Name())
	}
	trust, err := u.trust(r.Product)
	if err != nil {
		return err
	}
	err = gpg.VerifyAll(r.OwnSignatures(), r.Digest, trust.Keyrings, u.now)
	if err == nil {
		return nil
	}
	return &hintError{fmt.Errorf("release %s: %w", r.Name(), err), "\n", "where others than the vendor signed it, say with --release-key here too whose signatures count"}
}

// readLimited reads a file that has at most limit bytes.
func readLimited(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
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
