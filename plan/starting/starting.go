package starting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/site/workspace"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// Options are the answers, and how the configuration is made.
type Options struct {
	Env *env.Env
	// Workspace is the folder whose cache of catalogs is used, if it exists.
	Workspace string
	// Version is the minor version of OpenShift ("4.20"), or "" for another Kubernetes.
	Version string
	// Platform is a channel of platform releases, or "".
	Platform string
	// Catalogs are where Operators are from. A catalog without operators is left out.
	Catalogs []string
	// Operators are packages: NAME for the default channel, or NAME=CHANNEL.
	Operators []string
	Images    []string
	// Unread means that catalogs are not read: names and dependencies are not checked, and default channels are not named.
	Unread bool
	// Name is the name that the file will have, and Schema the name of the file with its JSON Schema, both for comments.
	Name, Schema string
}

// Result is the configuration. Its JSON is what gantry init --output json prints.
type Result struct {
	Version int `json:"version"`
	// File is the file that was written, and Schema the file with its JSON Schema; "" for stdout.
	File   string           `json:"file"`
	Schema string           `json:"schema"`
	Config *imageset.Config `json:"config"`
	// Notes are sentences about what the configuration does not contain.
	Notes []string `json:"notes"`
	YAML  []byte   `json:"-"`
}

// Configuration makes the configuration.
func Configuration(ctx context.Context, o Options) (*Result, error) {
	if len(o.Operators) > 0 && len(o.Catalogs) == 0 {
		return nil, env.InputHint("name their catalog, too", "operators without a catalog")
	}
	if len(o.Operators) == 0 || o.Unread {
		return o.result(o.draft(nil))
	}
	return o.reading(func(r *workspace.Sources) (*Result, error) {
		var known []*listing.CatalogListing
		for _, c := range o.Catalogs {
			l, err := listing.ListPackages(ctx, listing.PackagesOptions{Env: o.Env, Sources: r, Catalog: c})
			if err != nil {
				return nil, err
			}
			known = append(known, l)
		}
		if err := o.checkOperators(known); err != nil {
			return nil, err
		}
		d := o.draft(known)
		d.Beside = o.Catalogs // those without operators, too
		if err := o.complete(ctx, r, d); err != nil {
			return nil, err
		}
		return o.result(d)
	})
}

// FromDraft completes a configuration that was made elsewhere: with the same comments at the beginning, and, unless
// Unread is set, with what its operators require. The answers are not used.
func FromDraft(ctx context.Context, o Options, d *Draft) (*Result, error) {
	if d.Comments == nil {
		d.Comments = map[string]string{}
	}
	if len(d.Config.Mirror.Operators) == 0 || o.Unread {
		return o.result(d)
	}
	return o.reading(func(r *workspace.Sources) (*Result, error) {
		if err := o.complete(ctx, r, d); err != nil {
			return nil, err
		}
		return o.result(d)
	})
}

// reading calls do with what catalogs are read from.
func (o *Options) reading(do func(*workspace.Sources) (*Result, error)) (*Result, error) {
	e, done := o.Env.OrDefault()
	defer done()
	o.Env = e
	r, err := workspace.OpenSources(e, env.WorkspaceDir(o.Workspace))
	if err != nil {
		return nil, err
	}
	defer workspace.CloseSources(e, r)
	r.KeepCatalogs()
	return do(r)
}

// result writes a draft.
func (o *Options) result(d *Draft) (*Result, error) {
	if d.empty() {
		return nil, env.InputHint("name a channel of releases, operators or images", "nothing to mirror")
	}
	text, err := d.Config.YAML(d.Comments)
	if err != nil {
		return nil, err
	}
	r := &Result{Version: 1, Config: d.Config, Notes: append([]string{}, d.Notes...), YAML: slices.Concat(o.header(), text)}
	read, err := parse(r.YAML)
	if err != nil {
		return nil, err
	}
	for _, w := range read.Warnings {
		r.Notes = append(r.Notes, w.Message)
	}
	return r, nil
}

// An UnknownOperatorError is about an operator that is in no catalog, or a channel that it does not have.
type UnknownOperatorError struct{ Err error }

func (e *UnknownOperatorError) Error() string { return e.Err.Error() }

// Unwrap returns the error with its advice.
func (e *UnknownOperatorError) Unwrap() error { return e.Err }

// checkOperators returns an [UnknownOperatorError] if an operator or its channel is in no catalog.
func (o *Options) checkOperators(known []*listing.CatalogListing) error {
	for _, text := range o.Operators {
		name, channel, _ := strings.Cut(text, "=")
		p := find(known, name)
		if p == nil {
			var names []string
			for _, l := range known {
				for i := range l.Packages {
					names = append(names, l.Packages[i].Name)
				}
			}
			return &UnknownOperatorError{listing.UnknownPackage(name, names, strings.Join(o.Catalogs, " or "), "gantry catalog list "+o.Catalogs[0]+" shows its packages")}
		}
		channels := elements.Map(p.Channels, func(c listing.OperatorChannel) string { return c.Name })
		if channel != "" && !slices.Contains(channels, channel) {
			return &UnknownOperatorError{env.InputHint(cmp.Or(suggest.Phrase(channel, channels), "it has "+strings.Join(channels, ", ")), "package %q has no channel %q", name, channel)}
		}
	}
	return nil
}

