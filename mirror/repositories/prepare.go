package repositories

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/archive/open"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/provision"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/pkg/site"
	"github.com/gantry-mirror/gantry/pkg/site/airgap"
	"github.com/gantry-mirror/gantry/pkg/state/setrecord"
	"github.com/gantry-mirror/gantry/plan/planning"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/signing"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// API says how repositories are created at a registry.
type API struct {
	// RegistryKind is one of Kinds. The default is found out.
	RegistryKind string
	// RegistryTokenFile is a file with an OAuth token for Quay's API.
	RegistryTokenFile string
}

// Kinds returns the kinds of registries that repositories or projects are created in.
func Kinds() []string { return provision.Kinds() }

// Options says what Prepare creates. Mirror is required, and one of Config, Plan and From.
type Options struct {
	Env *env.Env
	selection.Selection
	updates.ReleaseTrust
	API
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// Plan is the file of a plan, and From the folders of an archive, each as file://DIR.
	Plan string
	From []string
	// Workspace is the folder for the cache of Config. The default is env.DefaultWorkspace.
	Workspace string
	// MaxNestedPaths is how many path components a registry allows; 0 is no limit.
	MaxNestedPaths int
	// Print creates nothing: Prepared.Commands is what would.
	Print bool
	// Read has the signing policy and the identities that archives are read with.
	Read archive.OpenOptions
}

// A Prepared is the result of Prepare. Its JSON is what gantry registry prepare --output json
// prints.
type Prepared struct {
	Version int    `json:"version"`
	Mirror  string `json:"mirror"`
	// Kind is ecr, harbor or quay.
	Kind provision.Kind `json:"kind"`
	// Repositories are the repositories, or the projects of Harbor, that exist now.
	Repositories []provision.Result `json:"repositories"`
	// Commands create them; they are set with Options.Print.
	Commands []string `json:"commands,omitempty"`
}

func (o *Options) check() error {
	given := 0
	for _, is := range []bool{o.Config != "", o.Plan != "", len(o.From) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return env.InputHint("set one of Options.Config, Options.Plan and Options.From", "which repositories are needed depends on a plan")
	case o.Config == "" && o.Any():
		return selection.ErrNoSelection()
	}
	return nil
}

// Prepare creates the repositories or projects that a plan needs in a registry that does not create
// them on push, also those for the records and leases of Gantry. What exists is left as it is. After an error,
// the result has what was done before.
func Prepare(ctx context.Context, o Options) (*Prepared, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := site.OpenMirror(e, o.Mirror, site.DestinationOptions{MaxNestedPaths: o.MaxNestedPaths})
	if err != nil {
		return nil, err
	}
	if o.Config != "" { // before the registry is asked
		if _, err := o.Selection.Load(); err != nil {
			return nil, err
		}
	}
	prepare, err := PrepareMirror(ctx, e, t, o.API, o.Print)
	if err != nil {
		return nil, err
	}
	p, err := o.plan(ctx, e)
	if err != nil {
		return nil, err
	}
	names, err := prepare.names(p)
	if err != nil {
		return nil, err
	}
	result := &Prepared{Version: 1, Mirror: o.Mirror, Kind: prepare.registry.Kind, Repositories: []provision.Result{}}
	if o.Print {
		result.Commands, err = prepare.registry.Commands(names)
		return result, err
	}
	created, err := prepare.registry.Create(ctx, names)
	result.Repositories = append(result.Repositories, created...)
	return result, err
}

// plan returns the plan that the options name.
func (o *Options) plan(ctx context.Context, e *env.Env) (*plan.Plan, error) {
	switch {
	case o.Plan != "":
		return signing.ReadPlan(o.Plan)
	case len(o.From) > 0:
		have, err := open.Archive(open.Options{Env: e, Folders: o.From, Read: o.Read})
		if err != nil {
			return nil, err
		}
		defer func() { _ = have.Close() }() // only read from
		p, err := airgap.ReadPlan(ctx, have)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, advice.Wrap(advice.Input, err, "add the folder of the first archive to Options.From, or set Options.Plan")
		}
		return p, err
	}
	p, err := planning.PlanConfig(ctx, e, planning.Options{Selection: o.Selection, ReleaseTrust: o.ReleaseTrust, Workspace: o.Workspace})
	if err == nil && len(p.Missing) > 0 {
		e.Warnf("%s at their sources; their repositories are created when they are mirrored", env.Number(len(p.Missing), "image is missing", "images are missing"))
	}
	return p, err
}

// A Preparation creates repositories at a mirror. A nil preparation creates none.
type Preparation struct {
	env      *env.Env
	to       *site.RegistryDestination
	registry *provision.Registry
	exists   []string
}

// PrepareMirror finds out how repositories are created at a mirror.
func PrepareMirror(ctx context.Context, e *env.Env, t *site.RegistryDestination, api API, printed bool) (*Preparation, error) {
	o := provision.Options{ //nolint:gosec // TokenHint is a text
		Host: t.Host, Kind: provision.Kind(api.RegistryKind), Caller: t.Client, Getenv: e.Variable, Home: env.HomeDir(e.Home, e.Variable), Now: time.Now, Wait: wait,
		TokenHint: "set Options.RegistryTokenFile to a file with a token that an application of the organization generated",
	}
	if e.Destination.PlainHTTP {
		o.Base = "http://" + t.Host
	}
	if provision.KindOf(t.Host) == "" && (!printed || api.RegistryKind == "") {
		contact, err := t.Client.Contact(ctx, t.OwnRepository(site.LeaseRepository))
		if err != nil {
			return nil, err
		}
		o.Base = contact.Scheme + "://" + contact.Address
	}
	if !printed {
		keys, err := e.Keys(e.Destination, remote.Destination)
		if err != nil {
			return nil, err
		}
		if o.Credential, err = keys.Credential(ctx, t.Host, t.Prefix); err != nil {
			return nil, err
		}
		if api.RegistryTokenFile != "" {
			raw, _, err := regular.ReadInput(api.RegistryTokenFile, 64<<10)
			if err != nil {
				return nil, env.Inputf("Options.RegistryTokenFile: %w", err)
			}
			if o.Token = strings.TrimSpace(string(raw)); o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
				return nil, env.InputHint("write the token alone to it", "Options.RegistryTokenFile %s has no token", api.RegistryTokenFile)
			}
		}
	}
	r, err := provision.New(ctx, o)
	if err != nil {
		return nil, err
	}
	return &Preparation{env: e, to: t, registry: r}, nil
}

// names returns the repositories or projects that a plan and Gantry itself need.
func (p *Preparation) names(wanted *plan.Plan) ([]string, error) {
	paths := []string{p.to.OwnRepository(site.LeaseRepository).Path, p.to.OwnRepository(setrecord.Repository).Path}
	if wanted != nil {
		targets, err := p.to.Repositories(wanted)
		if err != nil {
			return nil, advice.Wrap(advice.Input, err, "")
		}
		for _, at := range targets {
			paths = append(paths, at.Path)
		}
	}
	return p.registry.Names(paths)
}

// CreateFor creates what a plan needs. Without a plan, it creates what Gantry itself needs.
func (p *Preparation) CreateFor(ctx context.Context, wanted *plan.Plan) error {
	if p == nil {
		return nil
	}
	names, err := p.names(wanted)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(p.exists, name) })
	results, err := p.registry.Create(ctx, names)
	for _, r := range results {
		p.exists = append(p.exists, r.Name)
		if r.Created {
			p.env.Noticef("created %s at %s", r.Name, p.to.Host)
		}
	}
	return err
}

// wait waits, or returns why the context ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
