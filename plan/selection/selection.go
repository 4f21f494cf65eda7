package selection

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/regular"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/imageset/tagrule"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/plan/build"
	"github.com/gantry-mirror/gantry/pkg/release"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// A Selection is a configuration, and files about what clusters run.
type Selection struct {
	// Config is the file of the ImageSetConfiguration.
	Config string
	// Text is the ImageSetConfiguration itself, YAML or JSON of at most 4 MiB. Config is then its name in messages, and
	// the plan is named for it as for a file. Value is a configuration that a program made, for which the same holds.
	// Without them, the file Config is read.
	Text  []byte
	Value *imageset.Config
	// Installed are files with what clusters run: the output of oc get csv, subscription,
	// clusterextension, clusterversion, operatorcondition or clusteroperator -A -o json. The upgrade
	// paths from the installed versions are kept.
	Installed []string
	// ForgetInstalled forgets what earlier runs recorded of Installed: those operators are gone. Without Installed
	// and ForgetInstalled, the upgrade paths from there are kept.
	ForgetInstalled bool
	// Dependencies adds the operators that the selected ones require.
	Dependencies bool
	// CompleteRelatedImages adds the images that bundles use and do not list in relatedImages.
	CompleteRelatedImages bool
	// PlatformsMode is imageset.PlatformsSparse or PlatformsRewrite, for every entry of the
	// configuration that selects platforms and has no platformsMode; "" changes nothing.
	PlatformsMode string
	// DestFormat converts images to the media types of a format: manifest.Docker or manifest.OCI. "" and KeepFormat
	// keep those of the sources.
	DestFormat string
	// MinAge leaves out content that was created later than such an age, in whole days, before the midnight (UTC) of
	// today. These are bundles, platform releases, versions of charts, and images that rules for tags select;
	// additional images that are named by a tag are missing. 0 is mirror.minAge of the configuration, or leaves out
	// nothing.
	MinAge time.Duration
}

// A Selected is the content of a Selection's files.
type Selected struct {
	Config   *imageset.Config           // nil without a configuration
	Text     []byte                     // the one that Config was read from; nil if a program made it
	Clusters []installed.Operator       // of the files of Installed
	Releases []installed.ClusterVersion // of the files of Installed
	// Conditions are what keeps these operators and releases from being updated.
	Conditions []installed.Condition

	// Recorded is what an earlier run recorded of clusters, of the kinds that are not in the files of Installed.
	Recorded state.Clusters
}

// CheckPath is the hint for a file that does not exist.
const CheckPath = "check the path, which is relative to the working directory"

// InFile reports whether the configuration is a file, which a workspace can compare with others of its name.
func (s *Selection) InFile() bool { return s.Text == nil && s.Value == nil }

// Any reports whether options are set that require a configuration.
func (s *Selection) Any() bool {
	return len(s.Installed) > 0 || s.Dependencies || s.CompleteRelatedImages || s.PlatformsMode != "" || s.Format() != "" || s.MinAge != 0
}

// ErrNoSelection is the error of options that require a configuration.
func ErrNoSelection() error {
	return env.InputHint("set Options.Config; a plan already contains them", "Options.Installed, Options.Dependencies, Options.CompleteRelatedImages, Options.PlatformsMode, Options.DestFormat and Options.MinAge are for a configuration")
}

// Load reads the configuration and the files of Installed. Without a configuration, it reads those
// files alone. Text of the configuration that cannot be used is an error.
func (s *Selection) Load() (*Selected, error) {
	out := &Selected{}
	switch s.PlatformsMode {
	case "", imageset.PlatformsSparse, imageset.PlatformsRewrite:
	default:
		return nil, env.Inputf("Options.PlatformsMode is %q, neither %s nor %s", s.PlatformsMode, imageset.PlatformsSparse, imageset.PlatformsRewrite)
	}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	if _, err := s.minAge(); err != nil {
		return nil, err
	}
	if s.Config != "" {
		var err error
		out.Config, out.Text, err = s.parse()
		if err == nil {
			err = out.Config.Usable()
		}
		var absent *fs.PathError
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && errors.As(err, &absent):
			return nil, advice.Wrap(advice.Input, fmt.Errorf("reading the configuration: %w", absent), CheckPath)
		default:
			return nil, advice.Wrap(advice.Input, err, "")
		}
		if s.PlatformsMode != "" && !out.Config.Mirror.SetPlatformsMode(s.PlatformsMode) {
			return nil, env.InputHint("add platforms to an entry; releases keep the digests of their images, so select their architectures instead",
				"Options.PlatformsMode has no effect: no catalog, additional image or chart of %s selects platforms", s.Config)
		}
		for i := range out.Config.Mirror.Operators {
			op := &out.Config.Mirror.Operators[i]
			op.Dependencies = op.Dependencies || s.Dependencies
			if s.CompleteRelatedImages {
				op.RelatedImages = imageset.RelatedImagesComplete
			}
		}
	}
	for _, name := range s.Installed {
		c, err := readInstalled(name)
		if err != nil {
			return nil, env.Inputf("Options.Installed: %w", err)
		}
		out.Clusters, out.Releases = append(out.Clusters, c.Operators...), append(out.Releases, c.Versions...)
		out.Conditions = append(out.Conditions, c.Conditions...)
	}
	out.Clusters = installed.Merge(out.Clusters)
	return out, nil
}

