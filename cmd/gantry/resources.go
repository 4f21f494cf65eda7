package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/mirror"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/workspace"
	"github.com/gantry-mirror/gantry/plan"
)

// resourceFiles says which cluster resources were written.
type resourceFiles struct {
	Dir   string   `json:"dir"`
	Files []string `json:"files"`
	// Web are files for a web server, which are no manifests and stand in folders
	// of their own.
	Web     []string `json:"web,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// key names the mirror in file names. Where they cannot hold its name as it is, a
// hash keeps it apart from others: "h/a/b" and "h/a-b" are two mirrors.
func (t *registryTarget) key() string {
	exact := strings.TrimSuffix(t.Host+"/"+t.Prefix, "/")
	name := safeName(exact)
	if name != exact && strings.Contains(t.Prefix, "/") {
		name += "-" + reference.ShortHash(exact)
	}
	return name
}

// holdings are what the mirror holds of the plan called name, nil where that is
// nothing, and of others.
func (s *session) holdings(t *registryTarget, name string) (mine *mirror.Holding, others map[string]mirror.Holding, err error) {
	others = map[string]mirror.Holding{}
	err = s.Holdings(t.key(), func(plan string, dec *json.Decoder) error {
		h, err := mirror.ReadHolding(dec)
		if plan == name {
			mine = &h
		} else {
			others[plan] = h
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return mine, others, nil
}

// receipt is what is known of the mirror before a run of the plan called name.
func (s *session) receipt(t *registryTarget, name string) (*mirror.Receipt, error) {
	mine, others, err := s.holdings(t, name)
	if err != nil {
		return nil, err
	}
	return mirror.NewReceipt(t.names, mine, slices.Collect(maps.Values(others))...), nil
}

// A clusterResources is what clusters apply for everything that a mirror holds.
type clusterResources struct {
	// mine is what it holds of one plan, all of every plan.
	mine, all mirror.Holding
	files     []resources.File
	notes     []string
}

// resources are the manifests for everything that the mirror holds: of p, as far
// as the report says that it arrived, and of other plans. It changes nothing.
func (s *session) resources(t *registryTarget, p *plan.Plan, report *mirror.Report, opts resources.Options) (*clusterResources, error) {
	before, others, err := s.holdings(t, p.Name)
	if err != nil {
		return nil, err
	}
	r := &clusterResources{mine: mirror.Hold(p, t.names, report, before)}
	var rest []mirror.Holding
	for _, name := range slices.Sorted(maps.Keys(others)) {
		rest = append(rest, others[name])
	}
	r.all = mirror.Merge(r.mine, rest...)
	if r.files, r.notes, err = resources.Build(r.all.Images, r.all.Catalogs, opts); err != nil {
		return nil, &usageError{err}
	}
	more, err := resources.BuildPlatform(r.all.Platform())
	r.files = append(r.files, more...)
	return r, err
}

// saveResources notes what the mirror holds of this plan and writes the manifests,
// and what else clusters may be given.
func (s *session) saveResources(ctx context.Context, t *registryTarget, p *plan.Plan, report *mirror.Report, opts resources.Options) (*resourceFiles, error) {
	r, err := s.resources(t, p, report, opts)
	if err != nil {
		return nil, err
	}
	if err := s.SaveHolding(t.key(), p.Name, r.mine.Write); err != nil {
		return nil, err
	}
	// A mirror that cannot be read just now does not keep clusters from the
	// manifests.
	web, notes, unread := t.webFiles(ctx, &r.all)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := &resourceFiles{Files: []string{}, Notes: append(r.notes, notes...)}
	var write []workspace.File
	for _, f := range r.files {
		out.Files = append(out.Files, f.Name)
		write = append(write, workspace.File{Name: f.Name, Text: f.Text})
	}
	for _, f := range web {
		out.Web = append(out.Web, f.Name)
		write = append(write, workspace.File{Name: f.Name, Text: f.Text})
	}
	out.Dir, out.Removed, err = s.SaveResources(t.key(), write)
	if unread != nil {
		unread = fmt.Errorf("the manifests in %s were written; making update graphs for a web server: %w", out.Dir, unread)
	}
	return out, errors.Join(err, unread)
}
