package resources

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/elements"
)

// The names of files in the layout of oc mirror.
const (
	ocMirrorDigestSets = "idms-oc-mirror.yaml"
	ocMirrorTagSets    = "itms-oc-mirror.yaml"
	ocMirrorPolicies   = "imageContentSourcePolicy.yaml"
	ocMirrorService    = "updateService.yaml"
	ocMirrorSignatures = "signature-configmap"
	// signatureName is the name of the ConfigMap with all signatures.
	signatureName = "mirrored-release-signatures"
)

// OCMirrorSignatures is the JSON file with the signatures of releases in the layout of oc mirror.
const OCMirrorSignatures = ocMirrorSignatures + ".json"

// OCMirrorFiles returns the files of Build and BuildPlatform with the names that oc mirror gives them,
// sorted: all mirror sets of a kind are the documents of one file, and the signatures of all releases
// are in one ConfigMap, as YAML and as JSON. If they are too large for one object, more follow; the
// JSON file then has a list.
func OCMirrorFiles(files []File) ([]File, error) {
	var out []File
	var signatures []configMap
	sets := map[string]*bytes.Buffer{}
	for _, f := range files {
		name, prefix := f.Name, f.Name
		if i := strings.IndexByte(prefix, '-'); i > 0 {
			prefix = prefix[:i]
		}
		switch prefix {
		case "idms":
			name = ocMirrorDigestSets
		case "itms":
			name = ocMirrorTagSets
		case "icsp":
			name = ocMirrorPolicies
		case "update":
			name = ocMirrorService
		case "signature":
			var m configMap
			if err := json.Unmarshal(f.Text, &m); err != nil {
				return nil, fmt.Errorf("reading %s: %w", f.Name, err)
			}
			signatures = append(signatures, m)
			continue
		}
		if prefix != "idms" && prefix != "itms" && prefix != "icsp" {
			out = append(out, File{name, f.Text})
			continue
		}
		if sets[name] == nil {
			sets[name] = &bytes.Buffer{}
		}
		sets[name].WriteString("---\n")
		sets[name].Write(f.Text)
	}
	for _, name := range sortedKeys(sets) {
		out = append(out, File{name, sets[name].Bytes()})
	}
	more, err := joinSignatures(signatures)
	out = append(out, more...)
	elements.Sort(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}

// joinSignatures returns the two files with the signatures of all ConfigMaps.
func joinSignatures(all []configMap) ([]File, error) {
	var joined []configMap
	size := defaultMaxBytes
	for _, m := range all {
		length := 0
		for key, body := range m.BinaryData {
			length += len(key) + 4*len(body)/3 + 16
		}
		if size += length; size > defaultMaxBytes-1000 {
			name := signatureName
			if len(joined) > 0 {
				name = fmt.Sprintf("%s-%d", signatureName, len(joined))
			}
			next := configMap{APIVersion: m.APIVersion, Kind: m.Kind, Metadata: m.Metadata, BinaryData: map[string][]byte{}}
			next.Metadata.Name = name
			joined, size = append(joined, next), length
		}
		maps.Copy(joined[len(joined)-1].BinaryData, m.BinaryData)
	}
	if len(joined) == 0 {
		return nil, nil
	}
	var list any = joined[0]
	if len(joined) > 1 {
		list = map[string]any{"apiVersion": "v1", "kind": "List", "items": joined}
	}
	asJSON, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the signatures of releases: %w", err)
	}
	var asYAML bytes.Buffer
	for i, m := range joined {
		text, err := yaml.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("writing the signatures of releases: %w", err)
		}
		if i > 0 {
			asYAML.WriteString("---\n")
		}
		asYAML.Write(text)
	}
	return []File{{OCMirrorSignatures, append(asJSON, '\n')}, {ocMirrorSignatures + ".yaml", asYAML.Bytes()}}, nil
}