// parse reads the configuration, from Value, Text or its file, and returns its text.
func (s *Selection) parse() (c *imageset.Config, text []byte, err error) {
	if s.Value != nil {
		c, err = s.Value.Checked(s.Config)
		return c, nil, err
	}
	if text = s.Text; text == nil {
		if text, err = imageset.ReadFile(s.Config); err != nil {
			return nil, nil, err
		}
	}
	c, err = imageset.Parse(s.Config, text)
	return c, text, err
}

// LoadConfig is Load, but requires a configuration, whose warnings it reports.
func (s *Selection) LoadConfig(e *env.Env) (*Selected, error) {
	if s.Config == "" {
		return nil, env.InputHint("set Options.Config to an ImageSetConfiguration", "no configuration")
	}
	out, err := s.Load()
	if err != nil {
		return nil, err
	}
	WarnConfig(e, out.Config)
	// Releases of clusters, and nothing else, need channels to plan updates in, or a template of a
	// CatalogSource that may depend on them.
	templated := slices.ContainsFunc(out.Config.Mirror.Operators, func(op imageset.Operator) bool { return op.TargetCatalogSourceTemplate != "" })
	if len(out.Releases) > 0 && len(out.Clusters) == 0 && !templated {
		if p := out.Config.Mirror.Platform; p == nil || len(p.Channels) == 0 {
			return nil, env.InputHint("add the channels that clusters follow to mirror.platform, or add the output of oc get csv -A -o json to Options.Installed",
				"Options.Installed has only the releases of clusters, and the configuration has no release channel")
		}
	}
	return out, nil
}

func readInstalled(name string) (c *installed.Cluster, err error) {
	f, err := regular.OpenInput(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return installed.Read(name, f)
}

// Running returns the releases that clusters run, for a plan.
func (s *Selected) Running() []build.Cluster {
	var all []build.Cluster
	for _, r := range s.Releases {
		cl := build.Cluster{Version: r.Version, Channel: r.Channel, Where: r.Origin}
		if r.Multi {
			cl.Arch = release.Multi
		}
		all = append(all, cl)
	}
	return all
}

// maxName limits a name, in characters: the names of files contain it.
const maxName = 100

// CheckName returns an error if a name cannot be part of file names.
func CheckName(name string) error {
	if name != "" && (env.SafeName(name) != name || len(name) > maxName) {
		return env.InputHint(fmt.Sprintf("use up to %d letters, digits, dots, dashes and underscores, a letter or digit first", maxName), "Options.Name %q", name)
	}
	return nil
}

// PlanName returns the name of a configuration: the given one, or the name of its file without folder
// and extension.
func PlanName(name, config string) string {
	if name != "" {
		return name
	}
	base := filepath.Base(config)
	return env.SafeName(strings.TrimSuffix(base, filepath.Ext(base)))
}

// Rename returns a plan with another name. An empty name changes nothing.
func Rename(p *plan.Plan, name string) *plan.Plan {
	if name == "" || p == nil {
		return p
	}
	named := *p
	named.Name = name
	return &named
}

const day = 24 * time.Hour

// ParseMinAge reads a Selection.MinAge: "3d", "2w" or "72h".
func ParseMinAge(text string) (time.Duration, error) {
	days, err := tagrule.Days(text)
	return time.Duration(days) * day, err
}

// minAge returns MinAge in days.
func (s *Selection) minAge() (int, error) {
	if s.MinAge < 0 || s.MinAge%day != 0 {
		return 0, env.Inputf("Options.MinAge: %s is not an age in whole days", s.MinAge)
	}
	return int(s.MinAge / day), nil
}

// MinAgeOf returns MinAge in days, or else the one of a configuration.
func (s *Selection) MinAgeOf(cfg *imageset.Config) (int, error) {
	if s.MinAge != 0 || cfg.Mirror.MinAge == "" {
		return s.minAge()
	}
	return tagrule.Days(cfg.Mirror.MinAge)
}