// find returns a package of the catalogs, or nil.
func find(known []*listing.CatalogListing, name string) *listing.ListedOperator {
	for _, l := range known {
		for i := range l.Packages {
			if l.Packages[i].Name == name {
				return &l.Packages[i]
			}
		}
	}
	return nil
}

// A Draft is a configuration with comments, by their paths as in imageset.Config.YAML.
type Draft struct {
	Config   *imageset.Config
	Comments map[string]string
	// Notes are sentences about what the configuration does not contain, or what was added.
	Notes []string
	// Beside are catalogs that may have what operators require, if those of Config do not.
	Beside []string
}

func (d *Draft) empty() bool {
	m := &d.Config.Mirror
	return m.Platform == nil && len(m.Operators) == 0 && len(m.AdditionalImages) == 0
}

// draft makes the configuration from the answers, and from what the catalogs have; known is empty if they were not read.
func (o *Options) draft(known []*listing.CatalogListing) *Draft {
	d := &Draft{Config: &imageset.Config{}, Comments: map[string]string{}}
	m := &d.Config.Mirror
	if o.Platform != "" {
		m.Platform = &imageset.Releases{Graph: true, Channels: []imageset.ReleaseChannel{{Name: o.Platform}}}
		d.Comments["mirror.platform.graph"] = "The update graph, for clusters that update themselves from the mirror."
		d.Comments["mirror.platform.channels[0]"] = "Without minVersion and maxVersion, the newest release. With both, also the releases between them:\n" +
			"gantry list releases --channel " + o.Platform
	}
	for i, catalog := range o.Catalogs {
		op := imageset.Operator{Catalog: catalog, Dependencies: true}
		at := fmt.Sprintf("mirror.operators[%d]", len(m.Operators))
		for _, text := range o.Operators {
			name, channel, _ := strings.Cut(text, "=")
			var p *listing.ListedOperator
			if len(known) > 0 {
				if p = find(known[i:i+1], name); p == nil || find(known[:i], name) != nil {
					continue // of another catalog
				}
			} else if i > 0 {
				continue
			}
			if about := describe(p, channel, len(m.Operators)+len(op.Packages) > 0); about != "" {
				d.Comments[fmt.Sprintf("%s.packages[%d]", at, len(op.Packages))] = about
			}
			chosen := imageset.Package{Name: name}
			if p != nil {
				if channel = cmp.Or(channel, p.DefaultChannel); channel != p.DefaultChannel {
					chosen.DefaultChannel = channel // a catalog needs one that it has
				}
			}
			if channel != "" {
				chosen.Channels = []imageset.Channel{{Name: channel}}
			}
			op.Packages = append(op.Packages, chosen)
		}
		if len(op.Packages) > 0 {
			d.Comments[at+".dependencies"] = alsoRequired
			m.Operators = append(m.Operators, op)
		}
	}
	for _, name := range o.Images {
		m.AdditionalImages = append(m.AdditionalImages, imageset.Image{Name: name})
	}
	return d
}

// describe is the comment of a package, which also explains the format unless it is a further one; p is nil if its
// catalog was not read.
func describe(p *listing.ListedOperator, channel string, further bool) string {
	var about []string
	if p != nil {
		if p.Deprecated != "" {
			about = append(about, "Deprecated: "+strings.Join(strings.Fields(p.Deprecated), " "))
		}
		var chosen string
		var others []string
		for _, c := range p.Channels {
			if c.Name == cmp.Or(channel, p.DefaultChannel) {
				chosen = c.Name + " has " + c.Version + "."
			} else {
				others = append(others, c.Name+" ("+c.Version+")")
			}
		}
		about = append(about, chosen)
		if len(others) > 0 {
			about = append(about, "Other channels: "+strings.Join(others, ", "))
		}
	} else if !further {
		about = append(about, "Without channels, the default channel.")
	}
	if !further {
		about = append(about, "Without minVersion, the newest version. With it, also the newer ones, for updates from there.")
	}
	return strings.Join(about, "\n")
}

// header is the beginning of the file.
func (o *Options) header() []byte {
	name := cmp.Or(o.Name, "FILE")
	text := "# What to mirror, made by gantry init. To see the images and their sizes, and then to mirror them:\n" +
		"#   gantry plan -c " + name + "\n#   gantry mirror -c " + name + " docker://MIRROR\n"
	if o.Schema != "" {
		text = "# yaml-language-server: $schema=" + o.Schema + "\n" + text
	}
	return []byte(text)
}

// parse reads a configuration that is not a file yet: of an error, it returns the first problem without the place.
func parse(text []byte) (*imageset.Config, error) {
	c, err := imageset.Parse("configuration", text)
	if err == nil {
		err = c.Usable()
	}
	var all *imageset.Error
	if !errors.As(err, &all) || len(all.Problems) == 0 {
		return c, err
	}
	return nil, advice.New(advice.Input, all.Problems[0].Hint, "%s", all.Problems[0].Message)
}
