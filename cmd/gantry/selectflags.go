package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/blang/semver/v4"
	"github.com/spf13/pflag"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/plan"
)

// selectFlags say what is selected: a configuration, and what may be added to it
// on the command line.
type selectFlags struct {
	config       string
	installed    []string
	dependencies bool

	loaded    *imageset.Config           // what load read
	clusters  []installed.Operator       // of the files of --installed
	operators []imageset.Installed       // the same, as a configuration has them
	releases  []installed.ClusterVersion // of the files of --installed
}

// addFlags adds the flags. purpose is what --installed is for: most verbs keep the
// way from there, some only ask about it.
func (s *selectFlags) addFlags(f *pflag.FlagSet, purpose string) {
	f.StringVarP(&s.config, "config", "c", "", "ImageSetConfiguration to read")
	f.StringArrayVar(&s.installed, "installed", nil, "what a cluster runs, as oc get csv, subscription, clusterextension or clusterversion -A -o json prints it; "+purpose+" (may be repeated)")
	f.BoolVar(&s.dependencies, "dependencies", false, "add the operators that the chosen ones need, as dependencies: true does for each catalog")
}

// wayKept is the purpose of --installed where something is selected by it.
const wayKept = "the way from there is kept"

// Errors of flags without the configuration that they belong to.
var (
	errNoSelection    = usageHint("a plan has them in it", "--installed and --dependencies are for a configuration (-c)")
	errNoDependencies = usagef("--dependencies is for a configuration (-c)")
)

// given reports whether there is anything that only a configuration can use.
func (s *selectFlags) given() bool { return len(s.installed) > 0 || s.dependencies }

// load reads the configuration and the files of --installed, before anything is
// touched; that one cannot be read is the user's to mend.
func (s *selectFlags) load() error {
	if s.config == "" {
		return usageHint("give one with -c imageset.yaml", "no configuration")
	}
	return s.loadGiven()
}

// loadGiven is load where a configuration is not needed.
func (s *selectFlags) loadGiven() error {
	if s.config == "" {
		return s.loadInstalled()
	}
	var err error
	s.loaded, err = imageset.Load(s.config)
	var absent *fs.PathError
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && errors.As(err, &absent):
		err = fmt.Errorf("reading the configuration: %w", absent)
		return &usageError{&hintError{err, "; ", checkPath}}
	default:
		return &usageError{err}
	}
	if s.dependencies {
		for i := range s.loaded.Mirror.Operators {
			s.loaded.Mirror.Operators[i].Dependencies = true
		}
	}
	return s.loadInstalled()
}

func (s *selectFlags) loadInstalled() error {
	for _, name := range s.installed {
		operators, releases, err := readInstalled(name)
		if err != nil {
			return usagef("--installed: %w", err)
		}
		s.clusters, s.releases = append(s.clusters, operators...), append(s.releases, releases...)
	}
	s.clusters = installed.Merge(s.clusters)
	for _, o := range s.clusters {
		if o.Package != "" {
			s.operators = append(s.operators, o.Entry())
		}
	}
	return nil
}

// leads refuses releases of clusters, and nothing else, where no update is planned for
// them.
func (s *selectFlags) leads() error {
	if len(s.releases) == 0 || len(s.clusters) > 0 || s.loaded == nil {
		return nil
	}
	if p := s.loaded.Mirror.Platform; p == nil || len(p.Channels) == 0 {
		return usageHint("name the channels that clusters follow in mirror.platform, or give what oc get csv -A -o json prints",
			"--installed says only which releases clusters run, and the configuration asks for no channel of releases")
	}
	return nil
}

// operatorsOnly refuses the same where operators are all that is asked about.
func (s *selectFlags) operatorsOnly() error {
	if len(s.releases) == 0 || len(s.clusters) > 0 {
		return nil
	}
	return usageHint("give what oc get csv -A -o json prints", "--installed says only which releases clusters run, and not which operators")
}

// release is what all clusters run, "" where that is not known or not the same.
func (s *selectFlags) release() string {
	version := ""
	for i, r := range s.releases {
		if i > 0 && r.Version != version {
			return ""
		}
		version = r.Version
	}
	return version
}

// running are the releases that clusters run, for a plan.
func (s *selectFlags) running() []plan.Cluster {
	var all []plan.Cluster
	for _, r := range s.releases {
		cl := plan.Cluster{Version: r.Version, Channel: r.Channel, Where: r.Origin}
		if r.Multi {
			cl.Arch = release.Multi
		}
		all = append(all, cl)
	}
	return all
}

// places are where operators that clusters run stand in a package, each once.
func places(operators []installed.Operator, p *catalog.Package) []graph.At {
	var places []graph.At
	add := func(at graph.At) {
		if !slices.ContainsFunc(places, func(p graph.At) bool {
			return p.Name == at.Name && p.Version.Equals(at.Version) && p.Release == at.Release
		}) {
			places = append(places, at)
		}
	}
	for _, o := range operators {
		if o.Package != p.Name {
			continue
		}
		version, _ := semver.Parse(o.Version) // its name says enough
		if o.Bundle != "" {
			add(graph.At{Name: o.Bundle, Version: version, Release: o.Release})
			continue
		}
		for _, b := range graph.OfVersion(p, version) {
			add(graph.Running(b))
		}
	}
	return places
}

func readInstalled(name string) (operators []installed.Operator, releases []installed.ClusterVersion, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return installed.Read(name, f)
}
