package resources

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// What the machine-config operator does to nodes when manifests are applied. It never reboots them for
// mirrors or policies.
const (
	// NodesUnaffected means that no file of the nodes changes.
	NodesUnaffected = "unaffected"
	// NodesReload means that CRI-O reads its configuration again.
	NodesReload = "reload"
	// NodesDrain means that nodes are drained one after another before CRI-O reads its configuration.
	NodesDrain = "drain"
)

// NodeEffect is what applying manifests does to the nodes of OpenShift.
type NodeEffect struct {
	// Effect is NodesUnaffected, NodesReload or NodesDrain.
	Effect string `json:"effect"`
	// Reason is a clause about the first source that makes nodes drain.
	Reason string `json:"reason,omitempty"`
}

// A nodeSource is an entry of registries.conf as the machine-config operator writes it.
type nodeSource struct {
	mirrors []nodeMirror
	blocked bool
}

type nodeMirror struct {
	location   string
	digestOnly bool // or tags only
}

// A nodeRule is one source of a mirror set.
type nodeRule struct {
	Source, MirrorSourcePolicy string
	Mirrors                    []string
}

// Nodes returns what applying the manifests after, and deleting objects that they no longer have, does to
// the nodes of clusters that have those before. The rules are those of the machine-config operator: it
// does not drain for a new source or a new mirror that serves digests alone. Changed policies for
// signatures never drain.
//
// https://github.com/openshift/machine-config-operator/blob/main/pkg/daemon/drain.go
// (isSafeContainerRegistryConfChanges), update.go (calculatePostConfigChangeActionFromMCDiffs)
func Nodes(before, after []File) NodeEffect {
	was, oldPolicies := nodeConfig(before)
	now, newPolicies := nodeConfig(after)
	changed := len(was) != len(now)
	for source, s := range now {
		old, known := was[source]
		changed = changed || !known || old.blocked != s.blocked || !slices.Equal(old.mirrors, s.mirrors)
	}
	for _, source := range sortedKeys(was) {
		if now[source] == nil {
			return NodeEffect{NodesDrain, source + " has no mirrors now"}
		}
	}
	for _, source := range sortedKeys(now) {
		if reason := drains(source, was[source], now[source]); reason != "" {
			return NodeEffect{NodesDrain, reason}
		}
	}
	if changed || !slices.Equal(oldPolicies, newPolicies) {
		return NodeEffect{Effect: NodesReload}
	}
	return NodeEffect{Effect: NodesUnaffected}
}

// drains returns why a changed source makes nodes drain, or "" if it does not. old is nil for a new one.
func drains(source string, old, now *nodeSource) string {
	if old == nil {
		for _, m := range now.mirrors {
			if !m.digestOnly {
				return source + " has mirrors for tags now"
			}
		}
		return ""
	}
	if old.blocked != now.blocked {
		return fmt.Sprintf("the policy of %s changes", source)
	}
	find := func(location string, all []nodeMirror) *nodeMirror {
		i := slices.IndexFunc(all, func(m nodeMirror) bool { return m.location == location })
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	for _, m := range old.mirrors {
		if find(m.location, now.mirrors) == nil {
			return fmt.Sprintf("%s has no mirror %s now", source, m.location)
		}
	}
	if slices.Equal(old.mirrors, now.mirrors) {
		return ""
	}
	for _, m := range now.mirrors {
		// The operator compares with the first entry of a location, which is the one for digests.
		same := find(m.location, old.mirrors)
		if !m.digestOnly && (same == nil || same.digestOnly) {
			return fmt.Sprintf("%s has mirrors for tags, and its mirrors change", source)
		}
	}
	return ""
}

// nodeConfig returns the sources of mirror sets by name, and the text of policies for signatures.
func nodeConfig(files []File) (sources map[string]*nodeSource, policies []string) {
	sources = map[string]*nodeSource{}
	var all []object
	for _, f := range files {
		more, err := readObjects(f)
		if err != nil {
			continue // the user changed it
		}
		all = append(all, more...)
	}
	elements.Sort(all, func(a, b object) int { return compareNames(a.name, b.name) }) // digests before tags
	seen := map[ObjectName]bool{}
	for _, o := range all {
		if seen[o.name] {
			continue
		}
		seen[o.name] = true
		var set struct {
			Spec struct{ ImageDigestMirrors, ImageTagMirrors, RepositoryDigestMirrors []nodeRule }
		}
		switch {
		case o.name.Kind == "ClusterImagePolicy", o.name.Kind == "ImagePolicy":
			policies = append(policies, string(o.text))
			continue
		case !strings.HasSuffix(o.name.Kind, "MirrorSet") && o.name.Kind != "ImageContentSourcePolicy", json.Unmarshal(o.text, &set) != nil:
			continue
		}
		for i, rules := range [][]nodeRule{set.Spec.ImageDigestMirrors, set.Spec.RepositoryDigestMirrors, set.Spec.ImageTagMirrors} {
			for _, r := range rules {
				s := sources[r.Source]
				if s == nil {
					s = &nodeSource{}
					sources[r.Source] = s
				}
				s.blocked = s.blocked || r.MirrorSourcePolicy == neverContactSource
				for _, location := range r.Mirrors {
					if m := (nodeMirror{location, i < 2}); !slices.Contains(s.mirrors, m) {
						s.mirrors = append(s.mirrors, m)
					}
				}
			}
		}
	}
	return sources, policies
}
