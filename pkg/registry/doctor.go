package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registry/doctor"
	"github.com/gantry-mirror/gantry/pkg/remote"
	"github.com/gantry-mirror/gantry/plan/selection"
)

// probeRepository is the repository below the prefix of a mirror that Doctor pushes to.
const probeRepository = "gantry/probe"

// DoctorOptions says what Doctor looks at.
type DoctorOptions struct {
	Env *env.Env
	// Mirror is docker://HOST[:PORT][/PREFIX].
	Mirror string
	// Config is the file of a configuration, whose sources are looked at, too. It may be empty.
	Config string
	// Workspace is the folder of the workspace. The default is env.DefaultWorkspace.
	Workspace string
	// ReadOnly pushes nothing: what the registry is able to do stays unknown.
	ReadOnly bool
}

// A DoctorResult is what Doctor found. Its JSON is what gantry registry doctor --output json prints.
type DoctorResult struct {
	Version  int              `json:"version"`
	Mirror   string           `json:"mirror"`
	Findings []doctor.Finding `json:"findings"`
}

// Doctor looks at everything that mirroring to a registry depends on. It pushes a few small artifacts to
// probeRepository and deletes them. If something prevents mirroring, it returns the result and an error,
// of kind advice.Unauthorized if a registry refuses the credentials.
func Doctor(ctx context.Context, o DoctorOptions) (*DoctorResult, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if !strings.HasPrefix(o.Mirror, env.RegistryScheme) {
		return nil, env.InputHint("write docker://HOST[:PORT][/PREFIX]", "gantry registry doctor is for a registry")
	}
	path, err := mirror.ParseRegistryPath(o.Mirror, 0)
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	var cfg imageset.Mirror
	if o.Config != "" {
		selected, err := (&selection.Selection{Config: o.Config}).LoadConfig(e)
		if err != nil {
			return nil, err
		}
		cfg = selected.Config.Mirror
	}
	d := &examination{env: e, result: &DoctorResult{Version: 1, Mirror: o.Mirror, Findings: []doctor.Finding{}}}
	d.add(doctor.Workspace(env.WorkspaceDir(o.Workspace), time.Now)...)
	if err := d.examineMirror(ctx, path, o.ReadOnly); err != nil {
		return nil, err
	}
	if err := d.examineConfiguration(ctx, cfg); err != nil {
		return nil, err
	}
	return d.result, d.failure()
}

// An examination is one call of Doctor.
type examination struct {
	env    *env.Env
	result *DoctorResult
	first  error // of the problems
}

func (d *examination) add(all ...doctor.Finding) {
	d.result.Findings = append(d.result.Findings, all...)
}

// problem adds an error as a finding. Only the end of the context is returned.
func (d *examination) problem(ctx context.Context, area, name string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	remedy := ""
	if adviser, ok := errors.AsType[advice.Adviser](err); ok {
		_, remedy = adviser.Advice()
	}
	d.add(doctor.Finding{Area: area, Name: name, State: doctor.Problem, Text: err.Error(), Remedy: remedy})
	d.first = cmp.Or(d.first, err)
	return nil
}

// failure returns the error about all problems, nil if there are none.
func (d *examination) failure() error {
	problems := slices.DeleteFunc(slices.Clone(d.result.Findings), func(f doctor.Finding) bool { return f.State != doctor.Problem })
	if len(problems) == 0 {
		return nil
	}
	kind := advice.Failure
	if d.first != nil && errors.Is(d.first, remote.ErrUnauthorized) {
		kind = advice.Unauthorized
	}
	return advice.New(kind, problems[0].Remedy, "%s with %s", env.Number(len(problems), "problem", "problems"), d.result.Mirror)
}

// examineMirror looks at the registry.
func (d *examination) examineMirror(ctx context.Context, path mirror.RegistryPath, readOnly bool) error {
	client, err := d.env.Client(remote.Destination)
	if err != nil {
		return err
	}
	at := path.Repository(probeRepository)
	contact, err := client.Contact(ctx, at)
	if err != nil {
		return d.problem(ctx, "registry", "connection", err)
	}
	d.add(doctor.Connection(contact)...)
	ok, err := d.examineCredentials(ctx, client, remote.Destination, at, at, !readOnly)
	if err != nil || !ok {
		return err
	}
	if readOnly {
		d.add(doctor.Finding{Area: "abilities", Name: "push", State: doctor.Skipped, Text: "nothing is pushed with Options.ReadOnly, so what the registry accepts is unknown"})
		return nil
	}
	found, err := doctor.Abilities(ctx, client, at)
	d.add(found...)
	if err != nil {
		return d.problem(ctx, "abilities", "push", err)
	}
	return nil
}

// examineCredentials finds out where the credentials for ref, which is at a registry, come from, and whether the
// registry accepts them.
func (d *examination) examineCredentials(ctx context.Context, client *remote.Client, which remote.Side, ref, at reference.Reference, push bool) (ok bool, err error) {
	side := d.env.Source
	if which == remote.Destination {
		side = d.env.Destination
	}
	keys, err := d.env.Keys(side, which)
	if err != nil {
		return false, err
	}
	cred, err := keys.Credential(ctx, at.Host, at.Path)
	if err == nil {
		err = client.CheckAccess(ctx, ref, push)
	}
	if err != nil {
		return false, d.problem(ctx, "credentials", at.Host, err)
	}
	text := fmt.Sprintf("%s: the registry accepts them", cred)
	if cred.Anonymous() {
		text = "none were found, and none were asked for"
		if in, ok := keys.(interface{ Files() []string }); ok {
			text = "none were found in " + strings.Join(in.Files(), ", ") + ", and none were asked for"
		}
	}
	d.add(doctor.Finding{Area: "credentials", Name: at.Host, State: doctor.OK, Text: text})
	return true, nil
}

// examineSource looks at the registry that a source is read from.
func (d *examination) examineSource(ctx context.Context, ref reference.Reference) error {
	client, err := d.env.Client(remote.Source)
	if err != nil {
		return err
	}
	contact, err := client.Contact(ctx, ref)
	if err != nil {
		return d.problem(ctx, "configuration", ref.Host, err)
	}
	at := contact.Reference
	text := "the source " + ref.Host + " is reached at "
	if at.Host != ref.Host {
		text = ref.Name() + " is read from " + at.Name() + " (registries.conf), reached at "
	}
	text += contact.Scheme + "://" + contact.Address
	if contact.Proxy != "" {
		text += " through the proxy " + contact.Proxy
	}
	d.add(doctor.Finding{Area: "configuration", Name: ref.Host, State: doctor.OK, Text: text})
	_, err = d.examineCredentials(ctx, client, remote.Source, ref, at, false)
	return err
}
