package mirror

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// A Destination is the registry that a mirror lies in, and where in it.
type Destination struct {
	Host   string // "mirror.example.com:5000"
	Prefix string // path that every repository gets in front; may be empty
	// MaxNestedPaths, where above 0, is how many path components a repository
	// may have, the prefix included. The rest is joined with dashes, as oc
	// mirror does: with 2, "a/b/c/d" is "a/b-c-d".
	MaxNestedPaths int
}

// dockerScheme begins a destination that is a registry.
const dockerScheme = "docker://"

// ParseDestination reads "docker://host[:port][/prefix]".
func ParseDestination(s string, maxNestedPaths int) (Destination, error) {
	rest, ok := strings.CutPrefix(s, dockerScheme)
	if !ok {
		return Destination{}, fmt.Errorf("destination %q does not begin with %s", s, dockerScheme)
	}
	host, prefix, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if maxNestedPaths < 0 {
		return Destination{}, fmt.Errorf("--max-nested-paths is %d: give 0 for no limit or a number above it", maxNestedPaths)
	}
	if host == "" {
		return Destination{}, fmt.Errorf("destination %q names no registry: write docker://host[:port][/prefix]", s)
	}
	if _, name, ok := strings.Cut(host, "@"); ok {
		// Not repeated: it is likely to be a password.
		return Destination{}, fmt.Errorf("destination %s%s: no credentials are given here: log in with `gantry login %s`, or name a file with --dest-authfile", dockerScheme, name, name)
	}
	// The host is taken literally: "docker://mirror" is a registry, not a
	// repository of Docker Hub.
	ref, err := reference.Parse(host + "/" + strings.TrimPrefix(prefix+"/x", "/"))
	if err != nil {
		return Destination{}, fmt.Errorf("destination %q: %w", s, err)
	}
	if _, port, ok := strings.Cut(ref.Host, ":"); ok && !strings.HasPrefix(ref.Host, "[") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return Destination{}, fmt.Errorf("destination %q: %s is no port: give a number from 1 to 65535", s, port)
		}
	}
	if ref.Host != host {
		return Destination{}, fmt.Errorf("destination %q: write the registry with its domain or port, such as %s:5000 or localhost", s, host)
	}
	if ref.Tag != "" || ref.Digest != "" {
		return Destination{}, fmt.Errorf("destination %q: it is a place for many images and takes no tag or digest", s)
	}
	if n := strings.Count(prefix, "/") + 1; prefix != "" && 0 < maxNestedPaths && maxNestedPaths <= n {
		return Destination{}, fmt.Errorf("destination %q has %d path components and --max-nested-paths allows %d: no room is left for a repository", s, n, maxNestedPaths)
	}
	return Destination{Host: host, Prefix: prefix, MaxNestedPaths: maxNestedPaths}, nil
}

// String is the destination as ParseDestination reads it.
func (d Destination) String() string {
	return dockerScheme + strings.TrimSuffix(d.Host+"/"+d.Prefix, "/")
}

// Names gives every repository of the plan its name at the destination. Where
// the limit on nesting makes two of them the same, those that were shortened
// get a hash of their full path.
func (d Destination) Names(p *plan.Plan) (map[string]reference.Reference, error) {
	names := map[string]reference.Reference{}
	taken := map[string][]string{}
	for _, img := range p.Images {
		repository := img.Repository
		if _, ok := names[repository]; ok {
			continue
		}
		names[repository] = reference.Reference{Host: d.Host, Path: d.path(repository)}
		taken[names[repository].Path] = append(taken[names[repository].Path], repository)
	}
	for path, repositories := range taken {
		slices.Sort(repositories)
		for _, repository := range repositories {
			if len(repositories) > 1 && d.full(repository) != path {
				names[repository] = reference.Reference{Host: d.Host, Path: path + "-" + reference.ShortHash(repository)}
			}
		}
	}
	for repository, ref := range names {
		if len(ref.Path) > 255 {
			return nil, fmt.Errorf("repository %s has %d letters at %s, and registries take 255: choose a shorter prefix", repository, len(ref.Path), d)
		}
	}
	return names, nil
}

// Name is what a repository of any plan is called at the destination, unless the
// limit on nesting made it the same as another of its plan.
func (d Destination) Name(repository string) reference.Reference {
	return reference.Reference{Host: d.Host, Path: d.path(repository)}
}

func (d Destination) full(repository string) string {
	return strings.TrimPrefix(d.Prefix+"/"+repository, "/")
}

func (d Destination) path(repository string) string {
	path := d.full(repository)
	parts := strings.Split(path, "/")
	if n := d.MaxNestedPaths; n > 0 && len(parts) > n {
		return strings.Join(append(parts[:n-1:n-1], strings.Join(parts[n-1:], "-")), "/")
	}
	return path
}
