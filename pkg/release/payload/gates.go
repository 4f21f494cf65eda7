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

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/layers"
)

// The ConfigMap of gates, and where the operator's own manifests are.
const (
	gatesNamespace = "openshift-config-managed"
	gatesName      = "admin-gates"
	operatorDir    = "manifests/"
)

// gateName is the rule for names of gates (cluster-version-operator, adminack).
var gateName = regexp.MustCompile(`^ack-([0-9]+[.][0-9]+)-[^-]`)

// A Gate is something that an administrator has to acknowledge before a cluster
// with this release updates to the next minor version.
type Gate struct {
	// Name is the key that has to be "true" in ConfigMap admin-acks:
	// "ack-4.20-sigstore-in-4.21".
	Name string
	// Minor is the minor version of clusters that the gate holds back, "4.20".
	Minor string
	// Message says what is to be done first.
	Message string
}

// Gates reads the gates of a release that Read read from src, sorted by name.
// They are among the operator's own manifests, below the layer with the release's:
// mostly one layer more, of some 30 MB.
func (p *Payload) Gates(ctx context.Context, src Source) ([]Gate, error) {
	gates, err := reader{src, p.source}.gates(ctx, p.lower)
	if err != nil {
		return nil, fmt.Errorf("reading the gates of release %s from %s: %w", p.Version, named(p.source, p.Digest), err)
	}
	return gates, nil
}

// gates reads layers from the top down until one has the ConfigMap. The layers
// with manifests follow one another, so that the end of them is the end.
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
			slices.SortFunc(gates, func(a, b Gate) int { return cmp.Compare(a.Name, b.Name) })
			return gates, nil
		}
		before = manifests
	}
	return nil, nil
}

// parseGates reads the gates of a manifest; has says that the ConfigMap is there.
func parseGates(text []byte) (gates []Gate, has bool, err error) {
	err = eachObject(text, func(o object, text []byte) error {
		if !o.isConfigMap(gatesNamespace, gatesName) {
			return nil
		}
		if has {
			return errors.New("the ConfigMap is there twice")
		}
		has = true
		var c configMap
		if err := yaml.Unmarshal(text, &c); err != nil {
			return err
		}
		for name, message := range c.Data {
			m := gateName.FindStringSubmatch(name)
			if m == nil {
				return fmt.Errorf("the gate %.200q names no version", name)
			}
			gates = append(gates, Gate{Name: name, Minor: m[1], Message: message})
		}
		return nil
	})
	return gates, has, err
}
