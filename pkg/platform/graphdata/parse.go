package graphdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/platform/graph"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// supported is the highest version of the format that is supported. Servers also reject higher
// versions, and every other major version.
const supported = "1.2.0"

// maxErrors is the maximum number of files in an error.
const maxErrors = 20

// parse parses the files of graph data, by their paths.
func parse(files map[string][]byte) (*Data, error) {
	d := &Data{
		files:       files,
		memberships: map[string][]membership{},
		blocks:      map[string][]block{},
		metadata:    map[string]map[string]string{},
	}
	if err := d.parseVersion(); err != nil {
		return nil, fmt.Errorf("%s: %w", versionFile, err)
	}
	p := parser{Data: d, risks: map[string]int{}, channels: map[string]string{}}
	var errs []error
	for _, name := range d.paths() {
		if err := p.file(name, files[name]); err != nil {
			errs = append(errs, fmt.Errorf("%.200s: %w", name, err))
		}
	}
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more files", more))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(d.names) == 0 {
		return nil, fmt.Errorf("no channels (%s/*.yaml)", channelsDir)
	}
	elements.Sort(d.names, compareChannels)
	for _, m := range d.memberships {
		elements.Sort(m, func(a, b membership) int { return compareChannels(a.channel, b.channel) })
	}
	return d, nil
}

func (d *Data) parseVersion() error {
	d.Version = strings.TrimSpace(string(d.files[versionFile]))
	v, err := semver.Parse(d.Version)
	if err != nil {
		return fmt.Errorf("%.50q is not a semantic version: %w", d.Version, err)
	}
	if most := semver.MustParse(supported); v.Major != most.Major || v.GT(most) {
		return fmt.Errorf("graph data of version %s is not supported, only %d.0.0 to %s; use a newer version of Gantry", v, most.Major, most)
	}
	return nil
}

// A parser adds files to Data, sorted by their paths.
type parser struct {
	*Data
	risks    map[string]int    // by content
	channels map[string]string // the files of channels, by name
}

func (p *parser) file(name string, text []byte) error {
	switch path.Dir(name) {
	case channelsDir:
		return p.channel(name, text)
	case blocksDir:
		return p.block(text)
	case path.Dir(metadataFile):
		return p.rawMetadata(text)
	}
	return nil
}

func (p *parser) channel(file string, text []byte) error {
	var c struct {
		Name     string   `yaml:"name"`
		Versions []string `yaml:"versions"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return plain(err)
	}
	if !release.IsChannel(c.Name) {
		return fmt.Errorf("name: %.100q is not a channel name; use a-z, 0-9, dashes and dots", c.Name)
	}
	if other, ok := p.channels[c.Name]; ok {
		return fmt.Errorf("name: channel %s is already defined in %s", c.Name, other)
	}
	p.channels[c.Name] = file
	p.names = append(p.names, c.Name)
	seen := make(map[string]bool, len(c.Versions))
	for _, s := range c.Versions {
		v, err := semver.Parse(s)
		if err != nil {
			return fmt.Errorf("versions: %.100q is not a semantic version: %w", s, err)
		}
		if seen[s] {
			continue
		}
		seen[s] = true
		p.memberships[bare(v)] = append(p.memberships[bare(v)], membership{arch: build(v), channel: c.Name})
	}
	return nil
}

// build returns the build metadata of a version, "" if it has none.
func build(v semver.Version) string { return strings.Join(v.Build, ".") }

// A blockFile is a file of blocked-edges. The members fixedIn and autoExtend are for the tools of
// its authors.
type blockFile struct {
	To      string `yaml:"to"`
	From    string `yaml:"from"`
	URL     string `yaml:"url"`
	Name    string `yaml:"name"`
	Message string `yaml:"message"`
	Rules   []struct {
		Type   string `yaml:"type"`
		PromQL struct {
			PromQL string `yaml:"promql"`
		} `yaml:"promql"`
	} `yaml:"matchingRules"`
}

func (p *parser) block(text []byte) error {
	var f blockFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		return plain(err)
	}
	to, err := semver.Parse(f.To)
	if err != nil {
		return fmt.Errorf("to: %.100q is not a semantic version: %w", f.To, err)
	}
	if f.From == "" {
		return errors.New("from: missing regular expression for the blocked releases")
	}
	from, err := regexp.Compile(f.From)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	risk, err := p.risk(f)
	if err != nil {
		return err
	}
	p.blocks[bare(to)] = append(p.blocks[bare(to)], block{arch: build(to), from: from, risk: risk})
	return nil
}

// risk returns the number of a file's risk, -1 if it blocks updates for all clusters.
func (p *parser) risk(f blockFile) (int, error) {
	var missing []string
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"url", f.URL != ""}, {"name", f.Name != ""}, {"message", f.Message != ""}, {"matchingRules", len(f.Rules) > 0},
	} {
		if !field.set {
			missing = append(missing, field.name)
		}
	}
	switch len(missing) {
	case 0:
	case 4:
		return -1, nil
	default:
		return 0, fmt.Errorf("a risk needs url, name, message and matchingRules; missing: %s", strings.Join(missing, ", "))
	}
	r := graph.Risk{Name: f.Name, Message: f.Message, URL: f.URL}
	for _, rule := range f.Rules {
		r.Rules = append(r.Rules, graph.Rule{Type: rule.Type, PromQL: rule.PromQL.PromQL})
	}
	key := fmt.Sprintf("%q", r)
	n, ok := p.risks[key]
	if !ok {
		n = len(p.Data.risks)
		p.risks[key] = n
		p.Data.risks = append(p.Data.risks, r)
	}
	return n, nil
}

// rawMetadata reads additional metadata of releases, by version. Architectures are ignored.
func (p *parser) rawMetadata(text []byte) error {
	var m map[string]map[string]string
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	for s, values := range m {
		v, err := semver.Parse(s)
		if err != nil {
			return fmt.Errorf("%.100q is not a semantic version: %w", s, err)
		}
		if _, ok := p.metadata[bare(v)]; ok {
			return fmt.Errorf("duplicate version %s", bare(v))
		}
		p.metadata[bare(v)] = values
	}
	return nil
}

// plain joins the errors of one YAML file on one line.
func plain(err error) error {
	if e := (*yaml.TypeError)(nil); errors.As(err, &e) {
		return errors.New(strings.Join(e.Errors, "; "))
	}
	return err
}
