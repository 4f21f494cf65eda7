package imageset

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/blang/semver/v4"
	"go.yaml.in/yaml/v3"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// The fields of oc mirror v1, mirror.openshift.io/v1alpha1 and v1alpha2, that have another meaning or
// shape than fields of v2alpha1. Those that were only renamed are in the objects' renamed.

// former is a field that is read as others.
func former[T any](name string, read func(r *reader, n *yaml.Node, path string, into *T)) field[T] {
	return field[T]{name: name, read: read, write: func(*T) []byte { return nil }}
}

// formerOperatorFields are those of an entry of mirror.operators.
func formerOperatorFields() []field[Operator] {
	return []field[Operator]{
		// Read by readTargetName, which needs the other fields.
		former("targetName", func(r *reader, n *yaml.Node, path string, _ *Operator) {
			grammar{}.read(r, n, path)
		}),
		// In v1, the catalog's reference before it was copied to a layout.
		ignored[Operator]("originalRef", "an OCI layout is mirrored under the name of its folder, or under targetCatalog"),
		ignored[Operator]("skipDependencies", "the operators that others need are added only with `dependencies: true`"),
		former("headsOnly", func(r *reader, n *yaml.Node, path string, _ *Operator) {
			if n = resolve(n); n.ShortTag() != "!!bool" {
				r.fault(path, "found "+describe(n)+", expected true or false", "")
			}
		}),
	}
}

// readTargetName reads targetName as the last element of targetCatalog, below the namespace of the
// source. targetCatalog takes precedence, as in v1.
func readTargetName(r *reader, at string, o *Operator) {
	p, ok := r.at[join(at, "targetName")]
	if !ok || isNull(p.value) {
		return
	}
	at, value := join(at, "targetName"), resolve(p.value)
	if o.TargetCatalog != "" {
		r.warn(at, "has no effect: targetCatalog is set", r.drop(at))
		return
	}
	target := strings.TrimSpace(value.Value)
	if ref, err := reference.Parse(o.Catalog); err == nil && !strings.Contains(o.Catalog, "://") {
		target = path.Join(path.Dir(ref.Path), target)
	}
	if !reference.IsPath(target) {
		if value.Kind == yaml.ScalarNode && len(r.problems) == 0 {
			r.fault(at, quote(value.Value)+" is not a name", "write lower case letters and digits, separated by . _ or -")
		}
		return
	}
	o.TargetCatalog = target
	r.warn(at, fmt.Sprintf("is a field of oc mirror v1 and is read as `targetCatalog: %s`", target), fixAll(rename(p.key, "targetCatalog"), setText(value, target)))
}

// readHeadsOnly reads headsOnly as the opposite of full, which takes precedence.
func readHeadsOnly(r *reader, path string, o *Operator) {
	at := join(path, "headsOnly")
	p, ok := r.at[at]
	if !ok || isNull(p.value) {
		return
	}
	heads, _ := truth(resolve(p.value))
	_, full := r.at[join(path, "full")]
	switch {
	case full:
		r.warn(at, "has no effect: full is set", r.drop(at))
	case heads:
		r.warn(at, "has no effect: the heads of channels are the default", r.drop(at))
	default:
		o.Full = true
		r.at[join(path, "full")] = p // for readFull
		r.warn(at, "is a field of oc mirror v1; `headsOnly: false` is read as `full: true`", fixAll(rename(p.key, "full"), setPlain(resolve(p.value), "!!bool", "true")))
	}
}

// formerRangeFields are minBundle and, in v1alpha1, startingBundle of a package or channel: the lowest
// bundle of the range.
func formerRangeFields[T any](get func(*T) *Range) []field[T] {
	read := func(r *reader, n *yaml.Node, path string, into *T) {
		bundle := name().read(r, n, path)
		v := versionOf(bundle)
		switch to := get(into); {
		case bundle == "":
		case v == "":
			r.fault(path, quote(bundle)+" does not end with a version, so the lowest version is unknown", "write minVersion with the version of this bundle")
		default:
			to.Min = v
			r.warn(path, fmt.Sprintf("the bundle %s is read as `minVersion: %s`", quote(bundle), v), fixAll(rename(r.at[path].key, "minVersion"), setText(resolve(n), v)))
		}
	}
	return []field[T]{former("minBundle", read), former("startingBundle", read)}
}

var bundleVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^.]+\.v([0-9]+\.[0-9]+\.[0-9]+.*)$`) })

// versionOf returns the version in the name of a bundle, such as foo.v1.2.3, or "".
func versionOf(bundle string) string {
	m := bundleVersion().FindStringSubmatch(bundle)
	if m == nil {
		return ""
	}
	if _, err := semver.Parse(m[1]); err != nil {
		return ""
	}
	return m[1]
}

// readVersions reads versions of a release channel (v1alpha1). Only a single version can be written
// as a range.
func readVersions(r *reader, n *yaml.Node, path string, c *ReleaseChannel) {
	n = resolve(n)
	var all []string
	r.entries(n, path, func(item *yaml.Node, at string) {
		if v := version().read(r, item, at); v != "" {
			all = append(all, v)
		}
	})
	switch {
	case len(all) == 1 && len(r.problems) == 0:
		c.Range = Range{all[0], all[0]}
		channel := strings.TrimSuffix(path, ".versions")
		r.warn(path, fmt.Sprintf("is a field of oc mirror v1 and is read as `minVersion: %s` and `maxVersion: %[1]s`", all[0]),
			fixAll(rename(r.at[path].key, "minVersion"), setText(n, all[0]), r.insert(channel, "minVersion", "maxVersion", all[0])))

	case len(all) > 0 && len(r.problems) == 0:
		r.fault(path, "several versions of oc mirror v1 have no equivalent", "write minVersion and maxVersion, or shortestPath between them")
	}
}
