package mirror

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
)

// A RegistryPath is a registry and a path in it: where a mirror is, as users write it
// ("docker://mirror.example.com:5000/prefix").
type RegistryPath struct {
	Host   string // "mirror.example.com:5000"
	Prefix string // path before every repository; may be empty
	// MaxNestedPaths, if above 0, is how many path components a repository may have, including
	// the prefix. The rest is joined with dashes, as oc mirror does: with 2, "a/b/c/d" is
	// "a/b-c-d".
	MaxNestedPaths int
}

// dockerScheme begins a destination that is a registry.
const dockerScheme = "docker://"

// ParseRegistryPath reads "docker://host[:port][/prefix]". Its errors are of kind advice.Input.
func ParseRegistryPath(s string, maxNestedPaths int) (RegistryPath, error) {
	invalid := func(hint, format string, args ...any) (RegistryPath, error) {
		return RegistryPath{}, advice.New(advice.Input, hint, format, args...)
	}
	if shown := redact.Address(s); shown != s {
		login := "gantry registry login"
		if _, host, ok := strings.Cut(shown, "@"); ok {
			host, _, _ = strings.Cut(host, "/")
			login = strings.TrimSpace(login + " " + host)
		}
		return invalid(fmt.Sprintf("remove them; run %s, or set Options.Destination.AuthFile", login), "destination %s must not contain credentials or a query", shown)
	}
	rest, ok := strings.CutPrefix(s, dockerScheme)
	if !ok {
		return invalid("write docker://HOST[:PORT][/PREFIX]", "destination %q does not begin with %s", s, dockerScheme)
	}
	host, prefix, _ := strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if maxNestedPaths < 0 {
		return invalid("set Options.MaxNestedPaths to 0 for no limit, or to a number above it", "the limit of nested paths is %d", maxNestedPaths)
	}
	if host == "" {
		return invalid("write docker://HOST[:PORT][/PREFIX]", "destination %q has no registry", s)
	}
	if lower := strings.ToLower(prefix); lower != prefix {
		return invalid("write "+dockerScheme+host+"/"+lower, "destination %q: the path must be lowercase", s)
	}
	// The host is taken literally: "docker://mirror" is a registry, not a repository of Docker Hub.
	ref, err := reference.Parse(host + "/" + strings.TrimPrefix(prefix+"/x", "/"))
	if err != nil {
		return invalid("", "destination %q: %w", s, err)
	}
	if _, port, ok := strings.Cut(ref.Host, ":"); ok && !strings.HasPrefix(ref.Host, "[") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return invalid("use a number from 1 to 65535", "destination %q: invalid port %s", s, port)
		}
	}
	if ref.Host != host {
		return invalid(fmt.Sprintf("write the registry with its domain or port, such as %s:5000 or localhost", host), "destination %q has no registry", s)
	}
	if ref.Tag != "" || ref.Digest != "" {
		return invalid("remove it: every image gets its own", "destination %q has a tag or digest", s)
	}
	if n := strings.Count(prefix, "/") + 1; prefix != "" && 0 < maxNestedPaths && maxNestedPaths <= n {
		return invalid("use a shorter prefix or raise Options.MaxNestedPaths: repositories need at least one more component", "destination %q has %d path components and the limit is %d", s, n, maxNestedPaths)
	}
	return RegistryPath{Host: host, Prefix: prefix, MaxNestedPaths: maxNestedPaths}, nil
}

// String returns the path as ParseRegistryPath reads it.
func (d RegistryPath) String() string {
	return dockerScheme + strings.TrimSuffix(d.Host+"/"+d.Prefix, "/")
}

// Repositories returns the repository in the registry for every repository path of the plan. If the
// limit of nested paths makes two of them equal, a hash of the full path is appended to those that
// were shortened.
func (d RegistryPath) Repositories(p *plan.Plan) (map[string]reference.Reference, error) {
	targets := map[string]reference.Reference{}
	paths := map[string][]string{} // the repositories of the plan, by their path in the registry
	for _, img := range p.Images {
		repository := img.Repository
		if _, ok := targets[repository]; ok {
			continue
		}
		targets[repository] = reference.Reference{Host: d.Host, Path: d.path(repository)}
		paths[targets[repository].Path] = append(paths[targets[repository].Path], repository)
	}
	for path, repositories := range paths {
		slices.Sort(repositories)
		for _, repository := range repositories {
			if len(repositories) > 1 && d.full(repository) != path {
				targets[repository] = reference.Reference{Host: d.Host, Path: path + "-" + reference.ShortHash(repository)}
			}
		}
	}
	for repository, ref := range targets {
		if len(ref.Path) > 255 {
			return nil, advice.New(advice.Failure, "use a shorter prefix", "the path of repository %s at %s has %d characters, and registries allow 255", repository, d, len(ref.Path))
		}
	}
	return targets, nil
}

// Repository returns the repository in the registry for a repository path of any plan, unless the
// limit of nested paths makes it equal to another one of that plan.
func (d RegistryPath) Repository(path string) reference.Reference {
	return reference.Reference{Host: d.Host, Path: d.path(path)}
}

// OwnRepository returns a repository that Gantry has in the mirror for itself, such as "lease": PREFIX/gantry-NAME,
// or gantry/NAME without a prefix, since some registries require two path components. The limit of nested paths
// does not change it, so runs with different limits have it in common. Only without a prefix and with a limit of
// 1 it is gantry-NAME.
func (d RegistryPath) OwnRepository(name string) reference.Reference {
	if d.Prefix == "" && d.MaxNestedPaths != 1 {
		return reference.Reference{Host: d.Host, Path: "gantry/" + name}
	}
	return reference.Reference{Host: d.Host, Path: d.full("gantry-" + name)}
}

// full returns the path with the prefix, before the limit of nested paths applies.
func (d RegistryPath) full(repository string) string {
	return strings.TrimPrefix(d.Prefix+"/"+repository, "/")
}

// path returns the path in the registry.
func (d RegistryPath) path(repository string) string {
	path := d.full(repository)
	parts := strings.Split(path, "/")
	if n := d.MaxNestedPaths; n > 0 && len(parts) > n {
		return strings.Join(append(parts[:n-1:n-1], strings.Join(parts[n-1:], "-")), "/")
	}
	return path
}
