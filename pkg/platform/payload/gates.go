package payload

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

// The ConfigMap of gates, and the directory of the operator's own manifests.
const (
	gatesNamespace = "openshift-config-managed"
	gatesName      = "admin-gates"
	operatorDir    = "manifests/"
)

// gateName is the format of gate names (cluster-version-operator, adminack).
var gateName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ack-([0-9]+[.][0-9]+)-[^-]`) })

// A Gate is something that an administrator has to acknowledge before a cluster with this release
// can update to the next minor version.
type Gate struct {
	// Name is the key that has to be "true" in ConfigMap admin-acks: "ack-4.20-sigstore-in-4.21".
	Name string
	// Minor is the minor version of the clusters that the gate blocks, "4.20".
	Minor string
	// Message explains what has to be done first.
	Message string
}

// Gates returns the gates of a release that Read read from src, sorted by name. They are in the
// operator's own manifests, below the layer with the release manifests: usually one more layer, of
// about 30 MB.
func (p *Payload) Gates(ctx context.Context, src image.Reader) ([]Gate, error) {
	gates, err := reader{src, p.source}.gates(ctx, p.lower)
	if err != nil {
		return nil, fmt.Errorf("reading the gates of release %s from %s: %w", p.Version, named(p.source, p.Digest), err)
	}
	return gates, nil
}

// gates reads layers from the top down until one has the ConfigMap. The layers with manifests are
// adjacent, so reading ends after the last of them.
func (r reader) gates(ctx context.Context, below []layer) ([]Gate, error) {
	left := layers.NewBudget(layers.MaxUnpacked)
	before := false
	for _, l := range slices.Backward(below) {
		var gates []Gate
		found, manifests := false, false
		err := r.layer(ctx, l, left, func(h *tar.Header, r io.Reader) error {
			dir, base := path.Split(h.Name)
			if dir != operatorDir || h.Typeflag != tar.TypeReg || !isManifest(base) {
				return nil
			}
			manifests = true
			text, err := limited(left.Limit(r), maxFile)
			if err != nil || !bytes.Contains(text, []byte(gatesName)) {
				return err
			}
			more, has, err := parseGates(text)
			gates, found = append(gates, more...), found || has
			return err
		})
		if err != nil {
			return nil, err
		}
		if found || before && !manifests {
			elements.Sort(gates, func(a, b Gate) int { return cmp.Compare(a.Name, b.Name) })
			return gates, nil
		}
		before = manifests
	}
	return nil, nil
}

// parseGates returns the gates of a manifest, and whether it contains the ConfigMap.
func parseGates(text []byte) (gates []Gate, has bool, err error) {
	err = eachObject(text, func(o object, text []byte) error {
		if !o.isConfigMap(gatesNamespace, gatesName) {
			return nil
		}
		if has {
			return errors.New("the ConfigMap occurs twice")
		}
		has = true
		var c configMap
		if err := yaml.Unmarshal(text, &c); err != nil {
			return err
		}
		for name, message := range c.Data {
			m := gateName().FindStringSubmatch(name)
			if m == nil {
				return fmt.Errorf("the name of gate %.200q contains no version", name)
			}
			gates = append(gates, Gate{Name: name, Minor: m[1], Message: message})
		}
		return nil
	})
	return gates, has, err
}
