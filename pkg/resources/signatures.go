package resources

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
)

// SignatureFile is the name of the file with the signatures of an image, that of
// `oc adm release mirror`: "signature-sha256-0123456789abcdef.json".
func SignatureFile(d digest.Digest) string {
	const shown = 16
	return "signature-" + d.Algorithm().String() + "-" + d.Encoded()[:shown] + ".json"
}

// ReadSignatures returns the signatures of an image that a ConfigMap holds, as the
// cluster-version operator finds them: under all keys that begin with the digest.
// A ConfigMap in which it does not look, or finds none, is an error.
func ReadSignatures(text []byte, d digest.Digest) ([][]byte, error) {
	var m configMap
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("reading the signatures of %s: %w", d, err)
	}
	if _, labelled := m.Metadata.Labels[signatureLabel]; m.Kind != "ConfigMap" || m.Metadata.Namespace != signatureNamespace || !labelled {
		return nil, fmt.Errorf("reading the signatures of %s: it is no ConfigMap in namespace %s with the label %s", d, signatureNamespace, signatureLabel)
	}
	var bodies [][]byte
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		if strings.HasPrefix(key, d.Algorithm().String()+"-"+d.Encoded()) {
			bodies = append(bodies, m.BinaryData[key])
		}
	}
	if len(bodies) == 0 {
		return nil, fmt.Errorf("reading the signatures of %s: the ConfigMap is about another image", d)
	}
	return bodies, nil
}
