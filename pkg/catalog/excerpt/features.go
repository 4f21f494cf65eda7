package excerpt

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// Features are the infrastructure features that a bundle declares, each list sorted: disconnected,
// proxy-aware, fips-compliant, token-auth-aws, token-auth-azure, token-auth-gcp, tls-profiles, cnf, cni,
// csi, and others of the same form.
type Features struct {
	Supported   []string `json:"supported,omitempty"`
	Unsupported []string `json:"unsupported,omitempty"`
}

// Disconnected is the feature of operators that run without access to the internet.
const Disconnected = "disconnected"

// The annotations of ClusterServiceVersions that declare features
// (https://docs.redhat.com/en/documentation/openshift_container_platform/4.18/html/operators/developing-operators#osdk-csv-annotations-infra_osdk-generating-csvs).
// The older one is a list of what is supported.
const (
	featurePrefix  = "features.operators.openshift.io/"
	legacyFeatures = "operators.openshift.io/infrastructure-features"
)

// DeclaredFeatures returns the features that a bundle declares. Values other than true and false are
// ignored, as in OpenShift's console. It returns an error if a property cannot be parsed.
func DeclaredFeatures(b *catalog.Bundle) (Features, error) {
	annotations, err := annotationsOf(b)
	if err != nil {
		return Features{}, err
	}
	supported := map[string]bool{}
	var legacy []string
	if text, ok := annotations[legacyFeatures].(string); ok && json.Unmarshal([]byte(text), &legacy) == nil {
		for _, name := range legacy {
			if name = currentFeature(name); isFeature(name) {
				supported[name] = true
			}
		}
	}
	for key, value := range annotations {
		name, ok := strings.CutPrefix(key, featurePrefix)
		if !ok || !isFeature(name) {
			continue
		}
		switch value {
		case "true":
			supported[name] = true
		case "false":
			supported[name] = false
		}
	}
	var f Features
	for _, name := range slices.Sorted(maps.Keys(supported)) {
		if supported[name] {
			f.Supported = append(f.Supported, name)
		} else {
			f.Unsupported = append(f.Unsupported, name)
		}
	}
	return f, nil
}

// isFeature reports whether a text can be the name of a feature: the name of an annotation.
func isFeature(name string) bool {
	const most = 63
	return name != "" && len(name) <= most && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// currentFeature returns the present name of a feature of the older annotation, whose spelling varies.
func currentFeature(name string) string {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), " ", "-")
	switch name {
	case "fips", "fips-mode":
		return "fips-compliant"
	case "proxy":
		return "proxy-aware"
	case "tls":
		return "tls-profiles"
	}
	return name
}

// annotationsOf returns the annotations of a bundle's ClusterServiceVersion.
func annotationsOf(b *catalog.Bundle) (map[string]any, error) {
	var found map[string]any
	done := false // olm.csv.metadata takes precedence over the objects
	err := each(b, func(value []byte) error {
		if done {
			return nil
		}
		var short struct {
			Annotations map[string]any `json:"annotations"`
		}
		err := json.Unmarshal(value, &short)
		found, done = short.Annotations, true
		return err
	}, func(value []byte) error {
		if done {
			return nil
		}
		m, err := manifestOf(value)
		if err != nil || m.Kind != "ClusterServiceVersion" || len(m.Metadata.Annotations) == 0 {
			return err
		}
		return json.Unmarshal(m.Metadata.Annotations, &found)
	})
	return found, err
}
