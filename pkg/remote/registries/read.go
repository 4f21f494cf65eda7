package registries

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The values of pull-from-mirror; "" and "all" mean both tags and digests.
const (
	digestsOnly = "digest-only"
	tagsOnly    = "tag-only"
)

// A file is registries.conf, format 2 (containers-registries.conf(5)).
type file struct {
	Registries []entry `toml:"registry"`

	// Known but not used: Gantry does not complete short names.
	Search        []string          `toml:"unqualified-search-registries"`
	Helpers       []string          `toml:"credential-helpers"`
	ShortNameMode string            `toml:"short-name-mode"`
	Aliases       map[string]string `toml:"aliases"`
	LayerHelper   string            `toml:"additional-layer-store-auth-helper"`

	V1 *v1 `toml:"registries"`
}

type v1 struct {
	Search, Insecure, Block map[string]any
}

// An entry is one [[registry]] table.
type entry struct {
	Prefix             string   `toml:"prefix"`
	Location           string   `toml:"location"`
	Insecure           bool     `toml:"insecure"`
	Blocked            bool     `toml:"blocked"`
	MirrorByDigestOnly bool     `toml:"mirror-by-digest-only"`
	PullFrom           string   `toml:"pull-from-mirror"` // an error: it belongs to a mirror
	Mirrors            []mirror `toml:"mirror"`

	file string
}

type mirror struct {
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure"`
	PullFrom string `toml:"pull-from-mirror"`
}

// read parses one file called name. unknown lists unknown keys with their lines; like in podman,
// they are not errors, because files are shared with programs of other versions.
func read(name string, data []byte) (entries []entry, unknown []string, err error) {
	var f file
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	err = dec.Decode(&f)
	var strict *toml.StrictMissingError
	var syntax *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		for _, e := range strict.Errors {
			row, _ := e.Position()
			unknown = append(unknown, fmt.Sprintf("line %d: %s%s", row, strings.Join(e.Key(), "."), didYouMean(e.Key())))
		}
	case errors.As(err, &syntax):
		row, _ := syntax.Position()
		return nil, nil, fmt.Errorf("%s:%d: %w", name, row, syntax)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if f.V1 != nil {
		return nil, nil, fmt.Errorf("%s: the file is in format 1 ([registries.search], [registries.insecure], [registries.block]), which is not supported: write one [[registry]] table for each registry (containers-registries.conf(5))", name)
	}
	for i := range f.Registries {
		e := &f.Registries[i]
		if err := e.check(); err != nil {
			return nil, nil, fmt.Errorf("%s: [[registry]] number %d: %w", name, i+1, err)
		}
		e.file = name
		if at := slices.IndexFunc(entries, e.samePrefix); at < 0 {
			entries = append(entries, *e)
		} else if !reflect.DeepEqual(entries[at], *e) {
			return nil, nil, fmt.Errorf("%s: the prefix %q has two [[registry]] tables that differ: keep one", name, e.Prefix)
		}
	}
	return entries, unknown, nil
}

func (e *entry) samePrefix(other entry) bool { return e.Prefix == other.Prefix }

func didYouMean(key toml.Key) string {
	if len(key) < 2 || key[0] != "registry" {
		return ""
	}
	known := []string{"prefix", "location", "insecure", "blocked", "mirror", "mirror-by-digest-only", "pull-from-mirror"}
	if q := suggest.Phrase(key[len(key)-1], known); q != "" {
		return ": " + q
	}
	return ""
}

// check validates an entry and sets its prefix if it has none.
func (e *entry) check() error {
	e.Prefix, e.Location = strings.TrimRight(e.Prefix, "/"), strings.TrimRight(e.Location, "/")
	e.Prefix = cmp.Or(e.Prefix, e.Location)
	if rest, ok := strings.CutPrefix(e.Prefix, "index.docker.io"); ok {
		e.Prefix = "docker.io" + rest // as references are written out
	}
	if e.Prefix == "" {
		return errors.New("it has neither prefix nor location")
	}
	if err := checkPrefix(e.Prefix); err != nil {
		return err
	}
	if e.Location == "" && !e.wildcard() {
		return fmt.Errorf("the prefix %q has no location; only a prefix such as \"*.example.com\" needs none", e.Prefix)
	}
	if e.Location != "" {
		if err := checkLocation(e.Location); err != nil {
			return fmt.Errorf("location %q: %w", e.Location, err)
		}
	}
	if e.PullFrom != "" {
		return fmt.Errorf("the entry %q has pull-from-mirror, which belongs in its [[registry.mirror]] tables", e.Prefix)
	}
	for i := range e.Mirrors {
		if err := e.Mirrors[i].check(e.MirrorByDigestOnly); err != nil {
			return fmt.Errorf("mirror %d of %q: %w", i+1, e.Prefix, err)
		}
	}
	return nil
}

func (m *mirror) check(digestOnly bool) error {
	m.Location = strings.TrimRight(m.Location, "/")
	if err := checkLocation(m.Location); err != nil {
		return fmt.Errorf("location %q: %w", m.Location, err)
	}
	switch m.PullFrom {
	case "", "all", digestsOnly, tagsOnly:
	default:
		return fmt.Errorf("pull-from-mirror is %q: write all, digest-only or tag-only", m.PullFrom)
	}
	if m.PullFrom != "" && digestOnly {
		return errors.New("pull-from-mirror and the entry's mirror-by-digest-only exclude each other: keep one")
	}
	return nil
}

func checkPrefix(prefix string) error {
	if host, ok := strings.CutPrefix(prefix, "*."); ok {
		if host == "" || strings.ContainsAny(host, "*/:@") {
			return fmt.Errorf("prefix %q: a wildcard is only allowed before a host name: \"*.example.com\"", prefix)
		}
		return nil
	}
	if err := checkLocation(prefix); err != nil {
		return fmt.Errorf("prefix %q: %w", prefix, err)
	}
	return nil
}

// checkLocation checks host[:port][/path].
func checkLocation(location string) error {
	switch {
	case location == "":
		return errors.New("it is empty")
	case strings.Contains(location, "://"):
		return errors.New("remove http:// or https://")
	case strings.Contains(location, "*"):
		return errors.New("a wildcard is only allowed at the beginning of a prefix")
	}
	// A host alone is not a reference; with a name after it, it must be one.
	ref, err := reference.Parse(location + "/x/x")
	if err != nil || ref.Name() != location+"/x/x" {
		return errors.New("write HOST[:PORT][/PATH] in lower case, where HOST has a dot, a port or is localhost")
	}
	return nil
}
