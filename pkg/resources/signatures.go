package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// SignatureFile returns the name of the file with the signatures of an image, the same as with `oc
// adm release mirror`: "signature-sha256-0123456789abcdef.json".
func SignatureFile(d digest.Digest) string {
	const shown = 16
	return "signature-" + d.Algorithm().String() + "-" + d.Encoded()[:shown] + ".json"
}

// ReadSignatures returns the signatures of an image in a ConfigMap or a list of ConfigMaps, as the cluster-version operator
// finds them: under all keys that begin with the digest. It fails if the operator would ignore the
// ConfigMap or find no signature in it.
func ReadSignatures(text []byte, d digest.Digest) ([][]byte, error) {
	var list struct {
		configMap
		Items []configMap `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading the signatures of %s: %w", d, err)
	}
	m, has := list.configMap, func(m configMap) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(m.BinaryData)), func(key string) bool { return strings.HasPrefix(key, d.Algorithm().String()+"-"+d.Encoded()) })
	}
	if i := slices.IndexFunc(list.Items, has); i >= 0 {
		m = list.Items[i]
	}
	if _, labelled := m.Metadata.Labels[signatureLabel]; m.Kind != "ConfigMap" || m.Metadata.Namespace != signatureNamespace || !labelled {
		return nil, fmt.Errorf("reading the signatures of %s: it is not a ConfigMap in namespace %s with the label %s", d, signatureNamespace, signatureLabel)
	}
	var bodies [][]byte
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		if strings.HasPrefix(key, d.Algorithm().String()+"-"+d.Encoded()) {
			bodies = append(bodies, m.BinaryData[key])
		}
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("reading the signatures of %s: the ConfigMap is for another image", d)
	}
	return bodies, nil
}
